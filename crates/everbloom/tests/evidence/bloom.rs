//! F1, the standard Bloom filter.
