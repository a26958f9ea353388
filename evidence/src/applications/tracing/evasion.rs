//! Attacks cut into fragments, found without putting them together (catalogue A28; S0 §IV-E \[111\]).
//!
//! ```text
//!   signature  a t t a c k _ a t _ d a w n         its 3-byte pieces, in a counting filter of this flow:
//!              att tta tac ack ck_ k_a _at …       a piece that a fragment shows is taken out once
//!
//!   fragments  [attac] [k_at_] [dawn] in any order  ──▶ little is left: suspected, so the exact matcher runs
//! ```
//!
//! A fragment of s bytes shows s − 2 of its pieces, whatever the order of fragments and however they overlap. With
//! the limit α = 1/2 fragments of 4 bytes are enough; smaller ones show too little (a rule on tiny fragments must
//! catch those). Pieces are counted as often as the signature has them: a set would take a signature of repetitions
//! for found at its first piece. What is suspected is put together and searched exactly, so that no flow is accused
//! wrongly.

use std::collections::{HashMap, VecDeque};

use everbloom::internals::hash::Generator;
use everbloom::{Counting, Error, Hasher, Kind, Result};

use crate::sim::shuffle;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// Bytes of a piece.
const PIECE: usize = 3;
/// Counters for each piece: false positives of 6·10⁻⁶ a byte, since each takes counts from true pieces.
const COUNTERS: u64 = 32;
const PROBES: u32 = 8;
/// Bytes of a flow that are kept for the exact matcher.
const HISTORY: usize = 8 << 10;

/// A signature that may come in fragments.
///
/// ```
/// use everbloom_lab::applications::tracing::evasion::{Detector, Verdict};
/// let detector = Detector::new(b"attack at dawn", 0.5)?;
/// let mut flow = detector.flow();
/// assert_eq!(flow.fragment(10, b"dawn"), Verdict::Clean);
/// assert_eq!(flow.fragment(0, b"attac"), Verdict::Clean);
/// assert_eq!(flow.fragment(5, b"k at "), Verdict::Attack);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Detector {
    signature: Vec<u8>,
    pieces: Counting,
    /// Pieces left at which a flow is suspected.
    limit: usize,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Most of the signature has not been seen.
    Clean,
    /// Most of its pieces have been seen, but the bytes put together do not have it (yet).
    Suspected,
    /// The signature is there.
    Attack,
}

impl Detector {
    /// Watches for a signature of at least 3 bytes; a flow is suspected when the share `limit` of its pieces, or
    /// less, is left.
    pub fn new(signature: &[u8], limit: f64) -> Result<Self> {
        if signature.len() < PIECE || !(0.0..1.0).contains(&limit) {
            let message = format!(
                "a signature of {} bytes and a limit of {limit}: give at least {PIECE} bytes, and a limit from 0 \
                 to below 1",
                signature.len()
            );
            return Err(Error::new(Kind::BadParameter, message));
        }
        let count = signature.len() + 1 - PIECE;
        let mut pieces =
            Counting::with_shape(count as u64 * COUNTERS, PROBES, 8, Hasher::default())?;
        pieces.extend(signature.windows(PIECE));
        let limit = (count as f64 * limit) as usize;
        Ok(Self { signature: signature.to_vec(), pieces, limit })
    }

    /// A flow of which nothing has been seen.
    pub fn flow(&self) -> Flow<'_> {
        let left = self.signature.len() + 1 - PIECE;
        let (pieces, verdict) = (self.pieces.clone(), Verdict::Clean);
        Flow { detector: self, pieces, left, history: VecDeque::new(), kept: 0, verdict }
    }
}

/// One flow: the pieces that are left, and its last 8 KiB for the exact matcher.
pub struct Flow<'a> {
    detector: &'a Detector,
    pieces: Counting,
    left: usize,
    history: VecDeque<(u64, Vec<u8>)>,
    kept: usize,
    verdict: Verdict,
}

