//! Approximate reconciliation (catalogue A8; S1 §5.2): one message each way, and a few keys are missed.
//!
//! ```text
//!   Asker                                            Teller
//!      │ ── FILTER: of its keys, b bits each ──────────▶ │
//!      │ ◀──── KEYS: those that are not in the filter ── │   a share f of them is taken for known, and withheld
//!      │ ◀────────────────────────────────────── END ─── │
//! ```
//!
//! Nothing that the asker has is sent, since a filter has no false negatives. What is withheld is as random as the
//! filter's seed: with a new seed for every contact, repeated contacts complete the list
//! ([`friends`](super::friends)). Exact reconciliation costs about 24 bytes for each key of the *difference*, the
//! filter a byte for each key of the *set*: the exact one is cheaper below |B|/24 differences.

use std::collections::HashSet;

use everbloom::exchange::rateless::{Holder, Seeker, Set};
use everbloom::exchange::{Frame, Limits, List, Outbox, Party, Role, items, run as exchange};
use everbloom::internals::cells::Bits;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, HashId, Hasher, Result};
use everbloom_lab::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

use crate::{Application, Form, Oracle};

/// Seed, number of probes, bits.
const FILTER: u8 = 0x80;
/// A list of keys.
const KEYS: u8 = 0x81;
/// Nothing.
const END: u8 = 0x82;

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
/// use everbloom_apps::peers::approximate::{Asker, Teller};
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
    const FRAMES: &'static [u8] = &[KEYS, END];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if self.state != State::Start {
            return Ok(());
        }
        self.state = State::Waiting;
        out.frame(FILTER, &packed(&self.filter, self.seed))
    }

    fn hear(&mut self, frame: Frame, _: &mut Outbox) -> Result<()> {
        match (self.state, frame.kind) {
            (State::Waiting, KEYS) => items(&frame, |key| {
                if self.filter.contains(key) || !self.seen.insert(key.to_vec()) {
                    return Err(frame.wrong("a key that is known here"));
                }
                self.missing.push(key.to_vec());
                Ok(())
            }),
            (State::Waiting, END) if frame.body.is_empty() => {
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
        for key in self.set.keys().filter(|key| !filter.contains(*key)) {
            self.told += 1;
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

/// Both sides in this process: what the asker lacks as far as it was told, and the bytes of the filter.
pub(super) fn told(known: &Set, other: Set, bytes: u64, seed: u64) -> Result<(Vec<Vec<u8>>, u64)> {
    let mut asker = Party::new(Asker::new(known, bytes, seed)?, Limits::LOCAL);
    let mut teller = Party::new(Teller::new(other), Limits::LOCAL);
    let traffic = exchange(&mut asker, &mut teller)?;
    Ok((asker.role.missing().to_vec(), traffic.a_to_b))
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A8",
    form: Form::Tool,
    uses: &["bloom", "invertible"],
    oracle: "hash sets of both sides' keys",
    data: "two sets of random keys that share most of them",
    experiment: Experiment {
        name: "approximate",
        source: "S1 §5.2",
        title: "Approximate and exact reconciliation of two peers",
        shows: "A filter of 8 bits a key delivers 1 − f of what a peer lacks and nothing that it has. The exact \
                exchange costs 1.4 cells of 17 bytes for each difference, and is cheaper below |B|/24 of them.",
        run,
    },
};

const KEYS_EACH: u64 = 4000;
const OWN: u64 = 1000;
const BITS: f64 = 8.0;

fn key(i: u64) -> [u8; 8] {
    everbloom::internals::hash::mix64(i).to_be_bytes()
}

/// `shared` keys and `own` of its own; `side` tells sides apart.
fn set(seed: u64, side: u64, shared: u64, own: u64) -> Set {
    let first = seed << 32;
    let keys = (0..shared).chain((0..own).map(|i| (side + 1) << 28 | i));
    keys.fold(Set::new(), |set, i| set.with(&key(first.wrapping_add(i))))
}

struct Seen {
    delivered: u64,
    known: u64,
    wrong: u64,
    filter: u64,
}

fn try_one(seed: u64) -> Result<Seen> {
    let (a, b) = (set(seed, 0, KEYS_EACH - OWN, OWN), set(seed, 1, KEYS_EACH - OWN, OWN));
    let exact: HashSet<Vec<u8>> =
        a.keys().filter(|key| !b.contains(key)).map(<[u8]>::to_vec).collect();
    let (missing, filter) = told(&b, a, (KEYS_EACH as f64 * BITS / 8.0) as u64, seed)?;
    let known = missing.iter().filter(|key| b.contains(key)).count() as u64;
    let wrong = missing.iter().filter(|key| !exact.contains(*key)).count() as u64;
    Ok(Seen { delivered: missing.len() as u64, known, wrong, filter })
}

/// An exact exchange: cells consumed, bytes apart from keys and their requests, and whether it was right.
fn exactly(seed: u64, shared: u64, d: u64) -> Result<(u64, u64, bool)> {
    let mut random = Generator::new(seed);
    let only_a = (0..d).filter(|_| random.next_u64() & 1 == 0).count() as u64;
    let (a, b) = (set(seed, 0, shared, only_a), set(seed, 1, shared, d - only_a));
    let seeker = Seeker::new(a).salted(seed).allowing(super::sync::ALLOWANCE);
    let mut a = Party::new(seeker, Limits::LOCAL);
    let mut b = Party::new(Holder::new(b), Limits::LOCAL);
    let total = exchange(&mut a, &mut b)?.total();
    let found = a.role.found().cloned().unwrap_or_default();
    let right = found.ours.len() as u64 == only_a
        && found.theirs.len() as u64 == d - only_a
        && found.theirs.iter().all(|key| b.role.set().contains(key) && !a.role.set().contains(key));
    // Each key of the holder's has an id of 8 bytes in the request and a length before it.
    let keys: u64 = found.theirs.iter().map(|key| key.len() as u64 + 9).sum();
    Ok((a.role.cells().consumed, total - keys, right))
}

/// Bytes of a cell: digest, check and a byte of count.
const CELL: f64 = 17.0;

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let runs = lab.scaled(10);
    let seen = lab.runs(runs, try_one)?;
    oracle.none("keys sent that the asker has", seen.iter().map(|s| s.known).sum());
    oracle.none("keys sent that the teller has not", seen.iter().map(|s| s.wrong).sum());
    let (m, n) = (KEYS_EACH as f64 * BITS, KEYS_EACH as f64);
    let k = f64::from(theory::best_k(m as u64, KEYS_EACH));
    let f = theory::fpr_classic(m, n, k);
    let sd = f * k * theory::fill_sd(m, n * k) / theory::fill(m, n * k);
    let mut rows = Rows::new("delivered", "One message of 8 bits a key", Axis::linear("share"));
    let all: u64 = seen.iter().map(|s| s.delivered).sum();
    rows.row(
        "share of what is lacking that is delivered, 1 − f",
        1.0 - f,
        all as f64 / (runs * OWN) as f64,
        bound::rate(1.0 - f, sd, runs, OWN),
    );
    let mut chart = Chart::new(
        "bytes",
        "Bytes beside the keys themselves, sets of 24 000 keys",
        [Axis::log("keys that differ"), Axis::log("bytes")],
        Vec::new(),
    );
    let filter = Series::new("filter of 8 bits a key", [20.0, 8000.0], |_| SHARED as f64);
    let per_key = |d: f64| 1.8 * d * CELL + super::sync::ALLOWANCE as f64;
    let xs = (0..=26).map(|i| 20.0 * 1.2589f64.powi(i));
    let mut exact = Series::new("exact, at most", xs, per_key);
    for d in [20u64, 100, 300, 1000, 2000] {
        let seen = lab.runs(1, |seed| exactly(seed, SHARED, d))?;
        oracle.none(&format!("exact exchanges of {d} that are wrong"), wrong(&seen));
        let most = per_key(d as f64);
        seen.iter().for_each(|s| exact.point(d as f64, most, s.1 as f64, Bound::at_most(most)));
    }
    chart.series = vec![filter, exact];
    let crossing = cross_over(lab, &mut oracle)?;
    let cells = cells(lab, &mut oracle)?;
    let filter = seen[0].filter as f64;
    let mut bytes = Rows::new("cross-over", "Which costs less?", Axis::log("bytes"));
    bytes.row(
        "filter of 4000 keys, m/8 and 14 around",
        m / 8.0 + 14.0,
        filter,
        Bound::exactly(m / 8.0 + 14.0, 0.0),
    );
    for (label, predicted, measured, bound) in crossing {
        bytes.row(label, predicted, measured, bound);
    }
    Ok(oracle.report().rows(rows).chart(chart).rows(bytes).rows(cells))
}

/// Shared keys of the exact exchanges.
const SHARED: u64 = 24_000;

fn wrong(seen: &[(u64, u64, bool)]) -> u64 {
    seen.iter().filter(|s| !s.2).count() as u64
}

type Line = (String, f64, f64, Bound);

/// At half of |B|/24 the exact exchange is cheaper than the filter, at four times as many it is not.
fn cross_over(lab: &Lab, oracle: &mut Oracle) -> Result<Vec<Line>> {
    let filter = SHARED as f64;
    let mut lines = Vec::new();
    for (d, cheaper) in [(SHARED / 48, true), (SHARED / 6, false)] {
        let seen = lab.runs(1, |seed| exactly(seed, SHARED, d))?;
        oracle
            .none(&format!("exact exchanges of {d} beside a filter that are wrong"), wrong(&seen));
        let bound = if cheaper { Bound::at_most(filter) } else { Bound::at_least(filter) };
        lines.push((
            format!("exact, {d} keys differ, against the filter"),
            filter,
            seen[0].1 as f64,
            bound,
        ));
    }
    Ok(lines)
}

/// Cells for each difference, and what is sent of them at the 99th percentile.
fn cells(lab: &Lab, oracle: &mut Oracle) -> Result<Rows> {
    let mut rows = Rows::new("cells", "Exact exchanges", Axis::linear("of what is allowed"));
    for (d, runs, shared, most) in [(100u64, 200, 2400, 1.48), (1000, lab.scaled(10), 12_000, 1.40)]
    {
        let seen = lab.runs(runs, |seed| exactly(seed, shared, d))?;
        oracle.none(&format!("exact exchanges of {d}, {runs} seeds, that are wrong"), wrong(&seen));
        let mean = seen.iter().map(|s| s.0 as f64).sum::<f64>() / (runs * d) as f64;
        rows.row(format!("cells consumed for each of {d}"), most, mean, Bound::at_most(most));
        let mut bytes: Vec<u64> = seen.iter().map(|s| s.1).collect();
        bytes.sort_unstable();
        let high = bytes[(bytes.len() * 99 / 100).min(bytes.len() - 1)] as f64;
        let allowed = 1.8 * d as f64 * CELL + super::sync::ALLOWANCE as f64;
        let label =
            format!("bytes at the 99th percentile of {runs} seeds, {d} differ, of those allowed");
        rows.row(label, 1.0, high / allowed, Bound::at_most(1.0));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a8_cross_over() {
        // A filter of 8 bits a key against 1.5 cells of 128 bits a difference.
        let filter = |n: f64| 8.0 * n;
        let cells = |d: f64| 1.5 * d * 128.0;
        assert!((cells(1000.0) - filter(24_000.0)).abs() < 1e-9);
    }

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
            asker
        };
        assert!(asker().receive(&frame(KEYS, b"\x03fig")).is_err(), "known");
        assert!(asker().receive(&frame(KEYS, b"\x03elm\x03elm")).is_err(), "twice");
        assert!(asker().receive(&frame(END, b"x")).is_err());
        assert!(asker().receive(&frame(KEYS, b"\x09x")).is_err());
        for body in [&b""[..], &[0; 8], &[0; 9], &[0, 0, 0, 0, 0, 0, 0, 0, 65, 1]] {
            let mut teller = Party::new(Teller::new(set()), Limits::NETWORK);
            let refused = teller.receive(&frame(FILTER, body)).unwrap_err();
            assert!(matches!(refused.kind(), Kind::Corrupt { .. }), "{body:?}: {refused}");
        }
        let _: Error = asker().closed().unwrap_err();
    }
}
