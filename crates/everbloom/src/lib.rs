//! Everbloom: every Bloom filter, in one library.
#![deny(unsafe_code)]

pub mod catalog;
pub mod cells;
pub mod codec;
pub mod error;
pub mod filter;
pub mod hash;
pub mod plan;
pub mod probe;
pub mod sample;
pub mod solve;
pub mod structure;
pub mod theory;
pub mod variant;

pub mod counting;
pub mod decaying;
pub mod deleting;
pub mod growing;
pub mod keyvalue;
pub mod membership;
pub mod reconciling;
pub mod similarity;
pub mod weighted;
