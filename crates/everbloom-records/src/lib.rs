#![doc = include_str!("../README.md")]
//!
//! From the input to the filter:
//!
//! ```text
//!  bytes ──unpack──▶ text ──blocks──▶ whole lines ──grammar──▶ keys and values ──hash──▶ digests
//!                                         └────────── on all cores ──────────┘
//! ```
#![deny(unsafe_code)]

mod ahead;
mod block;
mod blocks;
mod cores;
mod csv;
mod error;
mod grammar;
mod hashed;
mod input;
mod key;
mod lines;
mod pieces;
mod pool;
mod scan;
mod source;
mod text;
mod unpack;
mod zstd;

pub use cores::Order;
pub use error::{Error, Fault, Result};
pub use grammar::{Bad, Case, Column, Cr, Field, Grammar, Time};
pub use hashed::{Hashed, Kept, Keyed};
pub use input::{Input, Passed, watched};
pub use key::KeyType;
pub use lines::{Lines, Noticed, Skipped, Watch};
pub use unpack::{MARK, Notice, unmarked, unpacked};
