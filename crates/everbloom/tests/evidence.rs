//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod best_of_n;
    mod blocked;
    mod bloom;
    mod counting;
    mod optihash;
    mod partitioned;
    mod partitioned_hashing;
    mod scalable;
    mod two_choices;
}
