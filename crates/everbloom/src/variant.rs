//! What a list entry says: the data from which command line, format, tests and tables are derived.

use std::fmt;

use crate::catalog::VARIANTS;
use crate::error::{Error, Kind, Result};
use crate::filter::{Filter, Record};
use crate::plan::{Expect, Goal, Load, Request};
use crate::structure::{Inputs, Ops};

/// One entry of the list.
#[derive(Debug)]
pub struct Variant {
    /// Stands in files; never reused.
    pub id: u16,
    /// The name on the command line.
    pub slug: &'static str,
    /// The catalogue entry it fulfills: `F1`, `R10`, `§27`.
    pub entry: &'static str,
    /// Filter, technique, theory or protocol.
    pub kind: EntryKind,
    /// The name in the literature.
    pub name: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// The folder of variants it lives in.
    pub family: &'static str,
    /// The needs it serves, for choosing; words of [`NEEDS`].
    pub needs: &'static [&'static str],
    /// What a record is.
    pub input: Input,
    /// What items and rate mean, where it is not keys and false positives.
    pub meaning: &'static str,
    /// First is default; none for a technique or a theory.
    pub forms: &'static [Form],
    /// What `--set` takes.
    pub params: &'static [Param],
    /// Whether the build reads its records once or collects them all.
    pub build: Build,
    /// The largest set its purpose allows; tests go up to it.
    pub reach: u64,
    /// How to build and load it; none for a technique or a theory.
    pub ops: Option<Ops>,
}

/// The needs a variant may serve, and what each asks for: the questions of the surveys' decision figures
/// (S3 Fig. 13, S0 Table II) in the words of the command line.
pub const NEEDS: &[(&str, &str)] = &[
    ("membership", "is a key in the set?"),
    ("delete", "keys are removed again"),
    ("count", "how often did a key come?"),
    ("merge", "filters of several sets become one"),
    ("grow", "nobody knows how many keys will come"),
    ("decay", "old keys are forgotten"),
    ("values", "what value does a key have?"),
    ("groups", "which of several sets is a key in?"),
    ("reconcile", "what do two sets not share?"),
    ("similar", "is there anything like it?"),
    ("static", "the set is known beforehand and never changes"),
    ("compact", "as few bits as possible"),
    ("accurate", "fewer false positives at equal bits"),
    ("exact", "none at all, within a known universe"),
    ("known-queries", "some of the non-members that will be asked for are known"),
    ("weighted", "some keys are likelier, or cost more, than others"),
    ("prefixes", "keys have ancestors: names, paths, addresses"),
    ("hostile", "strangers fill the filter or choose the keys"),
    ("fast", "one cache miss per key"),
    ("parallel", "hashes work on banks of memory of their own"),
    ("concurrent", "many threads insert at once"),
    ("estimate", "how many keys are inside, and in both of two?"),
    ("fold", "a filter is made smaller later"),
    ("faults", "bits of memory may flip"),
];

/// What kind of thing an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Can be built, saved, opened, asked and described.
    Filter,
    /// A part that filters are made of, or a policy they wear.
    Technique,
    /// A formula.
    Theory,
    /// An exchange between parties.
    Protocol,
}

impl EntryKind {
    /// Its name in the list.
    pub fn name(self) -> &'static str {
        match self {
            EntryKind::Filter => "filter",
            EntryKind::Technique => "technique",
            EntryKind::Theory => "theory",
            EntryKind::Protocol => "protocol",
        }
    }
}

/// What a record of a variant consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// What the key is.
    pub key: KeyKind,
    /// What stands beside it.
    pub value: ValueKind,
    /// Whether known non-members are used in the build.
    pub negatives: Negatives,
}

impl Input {
    /// Plain keys.
    pub const KEYS: Input =
        Input { key: KeyKind::Bytes, value: ValueKind::None, negatives: Negatives::No };
}

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Any bytes.
    Bytes,
    /// An unsigned integer in 8 little-endian bytes.
    Integer,
    /// A vector: one coordinate per byte, all keys of one length. In text, a bit vector is its 0s and 1s.
    Vector,
    /// A sequence whose parts matter.
    Sequence,
    /// A point in space.
    Point,
}

impl KeyKind {
    /// Its name in the list.
    pub fn name(self) -> &'static str {
        match self {
            KeyKind::Bytes => "bytes",
            KeyKind::Integer => "integer",
            KeyKind::Vector => "vector",
            KeyKind::Sequence => "sequence",
            KeyKind::Point => "point",
        }
    }
}

/// What stands beside a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Nothing.
    None,
    /// A class, group or short value.
    Label,
    /// A weight, prior or frequency.
    Weight,
    /// A multiplicity.
    Count,
    /// Arbitrary bytes.
    Bytes,
}

impl ValueKind {
    /// Its name in the list.
    pub fn name(self) -> &'static str {
        match self {
            ValueKind::None => "none",
            ValueKind::Label => "label",
            ValueKind::Weight => "weight",
            ValueKind::Count => "count",
            ValueKind::Bytes => "bytes",
        }
    }
}

/// Whether a build uses known non-members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negatives {
    /// It takes none.
    No,
    /// It takes them if given.
    Optional,
    /// It cannot be built without.
    Required,
}

