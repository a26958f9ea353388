//! The deletable Bloom filter (Rothenberg, Macapuna, Verdi, Magalhães 2010; catalogue §25; S0 §III-D,
//! S3 §VII-A ref. 133).
//!
//! To remove a key from a bit array it is enough to reset one of its bits, as long as that bit is no
//! other key's. So the array is cut into r regions, and one more bit per region remembers whether two
//! keys ever met there. Where none did, every one belongs to a single key:
//!
//! ```text
//!   collided    0           1           0           1       one bit per region
//!   regions     0 1 0 0 1   0 1 0 0 0   1 0 0 1 0   0 0 1 0 0
//!                 x     y     xz        z     y         yz
//!   remove y            ↓     stays           ↓         stays
//!               0 1 0 0 0   0 1 0 0 0   1 0 0 0 0   0 0 1 0 0
//! ```
//!
//! A key all of whose bits lie in collided regions cannot be removed, and the filter says so. How many
//! that are depends on the bits per region. In a filter planned for 1 % (k = 7):
//!
//! | bits per region | extra memory | removable |
//! |---|---|---|
//! | 1, the default | 100 % | 99 % |
//! | 2 | 50 % | 97 % |
//! | 4 | 25 % | 90 % |
//! | 8 | 13 % | 64 % |
//! | 16 | 6 % | 20 % |
//!
//! With a region for every bit a removal is refused as rarely as a non-member passes; fewer regions are enough
//! where few keys are removed, or where some may stay.
//!
//! Collisions are never forgotten, so fewer keys are removable the longer the filter lives, and removed keys
//! leave bits behind in collided regions: rebuild it now and then.
//!
//! **Use it** if keys are removed, refusals are acceptable and counters are too large: a counting filter takes
//! twice the bits, and four times those of a filter with few regions. **Don't** if every key must be removable
//! (`counting`), or if members are inserted repeatedly: a second insertion marks all regions of the key, which can
//! then never be removed. The filter cannot skip such an insertion: a key that passes already may pass because of
//! other keys' bits, and would be lost with them.
//!
//! Hashes of one key that meet in one bit count once; else a key alone could make a collision.

use crate::cells::Bits;
use crate::error::agree;
use crate::parts::flat_bits::FlatBits;
use crate::parts::{self, KeyPart, SetPart};
use crate::probe::{Coincide, Indices, MAX_K};
use crate::theory::{bloom as theory, tail};
use crate::variant::prelude::*;

/// A set in bits, with regions that know whether keys met in them.
///
/// ```
/// let mut open = everbloom::deleting::Deletable::with_rate(1000, 0.01)?;
/// open.insert("file");
/// open.remove("file")?;
/// assert!(!open.contains("file"));
/// assert!(open.remove("file").is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Deletable {
    head: Head,
    flat: FlatBits,
    /// One bit per region.
    collided: Bits,
}

state!(Deletable { head, ..flat; collided });

