//! The space-code Bloom filter and its multi-resolution form (Kumar, Xu, Wang, Spatschek, Li 2004/2006; catalogue §1;
//! S0 §III-J, S1 §9, S3 §VI-A).
//!
//! How many packets has each flow, in one array of bits that is only ever written? A key has l groups of k bits;
//! every insertion sets the bits of one group, picked at random. The more copies came, the more groups match:
//!
//! ```text
//!   key x, l = 4 groups          insert: one of them at random       3 of 4 match ──▶ likeliest: 5 copies
//!     ▲▲   ▲▲   ▲▲   ▲▲            ▲▲                                ▲▲   ▲▲        ▲▲
//!   0 00 0 00 0 00 0 00 0 0 … ──▶ 0 11 0 00 0 00 0 00 …          0 11 0 11 0 00 0 11 0 …
//! ```
//!
//! The number of matches θ is turned into the count under which it is likeliest, given the real fill. With all l
//! groups in use any larger count looks the same, at about l·ln l copies: the form `multi-resolution` has more filters,
//! each of which samples 1 of 4 insertions of the one before, and takes the count under which all their matches
//! together are likeliest.
//!
//! A key that came always matches; counts err on both sides, by a fifth or so. Nothing can be removed: cells are bits.
//!
//! **Slow:** a query looks for the count under which its matches are likeliest, which is arithmetic on many counts;
//! in `multi-resolution` over all filters at once.
//!
//! **Use it** for traffic per flow at line speed: an insertion writes k bits and reads nothing. **Don't** when counts must be
//! bounds (`count-min`), exact (`spectral`), or go down again.

pub mod likelihood;

use likelihood::{Resolution, most_likely};

use crate::filter::Bound;
use crate::hash::{Generator, mix64};
use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::parts::several::{check_parts, flat_for};
use crate::theory::bloom as theory;
use crate::theory::shifting::{any_of, each_of};
use crate::variant::prelude::*;

/// Approximate multiplicities in bits that are only ever set.
///
/// ```
/// use everbloom::sketches::SpaceCode;
///
/// let mut flows = SpaceCode::with_rate(10_000, 0.01)?;
/// (0..20).for_each(|_| _ = flows.insert("10.0.0.1"));
/// flows.insert("10.0.0.2");
/// assert!((8..50).contains(&flows.count("10.0.0.1")));
/// assert_eq!(flows.count("10.0.0.2"), 1);
/// assert!(!flows.contains("10.0.0.3"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceCode {
    head: Head,
    /// Groups per key.
    groups: u32,
    /// Each resolution samples one of so many insertions of the one before.
    ratio: u32,
    generator: Generator,
    levels: Vec<FlatBits>,
}

state!(SpaceCode { head, groups, ratio, generator, levels });

