//! Exact between honest parties, at the cost promised; an error with others.

use super::super::tests::{fails, frame};
use super::super::{Limits, List, Party, Session, Traffic, run};
use super::*;
use crate::error::Kind;

fn key(i: u32) -> Vec<u8> {
    format!("key-{i}").into_bytes()
}

fn set(keys: impl IntoIterator<Item = u32>) -> Set {
    keys.into_iter().fold(Set::new(), |set, i| set.with(&key(i)))
}

fn parties(a: Set, b: Set) -> (Party<Seeker>, Party<Holder>) {
    (Party::new(Seeker::new(a), Limits::NETWORK), Party::new(Holder::new(b), Limits::NETWORK))
}

fn difference(a: Set, b: Set) -> (Found, Traffic) {
    let (mut a, mut b) = parties(a, b);
    let traffic = run(&mut a, &mut b).unwrap_or_else(|e| panic!("{e}"));
    (a.role.found().expect("done").clone(), traffic)
}

fn sorted(keys: impl IntoIterator<Item = u32>) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = keys.into_iter().map(key).collect();
    keys.sort();
    keys
}

#[test]
fn differences_of_any_size_are_exact_and_never_cost_more_than_the_keys() {
    for (a, b) in [
        (0..0, 0..0),
        (0..1, 0..0),
        (0..5, 0..6),
        (0..300, 290..400),
        (0..5000, 3..5001),
        (0..5000, 2000..6000),
        (0..60_000, 60_000..120_000),
        (0..50_000, 10..50_010),
        (0..50_000, 5000..55_000),
        (0..50_000, 20_000..70_000),
    ] {
        let (found, traffic) = difference(set(a.clone()), set(b.clone()));
        assert_eq!(found.ours, sorted(a.clone().filter(|i| !b.contains(i))));
        assert_eq!(found.theirs, sorted(b.clone().filter(|i| !a.contains(i))));
        let whole = set(a.clone()).bytes().min(set(b.clone()).bytes());
        let most = whole as f64 * 1.1 + 256.0;
        assert!((traffic.total() as f64) <= most, "{a:?} {b:?}: {} of {most}", traffic.total());
    }
}

#[test]
fn bytes_follow_the_difference() {
    for (n, d) in [(20_000u32, 0), (20_000, 1), (20_000, 10), (20_000, 100), (20_000, 500)] {
        let (_, traffic) = difference(set(0..n), set((0..n - d).chain(n..n + d)));
        // 2d keys differ, of which d are asked for and sent; 2 kB are the sketch.
        let most = 2.0 * 1.9 * f64::from(d) * 17.0 + f64::from(d) * 20.0 + 2600.0;
        assert!((traffic.total() as f64) < most, "d = {d}: {}", traffic.total());
    }
    let (_, traffic) = difference(set(0..3000), set(0..3000));
    assert!(traffic.total() < 700, "equal sets: {}", traffic.total());
}

