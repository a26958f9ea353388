//! The one list of variants. Everything that is said of "every variant" is a loop over it.

use crate::variant::Variant;
use crate::{counting, keyvalue, membership, reconciling};

/// Every variant, in order of its id.
pub static VARIANTS: &[&Variant] = &[
    &membership::bloom::VARIANT,
    &counting::counting_bloom::VARIANT,
    &keyvalue::bloomier::VARIANT,
    &reconciling::invertible::VARIANT,
];
