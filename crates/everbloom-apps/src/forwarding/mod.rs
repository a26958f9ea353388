//! Look-ups and forwarding in switches and routers.

pub mod longest_prefix;
