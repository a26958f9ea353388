//! Heavy flows, fair queues, checks of routes.

pub mod fair_blue;
pub mod route_check;
