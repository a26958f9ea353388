//! Pictures as SVG: charts over two axes, verdicts one below the other, tables of capabilities,
//! networks.

mod canvas;
mod chart;
mod drawing;
mod matrix;
mod rows;
mod ruler;

use crate::Panel;

pub use chart::chart;

/// One panel of an experiment.
pub fn panel(panel: &Panel) -> String {
    match panel {
        Panel::Chart(data) => chart(data),
        Panel::Rows(data) => rows::rows(data),
        Panel::Matrix(data) => matrix::matrix(data),
        Panel::Drawing(data) => drawing::drawing(data),
    }
}
