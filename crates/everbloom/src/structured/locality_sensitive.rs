//! The locality-sensitive Bloom filter with verification (Hua, Xiao, Veeravalli, Feng 2012; catalogue §35; S3 ref.
//! 144 §VII-C).
//!
//! Is there a vector near this one? L random lines are cut into buckets of width ω; a vector has one bucket on
//! each, and near vectors mostly share it. Buckets that lie side by side are bits that lie side by side:
//!
//! ```text
//!   line 1 ──┬──┬──┬──┬──   v in bucket 7      … 0 1 1 0 0 …    bits of line 1, at an offset of its own
//!   line 2 ──┬──┬──┬──┬──   v in bucket 2      … 0 0 1 0 1 …    bits of line 2
//!                                                  ↑ ↑ ↑         a query looks at its bucket and both neighbors
//!   verification: the tuple (7, 2) in a Bloom filter
//! ```
//!
//! One vector may provide the bit of line 1 and another that of line 2: then the bits say yes although nothing is
//! near (S3's Figure 12a). So whole tuples are inserted in a second filter, and a query is positive if that one has
//! its tuple. A near vector may lie just across a border, so in the form `overflow` up to `shifts` buckets of the
//! tuple may be the neighbors of the query's own; `plain` allows none. Only tuples all of whose bits are set are
//! tried. Tuples are those of the members themselves, so that later insertions change nothing of earlier ones.
//!
//! With p = P(two vectors at distance c share a bucket), a near vector is missed with 1 − p^L in `plain`, and about
//! P(Bin(L, 1−p) > shifts) in `overflow`, as long as c is far below ω. (S3's table says that none is missed.)
//! A vector near no member passes with about f·ρ^L·Σ_{j ≤ shifts} C(L, j)·2^j, if ρ is the share of set bits near its
//! buckets. Members that lie close together set all the bits there, and ρ is 1: so the tuples are planned for all
//! that may be tried, 73 by default, and the bits only spare most of the trials where members are far apart. The rate
//! that a filter predicts of itself is that of vectors from where its members are. How crowded they are, it takes from
//! its bits: fewer are set than scattered members would set.
//!
//! **Slow:** a key is a vector, which is projected on L lines; `overflow` also tries the neighbors of its buckets.
//!
//! **Use it** to reject queries that resemble no member, in a Euclidean space. **Don't** if near vectors must not
//! be missed, or for keys that are not vectors (`distance-sensitive` takes bit vectors and text).

use crate::cells::Bits;
use crate::hash::mix64;
use crate::parts::flat_bits::FlatBits;
use crate::parts::projections::{Buckets, MAX_WIDTH, MIN_WIDTH, Projections};
use crate::parts::several::{check_parts, expected_fill, flat_for};
use crate::parts::{KeyPart, SetPart};
use crate::theory::lsh::{all_tuples, collision, crowding, some_tuple};
use crate::theory::{bloom, tail};
use crate::variant::prelude::*;

/// Vectors in the buckets of random lines, with a second filter of whole tuples.
///
/// ```
/// let mut seen = everbloom::structured::LocalitySensitive::with_rate(1000, 0.01)?;
/// seen.insert(&[3.0, 250.0, -17.5])?;
/// assert!(seen.contains(&[3.0, 250.0, -17.5])?);
/// assert!(!seen.contains(&[900.0, -250.0, 99.0])?);
/// assert!(seen.contains(&[1.0]).is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LocalitySensitive {
    head: Head,
    lines: Projections,
    /// Coordinates of a tuple that may be a neighbor's.
    shifts: u32,
    /// The buckets of all lines.
    bits: Bits,
    /// The tuples.
    tuples: FlatBits,
}

state!(LocalitySensitive { head, lines, shifts, bits, tuples });

impl LocalitySensitive {
    /// The bit of a bucket: buckets side by side are bits side by side.
    fn bit(&self, line: usize, bucket: i64) -> u64 {
        let m = self.bits.len();
        let offset = mix64(self.head.hasher.seed() ^ mix64(line as u64 ^ OFFSETS)) % m;
        ((bucket.rem_euclid(m as i64)) as u64 + offset) % m
    }

