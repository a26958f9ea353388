//! §2, the invertible counting filter.

use everbloom::internals::filter::{Face, Reconcile};
use everbloom::reconciling::InvertibleCounting;
use everbloom::{Hasher, Kind};

fn filter(cells: u64, form: &str, seed: u64) -> InvertibleCounting {
    InvertibleCounting::with_shape(cells, 4, form, Hasher::seeded(seed)).unwrap()
}

/// D distinct differing elements of either kind, among a hundred common ones: does it decode, and rightly?
fn decodes(form: &str, cells: u64, one_sided: u64, differing: u64, seed: u64) -> Option<bool> {
    let (mut ours, mut theirs) = (filter(cells, form, seed), filter(cells, form, seed));
    let mut wanted = Vec::new();
    for key in 0..one_sided {
        let times = 1 + key % 5;
        let (side, sign) = if key % 2 == 0 { (&mut ours, 1) } else { (&mut theirs, -1) };
        side.insert_times(&key, times).unwrap();
        wanted.push((side.id(&key), sign * times as i64));
    }
    for key in 1000..1000 + differing {
        let (a, b) = (1 + key % 3, 2 + key % 7);
        ours.insert_times(&key, a).unwrap();
        theirs.insert_times(&key, b).unwrap();
        if a != b {
            wanted.push((ours.id(&key), a as i64 - b as i64));
        }
    }
    for key in 10_000..10_100u64 {
        ours.insert_times(&key, 1 + key % 4).unwrap();
        theirs.insert_times(&key, 1 + key % 4).unwrap();
    }
    ours.subtract(&theirs).unwrap();
    wanted.sort_unstable();
    match ours.decode() {
        Ok(found) if form == "sums" => Some(found.ids == wanted && found.residue == 0),
        // One-sided elements, all of them and rightly; of common ones those that were told.
        Ok(found) => Some((0..one_sided).all(|key| {
            let id = ours.id(&key);
            found.ids.iter().any(|f| f.0 == id && wanted.contains(f))
        })),
        Err(e) => {
            assert_eq!(e.kind(), Kind::Undecodable);
            None
        }
    }
}

#[test]
fn s2_sums_decode_as_often_as_an_invertible_filter() {
    for (d, cells, rate) in [(10, 32, 0.988), (50, 100, 0.997), (100, 152, 0.9915)] {
        let runs = 1000;
        let outcomes: Vec<Option<bool>> =
            (0..runs).map(|seed| decodes("sums", cells, d, 0, seed)).collect();
        assert!(!outcomes.contains(&Some(false)), "what decodes is right");
        let share = outcomes.iter().filter(|o| o.is_some()).count() as f64 / runs as f64;
        assert!((share - rate).abs() < 0.015, "{d} in {cells}: {share}");
    }
}

#[test]
fn s2_both_kinds_of_difference_in_one_peel() {
    for seed in 0..200 {
        assert_ne!(decodes("sums", 240, 50, 50, seed), Some(false), "seed {seed}");
    }
    let decoded = (0..200).filter(|seed| decodes("sums", 240, 50, 50, *seed).is_some()).count();
    assert!(decoded >= 198, "{decoded}");
}

/// Side and multiplicity come from the tables: 50 one-sided and 50 differing elements, always right.
#[test]
fn s2_the_xor_form_tells_sides_by_its_tables() {
    for seed in 0..40 {
        assert_eq!(decodes("xor", 400, 50, 50, seed), Some(true), "seed {seed}");
    }
}

/// A second copy must not cancel the first: {x, x} against nothing.
#[test]
fn s2_copies_enter_the_xor_once() {
    let (mut ours, theirs) = (filter(40, "xor", 1), filter(40, "xor", 1));
    ours.insert("x").unwrap();
    ours.insert("x").unwrap();
    assert_eq!(ours.count("x"), 2);
    ours.subtract(&theirs).unwrap();
    let found = ours.decode().unwrap();
    assert_eq!((found.ids, found.residue), (vec![(ours.id("x"), 2)], 0));
}

