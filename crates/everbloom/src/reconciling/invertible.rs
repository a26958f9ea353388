//! The invertible Bloom filter and its strata estimator (Eppstein, Goodrich, Uyeda, Varghese 2011;
//! catalogue §37; S3 §VII-D).
//!
//! Two parties hold large sets that differ in little. Each puts its set into m cells, m chosen for the
//! *difference* and not for the sets; one sends its cells, the other subtracts them from its own. What
//! both hold cancels, and what is left can be read back, with the side it came from:
//!
//! ```text
//!   cell = count · xor of ids · xor of the ids' checks
//!
//!   A: +x +y +z      A − B:  │ +1  x │  0  –  │ +1  x │  0 x⊕w │ −1  w │ …     pure: ±1, and the
//!   B: +y +z +w                  ↑ pure: x is only in A                         check fits the id
//!                    take x out of its k cells: │ 0 – │ 0 – │ 0 – │ −1 w │ −1 w │   w is only in B
//! ```
//!
//! Decoding peels pure cells until all are empty, and fails if it gets stuck: about 1.5 cells for each
//! id of the difference are enough for large differences, several for small ones ([`cells_for`]).
//! A count of ±1 alone proves nothing: x + y − w has it too. The check tells them apart, and it must not
//! be linear (with a CRC, check(x)⊕check(y)⊕check(w) = check(x⊕y⊕w), and every odd mixture looks pure).
//!
//! How large is the difference? The `strata` form estimates it in one message: id after id falls into
//! stratum i with probability 2^−(i+1), each stratum a small filter of its own. From the sparsest down,
//! strata are decoded until one fails; what was found so far is scaled up. (S3 describes rounds of
//! trying; it is one message and one pass, then one message with a filter of the estimated size.)
//! Multiplied by [`MARGIN`] the estimate is large enough in 99 of 100 cases.
//!
//! **Use it** to reconcile replicas, caches or peers over a link, without a log of changes. **Don't**
//! for membership alone: a cell has 192 bits, and in a filter loaded with all it can decode most foreign
//! keys pass. It holds *sets*: an id inserted twice leaves a count of 2 and no xor, which never decodes.
//!
//! Ids are 64-bit words of the keys' digests; two keys of n share one with probability n²/2⁶⁵, and then
//! count as one. Cells and check of an id come from hashing the id again, under the same seed or key.
//! Under a seed, an adversary who knows it can choose keys whose ids collide or do not peel; under a
//! secret key nobody without it can predict ids, cells or checks. Whoever may *write* the other side's
//! cells can always make decoding fail, but a failure is reported, never passed off as a difference.

use crate::cells::{Cell, Sums};
use crate::error::agree;
use crate::filter::Difference;
use crate::plan::MAX_CELLS;
use crate::probe::{Partitioned, Probe};
use crate::theory::bloom as theory;
use crate::theory::peeling::cells_for;
use crate::variant::prelude::*;

/// What an estimate is multiplied by before a filter is sized from it (the paper's factor): with the
/// default strata the product is below the true difference in about 1 case of 100.
pub const MARGIN: f64 = 1.38;

/// Salts of what derives from a key's digest (the id), and from the id's (check, stratum): all beyond the
/// probes, which use the words 0..k.
const ID: u64 = 1;
const CHECK: u64 = 1 << 32;
const STRATUM: u64 = 2 << 32;

/// Count, id and check.
const CELL_BITS: u64 = 192;
const MAX_STRATA: u64 = 48;
/// The k that [`cells_for`] knows.
const MIN_K: u32 = 3;
const MAX_K: u32 = 7;

/// One array of cells, in k segments.
#[derive(Clone, Debug, PartialEq)]
struct Layer {
    probe: Probe,
    cells: Sums,
}

state!(Layer { probe, cells });

impl Layer {
    fn new(slice: u64, k: u32) -> Self {
        let probe = Probe::Partitioned(Partitioned::new(slice, k));
        Self { cells: Sums::new(probe.m()), probe }
    }

