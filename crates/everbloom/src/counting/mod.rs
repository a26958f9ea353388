//! How often? Filters whose cells count, and that can therefore remove.

pub mod conservative;
pub mod counting_bloom;
pub mod d_left;
pub mod dynamic_count;
pub mod fingerprint_counting;
pub mod lfsr_counting;
pub mod multi_partitioned;
pub mod multilayer_counting;
pub mod multiple_choice;
pub mod spectral;
pub mod variable_increment;

pub use conservative::Conservative;
pub use counting_bloom::Counting;
pub use d_left::DLeft;
pub use dynamic_count::DynamicCount;
pub use fingerprint_counting::FingerprintCounting;
pub use lfsr_counting::LfsrCounting;
pub use multi_partitioned::MultiPartitioned;
pub use multilayer_counting::MultilayerCounting;
pub use multiple_choice::ChoiceTable;
pub use spectral::Spectral;
pub use variable_increment::VariableIncrement;
