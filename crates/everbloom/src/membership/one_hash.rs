//! The one-hash Bloom filter (Lu and others 2015; catalogue I1; S3 §V-A, ref. 86).
//!
//! A partitioned filter whose parts have different lengths, so that one hash value is enough: its
//! remainders by lengths without a common factor are as good as independent.
//!
//! ```text
//!                 part 1: 7         part 2: 11               part 3: 13
//!              ┌─┬─┬─┬─┬─┬─┬─┐ ┌─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┐ ┌─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┐
//!   H = 1000   │ │ │ │ │ │ │█│ │ │ │ │ │ │ │ │ │ │ │█│ │ │ │ │ │ │ │ │ │ │ │ │█│ │
//!              └─┴─┴─┴─┴─┴─┴─┘ └─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┘ └─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┘
//!                 1000 mod 7 = 6    1000 mod 11 = 10         1000 mod 13 = 12
//! ```
//!
//! The lengths are the k primes nearest m/k, so m is met only nearly. With n keys inside,
//! f = Π (1 − (1 − 1/m_i)ⁿ) of all other keys pass, which no test can tell from the partitioned filter:
//! at 10⁴ bits the two differ in the sixth digit.
//!
//! **Use it** if a good hash is expensive and a division is not, as in switches and on small machines. **Don't**
//! here, where one digest of 128 bits is enough for any k: `partitioned` does the same without divisions, and it
//! can be folded, unlike prime lengths.

use crate::cells::Bits;
use crate::parts::slices::CoprimeSlices;
use crate::parts::{methods, owns, sets};
use crate::plan::{MAX_CELLS, check_cells, m_alone};
use crate::probe::{MAX_PARTS, Residues};
use crate::theory::bloom as theory;
use crate::theory::prime::nearest_primes;
use crate::variant::prelude::*;

/// A set in parts of coprime lengths, with one hash for all of them.
///
/// ```
/// let mut seen = everbloom::membership::OneHash::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OneHash {
    head: Head,
    slices: CoprimeSlices,
}

state!(plain OneHash { head, ..slices });

impl OneHash {
    /// A filter of parts of these lengths, no two of which have a common factor.
    pub fn with_parts(parts: &[u64], hasher: Hasher) -> Result<Self> {
        let parts = Residues::new(parts.to_vec())?;
        Self::empty(&Shape { parts }, Head::new(hasher, FORM))
    }

    /// The lengths of the parts.
    pub fn parts(&self) -> &[u64] {
        self.slices.probe.parts()
    }

    /// The bits, part after part.
    pub fn bits(&self) -> &Bits {
        &self.slices.bits
    }
}

/// The rate with `n` keys in parts of these lengths, Π (1 − (1 − 1/m_i)ⁿ) (catalogue I1).
pub fn false_positives(parts: &[u64], n: u64) -> f64 {
    parts.iter().map(|&part| theory::fill(part as f64, n as f64)).product()
}

/// Cells of k parts of one length in which `n` keys reach a rate of `p`.
fn even(n: u64, p: f64, k: u32) -> f64 {
    theory::slice_for(n as f64, p, k) * f64::from(k)
}

/// Cells that k primes take for `n` keys and a rate of `p`, about: no fewer than the first k primes,
/// which are k²·ln k/2 together, and a gap of 2·ln m_i each to spare.
fn estimate(n: u64, p: f64, k: u32) -> f64 {
    let (even, parts) = (even(n, p, k), f64::from(k));
    let gaps = 2.0 * parts * libm::log(even / parts + 1.0);
    (even + gaps).max(0.5 * parts * parts * libm::log(parts))
}

/// The number of parts that takes the fewest cells: about log2(1/p), and fewer for a handful of keys,
/// for which there are not enough short primes.
fn best_parts(n: u64, p: f64) -> u32 {
    let most = (-libm::log2(p)).ceil().clamp(1.0, f64::from(MAX_PARTS)) as u32;
    let size = |k: &u32| estimate(n, p, *k);
    (1..=most).min_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(1)
}

