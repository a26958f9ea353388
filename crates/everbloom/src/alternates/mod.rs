//! What a Bloom filter is compared with: tables of fingerprints, learned filters, sketches.

pub mod blooming_tree;
pub mod counting_quotient;
pub mod elastic;
pub mod pagh_pagh_rao;
pub mod quotient;
mod quotients;
pub mod reconciliation_tree;

pub use blooming_tree::BloomingTree;
pub use counting_quotient::CountingQuotient;
pub use elastic::Elastic;
pub use pagh_pagh_rao::PaghPaghRao;
pub use quotient::Quotient;
