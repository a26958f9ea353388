//! A² buffering, aging with two active buffers (Yoon 2010; catalogue §32; S3 ref. 138 §VII-B).
//!
//! Both filters answer, and only the younger one takes keys. When it is full, the older one is cleared and takes
//! its place:
//!
//! ```text
//!   active 1   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ full ─┐     ┌─▶                  cleared, takes the next keys
//!   active 2   ░░░░░░░░░░░░░░░░ ──────┼─────┘
//!                                     └───────▶ ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ still answers
//! ```
//!
//! A key that only the older filter knows is copied into the younger one, so that what keeps coming stays. Together
//! they hold between c and 2c of the most recent distinct keys, where `double-buffer` holds between c/2 and c in
//! the same memory. A non-member passes if one of the filters says so, 1 − (1−f)²; for an overall rate of p each is
//! planned at 1 − √(1−p).
//!
//! A false positive of the older filter is copied like any other key: it may keep itself alive while it is asked for.
//!
//! **Use it** to remember at least the last n distinct keys of a stream. **Don't** where the end of the window must
//! be sharp (`decaying`).

use super::no_items;
use crate::parts::generations::Generations;
use crate::parts::several::expected_fill;
use crate::variant::prelude::*;

/// The recent keys of a stream, in two filters that both answer.
///
/// ```
/// use everbloom::decaying::ActiveActive;
///
/// let mut recent = ActiveActive::with_rate(1000, 1e-6)?;
/// for packet in 0..100_000u64 {
///     recent.insert(&packet);
/// }
/// assert!((99_000..100_000u64).all(|packet| recent.contains(&packet)));
/// assert!(!recent.contains(&1u64));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveActive {
    head: Head,
    buffers: Generations,
    /// c, the keys that a filter takes.
    capacity: u64,
}

state!(ActiveActive { head, buffers, capacity });

const YOUNG: usize = 0;
const OLD: usize = 1;

/// The rate of each filter for an overall rate of `fpr`: 1 − √(1 − p).
pub fn buffer_rate(fpr: f64) -> f64 {
    -libm::expm1(0.5 * libm::log1p(-fpr))
}

/// The rate of two filters of which either lets a key pass.
pub fn overall_rate(young: f64, old: f64) -> f64 {
    young + old - young * old
}

impl ActiveActive {
    /// Two filters of `m` bits and `k` probes each that take `capacity` keys.
    pub fn with_shape(m: u64, k: u32, capacity: u64, hasher: Hasher) -> Result<Self> {
        Flat::new(m, k)?;
        if !(1..=1 << 48).contains(&capacity) {
            let message = format!("{capacity} keys per filter: at least 1, at most 2^48");
            return Err(Error::parameter(message));
        }
        let shape = Shape { flat: Flat { m, k }, capacity };
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// Processes an arrival: queries, then remembers the key. `Maybe` flags a repetition.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        self.head.count(1);
        if self.buffers.contains(YOUNG, digest) {
            return Seen::Maybe;
        }
        let seen = self.buffers.contains(OLD, digest);
        self.buffers.insert(YOUNG, digest);
        if self.buffers.items(YOUNG) >= self.capacity {
            self.buffers.shift();
        }
        Seen::new_if(!seen)
    }

    /// Whether the key seems to have arrived lately.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        self.buffers.contains(YOUNG, digest) || self.buffers.contains(OLD, digest)
    }

    /// Lets the filters take turns `ticks` times, full or not: a window of time in place of one of keys.
    pub fn age(&mut self, ticks: u64) {
        self.buffers.age(ticks);
    }

    /// The distinct keys that the younger and the older filter have counted.
    pub fn counts(&self) -> (u64, u64) {
        (self.buffers.items(YOUNG), self.buffers.items(OLD))
    }

    fn check(&self) -> Result<()> {
        self.buffers.check_len(|len| len == 2)?;
        if self.counts().0 < self.capacity {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: a filter that should have made room for the next"))
    }
}

/// One filter's bits and probes, and the keys it takes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    capacity: u64,
}