/// The parts.
#[derive(Clone, Debug)]
pub struct Shape {
    parts: Residues,
}

impl Shape {
    /// The `k` primes nearest m/k.
    fn near(m: u64, k: u32) -> Result<Self> {
        if m > MAX_CELLS {
            return Err(Error::parameter(format!(
                "{m} bits are more than {MAX_CELLS}: use fewer {{items}} or a higher {{rate}}"
            )));
        }
        Ok(Self { parts: Residues::new(nearest_primes(m, k))? })
    }

    /// The shortest parts in which `n` keys stay at or below a rate of `p`, but within `room`.
    fn least(n: u64, p: f64, k: u32, room: u64) -> Result<Self> {
        let mut m = even(n, p, k) as u64;
        // Parts of one length would do; primes may need a cell more each, and again.
        let mut shape = Self::near(m, k)?;
        while false_positives(shape.parts.parts(), n) > p && shape.parts.m() <= room {
            m += u64::from(k);
            shape = Self::near(m, k)?;
        }
        shape.within(m, room)
    }

    /// The same with parts so much shorter that they fit into `room`.
    fn within(self, mut m: u64, room: u64) -> Result<Self> {
        let k = self.parts.k();
        let mut shape = self;
        while shape.parts.m() > room && m > u64::from(k) {
            m -= u64::from(k);
            shape = Self::near(m, k)?;
        }
        if shape.parts.m() <= room {
            return Ok(shape);
        }
        Err(Error::parameter(format!(
            "the shortest {k} parts take {} bits, more than {room}: lower {{k}} or give more {{memory}}",
            shape.parts.m()
        )))
    }

    /// The parts near `m` bits in all with the lowest rate for `n` keys.
    fn best_near(m: u64, n: u64) -> Result<Self> {
        let mut near = theory::best_k(m, n).clamp(1, MAX_PARTS);
        let rate = |shape: &Self| false_positives(shape.parts.parts(), n);
        let mut best = Self::near(m, near)?;
        // In a small m there are not that many short primes.
        while best.parts.m() > m + m / 20 && near > 1 {
            near -= 1;
            best = Self::near(m, near)?;
        }
        for k in [near.saturating_sub(1).max(1), (near + 1).min(MAX_PARTS)] {
            let shape = Self::near(m, k)?;
            if rate(&shape) < rate(&best) {
                best = shape;
            }
        }
        Ok(best)
    }
}

impl Plan for OneHash {
    type Shape = Shape;

    /// The k primes nearest m/k for the m and k asked for, or for the least m whose primes reach the rate.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let k = request.integer("k").map(|k| k as u32);
        if let Some(m) = request.integer(PARAM_M.name) {
            return match (k, request.goal_items()) {
                (Some(k), _) => Shape::near(m, k),
                (None, Some(n)) => Shape::best_near(m, n),
                (None, None) => Err(m_alone()),
            };
        }
        let room = request.goal_bits().unwrap_or(MAX_CELLS).min(MAX_CELLS);
        if let (Some(n), None, Some(_)) =
            (request.goal_items(), request.goal_fpr(), request.goal_bits())
        {
            let shape = k.map_or_else(|| Shape::best_near(room, n), |k| Shape::near(room, k))?;
            return shape.within(room, room);
        }
        let parts = |n: u64, p: f64| k.unwrap_or_else(|| best_parts(n, p));
        let (n, p) = request.items_and_rate(|n, p| estimate(n, p, parts(n, p)))?;
        check_cells(n, p, estimate(n, p, parts(n, p)))?;
        Shape::least(n, p, parts(n, p), room)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (n, m) = (load.distinct as f64, shape.parts.m() as f64);
        let parts = shape.parts.parts();
        // Parts fill independently of each other.
        let share = |part: &u64| *part as f64 / m;
        let fill = parts.iter().map(|p| share(p) * theory::fill(*p as f64, n)).sum();
        let sd = |p: &u64| share(p) * theory::fill_sd(*p as f64, n);
        let variance: f64 = parts.iter().map(|p| sd(p) * sd(p)).sum();
        let fpr = false_positives(parts, load.distinct);
        Some(
            Expect::one_sided(fpr, shape.parts.m(), Some((fill, variance.sqrt())))
                .probing(shape.parts.k()),
        )
    }
}

