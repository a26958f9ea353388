//! How many keys, nobody knows: filters that grow.

#[cfg(feature = "growing")]
mod directory;
#[cfg(feature = "growing")]
pub mod dynamic;
#[cfg(feature = "growing")]
pub mod dynamic_array;
#[cfg(feature = "growing")]
pub mod forest;
#[cfg(feature = "growing")]
mod forest_store;
#[cfg(feature = "growing")]
pub mod par_bf;
pub mod scalable;

#[cfg(feature = "growing")]
pub use dynamic::Dynamic;
#[cfg(feature = "growing")]
pub use dynamic_array::DynamicArray;
#[cfg(feature = "growing")]
pub use forest::Forest;
#[cfg(feature = "growing")]
pub use forest_store::ForestStore;
#[cfg(feature = "growing")]
pub use par_bf::ParBf;
pub use scalable::Scalable;
