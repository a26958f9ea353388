//! What every exchange promises, whatever its peer sends: an error, never a panic, a hang or a large
//! allocation.

use std::borrow::Cow;

use super::join::{Left, Right, Rows};
use super::reconcile::{Holder, Seeker, Set};
use super::tree::{Search, Summary};
use super::*;
use crate::error::{Error, Kind};
use crate::filter::{Filter, Record};
use crate::hash::Generator;

/// A frame as a peer may send it.
pub(super) fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Frame::write(&mut out, kind, body, &Limits::NETWORK).expect("small");
    out
}

/// What comes of bytes that no honest peer sends.
pub(super) fn fails(session: &mut dyn Session, bytes: &[u8]) -> Kind {
    session.receive(bytes).expect_err("no honest peer says so").kind()
}

fn key(i: u32) -> Vec<u8> {
    format!("key {i}").into_bytes()
}

fn set(range: std::ops::Range<u32>) -> Set {
    range.fold(Set::new(), |set, i| set.with(&key(i)))
}

fn joining() -> (Party<Left>, Party<Right>) {
    let mut left = Left::new(0.01);
    (0..20).for_each(|i| left.insert(&key(i), &key(i)));
    let mut right = Right::new();
    right.end();
    (Party::new(left, Limits::NETWORK), Party::new(right, Limits::NETWORK))
}

fn reconciling() -> (Party<Seeker>, Party<Holder>) {
    let seeker = Party::new(Seeker::new(set(0..60)), Limits::NETWORK);
    (seeker, Party::new(Holder::new(set(3..64)), Limits::NETWORK))
}

fn treeing() -> (Party<Search>, Party<Summary>) {
    let search = Party::new(Search::new((0..60).map(key)), Limits::NETWORK);
    (search, Party::new(Summary::new((3..64).map(key)), Limits::NETWORK))
}

/// How many exchanges there are.
const EXCHANGES: usize = if cfg!(feature = "secure") { 5 } else { 3 };

/// Both parties of an exchange, at its beginning.
fn exchange(number: usize) -> [Box<dyn Session>; 2] {
    match number {
        0 => {
            let (seeker, holder) = reconciling();
            [Box::new(seeker), Box::new(holder)]
        }
        1 => {
            let (left, right) = joining();
            [Box::new(left), Box::new(right)]
        }
        2 => {
            let (search, summary) = treeing();
            [Box::new(search), Box::new(summary)]
        }
        #[cfg(feature = "secure")]
        3 => searching(),
        #[cfg(feature = "secure")]
        4 => asking(),
        _ => unreachable!("there are {EXCHANGES}"),
    }
}

#[cfg(feature = "secure")]
fn searching() -> [Box<dyn Session>; 2] {
    use super::search::{Keeper, Searcher, Shelf};
    use crate::secure::Secret;
    use crate::secure::index::{IndexKey, Shape};
    let shape = Shape::for_rate(4, 1e-6).expect("a shape");
    let (index, mut shelf) = (IndexKey::new(&Secret::new([1; 32]), shape.r()), Shelf::new(shape));
    shelf.push(index.build(shape, b"name", [&b"oak"[..]]).expect("small"));
    let searcher = Searcher::new().filing(shelf).asking(index.trapdoor(b"oak"));
    let keeper = Party::new(Keeper::new(), Limits::NETWORK);
    [Box::new(Party::new(searcher, Limits::NETWORK)), Box::new(keeper)]
}

/// Blinds follow from a secret, so that what one asker heard fits the next.
#[cfg(feature = "secure")]
fn asking() -> [Box<dyn Session>; 2] {
    use super::private::{Asker, Owner, outputs};
    use crate::secure::Secret;
    use crate::secure::oprf::{Mode, ServerKey, Toy};
    let secret = Secret::new([1; 32]);
    let key = ServerKey::<Toy>::derive(Mode::Verified, &secret, b"test").expect("a key");
    let filter = outputs(&key, 2, 0.01, [&b"fig"[..], b"oak"]).expect("a filter");
    let owner = Party::new(Owner::new(key, 10).with_set(filter), Limits::NETWORK);
    let asker = Asker::<Toy>::resumed(vec![b"oak".to_vec()], secret, [2; 16]);
    [Box::new(owner), Box::new(Party::new(asker, Limits::NETWORK))]
}

/// Sides that can't know what an honest peer would have said, by exchange: a holder and a summary, of a key that only
/// the other side has; a searcher and a keeper, of names, filters and trapdoors; an owner, of random elements.
const TRUSTING: [(usize, usize); 5] = [(0, 1), (2, 1), (3, 0), (3, 1), (4, 0)];

