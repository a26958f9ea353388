//! How likely, how dear? Filters that spend more probes on some keys than on others.

pub mod multi_class;

pub use multi_class::MultiClass;
