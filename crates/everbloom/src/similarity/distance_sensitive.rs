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
//! **Use it** to sort out, in little memory, what cannot resemble anything known. **Don't** for more than
//! a hundred thousand keys, or when near and far lie close together: s grows with ln n, and p_H falls
//! with s.
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

use smallvec::SmallVec;

use crate::cells::Bits;
use crate::error::agree;
use crate::hash::{Generator, mix64};
use crate::plan::MAX_CELLS;
use crate::probe::multiply_shift;
use crate::theory::{bloom, tail};
use crate::variant::prelude::*;

/// Vectors in k arrays of bits that find what is near.
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
    /// A filter for `items` vectors that misses at most a share of `rate` of the keys within 5 % of one,
    /// and takes at most `rate` of those 40 % or more from all for close.
    ///
    /// ```
    /// let mut known = everbloom::similarity::DistanceSensitive::with_rate(10, 0.01)?;
    /// known.insert("the quick brown fox jumps over the lazy dog")?;
    /// assert!(known.contains("the quick brown fox jumps over the lazy cog")?);
    /// assert!(!known.contains("pack my box with five dozen liquor jugs now")?);
    /// assert!(known.contains("too short").is_err());
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn with_rate(items: u64, rate: f64) -> Result<Self> {
        crate::variant::empty(&Goal::new(items, rate))
    }

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
                "a vector of {} coordinates where all have {}: distances need equal lengths",
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
            Ok(if fresh > 0 { Seen::New } else { Seen::Maybe })
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

/// p_H: the chance that a key at distance `near` from a member finds its bit set in one array, other
/// members aside.
pub fn near_hit(near: f64, samples: u32) -> f64 {
    libm::pow(1.0 - near, f64::from(samples))
}

/// p_F: the chance, at most, that a key at distance `far` or more from `n` members finds its bit set in
/// one array of `slice` bits.
pub fn far_hit(far: f64, samples: u32, slice: f64, n: f64) -> f64 {
    let agrees = libm::pow(1.0 - far, f64::from(samples));
    -libm::expm1(n * libm::log1p(-(agrees + (1.0 - agrees) / slice)))
}

/// Samples, arrays and their size, threshold, length if it is known, and the bounds on both rates.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    samples: u32,
    arrays: u32,
    slice: u64,
    threshold: u32,
    length: u64,
    fpr: Option<f64>,
    fnr: Option<f64>,
}

impl Shape {
    fn check(&self) -> Result<()> {
        let Shape { samples, arrays, slice, threshold, .. } = *self;
        let ok = (1..=MAX_SAMPLES).contains(&samples)
            && (1..=MAX_ARRAYS).contains(&arrays)
            && (1..=arrays).contains(&threshold)
            && (1..=MAX_CELLS / u64::from(arrays)).contains(&slice);
        if ok {
            return Ok(());
        }
        Err(Error::parameter(format!(
            "{samples} samples, {arrays} arrays of {slice} bits, threshold {threshold}: at most \
             {MAX_SAMPLES} samples, {MAX_ARRAYS} arrays and {MAX_CELLS} bits, a threshold not above \
             the arrays, and none of them 0"
        )))
    }
}

/// What the goal leaves to choose.
struct Planner {
    near: f64,
    far: f64,
    samples: Option<u32>,
    arrays: Option<u32>,
    slice: Option<u64>,
    threshold: Option<u32>,
    /// Rate of near keys missed; as that of far keys taken for close, if not set.
    fnr: Option<f64>,
}

