//! The stable Bloom filter (Deng, Rafiei 2006; catalogue §27; S3 ref. 135 §VII-B, S0 ref. 40 §III-I eq. 18).
//!
//! Has this click, packet or URL been seen lately? A stream never ends, so a filter for it must forget
//! as fast as it learns. The cells are small counters, but they count down: a key sets its k cells to
//! the maximum, and before that every arrival takes one off P cells in a row, from a random start.
//!
//! ```text
//!   3 0 1 2 0 0 1 3 0 2 0 1     asked: are all k cells above zero?
//!               ───────
//!   3 0 1 2 0 0 0 2 0 1 0 1     P = 4 cells in a row lose one, from a random start
//!               ↓       ↓
//!   3 0 1 2 0 0 3 2 0 1 3 1     the k = 2 cells are set to Max = 3
//! ```
//!
//! What is set per arrival and what is taken off balance each other: whatever it starts from, the share
//! of zeros settles at Z = (1/(1 + 1/(P(1/k − 1/m))))^Max, so the rate of false positives settles at
//! (1 − Z)^k and stays there for ever. The price are false negatives: a key is forgotten some time
//! after its last arrival, when one of its cells has been decremented to zero.
//!
//! **Use it** to flag recent repetitions in a stream without end. **Don't** when forgetting must follow
//! a sharp window (two filters by turns do that), or when nothing may be forgotten (`scalable`).
//!
//! # When a key is forgotten
//!
//! Look at one cell. An arrival hits it with at most one decrement, of probability δ = P/m, and then
//! sets it with probability q = 1 − (1−1/m)^k. So an arrival either sets it (q), only decrements it
//! (δ(1−q)), or leaves it alone. Of the arrivals that touch it, a share a = δ(1−q)/(q + δ(1−q)) only
//! decrement. The cell is zero exactly when it was touched at least Max times since it was set and the
//! last Max touches were all decrements, whatever was before. Touches come independently, so g arrivals
//! after being set a cell is zero with probability
//!
//! ```text
//!   z(g) = a^Max · P(Bin(g, q + δ(1−q)) ≥ Max)
//! ```
//!
//! which tends to a^Max; with q = k/m that is the paper's Z, without detour. The key is missed if one of
//! its k cells is zero: 1 − (1 − z(g))^k. The plan takes the least m for which this, averaged over the
//! window g = 0 … n−1, is at most `fnr`.

use std::cell::Cell;

use crate::cells::Packed;
use crate::hash::Generator;
use crate::plan::MAX_CELLS;
use crate::probe::{Coincide, Probe};
use crate::theory::{mean_over, tail};
use crate::variant::prelude::*;

/// The recent part of a stream, in m cells that count down.
#[derive(Clone, Debug, PartialEq)]
pub struct Stable {
    head: Head,
    probe: Probe,
    cells: Packed,
    /// P, the cells decremented per arrival.
    decrements: u64,
    /// Draws where each run of decrements starts.
    generator: Generator,
}

state!(Stable { head, probe, cells, decrements, generator });

impl Stable {
    /// A filter that recognizes the last `window` keys, except for 10 % of them on average, and takes
    /// at most a share of `fpr` of the others for repetitions, for ever.
    ///
    /// ```
    /// use everbloom::filter::Seen;
    ///
    /// let mut clicks = everbloom::decaying::Stable::with_rate(10_000, 0.01)?;
    /// assert_eq!(clicks.insert("a click"), Seen::New);
    /// assert_eq!(clicks.insert("a click"), Seen::Maybe);
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn with_rate(window: u64, fpr: f64) -> Result<Self> {
        crate::variant::empty(&Goal::new(window, fpr))
    }

    /// A filter of `m` cells of `max_bits` bits (1 to 8), `k` probes (below m) and `decrements` cells
    /// decremented per arrival (1 to m).
    pub fn with_shape(
        m: u64,
        k: u32,
        max_bits: u32,
        decrements: u64,
        hasher: Hasher,
    ) -> Result<Self> {
        let shape = Shape { m, k, max_bits, decrements, fnr: None };
        shape.check()?;
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// Processes an arrival, in the order that matters: asks, decrements, sets. `Maybe` flags a
    /// repetition; a repetition that comes too late is `New`.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let seen = self.probe.all(digest, |i| self.cells.get(i) != 0);
        self.decrement();
        let max = self.cells.max();
        let cells = &mut self.cells;
        self.probe.each(digest, |i| cells.set(i, max));
        self.head.count(1);
        if seen { Seen::Maybe } else { Seen::New }
    }

