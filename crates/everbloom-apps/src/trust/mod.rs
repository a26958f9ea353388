//! Revocation, wallets, linkage, privacy.

pub mod link;
pub mod revoked;