    /// Adds an id `count` times (±1) to its cells; whether one of them was empty before.
    fn add(&mut self, digest: Digest, id: u64, count: i64) -> bool {
        let (cells, mut new) = (&mut self.cells, false);
        self.probe.each(digest, |i| {
            new |= cells.get(i).is_empty();
            cells.add(i, count, id, digest.word(CHECK));
        });
        new
    }

    /// The ids in the cells, each with its sign; `None` if they cannot be told apart.
    fn decode(mut self, hasher: &Hasher) -> Option<Vec<(u64, i64)>> {
        // Beyond count and check, a pure cell is one of the id's own: a mixture that passes the check
        // by chance hardly ever lands there as well.
        let pure = |layer: &Layer, i: u64| {
            let Cell { count: count @ (1 | -1), id, check } = layer.cells.get(i) else {
                return None;
            };
            let digest = hasher.digest(&id);
            let own = digest.word(CHECK) == check && !layer.probe.all(digest, |own| own != i);
            own.then_some((digest, id, count))
        };
        let mut queue: Vec<u64> =
            (0..self.cells.len()).filter(|&i| pure(&self, i).is_some()).collect();
        let mut found = Vec::new();
        // An honest difference is peeled in at most m steps. Cells that no difference leaves can put an
        // id back as often as it is taken out: the cap ends that.
        let cap = 2 * self.cells.len();
        while let Some(i) = queue.pop() {
            // Another cell may have told this id since.
            let Some((digest, id, count)) = pure(&self, i) else { continue };
            if found.len() as u64 == cap {
                return None;
            }
            found.push((id, count));
            self.add(digest, id, -count);
            self.probe.each(digest, |j| queue.push(j));
        }
        found.sort_unstable();
        let twice = found.windows(2).any(|pair| pair[0].0 == pair[1].0);
        (!twice && self.cells.iter().all(|cell| cell.is_empty())).then_some(found)
    }

    /// The product of the segments' fills: the chance that a foreign id meets no empty cell.
    fn fpr(&self) -> f64 {
        let slice = self.probe.m() / u64::from(self.probe.k());
        let segments = (0..u64::from(self.probe.k())).map(|j| j * slice..(j + 1) * slice);
        segments.map(|segment| self.used(segment) as f64 / slice as f64).product()
    }

    fn used(&self, range: std::ops::Range<u64>) -> u64 {
        range.filter(|&i| !self.cells.get(i).is_empty()).count() as u64
    }

    fn check(&self) -> Result<()> {
        self.probe.check(self.cells.len())?;
        let known = (MIN_K..=MAX_K).contains(&self.probe.k());
        if known && matches!(self.probe, Probe::Partitioned(_)) {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: not the probes of an invertible filter"))
        }
    }
}

/// A set in cells that can be subtracted from another's and read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Invertible {
    head: Head,
    /// One, or the strata from the densest to the sparsest.
    layers: Vec<Layer>,
}

state!(Invertible { head, layers });

impl Invertible {
    /// A filter that decodes a difference of `difference` ids, and fails to in `failure` of all cases.
    ///
    /// ```
    /// use everbloom::reconciling::Invertible;
    ///
    /// let mut ours = Invertible::with_rate(10, 0.01)?;
    /// let mut theirs = ours.clone();
    /// (0..1000u64).for_each(|key| _ = ours.insert(&key));
    /// (3..1002u64).for_each(|key| _ = theirs.insert(&key));
    /// ours.subtract(&theirs)?;
    /// let difference = ours.decode()?;
    /// assert_eq!((difference.ours.len(), difference.theirs.len()), (3, 2));
    /// assert!(difference.theirs.contains(&ours.id(&1001u64)));
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn with_rate(difference: u64, failure: f64) -> Result<Self> {
        Self::planned(&Goal::new(difference, failure))
    }

    /// The strata estimator of the paper: 32 strata of 80 cells, k = 4.
    ///
    /// ```
    /// use everbloom::hash::Hasher;
    /// use everbloom::reconciling::{Invertible, invertible::MARGIN};
    ///
    /// let mut ours = Invertible::estimator(Hasher::default());
    /// let mut theirs = ours.clone();
    /// (0..5000u64).for_each(|key| _ = ours.insert(&key));
    /// (900..5100u64).for_each(|key| _ = theirs.insert(&key));
    /// ours.subtract(&theirs)?;
    /// let size = ours.estimate()? as f64 * MARGIN; // 1000 differ
    /// assert!((1000.0..2000.0).contains(&size));
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn estimator(hasher: Hasher) -> Result<Self> {
        let shape = Shape { layers: 32, slice: 80 / 4, k: 4, rate: None };
        Self::empty(&shape, Head::new(hasher, STRATA))
    }