    /// Takes one off P cells in a row from a random start, around the end; returns how many became zero.
    #[inline]
    fn decrement(&mut self) -> u64 {
        let m = self.cells.len();
        let mut i = self.generator.below(m);
        let mut emptied = 0;
        for _ in 0..self.decrements {
            let level = self.cells.get(i);
            if level > 0 {
                self.cells.set(i, level - 1);
                emptied += u64::from(level == 1);
            }
            i = if i + 1 == m { 0 } else { i + 1 };
        }
        emptied
    }

    /// Whether the key seems to have arrived lately.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.probe.all(self.head.hasher.digest(key), |i| self.cells.get(i) != 0)
    }

    /// Lets `ticks` arrivals' worth of decrements happen without an arrival.
    pub fn age(&mut self, ticks: u64) {
        // Stops once nothing is left to forget, so that no number of ticks takes for ever.
        let mut left = self.nonzero();
        for _ in 0..ticks {
            if left == 0 {
                break;
            }
            left -= self.decrement();
        }
    }

    /// The cells.
    pub fn cells(&self) -> &Packed {
        &self.cells
    }

    fn shape(&self) -> Shape {
        let (m, max_bits) = (self.cells.len(), self.cells.width());
        Shape { m, k: self.probe.k(), max_bits, decrements: self.decrements, fnr: None }
    }

    fn nonzero(&self) -> u64 {
        self.cells.iter().filter(|&c| c != 0).count() as u64
    }

    fn used(&self) -> f64 {
        self.nonzero() as f64 / self.cells.len() as f64
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.cells.len())?;
        self.shape().check().map_err(|e| Error::corrupt(0, format!("corrupt filter: {e}")))
    }
}

/// Z, the share of zeros that the filter settles at, whatever it starts from (S0 §III-I).
pub fn stable_zeros(m: f64, k: f64, max: f64, decrements: f64) -> f64 {
    libm::pow(1.0 / (1.0 + 1.0 / (decrements * (1.0 / k - 1.0 / m))), max)
}

/// P, the decrements per arrival for which (1 − Z)^k is `fpr`; round it up (S0 eq. 18).
pub fn decrements_for(fpr: f64, m: f64, k: f64, max: f64) -> f64 {
    let zeros = 1.0 - libm::pow(fpr, 1.0 / k);
    1.0 / ((1.0 / libm::pow(zeros, 1.0 / max) - 1.0) * (1.0 / k - 1.0 / m))
}

/// Cells, probes, bits per cell, decrements per arrival, and the planned rate of false negatives.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    m: u64,
    k: u32,
    max_bits: u32,
    decrements: u64,
    fnr: Option<f64>,
}

impl Shape {
    fn check(&self) -> Result<()> {
        let Shape { m, k, max_bits, decrements, .. } = *self;
        if k == 0 || u64::from(k) >= m {
            return Err(Error::parameter(format!(
                "{k} probes into {m} cells: a stable filter needs at least one, and fewer than \
                 cells, or every arrival could set them all"
            )));
        }
        if !(1..=m).contains(&decrements) {
            return Err(Error::parameter(format!(
                "{decrements} decrements per arrival in {m} cells: there must be at least one and \
                 at most as many as cells; take more cells or allow a higher rate"
            )));
        }
        if !(1..=MAX_BITS).contains(&max_bits) {
            return Err(Error::parameter(format!("cells of {max_bits} bits: 1 to {MAX_BITS}")));
        }
        Ok(())
    }

    fn max(&self) -> u64 {
        (1 << self.max_bits) - 1
    }

    /// The false-positive rate that the filter settles at, (1 − Z)^k.
    fn stable_fpr(&self) -> f64 {
        let (m, k, max) = (self.m as f64, f64::from(self.k), self.max() as f64);
        libm::pow(1.0 - stable_zeros(m, k, max, self.decrements as f64), k)
    }

    /// The chance that an arrival touches a given cell, and the share of touches that only decrement.
    fn touches(&self) -> (f64, f64) {
        let m = self.m as f64;
        let set = -libm::expm1(f64::from(self.k) * libm::log1p(-1.0 / m));
        let decrement = self.decrements as f64 / m * (1.0 - set);
        (set + decrement, decrement / (set + decrement))
    }

