//! Reconciliation: exact between honest parties, an error with others.

use super::super::{Frame, Limits, Party, Session, Traffic, run};
use super::*;
use crate::error::Kind;
use crate::file::to_bytes;

fn key(i: u32) -> Vec<u8> {
    i.to_string().into_bytes()
}

fn set(keys: impl IntoIterator<Item = u32>) -> Set {
    keys.into_iter().fold(Set::new(), |set, i| set.with(&key(i)))
}

fn parties(a: Set, b: Set) -> (Party<Seeker>, Party<Holder>) {
    let limits = Limits::NETWORK;
    (Party::new(Seeker::new(a), limits), Party::new(Holder::new(b), limits))
}

fn sorted(keys: impl IntoIterator<Item = u32>) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = keys.into_iter().map(key).collect();
    keys.sort();
    keys
}

/// Plays the exchange; both sides find the same, mirrored.
fn difference(a: Set, b: Set) -> (Found, Traffic) {
    let (mut a, mut b) = parties(a, b);
    let traffic = run(&mut a, &mut b).unwrap_or_else(|e| panic!("{e}"));
    let (found, mirrored) = (a.role.found().expect("done"), b.role.found().expect("done"));
    assert_eq!((&found.ours, &found.theirs), (&mirrored.theirs, &mirrored.ours));
    (found.clone(), traffic)
}

/// A frame's bytes.
fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Frame::write(&mut out, kind, body, &Limits::NETWORK).expect("small");
    out
}

/// The types of the frames in these bytes.
fn kinds(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some((&[kind, a, b, c, d], rest)) = bytes.split_first_chunk() {
        out.push(kind);
        bytes = &rest[u32::from_le_bytes([a, b, c, d]) as usize..];
    }
    out
}

fn fails(session: &mut dyn Session, bytes: &[u8]) -> Kind {
    session.receive(bytes).expect_err("no honest peer says so").kind()
}

#[test]
fn differences_of_any_size_are_exact() {
    for (a, b) in
        [(0..0, 0..0), (0..1, 0..0), (0..0, 0..5), (0..5000, 3..5001), (0..300, 9000..9700)]
    {
        let (found, _) = difference(set(a.clone()), set(b.clone()));
        assert_eq!(found.ours, sorted(a.clone().filter(|i| !b.contains(i))));
        assert_eq!(found.theirs, sorted(b.filter(|i| !a.contains(i))));
    }
    let (found, _) = difference(set(0..3).with(b""), set(0..3).with(&[7; 200_000]));
    assert_eq!(found, Found { ours: vec![Vec::new()], theirs: vec![vec![7; 200_000]] });
}

#[test]
fn bytes_follow_the_difference_and_not_the_sets() {
    let strata = to_bytes(&Invertible::estimator(Hasher::seeded(0)).unwrap()).len() as u64;
    for n in [1000, 50_000] {
        let (_, traffic) = difference(set(0..n), set(5..n));
        assert!((strata..strata + 3000).contains(&traffic.b_to_a), "{traffic:?}");
        assert!(traffic.a_to_b < 100, "{traffic:?}");
    }
}

#[test]
fn cells_that_are_too_few_are_asked_for_again() {
    // Strata of a set that looks like ours make the seeker ask for a single id's cells.
    let (mut a, mut b) = parties(set(0..1000), set(400..1400));
    a.receive(&[]).expect("an opening");
    b.receive(&frame(OPEN, &0u64.to_le_bytes())).expect("strata");
    let same = set(0..1000).fill(Invertible::estimator(Hasher::seeded(0)).unwrap());
    let mut from_a = a.receive(&frame(STRATA, &to_bytes(&same))).expect("a request");
    let mut rounds = 0;
    while kinds(&from_a.send) == [ASK] {
        rounds += 1;
        let from_b = b.receive(&from_a.send).expect("cells");
        from_a = a.receive(&from_b.send).expect("cells that came");
    }
    let end = b.receive(&from_a.send).expect("the keys");
    assert!(a.receive(&end.send).expect("the end").done && end.done);
    assert!(rounds > 5, "{rounds}");
    let found = a.role.found().expect("done");
    assert_eq!((found.ours.len(), found.theirs.len()), (400, 400));
}