    fn tuple(&self, buckets: &[i64]) -> Digest {
        let bytes: Vec<u8> = buckets.iter().flat_map(|bucket| bucket.to_le_bytes()).collect();
        self.head.hasher.digest(&bytes[..])
    }

    /// Inserts a vector. The first one settles how many coordinates all have.
    pub fn insert(&mut self, point: &[f64]) -> Result<Seen> {
        let buckets = self.lines.buckets(&self.head.hasher, point)?;
        self.lines.settle(point);
        for (line, bucket) in buckets.iter().enumerate() {
            let bit = self.bit(line, *bucket);
            self.bits.set(bit);
        }
        self.head.count_one();
        Ok(Seen::new_if(self.tuples.insert(self.tuple(&buckets))))
    }

    /// Whether some member seems to be near the vector.
    pub fn contains(&self, point: &[f64]) -> Result<bool> {
        let mut buckets = self.lines.buckets(&self.head.hasher, point)?;
        let near = self.near(&buckets);
        Ok(near.iter().all(|near| near.contains(&true))
            && self.verified(&mut buckets, &near, 0, self.shifts))
    }

    /// What the bits alone say, without verification.
    pub fn main_contains(&self, point: &[f64]) -> Result<bool> {
        let buckets = self.lines.buckets(&self.head.hasher, point)?;
        Ok(self.near(&buckets).iter().all(|near| near.contains(&true)))
    }

    /// For each line, whether the bits of the bucket below, the bucket itself and the bucket above are set; those
    /// beside it count only if a shift is allowed.
    fn near(&self, buckets: &[i64]) -> Vec<[bool; 3]> {
        let set = |line: usize, bucket: i64, by: i64| {
            (by == 0 || self.shifts > 0) && self.bits.get(self.bit(line, bucket + by))
        };
        let lines = buckets.iter().enumerate();
        lines.map(|(line, bucket)| [-1, 0, 1].map(|by| set(line, *bucket, by))).collect()
    }

    /// Whether a tuple with at most `shifts` shifted coordinates from `line` on is there.
    fn verified(
        &self,
        buckets: &mut Buckets,
        near: &[[bool; 3]],
        line: usize,
        shifts: u32,
    ) -> bool {
        let Some([below, own, above]) = near.get(line) else {
            return self.tuples.contains(self.tuple(buckets));
        };
        if *own && self.verified(buckets, near, line + 1, shifts) {
            return true;
        }
        let bucket = buckets[line];
        let found = shifts > 0
            && [(*below, -1), (*above, 1)].into_iter().any(|(set, by)| {
                buckets[line] = bucket + by;
                set && self.verified(buckets, near, line + 1, shifts - 1)
            });
        buckets[line] = bucket;
        found
    }

    /// P(a vector at distance `c` from a member is missed), as long as it is far below the width of a bucket.
    pub fn miss_rate(&self, c: f64) -> f64 {
        let (lines, p) = (self.lines.functions(), collision(self.lines.width(), c));
        tail::binomial_at_least(lines.into(), 1.0 - p, u64::from(self.shifts) + 1)
    }

    fn check(&self) -> Result<()> {
        let (lines, m) = (self.lines.functions(), self.bits.len());
        let shifts = if self.head.form == PLAIN { 0..=0 } else { 0..=MAX_SHIFTS };
        let empty = self.lines.dimensions() == 0 && self.bits.ones() > 0;
        if m > 0 && VARIANT.takes("lines", lines) && shifts.contains(&self.shifts) && !empty {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: buckets that no vector has"))
    }
}

/// The lines, the bits and the filter of tuples.
#[derive(Clone, Debug)]
pub struct Shape {
    lines: u32,
    width: f64,
    shifts: u32,
    m: u64,
    tuples: Flat,
}

impl Shape {
    fn rate(&self, fill: f64, tuple: f64) -> f64 {
        some_tuple(self.lines, self.shifts, fill, tuple.min(1.0))
    }
}

impl Plan for LocalitySensitive {
    type Shape = Shape;

