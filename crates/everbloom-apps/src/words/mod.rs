//! Spelling, passwords, copied passages.

pub mod similar;
