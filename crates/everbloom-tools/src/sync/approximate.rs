//! Approximate reconciliation (catalogue A8; S1 §5.2): one message each way, and a few keys are missed.
//!
//! ```text
//!   Asker                                            Teller
//!      │ ── FILTER: of its keys, b bits each ──────────▶ │
//!      │ ◀────────────── SIZES: of what it tells ─────── │
//!      │ ◀──── KEYS: those that are not in the filter ── │   a share f of them is taken for known, and withheld
//!      │ ◀────────────────────────────────────── END ─── │
//! ```
//!
//! Nothing that the asker has is sent, since a filter has no false negatives. What is withheld is as random as the
//! filter's seed: with a new seed for every contact, repeated contacts complete the list. Exact reconciliation costs
//! about 24 bytes for each key of the *difference*, the filter a byte for each key of the *set*: the exact one is cheaper
//! below |B|/24 differences.

use std::collections::HashSet;

use everbloom::exchange::rateless::Set;
use everbloom::exchange::{Due, Frame, List, Outbox, Role, items};
use everbloom::internals::cells::Bits;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, HashId, Hasher, Result};

/// Seed, number of probes, bits.
const FILTER: u8 = 0x80;
/// A list of keys.
const KEYS: u8 = 0x81;
/// Nothing.
const END: u8 = 0x82;
/// How many keys follow, and how many bytes they are, a line each.
const SIZES: u8 = 0x83;

/// The hash of both sides, whatever either would choose by itself.
fn hasher(seed: u64) -> Result<Hasher> {
    Hasher::with_id(HashId::Xxh3_128, seed)
}

/// A filter as it travels: seed in 8 bytes, probes in one, then the bits.
fn packed(filter: &Bloom, seed: u64) -> Vec<u8> {
    let mut body = seed.to_le_bytes().to_vec();
    body.push(filter.k() as u8);
    body.extend(filter.bits().words().iter().flat_map(|word| word.to_le_bytes()));
    body.truncate(9 + filter.m().div_ceil(8) as usize);
    body
}

fn unpacked(frame: &Frame) -> Result<Bloom> {
    let wrong = || frame.wrong("not a filter");
    let (seed, rest) = frame.body.split_first_chunk().ok_or_else(wrong)?;
    let (&k, bytes) = rest.split_first().ok_or_else(wrong)?;
    if !(1..=64).contains(&k) || bytes.is_empty() {
        return Err(wrong());
    }
    let mut bits = Bits::try_new(8 * bytes.len() as u64)?;
    for (i, byte) in (0u64..).zip(bytes) {
        (0..8).filter(|bit| byte >> bit & 1 == 1).for_each(|bit| _ = bits.set(8 * i + bit));
    }
    Bloom::from_bits(bits, k.into(), hasher(u64::from_le_bytes(*seed))?, 0)
}

/// The side that wants to know what it lacks.
///
/// ```
/// use everbloom::exchange::rateless::Set;
/// use everbloom::exchange::{Limits, Party, run};
/// use everbloom_tools::sync::approximate::{Asker, Teller};
///
/// let known = Set::new().with(b"fig").with(b"oak");
/// let mut here = Party::new(Asker::new(&known, 260, 1)?, Limits::NETWORK);
/// let mut there = Party::new(Teller::new(Set::new().with(b"oak").with(b"elm")), Limits::NETWORK);
/// run(&mut here, &mut there)?;
/// assert_eq!(here.role.missing(), [b"elm".to_vec()]);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Asker {
    filter: Bloom,
    seed: u64,
    seen: HashSet<Vec<u8>>,
    missing: Vec<Vec<u8>>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Waiting,
    /// These keys are to come.
    Told(Due),
    Done,
}

impl Asker {
    /// A filter of the keys in so many bytes, under a seed that should be new for every contact.
    pub fn new(known: &Set, bytes: u64, seed: u64) -> Result<Self> {
        let m = bytes.max(1).saturating_mul(8);
        let k = theory::best_k(m, (known.len() as u64).max(1)).clamp(1, 64);
        let mut filter = Bloom::with_shape(m, k, hasher(seed)?)?;
        known.keys().for_each(|key| _ = filter.insert(key));
        let (seen, missing) = (HashSet::new(), Vec::new());
        Ok(Self { filter, seed, seen, missing, state: State::Start })
    }

    /// How often a key of the other side is taken for known, by the filter's fill.
    pub fn withheld(&self) -> f64 {
        self.filter.bits().fill().powi(self.filter.k() as i32)
    }

    /// What came, when the exchange is over: none of it was known here.
    pub fn missing(&self) -> &[Vec<u8>] {
        if self.done() { &self.missing } else { &[] }
    }
}

impl Role for Asker {
    const FRAMES: &'static [u8] = &[SIZES, KEYS, END];

