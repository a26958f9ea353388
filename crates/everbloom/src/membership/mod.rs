//! Is this key in the set? Sets that only grow.

pub mod blocked;
pub mod bloom;

pub use blocked::{AtomicBlocked, BlockedBloom};
pub use bloom::{AtomicBloom, Bloom};

#[cfg(feature = "everyday")]
pub mod split_block;

#[cfg(feature = "everyday")]
pub use split_block::SplitBlock;

#[cfg(feature = "membership")]
pub mod ancestors;
#[cfg(feature = "membership")]
pub mod best_of_n;
#[cfg(feature = "membership")]
pub mod bloom_g;
#[cfg(feature = "membership")]
pub mod double_hashing;
#[cfg(feature = "membership")]
pub mod egh;
#[cfg(feature = "membership")]
pub mod enhanced_hashing;
#[cfg(feature = "membership")]
pub mod generalized;
#[cfg(feature = "membership")]
pub mod one_hash;
#[cfg(feature = "membership")]
pub mod partitioned;
#[cfg(feature = "membership")]
pub mod partitioned_hashing;
#[cfg(feature = "membership")]
pub mod split;
#[cfg(feature = "membership")]
pub mod two_choices;

#[cfg(feature = "membership")]
pub use ancestors::Ancestors;
#[cfg(feature = "membership")]
pub use best_of_n::BestOfN;
#[cfg(feature = "membership")]
pub use bloom_g::BloomG;
#[cfg(feature = "membership")]
pub use egh::Egh;
#[cfg(feature = "membership")]
pub use generalized::Generalized;
#[cfg(feature = "membership")]
pub use one_hash::OneHash;
#[cfg(feature = "membership")]
pub use partitioned::PartitionedBloom;
#[cfg(feature = "membership")]
pub use partitioned_hashing::PartitionedHashing;
#[cfg(feature = "membership")]
pub use split::Split;
#[cfg(feature = "membership")]
pub use two_choices::TwoChoices;

#[cfg(all(test, feature = "membership"))]
mod many_tests;
