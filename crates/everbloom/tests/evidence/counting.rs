//! C1, the counting Bloom filter.
