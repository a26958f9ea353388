#![doc = include_str!("../README.md")]
//!
//! The model comes first ([`Report`], [`Chart`], [`Rows`], [`Matrix`], [`Table`], [`Page`]); how it looks is the
//! business of [`svg`], [`terminal`], [`csv`](csv()) and the renderings of tables and pages.
#![deny(unsafe_code)]

mod csv;
pub mod groups;
pub mod json;
mod markup;
mod model;
pub mod number;
mod page;
pub mod suggest;
pub mod svg;
mod table;
pub mod terminal;
mod times;

pub use csv::csv;
pub use model::{
    Axis, Bound, Cell, Chart, Claim, Curve, Dot, Drawing, Erratum, Flag, Grade, Line, Matrix,
    Panel, Point, Report, Row, Rows, Said, Scale, Series, Shown, Stroke, Verdict,
};
pub use page::{Page, Section};
pub use table::Table;
pub use times::Times;
