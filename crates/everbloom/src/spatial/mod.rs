//! Points, areas and ranges.
