//! What a list entry says of itself: plain data, from which command line, format, tests and tables are derived.

use super::{Operation, Param, Setting};
use crate::names::named;

/// The facts of one entry of the list.
#[derive(Debug)]
#[non_exhaustive]
pub struct Facts {
    /// Stands in files; never reused.
    pub id: u16,
    /// The name on the command line.
    pub slug: &'static str,
    /// The catalogue entry it fulfills: `F1`, `R10`, `§27`.
    pub entry: &'static str,
    /// The question that this entry answers.
    pub question: &'static str,
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
    /// What its filters can do beyond the abilities of their forms.
    pub operations: &'static [Operation],
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
        question: "",
        kind: EntryKind::Filter,
        name: "",
        paper: "",
        family: "",
        needs: &["membership"],
        input: Input::KEYS,
        meaning: "items are keys, the rate is the false-positive rate",
        forms: &[],
        params: &[],
        operations: &[],
        build: Build::Streaming,
        reach: 5_000_000,
    };

    /// What entries share whose filters are built from all their records at once.
    pub const COLLECTED: Facts = Facts { build: Build::Collected, ..Facts::FILTER };

    /// What entries share whose filters hold multisets.
    pub const MULTISET: Facts = Facts {
        meaning: "items are insertions minus removals, the rate is the false-positive rate",
        ..Facts::FILTER
    };

    /// What sketches share: they have no members.
    pub const SKETCH: Facts = Facts { kind: EntryKind::Sketch, ..Facts::FILTER };

    /// What techniques share: they are part of filters and cannot be built.
    pub const TECHNIQUE: Facts =
        Facts { kind: EntryKind::Technique, reach: u64::MAX, ..Facts::FILTER };

    /// Whether a number that a file states is one that a goal could set the parameter `name` to.
    pub(crate) fn takes(&self, name: &str, value: impl Into<Setting>) -> bool {
        let param = self.params.iter().find(|param| param.name == name);
        param.is_some_and(|param| param.takes(value))
    }

    /// The operation called `name`.
    pub fn operation(&self, name: &str) -> Option<&'static Operation> {
        self.operations.iter().find(|operation| operation.name == name)
    }

    /// The form called `name`.
    pub fn form(&self, name: &str) -> Option<&'static Form> {
        self.forms.iter().find(|form| form.name == name)
    }
}

/// The needs a variant may serve, and the question each answers: those of the surveys' decision figures
/// (S3 Fig. 13, S0 Table II) in the words of the command line.
pub const NEEDS: &[(&str, &str)] = &[
    ("membership", "is a key in the set?"),
    ("delete", "remove keys"),
    ("count", "how often did a key occur?"),
    ("merge", "combine filters of several sets"),
    ("grow", "the number of keys is unknown"),
    ("decay", "forget old keys"),
    ("values", "what value does a key have?"),
    ("groups", "which of several sets is a key in?"),
    ("reconcile", "in which keys do two sets differ?"),
    ("similar", "is there a similar key?"),
    ("pieces", "is it a piece of a longer sequence?"),
    ("places", "is a point in an area, or a value in a range?"),
    ("attributes", "keys with several attributes, some of them unknown in a query"),
    ("static", "the set is known in advance and never changes"),
    ("compact", "as few bits as possible"),
    ("accurate", "fewer false positives in the same space"),
    ("exact", "no false positives, within a known universe"),
    ("known-queries", "some of the queried non-members are known"),
    ("weighted", "some keys are more likely, or more costly, than others"),
    ("prefixes", "keys have ancestors: names, paths, addresses"),
    ("hostile", "untrusted people fill the filter or choose the keys"),
    ("fast", "one cache miss per key"),
    ("parallel", "each hash has its own memory bank"),
    ("concurrent", "several threads insert at the same time"),
    ("estimate", "how many keys are in one set, or in two?"),
    ("fold", "shrink a filter later"),
    ("faults", "memory bits may flip"),
];

named! {
    /// What kind of thing an entry is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EntryKind {
        /// Can be built, saved, opened, queried and described.
        Filter => "filter",
        /// Has no membership: it estimates, counts or lists.
        Sketch => "sketch",
        /// A part that filters are made of, or a policy they wear.
        Technique => "technique",
        /// A formula.
        Theory => "theory",
        /// An exchange between parties.
        Protocol => "protocol",
    }
}

