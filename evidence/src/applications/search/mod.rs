//! State spaces, services, sequences.

pub mod discovery;
pub mod kmer;
pub mod visited;
