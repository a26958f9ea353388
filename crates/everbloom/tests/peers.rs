//! What a hostile peer can make a session hold: counted in bytes, whatever it announces.

#[path = "support/allocations.rs"]
mod allocations;

use everbloom::exchange::rateless::{Holder, Seeker, Set};
use everbloom::exchange::{Frame, Limits, Party, Role, Session as _};
use everbloom::{Error, Result};

/// Frames of rateless reconciliation.
const OPEN: u8 = 0x60;
const SIZES: u8 = 0x61;
const ALL: u8 = 0x66;
const KEYS: u8 = 0x67;
const GIVE: u8 = 0x69;

const MEGABYTE: usize = 1 << 20;

fn set() -> Set {
    (0..100u32).fold(Set::new(), |set, i| set.with(&i.to_le_bytes()))
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Frame::write(&mut out, kind, body, &Limits::NETWORK).expect("short");
    out
}

/// A frame of this type and length, in pieces as a socket delivers them, until it is refused or all but its last byte
/// has come.
fn flooded<R: Role>(party: &mut Party<R>, kind: u8, length: u32) -> Result<()> {
    let mut left = length as usize;
    party.receive(&[&[kind][..], &length.to_le_bytes()].concat())?;
    let piece = vec![0; 64 << 10];
    while left > 1 {
        let count = piece.len().min(left - 1);
        party.receive(&piece[..count])?;
        left -= count;
    }
    Ok(())
}

fn holder(holder: Holder, keys: u64, bytes: u64) -> Party<Holder> {
    let mut party = Party::new(holder, Limits::NETWORK);
    party.receive(&frame(OPEN, &numbers(&[0, keys, bytes, 256, 0, 0]))).expect("an opening");
    party.receive(&frame(ALL, &[])).expect("a wish");
    party
}

fn seeker(keys: u64, bytes: u64) -> Party<Seeker> {
    let mut party = Party::new(Seeker::new(set()), Limits::NETWORK);
    party.receive(&[]).expect("an opening");
    party.receive(&frame(SIZES, &numbers(&[keys, bytes, 0, 0]))).expect("sizes");
    party
}

/// What comes of an attack, and the most bytes that it took.
fn attacked(attack: impl FnOnce() -> Result<()>) -> (Option<Error>, usize) {
    let (done, peak) = allocations::peak(attack);
    (done.err(), peak)
}

#[test]
fn a_frame_that_was_not_announced_takes_nothing() {
    const LONG: u32 = 100_000_000;
    let mut not_taking = holder(Holder::new(set()), 1 << 40, 1 << 41);
    let mut taking = holder(Holder::new(set()).taking(), 10, 100);
    let mut waiting = Party::new(Holder::new(set()), Limits::NETWORK);
    let mut wanting = seeker(10, 60);
    let mut opened = Party::new(Seeker::new(set()), Limits::NETWORK);
    opened.receive(&[]).expect("an opening");
    for (name, (refused, peak)) in [
        ("keys for a side that takes none", attacked(|| flooded(&mut not_taking, GIVE, LONG))),
        ("more than the ten keys", attacked(|| flooded(&mut taking, GIVE, LONG))),
        ("an opening", attacked(|| flooded(&mut waiting, OPEN, LONG))),
        ("keys beyond those announced", attacked(|| flooded(&mut wanting, KEYS, LONG))),
        ("sizes", attacked(|| flooded(&mut opened, SIZES, LONG))),
    ] {
        assert!(refused.is_some() && peak < MEGABYTE / 8, "{name}: {peak} bytes");
    }
}

#[test]
fn what_is_announced_is_held_as_it_comes_and_no_longer_than_the_limits() {
    // Sizes that cannot be: each frame may be as long as the limits, and is held at the cost of what has come.
    let mut party = holder(Holder::new(set()).taking(), 1 << 40, 1 << 41);
    let (refused, peak) = attacked(|| {
        party.receive(&[&[GIVE][..], &100_000_000u32.to_le_bytes()].concat())?;
        party.receive(&vec![0; MEGABYTE]).map(drop)
    });
    assert!(refused.is_none() && peak < 5 * MEGABYTE, "{peak} bytes");
    let mut party = holder(Holder::new(set()).taking(), 1 << 40, 1 << 41);
    let (refused, peak) = attacked(|| flooded(&mut party, GIVE, 200 << 20));
    assert!(refused.is_some() && peak < MEGABYTE / 8, "{peak} bytes");
    // Frames without end come to one.
    let mut party = seeker(1 << 40, 1 << 41);
    let key = vec![7; 60 << 10];
    let (refused, _) = attacked(|| {
        let limits = Limits::NETWORK;
        for i in 0..=limits.total / key.len() as u64 {
            let mut body = vec![0x84, 0xE0, 0x03];
            body.extend_from_slice(&(i as u32).to_le_bytes());
            body.extend_from_slice(&key);
            party.receive(&frame(KEYS, &body))?;
        }
        Ok(())
    });
    let message = refused.expect("128 MiB are enough").to_string();
    assert!(message.contains("more than 134217728 bytes"), "{message}");
}
