//! What neighbors cache, and what is worth caching.

pub mod annotations;
pub mod cache_digests;
