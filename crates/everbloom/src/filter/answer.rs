//! What filters say: answers, counts, predicted rates, and facts of their shape.

use std::fmt;

/// What a filter says of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not a member.
    Absent,
    /// A member, or a false positive.
    Present,
    /// The filter cannot tell.
    Undecided,
}

/// What a filter knows beyond the verdict.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Detail {
    /// Nothing.
    None,
    /// The key's multiplicity.
    Count(Counted),
    /// The key's value.
    Value(Vec<u8>),
    /// The groups the key may belong to.
    Labels(Vec<Vec<u8>>),
    /// Keys, ids or offsets that the query found.
    List(Vec<Vec<u8>>),
    /// A degree of similarity or belief.
    Score(f64),
}

/// A count, and how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// The number.
    pub value: Number,
    /// What the number says of the true count.
    pub bound: Bound,
}

/// A count as a number: whole, below zero where deletions outnumber insertions, or an average.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Number {
    /// A whole number.
    Whole(u64),
    /// A whole number that may be below zero.
    Signed(i64),
    /// A real number.
    Real(f64),
}

/// What a count says of the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// It is the true one.
    Exact,
    /// It is close, by the error that the filter predicts.
    Estimate,
    /// The true one is not smaller.
    AtLeast,
    /// The true one is not larger, and may be far smaller.
    AtMost,
    /// A counter is stuck at its maximum: the true one is not smaller, and may be far larger.
    Saturated,
}

impl Counted {
    /// An estimate.
    pub const fn about(count: u64) -> Self {
        Self { value: Number::Whole(count), bound: Bound::Estimate }
    }

    /// The true count.
    pub const fn exactly(count: u64) -> Self {
        Self { value: Number::Whole(count), bound: Bound::Exact }
    }

    /// The count of a cell that is stuck if `stuck`.
    pub const fn stuck_if(stuck: bool, count: u64) -> Self {
        let bound = if stuck { Bound::Saturated } else { Bound::Estimate };
        Self { value: Number::Whole(count), bound }
    }

    /// The number as a whole one that is not below zero.
    pub fn whole(self) -> u64 {
        match self.value {
            Number::Whole(v) => v,
            Number::Signed(v) => v.max(0).unsigned_abs(),
            Number::Real(v) => v.round() as u64,
        }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.bound {
            Bound::AtLeast | Bound::Saturated => "≥",
            Bound::AtMost => "≤",
            Bound::Exact | Bound::Estimate => "",
        })?;
        match self.value {
            Number::Whole(v) => v.fmt(f),
            Number::Signed(v) => v.fmt(f),
            Number::Real(v) => v.fmt(f),
        }
    }
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Member, not a member, or undecided.
    pub verdict: Verdict,
    /// What else is known.
    pub detail: Detail,
}

impl Answer {
    /// Present or absent, with the count: in a difference, counts below 1 say nothing of the key.
    pub(crate) fn in_difference(found: bool, count: u64) -> Self {
        let detail = if count > 0 { Detail::Count(Counted::about(count)) } else { Detail::None };
        Answer::of(found).with(detail)
    }

    /// Present if `present`, else absent, with no detail.
    #[inline]
    pub fn of(present: bool) -> Self {
        let verdict = if present { Verdict::Present } else { Verdict::Absent };
        Self { verdict, detail: Detail::None }
    }

    /// Present with a count above zero, absent without.
    pub fn counted(count: Counted) -> Self {
        Self::of(count.whole() > 0).with(Detail::Count(count))
    }

    /// The same verdict with a detail.
    #[must_use]
    pub fn with(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }
}

/// What an insertion found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The key was certainly not there before.
    New,
    /// The key, or others that cover it, may have been there before.
    Maybe,
}

impl Seen {
    /// [`Seen::New`] if `new`.
    #[inline(always)]
    pub(crate) fn new_if(new: bool) -> Self {
        if new { Seen::New } else { Seen::Maybe }
    }
}

/// Rates a filter predicts of itself, from its real fill. `None` where it has no formula.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Rates {
    /// P(present | not a member).
    pub fpr: Option<f64>,
    /// P(absent | a member), over the members in it.
    pub fnr: Option<f64>,
    /// P(undecided | not a member).
    pub undecided: Option<f64>,
}

impl Rates {
    /// A rate of false positives, and no false negatives.
    pub fn one_sided(fpr: f64) -> Self {
        Self { fpr: Some(fpr), fnr: Some(0.0), undecided: None }
    }

    /// P(not absent | not a member): what a filter lets pass, decided or not.
    pub fn passing(&self) -> Option<f64> {
        Some((self.fpr? + self.undecided.unwrap_or(0.0)).min(1.0))
    }
}

/// A cell that a query looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Touched {
    /// Its index.
    pub index: u64,
    /// What it holds.
    pub value: u64,
    /// Whether it speaks for the key being a member.
    pub agrees: bool,
}

/// The cells at `indices`, each speaking for the key unless it is zero.
pub(crate) fn touched(indices: &[u64], value: impl Fn(u64) -> u64) -> Vec<Touched> {
    let cell = |&index: &u64| {
        let value = value(index);
        Touched { index, value, agrees: value != 0 }
    };
    indices.iter().map(cell).collect()
}

/// The one cell that a key is compared with, if there is any.
pub(crate) fn compared(
    index: Option<u64>,
    value: impl FnOnce(u64) -> u64,
    agrees: bool,
) -> Vec<Touched> {
    index.map(|index| Touched { index, value: value(index), agrees }).into_iter().collect()
}

/// One fact of a filter's shape, for people and machines.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fact {
    /// Its name, as in formulas where there is one.
    pub name: &'static str,
    /// Its value.
    pub value: FactValue,
}

/// The value of a [`Fact`].
#[derive(Clone, Debug, PartialEq)]
pub enum FactValue {
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Text(String),
}

/// A whole number as a fact.
pub fn fact(name: &'static str, value: impl Into<u64>) -> Fact {
    Fact { name, value: FactValue::Integer(value.into()) }
}

/// A real number as a fact.
pub fn real(name: &'static str, value: f64) -> Fact {
    Fact { name, value: FactValue::Real(value) }
}

/// A word as a fact.
pub fn text(name: &'static str, value: impl Into<String>) -> Fact {
    Fact { name, value: FactValue::Text(value.into()) }
}

impl fmt::Display for FactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactValue::Integer(v) => v.fmt(f),
            FactValue::Real(v) => v.fmt(f),
            FactValue::Text(v) => v.fmt(f),
        }
    }
}
