//! The distance-sensitive Bloom filter (Kirsch, Mitzenmacher 2006; catalogue §34; S3 ref. 143 §VII-C, S0 ref. 51
//! §III-S).
//!
//! Is there anything in the set that resembles this key? A key is a vector, one coordinate per byte;
//! two keys are ε apart if they differ in a share ε of their coordinates. Ordinary hashes tear near
//! keys apart. Here each of k arrays first looks at s coordinates of its own, drawn once for all keys,
//! and hashes only those, so that near keys mostly meet:
//!
//! ```text
//!   x            0 1 1 0 1 0 0 1
//!   y            0 1 1 0 1 1 0 1      differs from x in one of eight coordinates
//!   array 1        ↑   ↑     ↑        sees 1 0 0 of both: y meets the bit that x set
//!   array 2          ↑     ↑   ↑      sees 1 0 1 of x, 1 1 1 of y: y most likely finds a zero
//! ```
//!
//! A query counts the arrays whose bit is set, B. A member has B = k. A key near one has about k·p_H,
//! p_H = (1−ε)^s; a key far (δ) from all n members about k·p_F, p_F = 1 − (1 − p_L − (1−p_L)/m')^n with
//! p_L = (1−δ)^s. So it is *close* iff B ≥ t, for a t between the two. (S3's sentence has the threshold
//! the wrong way round, and the composition of the hashes too; its summary is right.)
//!
//! Of keys between ε and δ nothing is promised. Near keys can be missed, far ones can pass, both as
//! rarely as planned; members are never missed.
//!
//! **Slow:** every one of the k arrays hashes s drawn coordinates of its own, k·s of them for a key, where a
//! standard filter hashes once.
//!
//! **Use it** to reject, in little memory, keys that cannot resemble any member. **Don't** for more than a hundred
//! thousand keys, or when near and far are close together: s grows with ln n, and p_H falls with s.
//!
//! # Choices
//!
//! * Coordinates are drawn *with* repetition: then two keys that differ in d of l coordinates agree in
//!   an array with probability (1 − d/l)^s exactly, at every length. Distinct coordinates would meet in
//!   C(l−d,s)/C(l,s), which for short vectors is far less than p_H: the bound on near keys would fail.
//! * Coordinates follow from the hasher's seed and are drawn anew for each key, not stored: a generator
//!   step costs no more than loading a table of k·s entries would.
//! * This is the one place where a key is hashed more than once: each array has to hash what it alone
//!   sees. The bytes go to the hash in drawing order, so position matters.

mod shape;

pub use shape::{Shape, far_hit, near_hit};

use shape::{MAX_ARRAYS, MAX_SAMPLES};
use smallvec::SmallVec;

use crate::cells::Bits;
use crate::error::agree;
use crate::filter::touched;
use crate::hash::{Generator, mix64};
use crate::probe::multiply_shift;
use crate::theory::{bloom, tail};
use crate::variant::prelude::*;

/// Vectors in k arrays of bits that find what is near: unless set otherwise, all but a share of the rate of the
/// keys within 5 % of a member, and at most a share of the rate of those 40 % or more from all.
///
/// ```
/// let mut known = everbloom::structured::DistanceSensitive::with_rate(10, 0.01)?;
/// known.insert("the quick brown fox jumps over the lazy dog")?;
/// assert!(known.contains("the quick brown fox jumps over the lazy cog")?);
/// assert!(!known.contains("pack my box with five dozen liquor jugs now")?);
/// assert!(known.contains("too short").is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DistanceSensitive {
    head: Head,
    /// Coordinates per key; 0 as long as no key has come.
    length: u64,
    samples: u32,
    arrays: u32,
    slice: u64,
    threshold: u32,
    /// The arrays, one behind the other.
    bits: Bits,
}

state!(DistanceSensitive { head, length, samples, arrays, slice, threshold, bits });

