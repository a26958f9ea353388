//! Reconciliation trees: nothing is wrongly reported between honest parties, and lies are errors.

use super::super::tests::{fails, frame};
use super::super::{Limits, Party, Session, run};
use super::*;
use crate::file::to_bytes;

fn keys(range: std::ops::Range<u32>) -> Vec<Vec<u8>> {
    range.map(|i| format!("key {i}").into_bytes()).collect()
}

fn parties(a: Vec<Vec<u8>>, b: Vec<Vec<u8>>) -> (Party<Search>, Party<Summary>) {
    let limits = Limits::NETWORK;
    (Party::new(Search::new(a), limits), Party::new(Summary::new(b), limits))
}

#[test]
fn both_sides_have_the_same_keys_and_none_wrongly() {
    for (a, b) in [(0..0, 0..0), (0..1, 0..0), (0..0, 0..5), (0..3000, 20..3100), (0..9, 90..99)] {
        let (mut search, mut summary) = parties(keys(a.clone()), keys(b.clone()));
        let traffic = run(&mut search, &mut summary).unwrap_or_else(|e| panic!("{e}"));
        let sent: HashSet<Vec<u8>> = search.role.missing().map(<[u8]>::to_vec).collect();
        assert_eq!(summary.role.received(), Some(&sent));
        let theirs: HashSet<Vec<u8>> = keys(b.clone()).into_iter().collect();
        assert!(sent.is_disjoint(&theirs));
        let missing = a.clone().filter(|i| !b.contains(i)).count();
        assert!(
            sent.len() <= missing && sent.len() * 10 >= missing * 8,
            "{} of {missing}",
            sent.len()
        );
        assert!(traffic.b_to_a < 1000 + 3 * u64::from(b.end));
    }
    let seeded = Summary::new(keys(0..50)).seed(77).bits(4, 12);
    let mut summary = Party::new(seeded, Limits::NETWORK);
    let mut search = Party::new(Search::new(keys(10..70)).correction(5), Limits::NETWORK);
    run(&mut search, &mut summary).expect("any seed and any bits");
    assert!(search.role.missing().count() >= 18);
}

/// What an honest summary sends.
fn opening() -> Vec<u8> {
    let (_, mut summary) = parties(Vec::new(), keys(0..100));
    summary.receive(&[]).expect("filters").send
}

#[test]
fn truncated_exchanges_are_noticed() {
    let bytes = opening();
    for cut in [0, 1, 5, 13, 14, 200, bytes.len() - 1] {
        let (mut search, _) = parties(keys(5..120), Vec::new());
        let step = search.receive(&bytes[..cut]).expect("so far so good");
        assert!(!step.done && step.send.is_empty());
        assert_eq!(search.closed().expect_err("cut").kind(), Kind::Truncated);
    }
    let (mut search, mut summary) = parties(keys(5..120), keys(0..100));
    let filters = summary.receive(&[]).expect("filters").send;
    let answer = search.receive(&filters).expect("keys");
    assert!(answer.done && search.closed().is_ok());
    let most = &answer.send[..answer.send.len() - 1];
    assert!(!summary.receive(most).expect("so far").done);
    assert_eq!(summary.closed().expect_err("cut").kind(), Kind::Truncated);
}

#[test]
fn lies_are_errors() {
    let corrupt = |kind: Kind| matches!(kind, Kind::Corrupt { .. });
    let search = || parties(keys(0..20), Vec::new()).0;
    assert!(corrupt(fails(&mut search(), &frame(LEAVES, &[]))));
    assert!(corrupt(fails(&mut search(), &frame(OPEN, b"seven"))));
    let open = frame(OPEN, &7u64.to_le_bytes());
    assert!(corrupt(fails(&mut search(), &[open.clone(), open.clone()].concat())));
    assert!(corrupt(fails(&mut search(), &[open.clone(), frame(INNER, &[])].concat())));
    let garbage = [open.clone(), frame(LEAVES, b"not a filter at all")].concat();
    assert_ne!(fails(&mut search(), &garbage), Kind::Unsupported);
    // Filters under another seed than was said, or of another kind of node.
    for (seed, inner) in [(8, false), (7, true)] {
        let other = filter(seed, inner, 20, 8).expect("small");
        let lie = [open.clone(), frame(LEAVES, &to_bytes(&other))].concat();
        assert_eq!(fails(&mut search(), &lie), Kind::Incompatible { what: "seed" });
    }
    assert_eq!(fails(&mut search(), &frame(0x10, &[])), Kind::UnsupportedFeature);
    let summary = || {
        let (_, mut summary) = parties(Vec::new(), keys(0..20));
        summary.receive(&[]).expect("filters");
        summary
    };
    let list = |keys: &[&[u8]]| {
        let mut list = List::default();
        keys.iter().for_each(|key| _ = list.push(key));
        frame(KEYS, &list.take().concat())
    };
    assert!(corrupt(fails(&mut summary(), &list(&[b"key 3"]))), "a key that is there");
    assert!(corrupt(fails(&mut summary(), &list(&[b"new", b"new"]))), "a key twice");
    assert!(corrupt(fails(&mut summary(), &frame(END, b"more"))));
    assert!(corrupt(fails(&mut summary(), &frame(KEYS, &[200]))), "a list that is cut off");
    let mut failed = summary();
    fails(&mut failed, &frame(END, b"more"));
    assert_eq!(fails(&mut failed, &[]), Kind::Unsupported, "stays failed");
}

#[test]
fn frames_are_bounded() {
    let small = Limits { frame: 300, ..Limits::NETWORK };
    let mut summary = Party::new(Summary::new(keys(0..1000)), small);
    let refused = summary.receive(&[]).expect_err("a kilobyte a filter");
    assert_eq!(refused.kind(), Kind::LimitExceeded { what: "frame" });
    let mut search = Party::new(Search::new(keys(0..10)), small);
    let refused = search.receive(&opening()).expect_err("a long frame");
    assert_eq!(refused.kind(), Kind::LimitExceeded { what: "frame" });
}