    /// z(g): the chance that a cell is zero `arrivals` after it was set.
    fn emptied(&self, arrivals: u64) -> f64 {
        let ((touched, share), max) = (self.touches(), self.max());
        libm::pow(share, max as f64) * tail::binomial_at_least(arrivals, touched, max)
    }

    /// The share of zeros after `arrivals` into an empty filter. A cell that was touched fewer than Max
    /// times is zero if none of the touches set it: E[a^min(touches, Max)] in all.
    fn zeros_after(&self, arrivals: u64) -> f64 {
        let (touched, share) = self.touches();
        let few = |j: u64| tail::binomial_pmf(arrivals, touched, j) * libm::pow(share, j as f64);
        self.emptied(arrivals) + (0..self.max()).map(few).sum::<f64>()
    }

    /// The chance that a key is missed `arrivals` after it came.
    fn missed(&self, arrivals: u64) -> f64 {
        -libm::expm1(f64::from(self.k) * libm::log1p(-self.emptied(arrivals)))
    }

    /// The rate of false negatives averaged over the last `n` keys.
    fn mean_fnr(&self, n: u64) -> f64 {
        mean_over(n, |arrivals| self.missed(arrivals.round() as u64))
    }
}

/// How a window and rates become cells, probes and decrements.
struct Planner {
    k: Option<u32>,
    max_bits: u32,
    decrements: Option<u64>,
    fnr: f64,
}

impl Planner {
    /// Cells per key of the window with k probes, for m ≫ k: there touches are Poisson, and z depends
    /// on how many touches the window brings to a cell, Λ = n(P + k)/m, alone.
    fn cells_per_key(&self, p: f64, k: u32) -> f64 {
        let (kf, max) = (f64::from(k), (1u64 << self.max_bits) - 1);
        let decrements = match self.decrements {
            Some(p) => p as f64,
            None => decrements_for(p, f64::INFINITY, kf, max as f64).ceil(),
        };
        let all = libm::pow(decrements / (decrements + kf), max as f64);
        let fnr = |window: f64| {
            let missed = |i: u32| {
                let touches = window * (f64::from(i) + 0.5) / 32.0;
                -libm::expm1(kf * libm::log1p(-all * tail::poisson_tail(touches, max)))
            };
            (0..32).map(missed).sum::<f64>() / 32.0
        };
        let (mut low, mut high) = (0.0, 1e4 * max as f64);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if fnr(middle) <= self.fnr { low = middle } else { high = middle }
        }
        (decrements + kf) / low
    }

    /// The k with the fewest cells, and their number per key. Fewer probes need more zeros and so more
    /// decrements, more probes are more to lose: the number falls, then rises.
    /// `None` where the decrements set by hand keep no k at the rate.
    fn best(&self, p: f64) -> Option<(u32, f64)> {
        if let Some(k) = self.k {
            return Some((k, self.cells_per_key(p, k)));
        }
        let max = ((1u64 << self.max_bits) - 1) as f64;
        let keeps = |k: u32| {
            let (kf, by_hand) = (f64::from(k), self.decrements.map(|d| d as f64));
            by_hand.is_none_or(|d| decrements_for(p, f64::INFINITY, kf, max) <= d)
        };
        let mut best = None;
        for k in (1..=64).filter(|&k| keeps(k)) {
            let cells = self.cells_per_key(p, k);
            match best {
                Some((_, least)) if cells > 1.1 * least => break,
                Some((_, least)) if cells >= least => {}
                _ => best = Some((k, cells)),
            }
        }
        best
    }

    fn shape(&self, m: u64, k: u32, p: f64) -> Result<Shape> {
        let max = ((1u64 << self.max_bits) - 1) as f64;
        // Rounded up, which keeps the rate; out of range, the check says so.
        let planned = || decrements_for(p, m as f64, f64::from(k), max).ceil() as u64;
        let decrements = self.decrements.unwrap_or_else(planned);
        let shape = Shape { m, k, max_bits: self.max_bits, decrements, fnr: None };
        shape.check()?;
        Ok(shape)
    }
}

