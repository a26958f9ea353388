//! The one list of variants. Everything that is said of "every variant" is a loop over it.

use crate::variant::Variant;
use crate::{
    counting, decaying, deleting, grouping, growing, keyvalue, membership, reconciling, similarity,
    weighted,
};

/// Every variant, in order of its id.
pub static VARIANTS: &[&Variant] = &[
    &membership::bloom::VARIANT,
    &membership::partitioned::VARIANT,
    &membership::blocked::VARIANT,
    &counting::counting_bloom::VARIANT,
    &growing::scalable::VARIANT,
    &keyvalue::bloomier::VARIANT,
    &deleting::ternary::VARIANT,
    &decaying::stable::VARIANT,
    &similarity::distance_sensitive::VARIANT,
    &reconciling::invertible::VARIANT,
    &membership::generalized::VARIANT,
    &weighted::multi_class::VARIANT,
    &membership::multistage::VARIANT,
    &membership::bloom_paradox::VARIANT,
    &membership::optihash::VARIANT,
    &membership::ancestors::VARIANT,
    &membership::cross_checking::VARIANT,
    &membership::complement::VARIANT,
    &membership::yes_no::VARIANT,
    &membership::retouched::VARIANT,
    &membership::two_choices::VARIANT,
    &membership::partitioned_hashing::VARIANT,
    &membership::best_of_n::VARIANT,
    &membership::egh::VARIANT,
    &counting::variable_increment::VARIANT,
    &counting::fingerprint_counting::VARIANT,
    &counting::multi_partitioned::VARIANT,
    &grouping::load_balanced::VARIANT,
    &grouping::combinatorial::VARIANT,
    &grouping::omass::VARIANT,
    &grouping::matrix::VARIANT,
    &growing::forest::VARIANT,
    &membership::split::VARIANT,
];
