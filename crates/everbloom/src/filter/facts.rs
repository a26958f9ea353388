//! What a list entry says of itself: plain data, from which command line, format, tests and tables are derived.

use std::borrow::Cow;
use std::fmt;

use crate::error::{Error, Result};

/// The facts of one entry of the list.
#[derive(Debug)]
pub struct Facts {
    /// Stands in files; never reused.
    pub id: u16,
    /// The name on the command line.
    pub slug: &'static str,
    /// The catalogue entry it fulfills: `F1`, `R10`, `§27`.
    pub entry: &'static str,
    /// Filter, sketch, technique, theory or protocol.
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
    /// The parameters that a goal may set.
    pub params: &'static [Param],
    /// Whether the build reads its records once or collects them all.
    pub build: Build,
    /// The largest set its purpose allows; tests go up to it.
    pub reach: u64,
}

impl Facts {
    /// What most entries share: a filter of plain keys, built as they come. An entry states the rest:
    /// `Facts { id: 1, slug: "bloom", …, ..Facts::FILTER }`.
    pub const FILTER: Facts = Facts {
        id: 0,
        slug: "",
        entry: "",
        kind: EntryKind::Filter,
        name: "",
        paper: "",
        family: "",
        needs: &["membership"],
        input: Input::KEYS,
        meaning: "items are keys, the rate is that of false positives",
        forms: &[],
        params: &[],
        build: Build::Streaming,
        reach: 5_000_000,
    };

    /// What entries share whose filters hold multisets.
    pub const MULTISET: Facts = Facts {
        meaning: "items are insertions minus removals, the rate is that of false positives",
        ..Facts::FILTER
    };

    /// What sketches share: they have no members.
    pub const SKETCH: Facts = Facts { kind: EntryKind::Sketch, ..Facts::FILTER };

    /// What techniques share: they are part of filters and cannot be built.
    pub const TECHNIQUE: Facts =
        Facts { kind: EntryKind::Technique, reach: u64::MAX, ..Facts::FILTER };

    /// The form called `name`.
    pub fn form(&self, name: &str) -> Option<&'static Form> {
        self.forms.iter().find(|form| form.name == name)
    }
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
    ("pieces", "is it a piece of a longer sequence?"),
    ("places", "is it in an area, or its value in a range?"),
    ("attributes", "keys have several attributes, some of which a query may leave open"),
    ("static", "the set is known beforehand and never changes"),
    ("compact", "as few bits as possible"),
    ("accurate", "fewer false positives at equal bits"),
    ("exact", "none at all, within a known universe"),
    ("known-queries", "some of the non-members that will be asked for are known"),
    ("weighted", "some keys are likelier, or cost more, than others"),
    ("prefixes", "keys have ancestors: names, paths, addresses"),
    ("hostile", "others fill the filter or choose the keys"),
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
    /// Can be built, saved, opened, queried and described.
    Filter,
    /// Has no membership: it estimates, counts or lists.
    Sketch,
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
            EntryKind::Sketch => "sketch",
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
    /// Whether records carry a time.
    pub time: Time,
    /// Whether known non-members are used in the build.
    pub negatives: Negatives,
    /// What records look like in samples, where the kinds alone do not tell.
    pub sample: Option<Example>,
}

/// A record of a variant's own sample, by its number i; different i have different keys.
type Numbered = fn(u64) -> Vec<u8>;

/// What the records of a variant's own sample look like.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Key number i.
    pub key: Numbered,
    /// The label beside it, where any will not do.
    pub label: Option<Numbered>,
}

impl Example {
    /// Such keys, with any values.
    pub const fn keys(key: Numbered) -> Self {
        Self { key, label: None }
    }
}

impl PartialEq for Example {
    fn eq(&self, other: &Self) -> bool {
        let labels = match (self.label, other.label) {
            (Some(ours), Some(theirs)) => std::ptr::fn_addr_eq(ours, theirs),
            (ours, theirs) => ours.is_none() == theirs.is_none(),
        };
        labels && std::ptr::fn_addr_eq(self.key, other.key)
    }
}

