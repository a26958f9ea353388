//! Keys come and go: filters made for removal in little space.