impl Negatives {
    /// Its name in the list.
    pub fn name(self) -> &'static str {
        match self {
            Negatives::No => "no",
            Negatives::Optional => "optional",
            Negatives::Required => "required",
        }
    }
}

/// One way of using a variant.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The name for `--set form=`.
    pub name: &'static str,
    /// What it can do beyond being asked.
    pub abilities: &'static [Ability],
    /// Whether members can be missed.
    pub false_negatives: FalseNegatives,
}

/// What a form can do beyond being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Takes further keys.
    Insert,
    /// Removes keys.
    Remove,
    /// Estimates multiplicities.
    Count,
    /// Returns values.
    Lookup,
    /// Forgets with time.
    Age,
    /// Combines with another filter.
    Merge,
    /// Tells set differences.
    Reconcile,
    /// Names the groups of a key.
    Group,
    /// Finds keys near a member.
    Similar,
}

impl Ability {
    /// Its name in the list.
    pub fn name(self) -> &'static str {
        match self {
            Ability::Insert => "insert",
            Ability::Remove => "remove",
            Ability::Count => "count",
            Ability::Lookup => "lookup",
            Ability::Age => "age",
            Ability::Merge => "merge",
            Ability::Reconcile => "reconcile",
            Ability::Group => "group",
            Ability::Similar => "similar",
        }
    }
}

/// Whether members can be missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FalseNegatives {
    /// Never: tests demand zero.
    Never,
    /// Never while this condition holds: tests keep it and demand zero.
    NeverWhile(&'static str),
    /// By design, for this reason.
    Possible(&'static str),
}

/// Whether a build reads its records once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// Record by record, in memory bounded by the filter.
    Streaming,
    /// All records are held at once.
    Collected,
}

/// A parameter that `--set` takes.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub range: Range,
    /// What it is when not set.
    pub default: Setting,
    /// One line for people.
    pub help: &'static str,
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// A whole number between the two, both included.
    Integer(u64, u64),
    /// A real number between the two, both included.
    Real(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// Derived from the goal.
    Planned,
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Choice(&'static str),
}

impl Setting {
    pub(crate) fn parse(param: &Param, text: &str) -> Result<Self> {
        let bad = |want: String| {
            Error::parameter(format!("--set {}={text}: {want} ({})", param.name, param.help))
        };
        match param.range {
            Range::Integer(low, high) => match text.parse::<u64>() {
                Ok(v) if (low..=high).contains(&v) => Ok(Setting::Integer(v)),
                _ => Err(bad(format!("must be a whole number from {low} to {high}"))),
            },
            Range::Real(low, high) => match text.parse::<f64>() {
                // A NaN is in no range.
                Ok(v) if (low..=high).contains(&v) => Ok(Setting::Real(v)),
                _ => Err(bad(format!("must be a number from {low} to {high}"))),
            },
            Range::Choice(words) => match words.iter().find(|w| **w == text) {
                Some(word) => Ok(Setting::Choice(word)),
                None => Err(bad(format!("must be one of {}", words.join(", ")))),
            },
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Planned => f.write_str("planned"),
            Setting::Integer(v) => v.fmt(f),
            Setting::Real(v) => v.fmt(f),
            Setting::Choice(v) => v.fmt(f),
        }
    }
}

impl Variant {
    /// The entry with this id.
    pub fn by_id(id: u16) -> Option<&'static Variant> {
        VARIANTS.iter().copied().find(|v| v.id == id)
    }

    /// The entry with this slug.
    pub fn by_slug(slug: &str) -> Option<&'static Variant> {
        VARIANTS.iter().copied().find(|v| v.slug == slug)
    }

    fn ops(&self) -> Result<&Ops> {
        self.ops.as_ref().ok_or_else(|| {
            let kind = self.kind.name();
            Error::new(Kind::Unsupported, format!("{} is a {kind}, not a filter", self.slug))
        })
    }

    /// Checks a goal against this variant without building anything.
    pub fn check(&'static self, goal: &Goal) -> Result<()> {
        self.ops()?;
        Request::new(self, goal).map(drop)
    }

    /// Builds a filter of this variant.
    pub fn build(&'static self, goal: &Goal, inputs: &mut Inputs<'_>) -> Result<Box<dyn Filter>> {
        let ops = self.ops()?;
        match (self.input.negatives, &inputs.negatives) {
            (Negatives::Required, None) => {
                return Err(Error::parameter(format!(
                    "{} is built against known non-members: give them with --negatives",
                    self.slug
                )));
            }
            (Negatives::No, Some(_)) => {
                return Err(Error::parameter(format!(
                    "{} makes no use of known non-members: leave out --negatives",
                    self.slug
                )));
            }
            _ => {}
        }
        (ops.build)(&Request::new(self, goal)?, inputs)
    }

    /// Builds a filter of this variant from records in memory.
    pub fn build_from(
        &'static self,
        goal: &Goal,
        mut records: &[Record<'_>],
    ) -> Result<Box<dyn Filter>> {
        self.build(goal, &mut Inputs { records: &mut records, negatives: None })
    }

    /// What the formulas predict of a filter of this variant, if there are formulas.
    pub fn expect(&'static self, goal: &Goal, load: &Load) -> Result<Option<Expect>> {
        (self.ops()?.expect)(&Request::new(self, goal)?, load)
    }
}
