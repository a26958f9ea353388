//! A report with what it takes to make it again: what is kept of a run.

use everbloom_report::{Report, Section};
use serde::{Deserialize, Serialize};

use crate::lab::{Effort, Experiment};

/// What an experiment found, and how it was run.
#[derive(Serialize, Deserialize)]
pub struct Finding {
    /// The name of the experiment.
    pub experiment: String,
    /// Document and place.
    pub source: String,
    /// The effort it was run with.
    pub effort: Effort,
    /// The seed that all others derived from.
    pub seed: u64,
    /// What was found.
    #[serde(flatten)]
    pub report: Report,
}

impl Finding {
    /// What `experiment` found.
    pub fn new(experiment: &Experiment, effort: Effort, seed: u64, report: Report) -> Self {
        let (name, source) = (experiment.name.to_owned(), experiment.source.to_owned());
        Self { experiment: name, source, effort, seed, report }
    }

    /// The section of a page, with title and explanation from the list; `command` runs it again.
    pub fn section<'a>(&'a self, listed: &'static Experiment, command: String) -> Section<'a> {
        let Experiment { title, shows, .. } = listed;
        let (name, source, report) = (&self.experiment, &self.source, &self.report);
        Section { name, source, title, shows, command, report }
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
