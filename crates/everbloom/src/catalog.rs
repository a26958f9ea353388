//! The one list of variants. Everything that is said of "every variant" is a loop over it.

pub use crate::filter::{
    Build, Counts, Example, FalseNegatives, Given, Input, KeyKind, Negatives, Operation, Param,
    Preset, Range, Takes, Time, ValueKind,
};
use crate::variant::Variant;

/// An entry's id, slug and module, and the cargo feature it is compiled with, if it is not always there.
macro_rules! list {
    ($($id:literal $slug:literal is $family:ident::$name:ident $(if $feature:literal)?;)+) => {
        /// Every variant that is compiled in, in order of its id.
        pub static VARIANTS: &[&Variant] = &[
            $($(#[cfg(feature = $feature)])? &crate::$family::$name::VARIANT,)+
        ];

        /// Id, slug and feature of every variant, also of those that this build leaves out.
        const NAMES: &[(u16, &str, &str)] = &[$(($id, $slug, concat!($($feature)?)),)+];
    };
}

list! {
    1 "bloom" is membership::bloom;
    2 "partitioned" is membership::partitioned if "membership";
    3 "blocked" is membership::blocked;
    4 "counting" is counting::counting_bloom if "everyday";
    5 "scalable" is growing::scalable if "everyday";
    6 "bloomier" is keyvalue::bloomier if "keyvalue";
    7 "ternary" is deleting::ternary if "deleting";
    8 "stable" is decaying::stable if "decaying";
    9 "distance-sensitive" is structured::distance_sensitive if "structured";
    10 "invertible" is reconciling::invertible if "reconciling";
    11 "generalized" is membership::generalized if "membership";
    12 "multi-class" is weighted::multi_class if "weighted";
    13 "multistage" is known::multistage if "known";
    14 "bloom-paradox" is weighted::bloom_paradox if "weighted";
    15 "optihash" is known::optihash if "known";
    16 "ancestors" is membership::ancestors if "membership";
    17 "cross-checking" is known::cross_checking if "known";
    18 "complement" is known::complement if "known";
    19 "yes-no" is known::yes_no if "known";
    20 "retouched" is known::retouched if "known";
    21 "two-choices" is membership::two_choices if "membership";
    22 "partitioned-hashing" is membership::partitioned_hashing if "membership";
    23 "best-of-n" is membership::best_of_n if "membership";
    24 "egh" is membership::egh if "membership";
    25 "variable-increment" is counting::variable_increment if "counting";
    26 "fingerprint-counting" is counting::fingerprint_counting if "counting";
    27 "multi-partitioned-counting" is counting::multi_partitioned if "counting";
    28 "double-hashing" is membership::double_hashing if "membership";
    29 "enhanced-double-hashing" is membership::enhanced_hashing if "membership";
    30 "multiple-choice" is counting::multiple_choice if "counting";
    31 "perfect-hash" is compact::perfect_hash if "compact";
    32 "lower-bound" is compact::lower_bound if "compact";
    33 "one-hash" is membership::one_hash if "membership";
    34 "bloom-g" is membership::bloom_g if "membership";
    35 "banked" is hardware::banked if "hardware";
    36 "soft-error" is hardware::soft_error if "hardware";
    37 "load-balanced" is grouping::load_balanced if "grouping";
    38 "combinatorial" is grouping::combinatorial if "grouping";
    39 "omass" is grouping::omass if "grouping";
    40 "matrix" is grouping::matrix if "grouping";
    41 "forest" is growing::forest if "growing";
    42 "split" is membership::split if "membership";
    43 "compressed" is compact::compressed if "compact";
    44 "compacted" is compact::compacted if "compact";
    45 "memory-optimized" is compact::memory_optimized if "compact";
    46 "golomb" is compact::golomb if "compact";
    47 "pipelined" is hardware::pipelined if "hardware";
    48 "adaptive" is hardware::adaptive if "hardware";
    49 "d-left" is counting::d_left if "counting";
    50 "lfsr-counting" is counting::lfsr_counting if "counting";
    51 "multilayer-counting" is counting::multilayer_counting if "counting";
    52 "spectral" is counting::spectral if "counting";
    53 "dynamic-count" is counting::dynamic_count if "counting";
    54 "split-block" is membership::split_block if "everyday";
    55 "binary-fuse" is compact::binary_fuse if "everyday";
    56 "ribbon" is compact::ribbon if "everyday";
    57 "deletable" is deleting::deletable if "deleting";
    58 "conservative-update" is sketches::conservative if "sketches";
    59 "space-code" is sketches::space_code if "sketches";
    60 "invertible-counting" is reconciling::invertible_counting if "reconciling";
    61 "loglog" is sketches::loglog if "sketches";
    62 "adaptive-counting" is sketches::adaptive_counting if "sketches";
    63 "shifting" is grouping::shifting if "grouping";
    64 "count-min" is sketches::count_min if "sketches";
    65 "counter-braids" is sketches::counter_braids if "sketches";
    66 "variable-length" is deleting::variable_length if "deleting";
    67 "dynamic" is growing::dynamic if "growing";
    68 "dynamic-array" is growing::dynamic_array if "growing";
    69 "par-bf" is growing::par_bf if "growing";
    70 "weighted" is weighted::weighted_bloom if "weighted";
    71 "popularity" is weighted::popularity if "weighted";
    72 "bloom-store" is keyvalue::bloom_store if "keyvalue";
    73 "kbf" is keyvalue::kbf if "keyvalue";
    74 "iblt" is keyvalue::iblt if "keyvalue";
    75 "bloomier-cascade" is keyvalue::cascade if "keyvalue";
    76 "k-mer" is structured::k_mer if "structured";
    77 "spatial" is structured::areas if "structured";
    78 "hierarchical" is structured::hierarchical if "structured";
    79 "ranges" is structured::ranges if "structured";
    80 "temporal-counting" is decaying::temporal_counting if "decaying";
    81 "decaying" is decaying::decaying_bloom if "decaying";
    82 "time-decaying" is decaying::time_decaying if "decaying";
    83 "double-buffer" is decaying::double_buffer if "decaying";
    84 "active-active" is decaying::active_active if "decaying";
    85 "forgetful" is decaying::forgetful if "decaying";
    86 "locality-sensitive" is structured::locality_sensitive if "structured";
    87 "multi-granularity" is structured::multi_granularity if "structured";
    88 "parallel-attributes" is structured::parallel_attributes if "structured";
    89 "filter-bank" is grouping::filter_bank if "grouping";
    90 "attenuated" is grouping::attenuated if "grouping";
    91 "exponential-decay" is grouping::exponential_decay if "grouping";
    92 "state-machines" is keyvalue::state_machines if "keyvalue";
    93 "secure-index" is secure::index if "secure";
    94 "encrypted" is secure::encrypted if "secure";
    95 "private-query" is secure::private_query if "secure";
    96 "keyed" is secure::keyed if "secure";
    97 "clk" is structured::clk if "structured";
    98 "blooming-tree" is keyvalue::blooming_tree if "keyvalue";
    99 "d-left-reassign" is fingerprints::d_left_reassign if "fingerprints";
    100 "pagh-pagh-rao" is fingerprints::pagh_pagh_rao if "fingerprints";
    101 "reconciliation-tree" is reconciling::reconciliation_tree if "reconciling";
    102 "fast-hash-table" is keyvalue::fast_hash_table if "keyvalue";
    103 "cuckoo" is fingerprints::cuckoo if "everyday";
    104 "simplified-cuckoo" is fingerprints::simplified_cuckoo if "fingerprints";
    105 "adaptive-cuckoo" is fingerprints::adaptive_cuckoo if "fingerprints";
    106 "dynamic-cuckoo" is fingerprints::dynamic_cuckoo if "fingerprints";
    107 "consistent-cuckoo" is fingerprints::consistent_cuckoo if "fingerprints";
    108 "quotient" is fingerprints::quotient if "fingerprints";
    109 "counting-quotient" is fingerprints::counting_quotient if "fingerprints";
    110 "learned" is known::learned if "known";
    111 "elastic" is fingerprints::elastic if "fingerprints";
    112 "relations" is keyvalue::relations if "keyvalue";
    113 "hyperloglog" is sketches::hyperloglog if "sketches";
    114 "top-k" is sketches::top_k if "sketches";
    115 "windowed" is decaying::windowed if "decaying";
}

/// The entry with this id.
pub fn by_id(id: u16) -> Option<&'static Variant> {
    VARIANTS.iter().copied().find(|v| v.id == id)
}

/// The entry with this slug.
pub fn by_slug(slug: &str) -> Option<&'static Variant> {
    VARIANTS.iter().copied().find(|v| v.slug == slug)
}

/// Slug and cargo feature (empty: none) of a variant, which this build may leave out.
pub(crate) fn name(id: u16) -> Option<(&'static str, &'static str)> {
    NAMES.iter().find(|entry| entry.0 == id).map(|(_, slug, feature)| (*slug, *feature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_every_entry_as_it_names_itself() {
        assert!(NAMES.is_sorted_by_key(|(id, ..)| *id));
        let listed = VARIANTS.iter().map(|variant| (variant.id, variant.slug));
        assert!(listed.eq(NAMES.iter().map(|(id, slug, _)| (*id, *slug))));
    }
}
