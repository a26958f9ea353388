//! What is shown of filters: JSON for programs, and the page of the list.

pub mod catalog;
pub mod fields;
pub mod json;
pub mod rate;
