//! The one list of variants. Everything that is said of "every variant" is a loop over it.

#[cfg(feature = "secure")]
use crate::secure;
use crate::variant::Variant;
use crate::{
    compact, counting, decaying, deleting, grouping, growing, hardware, hostile, keyvalue, known,
    membership, reconciling, similarity, weighted,
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
    &hostile::generalized::VARIANT,
    &weighted::multi_class::VARIANT,
    &known::multistage::VARIANT,
    &weighted::bloom_paradox::VARIANT,
    &known::optihash::VARIANT,
    &membership::ancestors::VARIANT,
    &known::cross_checking::VARIANT,
    &known::complement::VARIANT,
    &known::yes_no::VARIANT,
    &known::retouched::VARIANT,
    &membership::two_choices::VARIANT,
    &membership::partitioned_hashing::VARIANT,
    &membership::best_of_n::VARIANT,
    &membership::egh::VARIANT,
    &counting::variable_increment::VARIANT,
    &counting::fingerprint_counting::VARIANT,
    &counting::multi_partitioned::VARIANT,
    &membership::double_hashing::VARIANT,
    &membership::enhanced_hashing::VARIANT,
    &counting::multiple_choice::VARIANT,
    &compact::perfect_hash::VARIANT,
    &compact::lower_bound::VARIANT,
    &membership::one_hash::VARIANT,
    &membership::bloom_g::VARIANT,
    &hardware::banked::VARIANT,
    &hardware::soft_error::VARIANT,
    &grouping::load_balanced::VARIANT,
    &grouping::combinatorial::VARIANT,
    &grouping::omass::VARIANT,
    &grouping::matrix::VARIANT,
    &growing::forest::VARIANT,
    &membership::split::VARIANT,
    &compact::compressed::VARIANT,
    &compact::compacted::VARIANT,
    &compact::memory_optimized::VARIANT,
    &compact::golomb::VARIANT,
    &hardware::pipelined::VARIANT,
    &hardware::adaptive::VARIANT,
    &counting::d_left::VARIANT,
    &counting::lfsr_counting::VARIANT,
    &counting::multilayer_counting::VARIANT,
    &counting::spectral::VARIANT,
    &counting::dynamic_count::VARIANT,
    &membership::split_block::VARIANT,
    &compact::binary_fuse::VARIANT,
    &compact::ribbon::VARIANT,
    &deleting::deletable::VARIANT,
    &counting::conservative::VARIANT,
    #[cfg(feature = "secure")]
    &secure::index::VARIANT,
    #[cfg(feature = "secure")]
    &secure::encrypted::VARIANT,
    #[cfg(feature = "secure")]
    &secure::private_query::VARIANT,
    #[cfg(feature = "secure")]
    &secure::keyed::VARIANT,
];

/// The entry with this id.
pub fn by_id(id: u16) -> Option<&'static Variant> {
    VARIANTS.iter().copied().find(|v| v.id == id)
}

/// The entry with this slug.
pub fn by_slug(slug: &str) -> Option<&'static Variant> {
    VARIANTS.iter().copied().find(|v| v.slug == slug)
}
