//! Loops, signatures, where a packet came from.

pub mod evasion;
pub mod loops;
pub mod signatures;
pub mod spie;
pub mod traceback;
pub mod attribute;
pub mod known;