impl Plan for ActiveActive {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let plan = Flat::plan_held(request, |n, p| (n, buffer_rate(p)), |m, _| 2.0 * m)?;
        Ok(Shape { flat: plan.0.checked()?, capacity: plan.1.ok_or_else(no_items)? })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (flat, n) = (shape.flat, load.distinct);
        let young = n % shape.capacity;
        let old = if n < shape.capacity { 0 } else { shape.capacity };
        let fill = expected_fill([young, old].map(|n| (flat.m, flat.fill(n))));
        let fpr = overall_rate(flat.fpr(young), flat.fpr(old));
        let fnr = if n == 0 { 0.0 } else { 1.0 - (young + old) as f64 / n as f64 };
        Some(Expect { fnr, ..Expect::one_sided(fpr, 2 * flat.m, fill) })
    }
}

impl Stream for ActiveActive {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, buffers: Generations::new(shape.flat, 2)?, capacity: shape.capacity })
    }
}

face!(ActiveActive: Insert, Age);
planned!(
    ActiveActive:
    "A filter that finds the last `items` distinct keys, and at most a share of `fpr` of those that never came."
);
keyed!(ActiveActive: Insert);

impl Filter for ActiveActive {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.buffers.fill())
    }

    /// Members are the last c distinct keys.
    fn now(&self) -> Rates {
        Rates::one_sided(overall_rate(self.buffers.fpr(YOUNG), self.buffers.fpr(OLD)))
    }

    fn describe(&self) -> Vec<Fact> {
        let (young, old) = self.counts();
        let mut facts = self.buffers.describe();
        facts.extend([
            fact("capacity", self.capacity),
            fact("active 1", young),
            fact("active 2", old),
        ]);
        facts
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        self.buffers.trace([YOUNG, OLD], self.head.hasher.digest(key))
    }
}

impl Age for ActiveActive {
    fn age(&mut self, ticks: u64) {
        ActiveActive::age(self, ticks);
    }
}

const FORM: &str = "standard";

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 84,
        slug: "active-active",
        entry: "§32",
        name: "A² buffering",
        paper: "M. Yoon, Aging Bloom filter with two active buffers for dynamic sets, IEEE Transactions on \
                Knowledge and Data Engineering 22(1), 2010",
        family: "decaying",
        needs: &["decay"],
        meaning: "items are the recent distinct keys that are always found, the rate is that of false \
                positives for ever",
        forms: &[Form::lossy(
            FORM,
            &[Ability::Insert, Ability::Age],
            "keys are forgotten when the older filter is cleared",
        )],
        params: &[Param { help: "bits of each of the two filters", ..PARAM_M }, PARAM_K],
        ..Facts::FILTER
    },
    ops: Ops::of::<ActiveActive>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn what_only_the_older_filter_knows_is_copied() {
        let mut f = ActiveActive::with_shape(10_000, 7, 3, Hasher::default()).unwrap();
        f.extend(["a", "b", "c"]);
        assert_eq!(f.counts(), (0, 3), "the key that fills a filter is found after the swap");
        assert!(f.contains("c"));
        assert_eq!(f.insert("a"), Seen::Maybe);
        assert_eq!(f.counts(), (1, 3));
        f.extend(["d", "e"]);
        assert!(["a", "d", "e"].iter().all(|key| f.contains(*key)) && !f.contains("b"));
        f.age(2);
        assert!(["a", "d", "e"].iter().all(|key| !f.contains(*key)));
    }

    #[test]
    fn files_that_should_have_swapped_are_refused() {
        let mut f = ActiveActive::with_shape(100, 3, 4, Hasher::default()).unwrap();
        f.extend(["a", "b", "c"]);
        let back: ActiveActive = Opener::new().decode_as(&to_bytes(&f)).unwrap();
        assert_eq!(back, f);
        let lies: [fn(&mut ActiveActive); 3] = [
            |f| f.capacity = 3,
            |f| f.buffers.resize(1).unwrap(),
            |f| f.buffers.resize(3).unwrap(),
        ];
        for (i, lie) in lies.into_iter().enumerate() {
            let mut liar = f.clone();
            lie(&mut liar);
            assert!(Opener::new().decode(&to_bytes(&liar)).is_err(), "lie {i}");
        }
    }
}
