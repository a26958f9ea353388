//! What neighbors cache, and what is worth caching.

pub mod admission;
mod lru;
pub mod sleep_proxy;
pub mod snoop;
pub mod annotations;
pub mod cache_digests;