impl Planner {
    /// The largest threshold with P(Bin(k, p_H) < t) ≤ fnr, or 0: the one that keeps out most far keys.
    fn threshold(&self, arrays: u32, p_near: f64, fnr: f64) -> u32 {
        let finds = |t: u32| tail::binomial_below(arrays.into(), p_near, t.into()) <= fnr;
        let (mut low, mut high) = (0, arrays);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if finds(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }

    /// The least k, with its t, that keeps far keys to `p` and missed near keys to `fnr`.
    fn arrays(&self, p_near: f64, p_far: f64, p: f64) -> Option<(u32, u32)> {
        let fnr = self.fnr.unwrap_or(p);
        let with = |k: u32| {
            let t = self.threshold.unwrap_or_else(|| self.threshold(k, p_near, fnr));
            let keeps = (1..=k).contains(&t)
                && tail::binomial_at_least(k.into(), p_far, t.into()) <= p
                && tail::binomial_below(k.into(), p_near, t.into()) <= fnr;
            keeps.then_some((k, t))
        };
        if p_far >= p_near {
            return None;
        }
        if let Some(k) = self.arrays {
            return with(k);
        }
        if let Some(t) = self.threshold {
            // More arrays find more near keys, and more far ones: the least that finds enough, or none.
            let (mut low, mut high) = (t, MAX_ARRAYS);
            while low < high {
                let middle = (low + high) / 2;
                let enough = tail::binomial_below(middle.into(), p_near, t.into()) <= fnr;
                if enough { high = middle } else { low = middle + 1 }
            }
            return with(low);
        }
        let (mut low, mut high) = (1, with(MAX_ARRAYS).map(|_| MAX_ARRAYS)?);
        while low < high {
            let middle = (low + high) / 2;
            if with(middle).is_some() { high = middle } else { low = middle + 1 }
        }
        with(high)
    }

    /// The shape with the fewest bits: every s for which far keys stay apart, and arrays of every load
    /// from n/m' = 0.01 to 1.3.
    fn smallest(&self, n: u64, p: f64) -> Option<Shape> {
        let n = n as f64;
        let fnr = self.fnr.unwrap_or(p);
        let mut best: Option<Shape> = None;
        let range = self.samples.map_or(1..=MAX_SAMPLES, |s| s..=s);
        for samples in range {
            let p_near = near_hit(self.near, samples);
            let agreeing = far_hit(self.far, samples, f64::INFINITY, n);
            if agreeing >= p_near && self.samples.is_none() {
                continue;
            }
            let loads = (0..16).map(|i| 0.01 * libm::pow(1.38, f64::from(i)));
            let slices = loads.map(|load| (n / load).ceil().max(2.0));
            let slices: SmallVec<[f64; 16]> = match self.slice {
                Some(slice) => SmallVec::from_slice(&[slice as f64]),
                None => slices.collect(),
            };
            for slice in slices {
                let p_far = far_hit(self.far, samples, slice, n);
                let Some((arrays, threshold)) = self.arrays(p_near, p_far, p) else { continue };
                let bits = |shape: &Shape| shape.slice as f64 * f64::from(shape.arrays);
                if best.as_ref().is_none_or(|best| slice * f64::from(arrays) < bits(best)) {
                    let (fpr, fnr) = (Some(p), Some(fnr));
                    let slice = slice as u64;
                    best = Some(Shape { samples, arrays, slice, threshold, length: 0, fpr, fnr });
                }
            }
            // Where far keys hardly agree any more, further samples only part near keys.
            if agreeing < 1e-3 * p_near {
                break;
            }
        }
        best.map(|shape| self.trimmed(shape, n, p))
    }

    /// The shape with its arrays, which came in coarse steps, as small as its threshold lets them be.
    fn trimmed(&self, shape: Shape, n: f64, p: f64) -> Shape {
        let keeps = |slice: u64| {
            let p_far = far_hit(self.far, shape.samples, slice as f64, n);
            tail::binomial_at_least(shape.arrays.into(), p_far, shape.threshold.into()) <= p
        };
        let (mut low, mut high) = (1, shape.slice);
        while low < high && self.slice.is_none() {
            let middle = low + (high - low) / 2;
            if keeps(middle) { high = middle } else { low = middle + 1 }
        }
        Shape { slice: high, ..shape }
    }

    /// Arrays and slices set by hand: the s, if not set, and the t that tell near and far apart best.
    fn by_hand(&self, n: u64, arrays: u32, slice: u64) -> Result<Shape> {
        let mut best: Option<(f64, Shape)> = None;
        for samples in self.samples.map_or(1..=256, |s| s..=s) {
            let p_near = near_hit(self.near, samples);
            let p_far = far_hit(self.far, samples, slice as f64, n as f64);
            if p_far >= p_near {
                continue;
            }
            let fpr = |t: u32| tail::binomial_at_least(arrays.into(), p_far, t.into());
            let fnr = |t: u32| tail::binomial_below(arrays.into(), p_near, t.into());
            // One rate falls with t and the other rises: the best is where they cross, or just before.
            let (mut low, mut high) = (1, arrays);
            while low < high {
                let middle = (low + high) / 2;
                if fpr(middle) <= fnr(middle) { high = middle } else { low = middle + 1 }
            }
            for t in self.threshold.map_or([low.max(2) - 1, low], |t| [t, t]) {
                let error = fpr(t) + fnr(t);
                if best.is_none_or(|(least, _)| error < least) {
                    let (fpr, fnr) = (Some(fpr(t)), Some(fnr(t)));
                    let shape = Shape { samples, arrays, slice, threshold: t, length: 0, fpr, fnr };
                    best = Some((error, shape));
                }
            }
        }
        best.map(|(_, shape)| shape).ok_or_else(|| self.unusable(n, slice as f64))
    }

    /// Why no threshold works, with the numbers.
    fn unusable(&self, n: u64, slice: f64) -> Error {
        let Planner { near, far, .. } = *self;
        let Some(samples) = self.samples else {
            return Error::parameter(format!(
                "no number of samples tells keys within {near} from keys {far} apart among {n} in \
                 this size at these rates: set near and far further apart, fewer items, or more bits"
            ));
        };
        let p_near = near_hit(near, samples);
        let p_far = far_hit(far, samples, slice, n as f64);
        let remedy = if p_far < p_near {
            "set more arrays, or allow higher rates"
        } else if far_hit(far, samples, f64::INFINITY, n as f64) >= p_near {
            "set more samples, so that far keys agree less often"
        } else {
            "set larger slices or fewer samples"
        };
        Error::parameter(format!(
            "{samples} samples: in one array a far key finds its bit set with p_F = {p_far:.4}, a near \
             one with p_H = {p_near:.4}, which no threshold tells apart at these rates; {remedy}"
        ))
    }
}

impl Plan for DistanceSensitive {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let number = |name| request.integer(name).map(|v| v as u32);
        let planner = Planner {
            near: request.real("near").unwrap_or(0.05),
            far: request.real("far").unwrap_or(0.4),
            samples: number("samples"),
            arrays: number("arrays"),
            slice: request.integer("slice"),
            threshold: number("threshold"),
            fnr: request.real("fnr"),
        };
        if planner.near >= planner.far {
            return Err(Error::parameter(format!(
                "near={} and far={}: near must be below far",
                planner.near, planner.far
            )));
        }
        let shape = match (planner.arrays, planner.slice) {
            (Some(arrays), Some(slice)) => {
                let n = request.goal_items().ok_or_else(|| {
                    Error::parameter("how many items? give -n: the threshold depends on it")
                })?;
                planner.by_hand(n, arrays, slice)?
            }
            _ => {
                let bits = |shape: Shape| shape.slice as f64 * f64::from(shape.arrays);
                let (n, p) = request
                    .items_and_rate(|n, p| planner.smallest(n, p).map_or(f64::INFINITY, bits))?;
                let slice = planner.slice.map_or(f64::INFINITY, |slice| slice as f64);
                planner.smallest(n, p).ok_or_else(|| planner.unusable(n, slice))?
            }
        };
        shape.check()?;
        Ok(Shape { length: request.integer("length").unwrap_or(0), ..shape })
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
        let bits = Bits::new(slice * u64::from(arrays));
        Ok(Self { head, length, samples, arrays, slice, threshold, bits })
    }
}

