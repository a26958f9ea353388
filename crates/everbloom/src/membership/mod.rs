//! Is this key in the set? Filters that answer that and little else.

pub mod ancestors;
pub mod blocked;
pub mod bloom;
pub mod bloom_paradox;
pub mod complement;
pub mod cross_checking;
pub mod generalized;
pub mod multistage;
pub mod partitioned;
pub mod retouched;
pub mod yes_no;

pub(crate) mod part;

pub use ancestors::Ancestors;
pub use blocked::BlockedBloom;
pub use bloom::{AtomicBloom, Bloom};
pub use bloom_paradox::Paradox;
pub use complement::Complement;
pub use cross_checking::CrossChecking;
pub use generalized::Generalized;
pub use multistage::Multistage;
pub use partitioned::PartitionedBloom;
pub use retouched::Retouched;
pub use yes_no::YesNo;
