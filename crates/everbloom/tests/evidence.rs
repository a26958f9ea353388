//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod blocked;
    mod bloom;
    mod bloomier;
    mod counting;
    mod distance_sensitive;
    mod egh;
    mod fingerprint_counting;
    mod generalized;
    mod invertible;
    mod multi_class;
    mod multi_partitioned;
    mod partitioned;
    mod scalable;
    mod stable;
    mod ternary;
    mod variable_increment;
}