/// What each side hears in an honest exchange, piece by piece.
fn heard(pair: &mut [Box<dyn Session>; 2]) -> [Vec<Vec<u8>>; 2] {
    let [a, b] = pair;
    let mut heard = [Vec::new(), Vec::new()];
    let (mut from_a, mut from_b) = (a.receive(&[]).expect("a"), b.receive(&[]).expect("b"));
    while !(from_a.send.is_empty() && from_b.send.is_empty()) {
        heard[0].push(from_b.send);
        heard[1].push(from_a.send);
        from_a = a.receive(heard[0].last().expect("pushed")).expect("a");
        from_b = b.receive(heard[1].last().expect("pushed")).expect("b");
    }
    assert!(from_a.done && from_b.done);
    heard
}

/// A fresh party, by exchange and side, and what it hears in an honest exchange.
fn cases() -> Vec<(usize, usize, Vec<Vec<u8>>)> {
    let transcripts = (0..EXCHANGES).map(|e| (e, heard(&mut exchange(e))));
    transcripts.flat_map(|(e, [a, b])| [(e, 0, a), (e, 1, b)]).collect()
}

fn party(number: usize, side: usize) -> Box<dyn Session> {
    let [a, b] = exchange(number);
    if side == 0 { a } else { b }
}

/// Feeds pieces to a party that has begun: done or not, or the error.
fn feed(session: &mut dyn Session, pieces: &[Vec<u8>]) -> Result<bool> {
    let mut done = session.receive(&[])?.done;
    for piece in pieces {
        done = session.receive(piece)?.done;
    }
    Ok(done)
}

#[test]
fn bytes_may_come_in_pieces_of_any_size() {
    for (e, side, pieces) in cases() {
        for size in [1, 2, 7, 4096] {
            let bytes = pieces.iter().flat_map(|piece| piece.chunks(size).map(<[u8]>::to_vec));
            let mut session = party(e, side);
            assert!(
                matches!(feed(&mut *session, &bytes.collect::<Vec<_>>()), Ok(true)),
                "{e} {side}"
            );
            assert!(session.closed().is_ok());
        }
    }
}

#[test]
fn an_exchange_that_is_cut_off_is_an_error() {
    for (e, side, pieces) in cases() {
        let bytes = pieces.concat();
        let step = (bytes.len() / 300).max(1);
        for length in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
            let mut session = party(e, side);
            assert!(matches!(feed(&mut *session, &[bytes[..length].to_vec()]), Ok(false)));
            let error = session.closed().expect_err("the end is missing");
            assert_eq!(error.kind(), Kind::Truncated, "{e} {side} {length}");
        }
    }
}

#[test]
fn changed_bytes_are_never_taken_for_an_honest_exchange() {
    let mut random = Generator::new(1);
    for (e, side, pieces) in cases() {
        let bytes = pieces.concat();
        for _ in 0..300 {
            let mut wrong = bytes.clone();
            let place = random.below(bytes.len() as u64) as usize;
            wrong[place] ^= 1 << random.below(8);
            let mut session = party(e, side);
            let ended = feed(&mut *session, &[wrong]);
            let trusting = TRUSTING.contains(&(e, side));
            assert!(!matches!(ended, Ok(true)) || trusting, "{e} {side}: byte {place}");
            if ended.is_err() {
                assert!(session.receive(&[]).is_err() && session.closed().is_err(), "stays failed");
            }
        }
    }
}

#[test]
fn garbage_is_an_error() {
    let mut random = Generator::new(2);
    for (e, side, _) in cases() {
        for _ in 0..500 {
            let length = random.below(200);
            let garbage: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
            let mut session = party(e, side);
            let ended = feed(&mut *session, std::slice::from_ref(&garbage));
            assert!(ended.is_err() || session.closed().is_err(), "{garbage:?}");
        }
    }
}

/// Frames that are in order after so many pieces of an honest exchange, by exchange and side.
const IN_ORDER: [[&[&[u8]]; 2]; 5] = [
    [
        &[&[0x11, 0x12], &[0x14], &[0x12, 0x17, 0x18], &[]],
        &[&[0x10], &[0x13], &[0x13, 0x15, 0x16], &[]],
    ],
    [&[&[0x21, 0x22], &[]], &[&[0x20], &[]]],
    [&[&[0x70], &[]], &[&[0x73, 0x74], &[]]],
    [&[&[0x35, 0x36], &[]], &[&[0x30], &[]]],
    [&[&[0x42, 0x43], &[]], &[&[0x40], &[0x44], &[]]],
];

