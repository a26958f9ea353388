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
//! **Use it** to remember at least the last n distinct keys of a stream. **Don't** if the window must end sharply
//! (`decaying`).

use super::buffers::Buffers;
pub use super::buffers::Shape;
use crate::parts::several::expected_fill;
use crate::variant::prelude::*;

pub use super::buffers::overall_rate;

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
    pub(super) both: Buffers<2>,
}

state!(plain ActiveActive { head, ..both });

const YOUNG: usize = Buffers::<2>::ACTIVE;
const OLD: usize = Buffers::<2>::OTHER;

/// The rate of each filter for an overall rate of `fpr`: 1 − √(1 − p).
pub fn buffer_rate(fpr: f64) -> f64 {
    -libm::expm1(0.5 * libm::log1p(-fpr))
}

impl ActiveActive {
    /// Two filters of `m` bits and `k` probes each that take `capacity` keys.
    pub fn with_shape(m: u64, k: u32, capacity: u64, hasher: Hasher) -> Result<Self> {
        Self::empty(&Shape::new::<2>(m, k, capacity)?, Head::new(hasher, FORM))
    }

    /// Processes an arrival: queries, then remembers the key. `Maybe` flags a repetition.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        self.head.count(1);
        let buffers = &mut self.both.buffers;
        if buffers.contains(YOUNG, digest) {
            return Seen::Maybe;
        }
        let seen = buffers.contains(OLD, digest);
        buffers.insert(YOUNG, digest);
        self.both.turn();
        Seen::new_if(!seen)
    }

    /// Whether the key seems to have arrived lately.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.both.contains(self.head.hasher.digest(key))
    }

    /// Lets the filters take turns `ticks` times, full or not: a window of time instead of keys.
    pub fn age(&mut self, ticks: u64) {
        self.both.buffers.age(ticks);
    }

    /// The distinct keys that the younger and the older filter have counted.
    pub fn counts(&self) -> (u64, u64) {
        self.both.counts()
    }
}

impl Plan for ActiveActive {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request, |n, p| (n, buffer_rate(p)))
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (flat, n) = (shape.flat, load.distinct);
        let young = n % shape.capacity;
        let old = if n < shape.capacity { 0 } else { shape.capacity };
        let fill = expected_fill([young, old].map(|n| (flat.m, flat.fill(n))));
        let fpr = overall_rate(flat.fpr(young), flat.fpr(old));
        let fnr = if n == 0 { 0.0 } else { 1.0 - (young + old) as f64 / n as f64 };
        Some(Expect { fnr, ..Expect::one_sided(fpr, 2 * flat.m, fill).probing(flat.k) })
    }
}

impl Stream for ActiveActive {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, both: Buffers::new(shape)? })
    }
}

face!(ActiveActive: Insert, Age);
planned!(
    ActiveActive:
    "A filter that finds the last `items` distinct keys, and at most a share of `fpr` of those that never came."
);
keyed!(ActiveActive: Insert);

by_part!(ActiveActive: both);

impl Age for ActiveActive {
    fn age(&mut self, ticks: u64) {
        ActiveActive::age(self, ticks);
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<ActiveActive>(Facts {
    id: 84,
    slug: "active-active",
    entry: "§32",
    question: "Was it among the last distinct keys?",
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
});

#[cfg(test)]
mod tests {
    use super::*;

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
}