impl Flow<'_> {
    /// Takes the bytes that a packet brings for this place of the flow.
    pub fn fragment(&mut self, offset: u64, bytes: &[u8]) -> Verdict {
        for piece in bytes.windows(PIECE) {
            if self.pieces.contains(piece) && self.pieces.remove(piece).is_ok() {
                self.left -= 1;
            }
        }
        let cut = bytes.len().saturating_sub(HISTORY);
        self.history.push_back((offset.saturating_add(cut as u64), bytes[cut..].to_vec()));
        self.kept += bytes.len() - cut;
        while self.kept > HISTORY {
            self.kept -= self.history.pop_front().map_or(0, |(_, old)| old.len());
        }
        self.verdict = match self.verdict {
            Verdict::Attack => Verdict::Attack,
            _ if self.left > self.detector.limit => Verdict::Clean,
            _ if self.is_there() => Verdict::Attack,
            _ => Verdict::Suspected,
        };
        self.verdict
    }

    /// The exact matcher: the fragments by their place, a later one over an earlier one.
    fn is_there(&self) -> bool {
        let bytes = self.history.iter().flat_map(|(at, all)| (*at..).zip(all.iter().copied()));
        let mut places: Vec<(u64, u8)> = bytes.collect();
        // Stable, and the latest first: of the bytes for one place the latest is kept.
        places.reverse();
        places.sort_by_key(|(at, _)| *at);
        places.dedup_by_key(|(at, _)| *at);
        let wanted = &self.detector.signature;
        places.windows(wanted.len()).any(|window| {
            let together = (window[0].0..).zip(window).all(|(place, (at, _))| *at == place);
            together && window.iter().map(|(_, byte)| byte).eq(wanted)
        })
    }
}

/// The exact twin: the pieces left in a map.
fn exact_left(signature: &[u8], fragments: &[(u64, Vec<u8>)]) -> usize {
    let mut left: HashMap<&[u8], usize> = HashMap::new();
    signature.windows(PIECE).for_each(|piece| *left.entry(piece).or_default() += 1);
    for piece in fragments.iter().flat_map(|(_, bytes)| bytes.windows(PIECE)) {
        if let Some(count) = left.get_mut(piece) {
            *count = count.saturating_sub(1);
        }
    }
    left.values().sum()
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A28",
    form: Form::Component,
    uses: &["counting"],
    oracle: "the pieces left of each signature in a map, and a search of the whole flow",
    data: "flows of words with a signature of 30 bytes or without, cut, shuffled and sent twice",
    experiment: Experiment {
        name: "evasion",
        source: "S0 §IV-E [111]",
        title: "Attacks in fragments found by a counting filter of 3-byte pieces",
        shows: "At least 99 % of attacks are suspected, at most 1 % of other flows, whatever the order and overlap \
                of fragments; the exact matcher clears those. Fragments of 3 bytes hide the signature, and a set \
                in place of counts takes a repetition for an attack.",
        run,
    },
};

const ALPHA: f64 = 0.5;
const SIGNATURE: usize = 30;

/// About `bytes` bytes of words that repeat, as text does.
fn words(bytes: usize, random: &mut Generator) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < bytes {
        let mut word = Generator::new(random.below(400));
        let length = 2 + word.below(8);
        text.extend((0..length).map(|_| b'a' + word.below(26) as u8));
        text.push(b' ');
    }
    text
}

/// The flow cut into fragments of `least` bytes or up to 4 more, each a little more than its part, some sent twice,
/// in random order.
fn cut(flow: &[u8], least: usize, overlap: usize, random: &mut Generator) -> Vec<(u64, Vec<u8>)> {
    let (mut fragments, mut at) = (Vec::new(), 0);
    while at < flow.len() {
        let more = if least > PIECE { random.below(5) as usize } else { 0 };
        let end = (at + least + more).min(flow.len());
        let fragment = (at as u64, flow[at..(end + overlap).min(flow.len())].to_vec());
        if overlap > 0 && random.below(4) == 0 {
            fragments.push(fragment.clone());
        }
        fragments.push(fragment);
        at = end;
    }
    shuffle(&mut fragments, random);
    fragments
}

