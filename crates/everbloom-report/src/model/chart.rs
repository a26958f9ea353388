//! Curves and measured points over two axes.

use serde::{Deserialize, Serialize};

use super::verdict::{Bound, Line, Verdict};
use crate::number::short_text;

/// A measured point of a chart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Where on the x axis.
    pub x: f64,
    /// What was found there.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// An analytic curve through points (x, y).
pub type Curve = Vec<(f64, f64)>;

/// One curve of a chart and the points measured over it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// The analytic curve; empty where the source gives none.
    pub curve: Curve,
    /// The measured points; empty for a curve that is only shown for comparison.
    pub points: Vec<Point>,
}

impl Series {
    /// A series with its curve drawn through `xs` by `formula`.
    pub fn new(
        name: impl Into<String>,
        xs: impl IntoIterator<Item = f64>,
        formula: impl Fn(f64) -> f64,
    ) -> Self {
        let curve = xs.into_iter().map(|x| (x, formula(x))).collect();
        Self { name: name.into(), curve, points: Vec::new() }
    }

    /// Adds a measured point.
    pub fn point(&mut self, x: f64, predicted: f64, measured: f64, bound: Bound) {
        self.points.push(Point { x, verdict: Verdict::new(predicted, measured, bound) });
    }
}

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal factors; values that are not positive are left out.
    Log,
}

/// An axis: its name with the unit, and its scale.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Axis {
    /// The name, with the unit.
    pub name: String,
    /// The scale.
    pub scale: Scale,
}

impl Axis {
    /// Equal steps.
    pub fn linear(name: impl Into<String>) -> Self {
        Self { name: name.into(), scale: Scale::Linear }
    }

    /// Equal factors.
    pub fn log(name: impl Into<String>) -> Self {
        Self { name: name.into(), scale: Scale::Log }
    }
}

/// Curves and points over two axes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chart {
    /// Tells the panels of one experiment apart in file names; empty for the only one.
    pub id: String,
    /// Above the picture.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
}

impl Chart {
    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        self.series.iter().flat_map(|series| {
            series.points.iter().map(|point| Line {
                panel: self.id.clone(),
                what: format!("{}, x = {}", series.name, short_text(point.x)),
                verdict: point.verdict,
            })
        })
    }
}
