//! An application beside its exact twin.

use crate::{Axis, Bound, Report, Rows};

/// Counts of answers that differ from the exact twin's: a panel of every application's report.
///
/// ```
/// use everbloom_lab::Oracle;
/// let mut oracle = Oracle::default();
/// oracle.equal("routes", [(10, 10), (20, 20)]);
/// assert_eq!(oracle.report().score(), (1, 1));
/// ```
pub struct Oracle {
    rows: Rows,
}

impl Default for Oracle {
    fn default() -> Self {
        let axis = Axis::linear("answers that differ from the exact twin's");
        Self { rows: Rows::new("oracle", "Beside the exact twin", axis) }
    }
}

impl Oracle {
    /// Judges answers that must all be the twin's: pairs of ours and theirs.
    pub fn equal<T: PartialEq>(&mut self, what: &str, pairs: impl IntoIterator<Item = (T, T)>) {
        let (mut all, mut wrong) = (0u64, 0u64);
        for (ours, theirs) in pairs {
            all += 1;
            wrong += u64::from(ours != theirs);
        }
        self.none(&format!("{what} ({all} compared)"), wrong);
        if all == 0 {
            // Nothing compared is nothing shown.
            self.rows.row(format!("{what}: compared"), 1.0, 0.0, Bound::at_least(1.0));
        }
    }

    /// Judges a count that must be zero, such as members that were missed.
    pub fn none(&mut self, what: &str, wrong: u64) {
        self.rows.row(what, 0.0, wrong as f64, Bound::exactly(0.0, 0.0));
    }

    /// A report that begins with this panel.
    pub fn report(self) -> Report {
        Report::default().rows(self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_answer_disagrees_and_so_do_none_compared() {
        let mut oracle = Oracle::default();
        oracle.equal("pairs", [(1, 1), (2, 3)]);
        assert_eq!(oracle.report().score(), (0, 1));
        let mut empty = Oracle::default();
        empty.equal("pairs", std::iter::empty::<(u8, u8)>());
        assert_eq!(empty.report().score(), (1, 2));
    }
}
