//! Loops, signatures, where a packet came from.

pub mod attribute;
pub mod evasion;
pub mod known;
pub mod loops;
pub mod signatures;
pub mod spie;
pub mod traceback;
