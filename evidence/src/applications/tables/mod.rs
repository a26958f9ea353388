//! Joins, stores, flow tables, box queries.

pub mod bloomjoin;
pub mod box_query;
pub mod differential_file;
pub mod flow_table;
pub mod lsm;
pub mod posting_lists;
