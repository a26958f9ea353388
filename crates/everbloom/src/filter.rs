//! The few public traits: what every filter can do, and one small trait per further ability.
//!
//! These are the dynamic face, for code that picks a variant at run time (the command line, a server).
//! Code that knows its variant uses the type's own methods, which take any [`Key`](crate::hash::Key)
//! and are not dispatched.

use std::any::Any;
use std::fmt;

use crate::codec::{Decoder, Encoder, Memory, State};
use crate::error::{Error, Kind, Result};
use crate::hash::{Digest, Hasher};
use crate::variant::Variant;

/// One record: a key, and a value where the variant takes one. Builds and queries share the grammar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record<'a> {
    /// The key's bytes.
    pub key: &'a [u8],
    /// The value that came with the key.
    pub value: Option<Value<'a>>,
}

impl<'a> Record<'a> {
    /// A key without a value.
    pub fn key(key: &'a [u8]) -> Self {
        Self { key, value: None }
    }
}

/// What may stand beside a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A class, group or short value.
    Label(&'a [u8]),
    /// A weight, prior or frequency.
    Weight(f64),
    /// A multiplicity.
    Count(u64),
    /// Arbitrary bytes.
    Bytes(&'a [u8]),
}

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
pub enum Detail {
    /// Nothing.
    None,
    /// An estimate of the key's multiplicity.
    Count(u64),
    /// The key's value.
    Value(Vec<u8>),
    /// The groups the key may belong to.
    Labels(Vec<Vec<u8>>),
    /// A degree of similarity or belief.
    Score(f64),
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
    /// Present if `present`, else absent, with no detail.
    #[inline]
    pub fn of(present: bool) -> Self {
        let verdict = if present { Verdict::Present } else { Verdict::Absent };
        Self { verdict, detail: Detail::None }
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

/// Rates a filter predicts of itself, from its real fill. `None` where it has no formula.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
}

/// A cell that a query looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// One fact of a filter's shape, for people and machines.
#[derive(Clone, Debug, PartialEq)]
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

/// More items than any filter is ever given; a file that claims more is corrupt.
pub const MAX_ITEMS: u64 = 1 << 62;

/// What every filter has, whatever its variant: the part of its state that the file's prefix holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The hash, with its seed or key.
    pub hasher: Hasher,
    /// Items held; what an item is, the variant says.
    pub items: u64,
    /// The rate the filter was planned for, if it was.
    pub fpr: Option<f64>,
    /// The rate of false negatives it was planned for, where there are any.
    pub fnr: Option<f64>,
    /// The form, one of the variant's.
    pub form: &'static str,
}

impl Head {
    /// An empty filter's head: default form, no targets.
    pub fn new(hasher: Hasher, form: &'static str) -> Self {
        Self { hasher, items: 0, fpr: None, fnr: None, form }
    }

    /// Counts one more item.
    #[inline]
    pub(crate) fn count_one(&mut self) {
        // With every insertion, so without a limit: nobody lives to see it. Files are written with it.
        self.items += 1;
    }

    /// Counts further items, up to [`MAX_ITEMS`].
    #[inline]
    pub(crate) fn count(&mut self, more: u64) {
        self.items = self.items.saturating_add(more).min(MAX_ITEMS);
    }

    /// Refuses two filters that hash keys differently or are of different forms.
    pub(crate) fn agree(&self, other: &Head) -> Result<()> {
        self.hasher.agree(&other.hasher)?;
        crate::error::agree("form", self.form, other.form)
    }
}

impl State for Head {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        // Hash, seed, items and targets of the outermost filter stand in the prefix.
        let outermost = out.claim_prefix(self);
        debug_assert!(outermost, "filters inside filters share the outer head");
        out.bytes(name, self.form.as_bytes());
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let form = src.bytes(name)?;
        let variant = src.variant();
        let known = variant.forms.iter().find(|f| f.name.as_bytes() == form);
        let form = known.ok_or_else(|| {
            src.unsupported(format!("form {:?} of {}", String::from_utf8_lossy(form), variant.slug))
        })?;
        let head = src.take_prefix().ok_or_else(|| src.corrupt("a second head"))?;
        Ok(Head { form: form.name, ..head })
    }
}

