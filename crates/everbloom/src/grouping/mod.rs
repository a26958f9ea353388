//! Which of several sets is a key in? Filters that name the groups of a key.
//!
//! A record is a key and the label of its group. A query that names a group is answered for that group alone; one
//! that names none, with all the groups the key may be in. Rates are those of queries that
//! name a group, unless a variant says otherwise.

pub mod attenuated;
mod code;
mod code_cells;
pub mod combinatorial;
pub mod exponential_decay;
pub mod filter_bank;
mod likeness;
pub mod load_balanced;
pub mod matrix;
pub mod omass;
mod sets;
pub mod shifting;

use crate::filter::Detail;
pub(crate) use crate::parts::groups;
pub use attenuated::Attenuated;
pub use combinatorial::Combinatorial;
pub use exponential_decay::ExponentialDecay;
pub use filter_bank::FilterBank;
pub use load_balanced::LoadBalanced;
pub use matrix::Matrix;
pub use omass::Omass;
pub use shifting::Shifting;

/// The filter that leads on, by its number among those that were asked, counted from 1, and what it says.
fn route_of(route: Option<(usize, u64)>) -> Detail {
    let texts =
        |(at, said): (usize, u64)| [at as u64 + 1, said].map(|n| n.to_string().into_bytes());
    route.map_or(Detail::None, |route| Detail::List(texts(route).into()))
}
