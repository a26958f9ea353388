//! Is there anything like it? Filters that find near keys.

pub mod clk;
pub mod distance_sensitive;
pub mod locality_sensitive;
pub mod multi_granularity;

pub use clk::Clk;
pub use distance_sensitive::DistanceSensitive;
pub use locality_sensitive::LocalitySensitive;
pub use multi_granularity::MultiGranularity;