    /// Half of the bits set if members are far apart, and tuples at a rate that makes up for all that are tried where they
    /// are not.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [lines, shifts] = request.wholes(["lines", "shifts"]).map(|number| number as u32);
        let shifts = if request.form() == PLAIN { 0 } else { shifts };
        let width = request.number("width");
        let sized = |n: u64, p: f64| {
            let m = (n as f64 * f64::from(lines) / core::f64::consts::LN_2).ceil().max(2.0) as u64;
            // (1 − f)^tried = 1 − p.
            let each = -libm::expm1(libm::log1p(-p) / all_tuples(lines, shifts));
            Shape { lines, width, shifts, m, tuples: flat_for(n, each) }
        };
        let bits = |shape: Shape| shape.m as f64 + shape.tuples.m as f64;
        let (n, p) = request.items_and_rate(|n, p| bits(sized(n, p)))?;
        let shape = sized(n, p);
        check_parts([Flat { m: shape.m, k: 1 }, shape.tuples])?;
        Ok(shape)
    }

    /// Of vectors near no member, from where all members are: of others, fewer pass.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (m, n) = (shape.m as f64, load.distinct);
        let throws = n as f64 * f64::from(shape.lines);
        let fill = (bloom::fill(m, throws), bloom::fill_sd(m, throws));
        let fpr = shape.rate(1.0, shape.tuples.fpr(n));
        let all = expected_fill([(shape.m, fill), (shape.tuples.m, shape.tuples.fill(n))]);
        Some(Expect::one_sided(fpr, shape.m + shape.tuples.m, all))
    }
}

impl Stream for LocalitySensitive {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let lines = Projections::new(shape.lines, shape.width, 1);
        let (bits, tuples) = (Bits::try_new(shape.m)?, FlatBits::new(shape.tuples)?);
        Ok(Self { head, lines, shifts: shape.shifts, bits, tuples })
    }
}

face!(LocalitySensitive: Insert, Merge);
planned!(
    LocalitySensitive:
    "A filter for `items` vectors, with buckets of width 4, that takes a share of `fpr` of far vectors for near."
);

impl Filter for LocalitySensitive {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        self.contains(&record.point()?).map(Answer::of)
    }

    fn fill(&self) -> Option<f64> {
        let (ones, all) = (self.bits.ones(), self.bits.len());
        Some((ones + self.tuples.bits.ones()) as f64 / (all + self.tuples.m()) as f64)
    }

    /// Of vectors near no member, from where the members are.
    fn now(&self) -> Rates {
        let (lines, shifts, width) = (self.lines.functions(), self.shifts, self.lines.width());
        let (m, flat) = (self.bits.len(), Flat { m: self.tuples.m(), k: self.tuples.k() });
        let shape = Shape { lines, width, shifts, m, tuples: flat };
        let tuple = self.tuples.fpr() + self.head.collisions();
        // Vectors that came twice have not set their bits twice.
        let items = self.head.items as f64;
        let members = SetPart::cardinality(&self.tuples).map_or(items, |n| n.min(items));
        let near = crowding(members * f64::from(lines), self.bits.ones(), m);
        Rates::one_sided(shape.rate(near, tuple))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = vec![fact("lines", self.lines.functions()), fact("shifts", self.shifts)];
        facts.extend(self.lines.describe());
        facts.extend([
            fact("m", self.bits.len()),
            fact("tuple_m", self.tuples.m()),
            fact("tuple_k", self.tuples.k()),
        ]);
        facts
    }

    /// The bits of a vector's own buckets.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let buckets = Record::key(key).point();
        let buckets = buckets.and_then(|point| self.lines.buckets(&self.head.hasher, &point));
        let Ok(buckets) = buckets else { return Vec::new() };
        let bits: Vec<u64> =
            buckets.iter().enumerate().map(|(line, bucket)| self.bit(line, *bucket)).collect();
        touched(&bits, |i| self.bits.get(i).into())
    }
}

impl Insert for LocalitySensitive {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        LocalitySensitive::insert(self, &record.point()?)
    }
}

impl Merge for LocalitySensitive {
    fn law(&self) -> MergeLaw {
        MergeLaw::Set
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &LocalitySensitive = other.as_same()?;
        self.head.agree(&other.head)?;
        self.lines.agree(&other.lines)?;
        crate::error::agree("shifts", self.shifts, other.shifts)?;
        crate::error::agree("m", self.bits.len(), other.bits.len())?;
        crate::parts::union((&mut self.head, &mut self.tuples), (&other.head, &other.tuples))?;
        self.lines.join(&other.lines);
        self.bits.union(&other.bits);
        Ok(())
    }
}