#[test]
fn colliding_ids_lead_to_another_seed() {
    // A key that has another's id under seed 0, on either side or across the two.
    let twin = |mut set: Set| {
        set.collided.push(set.text.len() as u64);
        append(&mut set.text, b"twin");
        set.count += 1;
        set
    };
    let across = |mut set: Set, other: &[u8]| {
        let (id, start) = (set.id(other), set.text.len() as u64);
        assert!(set.by_id.insert(id, start).is_none());
        append(&mut set.text, b"twin");
        set.count += 1;
        set
    };
    let expected = Found { ours: vec![b"twin".to_vec()], theirs: vec![b"9".to_vec()] };
    let mirrored = Found { ours: vec![b"9".to_vec()], theirs: vec![b"twin".to_vec()] };
    assert_eq!(difference(twin(set(0..9)), set(0..10)).0, expected);
    assert_eq!(difference(set(0..10), twin(set(0..9))).0, mirrored);
    assert_eq!(difference(across(set(0..9), b"9"), set(0..10)).0, expected);
    // For ever is too long.
    let (mut a, _) = parties(set(0..9), set(0..9));
    a.receive(&[]).expect("an opening");
    for _ in 1..SEEDS {
        let step = a.receive(&frame(AGAIN, &[])).expect("another seed");
        assert_eq!(kinds(&step.send), [OPEN]);
    }
    assert_eq!(fails(&mut a, &frame(AGAIN, &[])), Kind::Ambiguous);
}

#[test]
fn a_holder_does_not_do_whatever_it_is_asked() {
    let opened = || {
        let (_, mut b) = parties(set(0..1), set(0..50));
        b.receive(&frame(OPEN, &0u64.to_le_bytes())).expect("strata");
        b
    };
    let asked = || {
        let mut b = opened();
        b.receive(&frame(ASK, &40u64.to_le_bytes())).expect("cells");
        b
    };
    for count in [u64::MAX, 1 << 40, (128 << 20) / 24 + 1] {
        let kind = fails(&mut opened(), &frame(ASK, &count.to_le_bytes()));
        assert_eq!(kind, Kind::LimitExceeded { what: "cells" });
    }
    let mut b = opened();
    let ask = frame(ASK, &8u64.to_le_bytes());
    (0..ROUNDS).for_each(|_| assert_eq!(kinds(&b.receive(&ask).expect("cells").send), [CELLS]));
    assert_eq!(fails(&mut b, &ask), Kind::LimitExceeded { what: "cells" });
    for seed in [SEEDS, u64::MAX] {
        let (_, mut b) = parties(set(0..1), set(0..50));
        assert!(matches!(fails(&mut b, &frame(OPEN, &seed.to_le_bytes())), Kind::Corrupt { .. }));
    }
    let held = set(0..50);
    let id = |i: u32| held.id(&key(i)).to_le_bytes();
    let want = |ids: &[[u8; 8]]| frame(WANT, &[&[0; 16][..], &ids.concat()].concat());
    // Keys it has, keys twice, keys it lacks, ids twice, half an id, no digest.
    for (mut b, bytes) in [
        (asked(), frame(OURS, b"\x017")),
        (asked(), frame(OURS, b"\x01x\x01x")),
        (asked(), want(&[id(77)])),
        (asked(), want(&[id(7), id(7)])),
        (asked(), frame(WANT, &[0; 20])),
        (asked(), frame(WANT, &[0; 15])),
        (asked(), frame(ASK, &[0; 7])),
        (opened(), want(&[])),
        (opened(), frame(OURS, b"\x01x")),
    ] {
        assert!(matches!(fails(&mut b, &bytes), Kind::Corrupt { .. }));
    }
    // A digest that is not ours is no reason to fail, and no end either.
    let mut b = asked();
    assert_eq!(kinds(&b.receive(&want(&[])).expect("a wrong digest").send), [AGAIN]);
    assert!(matches!(fails(&mut b, &frame(OPEN, &0u64.to_le_bytes())), Kind::Corrupt { .. }));
}

