//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod blocked;
    mod bloom;
    mod bloomier;
    mod counting;
    mod invertible;
    mod partitioned;
    mod scalable;
}