    fn room(&self, head: &Frame) -> Result<u64> {
        match (self.state, head.kind) {
            (State::Waiting, SIZES) => Ok(16),
            (State::Told(due), KEYS) => Ok(due.room()),
            (State::Told(_), END) => Ok(0),
            _ => Err(head.wrong("out of order")),
        }
    }

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if self.state != State::Start {
            return Ok(());
        }
        self.state = State::Waiting;
        out.frame(FILTER, &packed(&self.filter, self.seed))
    }

    fn hear(&mut self, frame: Frame, _: &mut Outbox) -> Result<()> {
        match (self.state, frame.kind) {
            (State::Waiting, SIZES) => {
                let (numbers, rest) = frame.body.as_chunks::<8>();
                let ([keys, bytes], []) = (numbers, rest) else {
                    return Err(frame.wrong("not two sizes"));
                };
                let [keys, bytes] = [keys, bytes].map(|bytes| u64::from_le_bytes(*bytes));
                self.state = State::Told(Due::new(keys, bytes));
                Ok(())
            }
            (State::Told(mut due), KEYS) => {
                items(&frame, |key| {
                    due.take(&frame, key)?;
                    if self.filter.contains(key) || !self.seen.insert(key.to_vec()) {
                        return Err(frame.wrong("a key that is known here"));
                    }
                    self.missing.push(key.to_vec());
                    Ok(())
                })?;
                self.state = State::Told(due);
                Ok(())
            }
            (State::Told(_), END) if frame.body.is_empty() => {
                self.state = State::Done;
                Ok(())
            }
            _ => Err(frame.wrong("out of order")),
        }
    }

    fn done(&self) -> bool {
        self.state == State::Done
    }
}

/// The side that tells what is not in a filter.
pub struct Teller {
    set: Set,
    told: u64,
    done: bool,
}

impl Teller {
    /// With its keys.
    pub fn new(set: Set) -> Self {
        Self { set, told: 0, done: false }
    }

    /// How many keys it told.
    pub fn told(&self) -> u64 {
        self.told
    }
}

impl Role for Teller {
    const FRAMES: &'static [u8] = &[FILTER];

    fn speak(&mut self, _: &mut Outbox) -> Result<()> {
        Ok(())
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        let filter = unpacked(&frame)?;
        let mut list = List::default();
        let missing = || self.set.keys().filter(|key| !filter.contains(*key));
        let lines = missing().map(|key| key.len() as u64 + 1);
        let (keys, bytes) = lines.fold((0u64, 0), |(keys, bytes), line| (keys + 1, bytes + line));
        out.frame(SIZES, &[keys, bytes].map(u64::to_le_bytes).concat())?;
        self.told = keys;
        for key in missing() {
            if list.push(key) {
                out.list(KEYS, &mut list)?;
            }
        }
        out.list(KEYS, &mut list)?;
        self.done = true;
        out.frame(END, &[])
    }

    fn done(&self) -> bool {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use everbloom::exchange::{Limits, Party};

    use super::*;

    #[test]
    fn what_no_honest_peer_says_is_an_error() {
        use everbloom::exchange::Session as _;
        use everbloom::{Error, Kind};
        let set = || Set::new().with(b"fig").with(b"oak");
        let frame = |kind, body: &[u8]| {
            let mut out = Vec::new();
            Frame::write(&mut out, kind, body, &Limits::NETWORK).unwrap();
            out
        };
        let asker = || {
            let mut asker = Party::new(Asker::new(&set(), 100, 1).unwrap(), Limits::NETWORK);
            asker.receive(&[]).unwrap();
            asker.receive(&frame(SIZES, &[2u64, 8].map(u64::to_le_bytes).concat())).unwrap();
            asker
        };
        assert!(asker().receive(&frame(KEYS, b"\x03fig")).is_err(), "known");
        assert!(asker().receive(&frame(KEYS, b"\x03elm\x03elm")).is_err(), "twice");
        assert!(asker().receive(&frame(END, b"x")).is_err());
        assert!(asker().receive(&frame(KEYS, b"\x09x")).is_err());
        assert!(asker().receive(&frame(KEYS, b"\x03ash\x03elm")).is_ok());
        assert!(
            asker().receive(&frame(KEYS, b"\x03ash\x03elm\x03yew")).is_err(),
            "two were announced"
        );
        assert!(asker().receive(&frame(KEYS, b"\x09chestnuts")).is_err(), "longer than announced");
        assert!(asker().receive(&[KEYS, 0, 0, 0, 4]).is_err(), "64 MiB of keys");
        assert!(asker().receive(&frame(SIZES, &[0; 16])).is_err(), "again");
        for body in [&b""[..], &[0; 8], &[0; 9], &[0, 0, 0, 0, 0, 0, 0, 0, 65, 1]] {
            let mut teller = Party::new(Teller::new(set()), Limits::NETWORK);
            let refused = teller.receive(&frame(FILTER, body)).unwrap_err();
            assert!(matches!(refused.kind(), Kind::Corrupt { .. }), "{body:?}: {refused}");
        }
        let _: Error = asker().closed().unwrap_err();
    }
}
