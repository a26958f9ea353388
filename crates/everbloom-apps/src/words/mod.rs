//! Spelling, passwords, copied passages.
