//! The multi-granularity locality-sensitive Bloom filter (Qian, Zhu, Chen 2015; catalogue §36; S3 ref. 142 §VII-C).
//!
//! How near is the nearest member? As in `locality-sensitive`, a vector has a bucket of width ω on each of some
//! random lines; L groups of k lines each vote, and a query is positive if *some* group finds *all* of its k bits.
//! Buckets side by side are bits side by side, so the filter of buckets twice as wide needs no bits of its own: its
//! bit j is the OR of bits 2j and 2j + 1. The same array is read at s granularities:
//!
//! ```text
//!   level 0    0 0 1 0  0 0 0 0  1 1 0 0  0 0 0 0     width ω
//!   level 1     0   1    0   0    1   0    0   0      2ω
//!   level 2       1        0        1        0        4ω
//! ```
//!
//! Shifts of lines and offsets of their bits are such that halving a bucket's number halves its bit's.
//!
//! A second array verifies that the k buckets of a group are one member's. Its k' places are hashes of the group's
//! buckets at the coarsest level, followed by a hashed bit for each finer level. So the place at a coarse level is a
//! prefix of that at a fine one, and this array is read at all granularities, too.
//!
//! A vector found at one level is found at every coarser one, and members at all. At distance c a member is found by
//! some group with 1 − (1 − p^k)^L, p = P(two vectors share a bucket of width ω·2^θ); more often by false positives:
//! coarse bits are ORs of many, so that the arrays are sized for the coarsest level, half of which is set. Where members
//! are close together all bits of the first array are, so that k' alone keeps the rate.
//!
//! **Slow:** a key is a vector, which is projected on L·k lines, and a query looks at every granularity.
//!
//! **Use it** when the distance that counts as near is only known at query time. **Don't** for one distance: then
//! `locality-sensitive` needs a twentieth of the bits.

mod shape;

pub use shape::Shape;

use crate::cells::Bits;
use crate::error::agree;
use crate::hash::{mix64, multiply_shift};
use crate::parts::projections::{MAX_LEVELS, MAX_WIDTH, MIN_WIDTH, Projections};
use crate::theory::bloom;
use crate::theory::lsh::{and_or, collision, crowding};
use crate::variant::prelude::*;

use super::locality_sensitive::example;

/// Vectors in buckets that are read at several widths.
///
/// ```
/// let mut seen = everbloom::structured::MultiGranularity::with_rate(100, 0.01)?;
/// seen.insert(&[3.0, 250.0, -17.5])?;
/// assert_eq!(seen.finest(&[3.0, 250.0, -17.5])?, Some(0));
/// assert_eq!(seen.finest(&[900.0, -250.0, 99.0])?, None);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MultiGranularity {
    head: Head,
    /// k lines for each group, group by group.
    lines: Projections,
    groups: u32,
    levels: u32,
    /// k', places of a group in the second array.
    checks: u32,
    bits: Bits,
    verify: Bits,
}

state!(MultiGranularity { head, lines, groups, levels, checks, bits, verify });

impl MultiGranularity {
    /// The lines of a group.
    fn k(&self) -> u32 {
        self.lines.functions() / self.groups
    }

    fn offset(&self, line: u64) -> u64 {
        mix64(self.head.hasher.seed() ^ mix64(line ^ OFFSETS))
    }

    /// The bit of a bucket of level 0. Offsets and the number of bits are multiples of what the coarsest level
    /// joins, so that shifts of a bucket's number and of its bit are one.
    fn bit(&self, line: u64, bucket: i64) -> u64 {
        let (m, top) = (self.bits.len(), self.levels - 1);
        let offset = (self.offset(line) % (m >> top)) << top;
        (bucket.rem_euclid(m as i64) as u64 + offset) % m
    }

    /// A group's buckets at a level, hashed.
    fn tuple(&self, group: u64, buckets: &[i64], level: u32) -> Digest {
        let numbers = buckets.iter().flat_map(|bucket| (bucket >> level).to_le_bytes());
        let bytes: Vec<u8> = group.to_le_bytes().into_iter().chain(numbers).collect();
        self.head.hasher.digest(&bytes[..])
    }

    /// Calls `f` with the places of a group in the second array, at a level, until it is false.
    fn all_places(
        &self,
        group: u64,
        buckets: &[i64],
        level: u32,
        f: impl FnMut(u64) -> bool,
    ) -> bool {
        let top = self.levels - 1;
        let tuples: Vec<Digest> =
            (level..=top).map(|level| self.tuple(group, buckets, level)).collect();
        let (coarsest, finer) = (tuples[tuples.len() - 1], &tuples[..tuples.len() - 1]);
        let coarse = self.verify.len() >> top;
        let place = |j: u64| {
            let start = multiply_shift(coarsest.word(j), coarse);
            // From the coarsest of the finer levels to the finest asked for, a bit each.
            finer.iter().rev().fold(start, |place, tuple| place << 1 | tuple.word(j ^ FINER) & 1)
        };
        (0..u64::from(self.checks)).map(place).all(f)
    }