impl SpaceCode {
    /// A filter of one resolution: `m` bits, `l` groups of `k` bits per key.
    pub fn with_shape(m: u64, k: u32, l: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m).set("k", k).set("l", l))
    }

    fn check(&self) -> Result<()> {
        let most = if self.head.form == MULTI { MOST_LEVELS } else { 1 };
        let ok = (1..=most).contains(&self.levels.len())
            && VARIANT.takes("l", self.groups)
            && VARIANT.takes("ratio", self.ratio);
        if ok {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: not the groups of its form"))
        }
    }

    /// The digest of a key's group in one resolution.
    fn group(digest: Digest, level: usize, group: u64) -> Digest {
        digest.salted((level as u64) << 32 | group)
    }

    /// Inserts a key, again if already present.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.digest(key);
        let mut one_of = 1;
        for (i, level) in self.levels.iter_mut().enumerate() {
            // Its own coin and its own group: resolutions are independent of each other.
            if one_of == 1 || self.generator.below(one_of) == 0 {
                let group = self.generator.below(self.groups.into());
                level.insert(Self::group(digest, i, group));
            }
            one_of = one_of.saturating_mul(self.ratio.into());
        }
        self.head.count(1);
        // Other groups may have been used before; looking at all of them would take longer than the insertion.
        Seen::Maybe
    }

    /// Whether the key may have been inserted: whether one of its groups matches.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.has(self.head.digest(key))
    }

    fn has(&self, digest: Digest) -> bool {
        (0..self.groups.into()).any(|g| self.levels[0].contains(Self::group(digest, 0, g)))
    }

    /// How many of the key's groups match, in every resolution.
    pub fn matches<K: Key + ?Sized>(&self, key: &K) -> Vec<u32> {
        self.matches_of(self.head.digest(key))
    }

    fn matches_of(&self, digest: Digest) -> Vec<u32> {
        let theta = |(i, level): (usize, &FlatBits)| {
            let matches = |g: &u64| level.contains(Self::group(digest, i, *g));
            (0..self.groups.into()).filter(matches).count() as u32
        };
        self.levels.iter().enumerate().map(theta).collect()
    }

    /// The likeliest count of a key, at least 1 if a group matches. Close, on either side.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.counted(self.head.digest(key)).whole()
    }

    fn counted(&self, digest: Digest) -> Counted {
        if !self.has(digest) {
            return Counted::about(0);
        }
        let mut matches = self.matches_of(digest);
        // All groups of the last resolution: any larger count looks the same.
        let last = matches.last_mut().filter(|theta| **theta >= self.groups);
        let bound = if last.is_some() { Bound::AtLeast } else { Bound::Estimate };
        if let Some(theta) = last {
            *theta = self.groups - 1;
        }
        let mut p = 1.0;
        let resolutions: Vec<Resolution> = (self.levels.iter())
            .map(|level| {
                let now = Resolution { p, q: libm::pow(level.bits.fill(), f64::from(level.k())) };
                p /= f64::from(self.ratio);
                now
            })
            .collect();
        let l = f64::from(self.groups);
        let cap = 8.0 * l * (1.0 + libm::log(l)) / (p * f64::from(self.ratio));
        let count = most_likely(self.groups, &resolutions, &matches, cap.min(MOST_COUNT) as u64);
        Counted { bound, ..Counted::about(count.max(1)) }
    }
}

/// Bits and probes of the densest resolution, groups, ratio, and number of resolutions.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    groups: u32,
    ratio: u32,
    levels: u32,
}

impl Shape {
    /// Every resolution is as much smaller as it samples less.
    fn parts(&self) -> impl Iterator<Item = Flat> {
        let (Flat { m, k }, ratio) = (self.flat, u64::from(self.ratio));
        (0..self.levels).map(move |i| Flat { m: m.div_ceil(ratio.pow(i)).max(LEAST_BITS), k })
    }

    fn bits(&self) -> f64 {
        self.parts().map(|flat| flat.m as f64).sum()
    }
}

impl Plan for SpaceCode {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [groups, ratio] = request.wholes(["l", "ratio"]).map(|number| number as u32);
        let largest = request.whole("largest") as f64 / f64::from(groups);
        let more = (libm::log(largest.max(1.0)) / libm::log(ratio.into())).ceil() as u32;
        let levels = if request.form() == MULTI { (more + 1).min(MOST_LEVELS as u32) } else { 1 };
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        let shaped = |flat| Shape { flat, groups, ratio, levels };
        if let Some(m) = request.integer(PARAM_M.name) {
            let k = crate::plan::k_for_m(request, |n| theory::best_k(m, n))?;
            let shape = shaped(Flat { m: m.max(LEAST_BITS), k });
            check_parts(shape.parts())?;
            return Ok(shape);
        }
        // The rate is that of non-members of which any group matches.
        let sized = |n: u64, p: f64| {
            let q = each_of(p, f64::from(groups));
            let flat = match k_set {
                None => flat_for(n, q),
                Some(k) => {
                    let load = -libm::log1p(-libm::pow(q, 1.0 / f64::from(k)));
                    Flat { m: (f64::from(k) * n as f64 / load).ceil() as u64, k }
                }
            };
            shaped(Flat { m: flat.m.max(LEAST_BITS), ..flat })
        };
        let (n, p) = request.items_and_rate(|n, p| sized(n, p).bits())?;
        let shape = sized(n, p);
        check_parts(shape.parts())?;
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        // An insertion sets k bits, whether its key is new or not.
        let (m, k) = (shape.flat.m as f64, f64::from(shape.flat.k));
        let throws = load.items as f64 * k;
        let fill = (theory::fill(m, throws), theory::fill_sd(m, throws));
        let fpr = any_of(libm::pow(fill.0, k), f64::from(shape.groups));
        Some(Expect::one_sided(fpr, shape.bits() as u64, Some(fill)).probing(shape.flat.k))
    }
}

