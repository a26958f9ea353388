//! Double buffering (Chang, Feng, Li 2004; catalogue §31; S3 ref. 137 §VII-B, S0 §III-L).
//!
//! A cache of the recent keys of a stream that never runs full: while the active filter is in its second half, new
//! arrivals also go into a second one that warms up. When the active one is full, the warm one takes its place, and
//! knows the recent half:
//!
//! ```text
//!              queried                          swap
//!   active     ░░░░░░░░▒▒▒▒▒▒▒▒ ──┐         ┌─▶ ▒▒▒▒▒▒▒▒           half full from the start
//!   warm-up            ▒▒▒▒▒▒▒▒ ──┼─────────┘
//!                                 └───────────▶                    cleared, the next to warm up
//! ```
//!
//! Each filter counts the keys that are new to it, and they swap when the warm one is half full, which is when the
//! active one is full if all keys are new. The warm one then holds the last c/2 distinct keys, and the active one
//! never holds more than c: so between c/2 and c of the most recent distinct keys are found, at a rate of at most
//! f(m/2, c, k). The plan takes c = 2n. Only the active filter is queried, with k probes (S3's table says 2k).
//!
//! S3 swaps when the active filter is full, whatever the warm one holds. Keys that come again enter the warm one
//! alone, so it may be as full as the active one by then, and the next swap comes after a key or two and forgets the
//! rest. S0's rule, used here, differs only where keys come again.
//!
//! **Use it** if a cache of recent keys must cost no more than one query. **Don't** if memory is scarce:
//! `active-active` remembers twice as many keys in the same bits, for up to twice the probes.

use super::buffers::{Buffers, Shape};
use crate::parts::several::expected_fill;
use crate::variant::prelude::*;

/// The recent keys of a stream, in an active filter and one that warms up.
///
/// ```
/// use everbloom::{Seen, decaying::DoubleBuffer};
///
/// let mut recent = DoubleBuffer::with_rate(1000, 1e-6)?;
/// for packet in 0..100_000u64 {
///     recent.insert(&packet);
/// }
/// assert!((99_000..100_000u64).all(|packet| recent.contains(&packet)));
/// assert!(!recent.contains(&1u64));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DoubleBuffer {
    head: Head,
    pub(super) both: Buffers<1>,
}

state!(plain DoubleBuffer { head, ..both });

const ACTIVE: usize = Buffers::<1>::ACTIVE;
/// The filter that warms up is the newer one.
const WARM: usize = Buffers::<1>::OTHER;

impl DoubleBuffer {
    /// Two filters of `m` bits and `k` probes each that swap after `capacity` keys, at least 2.
    pub fn with_shape(m: u64, k: u32, capacity: u64, hasher: Hasher) -> Result<Self> {
        Self::empty(&Shape::new::<1>(m, k, capacity)?, Head::new(hasher, FORM))
    }

    /// Processes an arrival: queries, then remembers the key. `Maybe` flags a repetition.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let Buffers { buffers, capacity } = &mut self.both;
        let seen = buffers.contains(ACTIVE, digest);
        if !seen {
            buffers.insert(ACTIVE, digest);
        }
        if buffers.items(ACTIVE) > *capacity / 2 {
            buffers.insert(WARM, digest);
        }
        self.both.turn();
        self.head.count(1);
        Seen::new_if(!seen)
    }

    /// Whether the key seems to have arrived lately.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.both.contains(self.head.hasher.digest(key))
    }

    /// The distinct keys that the active filter and the other one have counted.
    pub fn counts(&self) -> (u64, u64) {
        self.both.counts()
    }
}

impl Shape {
    /// What both filters hold after `n` keys that are all new: the active one, and the one that warms up.
    fn held(&self, n: u64) -> (u64, u64) {
        let half = self.capacity / 2;
        match n.checked_sub(self.capacity) {
            None => (n, n.saturating_sub(half)),
            // The one that warmed up has taken the other half, rounded up.
            Some(more) => {
                let warm = more % half.max(1);
                (self.capacity - half + warm, warm)
            }
        }
    }
}

impl Plan for DoubleBuffer {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request, |n, p| (n.saturating_mul(2), p))
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (flat, n) = (shape.flat, load.distinct);
        let (active, warm) = shape.held(n);
        let fill = expected_fill([(flat.m, flat.fill(active)), (flat.m, flat.fill(warm))]);
        let fnr = 1.0 - active.min(n) as f64 / n.max(1) as f64;
        let fnr = if n == 0 { 0.0 } else { fnr };
        Some(Expect {
            fnr,
            ..Expect::one_sided(flat.fpr(active), 2 * flat.m, fill).probing(flat.k)
        })
    }
}

impl Stream for DoubleBuffer {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, both: Buffers::new(shape)? })
    }
}

face!(DoubleBuffer: Insert);
planned!(
    DoubleBuffer:
    "A filter that finds the last `items` distinct keys, and at most a share of `fpr` of those that never came."
);
keyed!(DoubleBuffer: Insert);

by_part!(DoubleBuffer: both);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<DoubleBuffer>(Facts {
    id: 83,
    slug: "double-buffer",
    entry: "§31",
    question: "Was it among the most recent keys, in a cache that never runs full?",
    name: "Double buffering",
    paper: "F. Chang, W. Feng, K. Li, Approximate caches for packet classification, INFOCOM 2004",
    family: "decaying",
    needs: &["decay"],
    meaning: "items are the recent distinct keys that are always found, the rate is that of false \
            positives for ever",
    forms: &[Form::lossy(FORM, &[Ability::Insert], "keys are forgotten when the filters swap")],
    params: &[Param { help: "bits of each of the two filters", ..PARAM_M }, PARAM_K],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that the active filter knows is renewed in the one that warms up, and counted once.
    #[test]
    fn a_hit_warms_up_too() {
        let mut f = DoubleBuffer::with_shape(10_000, 7, 4, Hasher::default()).unwrap();
        f.extend(["a", "b"]);
        assert_eq!(f.counts(), (2, 0), "half full");
        f.insert("c");
        assert_eq!(f.counts(), (3, 1));
        assert_eq!((f.insert("c"), f.counts()), (Seen::Maybe, (3, 1)), "it takes a key once");
        assert_eq!((f.insert("a"), f.counts()), (Seen::Maybe, (2, 0)), "half full, so they swap");
        f.insert("d");
        assert_eq!(f.counts(), (3, 1));
        assert!(["a", "c", "d"].iter().all(|key| f.contains(*key)) && !f.contains("b"));
    }
}
