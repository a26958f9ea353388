//! What an experiment found: panels to draw, each made of verdicts, and the errors it proves.

use serde::{Deserialize, Serialize};

use crate::bound::Bound;

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
}

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

/// One line of [`Rows`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// What was compared.
    pub label: String,
    /// What was found.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Verdicts one below the other: tables and quoted numbers, which have no x axis.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rows {
    /// As [`Chart::id`].
    pub id: String,
    /// Above the picture.
    pub title: String,
    /// The axis along which the values lie.
    pub value: Axis,
    /// The verdicts.
    pub rows: Vec<Row>,
}

impl Rows {
    /// No rows yet.
    pub fn new(id: impl Into<String>, title: impl Into<String>, value: Axis) -> Self {
        Self { id: id.into(), title: title.into(), value, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, label: impl Into<String>, predicted: f64, measured: f64, bound: Bound) {
        let verdict = Verdict::new(predicted, measured, bound);
        self.rows.push(Row { label: label.into(), verdict });
    }
}

/// What a table of capabilities says in one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flag {
    /// The capability is there.
    Yes,
    /// It is not.
    No,
}

/// A capability of a variant: what the survey says and what a check showed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The survey's flag; none where it has none.
    pub said: Option<Flag>,
    /// What the check showed.
    pub shown: Flag,
    /// How it was shown, in a few words.
    pub how: String,
    /// Whether the check came out as expected: as the survey says, or as its known correction says.
    pub pass: bool,
}

/// A table of capabilities, each demonstrated.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Matrix {
    /// As [`Chart::id`].
    pub id: String,
    /// Above the picture.
    pub title: String,
    /// The capabilities.
    pub columns: Vec<String>,
    /// The variants, each with a cell per capability.
    pub rows: Vec<(String, Vec<Option<Cell>>)>,
}

/// One picture.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Panel {
    /// Over two axes.
    Chart(Chart),
    /// One below the other.
    Rows(Rows),
    /// Capabilities.
    Matrix(Matrix),
}

impl Panel {
    /// The part of the file name.
    pub fn id(&self) -> &str {
        match self {
            Panel::Chart(chart) => &chart.id,
            Panel::Rows(rows) => &rows.id,
            Panel::Matrix(matrix) => &matrix.id,
        }
    }

    /// The title.
    pub fn title(&self) -> &str {
        match self {
            Panel::Chart(chart) => &chart.title,
            Panel::Rows(rows) => &rows.title,
            Panel::Matrix(matrix) => &matrix.title,
        }
    }

    /// Whether each verdict passes.
    fn passes(&self) -> Vec<bool> {
        match self {
            Panel::Chart(chart) => {
                chart.series.iter().flat_map(|s| &s.points).map(|p| p.verdict.pass).collect()
            }
            Panel::Rows(rows) => rows.rows.iter().map(|r| r.verdict.pass).collect(),
            Panel::Matrix(matrix) => {
                matrix.rows.iter().flat_map(|(_, cells)| cells).flatten().map(|c| c.pass).collect()
            }
        }
    }
}

/// An error of a source, with the measurement that proves it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Erratum {
    /// Where, such as "S3 eq. 5".
    pub place: String,
    /// What is printed there.
    pub says: String,
    /// What is true.
    pub truth: String,
    /// The number that follows from what is printed.
    pub printed: f64,
    /// The number that follows from what is true, what was measured, and the bound around the truth.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Whether the measurement agrees with the truth, and the printed number lies outside the bound.
    pub proved: bool,
}

/// All that one experiment found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The pictures.
    pub panels: Vec<Panel>,
    /// The errors of the source it proves.
    pub errata: Vec<Erratum>,
    /// What a reader should know besides: choices of parameters, what the source leaves open.
    pub notes: Vec<String>,
}

impl Report {
    /// Adds a chart.
    #[must_use]
    pub fn chart(mut self, chart: Chart) -> Self {
        self.panels.push(Panel::Chart(chart));
        self
    }

    /// Adds rows.
    #[must_use]
    pub fn rows(mut self, rows: Rows) -> Self {
        self.panels.push(Panel::Rows(rows));
        self
    }

    /// Adds a table of capabilities.
    #[must_use]
    pub fn matrix(mut self, matrix: Matrix) -> Self {
        self.panels.push(Panel::Matrix(matrix));
        self
    }

    /// Adds a remark.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds an error of the source: the `printed` number against the true one, its measurement and
    /// the bound around the truth.
    #[must_use]
    pub fn erratum(
        mut self,
        place: &str,
        [says, truth]: [&str; 2],
        printed: f64,
        [predicted, measured]: [f64; 2],
        bound: Bound,
    ) -> Self {
        let verdict = Verdict::new(predicted, measured, bound);
        self.errata.push(Erratum {
            place: place.to_owned(),
            says: says.to_owned(),
            truth: truth.to_owned(),
            printed,
            verdict,
            proved: verdict.pass && !bound.admits(printed),
        });
        self
    }

    /// Verdicts that agree, and all verdicts. An error of a source counts as one verdict: it agrees if
    /// it is proved.
    pub fn score(&self) -> (usize, usize) {
        let mut passes: Vec<bool> = self.panels.iter().flat_map(Panel::passes).collect();
        passes.extend(self.errata.iter().map(|e| e.proved));
        (passes.iter().filter(|p| **p).count(), passes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_erratum_is_proved_only_if_the_printed_number_is_outside_the_bound() {
        let bound = Bound::between(0.4, 0.6);
        let report = Report::default()
            .erratum("a", ["0.9", "0.5"], 0.9, [0.5, 0.51], bound)
            .erratum("b", ["0.55", "0.5"], 0.55, [0.5, 0.51], bound)
            .erratum("c", ["0.9", "0.5"], 0.9, [0.5, 0.7], bound);
        let proved: Vec<bool> = report.errata.iter().map(|e| e.proved).collect();
        assert_eq!(proved, [true, false, false]);
        assert_eq!(report.score(), (1, 3));
    }

    #[test]
    fn a_report_survives_its_file() {
        let mut rows = Rows::new("r", "rows", Axis::log("rate"));
        rows.row("one", 1.0, 1.5, Bound::at_most(2.0));
        let report = Report::default().rows(rows).note("remark");
        let text = serde_json::to_string(&report).unwrap();
        let back: Report = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        assert_eq!(back.score(), (1, 1));
    }
}
