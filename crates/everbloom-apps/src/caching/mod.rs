//! What neighbors cache, and what is worth caching.
