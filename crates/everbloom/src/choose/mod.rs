//! Which filter for a goal? Every variant of the list is planned for it, and those that fit are ranked.
//!
//! The answer is data: candidates in order, each with the goal that builds it, and the variants that do
//! not fit with the reason why. How it is worded is up to the front end.
//!
//! ```
//! use everbloom::choose;
//! use everbloom::Record;
//! use everbloom::Goal;
//!
//! let ranking = choose::rank(&Goal::new(1000, 0.01), &["delete", "merge"])?;
//! let best = &ranking.candidates[0];
//! let mut filter = best.variant.build_from(&best.goal, &[Record::key(b"apple")])?;
//! assert!(filter.contains(b"apple") && filter.as_remove().is_some());
//! # Ok::<(), everbloom::Error>(())
//! ```

mod candidate;

use std::fmt;

pub use candidate::Candidate;

use crate::catalog::VARIANTS;
use crate::error::{Error, Result};
use crate::filter::{EntryKind, FalseNegatives, NEEDS};
use crate::plan::Goal;
use crate::variant::Variant;

/// How candidates are compared: by what the goal leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Items, and perhaps a rate: the fewest bits per item.
    FewestBits,
    /// Items and bits: the lowest false-positive rate.
    LowestRate,
    /// Bits, and perhaps a rate: the most items.
    MostItems,
}

impl Aim {
    /// What the goal leaves open.
    pub fn of(goal: &Goal) -> Self {
        match (goal.bits, goal.items, goal.fpr) {
            (Some(_), Some(_), None) => Aim::LowestRate,
            (Some(_), None, _) => Aim::MostItems,
            _ => Aim::FewestBits,
        }
    }

    fn cost(self, candidate: &Candidate) -> f64 {
        match self {
            Aim::FewestBits => candidate.bits_per_item(),
            Aim::LowestRate => candidate.expect.fpr,
            Aim::MostItems => 1.0 / candidate.items as f64,
        }
    }
}

/// Every variant that serves the needs, as far as the goal allows.
#[derive(Debug)]
pub struct Ranking {
    /// What the candidates are compared by.
    pub aim: Aim,
    /// Those that fit, best first. All without false negatives come before those with some. Unless a need says that the
    /// set never changes, those that take keys one by one come before those that are built once.
    pub candidates: Vec<Candidate>,
    /// Those that serve the needs and are sized when they are built, since their size depends on the records.
    pub open_ended: Vec<&'static Variant>,
    /// Those that do not fit, in the order of the list.
    pub refused: Vec<Refusal>,
    /// Whether the needs say that the set never changes.
    fixed: bool,
}

/// A variant that serves the needs and does not fit the goal.
#[derive(Debug)]
pub struct Refusal {
    /// The variant.
    pub variant: &'static Variant,
    /// Why it does not fit.
    pub why: Why,
}

/// Why a variant does not fit a goal.
#[derive(Debug)]
pub enum Why {
    /// There is no formula for its size.
    NoFormula,
    /// So many of the non-members would pass that the answer is worth nothing.
    Useless {
        /// What share of them.
        fpr: f64,
        /// The bits that 1 % takes, where that is known.
        enough: Option<u64>,
    },
    /// The goal's bits are too few for a single item.
    TooFewBits {
        /// What one item takes.
        least: u64,
    },
    /// The variant refuses the goal.
    Refused(Error),
}

impl From<Error> for Why {
    fn from(e: Error) -> Self {
        Why::Refused(e)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::NoFormula => f.write_str("no formula for its size"),
            Why::Useless { fpr, enough: None } => {
                write!(f, "the false-positive rate would be {:.0} %", 100.0 * fpr)
            }
            Why::Useless { fpr, enough: Some(bits) } => {
                write!(
                    f,
                    "the false-positive rate would be {:.0} %; 1 % needs {bits} bits",
                    100.0 * fpr
                )
            }
            Why::TooFewBits { least } => write!(f, "a single item takes {least} bits"),
            Why::Refused(e) => e.fmt(f),
        }
    }
}

/// Why a candidate has its rank.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reason {
    /// What it was compared by.
    pub aim: Aim,
    /// What its form promises to members.
    pub false_negatives: FalseNegatives,
    /// Its bits as a multiple of the lower bound; see [`Candidate::times_bound`].
    pub times_bound: Option<f64>,
    /// What puts it before the next one, if there is one.
    pub lead: Option<Lead>,
}

/// What puts a candidate before the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lead {
    /// The next has false negatives, this one has none.
    NoFalseNegatives,
    /// The next is built once from all keys, this one takes them one by one.
    OneByOne,
    /// The next takes this share more bits per item: 0.1 for 10 %.
    Bits(f64),
    /// The next has this false-positive rate.
    Rate(f64),
    /// The next holds this many items.
    Items(u64),
}

