//! The adaptive Bloom filter (Matsumoto, Hazeyama, Kadobayashi 2008; catalogue §4; S0 §III-K, S3 §VI-A).
//!
//! Counting with bits alone: a key has k bits that tell membership, and behind them an open-ended list of further
//! places g₁, g₂, … in a second array. Every insertion walks along the list over the ones and sets the first zero.
//! How long the run of ones is, is the key's count:
//!
//! ```text
//!   g₁ g₂ g₃ g₄ g₅                     g₁ g₂ g₃ g₄ g₅
//!    1  1  0  1  0    insert x: ──▶     1  1  1  1  0     4: g₃ was set now, g₄ belongs to another key
//! ```
//!
//! Bits are never cleared, so the run is never shorter than the count; others' bits make it longer. With a share ρ of
//! ones in the background a key that came f times has a run of f + (f+1)·ρ/(1−ρ) on average, and N·(1−ρ) − ρ is an
//! estimate without bias. The walk skips places that it has seen, so that no bit counts twice.
//!
//! Membership and counts have arrays of their own, as S3 advises: a run that reached into membership bits would grow
//! with every key.
//!
//! **Use it** if only plain bits are available and counts are small. **Don't** for large counts (every copy takes a
//! bit and a step), nor for deletion; `counting` has both for four bits per cell.

use smallvec::SmallVec;

use crate::cells::Bits;
use crate::filter::{Bound, Number};
use crate::hash::multiply_shift;
use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::variant::prelude::*;

/// A multiset in bits: counts are runs of ones.
///
/// ```
/// let mut words = everbloom::sketches::AdaptiveCounting::with_rate(1000, 0.01)?;
/// (0..3).for_each(|_| _ = words.insert("be"));
/// assert!(words.count("be") >= 3);
/// assert!((words.corrected("be") - 3.0).abs() < 2.0);
/// assert_eq!(words.count("or"), 0);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveCounting {
    head: Head,
    /// The longest run that can be reported, N_max.
    most: u64,
    members: FlatBits,
    counts: Bits,
}

state!(AdaptiveCounting { head, most, members, counts });

/// The places of a key's list that were looked at.
type Places = SmallVec<[u64; 16]>;

impl AdaptiveCounting {
    /// A filter of `m` membership bits with `k` probes, and `counts` bits for runs of at most `most`.
    pub fn with_shape(m: u64, k: u32, counts: u64, most: u64, hasher: Hasher) -> Result<Self> {
        let goal = Goal::of(hasher).set("m", m).set("k", k);
        empty(&goal.set("counts", counts).set("most", most))
    }

    fn check(&self) -> Result<()> {
        if VARIANT.takes("most", self.most) && !self.counts.is_empty() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: no room for counts"))
    }

    /// The run of ones along a key's list, and the place of the zero behind it; none if the run has no end within
    /// N_max + 1 places.
    fn run(&self, digest: Digest) -> (u64, Option<u64>) {
        let digest = digest.salted(LIST);
        let mut seen = Places::new();
        // Distinct places: in a small array many steps lead back to known ones.
        for i in 0..8 * (self.most + 8) {
            let place = multiply_shift(digest.word(i), self.counts.len());
            if seen.contains(&place) {
                continue;
            }
            if !self.counts.get(place) {
                return (seen.len() as u64, Some(place));
            }
            if seen.len() as u64 == self.most {
                break;
            }
            seen.push(place);
        }
        (self.most, None)
    }

    /// Inserts a key, again if already present. A run of N_max grows no further.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.digest(key);
        let new = self.members.insert(digest);
        let (length, end) = self.run(digest);
        if let Some(zero) = end.filter(|_| length < self.most) {
            self.counts.set(zero);
        }
        self.head.count(1);
        Seen::new_if(new)
    }

    /// Whether the key may have been inserted.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.members.contains(self.head.digest(key))
    }

    /// How often the key was inserted, at most: never too low, unless it says that it is saturated.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.counted(self.head.digest(key)).whole()
    }

    /// How often the key was inserted, without the bias of others' bits: N·(1−ρ) − ρ; 0 for a key that never was.
    pub fn corrected<K: Key + ?Sized>(&self, key: &K) -> f64 {
        if !self.contains(key) {
            return 0.0;
        }
        let (run, background) = (self.run(self.head.digest(key)).0 as f64, self.counts.fill());
        run * (1.0 - background) - background
    }

    /// The bits of the runs.
    pub fn counts(&self) -> &Bits {
        &self.counts
    }

    fn counted(&self, digest: Digest) -> Counted {
        if !self.members.contains(digest) {
            return Counted::about(0);
        }
        let (length, _) = self.run(digest);
        Counted::stuck_if(length >= self.most, length)
    }
}

