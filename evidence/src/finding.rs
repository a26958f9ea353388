//! A report with what it takes to make it again: what is kept of a run.

use everbloom_report::{Report, Section};
use serde::{Deserialize, Serialize};

use crate::lab::{Effort, Experiment};

/// What a result was made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The version of this crate; empty in results that were not stamped yet.
    #[serde(default)]
    pub version: String,
    /// A digest of the library's and the lab's sources.
    #[serde(default)]
    pub sources: String,
    /// The effort it was run with.
    pub effort: Effort,
    /// The seed that all others derived from.
    pub seed: u64,
}

impl Stamp {
    /// The stamp of what is run now.
    pub fn now(effort: Effort, seed: u64) -> Self {
        let (version, sources) = (env!("CARGO_PKG_VERSION"), env!("EVERBLOOM_SOURCES"));
        Self { version: version.to_owned(), sources: sources.to_owned(), effort, seed }
    }

    /// Whether it was made by other sources than these.
    pub fn is_older(&self) -> bool {
        *self != Self::now(self.effort, self.seed)
    }
}

/// What an experiment found, and how it was run.
#[derive(Serialize, Deserialize)]
pub struct Finding {
    /// The name of the experiment.
    pub experiment: String,
    /// Document and place.
    pub source: String,
    /// What it was made with.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// What was found.
    #[serde(flatten)]
    pub report: Report,
}

impl Finding {
    /// What `experiment` found.
    pub fn new(experiment: &Experiment, effort: Effort, seed: u64, report: Report) -> Self {
        let (name, source) = (experiment.name.to_owned(), experiment.source.to_owned());
        Self { experiment: name, source, stamp: Stamp::now(effort, seed), report }
    }

    /// The section of a page, with title and explanation from the list; `command` runs it again.
    pub fn section<'a>(&'a self, listed: &'static Experiment, command: String) -> Section<'a> {
        let Experiment { title, shows, .. } = listed;
        let (name, source, report) = (&self.experiment, &self.source, &self.report);
        let older = self.stamp.is_older().then_some(self.stamp.version.as_str());
        Section { name, source, title, shows, command, older, report }
    }
}

/// The documents that experiments name as their sources.
pub const SOURCES: [(&str, &str); 5] = [
    (
        "S0",
        "S. Tarkoma, C. E. Rothenberg, E. Lagerspetz: Theory and Practice of Bloom Filters for Distributed Systems",
    ),
    ("S1", "A. Broder, M. Mitzenmacher: Network Applications of Bloom Filters: A Survey"),
    ("S2", "R. P. Laufer, P. B. Velloso, O. C. M. B. Duarte: Generalized Bloom Filters"),
    (
        "S3",
        "L. Luo, D. Guo, R. T. B. Ma, O. Rottenstreich, X. Luo: Optimizing Bloom Filter: Challenges, Solutions, and Comparisons",
    ),
    (
        "S4",
        "an excerpt of a thesis on counting filters (counting, spectral, dynamic count, d-left)",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_other_sources_are_older() {
        let now = Stamp::now(Effort::Quick, 1);
        assert!(!now.is_older() && now.sources.len() == 16);
        assert!(Stamp { sources: "0".into(), ..now.clone() }.is_older());
        assert!(!Stamp { effort: Effort::Thorough, seed: 2, ..now }.is_older());
    }
}