/// Object-safe access to a filter's state; every [`State`] has it.
pub trait Saved {
    /// Writes the whole state.
    fn save_state<'a>(&'a self, out: &mut Encoder<'a>);
}

impl<T: State> Saved for T {
    fn save_state<'a>(&'a self, out: &mut Encoder<'a>) {
        self.save("filter", out);
    }
}

/// A filter of any variant.
pub trait Filter: Any + Saved + Send + Sync + fmt::Debug {
    /// The list entry it belongs to.
    fn variant(&self) -> &'static Variant;

    /// Hash, items, targets and form.
    fn head(&self) -> &Head;

    /// Answers a query. Never writes. A record the variant cannot take is an error.
    fn query(&self, record: Record<'_>) -> Result<Answer>;

    /// Fraction of cells in use, where that means something.
    fn fill(&self) -> Option<f64>;

    /// The rates predicted from the real fill.
    fn now(&self) -> Rates;

    /// The shape, in a few facts.
    fn describe(&self) -> Vec<Fact>;

    /// Whether huge pages back the cells.
    fn huge_pages(&self) -> bool;

    /// The cells a query for the key looks at, for explaining an answer; empty where a variant has no
    /// cells of its own to show.
    fn trace(&self, _key: &[u8]) -> Vec<Touched> {
        Vec::new()
    }

    /// Bits used by cells and by everything else.
    fn memory(&self) -> Memory {
        let mut encoder = Encoder::measuring();
        self.save_state(&mut encoder);
        encoder.memory()
    }

    /// Standard deviation of the bits of cells among sets of one size: zero where the shape fixes them,
    /// as it does unless they are coded.
    fn bits_sd(&self) -> f64 {
        0.0
    }

    /// The ability to take further keys.
    fn as_insert(&mut self) -> Option<&mut dyn Insert> {
        None
    }

    /// The ability to remove keys.
    fn as_remove(&mut self) -> Option<&mut dyn Remove> {
        None
    }

    /// The ability to estimate multiplicities.
    fn as_count(&self) -> Option<&dyn Count> {
        None
    }

    /// The ability to return and change values.
    fn as_lookup(&mut self) -> Option<&mut dyn Lookup> {
        None
    }

    /// The ability to forget with time.
    fn as_age(&mut self) -> Option<&mut dyn Age> {
        None
    }

    /// The ability to be combined with another filter.
    fn as_merge(&mut self) -> Option<&mut dyn Merge> {
        None
    }

    /// The operations of sets: intersection, halving, size estimates.
    fn as_algebra(&mut self) -> Option<&mut dyn Algebra> {
        None
    }

    /// The ability to be asked by digests.
    fn as_bulk(&self) -> Option<&dyn Bulk> {
        None
    }

    /// The ability to take digests.
    fn as_bulk_mut(&mut self) -> Option<&mut dyn BulkInsert> {
        None
    }

    /// The ability to tell set differences.
    fn as_reconcile(&mut self) -> Option<&mut dyn Reconcile> {
        None
    }
}

impl dyn Filter {
    /// Whether the key may be a member. A key the variant cannot take is not one.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.query(Record::key(key)).is_ok_and(|answer| answer.verdict != Verdict::Absent)
    }

    /// This filter as a `T`, or an error that names the two variants.
    pub(crate) fn as_same<T: Filter>(&self) -> Result<&T> {
        let any: &dyn Any = self;
        any.downcast_ref::<T>().ok_or_else(|| {
            Error::new(
                Kind::Incompatible { what: "variant" },
                format!("the other filter is a {} filter", self.variant().slug),
            )
        })
    }
}