#[test]
fn a_holder_does_not_do_whatever_it_is_asked() {
    let opened = || {
        let (_, mut b) = parties(set(0..1), set(0..500));
        b.receive(&frame(OPEN, &wire::body_of([0, 1, 6, 256, 0, 0]))).expect("sizes");
        b
    };
    let corrupt = |kind: Kind| matches!(kind, Kind::Corrupt { .. });
    assert!(corrupt(fails(&mut opened(), &frame(WANT, &wire::body_of([1])))));
    let id = set(0..500).id(&key(7));
    assert!(corrupt(fails(&mut opened(), &frame(WANT, &wire::body_of([id, id])))));
    assert!(corrupt(fails(&mut opened(), &frame(WANT, &[1, 2, 3]))));
    assert!(corrupt(fails(&mut opened(), &frame(ALL, &[1]))));
    let many = (1u64 << 40).to_le_bytes();
    assert_eq!(fails(&mut opened(), &frame(GRANT, &many)), Kind::LimitExceeded { what: "cells" });
    let (_, mut b) = parties(set(0..1), set(0..5));
    assert!(corrupt(fails(&mut b, &frame(GRANT, &many))));
    let (_, mut b) = parties(set(0..1), set(0..5));
    assert!(corrupt(fails(&mut b, &frame(OPEN, &wire::body_of([0, 1, 1])))));
    // Nothing is taken that was not allowed, that it has, or that is not all.
    let sent = |holder: Holder, give: &[u8], last: &[u8]| {
        let sum = Sum::of(0, [&b"a"[..], b"b"]);
        let mut b = Party::new(holder, Limits::NETWORK);
        b.receive(&frame(OPEN, &wire::body_of([0, 2, 4, 256, sum.0, sum.1]))).expect("sizes");
        let ids = [key(1), key(2)].map(|key| b.role.set().id(&key));
        b.receive(&frame(WANT, &wire::body_of(ids))).expect("keys");
        let given = b.receive(&[frame(GIVE, give), frame(LAST, last)].concat());
        given.map(|step| step.done && b.role.taken().len() == 2)
    };
    let holder = || Holder::new(set(1..3));
    assert!(matches!(sent(holder().taking(), b"\x01a\x01b", &[1]), Ok(true)));
    let refused = sent(holder(), b"\x01a\x01b", &[1]).expect_err("not allowed");
    assert_eq!(refused.kind(), Kind::Unsupported);
    for (give, last) in [
        (&b"\x01a"[..], &[1][..]),
        (b"\x01a\x01c", &[1]),
        (b"\x01a\x01a", &[1]),
        (b"\x05key-1", &[1]),
        (b"\x01a\x01b", &[0]),
        (b"\x01a\x01b", &[2]),
    ] {
        let wrong = sent(holder().taking(), give, last).expect_err("manipulated");
        assert!(corrupt(wrong.kind()), "{wrong}");
    }
    assert_eq!(fails(&mut opened(), &frame(0x10, &[])), Kind::UnsupportedFeature);
}

#[test]
fn a_seeker_believes_nothing_that_it_can_check() {
    let opened = || {
        let (mut a, _) = parties(set(0..3000), set(0..1));
        a.receive(&[]).expect("an opening");
        a
    };
    let decoding = || {
        let mut a = opened();
        a.receive(&frame(SIZES, &wire::body_of([3000, 30_000, 0, 0]))).expect("a grant");
        a
    };
    let corrupt = |kind: Kind| matches!(kind, Kind::Corrupt { .. } | Kind::Undecodable);
    assert!(corrupt(fails(&mut opened(), &frame(SIZES, &[0; 9]))));
    assert!(corrupt(fails(&mut opened(), &frame(SIZES, &wire::body_of([1, 2, 0, 0, 9, 3])))));
    assert!(corrupt(fails(&mut opened(), &frame(CELLS, &[0; 17]))));
    assert!(corrupt(fails(&mut decoding(), &frame(CELLS, &[]))));
    assert!(corrupt(fails(&mut decoding(), &frame(CELLS, &[0; 16]))));
    assert!(corrupt(fails(&mut decoding(), &frame(KEYS, b"\x01a"))));
    assert!(corrupt(fails(&mut decoding(), &frame(END, &[]))));
    // Garbage cells never decode: after as many as it risks it asks for the keys, and those are checked.
    let mut a = decoding();
    let mut random = crate::hash::Generator::new(1);
    for _ in 0..10_000 {
        let mut body = Vec::new();
        (0..8).for_each(|_| {
            body.push(0);
            body.extend(random.next_u64().to_le_bytes());
            body.extend(random.next_u64().to_le_bytes());
        });
        let Ok(step) = a.receive(&frame(CELLS, &body)) else { return };
        if step.send.first() == Some(&ALL) {
            assert!(corrupt(fails(&mut a, &frame(KEYS, b"\x01a\x01a"))));
            return;
        }
    }
    panic!("it waits for ever");
}

