//! Revocation, wallets, linkage, privacy.

pub mod biometrics;
pub mod broadcast;
pub mod disk_capabilities;
pub mod en_route;
pub mod interests;
pub mod link;
pub mod location;
pub mod private_counts;
pub mod revoked;
pub mod rfid;
pub mod wallet;
