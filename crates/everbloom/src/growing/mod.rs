//! How many keys, nobody knows: filters that grow.

mod directory;
pub mod dynamic;
pub mod dynamic_array;
pub mod forest;
mod forest_store;
pub mod par_bf;
pub mod scalable;

pub use dynamic::Dynamic;
pub use dynamic_array::DynamicArray;
pub use forest::Forest;
pub use forest_store::ForestStore;
pub use par_bf::ParBf;
pub use scalable::Scalable;
