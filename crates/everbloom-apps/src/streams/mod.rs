//! Duplicates and replays.

pub mod puzzles;
pub mod replay;
pub mod duplicate_clicks;
