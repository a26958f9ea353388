//! What value does this key have? Filters that map keys to values.