impl Ranking {
    /// Puts the candidates in order: for rankings that were joined.
    pub fn sort(&mut self) {
        let (aim, fixed) = (self.aim, self.fixed);
        let rank = |c: &Candidate| (c.misses(), c.is_built_once() && !fixed, aim.cost(c));
        self.candidates.sort_by(|a, b| {
            let ((miss, built, cost), (misses, is_built, costs)) = (rank(a), rank(b));
            miss.cmp(&misses).then(built.cmp(&is_built)).then(cost.total_cmp(&costs))
        });
    }

    /// The best of those that are built once, where it is better than all that take keys one by one: worth a word to whoever
    /// did not say that the set never changes.
    pub fn better_if_fixed(&self) -> Option<&Candidate> {
        let best = self.candidates.first().filter(|best| !best.is_built_once())?;
        let once = self.candidates.iter().find(|c| c.is_built_once() && !c.misses())?;
        (self.aim.cost(once) < self.aim.cost(best)).then_some(once)
    }

    /// Why the candidate at `place`, counted from 0, has this rank; `None` if there is none.
    pub fn reason(&self, place: usize) -> Option<Reason> {
        let this = self.candidates.get(place)?;
        let lead = self.candidates.get(place + 1).map(|next| match self.aim {
            _ if next.misses() && !this.misses() => Lead::NoFalseNegatives,
            _ if next.is_built_once() && !this.is_built_once() => Lead::OneByOne,
            Aim::FewestBits => Lead::Bits(next.bits_per_item() / this.bits_per_item() - 1.0),
            Aim::LowestRate => Lead::Rate(next.expect.fpr),
            Aim::MostItems => Lead::Items(next.items),
        });
        Some(Reason {
            aim: self.aim,
            false_negatives: this.form.false_negatives,
            times_bound: this.times_bound(),
            lead,
        })
    }
}

/// The filters that serve every one of `needs`, words of [`NEEDS`], in the order of the list. No need at
/// all means membership.
pub fn serving(needs: &[&str]) -> Result<Vec<&'static Variant>> {
    if let Some(need) = needs.iter().find(|need| !NEEDS.iter().any(|(name, _)| name == *need)) {
        let names: Vec<_> = NEEDS.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        return Err(Error::parameter(format!("unknown need {need:?}: the needs are {names}")));
    }
    let needs = if needs.is_empty() { &["membership"] } else { needs };
    let serves = |v: &&Variant| needs.iter().all(|need| v.needs.contains(need));
    let filters = VARIANTS.iter().copied().filter(|v| v.kind == EntryKind::Filter);
    Ok(filters.filter(serves).collect())
}

/// Plans every variant that serves `needs` for `goal`, which names items, bits or both, and ranks those
/// that fit. Settings of the goal are taken by variants that have them; the others refuse.
pub fn rank(goal: &Goal, needs: &[&str]) -> Result<Ranking> {
    rank_of(goal, needs, None)
}

/// [`rank`] for one variant alone, if one is named by its slug.
pub fn rank_of(goal: &Goal, needs: &[&str], kind: Option<&str>) -> Result<Ranking> {
    let mut variants = serving(needs)?;
    if let Some(slug) = kind {
        let all = VARIANTS.iter().copied().filter(|v| v.kind == EntryKind::Filter);
        let named: Vec<_> = all.filter(|v| v.slug == slug).collect();
        if named.is_empty() {
            return Err(Error::parameter(format!("there is no filter called {slug:?}")));
        }
        variants = if needs.is_empty() { named } else { variants };
        variants.retain(|v| v.slug == slug);
    }
    let sized = goal.settings.iter().any(|(name, _)| name == "m");
    if goal.items.is_none() && goal.bits.is_none() && !sized {
        return Err(Error::parameter("how many items? the goal names neither items nor bits"));
    }
    let aim = if sized && goal.items.is_none() { Aim::MostItems } else { Aim::of(goal) };
    let (mut candidates, mut open_ended, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for variant in variants {
        match candidate::plan(variant, goal, needs) {
            Ok(candidate) => candidates.push(candidate),
            Err(Why::NoFormula) => open_ended.push(variant),
            Err(why) => refused.push(Refusal { variant, why }),
        }
    }
    // Those first that are made for so many; a stable sort keeps the order of the list among them.
    open_ended.sort_by_key(|variant| goal.items.is_some_and(|n| n > variant.reach));
    let fixed = needs.contains(&"static");
    let mut ranking = Ranking { aim, candidates, open_ended, refused, fixed };
    ranking.sort();
    Ok(ranking)
}

#[cfg(test)]
mod tests;
