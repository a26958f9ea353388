//! Revocation, wallets, linkage, privacy.
