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
//! id of the difference are enough for large differences, several for small ones.
//! A count of ±1 alone proves nothing: x + y − w has it too. The check tells them apart, and it must not
//! be linear (with a CRC, check(x)⊕check(y)⊕check(w) = check(x⊕y⊕w), and every odd mixture looks pure).
//!
//! How large is the difference? The `strata` form estimates it in one message: id after id falls into
//! stratum i with probability 2^−(i+1), each stratum a small filter of its own. From the sparsest down,
//! strata are decoded until one fails; what was found so far is scaled up. (S3 describes rounds of
//! trying; it is one message and one pass, then one message with a filter of the estimated size.)
//! Multiplied by [`MARGIN`] the estimate is large enough in 99 of 100 cases.
//!
//! **Use it** to reconcile replicas, caches or peers over a link, without a log of changes. **Don't** for
//! membership alone: a cell has 192 bits, and most non-members pass in a filter that is as full as it can be
//! decoded. It stores *sets*: an id inserted twice leaves a count of 2 and an empty xor, which never decodes.
//!
//! Ids are 64-bit words of the keys' digests; two keys of n share one with probability n²/2⁶⁵, and then
//! count as one. Cells and check of an id come from hashing the id again, under the same seed or key.
//! Under a seed, an adversary who knows it can choose keys whose ids collide or do not peel; under a
//! secret key nobody without it can predict ids, cells or checks. Whoever may *write* the other side's
//! cells can always make decoding fail, but a failure is reported, never passed off as a difference.

mod shape;

pub use shape::Shape;

use crate::error::agree;
use crate::filter::Difference;
use crate::parts::sum_cells::{CHECK, MAX_SEGMENTS, Place, SumCells, form, param_k};
use crate::variant::prelude::*;

/// What an estimate is multiplied by before a filter is sized from it (the paper's factor): with the
/// default strata the product is below the true difference in about 1 case of 100.
pub const MARGIN: f64 = 1.38;

/// Salts of what derives from a key's digest (the id), and from the id's (the stratum), beyond those of probes and
/// checks.
const ID: u64 = 1;
const STRATUM: u64 = 2 << 32;

/// Count, id and check.
const CELL_BITS: u64 = 192;
const MAX_STRATA: u64 = 48;

/// A set in cells that can be subtracted from another's and read back. It is planned for the ids in which two
/// sets differ, and for the share of all cases in which they fail to decode.
///
/// ```
/// use everbloom::Invertible;
///
/// let mut ours = Invertible::with_rate(10, 0.01)?;
/// let mut theirs = ours.clone();
/// (0..1000u64).for_each(|key| _ = ours.insert(&key));
/// (3..1002u64).for_each(|key| _ = theirs.insert(&key));
/// ours.subtract(&theirs)?;
/// let difference = ours.decode()?;
/// assert_eq!((difference.ours.len(), difference.theirs.len()), (3, 2));
/// assert!(difference.theirs.contains(&ours.id(&1001u64)));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Invertible {
    head: Head,
    /// One, or the strata from the densest to the sparsest.
    layers: Vec<SumCells>,
}

state!(Invertible { head, layers });

