//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod bloom;
    mod counting;
    mod distance_sensitive;
    mod generalized;
    mod stable;
    mod ternary;
}
