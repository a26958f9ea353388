//! Is this key in the set? Filters that answer that and little else.

pub mod best_of_n;
pub mod blocked;
pub mod bloom;
pub mod generalized;
pub mod optihash;
pub mod partitioned;
pub mod partitioned_hashing;
pub mod two_choices;

pub use best_of_n::BestOfN;
pub use blocked::BlockedBloom;
pub use bloom::{AtomicBloom, Bloom};
pub use generalized::Generalized;
pub use optihash::Optihash;
pub use partitioned::PartitionedBloom;
pub use partitioned_hashing::PartitionedHashing;
pub use two_choices::TwoChoices;