impl Stream for OneHash {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, slices: CoprimeSlices::probed(shape.parts.clone())? })
    }
}

face!(OneHash: Insert, Merge, Bulk, BulkInsert);
planned!(OneHash);
owns!(OneHash { slices: CoprimeSlices });
methods!(OneHash:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(OneHash: Insert);
sets!(@union OneHash: slices);

by_part!(OneHash: slices);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<OneHash>(Facts {
    id: 33,
    slug: "one-hash",
    entry: "I1",
    question: "Is it in the set, when hashing is the most expensive step?",
    name: "One-hashing Bloom filter",
    paper: "J. Lu, T. Yang, Y. Wang, H. Dai, L. Jin, H. Song, B. Liu, One-hashing Bloom filter, IWQoS 2015",
    family: "membership",
    needs: &["membership", "merge"],
    forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge])],
    params: &[
        PARAM_M,
        Param::integer("k", 1, MAX_PARTS as u64, "number of parts, one probe into each"),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    fn plan(goal: &Goal) -> Result<Shape> {
        OneHash::plan(&Request::new(&VARIANT, goal)?)
    }

    #[test]
    fn planned_parts_meet_the_rate_with_little_to_spare() {
        for n in [1u64, 2, 10, 1000, 123_457, 1 << 30] {
            for p in [0.9, 0.5, 0.3, 0.01, 1e-5, 1e-30, 1e-90] {
                let shape = plan(&Goal::new(n, p)).unwrap();
                let rate = false_positives(shape.parts.parts(), n);
                assert!(rate <= p, "{n} {p}: {rate}");
                // Even slices are the best that could be; primes cost a few cells each.
                let even = even(n, p, shape.parts.k());
                assert!(n < 1000 || shape.parts.m() as f64 <= 1.03 * even, "{n} {p} {shape:?}");
            }
        }
        assert_eq!(plan(&Goal::new(1000, 0.01).set("k", 3)).unwrap().parts.k(), 3);
    }

    #[test]
    fn memory_is_kept() {
        for bytes in [100u64, 1250, 99_999] {
            let room = Some(8 * bytes);
            for (items, fpr) in [(Some(50), None), (None, Some(0.01)), (Some(50), Some(0.1))] {
                let shape = plan(&Goal { items, fpr, bits: room, ..Goal::default() }).unwrap();
                assert!(shape.parts.m() <= 8 * bytes, "{bytes} {items:?} {fpr:?}");
            }
            let goal = Goal { items: Some(100), bits: room, ..Goal::default() };
            assert!(plan(&goal).unwrap().parts.m() as f64 > 0.85 * (8 * bytes) as f64, "{bytes}");
        }
    }

    #[test]
    fn impossible_parts_are_refused() {
        for parts in [&[4u64, 6][..], &[7, 7], &[5, 1], &[], &[u64::MAX, 2], &[1 << 62, 3]] {
            let refused = OneHash::with_parts(parts, Hasher::default()).unwrap_err();
            assert_eq!(refused.kind(), Kind::BadParameter, "{parts:?}");
        }
        assert!(plan(&Goal::new(u64::MAX, 0.01)).is_err());
        assert!(plan(&Goal::default().set("m", 1000)).is_err());
    }

    #[test]
    fn a_file_with_other_parts_is_refused() {
        let mut filter = OneHash::with_parts(&[7, 11, 13], Hasher::default()).unwrap();
        filter.insert("a");
        let back: OneHash = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        let probe = Residues::new(vec![7, 11, 15]).unwrap();
        let slices = CoprimeSlices { probe, ..filter.slices.clone() };
        assert!(Opener::new().decode(&to_bytes(&OneHash { slices, ..filter })).is_err());
    }
}