impl Stream for SpaceCode {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let generator = Generator::new(mix64(head.hasher.seed() ^ COINS));
        let levels = shape.parts().map(FlatBits::new).collect::<Result<_>>()?;
        Ok(Self { head, groups: shape.groups, ratio: shape.ratio, generator, levels })
    }
}

face!(SpaceCode: Insert, Count);
planned!(SpaceCode: "A filter for `items` insertions at a rate of `fpr` of other keys with a count.");
keyed!(SpaceCode: Insert);

impl Count for SpaceCode {
    fn count(&self, key: &[u8]) -> Counted {
        self.counted(self.head.digest(key))
    }
}

impl Filter for SpaceCode {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::counted(Count::count(self, record.key)))
    }

    /// That of the densest resolution.
    fn fill(&self) -> Option<f64> {
        Some(self.levels[0].bits.fill())
    }

    fn now(&self) -> Rates {
        let level = &self.levels[0];
        let q = libm::pow(level.bits.fill(), f64::from(level.k()));
        Rates::one_sided(any_of(q, f64::from(self.groups)))
    }

    fn describe(&self) -> Vec<Fact> {
        let (first, levels) = (&self.levels[0], self.levels.len() as u64);
        vec![
            fact("m", first.m()),
            fact("k", first.k()),
            fact("l", self.groups),
            fact("resolutions", levels),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.digest(key);
        let groups = 0..u64::from(self.groups);
        groups.flat_map(|g| self.levels[0].trace(Self::group(digest, 0, g))).collect()
    }
}

const SINGLE: &str = "single";
const MULTI: &str = "multi-resolution";

const MOST_LEVELS: usize = 16;
/// A resolution has at least so many bits.
const LEAST_BITS: u64 = 64;
/// No count is looked for beyond, whatever a file says.
const MOST_COUNT: f64 = 1e6;
const COINS: u64 = 0x5CBF;

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Count];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<SpaceCode>(Facts {
    id: 59,
    slug: "space-code",
    entry: "§1",
    question: "About how often did it come, in bits that are only set?",
    name: "Space-code Bloom filter",
    paper: "A. Kumar, J. Xu, J. Wang, O. Spatschek, L. Li, Space-code Bloom filter for efficient per-flow traffic \
            measurement, INFOCOM 2004 and IEEE JSAC 24(12), 2006",
    family: "sketches",
    needs: &["membership", "count"],
    meaning: "items are insertions, the rate is that of non-members with a count",
    forms: &[
        Form::exact(SINGLE, ABILITIES).counting(Counts::Around),
        Form::exact(MULTI, ABILITIES).counting(Counts::Around),
    ],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("l", 2, 256, "groups per key; counts are estimated up to about l·ln l")
            .or(Preset::Integer(32)),
        Param::integer(
            "ratio",
            2,
            16,
            "each resolution samples one in this many insertions of the previous one",
        )
        .or(Preset::Integer(4)),
        Param::integer("largest", 1, 1 << 20, "largest count of the multi-resolution form")
            .or(Preset::Integer(1000)),
    ],
    reach: 200_000,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn resolutions_of_another_form_are_refused() {
        let mut filter = SpaceCode::builder().items(50).rate(0.05).form(MULTI).build().unwrap();
        filter.insert("flow");
        assert_eq!(filter.levels.len(), 4, "1 + ⌈log₄(1000/32)⌉");
        let back: SpaceCode = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        let head = Head { form: SINGLE, ..filter.head.clone() };
        for forged in [
            SpaceCode { head, ..filter.clone() },
            SpaceCode { groups: 0, ..filter.clone() },
            SpaceCode { ratio: 1, ..filter.clone() },
            SpaceCode { levels: Vec::new(), ..filter.clone() },
        ] {
            assert!(Opener::new().decode(&to_bytes(&forged)).is_err());
        }
    }
}
