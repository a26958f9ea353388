//! The promises, each as a ratio of ours to a peer in the same run, and whether it is kept; in groups that can be
//! run alone.

mod membership;
pub mod records;
mod sketches;
mod tables;

use crate::measure::{Case, Figure, Result, least, median, median_ratio};

/// Promises about filters of one kind.
pub struct Group {
    pub name: &'static str,
    /// Numbers of keys, unless others are asked for.
    pub sizes: &'static [u64],
    /// Measures these sizes: who takes part in the promises, or everyone there is.
    pub run: fn(&[u64], bool) -> Measured,
}

pub const GROUPS: &[Group] = &[
    Group { name: "membership", sizes: membership::SIZES, run: membership::run },
    Group { name: "cuckoo", sizes: tables::SIZES, run: tables::cuckoo },
    Group { name: "quotient", sizes: tables::SIZES, run: tables::quotient },
    Group { name: "hyperloglog", sizes: sketches::SIZES, run: sketches::hyperloglog },
    Group { name: "top-k", sizes: sketches::SIZES, run: sketches::top_k },
    Group { name: "count-min", sizes: sketches::SIZES, run: sketches::count_min },
    Group { name: "k-mer", sizes: records::KMERS, run: records::kmer },
    Group { name: "clk", sizes: records::RECORDS, run: records::clk },
];

/// What came of a group.
#[derive(Default)]
pub struct Measured {
    pub results: Vec<Result>,
    pub lines: Vec<Line>,
}

/// A promise and what came of it: medians of ours and of the peer's, the median of their quotients round by
/// round, which decides, and the quotient of their best rounds, which says what a quiet machine would show.
pub struct Line {
    pub what: String,
    pub peer: String,
    pub ours: f64,
    pub theirs: f64,
    pub ratio: f64,
    pub best: f64,
    pub limit: f64,
}

pub const KEPT: &str = "kept";
/// So little beyond the limit that the next run may be within.
pub const CLOSE: &str = "CLOSE";
pub const MISSED: &str = "MISSED";

impl Line {
    /// A promise about times of the same rounds.
    fn of(what: String, peer: &str, ours: &[f64], theirs: &[f64], limit: f64) -> Self {
        let middle = |times: &[f64]| median(times.to_vec());
        Self {
            what,
            peer: peer.to_owned(),
            ours: middle(ours),
            theirs: middle(theirs),
            ratio: median_ratio(ours, theirs),
            best: least(ours) / least(theirs),
            limit,
        }
    }

    pub fn kept(&self) -> bool {
        self.word() == KEPT
    }

    /// What came of it in a word.
    pub fn word(&self) -> &'static str {
        match self.ratio / self.limit {
            share if share <= 1.0 => KEPT,
            share if share <= 1.03 => CLOSE,
            _ => MISSED,
        }
    }
}

/// All sizes at all rates.
fn cases(sizes: &[u64], rates: &[f64]) -> Vec<Case> {
    let of = |&items: &u64| rates.iter().map(move |&rate| Case { items, rate: Some(rate) });
    sizes.iter().flat_map(of).collect()
}

/// The results of one case.
struct Table<'a> {
    results: &'a [Result],
    case: Case,
}

impl Table<'_> {
    /// The median of a figure.
    fn get(&self, name: &str, figure: Figure) -> Option<f64> {
        let mine = self.results.iter().find(|r| r.name == name && r.case == self.case);
        mine.and_then(|r| r.median.get(figure))
    }

    fn label(&self, name: &str, op: Figure) -> String {
        let (name, op) = (name.trim_start_matches("everbloom "), op.name());
        format!("{name} {op}, {}", label(self.case))
    }

    /// Those of some peers that keep the rate.
    fn honest<'p>(&self, peers: &[&'p str]) -> Vec<&'p str> {
        let most = 1.1 * self.case.rate.unwrap_or(1.0);
        let keeps = |peer: &&&str| self.get(peer, Figure::Rate).is_some_and(|rate| rate <= most);
        peers.iter().filter(keeps).copied().collect()
    }

    /// The promise that a filter keeps its rate.
    fn keeps_rate(&self, name: &str) -> Option<Line> {
        let measured = self.get(name, Figure::Rate)?;
        let what = self.label(name, Figure::Rate);
        Some(Line::of(what, "target", &[measured], &[self.case.rate?], 1.05))
    }

    /// The promise that a figure is `most` at most, a limit of its own and not a peer's.
    fn within(&self, name: &str, figure: Figure, most: f64) -> Option<Line> {
        let measured = self.get(name, figure)?;
        Some(Line::of(self.label(name, figure), "budget", &[measured], &[most], 1.0))
    }

    /// The times of an operation, round by round.
    fn times(&self, name: &str, op: Figure) -> Option<Vec<f64>> {
        let mine = self.results.iter().find(|r| r.name == name && r.case == self.case)?;
        mine.rounds.iter().map(|round| round.get(op)).collect()
    }

    /// A promise of one operation of ours against the best of some peers.
    fn line(&self, name: &str, op: Figure, peers: &[&str], limit: f64) -> Option<Line> {
        let ours = self.times(name, op)?;
        let theirs = peers.iter().filter_map(|peer| Some((self.times(peer, op)?, *peer)));
        let (theirs, peer) = theirs
            .max_by(|a, b| median_ratio(&ours, &a.0).total_cmp(&median_ratio(&ours, &b.0)))?;
        Some(Line::of(self.label(name, op), peer, &ours, &theirs, limit))
    }
}

/// Whether this is compiled for the processor it runs on, rather than for any.
pub const NATIVE: bool = cfg!(target_feature = "avx2");

/// What a case is about: 10k at 1 %, 1M.
pub fn label(case: Case) -> String {
    let rate = case.rate.map(|rate| format!(" at {} %", rate * 100.0));
    size(case.items) + &rate.unwrap_or_default()
}

/// 10k, 1M.
pub fn size(items: u64) -> String {
    match items {
        n if n >= 1_000_000 && n % 1_000_000 == 0 => format!("{}M", n / 1_000_000),
        n if n >= 1000 && n % 1000 == 0 => format!("{}k", n / 1000),
        n => n.to_string(),
    }
}
