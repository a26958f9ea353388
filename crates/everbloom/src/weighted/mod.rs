//! How likely, how dear? Filters that spend more probes on some keys than on others.

pub mod bloom_paradox;
mod classes;
pub mod multi_class;
pub mod popularity;
pub mod weighted_bloom;

pub use bloom_paradox::Paradox;
pub use classes::Class;
pub use multi_class::MultiClass;
pub use popularity::Popularity;
pub use weighted_bloom::WeightedBloom;
