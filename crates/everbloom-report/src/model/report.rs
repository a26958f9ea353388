//! All that one experiment found.

use serde::{Deserialize, Serialize};

use super::chart::Chart;
use super::drawing::Drawing;
use super::matrix::Matrix;
use super::rows::Rows;
use super::verdict::{Bound, Line, Verdict};

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
    /// A network.
    Drawing(Drawing),
}

impl Panel {
    /// The part of the file name.
    pub fn id(&self) -> &str {
        match self {
            Panel::Chart(chart) => &chart.id,
            Panel::Rows(rows) => &rows.id,
            Panel::Matrix(matrix) => &matrix.id,
            Panel::Drawing(drawing) => &drawing.id,
        }
    }

    /// The title.
    pub fn title(&self) -> &str {
        match self {
            Panel::Chart(chart) => &chart.title,
            Panel::Rows(rows) => &rows.title,
            Panel::Matrix(matrix) => &matrix.title,
            Panel::Drawing(drawing) => &drawing.title,
        }
    }

    fn lines(&self) -> Vec<Line> {
        match self {
            Panel::Chart(chart) => chart.lines().collect(),
            Panel::Rows(rows) => rows.lines().collect(),
            Panel::Matrix(matrix) => matrix.lines().collect(),
            Panel::Drawing(_) => Vec::new(),
        }
    }
}

/// What kind of error of a source it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// A slip of the pen in a formula or a sign; what is meant is clear.
    Misprint,
    /// Another place of the same document says the opposite, and that one is right.
    Contradiction,
    /// The sentence means what it says, and measurement shows otherwise.
    #[default]
    Disproved,
    /// True under another reading of the words; the reading that is measured is stated.
    Disputed,
}

impl Grade {
    /// Its name on pages.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Misprint => "misprint",
            Grade::Contradiction => "contradicts itself",
            Grade::Disproved => "disproved by measurement",
            Grade::Disputed => "disputed reading",
        }
    }
}

/// The number in which a sentence is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Said {
    /// It stands in the source.
    Printed(f64),
    /// It follows from what stands there.
    Follows(f64),
}

impl Said {
    /// The number.
    pub fn number(self) -> f64 {
        match self {
            Said::Printed(number) | Said::Follows(number) => number,
        }
    }
}

/// An error of a source, with the measurement that proves it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Erratum {
    /// Where, such as "S3 eq. 5".
    pub place: String,
    /// What kind of error it is.
    pub grade: Grade,
    /// The sentence or formula of the source, quoted.
    pub says: String,
    /// What is true.
    pub truth: String,
    /// The number of the source, or the one that follows from its text.
    pub said: Said,
    /// The number that follows from what is true, what was measured, and the bound around the truth.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Whether the measurement agrees with the truth, and the source's number lies outside the bound.
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

    /// Adds a drawing of a network.
    #[must_use]
    pub fn drawing(mut self, drawing: Drawing) -> Self {
        self.panels.push(Panel::Drawing(drawing));
        self
    }

    /// Adds a remark.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds an error of the source that measurement disproves: the number that follows from it against the true
    /// one, its measurement and the bound around the truth.
    #[must_use]
    pub fn erratum(
        self,
        place: &str,
        texts: [&str; 2],
        printed: f64,
        numbers: [f64; 2],
        bound: Bound,
    ) -> Self {
        self.graded(Grade::Disproved, place, texts, Said::Follows(printed), numbers, bound)
    }

    /// Adds an error of the source of any kind: what it says and what is true, the source's number, the true one
    /// and its measurement, and the bound around the truth.
    #[must_use]
    pub fn graded(
        mut self,
        grade: Grade,
        place: &str,
        [says, truth]: [&str; 2],
        said: Said,
        [predicted, measured]: [f64; 2],
        bound: Bound,
    ) -> Self {
        let verdict = Verdict::new(predicted, measured, bound);
        self.errata.push(Erratum {
            place: place.to_owned(),
            grade,
            says: says.to_owned(),
            truth: truth.to_owned(),
            said,
            verdict,
            proved: verdict.pass && !bound.admits(said.number()),
        });
        self
    }

    /// Every verdict. An error of a source counts as one: it agrees if it is proved.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.panels.iter().flat_map(Panel::lines).collect();
        lines.extend(self.errata.iter().map(|erratum| {
            let verdict = Verdict { pass: erratum.proved, ..erratum.verdict };
            let survey = erratum.said.number().to_string();
            Line { survey, ..Line::new("erratum", erratum.place.clone(), verdict) }
        }));
        lines
    }

    /// Verdicts that agree, and all verdicts.
    pub fn score(&self) -> (usize, usize) {
        let lines = self.lines();
        (lines.iter().filter(|line| line.verdict.pass).count(), lines.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Cell, Flag, Shown};

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

    #[test]
    fn a_capability_counts_as_a_number() {
        let cell = |shown, pass| Cell { said: Some(Flag::No), shown, how: "tried".into(), pass };
        let cells = vec![cell(Shown::Fails, true), cell(Shown::Works, false)];
        let matrix = Matrix {
            id: "m".into(),
            title: "capabilities".into(),
            columns: vec!["delete".into(), "count".into()],
            rows: vec![("bloom".into(), cells)],
        };
        let report = Report::default().matrix(matrix);
        assert_eq!(report.score(), (1, 2));
        let lines = report.lines();
        assert_eq!((lines[0].verdict.predicted, lines[0].verdict.measured), (0.0, 0.0));
        assert_eq!(lines[0].survey, "no");
        let complaint = "m: bloom, count: works: tried: predicted 0, measured 1, outside 0 to 0";
        assert_eq!(lines[1].complaint(), complaint);
        assert!(Shown::Works.contradicts(Flag::No) && Shown::Fails.contradicts(Flag::Yes));
        assert!(!Shown::NotOffered.contradicts(Flag::Yes) && !Shown::Fails.contradicts(Flag::Open));
    }
}