    /// A filter of `cells` cells in `k` segments (3 to 7) of ⌊cells/k⌋, at least one cell each.
    pub fn with_shape(cells: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let k = k.clamp(MIN_K, MAX_K);
        let shape = Shape { layers: 1, slice: (cells / u64::from(k)).max(1), k, rate: None };
        Self::empty(&shape, Head::new(hasher, CELLS))
    }

    fn planned(goal: &Goal) -> Result<Self> {
        crate::variant::empty(goal)
    }

    /// The id under which a key is held.
    pub fn id<K: Key + ?Sized>(&self, key: &K) -> u64 {
        Self::id_under(&self.head.hasher, key)
    }

    /// The id under which filters with this hasher hold a key.
    pub fn id_under<K: Key + ?Sized>(hasher: &Hasher, key: &K) -> u64 {
        hasher.digest(key).word(ID)
    }

    /// The digest of an id, from which its cells, its check and its stratum derive, and its layer: all
    /// that a decoder has of a key is the id.
    fn locate(&self, id: u64) -> (Digest, usize) {
        let digest = self.head.hasher.digest(&id);
        let zeros = digest.word(STRATUM).trailing_zeros() as usize;
        (digest, zeros.min(self.layers.len() - 1))
    }

    /// Inserts a key.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        self.insert_id(self.id(key))
    }

    /// Removes a key. Never refused: counts may go below zero, and a key that was not inserted then
    /// counts as the other side's, which is what a difference is made of.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) {
        self.remove_id(self.id(key));
    }

    /// Whether the key may be a member: whether none of its cells is empty.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_id(self.id(key))
    }

    /// How often the key was inserted, at most: the least count in its cells. Exact if one of them is
    /// pure; an upper bound while nothing was removed that was not inserted.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let (digest, layer) = self.locate(self.id(key));
        let mut least = i64::MAX;
        let Layer { probe, cells } = &self.layers[layer];
        probe.each(digest, |i| least = least.min(cells.get(i).count));
        least.max(0).cast_unsigned()
    }

    /// Inserts an id of the caller's own; 0 is one like any other.
    pub fn insert_id(&mut self, id: u64) -> Seen {
        let (digest, layer) = self.locate(id);
        self.head.count(1);
        if self.layers[layer].add(digest, id, 1) { Seen::New } else { Seen::Maybe }
    }

    /// Removes an id; see [`Invertible::remove`].
    pub fn remove_id(&mut self, id: u64) {
        let (digest, layer) = self.locate(id);
        self.layers[layer].add(digest, id, -1);
        self.head.items = self.head.items.saturating_sub(1);
    }

    /// Whether the id may be a member.
    pub fn contains_id(&self, id: u64) -> bool {
        let (digest, layer) = self.locate(id);
        let Layer { probe, cells } = &self.layers[layer];
        probe.all(digest, |i| !cells.get(i).is_empty())
    }

    /// Subtracts the other side's cells. Items become those of this side minus those of the other, at
    /// least 0: how many ids are left, only [`Invertible::decode`] and [`Invertible::estimate`] tell.
    pub fn subtract(&mut self, other: &Invertible) -> Result<()> {
        self.combine(other, -1)?;
        self.head.items = self.head.items.saturating_sub(other.head.items);
        Ok(())
    }

    /// Adds the cells of a set that shares no key with this one. The cells of common keys would hold a
    /// count of 2 and no xor, as after a second insertion, and would not decode.
    pub fn add(&mut self, other: &Invertible) -> Result<()> {
        self.combine(other, 1)?;
        self.head.count(other.head.items);
        Ok(())
    }

    fn combine(&mut self, other: &Invertible, sign: i64) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("number of strata", self.layers.len(), other.layers.len())?;
        for (ours, theirs) in self.layers.iter().zip(&other.layers) {
            ours.probe.agree(&theirs.probe)?;
        }
        for (ours, theirs) in self.layers.iter_mut().zip(&other.layers) {
            ours.cells.combine(&theirs.cells, sign);
        }
        Ok(())
    }

    /// Lists what is left after subtraction, all of it or an error; the filter stays as it is.
    pub fn decode(&self) -> Result<Difference> {
        let mut difference = Difference::default();
        for layer in &self.layers {
            let found =
                layer.clone().decode(&self.head.hasher).ok_or_else(|| self.undecodable())?;
            for (id, sign) in found {
                let side = if sign > 0 { &mut difference.ours } else { &mut difference.theirs };
                side.push(id);
            }
        }
        difference.ours.sort_unstable();
        difference.theirs.sort_unstable();
        Ok(difference)
    }

    /// How many ids are left after subtraction: exact if all decode, else 2^{i+1} times what the strata
    /// above the first undecodable one, i, hold. With a single array of cells, exact or an error.
    pub fn estimate(&self) -> Result<u64> {
        let mut count = 0u64;
        for (i, layer) in self.layers.iter().enumerate().rev() {
            match layer.clone().decode(&self.head.hasher) {
                Some(found) => count += found.len() as u64,
                // Zero times anything would report that the sets are equal.
                None if count == 0 => return Err(self.undecodable()),
                None => return Ok(count.saturating_mul(1 << (i + 1))),
            }
        }
        Ok(count)
    }

    fn undecodable(&self) -> Error {
        let cells: u64 = self.layers.iter().map(|layer| layer.cells.len()).sum();
        let message = if self.head.form == STRATA {
            format!(
                "the difference is more than {} strata can list or estimate: \
                 take a cells filter of {MARGIN} times the estimate, or retry with more strata",
                self.layers.len()
            )
        } else {
            format!(
                "{cells} cells cannot carry the difference: retry with twice the cells, on both sides"
            )
        };
        Error::new(Kind::Undecodable, message)
    }

    fn shape(&self) -> Shape {
        let probe = &self.layers[0].probe;
        let slice = probe.m() / u64::from(probe.k());
        Shape { layers: self.layers.len() as u64, slice, k: probe.k(), rate: self.head.fpr }
    }

    fn check(&self) -> Result<()> {
        let layers = self.layers.len() as u64;
        let most = if self.head.form == STRATA { MAX_STRATA } else { 1 };
        let alike = self.layers.windows(2).all(|pair| pair[0].probe == pair[1].probe);
        if (1..=most).contains(&layers) && alike {
            Ok(())
        } else {
            Err(Error::corrupt(0, format!("corrupt filter: {layers} strata, alike: {alike}")))
        }
    }
}

