//! The weighted Bloom filter (Bruck, Gao, Jiang 2006; catalogue §14; S0 §III-V, S3 §VI-C).
//!
//! Some keys are queried far more often than others, and it is known how often. A false positive of a popular key
//! costs with every one of its queries, so such keys get more probes; a key that is likely to be a member has few
//! chances to be a false positive and many to fill the filter, so it gets fewer:
//!
//! ```text
//!   queried often    ↓ ↓  ↓   ↓    ↓ ↓   ↓    ↓  13 probes       of 100 queries of non-members,
//!                    1 0 1 1 0 1 1 0 1 0 1 1 0 1 …               90 are for one key in ten
//!   queried rarely   ↑ ↑  ↑   ↑    ↑ ↑            6 probes, the first of the 13
//! ```
//!
//! With q_e the query frequency and x_e the chance of being a member, Σ q_e(1 − x_e)·2^{−k_e} is least under
//! Σ x_e·k_e = m·ln 2 (a half full filter) for
//! k_e = (m/n)·ln 2 + log2 r_e − (1/n)·Σ x_i·log2 r_i, r_e = q_e(1 − x_e)/x_e. In the catalogue's example, above,
//! 0.0014 of the queries are answered wrongly in place of 0.0082.
//!
//! A record's weight says how often its key is queried; known non-members, if there are any, have weights, too, and
//! tell what share of each class is members. Keys within a factor of two in weight are one class, with one whole
//! number of probes between 1 and `most`: the formula knows k → ±∞ for x or q → 0. The classes stand in the
//! file. A query has the weight of its record; without one, or with one that no class has, it checks as many probes
//! as the member with the fewest: no false negative, and more false positives. Where frequencies have changed so
//! much that keys would change their class, build it again.
//!
//! The rate depends on which keys are queried, so that the filter predicts none for all of them:
//! [`weighted_fpr`](WeightedBloom::weighted_fpr) has that of the queries it was built for.
//!
//! **Use it** when query frequencies are known and stable, as for objects of a cache. **Don't** when they are
//! guesses (`bloom`), or when you know probabilities of membership instead (`multi-class`). `popularity` solves the
//! same problem in whole numbers.

use super::classes::{self, Class, ClassedBits, Read, classed};
use crate::theory::weights::best_probes;
use crate::variant::prelude::*;

/// A set of keys that are queried more or less often, in m bits.
///
/// ```
/// use everbloom::weighted::WeightedBloom;
///
/// // Key and weight of members, and of keys that are queried in vain.
/// let members = (0..1000u64).map(|key| (key, if key < 100 { 81.0 } else { 1.0 }));
/// let others = (1000..10_000u64).map(|key| (key, if key < 1900 { 81.0 } else { 1.0 }));
/// let filter = WeightedBloom::from_weights(members, others, 10_000)?;
/// assert_eq!((filter.probes(Some(81.0)), filter.probes(Some(1.0))), (13, 6));
/// assert!(filter.contains(&7u64, Some(81.0))? && filter.contains(&700u64, None)?);
/// assert!(filter.weighted_fpr() < 0.0018);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedBloom {
    head: Head,
    classed: ClassedBits,
}

state!(plain WeightedBloom { head, ..classed });

classed!(WeightedBloom);

/// Nothing is predicted: rate and fill depend on weights that only the build sees.
impl Plan for WeightedBloom {
    /// Bits, the probes of the standard filter, and the most probes that a class may have.
    type Shape = (Flat, u32);

    fn plan(request: &Request<'_>) -> Result<(Flat, u32)> {
        classes::plan(request)
    }
}

impl Create for WeightedBloom {
    fn create(&(flat, most): &(Flat, u32), head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let mut read = Read::from(&head.hasher, inputs)?;
        let classes = &mut read.classes;
        let known = classes.iter().any(|class| class.others > 0);
        let sums: Vec<(f64, f64)> =
            classes.iter().map(|class| (class.members as f64, class.missed(known))).collect();
        for (class, k) in classes.iter_mut().zip(best_probes(flat.m as f64, &sums)) {
            class.probes = libm::round(k).clamp(1.0, f64::from(most)) as u32;
        }
        Self::assemble(head, (flat, most), read)
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<WeightedBloom>(Facts {
    id: 70,
    slug: "weighted",
    entry: "§14",
    question: "Is it in the set, when some keys are queried more often or cost more?",
    name: "Weighted Bloom filter",
    paper: "J. Bruck, J. Gao, A. Jiang, Weighted Bloom filter, ISIT 2006",
    forms: &[classes::form(FORM)],
    params: &[PARAM_M, PARAM_K, classes::PARAM_MOST],
    ..classes::FACTS
});