impl Eq for Example {}

impl Input {
    /// Plain keys.
    pub const KEYS: Input = Input {
        key: KeyKind::Bytes,
        value: ValueKind::None,
        time: Time::No,
        negatives: Negatives::No,
        sample: None,
    };

    /// Plain keys with a value of this kind beside them.
    pub const fn valued(value: ValueKind) -> Self {
        Input { value, ..Input::KEYS }
    }
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
    /// Several attributes, each a byte string; an empty one in a query stands for any.
    Attributes,
    /// A key whose value lies in a half-open range.
    Range,
}

impl KeyKind {
    /// Whether keys are integers.
    pub fn is_integer(self) -> bool {
        self == KeyKind::Integer
    }

    /// Its name in the list.
    pub fn name(self) -> &'static str {
        match self {
            KeyKind::Bytes => "bytes",
            KeyKind::Integer => "integer",
            KeyKind::Vector => "vector",
            KeyKind::Sequence => "sequence",
            KeyKind::Point => "point",
            KeyKind::Attributes => "attributes",
            KeyKind::Range => "range",
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

/// Whether records carry a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// They carry none.
    No,
    /// They may.
    Optional,
    /// They must.
    Required,
}

impl Time {
    /// Its name in the list.
    pub fn name(self) -> &'static str {
        match self {
            Time::No => "no",
            Time::Optional => "optional",
            Time::Required => "required",
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
    /// Its name.
    pub name: &'static str,
    /// What it can do beyond answering queries.
    pub abilities: &'static [Ability],
    /// Whether members can be missed.
    pub false_negatives: FalseNegatives,
    /// On which side counts err, where it counts.
    pub counts: Counts,
}

/// On which side counts err.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Never too low; too high only for keys whose cells all are shared, as those of a false positive are.
    Tight,
    /// Never too low, and too high by an error of their own.
    Above,
    /// On both sides.
    Around,
}

impl Form {
    /// A form without false negatives.
    pub const fn exact(name: &'static str, abilities: &'static [Ability]) -> Self {
        Self { name, abilities, false_negatives: FalseNegatives::Never, counts: Counts::Tight }
    }

    /// A form without false negatives while `condition` holds.
    pub const fn exact_while(
        name: &'static str,
        abilities: &'static [Ability],
        condition: &'static str,
    ) -> Self {
        Self {
            name,
            abilities,
            false_negatives: FalseNegatives::NeverWhile(condition),
            counts: Counts::Tight,
        }
    }

    /// A form from which keys are removed: without false negatives while those are members.
    pub const fn removing(name: &'static str, abilities: &'static [Ability]) -> Self {
        Self::exact_while(name, abilities, "only keys that were inserted are removed")
    }

    /// The only form of most counting filters.
    pub const COUNTING: Form = Form::removing(
        "standard",
        &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge],
    );

    /// A form that may miss members, for this reason.
    pub const fn lossy(
        name: &'static str,
        abilities: &'static [Ability],
        reason: &'static str,
    ) -> Self {
        Self {
            name,
            abilities,
            false_negatives: FalseNegatives::Possible(reason),
            counts: Counts::Tight,
        }
    }

    /// The same form with counts that err like this.
    #[must_use]
    pub const fn counting(self, counts: Counts) -> Self {
        Self { counts, ..self }
    }
}

/// What a form can do beyond answering queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Keeps what another filter holds, too.
    Intersect,
    /// Is made smaller.
    Fold,
    /// Tells set differences.
    Reconcile,
    /// Lists what is inside.
    List,
    /// Estimates the number of different keys.
    Estimate,
}

impl Ability {
    /// What filters can do that stand for their sets in every respect.
    pub const OF_SETS: &'static [Ability] =
        &[Ability::Insert, Ability::Merge, Ability::Intersect, Ability::Fold, Ability::Estimate];

