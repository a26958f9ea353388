//! How many keys, nobody knows: filters that grow.
