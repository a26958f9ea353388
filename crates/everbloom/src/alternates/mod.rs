//! What a Bloom filter is compared with: tables of fingerprints, learned filters, sketches.

pub mod adaptive_cuckoo;
pub mod consistent_cuckoo;
pub mod cuckoo;
pub mod d_left_reassign;
pub mod dynamic_cuckoo;
pub mod fast_hash_table;
pub mod simplified_cuckoo;

pub use adaptive_cuckoo::AdaptiveCuckoo;
pub use consistent_cuckoo::ConsistentCuckoo;
pub use cuckoo::Cuckoo;
pub use d_left_reassign::DLeftReassign;
pub use dynamic_cuckoo::DynamicCuckoo;
pub use fast_hash_table::FastHashTable;
pub use simplified_cuckoo::SimplifiedCuckoo;
pub mod hyperloglog;
pub mod top_k;

pub use hyperloglog::HyperLogLog;
pub use top_k::TopK;
pub mod learned;

pub use learned::Learned;
