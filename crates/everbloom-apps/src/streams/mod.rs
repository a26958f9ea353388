//! Duplicates and replays.
