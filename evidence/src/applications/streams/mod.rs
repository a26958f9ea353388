//! Duplicates and replays.

pub mod duplicate_clicks;
pub mod puzzles;
pub mod replay;