#[derive(Default)]
struct Seen {
    suspected: u64,
    accused: u64,
    flows: u64,
    /// Ours and the twin's: whether little is left.
    pairs: Vec<(bool, bool)>,
    /// Accused, and truly there.
    there: Vec<(bool, bool)>,
}

/// Flows with a signature in them, or without.
fn flows(seed: u64, count: u64, attack: bool, least: usize, overlap: usize) -> Result<Seen> {
    let mut random = Generator::new(seed);
    let mut seen = Seen { flows: count, ..Seen::default() };
    for _ in 0..count {
        let signature: Vec<u8> = (0..SIGNATURE).map(|_| b'!' + random.below(90) as u8).collect();
        let detector = Detector::new(&signature, ALPHA)?;
        let mut flow = words(600, &mut random);
        if attack {
            flow.splice(300..300, signature.iter().copied());
        }
        let fragments = cut(&flow, least, overlap, &mut random);
        let mut watched = detector.flow();
        for (at, bytes) in &fragments {
            watched.fragment(*at, bytes);
        }
        let verdict = watched.verdict;
        seen.suspected += u64::from(verdict != Verdict::Clean);
        seen.accused += u64::from(verdict == Verdict::Attack);
        let little = exact_left(&signature, &fragments) <= detector.limit;
        seen.pairs.push((verdict != Verdict::Clean, little));
        if verdict != Verdict::Clean {
            let there = flow.windows(SIGNATURE).any(|window| window == signature);
            seen.there.push((verdict == Verdict::Attack, there));
        }
    }
    Ok(seen)
}

fn together(all: Vec<Seen>) -> Seen {
    all.into_iter().fold(Seen::default(), |mut sum, one| {
        sum.suspected += one.suspected;
        sum.accused += one.accused;
        sum.flows += one.flows;
        sum.pairs.extend(one.pairs);
        sum.there.extend(one.there);
        sum
    })
}

/// What a signature of repetitions leaves of an innocent flow that shows it once: with counts, and as a set.
fn repetitions() -> Result<[f64; 2]> {
    let detector = Detector::new(&b"AB".repeat(15), ALPHA)?;
    let counted = detector.flow().fragment(0, b"the ABAB company");
    let mut set = everbloom::Bloom::with_rate(28, 1e-6)?;
    set.extend(b"AB".repeat(15).windows(PIECE));
    // Two different pieces, both shown.
    let distinct = [&b"ABA"[..], b"BAB"].iter().filter(|piece| set.contains(**piece)).count();
    Ok([f64::from(u8::from(counted != Verdict::Clean)), f64::from(u8::from(distinct == 2))])
}

