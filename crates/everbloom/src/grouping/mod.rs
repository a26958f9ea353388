//! Which of several sets is a key in? Filters that name the groups of a key.
//!
//! A record is a key and the label of its group. A query that names a group is answered for that group alone; one
//! that names none, with all the groups the key may be in. Rates are those of queries that
//! name a group, unless a variant says otherwise.

mod code;
mod code_cells;
pub mod combinatorial;
pub(crate) mod groups;
mod likeness;
pub mod load_balanced;
pub mod matrix;
pub mod omass;
mod sets;
pub mod shifting;

pub use combinatorial::Combinatorial;
pub use load_balanced::LoadBalanced;
pub use matrix::Matrix;
pub use omass::Omass;
pub use shifting::Shifting;
