//! What is shown, before it is drawn: panels made of verdicts, and the errors that they prove.

mod chart;
mod drawing;
mod matrix;
mod report;
mod rows;
mod verdict;

pub use chart::{Axis, Chart, Claim, Curve, Point, Scale, Series};
pub use drawing::{Dot, Drawing, Stroke};
pub use matrix::{Cell, Flag, Matrix, Shown};
pub use report::{Erratum, Grade, Panel, Report, Said};
pub use rows::{Row, Rows};
pub use verdict::{Bound, Line, Verdict};
