//! Filters that remove: tables of fingerprints, in buckets that trade places (cuckoo) or in runs (quotient).

pub mod cuckoo;

pub use cuckoo::Cuckoo;

#[cfg(feature = "fingerprints")]
pub mod adaptive_cuckoo;
#[cfg(feature = "fingerprints")]
pub mod consistent_cuckoo;
#[cfg(feature = "fingerprints")]
pub mod counting_quotient;
#[cfg(feature = "fingerprints")]
pub mod d_left_reassign;
#[cfg(feature = "fingerprints")]
pub mod dynamic_cuckoo;
#[cfg(feature = "fingerprints")]
pub mod elastic;
#[cfg(feature = "fingerprints")]
pub mod pagh_pagh_rao;
#[cfg(feature = "fingerprints")]
pub mod quotient;
#[cfg(feature = "fingerprints")]
mod quotients;
#[cfg(feature = "fingerprints")]
pub mod simplified_cuckoo;

#[cfg(feature = "fingerprints")]
pub use adaptive_cuckoo::AdaptiveCuckoo;
#[cfg(feature = "fingerprints")]
pub use consistent_cuckoo::ConsistentCuckoo;
#[cfg(feature = "fingerprints")]
pub use counting_quotient::CountingQuotient;
#[cfg(feature = "fingerprints")]
pub use d_left_reassign::DLeftReassign;
#[cfg(feature = "fingerprints")]
pub use dynamic_cuckoo::DynamicCuckoo;
#[cfg(feature = "fingerprints")]
pub use elastic::Elastic;
#[cfg(feature = "fingerprints")]
pub use pagh_pagh_rao::PaghPaghRao;
#[cfg(feature = "fingerprints")]
pub use quotient::Quotient;
#[cfg(feature = "fingerprints")]
pub use simplified_cuckoo::SimplifiedCuckoo;
