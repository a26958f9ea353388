//! Tables of capabilities.

use serde::{Deserialize, Serialize};

use super::verdict::{Line, Verdict};

/// What a table of a survey says in one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flag {
    /// The capability is there.
    Yes,
    /// It is not.
    No,
    /// It depends.
    Maybe,
    /// The survey leaves it open.
    Open,
}

impl Flag {
    /// As the table writes it.
    pub fn name(self) -> &'static str {
        match self {
            Flag::Yes => "yes",
            Flag::No => "no",
            Flag::Maybe => "maybe",
            Flag::Open => "–",
        }
    }
}

/// What was seen of a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// It was used, and worked.
    Works,
    /// It was tried, and failed: there is a counter-example.
    Fails,
    /// It works under a condition and fails without it; both were tried.
    Depends,
    /// These filters do not offer it, so that nothing was tried.
    NotOffered,
    /// What would show it cannot be seen from outside.
    Unseen,
}

impl Shown {
    /// Its name in the picture.
    pub fn name(self) -> &'static str {
        match self {
            Shown::Works => "works",
            Shown::Fails => "fails",
            Shown::Depends => "depends",
            Shown::NotOffered => "not offered",
            Shown::Unseen => "not seen",
        }
    }

    /// Whether it is the opposite of what the survey says. What these filters do not offer others may, and what
    /// was not seen says nothing.
    pub fn contradicts(self, said: Flag) -> bool {
        matches!(
            (self, said),
            (Shown::Works | Shown::Depends, Flag::No) | (Shown::Fails, Flag::Yes | Flag::Maybe)
        )
    }
}

/// A capability of a variant: what the survey says and what a check showed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The survey's flag; none in a table that no survey has.
    pub said: Option<Flag>,
    /// What the check showed.
    pub shown: Shown,
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
    pub rows: Vec<(String, Vec<Cell>)>,
}

impl Cell {
    /// The cell as a comparison of numbers: 1 where the capability works, or may, and 0 otherwise.
    fn verdict(&self) -> Verdict {
        let shown = f64::from(u8::from(matches!(self.shown, Shown::Works | Shown::Depends)));
        let expected = if self.pass { shown } else { 1.0 - shown };
        let bound = (Some(expected), Some(expected));
        Verdict { predicted: expected, measured: shown, bound, pass: self.pass }
    }
}

impl Matrix {
    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        self.rows.iter().flat_map(move |(name, cells)| {
            self.columns.iter().zip(cells).map(move |(column, cell)| {
                let what = format!("{name}, {column}: {}: {}", cell.shown.name(), cell.how);
                Line {
                    series: name.clone(),
                    unit: column.clone(),
                    survey: cell.said.map_or(String::new(), |said| said.name().to_owned()),
                    ..Line::new(&self.id, what, cell.verdict())
                }
            })
        })
    }
}
