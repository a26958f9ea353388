//! Look-ups and forwarding in switches and routers.

mod planes;

pub mod buffalo;
pub mod capabilities;
pub mod crossproduct;
pub mod data_center;
pub mod destinations;
pub mod label_switch;
pub mod longest_prefix;
pub mod multicast;
pub mod names;
pub mod off_by_default;
pub mod packet_filter;
pub mod split_trees;
pub mod subscriptions;
pub mod tuple_space;
pub mod xml_paths;
pub mod zfilters;
