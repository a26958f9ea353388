//! Heavy flows, fair queues, checks of routes.

pub mod fair_blue;
pub mod flow_counters;
pub mod global_iceberg;
pub mod heavy_flows;
pub mod iceberg;
pub mod route_check;
