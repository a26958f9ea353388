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

/// A verdict on a whole curve: that it holds, or by which factor it is off.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// What is compared.
    pub what: String,
    /// What was found.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// One curve of a chart and the points measured over it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// The analytic curve; empty where the source gives none.
    pub curve: Curve,
    /// The measured points; empty for a curve that is judged by those of another series.
    pub points: Vec<Point>,
    /// The verdicts on the curve itself. Points may be judged by a sharper formula than the one drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

impl Series {
    /// A series with its curve drawn through `xs` by `formula`.
    pub fn new(
        name: impl Into<String>,
        xs: impl IntoIterator<Item = f64>,
        formula: impl Fn(f64) -> f64,
    ) -> Self {
        let curve = xs.into_iter().map(|x| (x, formula(x))).collect();
        Self { name: name.into(), curve, ..Self::default() }
    }

    /// Adds a measured point.
    pub fn point(&mut self, x: f64, predicted: f64, measured: f64, bound: Bound) {
        self.points.push(Point { x, verdict: Verdict::new(predicted, measured, bound) });
    }

    /// Adds a verdict on the curve.
    pub fn claim(&mut self, what: impl Into<String>, predicted: f64, measured: f64, bound: Bound) {
        let verdict = Verdict::new(predicted, measured, bound);
        self.claims.push(Claim { what: what.into(), verdict });
    }

    /// Judges the `formula` of the curve by the series' own points; it may be off by the share `approximate`.
    pub fn follows(&mut self, formula: impl Fn(f64) -> f64, approximate: f64) {
        let points = self.points.clone();
        self.follows_points(&points, formula, approximate);
    }

    /// Judges the `formula` of the curve by measured points: by their mean ratio to it, each point weighted by its
    /// certainty, and by the point that is farthest off.
    ///
    /// A point's certainty is the width of its bound, so that what is left to chance shrinks as they are pooled.
    pub fn follows_points(
        &mut self,
        points: &[Point],
        formula: impl Fn(f64) -> f64,
        approximate: f64,
    ) {
        let (mut weights, mut sum, mut worst) = (0.0, 0.0, 0.0);
        for Point { x, verdict } in points {
            let (value, Some(slack)) = (formula(*x), verdict.slack()) else { continue };
            // A rate of zero is judged by its point alone: nothing is a share of it.
            if value <= 0.0 || verdict.predicted <= 0.0 {
                continue;
            }
            let (ratio, weight) = (verdict.measured / value, slack.max(1e-9).powi(-2));
            weights += weight;
            sum += weight * ratio;
            worst = f64::max(worst, (ratio - 1.0).abs() / (slack + approximate).max(1e-9));
        }
        let slack = weights.sqrt().recip() + approximate;
        self.claim(
            "measured/curve over all points",
            1.0,
            sum / weights,
            Bound::exactly(1.0, slack),
        );
        self.claim("worst point, relative to its bound", 0.0, worst, Bound::at_most(1.0));
    }

    /// Judges by how much the curve's `value` exceeds a measurement of the truth: by the factor `expected`, which
    /// is had from elsewhere than the value.
    pub fn factor(&mut self, what: impl Into<String>, expected: f64, value: f64, truth: &Verdict) {
        let slack = truth.slack().unwrap_or(0.0);
        let bound = Bound::between(expected / (1.0 + slack), expected / (1.0 - slack.min(0.99)));
        self.claim(what, expected, value / truth.measured, bound);
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
    /// A chart over the axes x and y; `id` is empty for the only panel of an experiment.
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        [x, y]: [Axis; 2],
        series: impl Into<Vec<Series>>,
    ) -> Self {
        Self { id: id.into(), title: title.into(), x, y, series: series.into() }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        self.series.iter().flat_map(|series| {
            let points = series.points.iter().map(|point| Line {
                x: Some(point.x),
                series: series.name.clone(),
                unit: self.y.name.clone(),
                ..Line::new(
                    &self.id,
                    format!("{}, x = {}", series.name, short_text(point.x)),
                    point.verdict,
                )
            });
            let claims = series.claims.iter().map(|claim| Line {
                series: series.name.clone(),
                unit: "ratio".into(),
                ..Line::new(&self.id, format!("{}: {}", series.name, claim.what), claim.verdict)
            });
            points.chain(claims)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Series {
        let mut series = Series::new("a", [1.0, 2.0, 3.0], |x| x);
        for x in [1.0, 2.0, 3.0] {
            series.point(x, x, 1.01 * x, Bound::exactly(x, 0.03 * x));
        }
        series
    }

    #[test]
    fn points_together_tell_more_than_each_of_them() {
        let mut right = series();
        right.follows(|x| x, 0.0);
        assert!(right.claims.iter().all(|claim| claim.verdict.pass));
        // 3 % off either way is chance for one point, and not for three.
        let mut wrong = series();
        wrong.follows(|x| 0.985 * x, 0.0);
        assert!(wrong.points.iter().all(|point| point.verdict.pass));
        assert_eq!(wrong.claims.iter().map(|c| c.verdict.pass).collect::<Vec<_>>(), [false, true]);
        // A single point far off does not vanish among the others.
        let mut bent = series();
        bent.follows(|x| if x > 2.0 { 0.9 * x } else { 1.03 * x }, 0.0);
        assert!(!bent.claims[1].verdict.pass);
    }

    #[test]
    fn a_factor_is_judged_by_what_is_expected_and_not_by_the_value() {
        let truth = Verdict::new(1.0, 1.01, Bound::between(0.95, 1.05));
        let mut bound = Series::default();
        bound.factor("twice", 2.0, 2.0, &truth);
        bound.factor("ten times that", 2.0, 20.0, &truth);
        assert_eq!(bound.claims.iter().map(|c| c.verdict.pass).collect::<Vec<_>>(), [true, false]);
    }
}
