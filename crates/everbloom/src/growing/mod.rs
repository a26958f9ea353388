//! How many keys, nobody knows: filters that grow.

mod directory;
pub mod forest;
mod forest_store;
pub mod scalable;

pub use forest::Forest;
pub use forest_store::ForestStore;
pub use scalable::Scalable;
