//! Duplicates and replays.

pub mod puzzles;
pub mod replay;