/// Membership bits and probes, bits for runs, and the longest run.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    counts: u64,
    most: u64,
}

impl Plan for AdaptiveCounting {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let share = request.number("share");
        let set = request.integer("counts");
        let counts = |m: f64| set.map_or_else(|| (m * share).ceil().max(LEAST_BITS), |c| c as f64);
        let flat = Flat::plan_sized(request, |m, _, _| m + counts(m))?;
        let counts = counts(flat.m as f64) as u64;
        let room = request.goal_bits().unwrap_or(u64::MAX);
        if flat.m.saturating_add(counts) > room {
            return Err(Error::parameter("so many bits for counts do not fit the {memory}"));
        }
        Ok(Shape { flat, counts, most: request.whole("most") })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        Some(shape.flat.expect(load, shape.flat.m.saturating_add(shape.counts)))
    }
}

impl Stream for AdaptiveCounting {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let (members, counts) = (FlatBits::new(shape.flat)?, Bits::try_new(shape.counts)?);
        Ok(Self { head, most: shape.most, members, counts })
    }
}

face!(AdaptiveCounting: Insert, Count);
planned!(AdaptiveCounting);
keyed!(AdaptiveCounting: Insert);

impl Count for AdaptiveCounting {
    fn count(&self, key: &[u8]) -> Counted {
        self.counted(self.head.digest(key))
    }
}

impl Filter for AdaptiveCounting {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.members)
    }

    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let digest = self.head.digest(record.key);
        let answer = Answer::of(self.members.contains(digest));
        Ok(answer.with(Detail::Count(self.counted(digest))))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = Part::describe(&self.members);
        facts.push(fact("counts", self.counts.len()));
        facts.push(fact("most", self.most));
        facts
    }
}

/// Beyond all salts of probes.
const LIST: u64 = 0xADA;
const LEAST_BITS: f64 = 64.0;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<AdaptiveCounting>(Facts {
    id: 62,
    slug: "adaptive-counting",
    entry: "§4",
    question: "How often was it added, in bits that are only set?",
    name: "Adaptive Bloom filter",
    paper: "Y. Matsumoto, H. Hazeyama, Y. Kadobayashi, Adaptive Bloom filter: a space-efficient counting algorithm for \
            unpredictable network traffic, IEICE Transactions 91-D(5), 2008",
    family: "sketches",
    needs: &["membership", "count"],
    meaning: "items are insertions, the rate is the false-positive rate",
    forms: &[Form::exact("standard", &[Ability::Insert, Ability::Count]).counting(Counts::Above)],
    operations: &[tell!(
        AdaptiveCounting,
        "corrected",
        "How often the key was inserted, without the bias of other keys' bits.",
        [],
        [Keys],
        |filter, given| {
            let (value, bound) =
                (Number::Real(filter.corrected(given.record.key)), Bound::Estimate);
            Ok(Detail::Count(Counted { value, bound }))
        }
    )],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::real("share", 0.01, 64.0, "bits for counts per membership bit")
            .or(Preset::Real(0.5)),
        Param::integer("counts", 1, 1 << 48, "bits for counts, instead of the parameter `share`"),
        Param::integer("most", 1, 4096, "longest run that can be reported")
            .or(Preset::Integer(255)),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn runs_end_at_the_longest_and_say_so() {
        let mut filter = AdaptiveCounting::with_shape(500, 5, 400, 6, Hasher::default()).unwrap();
        (0..20).for_each(|_| _ = filter.insert("key"));
        let count = Count::count(&filter, b"key");
        assert_eq!((count.whole(), count.bound), (6, Bound::Saturated));
        assert_eq!(filter.counts().ones(), 6, "a full run takes no more bits");
        // An array of ones has no end for anybody.
        let mut full = AdaptiveCounting::with_shape(500, 5, 3, 6, Hasher::default()).unwrap();
        (0..20).for_each(|_| _ = full.insert("key"));
        assert_eq!(
            (full.counts().ones(), Count::count(&full, b"key").bound),
            (3, Bound::Saturated)
        );
    }

    #[test]
    fn files_without_room_for_counts_are_refused() {
        let filter = AdaptiveCounting::with_rate(50, 0.05).unwrap();
        let back: AdaptiveCounting = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        for forged in [
            AdaptiveCounting { most: 0, ..filter.clone() },
            AdaptiveCounting { most: 1 << 40, ..filter.clone() },
            AdaptiveCounting { counts: Bits::new(0), ..filter.clone() },
        ] {
            assert!(Opener::new().decode(&to_bytes(&forged)).is_err());
        }
    }
}
