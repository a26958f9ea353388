//! What is shown of filters: JSON for programs, and the page of the list.

pub mod catalog;
pub mod fields;
pub mod groups;
pub mod json;
pub mod passport;
pub mod rate;