#[test]
fn colliding_ids_lead_to_another_salt() {
    let (mut a, _) = parties(set(0..9), set(0..9));
    a.receive(&[]).expect("an opening");
    for _ in 1..SALTS {
        let step = a.receive(&frame(AGAIN, &[])).expect("another salt");
        assert_eq!(step.send[0], OPEN);
    }
    assert_eq!(fails(&mut a, &frame(AGAIN, &[])), Kind::Ambiguous);
}

#[test]
fn keys_are_given_to_whoever_lacks_them() {
    for (a, b) in [(0..5000, 3..5004), (0..20, 10..25), (0..9, 0..9), (0..4000, 3000..9000)] {
        let seeker = Seeker::new(set(a.clone())).salted(7).allowing(4096).giving();
        let mut seeker = Party::new(seeker, Limits::NETWORK);
        let mut holder = Party::new(Holder::new(set(b.clone())).taking(), Limits::NETWORK);
        run(&mut seeker, &mut holder).unwrap_or_else(|e| panic!("{e}"));
        let found = seeker.role.found().expect("done");
        assert_eq!(found.theirs, sorted(b.clone().filter(|i| !a.contains(i))));
        let mut taken = holder.role.taken().to_vec();
        taken.sort();
        assert_eq!((&taken, &found.ours), (&sorted(a.filter(|i| !b.contains(i))), &taken));
    }
}

#[test]
fn a_set_that_hides_a_key_is_found_out() {
    // It announces 3000 keys and sends the cells of 2999 with their number: the sum tells.
    let (mut a, mut b) = parties(set(0..3000), set(0..2999));
    let hello = b.receive(&a.receive(&[]).expect("an opening").send).expect("sizes").send;
    let lie = Sum::of(0, [&b"another"[..]]);
    let mut body = hello[5..].to_vec();
    body[16..24].copy_from_slice(&lie.0.to_le_bytes());
    let mut said = a.receive(&frame(SIZES, &body)).expect("a grant").send;
    let ended = loop {
        let answer = b.receive(&said).expect("an answer");
        match a.receive(&answer.send) {
            Ok(step) => said = step.send,
            Err(e) => break e,
        }
    };
    assert!(ended.to_string().contains("sum"), "{ended}");
}

