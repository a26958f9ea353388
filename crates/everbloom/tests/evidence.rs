//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod ancestors;
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
    mod partitioned;
    mod retouched;
    mod scalable;
    mod stable;
    mod ternary;
    mod yes_no;
}