face!(DistanceSensitive: Insert, Merge);

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

const FORM: &str = "standard";
const COORDINATES: u64 = 0x636F_6F72_6400_0001;
const MAX_SAMPLES: u32 = 1024;
const MAX_ARRAYS: u32 = 4096;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 9,
        slug: "distance-sensitive",
        entry: "§34",
        name: "Distance-sensitive Bloom filter",
        paper: "A. Kirsch, M. Mitzenmacher, Distance-sensitive Bloom filters, ALENEX 2006",
        family: "similarity",
        needs: &["similar", "merge"],
        input: Input { key: KeyKind::Vector, ..Input::KEYS },
        meaning: "items are vectors of one length, the rate is that of far vectors taken for near ones",
        forms: &[Form {
            name: FORM,
            abilities: &[Ability::Insert, Ability::Merge],
            false_negatives: FalseNegatives::Possible(
                "a key near a member may be missed; a member itself never is",
            ),
        }],
        params: &[
            Param {
                name: "length",
                range: Range::Integer(1, 1 << 32),
                default: Preset::Planned,
                help: "coordinates per vector; the first record's, if not set",
            },
            Param {
                name: "near",
                range: Range::Real(0.0, 0.99),
                default: Preset::Real(0.05),
                help: "share of differing coordinates up to which keys are near",
            },
            Param {
                name: "far",
                range: Range::Real(0.001, 1.0),
                default: Preset::Real(0.4),
                help: "share of differing coordinates from which on keys are far",
            },
            Param {
                name: "fnr",
                range: Range::Real(1e-12, 0.999),
                default: Preset::Planned,
                help: "rate of near keys that may be missed; as the false-positive rate, if not set",
            },
            Param {
                name: "samples",
                range: Range::Integer(1, MAX_SAMPLES as u64),
                default: Preset::Planned,
                help: "coordinates that each array looks at",
            },
            Param {
                name: "arrays",
                range: Range::Integer(1, MAX_ARRAYS as u64),
                default: Preset::Planned,
                help: "number of arrays",
            },
            Param {
                name: "slice",
                range: Range::Integer(1, 1 << 36),
                default: Preset::Planned,
                help: "bits per array",
            },
            Param {
                name: "threshold",
                range: Range::Integer(1, MAX_ARRAYS as u64),
                default: Preset::Planned,
                help: "arrays that make a key close",
            },
        ],
        reach: 100_000,
        ..Facts::FILTER
    },
    ops: Ops::of::<DistanceSensitive>(),
};