/// Flows that show nearly all pieces of a signature and do not have it, since its parts stand in another order:
/// whether they were suspected, and accused.
fn innocent(seed: u64, count: u64) -> Result<Vec<(bool, bool)>> {
    let mut random = Generator::new(seed);
    let mut seen = Vec::new();
    for _ in 0..count {
        let signature: Vec<u8> = (0..SIGNATURE).map(|_| b'!' + random.below(90) as u8).collect();
        let detector = Detector::new(&signature, ALPHA)?;
        let mut flow = words(300, &mut random);
        signature.chunks(SIGNATURE / 3).rev().for_each(|part| flow.extend_from_slice(part));
        flow.extend(words(300, &mut random));
        let mut watched = detector.flow();
        for (at, bytes) in cut(&flow, 12, 3, &mut random) {
            watched.fragment(at, &bytes);
        }
        seen.push((watched.verdict != Verdict::Clean, watched.verdict == Verdict::Attack));
    }
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let mut rows = Rows::new("source", "The source's numbers", Axis::linear("share of flows"));
    let (runs, count) = (lab.scaled(4), 40);
    let all = |attack, least, overlap| -> Result<Seen> {
        Ok(together(lab.runs(runs, |seed| flows(seed, count, attack, least, overlap))?))
    };
    let mut series = Series::new(
        "most that fragments of s bytes show: (s − 2)/s > α",
        (3..=12).map(f64::from),
        |s| f64::from(u8::from((s - 2.0) / s >= ALPHA)),
    );
    for (least, overlap) in [(3, 0), (6, 0), (8, 0), (12, 0), (8, 3)] {
        let seen = all(true, least, overlap)?;
        let share = seen.suspected as f64 / seen.flows as f64;
        if overlap == 0 {
            let (predicted, fits) = match least {
                // Ten fragments that show one piece each: a third of 28.
                3 => (0.0, Bound::at_most(0.01)),
                _ => (1.0, Bound::at_least(0.99)),
            };
            series.point(least as f64, predicted, share, fits);
        } else {
            rows.row(
                "attacks suspected, fragments overlap and come twice",
                1.0,
                share,
                Bound::at_least(0.99),
            );
            rows.row(
                "attacks confirmed by the exact matcher",
                1.0,
                seen.accused as f64 / seen.flows as f64,
                Bound::at_least(0.99),
            );
        }
        oracle.equal(
            &format!("attacks in fragments of {least}, overlap {overlap}: little is left"),
            seen.pairs,
        );
        if seen.suspected > 0 {
            oracle.equal(&format!("… accused, and there ({least}, {overlap})"), seen.there);
        }
    }
    let clean = all(false, 8, 3)?;
    let high = bound::share(0.01, clean.flows).high.unwrap_or(1.0);
    rows.row(
        "other flows suspected: at most 1 %",
        0.01,
        clean.suspected as f64 / clean.flows as f64,
        Bound::at_most(high),
    );
    oracle.none("other flows accused", clean.accused);
    let innocent: Vec<_> =
        lab.runs(runs, |seed| innocent(seed, count))?.into_iter().flatten().collect();
    let share = |of: fn(&(bool, bool)) -> bool| {
        innocent.iter().filter(|flow| of(flow)).count() as f64 / innocent.len() as f64
    };
    rows.row(
        "flows with a signature's parts in another order: suspected",
        1.0,
        share(|flow| flow.0),
        Bound::at_least(0.99),
    );
    rows.row("… and accused", 0.0, share(|flow| flow.1), Bound::exactly(0.0, 0.0));
    let [counted, set] = repetitions()?;
    rows.row(
        "a repetition in an innocent flow: suspected, with counts",
        0.0,
        counted,
        Bound::exactly(0.0, 0.0),
    );
    rows.row("… and with a set of pieces (the trap)", 1.0, set, Bound::exactly(1.0, 0.0));
    let chart = Chart::new(
        "fragments",
        "Attacks suspected, by the size of fragments",
        [Axis::linear("bytes of a fragment"), Axis::linear("share of attacks")],
        [series],
    );
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_signatures_and_limits_beyond_one_are_refused() {
        assert!(Detector::new(b"ab", 0.5).is_err() && Detector::new(b"abc", 1.0).is_err());
        let mut flow = Detector::new(b"abc", 0.0).map(|d| d.flow().fragment(0, b"xabcx")).ok();
        assert_eq!(flow.take(), Some(Verdict::Attack));
    }

    #[test]
    fn what_is_kept_of_a_flow_is_bounded() {
        let detector = Detector::new(b"abcdef", 0.5).unwrap();
        let mut flow = detector.flow();
        for i in 0..100 {
            flow.fragment(i * 1000, &[b'x'; 1000]);
        }
        assert!(flow.kept <= HISTORY);
    }
}