#[test]
fn a_seeker_believes_nothing_that_it_can_check() {
    let seed = Hasher::seeded(0);
    let opened = || {
        let (mut a, _) = parties(set(0..50), set(0..1));
        a.receive(&[]).expect("an opening");
        a
    };
    let strata = |set: Set| {
        frame(STRATA, &to_bytes(&set.fill(Invertible::estimator(seed.clone()).unwrap())))
    };
    let asked = || {
        let mut a = opened();
        a.receive(&strata(set(0..51))).expect("a request");
        a
    };
    let cells = |set: Set| frame(CELLS, &to_bytes(&set.fill(cells(0, 8).unwrap())));
    // Cells of another seed, number or kind.
    let other = set(0..50).fill(Invertible::estimator(Hasher::seeded(5)).unwrap());
    assert!(matches!(
        fails(&mut opened(), &frame(STRATA, &to_bytes(&other))),
        Kind::Incompatible { .. }
    ));
    let few = frame(CELLS, &to_bytes(&super::cells(0, 4).unwrap()));
    assert!(opened().receive(&few).is_err(), "not asked for");
    let bloom = crate::membership::Bloom::with_rate(10, 0.01).expect("a filter");
    assert!(opened().receive(&frame(STRATA, &to_bytes(&bloom))).is_err());
    assert!(asked().receive(&frame(CELLS, &to_bytes(&bloom))).is_err());
    assert!(opened().receive(&frame(STRATA, b"garbage")).is_err());
    // Strata that speak of a large difference, and cells that are too few for it, or would be too many.
    let mut large = Invertible::estimator(seed.clone()).unwrap();
    (0..20_000).for_each(|id| _ = large.insert_id(id));
    let large = frame(STRATA, &to_bytes(&large));
    let mut a = opened();
    assert_eq!(kinds(&a.receive(&large).expect("a request").send), [ASK]);
    assert!(matches!(fails(&mut a, &cells(set(0..51))), Kind::Corrupt { .. }));
    let limits = Limits { frame: 100_000, ..Limits::NETWORK };
    let mut a = Party::new(Seeker::new(set(0..50)), limits);
    a.receive(&[]).expect("an opening");
    assert_eq!(fails(&mut a, &large), Kind::LimitExceeded { what: "cells" });
    // Honest cells, then keys that were not asked for, and an end that comes too early.
    let wanting = || {
        let (mut a, mut b) = parties(set(0..50), set(0..51));
        let open = a.receive(&[]).expect("an opening");
        let strata = b.receive(&open.send).expect("strata");
        let ask = a.receive(&strata.send).expect("a request");
        let cells = b.receive(&ask.send).expect("cells");
        let want = a.receive(&cells.send).expect("a wish");
        assert_eq!(kinds(&want.send), [WANT]);
        a
    };
    for bytes in [
        frame(THEIRS, b"\x0251"),
        frame(THEIRS, b"\x0250\x0250"),
        frame(THEIRS, b"\x0950"),
        frame(END, &[]),
        frame(AGAIN, &[1]),
    ] {
        assert!(matches!(fails(&mut wanting(), &bytes), Kind::Corrupt { .. }), "{bytes:?}");
    }
    let mut a = wanting();
    let honest = [frame(THEIRS, b"\x0250"), frame(END, &[])].concat();
    assert!(a.receive(&honest).expect("the end").done);
    assert!(a.receive(&honest).is_err(), "it is over");
}
