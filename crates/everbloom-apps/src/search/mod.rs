//! State spaces, services, sequences.

pub mod discovery;
pub mod visited;
pub mod kmer;
