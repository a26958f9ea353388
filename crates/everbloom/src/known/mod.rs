//! Some keys that are not members are known: filters that use them to be wrong less often.

pub mod complement;
pub mod cross_checking;
pub mod multistage;
pub mod optihash;
pub mod retouched;
pub mod yes_no;

pub use complement::Complement;
pub use cross_checking::CrossChecking;
pub use multistage::Multistage;
pub use optihash::Optihash;
pub use retouched::Retouched;
pub use yes_no::YesNo;