/// Number of layers, cells per segment, segments, and the rate of failed decodes planned for.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    layers: u64,
    slice: u64,
    k: u32,
    rate: Option<f64>,
}

impl Shape {
    fn bits(&self) -> u64 {
        self.layers * self.slice * u64::from(self.k) * CELL_BITS
    }

    /// The share of ids that fall into layer i: 2^−(i+1), and into the last what is left.
    fn share(&self, i: u64) -> f64 {
        libm::exp2(-((i + 1).min(self.layers - 1) as f64))
    }

    /// P(present | not a member) after `n` ids: the mean over strata, each of which got a binomial
    /// number of ids. Within one, E[(1 − q^{n_i})^k] = Σ_j C(k,j) (−1)^j (1 − w + w·q^j)^n, q = 1 − 1/s.
    fn fpr(&self, n: f64) -> f64 {
        if self.layers == 1 {
            return theory::fpr_partitioned(self.slice as f64, n, f64::from(self.k));
        }
        let q = 1.0 - 1.0 / self.slice as f64;
        let stratum = |i| {
            let (w, mut choose, mut sum) = (self.share(i), 1.0, 0.0);
            for j in 0..=self.k {
                sum += choose * missed(w * (1.0 - libm::pow(q, f64::from(j))), n);
                choose *= -f64::from(self.k - j) / f64::from(j + 1);
            }
            w * sum
        };
        (0..self.layers).map(stratum).sum()
    }