/// Counts cancel in a shared cell, ids do not: that must not stop the decoder.
#[test]
fn s2_counts_that_cancel() {
    for form in ["sums", "xor"] {
        for seed in 0..200 {
            // Few cells, so that the two elements often meet.
            let (mut ours, mut theirs) = (filter(16, form, seed), filter(16, form, seed));
            ours.insert_times("x", 3).unwrap();
            theirs.insert_times("y", 3).unwrap();
            ours.subtract(&theirs).unwrap();
            let mut wanted = vec![(ours.id("x"), 3), (ours.id("y"), -3)];
            wanted.sort_unstable();
            // With all four cells shared nothing can be told.
            match ours.decode() {
                Ok(found) => assert_eq!(found.ids, wanted, "{form} {seed}"),
                Err(e) => assert_eq!(e.kind(), Kind::Undecodable),
            }
        }
    }
}

/// The second step is best effort: with more cells per differing element it finds more, and what is missing is said.
#[test]
fn s2_residue_is_reported() {
    let (mut complete, mut said) = (0, 0);
    for seed in 0..60 {
        let (mut ours, mut theirs) = (filter(1600, "xor", seed), filter(1600, "xor", seed));
        for key in 0..50u64 {
            // From −10 to 10: differences that meet now and then cancel.
            let (more, less) = (2 + key % 10, 1);
            let (a, b) = if key % 2 == 0 { (more, less) } else { (less, more) };
            ours.insert_times(&key, a).unwrap();
            theirs.insert_times(&key, b).unwrap();
        }
        for key in 100..300u64 {
            ours.insert(&key).unwrap();
            theirs.insert(&key).unwrap();
        }
        ours.subtract(&theirs).unwrap();
        let found = ours.decode().unwrap();
        complete += u64::from(found.ids.len() == 50 && found.residue == 0);
        said += u64::from(found.ids.len() < 50 && found.residue > 0);
        assert!(found.ids.len() <= 50, "nothing is made up");
    }
    assert!(complete > 0 && said > 0, "{complete} {said}");
}

#[test]
fn s2_the_other_side_may_be_asked_instead_of_sent() {
    let (mut ours, mut theirs) = (filter(60, "xor", 3), filter(60, "xor", 3));
    ours.insert_times("only here", 2).unwrap();
    theirs.insert_times("only there", 4).unwrap();
    let there = theirs.id("only there");
    ours.subtract(&theirs).unwrap();
    let mut asked = 0;
    let asked_for = std::cell::Cell::new(0);
    let found = ours
        .decode_with(|id| {
            asked_for.set(asked_for.get() + 1);
            if id == there { 4 } else { 0 }
        })
        .unwrap();
    asked += asked_for.get();
    assert!(found.ids.contains(&(there, -4)) && found.ids.len() == 2 && asked > 0);
    assert!(ours.decode_with(|_| 0).is_err(), "an id that nobody confirms is not passed off");
}

#[test]
fn s2_flags() {
    let mut ours = filter(40, "xor", 0);
    ours.insert_times("x", 5).unwrap();
    let before = ours.clone();
    assert_eq!(ours.remove_times("x", 6).unwrap_err().kind(), Kind::NotDeletable);
    assert_eq!(ours.remove("y").unwrap_err().kind(), Kind::NotDeletable);
    assert_eq!(ours, before);
    ours.remove_times("x", 5).unwrap();
    assert_eq!(ours, filter(40, "xor", 0));
    let mut sums = filter(40, "sums", 0);
    sums.remove_times("x", 2).unwrap();
    assert_eq!(Reconcile::decode(&sums).unwrap().theirs, [sums.id("x")]);
    assert!(
        ours.as_reconcile().is_some() && ours.as_count().is_some() && ours.as_remove().is_some()
    );
}
