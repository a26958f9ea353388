//! The one list of variants. Everything that is said of "every variant" is a loop over it.

use crate::variant::Variant;
use crate::{counting, growing, membership};

/// Every variant, in order of its id.
pub static VARIANTS: &[&Variant] = &[
    &membership::bloom::VARIANT,
    &membership::partitioned::VARIANT,
    &membership::blocked::VARIANT,
    &counting::counting_bloom::VARIANT,
    &growing::scalable::VARIANT,
    &membership::optihash::VARIANT,
    &membership::two_choices::VARIANT,
    &membership::partitioned_hashing::VARIANT,
    &membership::best_of_n::VARIANT,
];
