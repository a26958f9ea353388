//! R14, the EGH filter.

use everbloom::Kind;
use everbloom::internals::file as codec;
use everbloom::internals::file::Opener;
use everbloom::internals::filter::{Face, Filter as _, Merge as _, Record, Seen};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::Goal;
use everbloom::internals::theory::bloom;
use everbloom::membership::egh::{Slices, VARIANT};
use everbloom::membership::{Bloom, Egh};

fn filled(universe: u64, zone: u64, members: &[u64]) -> Egh {
    let mut filter = Egh::new(universe, zone).expect("a shape");
    members.iter().for_each(|x| {
        filter.insert(*x).expect("of the universe");
    });
    filter
}

fn false_positives(filter: &Egh, universe: u64, members: &[u64]) -> u64 {
    assert!(members.iter().all(|x| filter.contains(*x)));
    (0..universe).filter(|x| filter.contains(*x)).count() as u64 - members.len() as u64
}

#[test]
fn r14_primes() {
    let shape = |universe, zone| {
        let slices = Slices::new(universe, zone).expect("a shape");
        (slices.primes().len(), slices.primes().last().copied().unwrap_or(0), slices.m())
    };
    assert_eq!(shape(562, 20), (34, 139, 2127));
    assert_eq!(shape(563, 20).0, 35, "the logarithms differ by 0.014 there");
    assert_eq!(shape(100, 2), (6, 13, 41));
    assert_eq!((shape(1000, 3).0, shape(1000, 3).2), (10, 129));
    assert_eq!((shape(10_000, 5).0, shape(10_000, 5).2), (17, 440));
    assert_eq!((shape(1 << 32, 5).0, shape(1 << 32, 5).2), (31, 1720));
    // Products that are powers exactly: 2·3 = 6¹ is enough, 2·3·5·7 = 210¹ too; one more is not.
    assert_eq!([shape(6, 1).0, shape(7, 1).0, shape(210, 1).0, shape(211, 1).0], [2, 3, 4, 5]);
    for (universe, zone) in [(1, 1), (0, 1), (100, 0), (u64::MAX, 1), (1 << 32, 1 << 20)] {
        let refused = Slices::new(universe, zone).expect_err("no shape");
        assert_eq!(refused.kind(), Kind::BadParameter, "{refused}");
    }
}

#[test]
fn r14_no_false_positive_inside_the_zone_and_some_beyond() {
    // All 4950 pairs of a hundred: none. All triples together: 11,090.
    for a in 0..100 {
        for b in a + 1..100 {
            assert_eq!(false_positives(&filled(100, 2, &[a, b]), 100, &[a, b]), 0, "{a} {b}");
        }
    }
    let mut wrong = 0;
    for a in 0..100 {
        for b in a + 1..100 {
            let pair = filled(100, 2, &[a, b]);
            for c in b + 1..100 {
                let mut triple = pair.clone();
                triple.insert(c).expect("of the universe");
                wrong += false_positives(&triple, 100, &[a, b, c]);
            }
        }
    }
    assert_eq!(wrong, 11_090);
}

#[test]
fn r14_five_of_a_hundred_where_two_were_planned() {
    let (mut wrong, mut random) = (0, Generator::new(14));
    for _ in 0..20_000 {
        let mut members: Vec<u64> = Vec::new();
        while members.len() < 5 {
            let x = random.below(100);
            if !members.contains(&x) {
                members.push(x);
            }
        }
        let filter = filled(100, 2, &members);
        let passed = false_positives(&filter, 100, &members);
        assert!(!filter.exact());
        assert_eq!(filter.now().fpr, Some(passed as f64 / 95.0), "the filter knows");
        wrong += passed;
    }
    let mean = wrong as f64 / 20_000.0;
    assert!((mean - 1.61).abs() < 0.06, "{mean}");
}

#[test]
fn r14_none_where_a_standard_filter_of_the_same_bits_has_some() {
    let egh = filled(100, 2, &[1, 2]);
    let room = Bloom::with_shape(64, 1, Hasher::default()).unwrap().memory().total();
    assert!(egh.memory().total() <= room, "{:?}", egh.memory());
    let mut wrong = 0;
    for a in 0..100u64 {
        for b in a + 1..100 {
            // 41 bits as well, with the best k; seeds make the filters differ.
            let mut bloom = Bloom::with_shape(41, 14, Hasher::seeded(a * 100 + b)).unwrap();
            bloom.insert(&a);
            bloom.insert(&b);
            wrong += (0..100u64).filter(|x| bloom.contains(x)).count() - 2;
        }
    }
    assert!(wrong > 10, "{wrong} over all pairs, where the EGH filter has none");
}

