//! Everbloom: every Bloom filter, in one library.
pub mod theory;
