//! What is shown: machines' JSON, people's tables, pictures.

pub mod evidence;
pub mod json;
pub mod markdown;
pub mod picture;
pub mod svg;
pub mod table;
