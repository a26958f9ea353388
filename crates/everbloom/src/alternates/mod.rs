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
pub mod blooming_tree;
pub mod counting_quotient;
pub mod elastic;
pub mod pagh_pagh_rao;
pub mod quotient;
mod quotients;
pub mod reconciliation_tree;

pub use blooming_tree::BloomingTree;
pub use counting_quotient::CountingQuotient;
pub use elastic::Elastic;
pub use pagh_pagh_rao::PaghPaghRao;
pub use quotient::Quotient;