    fn groups_of<'a>(
        &self,
        buckets: &'a [i64],
    ) -> impl Iterator<Item = (u64, &'a [i64])> + use<'a> {
        (0..).zip(buckets.chunks_exact(self.k() as usize))
    }

    /// Inserts a vector. The first one settles how many coordinates all have.
    pub fn insert(&mut self, point: &[f64]) -> Result<Seen> {
        let buckets = self.lines.buckets(&self.head.hasher, point)?;
        self.lines.settle(point);
        let mut new = false;
        for (line, bucket) in (0..).zip(&buckets) {
            let bit = self.bit(line, *bucket);
            new |= self.bits.set(bit);
        }
        let mut places = Vec::new();
        for (group, buckets) in self.groups_of(&buckets) {
            self.all_places(group, buckets, 0, |place| {
                places.push(place);
                true
            });
        }
        places.into_iter().for_each(|place| new |= self.verify.set(place));
        self.head.count_one();
        Ok(Seen::new_if(new))
    }

    /// Whether some member seems to be as near as the buckets of a level are wide; levels beyond the coarsest are
    /// the coarsest.
    pub fn contains(&self, point: &[f64], level: u32) -> Result<bool> {
        let buckets = self.lines.buckets(&self.head.hasher, point)?;
        Ok(self.has(&buckets, level.min(self.levels - 1)))
    }

    /// The finest level at which some member seems to be near.
    pub fn finest(&self, point: &[f64]) -> Result<Option<u32>> {
        let buckets = self.lines.buckets(&self.head.hasher, point)?;
        Ok((0..self.levels).find(|level| self.has(&buckets, *level)))
    }

    fn has(&self, buckets: &[i64], level: u32) -> bool {
        let any = |bits: &Bits, at: u64| bits.ones_in(at << level, 1 << level) > 0;
        let k = u64::from(self.k());
        self.groups_of(buckets).any(|(group, buckets)| {
            let mut lines = (group * k..).zip(buckets);
            lines.all(|(line, bucket)| any(&self.bits, self.bit(line, *bucket) >> level))
                && self.all_places(group, buckets, level, |place| any(&self.verify, place))
        })
    }

    /// P(some group finds a member at distance `c`) at a level, without false positives.
    pub fn find_rate(&self, c: f64, level: u32) -> f64 {
        let width = self.lines.width() * libm::exp2(level.into());
        and_or(collision(width, c), self.k(), self.groups)
    }

    /// Number of levels.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// The share of bits that are set at a level, in both arrays.
    pub fn fills(&self, level: u32) -> [f64; 2] {
        let level = level.min(self.levels - 1);
        [&self.bits, &self.verify].map(|bits| {
            let coarse = bits.len() >> level;
            let set = (0..coarse).filter(|at| bits.ones_in(at << level, 1 << level) > 0);
            set.count() as f64 / coarse as f64
        })
    }

    /// P(a vector that is near no member at a level is found there), from where the members are, by the bits as they are.
    pub fn rate(&self, level: u32) -> f64 {
        let level = level.min(self.levels - 1);
        let [_, verify] = self.fills(level);
        let coarse = self.bits.len() >> level;
        let set = (0..coarse).filter(|at| self.bits.ones_in(at << level, 1 << level) > 0).count();
        let lines = f64::from(self.lines.functions());
        self.shape().rate(crowding(self.distinct() * lines, set as u64, coarse), verify)
    }

    /// Distinct members, which vectors that came twice are not: as many as the places of the second array tell.
    fn distinct(&self) -> f64 {
        let (zeros, places) = (self.verify.zeros(), self.groups * self.checks);
        let told = bloom::cardinality(zeros, self.verify.len(), places);
        told.map_or(self.head.items as f64, |n| n.min(self.head.items as f64))
    }

    fn shape(&self) -> Shape {
        Shape {
            k: self.k(),
            groups: self.groups,
            width: self.lines.width(),
            levels: self.levels,
            checks: self.checks,
            m: self.bits.len(),
            verify: self.verify.len(),
        }
    }

    fn check(&self) -> Result<()> {
        let bad = || Error::corrupt(0, "corrupt filter: groups or levels that do not fit");
        let levels = VARIANT.takes("levels", self.levels);
        let groups = VARIANT.takes("groups", self.groups)
            && self.lines.functions().is_multiple_of(self.groups)
            && VARIANT.takes("lines", self.k());
        if !levels || !groups || !(1..=MAX_CHECKS).contains(&self.checks) {
            return Err(bad());
        }
        let block = 1u64 << (self.levels - 1);
        let sized = |bits: &Bits| !bits.is_empty() && bits.len().is_multiple_of(block);
        let empty = self.lines.dimensions() == 0 && self.bits.ones() + self.verify.ones() > 0;
        if sized(&self.bits) && sized(&self.verify) && !empty { Ok(()) } else { Err(bad()) }
    }
}

