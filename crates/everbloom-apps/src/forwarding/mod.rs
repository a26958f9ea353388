//! Look-ups and forwarding in switches and routers.

mod planes;

pub mod buffalo;
pub mod capabilities;
pub mod data_center;
pub mod destinations;
pub mod longest_prefix;
pub mod multicast;
pub mod off_by_default;
pub mod packet_filter;
pub mod split_trees;
pub mod tuple_space;
pub mod zfilters;