/// The lines of `impl Filter` that say the same in every variant: its list entry, its head, and the
/// abilities it has whatever its form: `face!(Insert, Merge);`. The file defines `VARIANT` and the type
/// has a field `head`. An ability that only some forms have is written out.
macro_rules! face {
    ($($ability:ident),* $(,)?) => {
        fn variant(&self) -> &'static $crate::variant::Variant {
            &VARIANT
        }

        fn head(&self) -> &$crate::filter::Head {
            &self.head
        }

        $($crate::filter::ability!($ability);)*
    };
}
pub(crate) use face;

macro_rules! ability {
    (Insert) => { $crate::filter::ability!(mut as_insert Insert); };
    (Remove) => { $crate::filter::ability!(mut as_remove Remove); };
    (Lookup) => { $crate::filter::ability!(mut as_lookup Lookup); };
    (Age) => { $crate::filter::ability!(mut as_age Age); };
    (Merge) => { $crate::filter::ability!(mut as_merge Merge); };
    (Algebra) => { $crate::filter::ability!(mut as_algebra Algebra); };
    (Reconcile) => { $crate::filter::ability!(mut as_reconcile Reconcile); };
    (Bulk) => {
        fn as_bulk(&self) -> Option<&dyn $crate::filter::Bulk> {
            Some(self)
        }
    };
    (BulkInsert) => { $crate::filter::ability!(mut as_bulk_mut BulkInsert); };
    (Count) => {
        fn as_count(&self) -> Option<&dyn $crate::filter::Count> {
            Some(self)
        }
    };
    (mut $method:ident $ability:ident) => {
        fn $method(&mut self) -> Option<&mut dyn $crate::filter::$ability> {
            Some(self)
        }
    };
}
pub(crate) use ability;

/// [`Algebra`] by the type's own methods of the same names: `algebra!(Bloom);`.
macro_rules! algebra {
    ($type:ident) => {
        impl $crate::filter::Algebra for $type {
            fn cardinality(&self) -> Option<f64> {
                $type::cardinality(self)
            }

            fn intersection_size(
                &self,
                other: &dyn $crate::filter::Filter,
            ) -> $crate::error::Result<Option<f64>> {
                $type::intersection_size(self, other.as_same()?)
            }

            fn intersect(
                &mut self,
                other: &dyn $crate::filter::Filter,
            ) -> $crate::error::Result<()> {
                $type::intersect(self, other.as_same()?)
            }

            fn fold(&self) -> $crate::error::Result<Box<dyn $crate::filter::Filter>> {
                Ok(Box::new($type::fold(self)?))
            }
        }
    };
}
pub(crate) use algebra;

/// Abilities that are the type's own methods of the same name, for keys without values:
/// `keyed!(Counting: Insert, Remove, Count);`. `Union` is a merge of sets by the method `union`.
macro_rules! keyed {
    ($type:ident: $($ability:ident),+) => {
        $($crate::filter::keyed!(@$ability $type);)+
    };
    (@Insert $type:ident) => {
        impl $crate::filter::Insert for $type {
            fn insert(
                &mut self,
                record: $crate::filter::Record<'_>,
            ) -> $crate::error::Result<$crate::filter::Seen> {
                Ok($type::insert(self, record.key))
            }
        }
    };
    (@Remove $type:ident) => {
        impl $crate::filter::Remove for $type {
            fn remove(&mut self, record: $crate::filter::Record<'_>) -> $crate::error::Result<()> {
                $type::remove(self, record.key)
            }
        }
    };
    (@Count $type:ident) => {
        impl $crate::filter::Count for $type {
            fn count(&self, key: &[u8]) -> u64 {
                $type::count(self, key)
            }
        }
    };
    (@Union $type:ident) => {
        impl $crate::filter::Merge for $type {
            fn law(&self) -> $crate::filter::MergeLaw {
                $crate::filter::MergeLaw::Set
            }

            fn merge(&mut self, other: &dyn $crate::filter::Filter) -> $crate::error::Result<()> {
                self.union(other.as_same()?)
            }
        }
    };
}
pub(crate) use keyed;

