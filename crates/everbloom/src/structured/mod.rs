//! Keys that are more than bytes: vectors, records, sequences, points, ranges.

pub mod areas;
pub mod clk;
pub mod distance_sensitive;
pub mod hierarchical;
pub mod k_mer;
pub mod locality_sensitive;
pub mod multi_granularity;
pub mod parallel_attributes;
pub mod ranges;

pub use areas::Areas;
pub use clk::Clk;
pub use distance_sensitive::DistanceSensitive;
pub use hierarchical::Hierarchical;
pub use k_mer::KMer;
pub use locality_sensitive::LocalitySensitive;
pub use multi_granularity::MultiGranularity;
pub use parallel_attributes::ParallelAttributes;
pub use ranges::Ranges;