impl Deletable {
    /// A filter of `m` bits in all, `regions` of which mark collisions in as many regions of the others, and `k`
    /// probes.
    pub fn with_shape(m: u64, k: u32, regions: u64, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m).set("k", k).set("r", regions))
    }

    #[inline]
    fn indices<K: Key + ?Sized>(&self, key: &K) -> Indices {
        self.flat.probe.collect(self.head.hasher.digest(key), Coincide::Distinct)
    }

    /// The region of a bit, ⌊b·r/m'⌋.
    fn region(&self, bit: u64) -> u64 {
        let wide = u128::from(bit) * u128::from(self.collided.len());
        (wide / u128::from(self.flat.m())) as u64
    }

    /// Sets a bit for one more key; whether it is the first there.
    fn claim(&mut self, bit: u64) -> bool {
        let first = self.flat.bits.set(bit);
        if !first {
            self.collided.set(self.region(bit));
        }
        first
    }

    /// Inserts a key. A key that is already present can no longer be removed.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let new = self.indices(key).iter().fold(false, |new, &bit| new | self.claim(bit));
        self.head.count(1);
        Seen::new_if(new)
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.flat.contains(self.head.hasher.digest(key))
    }

    /// Removes a key that was inserted. Refused, with nothing changed, for a key that is certainly not
    /// there, and for one that met others in every region its bits are in.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let indices = self.indices(key);
        if !indices.iter().all(|&bit| self.flat.bits.get(bit)) {
            return Err(Error::new(
                Kind::NotDeletable,
                "the key is not in the filter: one of its bits is zero",
            ));
        }
        let own = |bit: &&u64| !self.collided.get(self.region(**bit));
        let own: Indices = indices.iter().filter(own).copied().collect();
        if own.is_empty() {
            return Err(Error::new(
                Kind::NotDeletable,
                "the key is not deletable: all of its bits are in regions with collisions; rebuild the filter from \
                the remaining keys, with more regions (the parameter {r}) if this happens often",
            ));
        }
        own.iter().for_each(|&bit| self.flat.bits.reset(bit));
        self.head.count_off();
        Ok(())
    }

    /// The share of members that can be removed, estimated from the regions: each one in a region
    /// without collision is a bit of one member alone, and one such bit of its k is enough.
    pub fn deletable(&self) -> f64 {
        let k = f64::from(self.flat.k());
        let own = self.ones().filter(|&bit| !self.collided.get(self.region(bit))).count();
        let share = (own as f64 / (self.head.items.max(1) as f64 * k)).min(1.0);
        1.0 - libm::pow(1.0 - share, k)
    }

    /// The bits that the regions are made of.
    pub fn bits(&self) -> &Bits {
        &self.flat.bits
    }

    /// One bit per region: whether keys met in it.
    pub fn collided(&self) -> &Bits {
        &self.collided
    }

    fn ones(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.flat.m()).filter(|&i| self.flat.bits.get(i))
    }

    /// Makes this the filter of both sets: regions in which one has a collision, and those where both
    /// have the same bit set, are collided in it. Keys of both sets can no longer be removed.
    pub fn union(&mut self, other: &Deletable) -> Result<()> {
        self.agree(other)?;
        self.collided.union(&other.collided);
        other.ones().for_each(|bit| {
            self.claim(bit);
        });
        self.head.count(other.head.items);
        // Nobody knows how many keys the sets share. What removed keys left behind is no key, so zeros
        // may tell of too many.
        if let Some(n) = self.cardinality() {
            self.head.items = self.head.items.min(n.round() as u64);
        }
        Ok(())
    }

    /// Keeps what both filters hold: every common key passes, and a few others.
    ///
    /// A bit of two common keys has its region collided in both filters. So a region that is free in one
    /// of them is free here.
    pub fn intersect(&mut self, other: &Deletable) -> Result<()> {
        self.agree(other)?;
        self.collided.intersect(&other.collided);
        parts::intersect((&mut self.head, &mut self.flat), (&other.head, &other.flat))
    }

    /// Halves the filter: same keys, half the bits and regions, a higher rate. Bits that become one
    /// collide. A bit may come to lie in its neighbor's region; it takes its region's mark along.
    pub fn fold(&self) -> Result<Deletable> {
        let (probe, pairing) = self.flat.probe.fold()?;
        let collided = Bits::try_new(self.collided.len().div_ceil(2))?;
        let mut half = Self { head: self.head.clone(), flat: FlatBits::probed(probe)?, collided };
        for bit in self.ones() {
            let joined = pairing.joined(bit, half.flat.m());
            half.claim(joined);
            if self.collided.get(self.region(bit)) {
                half.collided.set(half.region(joined));
            }
        }
        Ok(half)
    }

    /// The number of distinct keys, estimated from the zeros; `None` for a filter without zeros. Bits
    /// that removed keys left behind count towards it.
    pub fn cardinality(&self) -> Option<f64> {
        self.flat.cardinality()
    }

    /// The number of distinct keys in both filters, estimated from their zeros (S1 §2.4); `None` if one is too full
    /// to estimate.
    pub fn intersection_size(&self, other: &Deletable) -> Result<Option<f64>> {
        self.agree(other)?;
        Ok(self.flat.intersection_size(&other.flat))
    }

    fn agree(&self, other: &Deletable) -> Result<()> {
        self.head.agree(&other.head)?;
        self.flat.agree(&other.flat)?;
        agree("regions", self.collided.len(), other.collided.len())
    }

    fn check(&self) -> Result<()> {
        let (regions, bits) = (self.collided.len(), self.flat.m());
        if (1..=bits).contains(&regions) {
            return Ok(());
        }
        Err(Error::corrupt(0, format!("corrupt filter: {regions} regions of {bits} bits")))
    }
}

/// Bits for keys (m'), probes, and regions.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The bits that keys set, and probes.
    pub flat: Flat,
    /// Regions these bits are cut into, with one more bit each.
    pub regions: u64,
}

impl Shape {
    /// `m` bits in all, `regions` of them for the regions; `k` is told the number of the others.
    fn cut(m: u64, regions: u64, k: impl FnOnce(u64) -> u32) -> Result<Self> {
        match m.checked_sub(regions) {
            Some(bits) if regions > 0 && regions <= bits => {
                Ok(Self { flat: Flat { m: bits, k: k(bits) }, regions })
            }
            _ => Err(Error::parameter(format!(
                "{regions} regions in {m} bits: r must be from 1 to half of m, because every region has its own bit \
                and at least one for keys"
            ))),
        }
    }

