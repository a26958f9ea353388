//! The lab: what the surveys claim, and what filters are used for, measured with the library's own filters.
//!
//! An experiment is one file in [`experiments`] and one line in [`EXPERIMENTS`]; an application is one file or folder in
//! [`applications`] and one line in [`APPLICATIONS`]. Each names its source, runs under a [`Lab`] (how much effort, which
//! seed) and returns a [`Report`]: pictures made of verdicts, each with what was predicted, what was measured and the
//! bound that decides between agreement and contradiction. [`passports`] measure every filter of the library's list
//! alike.
//!
//! [`sim`] is what the applications' simulations share: topologies, traffic, events, counters.
#![deny(unsafe_code)]

mod apparatus;
pub mod applications;
pub mod bound;
pub mod experiments;
mod finding;
mod lab;
mod oracle;
pub mod passports;
pub mod sim;

pub use applications::{APPLICATIONS, Application, Form};
pub use everbloom_report::{
    Axis, Bound, Cell, Chart, Claim, Curve, Dot, Drawing, Erratum, Flag, Grade, Matrix, Panel,
    Point, Report, Row, Rows, Said, Scale, Series, Shown, Stroke, Verdict,
};
pub use experiments::EXPERIMENTS;
pub use finding::{Finding, SOURCES, Stamp};
pub use lab::{Effort, Experiment, Lab};
pub use oracle::Oracle;
