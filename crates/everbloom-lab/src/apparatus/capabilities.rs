//! Tables of capabilities, each cell demonstrated: what a survey says of a variant against what its
//! filters do. A variant joins a table by one line.

use everbloom::Result;

use super::checks::{self, Outcome};
use super::subject::Subject;
use super::{losses, parts};
use crate::{Bound, Cell, Flag, Lab, Matrix, Report};

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    Counting,
    Grouping,
    Deletion,
    Scalability,
    FalseNegatives,
    Parallelism,
    Decay,
    Popularity,
}

impl Capability {
    fn name(self) -> &'static str {
        match self {
            Capability::Counting => "Counting",
            Capability::Grouping => "Grouping",
            Capability::Deletion => "Deletion",
            Capability::Scalability => "Scalability",
            Capability::FalseNegatives => "FN",
            Capability::Parallelism => "Parallelism",
            Capability::Decay => "Decay",
            Capability::Popularity => "Popularity",
        }
    }

    fn check(self, subject: &Subject) -> Result<Option<Outcome>> {
        match self {
            Capability::Counting => checks::counting(subject),
            Capability::Grouping => checks::grouping(subject),
            Capability::Deletion => checks::deletion(subject),
            Capability::Scalability => checks::scalability(subject),
            Capability::FalseNegatives => losses::false_negatives(subject, false),
            Capability::Parallelism => parts::parallelism(subject),
            Capability::Decay => losses::decay(subject),
            Capability::Popularity => checks::popularity(subject),
        }
    }
}

/// A row of a table.
pub struct Row {
    /// Its name there.
    pub name: &'static str,
    /// The variant, its form, and settings besides.
    pub slug: &'static str,
    pub form: &'static str,
    pub settings: &'static [(&'static str, &'static str)],
    /// What the table says, a letter per column: `Y` yes, `N` no; `y` and `n` the same, but known to
    /// be wrong; `M` maybe; `-` left open here.
    pub said: &'static str,
    /// What is true instead, for each of the small letters in order.
    pub truths: &'static [&'static str],
}

impl Row {
    pub const fn new(
        name: &'static str,
        (slug, form): (&'static str, &'static str),
        said: &'static str,
    ) -> Self {
        Self { name, slug, form, settings: &[], said, truths: &[] }
    }

    /// The same row with what is true instead of its small letters.
    pub const fn but(self, truths: &'static [&'static str]) -> Self {
        Self { truths, ..self }
    }

    /// The same row with settings.
    pub const fn set(self, settings: &'static [(&'static str, &'static str)]) -> Self {
        Self { settings, ..self }
    }
}

/// A table of a survey.
pub struct Table {
    /// As [`Matrix::id`].
    pub id: &'static str,
    pub title: &'static str,
    /// Where it stands; nothing for rows that no survey's table has.
    pub place: Option<&'static str>,
    pub columns: &'static [Capability],
    pub rows: &'static [Row],
}

fn flag(yes: bool) -> Flag {
    if yes { Flag::Yes } else { Flag::No }
}

/// The cell for what is said, and whether that is known to be wrong.
fn cell(capability: Capability, letter: char, subject: &Subject) -> Result<Option<Cell>> {
    if letter == '-' {
        return Ok(None);
    }
    if letter == 'M' {
        // Maybe: none as long as the rules are kept, some when they are not.
        let kept = losses::false_negatives(subject, false)?;
        let broken = losses::false_negatives(subject, true)?;
        let (Some(kept), Some(broken)) = (kept, broken) else { return Ok(None) };
        let how = format!("maybe: {}; {}", kept.how, broken.how);
        let pass = !kept.shown && broken.shown;
        return Ok(Some(Cell { said: None, shown: flag(broken.shown), how, pass }));
    }
    let said = letter.eq_ignore_ascii_case(&'y');
    let right = letter.is_ascii_uppercase();
    Ok(capability.check(subject)?.map(|Outcome { shown, how }| Cell {
        said: Some(flag(said)),
        shown: flag(shown),
        how,
        pass: (said == shown) == right,
    }))
}

impl Table {
    /// Runs every check, and adds the table and its errors to a report.
    pub fn add_to(&self, lab: &Lab, mut report: Report) -> Result<Report> {
        let cells = lab.over(self.rows, |row| {
            let subject = Subject::new(row.slug, row.form, row.settings, lab.seed())?;
            let letters = row.said.chars();
            let pairs = self.columns.iter().zip(letters);
            pairs
                .map(|(column, letter)| cell(*column, letter, &subject))
                .collect::<Result<Vec<_>>>()
        })?;
        let mut rows = Vec::new();
        for (row, mut cells) in self.rows.iter().zip(cells) {
            let wrong = row.said.chars().enumerate().filter(|(_, c)| c.is_ascii_lowercase());
            for ((column, letter), truth) in wrong.zip(row.truths) {
                let (Some(place), Some(cell)) = (self.place, &cells[column]) else { continue };
                let number = |yes: bool| f64::from(u8::from(yes));
                let name = self.columns[column].name();
                let printed = letter == 'y';
                report = report.erratum(
                    &format!("{place}, {}, {name}", row.name),
                    [if printed { "Yes" } else { "No" }, truth],
                    number(printed),
                    [number(!printed), number(cell.shown == Flag::Yes)],
                    Bound::exactly(number(!printed), 0.0),
                );
            }
            if self.place.is_none() {
                cells.iter_mut().flatten().for_each(|cell| cell.said = None);
            }
            rows.push((row.name.to_owned(), cells));
        }
        Ok(report.matrix(Matrix {
            id: self.id.into(),
            title: self.title.into(),
            columns: self.columns.iter().map(|c| c.name().to_owned()).collect(),
            rows,
        }))
    }
}
