//! Heavy flows, fair queues, checks of routes.

pub mod flow_counters;
pub mod global_iceberg;
pub mod heavy_flows;
pub mod iceberg;
