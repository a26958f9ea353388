//! What value does this key have? Filters that map keys to values.

pub mod bloomier;
mod entries;
mod labels;
pub mod state_machines;
mod xor_cells;

pub use bloomier::Bloomier;
pub use state_machines::StateMachines;
