//! How often? Filters whose cells count, and that can therefore remove.

pub mod counting_bloom;
pub mod d_left;
pub mod fingerprint_counting;
pub mod multi_partitioned;
pub mod multiple_choice;
pub mod variable_increment;

pub use counting_bloom::Counting;
pub use d_left::DLeft;
pub use fingerprint_counting::FingerprintCounting;
pub use multi_partitioned::MultiPartitioned;
pub use multiple_choice::ChoiceTable;
pub use variable_increment::VariableIncrement;