impl DistanceSensitive {
    /// A filter of `arrays` arrays of `slice` bits that look at `samples` coordinates each, for which
    /// `threshold` arrays make a key close.
    pub fn with_shape(
        samples: u32,
        arrays: u32,
        slice: u64,
        threshold: u32,
        hasher: Hasher,
    ) -> Result<Self> {
        let shape = Shape { samples, arrays, slice, threshold, length: 0, fpr: None, fnr: None };
        shape.check()?;
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// Calls `f` with the key's bit in each array, for a key of the right length.
    #[inline]
    fn each(&self, key: &[u8], mut f: impl FnMut(u64)) {
        let mut seen: SmallVec<[u8; 64]> = SmallVec::new();
        for array in 0..u64::from(self.arrays) {
            // A stream of its own for every array: starts are mixed, so that streams do not overlap.
            let start = mix64(self.head.hasher.seed() ^ mix64(array ^ COORDINATES));
            let mut generator = Generator::new(start);
            seen.clear();
            let drawn = (0..self.samples).map(|_| generator.below(key.len() as u64) as usize);
            seen.extend(drawn.map(|i| key[i]));
            let word = self.head.hasher.digest(&seen[..]).word(array);
            f(array * self.slice + multiply_shift(word, self.slice));
        }
    }

    fn fits(&self, key: &[u8]) -> Result<()> {
        if key.is_empty() {
            return Err(Error::record("an empty key: a vector has at least one coordinate"));
        }
        if self.length != 0 && key.len() as u64 != self.length {
            return Err(Error::record(format!(
                "a vector of {} coordinates; the others have {}, and distances need equal lengths",
                key.len(),
                self.length
            )));
        }
        Ok(())
    }

    /// Inserts a vector. The first one settles the length of all.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        key.with_bytes(|key| {
            self.fits(key)?;
            let mut indices: SmallVec<[u64; 128]> = SmallVec::new();
            self.each(key, |i| indices.push(i));
            let fresh = indices.iter().filter(|&&i| self.bits.set(i)).count();
            self.length = key.len() as u64;
            self.head.count(1);
            Ok(Seen::new_if(fresh > 0))
        })
    }

    /// B, the number of arrays in which the key finds its bit set: all of them for a member.
    pub fn hits<K: Key + ?Sized>(&self, key: &K) -> Result<u32> {
        key.with_bytes(|key| {
            self.fits(key)?;
            let mut hits = 0;
            self.each(key, |i| hits += u32::from(self.bits.get(i)));
            Ok(hits)
        })
    }

    /// Whether some member seems to be near the key.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> Result<bool> {
        Ok(self.hits(key)? >= self.threshold)
    }

    /// The arrays, one behind the other.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    fn shape(&self) -> Shape {
        let Self { length, samples, arrays, slice, threshold, .. } = *self;
        Shape { samples, arrays, slice, threshold, length, fpr: None, fnr: None }
    }

    fn check(&self) -> Result<()> {
        let shape = self.shape().check();
        shape.map_err(|e| Error::corrupt(0, format!("corrupt filter: {e}")))?;
        // The check bounds both factors.
        let fits = self.bits.len() == self.slice * u64::from(self.arrays);
        if !fits || (self.length == 0 && self.bits.ones() > 0) {
            return Err(Error::corrupt(0, "corrupt filter: bits that no vector set"));
        }
        Ok(())
    }
}

impl Plan for DistanceSensitive {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        shape::plan(request)
    }

    /// The rate is that of keys which agree with no member in any array; members are never missed.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { samples, arrays, slice, threshold, .. } = *shape;
        let (n, m) = (load.distinct as f64, slice as f64);
        let fill = bloom::fill(m, n);
        // Members that agree in an array share a bit there. How many do depends on the members; random
        // bit vectors do so with 2^-s a pair. The fill is uncertain by as much.
        let shared = fill * n * libm::exp2(-f64::from(samples));
        let sd = bloom::fill_sd(m, n) / f64::from(arrays).sqrt();
        let fpr = tail::binomial_at_least(arrays.into(), fill, threshold.into());
        let bits = slice * u64::from(arrays);
        Some(Expect::one_sided(fpr, bits, Some((fill, libm::hypot(sd, shared)))))
    }
}

impl Stream for DistanceSensitive {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { samples, arrays, slice, threshold, length, fpr, fnr } = *shape;
        let head = Head { fpr: fpr.or(head.fpr), fnr, ..head };
        let bits = Bits::try_new(slice * u64::from(arrays))?;
        Ok(Self { head, length, samples, arrays, slice, threshold, bits })
    }
}