    /// P(two or more of the n keys' hashes meet in a given bit), p_c.
    fn shared(&self, n: u64) -> f64 {
        let Flat { m, k } = self.flat;
        tail::binomial_at_least(n.saturating_mul(u64::from(k)), 1.0 / m as f64, 2)
    }

    /// Bits per region, m'/r.
    fn width(&self) -> f64 {
        self.flat.m as f64 / self.regions as f64
    }

    /// The share of `n` members that can be removed. A bit of the key is its own if no other key has
    /// it and no two keys met in the other bits of its region (catalogue §25):
    /// c = (1 − 1/m')^{k(n−1)}·(1 − p_c)^{m'/r − 1}, and one of k such bits is enough.
    pub fn deletable(&self, n: u64) -> f64 {
        let Flat { m, k } = self.flat;
        let k = f64::from(k);
        let alone = 1.0 - theory::fill(m as f64, k * n.saturating_sub(1) as f64);
        let own = alone * libm::pow(1.0 - self.shared(n), self.width() - 1.0);
        1.0 - libm::pow(1.0 - own, k)
    }

    /// The paper's estimate of [`Shape::deletable`], 1 − (1 − (1 − p_c)^{m'/r})^k: too high, since it
    /// takes the key's own bit for one that may as well be zero. (S3 prints its complement.)
    pub fn deletable_by_paper(&self, n: u64) -> f64 {
        let free = libm::pow(1.0 - self.shared(n), self.width());
        1.0 - libm::pow(1.0 - free, f64::from(self.flat.k))
    }
}

impl Plan for Deletable {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let set = request.integer("r");
        let regions = |bits: u64| set.unwrap_or(bits);
        let flat = Flat::plan_sized(request, |m, _, _| m + regions(m.ceil() as u64) as f64)?;
        let Some(m) = request.integer(PARAM_M.name) else {
            return Shape::cut(flat.m + regions(flat.m), regions(flat.m), |_| flat.k);
        };
        // As in S0 and S3, m are all bits, those of the regions included.
        let regions = set.unwrap_or(m / 2);
        Shape::cut(m, regions, |bits| {
            let by_hand = request.integer(PARAM_K.name).is_some();
            let best = request.goal_items().filter(|_| !by_hand);
            best.map_or(flat.k, |n| theory::best_k(bits, n).min(MAX_K))
        })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat, regions } = *shape;
        Some(flat.expect(load, flat.m + regions))
    }
}

impl Stream for Deletable {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let collided = Bits::try_new(shape.regions)?;
        Ok(Self { head, flat: FlatBits::new(shape.flat)?, collided })
    }
}

face!(Deletable: Insert, Remove, Merge, Estimate, Intersect, Fold);
planned!(Deletable);

keyed!(Deletable: Insert, Remove, Union, Estimate, Intersect, Fold);

impl Filter for Deletable {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.flat)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.flat.m() + self.collided.len()),
            fact("k", self.flat.k()),
            fact("r", self.collided.len()),
            fact("collided", self.collided.ones()),
            real("deletable", self.deletable()),
        ]
    }

    /// Each distinct bit once, as insertion and removal touch them.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        touched(&self.indices(key), |i| self.flat.bits.get(i).into())
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Deletable>(Facts {
    id: 57,
    slug: "deletable",
    entry: "§25",
    question: "Is it in the set, when most keys must be removable, for a few bits more?",
    name: "Deletable Bloom filter",
    paper: "C. E. Rothenberg, C. A. B. Macapuna, F. L. Verdi, M. F. Magalhães, The deletable Bloom filter: \
            a new member of the Bloom family, IEEE Communications Letters 14(6), 2010",
    family: "deleting",
    needs: &["membership", "delete", "merge", "estimate", "fold"],
    meaning: "items are insertions minus removals, the rate is the false-positive rate; some removals \
              are refused",
    forms: &[Form::removing(
        FORM,
        &[
            Ability::Insert,
            Ability::Remove,
            Ability::Merge,
            Ability::Intersect,
            Ability::Fold,
            Ability::Estimate,
        ],
    )],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer(
            "r",
            1,
            1 << 47,
            "number of regions, each with a bit that is part of m; by default the number of bits for keys",
        ),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_with_no_or_too_many_regions_are_refused() {
        let mut filter = Deletable::with_shape(100, 3, 50, Hasher::default()).unwrap();
        filter.insert("a");
        let back: Deletable = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        for regions in [0, 51] {
            let alien = Deletable { collided: Bits::new(regions), ..filter.clone() };
            assert!(
                Opener::new().decode(&to_bytes(&alien)).is_err(),
                "{regions} regions of 50 bits"
            );
        }
    }
}
