//! Joins, stores, flow tables, box queries.

pub mod bloomjoin;
pub mod posting_lists;
