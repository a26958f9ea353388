//! A prediction, a measurement, and whether they agree.

use serde::{Deserialize, Serialize};

use crate::number::short_text;

/// An interval, open to one side where nothing is claimed about that side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The smallest value that agrees.
    pub low: Option<f64>,
    /// The greatest value that agrees.
    pub high: Option<f64>,
}

impl Bound {
    /// For equality, up to the rounding of printed digits or of floating point.
    pub fn exactly(predicted: f64, rounding: f64) -> Self {
        Self::between(predicted - rounding, predicted + rounding)
    }

    /// Both ends.
    pub fn between(low: f64, high: f64) -> Self {
        Self { low: Some(low), high: Some(high) }
    }

    /// No less than this.
    pub fn at_least(low: f64) -> Self {
        Self { low: Some(low), high: None }
    }

    /// No more than this.
    pub fn at_most(high: f64) -> Self {
        Self { low: None, high: Some(high) }
    }

    /// The same bound with this share of the prediction added on both sides: for approximate formulas
    /// that are measured.
    #[must_use]
    pub fn widened(self, predicted: f64, share: f64) -> Self {
        let slack = predicted.abs() * share;
        Self { low: self.low.map(|l| l - slack), high: self.high.map(|h| h + slack) }
    }

    /// The bound of a value that is computed from the bounded one by an increasing function.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self { low: self.low.map(&f), high: self.high.map(&f) }
    }

    /// Whether the value agrees.
    pub fn admits(&self, value: f64) -> bool {
        !value.is_nan()
            && self.low.is_none_or(|low| value >= low)
            && self.high.is_none_or(|high| value <= high)
    }
}

/// One comparison of prediction and measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What the source, or its corrected formula, says.
    pub predicted: f64,
    /// What was seen.
    pub measured: f64,
    /// Least and greatest measurement that would agree.
    pub bound: (Option<f64>, Option<f64>),
    /// Whether it agrees.
    pub pass: bool,
}

impl Verdict {
    /// Judges a measurement.
    pub fn new(predicted: f64, measured: f64, bound: Bound) -> Self {
        Self { predicted, measured, bound: (bound.low, bound.high), pass: bound.admits(measured) }
    }

    /// Half the width of the bound as a share of the prediction; none where a side is open.
    pub fn slack(&self) -> Option<f64> {
        let (low, high) = (self.bound.0?, self.bound.1?);
        Some((high - low) / 2.0 / self.predicted.abs())
    }
}

/// A verdict in a table of all verdicts: its place, and what was compared.
#[derive(Clone, Debug)]
pub struct Line {
    /// The panel it is from.
    pub panel: String,
    /// Where on the x axis, for a point of a chart.
    pub x: Option<f64>,
    /// The curve, row or column it belongs to.
    pub series: String,
    /// What the numbers are of.
    pub unit: String,
    /// What a survey's table says of it; empty elsewhere.
    pub survey: String,
    /// What was compared.
    pub what: String,
    /// What was found.
    pub verdict: Verdict,
}

impl Line {
    /// A line without a place on an axis.
    pub(super) fn new(panel: &str, what: String, verdict: Verdict) -> Self {
        let (series, unit, survey) = (String::new(), String::new(), String::new());
        Self { panel: panel.to_owned(), x: None, series, unit, survey, what, verdict }
    }

    /// A sentence on a verdict that disagrees.
    pub fn complaint(&self) -> String {
        let Self { panel, what, verdict, .. } = self;
        let end = |bound: Option<f64>| bound.map_or("-".into(), short_text);
        format!(
            "{panel}: {what}: predicted {}, measured {}, outside {} to {}",
            short_text(verdict.predicted),
            short_text(verdict.measured),
            end(verdict.bound.0),
            end(verdict.bound.1)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_sides_and_not_a_number() {
        assert!(Bound::at_most(1.0).admits(-1e300) && !Bound::at_most(1.0).admits(1.1));
        assert!(Bound::at_least(1.0).admits(1e300) && !Bound::at_least(1.0).admits(0.9));
        assert!(!Bound::at_most(1.0).admits(f64::NAN));
        let wide = Bound::between(1.0, 2.0).widened(10.0, 0.1);
        assert_eq!(wide, Bound::between(0.0, 3.0));
    }
}