impl Invertible {
    /// The strata estimator of the paper: 32 strata of 80 cells, k = 4.
    ///
    /// ```
    /// use everbloom::{Hasher, Invertible, reconciling::invertible::MARGIN};
    ///
    /// let mut ours = Invertible::estimator(Hasher::default())?;
    /// let mut theirs = ours.clone();
    /// (0..5000u64).for_each(|key| _ = ours.insert(&key));
    /// (900..5100u64).for_each(|key| _ = theirs.insert(&key));
    /// ours.subtract(&theirs)?;
    /// let size = ours.estimate()? as f64 * MARGIN; // 1000 differ
    /// assert!((1000.0..2000.0).contains(&size));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn estimator(hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("form", STRATA))
    }

    /// A filter of `cells` cells in `k` segments (3 to 7) of ⌊cells/k⌋, at least one cell each.
    pub fn with_shape(cells: u64, k: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", cells).set("k", k))
    }

    /// The id under which a key is held.
    pub fn id<K: Key + ?Sized>(&self, key: &K) -> u64 {
        Self::id_under(&self.head.hasher, key)
    }

    /// The id under which filters with this hasher hold a key.
    pub fn id_under<K: Key + ?Sized>(hasher: &Hasher, key: &K) -> u64 {
        hasher.digest(key).word(ID)
    }

    /// The place of an id and its layer, which derive from the id's own digest: all that a decoder has of a key is
    /// the id.
    fn locate(&self, id: u64) -> (Place, usize) {
        let place = self.place(id);
        let zeros = place.digest.word(STRATUM).trailing_zeros() as usize;
        (place, zeros.min(self.layers.len() - 1))
    }

    fn place(&self, id: u64) -> Place {
        let digest = self.head.hasher.digest(&id);
        Place { digest, check: digest.word(CHECK) }
    }

    /// The ids in a layer, each with its sign; `None` if they cannot be told apart.
    fn drained(&self, layer: &SumCells) -> Option<Vec<(u64, i64)>> {
        let mut found = Vec::new();
        let left = self.drain(layer, |id, sign| found.push((id, sign)));
        found.sort_unstable();
        let twice = found.windows(2).any(|pair| pair[0].0 == pair[1].0);
        (left.used() == 0 && !twice).then_some(found)
    }

    /// Hands ids and signs to `found`; what is left of the layer.
    fn drain(&self, layer: &SumCells, mut found: impl FnMut(u64, i64)) -> SumCells {
        let place = |content: &[u64]| Some(self.place(content[0]));
        layer.clone().drain(place, |content, sign| found(content[0], sign))
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
        let (place, layer) = self.locate(self.id(key));
        let mut least = i64::MAX;
        let SumCells { probe, cells } = &self.layers[layer];
        probe.each(place.digest, |i| least = least.min(cells.get(i).count));
        least.max(0).cast_unsigned()
    }

    /// Inserts an id of the caller's own; 0 is one like any other.
    pub fn insert_id(&mut self, id: u64) -> Seen {
        let (place, layer) = self.locate(id);
        self.head.count(1);
        Seen::new_if(self.layers[layer].add(place, &[id], 1))
    }

    /// Removes an id; see [`Invertible::remove`].
    pub fn remove_id(&mut self, id: u64) {
        let (place, layer) = self.locate(id);
        self.layers[layer].add(place, &[id], -1);
        self.head.count_off();
    }

    /// Whether the id may be a member.
    pub fn contains_id(&self, id: u64) -> bool {
        let (place, layer) = self.locate(id);
        let SumCells { probe, cells } = &self.layers[layer];
        probe.all(place.digest, |i| !cells.get(i).is_empty())
    }

    /// Subtracts the other side's cells. Items become those of this side minus those of the other, at
    /// least 0: only [`Invertible::decode`] and [`Invertible::estimate`] show how many ids are left.
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

    /// Lists what is left after subtraction: everything, or an error. The filter is unchanged.
    pub fn decode(&self) -> Result<Difference> {
        let mut difference = Difference::default();
        for layer in &self.layers {
            let found = self.drained(layer).ok_or_else(|| self.undecodable())?;
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
            match self.drained(layer) {
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
        let repeated = |layer| self.drain(layer, |_, _| {}).repeated(|content| content[0] == 0);
        let message = if self.layers.iter().any(repeated) {
            "a key was added more than once on one side, which hides it and others: build both filters with each key \
             once"
                .to_owned()
        } else if self.head.form == STRATA {
            format!(
                "the difference is more than {} strata can list or estimate: \
                 use a cells filter of {MARGIN} times the estimate, or retry with more strata",
                self.layers.len()
            )
        } else {
            format!(
                "{cells} cells are too few for the difference: retry with twice the cells, on both sides"
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
        let alike = self.layers.windows(2).all(|pair| pair[0].probe == pair[1].probe)
            && self.layers.iter().all(|layer| layer.cells.width() == 1);
        if (1..=most).contains(&layers) && alike {
            Ok(())
        } else {
            Err(Error::corrupt(0, format!("corrupt filter: {layers} strata, alike: {alike}")))
        }
    }
}

impl Plan for Invertible {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let n = load.distinct as f64;
        Some(Expect::one_sided(shape.fpr(n), shape.bits(), Some(shape.fill(n))).probing(shape.k))
    }
}

impl Stream for Invertible {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let layers = (0..shape.layers).map(|_| SumCells::new(shape.slice, shape.k, 1));
        // The target is a rate of failed decodes, which only the plan knows.
        Ok(Self { head: Head { fpr: shape.rate, ..head }, layers: layers.collect::<Result<_>>()? })
    }
}

face!(Invertible: Insert, Remove, Count, Merge, Reconcile);
planned!(
    Invertible:
    "A filter that decodes a difference of `items` ids, and fails to in a share of `fpr` of all cases."
);

impl Filter for Invertible {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::in_difference(self.contains(record.key), self.count(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        let used: u64 = self.layers.iter().map(SumCells::used).sum();
        Some(used as f64 * CELL_BITS as f64 / self.shape().bits() as f64)
    }

    fn now(&self) -> Rates {
        let shape = self.shape();
        let layers = (0..).zip(&self.layers);
        let passes = |layer: &SumCells| layer.in_all(|i| !layer.cells.get(i).is_empty());
        Rates::one_sided(layers.map(|(i, layer)| shape.share(i) * passes(layer)).sum())
    }

    fn describe(&self) -> Vec<Fact> {
        let Shape { layers, slice, k, .. } = self.shape();
        vec![fact("m", layers * slice * u64::from(k)), fact("k", k), fact("strata", layers)]
    }

    /// A cell's value is its count.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let (place, layer) = self.locate(self.id(key));
        let SumCells { probe, cells } = &self.layers[layer];
        let mut touched = Vec::new();
        probe.each(place.digest, |index| {
            let cell = cells.get(index);
            let value = cell.count.unsigned_abs();
            touched.push(Touched { index, value, agrees: !cell.is_empty() });
        });
        touched
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

const CONDITION: &str = "only keys that were inserted are removed or subtracted";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Invertible>(Facts {
    id: 10,
    slug: "invertible",
    entry: "§37",
    question: "Which keys do two sets not share, at a cost of the difference alone?",
    name: "Invertible Bloom filter",
    paper: "D. Eppstein, M. T. Goodrich, F. Uyeda, G. Varghese, What's the difference? Efficient set reconciliation without prior context, SIGCOMM 2011",
    family: "reconciling",
    needs: &["reconcile", "delete", "count"],
    meaning: "items are the keys in which two sets differ, the rate is that of failed decodes; \
              the strata form takes any number",
    forms: &[form(CELLS, CONDITION), form(STRATA, CONDITION)],
    params: &[
        PARAM_M,
        param_k("number of segments, one cell per key in each", 4),
        Param::integer("strata", 1, MAX_STRATA, "number of strata, of the strata form")
            .or(Preset::Integer(32)),
        Param::integer(
            "stratum-cells",
            MAX_SEGMENTS as u64,
            1 << 20,
            "number of cells per stratum, of the strata form",
        )
        .or(Preset::Integer(80)),
    ],
    ..Facts::FILTER
});
