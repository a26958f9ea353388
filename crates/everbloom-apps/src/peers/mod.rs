//! Search and exchange among peers.

pub mod approximate;
pub mod friends;
pub mod sync;