impl Plan for Stable {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let max_bits = request.integer("max-bits").unwrap_or(2) as u32;
        let fnr = request.real("fnr").unwrap_or(0.1);
        let k = request.integer(PARAM_K.name).map(|k| k as u32);
        let planner = Planner { k, max_bits, decrements: request.integer("decrements"), fnr };
        let too_few = |p: f64| {
            Error::parameter(format!(
                "no k keeps the rate at {p} with so few decrements per arrival: set more, or none"
            ))
        };
        if let Some(m) = request.integer(PARAM_M.name) {
            let p = request.fpr();
            let shape = planner.shape(m, planner.best(p).ok_or_else(|| too_few(p))?.0, p)?;
            return Ok(Shape { fnr: request.goal_items().map(|n| shape.mean_fnr(n)), ..shape });
        }
        let width = f64::from(max_bits);
        // Sought are the items for one rate, or the rate for given items: the last answer often serves.
        let last = Cell::new((f64::NAN, f64::NAN));
        let per_key = |p: f64| {
            if last.get().0 != p {
                last.set((p, planner.best(p).map_or(f64::INFINITY, |(_, cells)| cells)));
            }
            last.get().1
        };
        let (n, p) = request.items_and_rate(|n, p| (per_key(p) * n as f64).max(8.0) * width)?;
        let (k, per_key) = planner.best(p).ok_or_else(|| too_few(p))?;
        let wanted = per_key * n as f64;
        if wanted.is_nan() || wanted > MAX_CELLS as f64 {
            return Err(Error::parameter(format!(
                "a window of {n} keys at a rate of {p} needs {wanted:e} cells, more than \
                 {MAX_CELLS}: ask for a smaller window, a higher rate or a higher fnr"
            )));
        }
        // In a few hundred cells k/m is not small, and what holds for m ≫ k falls short by a little.
        let mut m = (wanted as u64).max(u64::from(k) + 1);
        let room = request.goal_bits().map_or(u64::MAX, |bits| bits / u64::from(max_bits));
        loop {
            match planner.shape(m, k, p) {
                Ok(shape) if shape.mean_fnr(n) <= fnr => {
                    return Ok(Shape { fnr: Some(fnr), ..shape });
                }
                Err(e) if m > MAX_CELLS || m >= 1 << 20 => return Err(e),
                _ if m >= room => {
                    let shape = planner.shape(room, k, p)?;
                    return Ok(Shape { fnr: Some(shape.mean_fnr(n)), ..shape });
                }
                _ => m = (m + m / 128 + 1).min(room),
            }
        }
    }

    /// False negatives are averaged over all `load.items` keys, so they tend to 1 for loads far beyond
    /// the window: the filter is made to forget.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let fill = 1.0 - shape.zeros_after(load.items);
        Some(Expect {
            fpr: libm::pow(fill, f64::from(shape.k)),
            fnr: shape.mean_fnr(load.items),
            undecided: 0.0,
            bits: shape.m * u64::from(shape.max_bits),
            fill: Some((fill, fill_sd(shape, fill))),
        })
    }
}

impl Stream for Stable {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { m, k, max_bits, decrements, fnr } = *shape;
        // Another seed is another filter in every respect; two builds of one seed are equal.
        let generator = Generator::new(head.hasher.seed() ^ 0x5354_4142_4C45_0001);
        // Decrements set by hand may leave a higher rate than the goal's; then that is the target.
        let fpr = head.fpr.map(|target| target.max(shape.stable_fpr()));
        let head = Head { fpr, fnr, ..head };
        Ok(Self {
            head,
            probe: Probe::over(m, k),
            cells: Packed::new(m, max_bits),
            decrements,
            generator,
        })
    }
}

/// A bound on the spread of the fill ρ from filter to filter.
///
/// The number of nonzero cells is drawn back to its mean by (P+k)/m per arrival, against the noise of
/// what the run and the probes happen to hit: (P·C + k)·ρ(1−ρ), so its variance is at most
/// m·ρ(1−ρ)·(P·C + k)/(2(P + k)). C > 1 because cells that share runs are alike. With Max = 1, cells x
/// apart correlate by (1−x/P)·k/(P+x+2k), from the balance of pairs that are both set; summed over a
/// run, C < 1 + ⅔·Pk/(P+2k). Cells with more levels are less alike, and a filter that has not settled
/// yet spreads less: measured, up to half of this bound's sd.
fn fill_sd(shape: &Shape, fill: f64) -> f64 {
    let (p, k) = (shape.decrements as f64, f64::from(shape.k));
    let alike = 1.0 + 2.0 / 3.0 * p * k / (p + 2.0 * k);
    let noise = (p * alike + k) / (2.0 * (p + k));
    (fill * (1.0 - fill) * noise / shape.m as f64).sqrt()
}

face!(Stable: Insert, Age);