    /// Share of cells in use after `n` ids, and its deviation from filter to filter, from the exact
    /// probabilities that one cell or two given ones are missed by all ids.
    fn fill(&self, n: f64) -> (f64, f64) {
        let (s, k) = (self.slice as f64, f64::from(self.k));
        let one = |i| missed(self.share(i) / s, n);
        let (mut empty, mut variance) = (0.0, 0.0);
        for i in 0..self.layers {
            let (w, a) = (self.share(i), one(i));
            let neighbors = missed(2.0 * w / s, n) - a * a;
            let segments = missed(w * (2.0 / s - 1.0 / (s * s)), n) - a * a;
            empty += k * s * a;
            variance += k * s * (a * (1.0 - a) + (s - 1.0) * neighbors + (k - 1.0) * s * segments);
            for j in (0..self.layers).filter(|&j| j != i) {
                let strata = missed((w + self.share(j)) / s, n) - a * one(j);
                variance += k * k * s * s * strata;
            }
        }
        let cells = self.layers as f64 * k * s;
        (1.0 - empty / cells, libm::sqrt(variance.max(0.0)) / cells)
    }
}

/// The chance that `n` ids all miss what each hits with probability `x`.
fn missed(x: f64, n: f64) -> f64 {
    if n == 0.0 { 1.0 } else { libm::exp(n * libm::log1p(-x.min(1.0))) }
}

impl Plan for Invertible {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let k = request.integer("k").unwrap_or(4) as u32;
        let shape = if request.form() == STRATA {
            let cells = request.integer("stratum-cells").unwrap_or(80);
            let layers = request.integer("strata").unwrap_or(32);
            Shape { layers, slice: (cells / u64::from(k)).max(1), k, rate: None }
        } else if let Some(m) = request.integer(PARAM_M.name) {
            Shape { layers: 1, slice: (m / u64::from(k)).max(1), k, rate: None }
        } else {
            let slice = |d, p| (cells_for(d, p, k) / f64::from(k)).ceil();
            let bits = |d, p| slice(d, p) * f64::from(k) * CELL_BITS as f64;
            let (d, p) = request.items_and_rate(bits)?;
            if bits(d, p) > MAX_CELLS as f64 {
                return Err(Error::parameter(format!(
                    "a difference of {d} at a rate of {p} needs {:e} bits, more than {MAX_CELLS}: \
                     plan for the difference, not for the sets",
                    bits(d, p)
                )));
            }
            Shape { layers: 1, slice: slice(d, p) as u64, k, rate: Some(p) }
        };
        // The cells planned from items and rate fit already; sizes set by hand may not.
        let room = request.goal_bits().unwrap_or(MAX_CELLS).min(MAX_CELLS);
        if shape.bits() > room {
            let (needed, room) = (shape.bits().div_ceil(8), room / 8);
            return Err(Error::parameter(format!(
                "the cells asked for need {needed} bytes, more than {room}: set fewer cells"
            )));
        }
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let n = load.distinct as f64;
        Some(Expect::one_sided(shape.fpr(n), shape.bits(), Some(shape.fill(n))))
    }
}

impl Stream for Invertible {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let layers = (0..shape.layers).map(|_| Layer::new(shape.slice, shape.k)).collect();
        // The target is a rate of failed decodes, which only the plan knows.
        Ok(Self { head: Head { fpr: shape.rate, ..head }, layers })
    }
}

face!(Invertible: Insert, Remove, Count, Merge, Reconcile);

impl Filter for Invertible {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        // In a difference, counts below 1 say nothing of the key.
        let detail = match self.count(record.key) {
            0 => Detail::None,
            count => Detail::Count(Counted::about(count)),
        };
        Ok(Answer::of(self.contains(record.key)).with(detail))
    }

    fn fill(&self) -> Option<f64> {
        let used: u64 = self.layers.iter().map(|layer| layer.used(0..layer.cells.len())).sum();
        Some(used as f64 * CELL_BITS as f64 / self.shape().bits() as f64)
    }

    fn now(&self) -> Rates {
        let shape = self.shape();
        let layers = (0..).zip(&self.layers);
        Rates::one_sided(layers.map(|(i, layer)| shape.share(i) * layer.fpr()).sum())
    }

    fn describe(&self) -> Vec<Fact> {
        let Shape { layers, slice, k, .. } = self.shape();
        vec![fact("m", layers * slice * u64::from(k)), fact("k", k), fact("strata", layers)]
    }
}

