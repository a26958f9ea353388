//! What neighbors cache, and what is worth caching.

pub mod admission;
pub mod annotations;
pub mod cache_digests;
mod lru;
pub mod sleep_proxy;
pub mod snoop;
