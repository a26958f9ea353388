//! What is shown of filters: answers to queries, JSON for programs, and the page of the list.

pub mod answers;
pub mod catalog;
pub mod fields;
pub mod json;
pub mod rate;
pub mod unable;