/// Takes further keys.
pub trait Insert {
    /// Inserts a record; a refused one leaves the filter as it was.
    fn insert(&mut self, record: Record<'_>) -> Result<Seen>;

    /// Inserts records up to the first that is refused; returns how many were taken before it.
    fn insert_many(&mut self, records: &[Record<'_>]) -> std::result::Result<(), (usize, Error)> {
        for (i, record) in records.iter().enumerate() {
            self.insert(*record).map_err(|e| (i, e))?;
        }
        Ok(())
    }
}

/// Is asked by digests, many at a time: filters to which a key is no more than its digest. Whoever has
/// many keys may then hash them elsewhere, on several cores for instance.
pub trait Bulk: Sync {
    /// Writes for each digest whether its key may be a member; `found` is as long as `digests`.
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]);
}

/// Takes digests, many at a time, in any order.
pub trait BulkInsert {
    /// Inserts keys by their digests.
    fn insert_digests(&mut self, digests: &[Digest]);
}

/// Removes keys.
pub trait Remove {
    /// Removes a record that was inserted; a refused removal leaves the filter as it was.
    fn remove(&mut self, record: Record<'_>) -> Result<()>;
}

/// Estimates multiplicities.
pub trait Count {
    /// How often the key was inserted, as far as the filter can tell.
    fn count(&self, key: &[u8]) -> u64;
}

/// Holds a value per key.
pub trait Lookup {
    /// The key's value; `None` for a key that is certainly not a member.
    fn get(&self, key: &[u8]) -> Option<Vec<u8>>;

    /// Changes a member's value, where the form allows it.
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()>;
}

/// Forgets with time. Time passes only by explicit ticks.
pub trait Age {
    /// Lets `ticks` units of time pass.
    fn age(&mut self, ticks: u64);
}

/// What combining two filters means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeLaw {
    /// The filter of the union; merging twice changes nothing.
    Set,
    /// The filter of the multiset sum.
    Multiset,
    /// The filter of the union of two sets that share no key.
    Disjoint,
}

/// Combines with a filter of the same variant, shape, hash and seed.
pub trait Merge {
    /// What the result holds.
    fn law(&self) -> MergeLaw;

    /// Takes the other filter in; a filter that does not fit is refused and the difference named.
    fn merge(&mut self, other: &dyn Filter) -> Result<()>;
}

/// What can be done with the filters of two sets, beyond uniting them.
pub trait Algebra {
    /// The number of distinct keys, estimated from the cells; `None` for a filter too full to tell.
    fn cardinality(&self) -> Option<f64>;

    /// The number of distinct keys in both filters; `None` where one is too full to tell.
    fn intersection_size(&self, other: &dyn Filter) -> Result<Option<f64>>;

    /// Keeps what both filters hold: every common key passes, and a few others.
    fn intersect(&mut self, other: &dyn Filter) -> Result<()>;

    /// The filter at half the size: same keys, a higher rate.
    fn fold(&self) -> Result<Box<dyn Filter>>;
}

/// The two sides of a set difference, as 64-bit ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Ids only this side has.
    pub ours: Vec<u64>,
    /// Ids only the other side has.
    pub theirs: Vec<u64>,
}

/// Tells what two sets do not share.
pub trait Reconcile {
    /// Subtracts the other side's filter.
    fn subtract(&mut self, other: &dyn Filter) -> Result<()>;

    /// Lists what is left after subtraction; an error if it is more than the cells can carry.
    fn decode(&self) -> Result<Difference>;

    /// Estimates how many ids are left after subtraction.
    fn estimate(&self) -> Result<u64>;

    /// The id under which a key is held.
    fn id_of(&self, key: &[u8]) -> u64;
}
