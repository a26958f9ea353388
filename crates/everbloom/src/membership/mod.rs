//! Is this key in the set? Filters that answer that and little else.

pub mod ancestors;
pub mod best_of_n;
pub mod blocked;
pub mod bloom;
pub mod bloom_paradox;
pub mod complement;
pub mod cross_checking;
pub mod egh;
pub mod generalized;
pub mod multistage;
pub mod optihash;
pub mod partitioned;
pub mod partitioned_hashing;
pub mod retouched;
pub mod split;
pub mod two_choices;
pub mod yes_no;

pub(crate) mod part;

pub use ancestors::Ancestors;
pub use best_of_n::BestOfN;
pub use blocked::BlockedBloom;
pub use bloom::{AtomicBloom, Bloom};
pub use bloom_paradox::Paradox;
pub use complement::Complement;
pub use cross_checking::CrossChecking;
pub use egh::Egh;
pub use generalized::Generalized;
pub use multistage::Multistage;
pub use optihash::Optihash;
pub use partitioned::PartitionedBloom;
pub use partitioned_hashing::PartitionedHashing;
pub use retouched::Retouched;
pub use split::Split;
pub use two_choices::TwoChoices;
pub use yes_no::YesNo;
