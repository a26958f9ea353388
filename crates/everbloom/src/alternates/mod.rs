//! What a Bloom filter is compared with: tables of fingerprints, learned filters, sketches.

pub mod learned;

pub use learned::Learned;
