//! What do two sets not share? Filters that are subtracted and read back.
