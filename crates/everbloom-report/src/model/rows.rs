//! Verdicts one below the other.

use serde::{Deserialize, Serialize};

use super::chart::Axis;
use super::verdict::{Bound, Line, Verdict};

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
    /// As [`Chart::id`](crate::Chart::id).
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

    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        self.rows.iter().map(|row| Line {
            series: row.label.clone(),
            unit: self.value.name.clone(),
            ..Line::new(&self.id, row.label.clone(), row.verdict)
        })
    }
}
