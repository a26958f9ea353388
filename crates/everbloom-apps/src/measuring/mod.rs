//! Heavy flows, fair queues, checks of routes.
