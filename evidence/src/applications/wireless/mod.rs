//! Sensors and radios.

pub mod collection_tree;
pub mod neighbors;
pub mod path_gossip;
pub mod wake_up;