keyed!(Invertible: Insert, Count);

impl Remove for Invertible {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        Invertible::remove(self, record.key);
        Ok(())
    }
}

impl Merge for Invertible {
    /// The cells add up like multisets; but what sets that share a key add up to cannot be decoded.
    fn law(&self) -> MergeLaw {
        MergeLaw::Disjoint
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        self.add(other.as_same()?)
    }
}

impl Reconcile for Invertible {
    fn minus(&self, other: &dyn Filter) -> Result<Box<dyn Filter>> {
        let mut difference = self.clone();
        difference.subtract(other.as_same()?)?;
        Ok(Box::new(difference))
    }

    fn decode(&self) -> Result<Difference> {
        Invertible::decode(self)
    }

    fn estimate(&self) -> Result<u64> {
        Invertible::estimate(self)
    }

    fn id_of(&self, key: &[u8]) -> u64 {
        self.id(key)
    }
}

const CELLS: &str = "cells";
const STRATA: &str = "strata";

const ABILITIES: &[Ability] =
    &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge, Ability::Reconcile];
const ONE_SIDED: FalseNegatives =
    FalseNegatives::NeverWhile("only keys that were inserted are removed or subtracted");

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 10,
        slug: "invertible",
        entry: "§37",
        name: "Invertible Bloom filter",
        paper: "D. Eppstein, M. T. Goodrich, F. Uyeda, G. Varghese, What's the difference? Efficient set reconciliation without prior context, SIGCOMM 2011",
        family: "reconciling",
        needs: &["reconcile", "delete", "count"],
        meaning: "items are the keys in which two sets differ, the rate is that of failed decodes; \
                  the strata form takes any number",
        forms: &[
            Form { name: CELLS, abilities: ABILITIES, false_negatives: ONE_SIDED },
            Form { name: STRATA, abilities: ABILITIES, false_negatives: ONE_SIDED },
        ],
        params: &[
            PARAM_M,
            Param {
                name: "k",
                range: Range::Integer(MIN_K as u64, MAX_K as u64),
                default: Preset::Integer(4),
                help: "number of segments, one cell per key in each",
            },
            Param {
                name: "strata",
                range: Range::Integer(1, MAX_STRATA),
                default: Preset::Integer(32),
                help: "number of strata, of the strata form",
            },
            Param {
                name: "stratum-cells",
                range: Range::Integer(MAX_K as u64, 1 << 20),
                default: Preset::Integer(80),
                help: "number of cells per stratum, of the strata form",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<Invertible>(),
};

#[cfg(test)]
mod tests {
    use super::*;

    /// An id in only one of its cells: taking it out puts it into the others, and so on for ever.
    #[test]
    fn cells_that_no_difference_leaves_end_in_an_error() {
        let mut filter = Invertible::with_shape(40, 4, Hasher::default()).unwrap();
        let (digest, layer) = filter.locate(7);
        let Layer { probe, cells } = &mut filter.layers[layer];
        let mut first = None;
        probe.each(digest, |i| _ = first.get_or_insert(i));
        cells.add(first.unwrap_or(0), 1, 7, digest.word(CHECK));
        assert_eq!(filter.decode().map_err(|e| e.kind()), Err(Kind::Undecodable));
    }

    #[test]
    fn a_pure_looking_cell_that_is_not_the_ids_own_is_not_pure() {
        let mut filter = Invertible::with_shape(40, 4, Hasher::default()).unwrap();
        filter.insert_id(7);
        let (digest, layer) = filter.locate(9);
        let Layer { probe, cells } = &mut filter.layers[layer];
        let foreign = (0..40).find(|&i| probe.all(digest, |own| own != i)).unwrap_or(0);
        cells.add(foreign, 1, 9, digest.word(CHECK));
        assert_eq!(filter.decode().map_err(|e| e.kind()), Err(Kind::Undecodable));
    }
}
