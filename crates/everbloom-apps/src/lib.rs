//! What Bloom filters are used for: tools, components and simulations.
//!
//! An application is one file or folder in the folder of its field, and one line in [`APPLICATIONS`]. It runs beside an
//! exact twin (the same work over a hash map, a tree or a trie), which tells every wrong answer, and returns a
//! [`Report`](everbloom_lab::Report) in which each number of its source is a verdict with a computed bound.
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
//!
//! [`sim`] is what simulations share: topologies, traffic, events, counters. [`wire`] is what two processes talk over,
//! [`published`] what is downloaded and kept fresh. [`capture`] reads packets, [`chunks`] cuts files.
#![deny(unsafe_code)]

mod application;
pub mod capture;
pub mod chunks;
mod list;
mod oracle;
pub mod published;
pub mod sim;
pub mod wire;

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
pub use list::{APPLICATIONS, by_name};
pub use oracle::Oracle;
