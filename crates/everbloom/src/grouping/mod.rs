//! Which of several sets is a key in? Filters that name the groups of a key.
//!
//! A record is a key and the label of its group. A query that names a group asks whether the key is in
//! it; one that names none asks for all the groups the key may be in. Rates are those of queries that
//! name a group, unless a variant says otherwise.

mod code;
pub mod combinatorial;
pub(crate) mod groups;
pub mod load_balanced;
pub mod matrix;
pub mod omass;

pub use combinatorial::Combinatorial;
pub use load_balanced::LoadBalanced;
pub use matrix::Matrix;
pub use omass::Omass;
