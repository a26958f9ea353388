//! Is this key in the set? Filters that answer that and little else.

pub mod ancestors;
pub mod best_of_n;
pub mod blocked;
pub mod bloom;
pub mod bloom_g;
pub mod double_hashing;
pub mod egh;
pub mod enhanced_hashing;
pub mod one_hash;
pub mod partitioned;
pub mod partitioned_hashing;
pub mod split;
pub mod split_block;
pub mod two_choices;

pub use ancestors::Ancestors;
pub use best_of_n::BestOfN;
pub use blocked::{AtomicBlocked, BlockedBloom};
pub use bloom::{AtomicBloom, Bloom};
pub use bloom_g::BloomG;
pub use egh::Egh;
pub use one_hash::OneHash;
pub use partitioned::PartitionedBloom;
pub use partitioned_hashing::PartitionedHashing;
pub use split::Split;
pub use split_block::SplitBlock;
pub use two_choices::TwoChoices;

#[cfg(test)]
mod many_tests;