impl Filter for Stable {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.used())
    }

    /// False positives from the real fill. Of how long ago its keys came the filter knows nothing.
    fn now(&self) -> Rates {
        let fpr = libm::pow(self.used(), f64::from(self.probe.k()));
        Rates { fpr: Some(fpr), fnr: None, undecided: None }
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.cells.len()),
            fact("k", self.probe.k()),
            fact("max", self.cells.max()),
            fact("decrements", self.decrements),
            real("stable fpr", self.shape().stable_fpr()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        touched(&indices, |i| self.cells.get(i))
    }
}

keyed!(Stable: Insert);

impl Age for Stable {
    fn age(&mut self, ticks: u64) {
        Stable::age(self, ticks);
    }
}

const FORM: &str = "standard";

/// Levels up to 255; wider cells only make P, and so every arrival, more expensive.
const MAX_BITS: u32 = 8;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 8,
        slug: "stable",
        entry: "§27",
        name: "Stable Bloom filter",
        paper: "F. Deng, D. Rafiei, Approximately detecting duplicates for streaming data using stable \
                Bloom filters, SIGMOD 2006",
        family: "decaying",
        needs: &["decay"],
        meaning: "items are the recent keys to recognize, the rate is that of false positives for ever",
        forms: &[Form {
            name: FORM,
            abilities: &[Ability::Insert, Ability::Age],
            false_negatives: FalseNegatives::Possible(
                "keys are forgotten some time after they came",
            ),
        }],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "max-bits",
                range: Range::Integer(1, MAX_BITS as u64),
                // Two bits are within a sixth of the least space at 1 % and 10 %, where one bit takes three
                // times as much; three bits are a little smaller but decrement twice as many cells.
                default: Preset::Integer(2),
                help: "bits per cell; a key sets its cells to the largest value they hold",
            },
            Param {
                name: "decrements",
                range: Range::Integer(1, 1 << 48),
                default: Preset::Planned,
                help: "cells decremented per arrival",
            },
            Param {
                name: "fnr",
                range: Range::Real(1e-6, 0.999),
                default: Preset::Real(0.1),
                help: "rate of false negatives averaged over the window",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<Stable>(),
};

#[cfg(test)]
mod tests {
    use super::*;

    fn full(m: u64, k: u32, max_bits: u32, decrements: u64, seed: u64) -> Stable {
        let mut f = Stable::with_shape(m, k, max_bits, decrements, Hasher::seeded(seed)).unwrap();
        (0..m).for_each(|i| f.cells.set(i, u64::MAX));
        f
    }

    #[test]
    fn a_tick_decrements_a_run_of_exactly_p_cells_around_the_end() {
        let mut wrapped = 0;
        for seed in 0..200 {
            let mut f = full(50, 3, 2, 10, seed);
            f.age(1);
            let lower: Vec<u64> = (0..50).filter(|&i| f.cells.get(i) == 2).collect();
            assert_eq!(lower.len(), 10);
            assert_eq!(f.cells.iter().sum::<u64>(), 150 - 10);
            let gaps = lower.windows(2).filter(|w| w[1] != w[0] + 1).count();
            let around = lower[0] == 0 && lower[9] == 49;
            assert!(gaps == 0 || gaps == 1 && around, "{lower:?}");
            wrapped += gaps;
        }
        // 9 of 50 starts wrap.
        assert!((15..60).contains(&wrapped), "{wrapped}");
    }

    #[test]
    fn a_tick_on_an_empty_filter_does_nothing_and_many_ticks_forget_everything() {
        let mut f = full(500, 3, 3, 7, 1);
        f.age(u64::MAX);
        assert_eq!(f.used(), 0.0);
    }

    #[test]
    fn s27_both_extremes_converge_to_the_stable_point() {
        let zeros = stable_zeros(5000.0, 3.0, 3.0, 10.0);
        let settled = |mut f: Stable| {
            let snapshot = |i: u64| {
                (i * 500..(i + 1) * 500).for_each(|key| {
                    f.insert(&key);
                });
                if i < 40 { 0.0 } else { 1.0 - f.used() }
            };
            (0..80).map(snapshot).sum::<f64>() / 40.0
        };
        let empty = Stable::with_shape(5000, 3, 2, 10, Hasher::seeded(1)).unwrap();
        for f in [full(5000, 3, 2, 10, 2), empty] {
            let measured = settled(f);
            assert!((measured - zeros).abs() < 0.005, "{measured} {zeros}");
        }
    }
}
