//! What filters are used for: tools of the command, components, and simulations, a folder for each field.
//!
//! An application is one file or folder here and one line in [`APPLICATIONS`]. It runs beside an exact twin (the same
//! work over a hash map, a tree or a trie), which tells every wrong answer, and returns a [`Report`](crate::Report) in
//! which each number of its source is a verdict with a computed bound. The code of a tool is in the crate
//! `everbloom-tools`, that of the others beside their runs.
//!
//! | folder | what its applications do |
//! |---|---|
//! | [`words`] | spelling, passwords, copied passages |
//! | [`tables`] | joins, stores, flow tables, box queries |
//! | [`caching`] | what neighbors cache, what is worth caching |
//! | [`peers`] | search and exchange among peers |
//! | [`forwarding`] | look-ups and forwarding in switches and routers |
//! | [`measuring`] | heavy flows, fair queues, checks of routes |
//! | [`tracing`] | loops, signatures, where a packet came from |
//! | [`streams`] | duplicates and replays |
//! | [`trust`] | revocation, wallets, linkage, privacy |
//! | [`wireless`] | sensors and radios |
//! | [`search`] | state spaces, services, sequences |

mod application;
mod list;

pub mod caching;
pub mod forwarding;
pub mod measuring;
pub mod peers;
pub mod search;
pub mod streams;
pub mod tables;
pub mod tracing;
pub mod trust;
pub mod wireless;
pub mod words;

pub use application::{Application, Form};
pub use list::APPLICATIONS;
