//! Joins, stores, flow tables, box queries.