const OVERFLOW: &str = "overflow";
const PLAIN: &str = "plain";
const WIDTH: f64 = 4.0;
/// A query tries up to Σ C(L, j)·2^j tuples: 41,000 with 32 lines.
const MAX_SHIFTS: u32 = 3;
const OFFSETS: u64 = 0x6F66_6673_6574_0001;

/// Vectors far from each other.
pub(super) fn example(i: u64) -> Vec<u8> {
    let coordinate = |salt: u64| mix64(mix64(i) ^ salt) % 1_000_000_000;
    format!("{i},{},{}", coordinate(1), coordinate(2)).into_bytes()
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<LocalitySensitive>(Facts {
    id: 86,
    slug: "locality-sensitive",
    entry: "§35",
    question: "Is there a member near this vector of numbers?",
    name: "Locality-sensitive Bloom filter",
    paper: "Y. Hua, B. Xiao, B. Veeravalli, D. Feng, Locality-sensitive Bloom filter for approximate membership \
            query, IEEE Transactions on Computers 61(6), 2012",
    family: "structured",
    needs: &["similar", "merge"],
    input: Input::of(KeyKind::Point).with_examples(example),
    meaning: "items are vectors, the rate is that of vectors far from all of them taken for near ones",
    forms: &[
        Form::lossy(
            OVERFLOW,
            &[Ability::Insert, Ability::Merge],
            "a vector near a member may be missed, but never a member itself",
        ),
        Form::lossy(
            PLAIN,
            &[Ability::Insert, Ability::Merge],
            "a vector near a member is missed if one bucket differs, but never a member itself",
        ),
    ],
    params: &[
        Param::integer("lines", 1, 32, "L, random lines").or(Preset::Integer(6)),
        Param::real(
            "width",
            MIN_WIDTH,
            MAX_WIDTH,
            "width of a bucket, several times the distance of near vectors",
        )
        .or(Preset::Real(WIDTH)),
        Param::integer(
            "shifts",
            0,
            MAX_SHIFTS as u64,
            "buckets of a near vector that may be a neighbor's, in overflow",
        )
        .or(Preset::Integer(2)),
    ],
    reach: 1_000_000,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    /// S3's Figure 12a, on lines along the axes: each coordinate of (0, 0) is some member's.
    #[test]
    fn verification_tells_coordinates_of_two_members_from_one() {
        for form in [OVERFLOW, PLAIN] {
            let built = LocalitySensitive::builder().items(100).rate(1e-6).form(form);
            let mut filter = built.set("lines", 2).build().unwrap();
            filter.lines.settle(&[0.0, 0.0]);
            filter.lines.lines.set(vec![0.0, 1.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
            filter.insert(&[0.0, 10.0 * WIDTH]).unwrap();
            filter.insert(&[10.0 * WIDTH, 0.0]).unwrap();
            assert!(filter.main_contains(&[0.0, 0.0]).unwrap());
            assert!(!filter.contains(&[0.0, 0.0]).unwrap());
            assert!(filter.contains(&[0.0, 10.0 * WIDTH]).unwrap());
            // Across one border, or one at each line.
            let near = filter.contains(&[-0.5, 10.0 * WIDTH - 0.5]).unwrap();
            assert_eq!(near, form == OVERFLOW);
        }
    }

    #[test]
    fn files_that_no_vectors_make_are_refused() {
        let mut good = LocalitySensitive::with_rate(20, 0.05).unwrap();
        good.insert(&[1.0, 2.0]).unwrap();
        let lies: [fn(&mut LocalitySensitive); 6] = [
            |f| f.shifts = 4,
            |f| f.head.form = PLAIN,
            |f| f.bits = Bits::new(0),
            |f| f.lines = Projections::new(33, 4.0, 1),
            |f| f.lines = Projections::new(6, 4.0, 1),
            |f| f.lines = Projections::new(6, f64::NAN, 1),
        ];
        lies_are_refused(&good, lies);
    }
}