/// What a record of a variant consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// What the key is.
    pub key: KeyKind,
    /// The kind of value.
    pub value: ValueKind,
    /// Whether records carry a time.
    pub time: Time,
    /// Whether known non-members are used in the build.
    pub negatives: Negatives,
    /// The form of records in samples, if the kinds do not determine it.
    pub sample: Option<Example>,
}

/// A record of a variant's own sample, by its number i; different i have different keys.
type Numbered = fn(u64) -> Vec<u8>;

/// What the records of a variant's own sample look like.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Example {
    /// Key number i.
    pub key: Numbered,
    /// The label, if not every label is valid.
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

    /// Keys of this kind.
    pub const fn of(key: KeyKind) -> Self {
        Input { key, ..Input::KEYS }
    }

    /// Plain keys, each with a value of this kind.
    pub const fn valued(value: ValueKind) -> Self {
        Input::KEYS.with_value(value)
    }

    /// With a value of this kind for each key.
    pub const fn with_value(self, value: ValueKind) -> Self {
        Input { value, ..self }
    }

    /// With a time, or without.
    pub const fn with_time(self, time: Time) -> Self {
        Input { time, ..self }
    }

    /// With known non-members, or without.
    pub const fn with_negatives(self, negatives: Negatives) -> Self {
        Input { negatives, ..self }
    }

    /// With samples of such keys.
    pub const fn with_examples(self, key: Numbered) -> Self {
        Input { sample: Some(Example::keys(key)), ..self }
    }
}

named! {
    /// What a key is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum KeyKind {
        /// Any bytes.
        Bytes => "bytes",
        /// An unsigned integer in 8 little-endian bytes.
        Integer => "integer",
        /// A vector: one coordinate per byte, all keys of one length. In text, a bit vector is its 0s and 1s.
        Vector => "vector",
        /// A sequence whose parts matter.
        Sequence => "sequence",
        /// A point in space.
        Point => "point",
        /// Several attributes, each a byte string; an empty one in a query matches any.
        Attributes => "attributes",
        /// A key whose value lies in a half-open range.
        Range => "range",
    }
}

impl KeyKind {
    /// Whether keys are integers.
    pub fn is_integer(self) -> bool {
        self == KeyKind::Integer
    }
}

named! {
    /// The value of a key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ValueKind {
        /// Nothing.
        None => "none",
        /// A class, group or short value.
        Label => "label",
        /// A weight, prior or frequency.
        Weight => "weight",
        /// A multiplicity.
        Count => "count",
        /// Arbitrary bytes.
        Bytes => "bytes",
    }
}

named! {
    /// Whether records carry a time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Time {
        /// They carry none.
        No => "no",
        /// They may.
        Optional => "optional",
        /// They must.
        Required => "required",
    }
}

named! {
    /// Whether a build uses known non-members.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Negatives {
        /// It takes none.
        No => "no",
        /// It takes them if given.
        Optional => "optional",
        /// It cannot be built without.
        Required => "required",
    }
}

/// The only form of most entries.
pub(crate) const FORM: &str = "standard";

/// One way of using a variant.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
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

named! {
    /// What a form can do beyond answering queries.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Ability {
        /// Takes further keys.
        Insert => "insert",
        /// Removes keys.
        Remove => "remove",
        /// Estimates multiplicities.
        Count => "count",
        /// Returns values.
        Lookup => "lookup",
        /// Forgets with time.
        Age => "age",
        /// Combines with another filter.
        Merge => "merge",
        /// Keeps what another filter holds, too.
        Intersect => "intersect",
        /// Is made smaller.
        Fold => "fold",
        /// Tells set differences.
        Reconcile => "reconcile",
        /// Lists what is inside.
        List => "list",
        /// Estimates the number of different keys.
        Estimate => "estimate",
    }
}

impl Ability {
    /// Operations of filters that represent their sets fully.
    pub const OF_SETS: &'static [Ability] =
        &[Ability::Insert, Ability::Merge, Ability::Intersect, Ability::Fold, Ability::Estimate];
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
