//! The fewest bits any filter can do with (Carter, Floyd, Gill, Markowsky, Wegman 1978; catalogue F7;
//! S1 §2.2).
//!
//! A filter without false negatives says "maybe" to its n keys and to a share ε of all others, u keys in
//! total. One state of it can serve every set of n keys among those it says "maybe" to, and no other; all
//! sets of n keys must be served by some state:
//!
//! ```text
//!     all C(u, n) sets        ≤   states   ×   sets that one state serves, C(n + ε(u − n), n)
//!
//!     bits  ≥  log2( C(u, n) / C(n + ε(u − n), n) )   ≈   n·log2(1/ε)      for n ≪ εu
//! ```
//!
//! At 1 % that is 6.64 bits a key. A Bloom filter takes 1.4427 = log2 e times as much whatever the rate;
//! at j bits a key it has a rate of 0.6185^j, where 0.5^j is possible. Filters that come closer know
//! their set beforehand, such as [`perfect_hash`](super::perfect_hash).
//!
//! The formulas stand in [`theory::bound`](crate::theory::bound), binomials by their gamma form. Whatever
//! reports "times the bound" does so by [`bound::times_bound`]: plans from the rate they expect, filters
//! from the rate and the bits they have ([`times_bound`]).

use crate::theory::bound;
use crate::variant::prelude::*;

/// How many times the bound a filter takes, by all its bits, the items in it and the rate it has now;
/// what it leaves undecided passes too.
///
/// `None` where the bound says nothing: for a filter that may miss members, that knows no rate of its
/// own, or that is empty, exact or useless.
///
/// ```
/// use everbloom::compact::times_bound;
/// use everbloom::Bloom;
///
/// let mut filter = Bloom::with_rate(1000, 0.01)?;
/// assert_eq!(times_bound(&filter), None);
/// (0..1000u64).for_each(|key| {
///     filter.insert(&key);
/// });
/// assert!((1.4..1.6).contains(&times_bound(&filter).unwrap()));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub fn times_bound(filter: &dyn Filter) -> Option<f64> {
    let now = filter.now();
    if now.fnr != Some(0.0) {
        return None;
    }
    let passing = now.fpr? + now.undecided.unwrap_or(0.0);
    // The bound is about different keys.
    let keys = filter.fewer_keys().unwrap_or(filter.len() as f64);
    let times = bound::times_bound(filter.memory().total() as f64, keys, passing);
    // Nothing is below the bound: what seems to be holds repetitions that its cells do not show.
    times.filter(|times| *times >= 1.0)
}

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 32,
    slug: "lower-bound",
    entry: "F7",
    question: "How few bits can any filter of this rate have?",
    kind: EntryKind::Theory,
    name: "Space lower bound",
    paper: "L. Carter, R. Floyd, J. Gill, G. Markowsky, M. Wegman, Exact and approximate membership testers, \
            STOC 1978",
    family: "compact",
    needs: &["membership", "compact"],
    meaning: "no filter without false negatives holds n keys at a rate of ε in fewer than n·log2(1/ε) bits",
    ..Facts::TECHNIQUE
});
