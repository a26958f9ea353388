//! Is there anything like it? Filters that find near keys.

pub mod distance_sensitive;

pub use distance_sensitive::DistanceSensitive;
