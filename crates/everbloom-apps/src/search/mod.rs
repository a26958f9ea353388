//! State spaces, services, sequences.

pub mod kmer;
