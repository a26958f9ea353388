//! Filters and exchanges that do not show their keys.