#[test]
fn frames_out_of_order_are_errors() {
    for (e, side, mut pieces) in cases() {
        pieces.retain(|piece| !piece.is_empty());
        let in_order = IN_ORDER[e][side];
        assert_eq!(pieces.len() + 1, in_order.len());
        for (point, in_order) in in_order.iter().enumerate() {
            let out_of_order = (0x10..0x80).filter(|kind| !in_order.contains(kind));
            for kind in out_of_order {
                for body in [&[][..], &[0; 8], &[9; 16], &[1, 7]] {
                    let mut wrong = Vec::new();
                    Frame::write(&mut wrong, kind, body, &Limits::NETWORK).expect("small");
                    let mut session = party(e, side);
                    feed(&mut *session, &pieces[..point]).expect("an honest beginning");
                    assert!(session.receive(&wrong).is_err(), "{e} {side} {point} {kind:#x}");
                }
            }
        }
    }
}

#[test]
fn oversized_frames_are_refused_at_their_header() {
    for (e, side, pieces) in cases() {
        let kind = pieces.concat()[0];
        let mut session = party(e, side);
        session.receive(&[]).expect("an opening");
        let error = session.receive(&[kind, 1, 0, 0, 8]).expect_err("128 MiB and a byte");
        assert_eq!(error.kind(), Kind::LimitExceeded { what: "frame" });
        assert!(session.receive(&[]).is_err(), "stays failed");
    }
}

/// Frames whose length nobody knows before: filters, documents, and lists of keys, rows or names that were not announced.
/// The limits of the session bound them.
const UNBOUNDED: [u8; 6] = [0x15, 0x17, 0x20, 0x21, 0x35, 0x73];

#[test]
fn bodies_longer_than_can_be_meant_are_refused_at_their_headers() {
    for (e, side, mut pieces) in cases() {
        pieces.retain(|piece| !piece.is_empty());
        for (point, in_order) in IN_ORDER[e][side].iter().enumerate() {
            for kind in *in_order {
                let mut session = party(e, side);
                feed(&mut *session, &pieces[..point]).expect("an honest beginning");
                let head = [&[*kind][..], &100_000_000u32.to_le_bytes()].concat();
                let refused = session.receive(&head).err().map(|e| e.to_string());
                let due = refused.is_some_and(|message| message.contains("are due"));
                assert_eq!(due, !UNBOUNDED.contains(kind), "{e} {side} {point} {kind:#x}");
            }
        }
    }
}

#[test]
fn parties_that_wait_for_each_other_are_an_error() {
    let (mut a, mut b) = (party(0, 1), party(0, 1));
    assert_eq!(run(&mut *a, &mut *b).expect_err("nobody begins").kind(), Kind::Truncated);
    let (mut a, mut b) = (party(0, 0), party(0, 0));
    assert!(run(&mut *a, &mut *b).is_err(), "both begin");
    let (mut a, mut b) = (party(0, 0), party(1, 1));
    assert_eq!(run(&mut *a, &mut *b).expect_err("of two kinds").kind(), Kind::UnsupportedFeature);
}

#[test]
fn joins_are_exact_and_bytes_are_counted() {
    fn key_of(row: &[u8]) -> Result<Cow<'_, [u8]>> {
        let key = row.split(|b| *b == b',').nth(1).map(Cow::Borrowed);
        key.ok_or_else(|| Error::record("no key"))
    }
    let mut left = Left::new(0.2);
    for i in 0..1000 {
        left.insert(&key(i % 900), &i.to_string().into_bytes());
    }
    let mut left = Party::new(left, Limits::NETWORK);
    let mut right = Party::new(Right::new(), Limits::NETWORK);
    assert!(right.role.row(b"early", b"row").is_err());
    let (mut traffic, mut pairs, mut pieces) = (Traffic::default(), Vec::new(), 0);
    assert!(matches!(traffic.carry(&mut left, &mut right), Ok(false)));
    let filter = traffic.a_to_b;
    assert!(filter > 900 / 8 && traffic.b_to_a == 0);
    let row = |i: u32| [b"row,", &key(i)[..]].concat();
    for i in 500..50_000 {
        let full = right.role.row(&key(i), &row(i)).expect("a row");
        if i == 49_999 {
            right.role.end();
        } else if !full {
            continue;
        }
        pieces += 1;
        traffic.carry(&mut left, &mut right).expect("an honest exchange");
        let mut note = |l: &[u8], r: &[u8]| {
            pairs.push((l.to_vec(), r.to_vec()));
            Ok(())
        };
        left.role.pairs(key_of, &mut note).expect("rows with keys");
    }
    assert!(left.closed().is_ok() && right.closed().is_ok());
    assert!(right.role.row(b"late", b"row").is_err());
    let expected: Vec<_> = (500..900).map(|i| (i.to_string().into_bytes(), row(i))).collect();
    assert_eq!((pairs, left.role.joined()), (expected, 400));
    let in_vain = left.role.in_vain();
    assert!((5000..12_000).contains(&in_vain), "a rate of 20 % shows: {in_vain}");
    assert!(pieces > 1, "rows travel before the last one is known");
    assert!(traffic.b_to_a > 14 * in_vain && traffic.a_to_b == filter);
    assert_eq!(traffic.total(), traffic.a_to_b + traffic.b_to_a);
}

