//! The lab: what the surveys claim, measured with the library's own filters.
//!
//! An experiment is one file in [`experiments`] and one line in [`EXPERIMENTS`]. It names its source,
//! runs under a [`Lab`] (how much effort, which seed) and returns a [`Report`]: pictures made of
//! verdicts, each with what was predicted, what was measured and the bound that decides between
//! agreement and contradiction.
#![deny(unsafe_code)]

mod apparatus;
pub mod bound;
pub mod experiments;
mod lab;
mod report;

pub use bound::Bound;
pub use experiments::EXPERIMENTS;
pub use lab::{Effort, Experiment, Lab};
pub use report::{
    Axis, Cell, Chart, Curve, Erratum, Flag, Matrix, Panel, Point, Report, Row, Rows, Scale,
    Series, Verdict,
};