#[test]
fn r14_not_for_many_members() {
    // Ten thousand bits a key, where 29 let one non-member in a million pass.
    let bits = Slices::new(1 << 20, 1000).expect("a shape").m();
    assert!(bits > 5000 * 1000 && bloom::bits(1000.0, 1e-6) < 29.0 * 1000.0, "{bits}");
    assert!(bits > 1 << 20, "not even better than a bit for every key of the universe");
}

#[test]
fn r14_lists_its_members_and_removes_by_it() {
    let mut random = Generator::new(5);
    for (universe, zone) in [(100, 2), (562, 20), (10_000, 5), (1 << 32, 5), (1 << 40, 30)] {
        let mut members: Vec<u64> = (0..zone).map(|_| random.below(universe)).collect();
        let mut filter = filled(universe, zone, &members);
        members.sort_unstable();
        members.dedup();
        assert_eq!(filter.list().expect("inside the zone"), members);
        assert_eq!(filter.head().items, members.len() as u64, "a set takes none twice");
        let gone = members.swap_remove(0);
        filter.remove(gone).expect("a member");
        members.sort_unstable();
        assert_eq!(filter.list().expect("inside the zone"), members);
        assert_eq!(filter.remove(gone).expect_err("gone").kind(), Kind::NotDeletable);
    }
    assert!(Egh::new(100, 2).expect("a shape").list().expect("empty").is_empty());
    let mut beyond = filled(100, 2, &[1, 2, 3]);
    let before = beyond.clone();
    assert_eq!(beyond.list().expect_err("beyond").kind(), Kind::Undecodable);
    assert_eq!(beyond.remove(1).expect_err("beyond").kind(), Kind::Undecodable);
    assert_eq!(beyond, before);
}

#[test]
fn r14_counters_remove_and_never_stick_inside_the_zone() {
    // Twenty even numbers share one cell of the first slice.
    let mut filter = Egh::counting(562, 20).expect("a shape");
    for x in (0..40).step_by(2) {
        assert_eq!(filter.insert(x).expect("of the universe"), Seen::New);
    }
    for x in (0..40).step_by(2) {
        assert_eq!(filter.count(x), 1);
        filter.remove(x).expect("a member");
        assert_eq!(filter.list().expect("inside"), (x + 2..40).step_by(2).collect::<Vec<_>>());
    }
    assert_eq!(filter, Egh::counting(562, 20).expect("a shape"));
    filter.insert(7).expect("of the universe");
    filter.insert(7).expect("of the universe");
    assert_eq!((filter.count(7), filter.count(8), filter.count(10_000)), (2, 0, 0));
    filter.remove(7).expect("a member");
    assert!(filter.contains(7));
}

#[test]
fn r14_outside_of_the_universe() {
    let mut filter = filled(100, 2, &[3]);
    // 3 + 2·3·5·7·11·13 has all remainders of 3, and is no member all the same.
    assert!(!filter.contains(3 + 30_030));
    let before = filter.clone();
    assert_eq!(filter.insert(100).expect_err("outside").kind(), Kind::BadRecord);
    assert_eq!(filter.remove(100).expect_err("outside").kind(), Kind::NotDeletable);
    assert_eq!(filter, before);
    let short = filter.query(Record::key(b"abc")).expect_err("not 8 bytes");
    assert_eq!(short.kind(), Kind::BadRecord);
}

#[test]
fn r14_from_goal_to_file_and_merged() {
    let goal = Goal { items: Some(20), ..Goal::default() }.set("universe", 562);
    let built = VARIANT.build_from(&goal, &[]).expect("a filter");
    assert_eq!(built.memory().cells, 2127);
    let bytes = codec::to_bytes(&filled(562, 20, &[5, 500]));
    let mut read = Opener::new().decode(&bytes).expect("a file");
    let other = filled(562, 20, &[6, 500]);
    read.as_merge().expect("merges").merge(&other).expect("same shape");
    read.as_merge().expect("merges").merge(&other).expect("same shape");
    let mut ours = filled(562, 20, &[5, 500]);
    ours.merge(&other).expect("same shape");
    assert_eq!(ours.list().expect("inside"), [5, 6, 500]);
    assert_eq!(codec::to_bytes(&ours), codec::to_bytes(&*read), "taken twice, a set is the same");
}
