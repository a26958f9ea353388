//! What value does this key have? Filters that map keys to values.

pub mod bloom_store;
pub mod bloomier;
pub mod blooming_tree;
pub mod cascade;
mod entries;
pub mod fast_hash_table;
pub mod iblt;
pub mod kbf;
mod labels;
pub mod relations;
pub mod state_machines;
mod xor_cells;

pub use bloom_store::{BloomStore, BloomStoreImage};
pub use bloomier::Bloomier;
pub use blooming_tree::BloomingTree;
pub use cascade::Cascade;
pub use fast_hash_table::FastHashTable;
pub use iblt::{Got, Iblt, Listing};
pub use kbf::{Kbf, Known};
pub use relations::Relations;
pub use state_machines::StateMachines;
