//! Tables of capabilities, each cell demonstrated: what a survey says of a variant against what its
//! filters do. A variant joins a table by one line.

use everbloom::Result;

use super::checks::{self, Outcome};
use super::subject::{PLANNED, Subject};
use super::{losses, parts};
use crate::{Bound, Cell, Flag, Grade, Lab, Matrix, Report, Said, Shown};

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

    fn check(self, subject: &Subject) -> Result<Outcome> {
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
    /// What the table says, a letter per column: `Y` yes, `N` no, `M` maybe; `y` and `n` the same, but known to be
    /// wrong; `-` nothing. `i` is a yes and `I` a no that is shown beside what was seen and not judged by it.
    pub said: &'static str,
    /// What is true instead, for each of the small letters in order.
    pub truths: &'static [Truth],
}

/// What is true where a table is wrong, and what kind of error that is.
pub type Truth = (Grade, &'static str);

impl Row {
    pub const fn new(
        name: &'static str,
        (slug, form): (&'static str, &'static str),
        said: &'static str,
    ) -> Self {
        Self { name, slug, form, settings: &[], said, truths: &[] }
    }

    /// The same row with what is true instead of its small letters.
    pub const fn but(self, truths: &'static [Truth]) -> Self {
        Self { truths, ..self }
    }

    /// The same row with settings.
    pub const fn set(self, settings: &'static [(&'static str, &'static str)]) -> Self {
        Self { settings, ..self }
    }
}

impl Row {
    /// Cells that a query for a member looks at, on average, and the number of hashes, where the filter tells them.
    pub fn accesses(&self, seed: u64) -> Result<Option<(f64, Option<f64>)>> {
        let subject = Subject::new(self.slug, self.form, self.settings, seed)?;
        let keys = subject.members(PLANNED);
        let records = keys.records();
        let filter = subject.build(&records)?;
        let cells: usize = records.iter().map(|record| filter.trace(record.key).len()).sum();
        let facts = filter.describe();
        let k = facts.iter().find(|fact| fact.name == "k");
        let k = k.and_then(|fact| fact.value.to_string().parse().ok());
        Ok((cells > 0).then(|| (cells as f64 / records.len() as f64, k)))
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

/// What a letter says.
fn said(letter: char) -> Flag {
    match letter {
        'Y' | 'y' | 'i' => Flag::Yes,
        'N' | 'n' | 'I' => Flag::No,
        'M' => Flag::Maybe,
        _ => Flag::Open,
    }
}

/// The cell for what is said.
fn cell(capability: Capability, letter: char, subject: &Subject) -> Result<Cell> {
    let said = said(letter);
    if said == Flag::Maybe && capability == Capability::FalseNegatives {
        // Maybe: none as long as the rules are kept, some when they are not.
        let [kept, broken] = [false, true].map(|misuse| losses::false_negatives(subject, misuse));
        let (kept, broken) = (kept?, broken?);
        let pass = !kept.works() && broken.works();
        let shown = if pass { Shown::Depends } else { broken.shown };
        let how = format!("{}; {}", kept.how, broken.how);
        return Ok(Cell { said: Some(said), shown, how, pass });
    }
    // What a check cannot do with a variant's records shows nothing.
    let Outcome { shown, how } = capability
        .check(subject)
        .unwrap_or_else(|error| Outcome::new(Shown::Unseen, error.to_string()));
    let pass = match letter {
        'Y' | 'N' => !shown.contradicts(said),
        'y' | 'n' => shown.contradicts(said) || shown == Shown::NotOffered,
        _ => true,
    };
    Ok(Cell { said: Some(said), shown, how, pass })
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
            let wrong = row.said.chars().enumerate().filter(|(_, c)| matches!(c, 'y' | 'n'));
            for ((column, letter), (grade, truth)) in wrong.zip(row.truths) {
                let Some(place) = self.place else { continue };
                let number = |yes: bool| f64::from(u8::from(yes));
                let printed = letter == 'y';
                report = report.graded(
                    *grade,
                    &format!("{place}, {}, {}", row.name, self.columns[column].name()),
                    [if printed { "“Yes”" } else { "“No”" }, truth],
                    Said::Follows(number(printed)),
                    [number(!printed), number(cells[column].shown == Shown::Works)],
                    Bound::exactly(number(!printed), 0.0),
                );
            }
            if self.place.is_none() {
                cells.iter_mut().for_each(|cell| cell.said = None);
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
