//! Tables of capabilities.

use serde::{Deserialize, Serialize};

use super::verdict::{Line, Verdict};

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
    /// As [`Chart::id`](crate::Chart::id).
    pub id: String,
    /// Above the picture.
    pub title: String,
    /// The capabilities.
    pub columns: Vec<String>,
    /// The variants, each with a cell per capability.
    pub rows: Vec<(String, Vec<Option<Cell>>)>,
}

impl Cell {
    /// The cell as a comparison of numbers: 1 for yes and 0 for no.
    fn verdict(&self) -> Verdict {
        let shown = if self.shown == Flag::Yes { 1.0 } else { 0.0 };
        let expected = if self.pass { shown } else { 1.0 - shown };
        let bound = (Some(expected), Some(expected));
        Verdict { predicted: expected, measured: shown, bound, pass: self.pass }
    }
}

impl Matrix {
    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        self.rows.iter().flat_map(move |(name, cells)| {
            self.columns.iter().zip(cells).filter_map(move |(column, cell)| {
                let cell = cell.as_ref()?;
                let what = format!("{name}, {column}: {}", cell.how);
                Some(Line { panel: self.id.clone(), what, verdict: cell.verdict() })
            })
        })
    }
}