face!(DistanceSensitive: Insert, Merge);
planned!(
    DistanceSensitive:
    "A filter for `items` vectors that misses at most a share of `fpr` of the keys within 5 % of one, and takes \
     at most `fpr` of those 40 % or more from all for close."
);

impl Filter for DistanceSensitive {
    /// Close or not, with the share of arrays that were hit.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let hits = self.hits(record.key)?;
        let score = Detail::Score(f64::from(hits) / f64::from(self.arrays));
        Ok(Answer::of(hits >= self.threshold).with(score))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.ones() as f64 / self.bits.len() as f64)
    }

    fn now(&self) -> Rates {
        let ones = |array: u64| self.bits.ones_in(array * self.slice, self.slice);
        let fill = |array: u32| ones(array.into()) as f64 / self.slice as f64;
        let fills: Vec<f64> = (0..self.arrays).map(fill).collect();
        Rates::one_sided(tail::poisson_binomial_at_least(&fills, self.threshold as usize))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("samples", self.samples),
            fact("arrays", self.arrays),
            fact("slice", self.slice),
            fact("threshold", self.threshold),
            fact("length", self.length),
        ]
    }

    /// A cell for each array.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let mut cells = Vec::new();
        if self.fits(key).is_ok() {
            self.each(key, |i| cells.push(i));
        }
        touched(&cells, |i| self.bits.get(i).into())
    }
}

impl Insert for DistanceSensitive {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        DistanceSensitive::insert(self, record.key)
    }
}

impl Merge for DistanceSensitive {
    fn law(&self) -> MergeLaw {
        MergeLaw::Set
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &DistanceSensitive = other.as_same()?;
        self.head.agree(&other.head)?;
        agree("samples", self.samples, other.samples)?;
        agree("arrays", self.arrays, other.arrays)?;
        agree("slice", self.slice, other.slice)?;
        agree("threshold", self.threshold, other.threshold)?;
        if self.length != 0 && other.length != 0 {
            agree("length", self.length, other.length)?;
        }
        self.length = self.length.max(other.length);
        self.bits.union(&other.bits);
        // Nobody knows how many keys the two share: as many items as the zeros tell, or the larger set
        // if its members are so near each other that they tell less.
        let items = bloom::cardinality(self.bits.zeros(), self.bits.len(), self.arrays);
        let most = self.head.items.max(other.head.items);
        self.head.items = items.map_or(most, |n| n.round() as u64).max(most);
        Ok(())
    }
}

const COORDINATES: u64 = 0x636F_6F72_6400_0001;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<DistanceSensitive>(Facts {
    id: 9,
    slug: "distance-sensitive",
    entry: "§34",
    question: "Is there a member near this bit vector or string?",
    name: "Distance-sensitive Bloom filter",
    paper: "A. Kirsch, M. Mitzenmacher, Distance-sensitive Bloom filters, ALENEX 2006",
    family: "structured",
    needs: &["similar", "merge", "parallel"],
    input: Input::of(KeyKind::Vector),
    meaning: "items are vectors of one length, the rate is that of far vectors taken for near ones",
    forms: &[Form::lossy(
        FORM,
        &[Ability::Insert, Ability::Merge],
        "a key near a member may be missed, but never a member itself",
    )],
    params: &[
        Param::integer(
            "length",
            1,
            1 << 32,
            "coordinates per vector; by default that of the first record",
        ),
        Param::real("near", 0.0, 0.99, "highest share of differing coordinates of near keys")
            .or(Preset::Real(0.05)),
        Param::real("far", 0.001, 1.0, "lowest share of differing coordinates of far keys")
            .or(Preset::Real(0.4)),
        Param::real(
            "fnr",
            1e-12,
            0.999,
            "false-negative rate of near keys; by default the false-positive rate",
        ),
        Param::integer("samples", 1, MAX_SAMPLES as u64, "coordinates that each array looks at"),
        Param::integer("arrays", 1, MAX_ARRAYS as u64, "number of arrays"),
        Param::integer("slice", 1, 1 << 36, "bits per array"),
        Param::integer(
            "threshold",
            1,
            MAX_ARRAYS as u64,
            "arrays that must match for a key to be near",
        ),
    ],
    reach: 100_000,
    ..Facts::FILTER
});
