//! State spaces, services, sequences.
