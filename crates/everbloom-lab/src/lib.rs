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
mod finding;
mod lab;
pub mod passports;

pub use everbloom_report::{
    Axis, Bound, Cell, Chart, Claim, Curve, Dot, Drawing, Erratum, Flag, Grade, Matrix, Panel,
    Point, Report, Row, Rows, Said, Scale, Series, Shown, Stroke, Verdict,
};
pub use experiments::EXPERIMENTS;
pub use finding::{Finding, SOURCES, Stamp};
pub use lab::{Effort, Experiment, Lab};