/// What a peer sends in which state, and the error. None of the bodies comes: the header is enough.
#[test]
fn what_was_not_announced_is_refused_at_the_header() {
    const LONG: u32 = 100_000_000;
    let head = |kind: u8, length: u32| [&[kind][..], &length.to_le_bytes()].concat();
    let holder = |holder: Holder, frames: &[Vec<u8>]| {
        let mut b = Party::new(holder, Limits::NETWORK);
        frames.iter().for_each(|frame| _ = b.receive(frame).expect("an honest beginning"));
        b
    };
    // A peer of 60 keys in 300 bytes.
    let open = frame(OPEN, &wire::body_of([0, 60, 300, 256, 0, 0]));
    let sent = [open.clone(), frame(ALL, &[])];
    for (mut b, kind, says) in [
        (holder(Holder::new(set(0..50)), &[]), OPEN, "at most 48 are due"),
        (holder(Holder::new(set(0..50)), &sent[..1]), GRANT, "at most 8 are due"),
        (holder(Holder::new(set(0..50)), &sent[..1]), WANT, "at most 400 are due"),
        (holder(Holder::new(set(0..50)), &sent[..1]), ALL, "at most 0 are due"),
        (holder(Holder::new(set(0..50)), &sent[..1]), GIVE, "out of order"),
        (holder(Holder::new(set(0..50)), &sent), GIVE, "has no permission"),
        (holder(Holder::new(set(0..50)).taking(), &sent), GIVE, "at most 540 are due"),
        (holder(Holder::new(set(0..50)).taking(), &sent), LAST, "at most 1 are due"),
    ] {
        let refused = b.receive(&head(kind, LONG)).expect_err("too long").to_string();
        assert!(refused.contains(says), "{kind:#x}: {refused}");
    }
    let seeker = |keys: u32, frames: &[Vec<u8>]| {
        let mut a = Party::new(Seeker::new(set(0..keys)), Limits::NETWORK);
        a.receive(&[]).expect("an opening");
        frames.iter().for_each(|frame| _ = a.receive(frame).expect("an honest beginning"));
        a
    };
    let few = [frame(SIZES, &wire::body_of([10, 60, 0, 0]))];
    let many = [frame(SIZES, &wire::body_of([3000, 30_000, 0, 0]))];
    for (mut a, kind, says) in [
        (seeker(3000, &[]), SIZES, "at most 2080 are due"),
        (seeker(3000, &[]), AGAIN, "at most 0 are due"),
        (seeker(3000, &[]), KEYS, "out of order"),
        (seeker(3000, &many), CELLS, "at most 416 are due"),
        (seeker(3, &few), KEYS, "at most 100 are due"),
        (seeker(3, &few), END, "at most 0 are due"),
        (seeker(3, &few), CLOSED, "out of order"),
    ] {
        let refused = a.receive(&head(kind, LONG)).expect_err("too long").to_string();
        assert!(refused.contains(says), "{kind:#x}: {refused}");
    }
    // Frames that are short enough, and too many of them.
    let mut a = seeker(3, &few);
    let keys = |range: std::ops::Range<u32>| {
        let mut list = List::default();
        range.for_each(|i| _ = list.push(i.to_string().as_bytes()));
        frame(KEYS, &list.take().concat())
    };
    a.receive(&keys(0..10)).expect("as many as were announced");
    let refused = a.receive(&keys(10..11)).expect_err("one more").to_string();
    assert!(refused.contains("more than was announced"), "{refused}");
    let mut b = holder(Holder::new(set(0..50)).taking(), &sent);
    let mut given = (0..).map(|i| keys(20 * i..20 * i + 20).split_off(5));
    let mut give = || b.receive(&frame(GIVE, &given.next().expect("endless")));
    assert!((0..3).all(|_| give().is_ok()), "60 keys were announced");
    assert!(give().expect_err("and no more").to_string().contains("more than was announced"));
    // Cells beyond the grant, and sizes that cannot be.
    let cells = |count: usize| frame(CELLS, &vec![0; 17 * count]);
    let mut a = seeker(3000, &many);
    a.receive(&cells(10)).expect("some of those that were granted");
    let refused = a.receive(&cells(7)).expect_err("16 were granted").to_string();
    assert!(refused.contains("not granted"), "{refused}");
    let lies = frame(SIZES, &wire::body_of([61, 60, 0, 0]));
    assert!(seeker(3, &[]).receive(&lies).is_err());
    let lies = frame(OPEN, &wire::body_of([0, 61, 60, 256, 0, 0]));
    assert!(holder(Holder::new(set(0..50)), &[]).receive(&lies).is_err());
}

#[test]
fn whoever_gives_hears_of_the_end_when_it_is_stored() {
    for (a, given) in [(0..40, 5), (5..40, 0)] {
        let mut seeker = Party::new(Seeker::new(set(a)).giving(), Limits::NETWORK);
        let mut holder = Party::new(Holder::new(set(5..50)).storing(), Limits::NETWORK);
        let carried = Traffic::default().carry(&mut seeker, &mut holder).expect("honest");
        assert_eq!(
            (carried, holder.role.to_store().map(<[_]>::len)),
            (given == 0, (given > 0).then_some(given))
        );
        assert_eq!(seeker.role.found().is_some(), given == 0);
        holder.role.stored();
        assert!(Traffic::default().carry(&mut seeker, &mut holder).expect("honest"));
        assert_eq!(
            (seeker.role.found().expect("done").ours.len(), holder.role.taken().len()),
            (given, given)
        );
    }
}
