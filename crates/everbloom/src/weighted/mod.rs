//! How likely, how dear? Filters that spend more probes on some keys than on others.

pub mod bloom_paradox;
pub mod multi_class;

pub use bloom_paradox::Paradox;
pub use multi_class::MultiClass;
