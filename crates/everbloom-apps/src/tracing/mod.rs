//! Loops, signatures, where a packet came from.
