//! What simulations share: topologies, traffic, events and counters, all seeded and the same on every machine.
//!
//! Half of the simulations are plain walks on a [`Graph`]; those in which things happen at different speeds
//! take them from a [`Queue`] in the order of time.

pub mod in_packet;

mod draw;
mod events;
mod graph;
mod meter;
mod passing;
mod radio;
mod rate;
mod search;
mod stars;
mod topology;
mod traffic;

pub use draw::drawing;
pub use events::Queue;
pub use graph::{Graph, Link, Node, Tree};
pub use meter::Meter;
pub use passing::Passing;
pub use rate::Rate;
pub use stars::{leaf, stars};
pub use topology::Topology;
pub use traffic::{Churn, Zipf, pareto, poisson_gap, shuffle};