#[test]
fn rows_without_a_key_are_errors() {
    let (mut left, _) = joining();
    left.receive(&[]).expect("a filter");
    assert!(left.receive(b"\x21\x02\0\0\0\x09x").is_err(), "a list that is cut off");
    let mut left = Party::new(Left::new(0.01), Limits::NETWORK);
    left.receive(&[]).expect("a filter");
    left.receive(b"\x21\x02\0\0\0\x01x").expect("a row");
    assert!(left.role.pairs(|_| Err(Error::record("no key")), |_, _| Ok(())).is_err());
}

/// In texts that are full sooner than the pairs of a key come to their end, and from frames with a row that can't be read.
#[test]
fn pairs_written_on_all_cores_are_those_one_by_one() {
    const MANY: u32 = 600;
    let mut left = Left::new(0.01);
    for i in 0..MANY {
        let row = [&b"many, a row of some length: "[..], &key(i)].concat();
        left.insert(b"many", &row);
        left.insert(&key(i), &key(i));
    }
    let (mut left, mut right) = (Party::new(left, Limits::LOCAL), Right::new());
    let mut rows = Rows::default();
    for i in 0..20_000 {
        rows.push(if i % 40 == 7 { b"many" } else { b"lonely" });
        rows.push(&key(i));
        if i % 5000 == 4999 {
            rows.push(b"unreadable");
            rows.push(b"behind");
        }
    }
    right.passed([&rows]);
    right.end();
    let mut right = Party::new(right, Limits::LOCAL);
    Traffic::default().carry(&mut left, &mut right).expect("an exchange");
    fn any(row: &[u8]) -> Result<Cow<'_, [u8]>> {
        Ok(row.into())
    }
    fn readable(row: &[u8]) -> Result<Cow<'_, [u8]>> {
        if row == b"unreadable" { Err(Error::record("unreadable")) } else { any(row) }
    }
    for unreadable in [false, true] {
        let key_of = if unreadable { readable } else { any };
        let (mut one, mut all) = (left.role.clone(), left.role.clone());
        let (mut expected, mut text, mut longest) = (Vec::new(), Vec::new(), 0);
        let form = |text: &mut Vec<u8>, left: &[u8], right: &[u8]| {
            [left, b"|", right, b"\n"].iter().for_each(|part| text.extend_from_slice(part));
        };
        let first = one.pairs(key_of, |left, right| {
            form(&mut expected, left, right);
            Ok(())
        });
        let second = all.write_pairs(key_of, form, |piece| {
            longest = longest.max(piece.len());
            text.extend_from_slice(piece);
            Ok(())
        });
        assert_eq!((first.is_err(), second.is_err()), (unreadable, unreadable));
        assert!(text == expected, "{} of {} bytes", text.len(), expected.len());
        assert!(text.len() > 5 << 20 || unreadable, "{} bytes", text.len());
        assert!(longest < 2 << 20, "a text of {longest} bytes");
        assert_eq!((all.joined(), all.in_vain()), (one.joined(), one.in_vain()));
        assert!(one.in_vain() > 0 && one.joined() > 20_000 || unreadable);
    }
    // A text that nobody takes ends the work.
    let refused = left.role.write_pairs(
        |row| Ok(row.into()),
        |text, _, _| text.push(0),
        |_| Err(Error::record("full")),
    );
    assert!(refused.is_err());
}

#[test]
fn a_join_takes_any_filter_of_keys_and_no_other() {
    let send = |filter: &dyn Filter| {
        let mut bytes = Vec::new();
        let body = crate::to_bytes(filter);
        Frame::write(&mut bytes, 0x20, &body, &Limits::NETWORK).expect("small");
        let mut right = Party::new(Right::new(), Limits::NETWORK);
        right.receive(&bytes).map(|_| right)
    };
    let mut bloom = crate::membership::Bloom::with_rate(10, 0.01).expect("a filter");
    bloom.insert("fig");
    let mut right = send(&bloom).expect("a filter of keys");
    assert!(matches!(right.role.row(b"fig", b"fig"), Ok(false)));
    right.role.end();
    assert_eq!(right.receive(&[]).expect("rows").send, b"\x21\x04\0\0\0\x03fig\x22\0\0\0\0");
    // Bits of vectors, which rows do not have.
    let near = crate::catalog::by_slug("distance-sensitive").expect("in the list");
    let goal = crate::plan::Goal::new(1, 0.01);
    let vector = [b'0'; 64];
    let near = near.build_from(&goal, &[Record::key(&vector)]).expect("a filter");
    assert!(send(&*near).expect("a filter").role.row(b"fig", b"fig").is_err());
    assert!(send(&bloom).expect("once").receive(&[0x20, 0, 0, 0, 0]).is_err(), "a second filter");
}