    /// Its name in the list.
    pub fn name(self) -> &'static str {
        match self {
            Ability::Insert => "insert",
            Ability::Remove => "remove",
            Ability::Count => "count",
            Ability::Lookup => "lookup",
            Ability::Age => "age",
            Ability::Merge => "merge",
            Ability::Intersect => "intersect",
            Ability::Fold => "fold",
            Ability::Reconcile => "reconcile",
            Ability::List => "list",
            Ability::Estimate => "estimate",
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

/// A parameter that a goal may set.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub range: Range,
    /// What it is when not set.
    pub default: Preset,
    /// One line for people.
    pub help: &'static str,
}

/// What a parameter is when not set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// Derived from the goal.
    Planned,
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Choice(&'static str),
}

impl Param {
    /// A whole number from `low` to `high`.
    pub const fn integer(name: &'static str, low: u64, high: u64, help: &'static str) -> Self {
        Self { name, range: Range::Integer(low, high), default: Preset::Planned, help }
    }

    /// A real number from `low` to `high`.
    pub const fn real(name: &'static str, low: f64, high: f64, help: &'static str) -> Self {
        Self { name, range: Range::Real(low, high), default: Preset::Planned, help }
    }

    /// One of some words.
    pub const fn choice(
        name: &'static str,
        words: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self { name, range: Range::Choice(words), default: Preset::Planned, help }
    }

    /// The same with a default that does not depend on the goal.
    #[must_use]
    pub const fn or(self, default: Preset) -> Self {
        Self { default, ..self }
    }

    /// The value that a setting gives this parameter.
    pub(crate) fn accept(&self, setting: &Setting) -> Result<Preset> {
        let text = setting.to_string();
        let bad =
            |want: String| Error::setting(self.name, &text, format!("{want} ({})", self.help));
        match self.range {
            Range::Integer(low, high) => match text.parse::<u64>() {
                Ok(v) if (low..=high).contains(&v) => Ok(Preset::Integer(v)),
                _ => Err(bad(format!("must be a whole number from {low} to {high}"))),
            },
            Range::Real(low, high) => match text.parse::<f64>() {
                // A NaN is in no range.
                Ok(v) if (low..=high).contains(&v) => Ok(Preset::Real(v)),
                _ => Err(bad(format!("must be a number from {low} to {high}"))),
            },
            Range::Choice(words) => match words.iter().find(|w| **w == text) {
                Some(word) => Ok(Preset::Choice(word)),
                None => Err(bad(format!("must be one of {}", words.join(", ")))),
            },
        }
    }
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

/// The value that a caller gives a parameter. Words may also spell numbers, as they do on a command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Word(Cow<'static, str>),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Integer(v) => v.fmt(f),
            Setting::Real(v) => v.fmt(f),
            Setting::Word(v) => v.fmt(f),
        }
    }
}

impl From<u64> for Setting {
    fn from(value: u64) -> Self {
        Setting::Integer(value)
    }
}

impl From<u32> for Setting {
    fn from(value: u32) -> Self {
        Setting::Integer(value.into())
    }
}

impl From<i32> for Setting {
    /// What an integer literal is; no parameter is below zero.
    fn from(value: i32) -> Self {
        u64::try_from(value).map_or(Setting::Real(value.into()), Setting::Integer)
    }
}

impl From<usize> for Setting {
    fn from(value: usize) -> Self {
        Setting::Integer(value as u64)
    }
}

impl From<f64> for Setting {
    fn from(value: f64) -> Self {
        Setting::Real(value)
    }
}

impl From<&str> for Setting {
    fn from(word: &str) -> Self {
        Setting::Word(Cow::Owned(word.to_owned()))
    }
}

impl From<String> for Setting {
    fn from(word: String) -> Self {
        Setting::Word(Cow::Owned(word))
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preset::Planned => f.write_str("planned"),
            Preset::Integer(v) => v.fmt(f),
            Preset::Real(v) => v.fmt(f),
            Preset::Choice(v) => v.fmt(f),
        }
    }
}
