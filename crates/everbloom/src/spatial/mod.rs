//! Points, areas and ranges.

pub mod areas;
pub mod ranges;

pub use areas::Areas;
pub use ranges::Ranges;
