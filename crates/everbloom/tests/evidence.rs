//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod ancestors;
    mod best_of_n;
    mod blocked;
    mod bloom;
    mod bloom_paradox;
    mod bloomier;
    mod complement;
    mod counting;
    mod cross_checking;
    mod distance_sensitive;
    mod generalized;
    mod invertible;
    mod multistage;
    mod optihash;
    mod partitioned;
    mod partitioned;
    mod partitioned_hashing;
    mod retouched;
    mod scalable;
    mod scalable;
    mod stable;
    mod stable;
    mod ternary;
    mod ternary;
    mod two_choices;
    mod yes_no;
}
