//! What a Bloom filter is compared with: tables of fingerprints, learned filters, sketches.

pub mod hyperloglog;
pub mod top_k;

pub use hyperloglog::HyperLogLog;
pub use top_k::TopK;
