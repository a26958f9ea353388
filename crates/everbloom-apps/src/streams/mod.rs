//! Duplicates and replays.

pub mod duplicate_clicks;