impl Stream for MultiGranularity {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { k, groups, width, levels, checks, m, verify } = *shape;
        let lines = Projections::new(k * groups, width, levels);
        let (bits, verify) = (Bits::try_new(m)?, Bits::try_new(verify)?);
        Ok(Self { head, lines, groups, levels, checks, bits, verify })
    }
}

face!(MultiGranularity: Insert, Merge);
planned!(
    MultiGranularity:
    "A filter for `items` vectors, with buckets of width 4, 8 and 16, that takes a share of `fpr` of far vectors \
     for near at the widest."
);

impl Filter for MultiGranularity {
    /// At the level beside the vector, if there is a count, or else at the coarsest. The score is 1 at the finest
    /// level and halves with each coarser one.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let point = record.point()?;
        match record.value {
            Some(Value::Count(level)) => {
                let level = u32::try_from(level).unwrap_or(u32::MAX);
                self.contains(&point, level).map(Answer::of)
            }
            Some(_) => Err(Error::record("the value of a vector must be a level")),
            None => {
                let finest = self.finest(&point)?;
                let score = finest.map_or(0.0, |level| libm::exp2(-f64::from(level)));
                Ok(Answer::of(finest.is_some()).with(Detail::Score(score)))
            }
        }
    }

    fn fill(&self) -> Option<f64> {
        let ones = self.bits.ones() + self.verify.ones();
        Some(ones as f64 / (self.bits.len() + self.verify.len()) as f64)
    }

    /// Of vectors near no member, from where the members are, at the coarsest level.
    fn now(&self) -> Rates {
        Rates::one_sided((self.rate(self.levels - 1) + self.head.collisions()).min(1.0))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = vec![
            fact("lines", self.k()),
            fact("groups", self.groups),
            fact("levels", self.levels),
            fact("checks", self.checks),
        ];
        facts.extend(self.lines.describe());
        facts.extend([fact("m", self.bits.len()), fact("verify_m", self.verify.len())]);
        facts
    }

    /// The bits of a vector's own buckets at the finest level.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let buckets = Record::key(key).point();
        let buckets = buckets.and_then(|point| self.lines.buckets(&self.head.hasher, &point));
        let Ok(buckets) = buckets else { return Vec::new() };
        let bits: Vec<u64> = (0..).zip(&buckets).map(|(line, b)| self.bit(line, *b)).collect();
        touched(&bits, |i| self.bits.get(i).into())
    }
}

impl Insert for MultiGranularity {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        MultiGranularity::insert(self, &record.point()?)
    }
}

impl Merge for MultiGranularity {
    fn law(&self) -> MergeLaw {
        MergeLaw::Set
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &MultiGranularity = other.as_same()?;
        self.head.agree(&other.head)?;
        self.lines.agree(&other.lines)?;
        agree("groups", self.groups, other.groups)?;
        agree("checks", self.checks, other.checks)?;
        agree("m", self.bits.len(), other.bits.len())?;
        agree("verify_m", self.verify.len(), other.verify.len())?;
        self.lines.join(&other.lines);
        self.bits.union(&other.bits);
        self.verify.union(&other.verify);
        // Nobody knows how many members the two share: as many items as the zeros tell.
        let places = self.groups * self.checks;
        let items = bloom::cardinality(self.verify.zeros(), self.verify.len(), places);
        let most = self.head.items.max(other.head.items);
        self.head.items = items.map_or(most, |n| n.round() as u64).max(most);
        Ok(())
    }
}

const MAX_CHECKS: u32 = 1024;
const OFFSETS: u64 = 0x6F66_6673_6574_0002;
const FINER: u64 = 0x6669_6E65_7200_0001;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<MultiGranularity>(Facts {
    id: 87,
    slug: "multi-granularity",
    entry: "§36",
    question: "How near is the nearest member to this vector?",
    name: "Multi-granularity locality-sensitive Bloom filter",
    paper: "J. Qian, Q. Zhu, H. Chen, Multi-granularity locality-sensitive Bloom filter, IEEE Transactions on \
            Computers 64(12), 2015",
    family: "structured",
    needs: &["similar", "merge"],
    input: Input::of(KeyKind::Point).with_examples(example),
    meaning: "items are vectors, the rate is that of vectors far from all of them taken for near ones at the \
              coarsest level",
    forms: &[Form::lossy(
        FORM,
        &[Ability::Insert, Ability::Merge],
        "a vector near a member may be missed, but never a member itself",
    )],
    params: &[
        Param::integer("lines", 1, 32, "k, lines per group, all of which must agree")
            .or(Preset::Integer(4)),
        Param::integer("groups", 1, 32, "L, groups of lines, one of which is enough")
            .or(Preset::Integer(8)),
        Param::integer(
            "levels",
            1,
            MAX_LEVELS as u64,
            "s, widths of buckets, each twice the one before",
        )
        .or(Preset::Integer(3)),
        Param::real("width", MIN_WIDTH, MAX_WIDTH, "width of a bucket at the finest level")
            .or(Preset::Real(4.0)),
    ],
    reach: 100_000,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests;
