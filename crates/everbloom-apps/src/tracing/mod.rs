//! Loops, signatures, where a packet came from.

pub mod attribute;
pub mod known;
