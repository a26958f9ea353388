//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod best_of_n;
    mod blocked;
    mod bloom;
    mod bloomier;
    mod counting;
    mod distance_sensitive;
    mod generalized;
    mod invertible;
    mod optihash;
    mod partitioned;
    mod partitioned_hashing;
    mod scalable;
    mod stable;
    mod ternary;
    mod two_choices;
}
