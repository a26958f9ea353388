//! Search and exchange among peers.
