//! What several experiments measure with.

pub(crate) mod balance;
pub(crate) mod capabilities;
pub(crate) mod checks;
pub(crate) mod classic;
pub(crate) mod counters;
pub(crate) mod generalized;
pub(crate) mod highest;
pub(crate) mod losses;
pub(crate) mod parts;
pub(crate) mod stages;
pub(crate) mod streams;
pub(crate) mod subject;
