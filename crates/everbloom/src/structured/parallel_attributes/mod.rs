//! The parallel Bloom filter for items with several attributes (Xiao, Hua 2010; catalogue §38; S3 ref. 94 §VII-D).
//!
//! An item is a row of attributes. Attribute i has counters of its own, k arrays of them, with hash functions of its
//! own; all attributes can be looked up at once:
//!
//! ```text
//!   (Ann, Rome)   name  ▸ │0 1 0 2│1 0 0 1│        (Bob, Oslo)
//!                 place ▸ │1 0 0 1│0 2 0 0│
//!                 verification: F(all positions of Ann and Rome) ▸ 1, F(… Bob and Oslo) ▸ 1
//! ```
//!
//! The counters alone would accept (Ann, Oslo) with certainty: each of its attributes is some item's. So a hash F of
//! all positions, in order, is counted too, and an item is there only if its F is. The form `exact` has a table of
//! F's of 64 bits, `compact` a counting filter.
//!
//! A query may leave attributes open: then only the counters of the others are asked, and what passes is *unverified*:
//! the answer is undecided, not present. Multiplicities are the least of all counters and of F's count.
//!
//! A foreign value passes its own counters with f; an item of foreign values passes all of them with f per attribute;
//! one that mixes values of several items passes with the rate of the verification, f in `compact` and none in
//! `exact`. (S3 says that each attribute goes to all sub-matrices; attribute i goes to sub-matrix i.)
//!
//! **Slow:** an item is a row, of which every attribute has counters and hashes of its own, and all its positions
//! are hashed once more.
//!
//! **Use it** for records that are queried by some of their attributes, and are added and removed. **Don't** if
//! there are no partial queries: then the whole row as one key in `counting` takes a fraction of the space.

mod shape;

pub use shape::Shape;

use crate::cells::{Counters, Exact};
use crate::error::agree;
use crate::hash::mix64;
use crate::parts::SumPart;
use crate::parts::tally::Tallies;
use crate::probe::{Probe, Scheme};
use crate::variant::prelude::*;

/// Items of several attributes, counted attribute by attribute and as a whole.
///
/// ```
/// use everbloom::structured::{ParallelAttributes, parallel_attributes::Found};
///
/// let mut people = ParallelAttributes::with_rate(1000, 0.01)?;
/// people.insert(&[b"Ann", b"Rome"])?;
/// people.insert(&[b"Bob", b"Oslo"])?;
/// assert_eq!(people.find(&[b"Ann", b"Rome"])?, Found::Verified);
/// assert_eq!(people.find(&[b"Ann", b"Oslo"])?, Found::No);
/// assert_eq!(people.find(&[b"Ann", b""])?, Found::Unverified);
/// people.remove(&[b"Ann", b"Rome"])?;
/// assert_eq!(people.find(&[b"Ann", b""])?, Found::No);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ParallelAttributes {
    head: Head,
    /// The counters of each attribute.
    attributes: Vec<Tallies<Counters>>,
    /// How often each F came, in the form `exact`.
    exact: Exact,
    /// The same in the form `compact`: one filter, or none.
    compact: Vec<Tallies<Counters>>,
}

state!(ParallelAttributes { head, attributes, exact, compact });

/// What became of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No such item.
    No,
    /// The attributes that were asked for are there; whether in one item, nobody knows.
    Unverified,
    /// All attributes are there, in one item.
    Verified,
}

impl ParallelAttributes {
    /// The digests of the attributes, each under its own salt; none for those left open.
    fn digests(&self, item: &[&[u8]]) -> Result<Vec<Option<Digest>>> {
        if item.len() != self.attributes.len() {
            let (found, all) = (item.len(), self.attributes.len());
            let message = format!("{found} attributes; the items have {all}: set {{attributes}}");
            return Err(Error::record(message));
        }
        let digest = |(i, value): (u64, &&[u8])| {
            (!value.is_empty()).then(|| self.head.hasher.digest(*value).salted(i))
        };
        Ok((0..).zip(item).map(digest).collect())
    }

    /// The digests of an item, all of whose attributes must be there.
    fn whole(&self, item: &[&[u8]]) -> Result<Vec<Digest>> {
        let digests: Option<Vec<Digest>> = self.digests(item)?.into_iter().collect();
        digests.ok_or_else(|| {
            Error::record("an item cannot have empty attributes: in queries they mean any")
        })
    }

    /// F: a mix of all positions, in order.
    fn mark(&self, digests: &[Digest]) -> u64 {
        let mut mark = MARK;
        for (tallies, digest) in self.attributes.iter().zip(digests) {
            tallies.probe.each(*digest, |i| mark = mix64(mark ^ mix64(i)));
        }
        mark
    }

    /// How often an F came.
    fn times(&self, mark: u64) -> Counted {
        match self.compact.first() {
            Some(tallies) => tallies.count(spread(mark)),
            None => Counted::about(self.exact.get(mark.into())),
        }
    }

    /// Inserts an item.
    pub fn insert(&mut self, item: &[&[u8]]) -> Result<Seen> {
        let digests = self.whole(item)?;
        let mark = self.mark(&digests);
        let new = self.times(mark).whole() == 0;
        for (tallies, digest) in self.attributes.iter_mut().zip(&digests) {
            tallies.insert(*digest);
        }
        match self.compact.first_mut() {
            Some(tallies) => drop(tallies.insert(spread(mark))),
            None => self.exact.change(mark.into(), |times| times.saturating_add(1)),
        }
        self.head.count_one();
        Ok(Seen::new_if(new))
    }

    /// Removes an item; one that is not there is refused.
    pub fn remove(&mut self, item: &[&[u8]]) -> Result<()> {
        let digests = self.whole(item)?;
        if self.count_of(&digests).whole() == 0 {
            return Err(Error::new(Kind::NotDeletable, "there is no such item"));
        }
        let mark = self.mark(&digests);
        for (tallies, digest) in self.attributes.iter_mut().zip(&digests) {
            tallies.remove(*digest)?;
        }
        match self.compact.first_mut() {
            Some(tallies) => tallies.remove(spread(mark))?,
            None => self.exact.change(mark.into(), |times| times - 1),
        }
        self.head.count_off();
        Ok(())
    }

    /// Whether there may be an item with these attributes; empty ones are left open.
    pub fn find(&self, item: &[&[u8]]) -> Result<Found> {
        let digests = self.digests(item)?;
        let mut pairs = self.attributes.iter().zip(&digests);
        if !pairs.all(|(tallies, digest)| digest.is_none_or(|digest| tallies.contains(digest))) {
            return Ok(Found::No);
        }
        let whole: Option<Vec<Digest>> = digests.into_iter().collect();
        Ok(match whole {
            None => Found::Unverified,
            Some(digests) if self.times(self.mark(&digests)).whole() > 0 => Found::Verified,
            Some(_) => Found::No,
        })
    }

    /// How often an item was inserted: the least that its counters and its F say.
    pub fn count(&self, item: &[&[u8]]) -> Result<Counted> {
        Ok(self.count_of(&self.whole(item)?))
    }

    fn count_of(&self, digests: &[Digest]) -> Counted {
        let counters = self.attributes.iter().zip(digests).map(|(t, digest)| t.count(*digest));
        let least = |a: Counted, b: Counted| if b.whole() < a.whole() { b } else { a };
        counters.fold(self.times(self.mark(digests)), least)
    }

    /// P(a foreign value passes the counters of an attribute), for each, from the counters as they are.
    pub fn value_rates(&self) -> Vec<f64> {
        self.attributes.iter().map(Tallies::fpr).collect()
    }

    /// P(an item that mixes values of several others passes).
    pub fn mixture_rate(&self) -> f64 {
        match self.compact.first() {
            Some(tallies) => tallies.fpr(),
            None => self.exact.len() as f64 / libm::exp2(64.0),
        }
    }

    fn check(&self) -> Result<()> {
        let compact = usize::from(self.head.form == COMPACT);
        let slices = |t: &Tallies<Counters>| t.probe.scheme() == Scheme::Partitioned;
        let shape = VARIANT.takes("attributes", self.attributes.len())
            && self.attributes.iter().all(slices)
            && self.compact.len() == compact;
        let marks = self.exact.iter().all(|(mark, _)| mark <= u64::MAX.into());
        if !shape || !marks || (compact == 1 && self.exact.len() > 0) {
            return Err(Error::corrupt(0, "corrupt filter: attributes that do not fit"));
        }
        self.compact.iter().try_for_each(Tallies::check_flat)
    }
}

/// An F as a digest.
fn spread(mark: u64) -> Digest {
    Digest { h1: mark, h2: mix64(mark) }
}

impl Stream for ParallelAttributes {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let tallies =
            |probe: Probe| Ok(Tallies { probe, cells: Counters::try_new(probe.m(), shape.width)? });
        let probe = Probe::Partitioned(shape.slices.probe());
        let attributes = (0..shape.attributes).map(|_| tallies(probe)).collect::<Result<_>>()?;
        let compact = shape.compact.map(|flat| tallies(Probe::over(flat.m, flat.k)));
        let compact = compact.into_iter().collect::<Result<_>>()?;
        Ok(Self { head, attributes, exact: Exact::default(), compact })
    }
}

face!(ParallelAttributes: Insert, Remove, Count, Merge);
planned!(
    ParallelAttributes:
    "A filter for `items` items of two attributes, each of which lets a share of `fpr` of foreign values pass."
);

impl Filter for ParallelAttributes {
    /// Undecided if attributes are left open and the others are there.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let item = record.attributes()?;
        Ok(match self.find(&item)? {
            Found::No => Answer::of(false),
            Found::Unverified => Answer { verdict: Verdict::Undecided, detail: Detail::None },
            Found::Verified => Answer::of(true).with(Detail::Count(self.count(&item)?)),
        })
    }

    fn fill(&self) -> Option<f64> {
        let all = self.attributes.iter().chain(&self.compact);
        let add = |(used, m), t: &Tallies<Counters>| (used + t.cells.nonzero(), m + t.m());
        let (used, m) = all.fold((0, 0), add);
        Some(used as f64 / m as f64)
    }

    /// Of items all of whose values are foreign.
    fn now(&self) -> Rates {
        let values: f64 = self.value_rates().into_iter().product();
        Rates::one_sided((values * self.mixture_rate() + self.head.collisions()).min(1.0))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = vec![fact("attributes", self.attributes.len() as u64)];
        if let Some(tallies) = self.attributes.first() {
            facts.extend(Part::describe(tallies));
        }
        facts.push(fact("verified", self.exact.len()));
        facts
    }

    /// The counters of the attributes that are not left open, one attribute after the other.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digests = Record::key(key).attributes().and_then(|item| self.digests(&item));
        let digests = digests.unwrap_or_default();
        let asked = self.attributes.iter().zip(digests);
        asked.flat_map(|(t, digest)| digest.map_or_else(Vec::new, |d| Part::trace(t, d))).collect()
    }
}

impl Insert for ParallelAttributes {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        ParallelAttributes::insert(self, &record.attributes()?)
    }
}

impl Remove for ParallelAttributes {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        ParallelAttributes::remove(self, &record.attributes()?)
    }
}

impl Count for ParallelAttributes {
    /// Zero for what is no item of this filter.
    fn count(&self, key: &[u8]) -> Counted {
        let count = Record::key(key).attributes().and_then(|item| self.count(&item));
        count.unwrap_or(Counted::exactly(0))
    }
}

impl Merge for ParallelAttributes {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &ParallelAttributes = other.as_same()?;
        self.head.agree(&other.head)?;
        agree("attributes", self.attributes.len(), other.attributes.len())?;
        let pairs = || other.attributes.iter().chain(&other.compact);
        let ours = self.attributes.iter().chain(&self.compact);
        ours.zip(pairs()).try_for_each(|(ours, theirs)| ours.agree(theirs))?;
        let ours = self.attributes.iter_mut().chain(&mut self.compact);
        ours.zip(pairs()).for_each(|(ours, theirs)| ours.add(theirs));
        for (mark, times) in other.exact.iter() {
            self.exact.change(mark, |old| old.saturating_add(times));
        }
        self.head.count(other.head.items);
        Ok(())
    }
}

const EXACT: &str = "exact";
const COMPACT: &str = "compact";
const MARK: u64 = 0x6D61_726B_0000_0001;

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge];

fn example(i: u64) -> Vec<u8> {
    format!("name{i}\t{:x}", mix64(i)).into_bytes()
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<ParallelAttributes>(Facts {
    id: 88,
    slug: "parallel-attributes",
    entry: "§38",
    question: "Is there an item with these attributes, or with some of them?",
    name: "Parallel Bloom filter over several attributes",
    paper: "B. Xiao, Y. Hua, Using parallel Bloom filters for multiattribute representation on network services, \
            IEEE Transactions on Parallel and Distributed Systems 21(1), 2010",
    family: "structured",
    needs: &["attributes", "delete", "count", "merge", "parallel"],
    input: Input::of(KeyKind::Attributes).with_examples(example),
    meaning: "items are insertions minus removals; the rate is that of a foreign value in one attribute, and in form \
              compact of a mixture of the values of several items",
    forms: &[Form::removing(EXACT, ABILITIES), Form::removing(COMPACT, ABILITIES)],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("attributes", 1, 64, "attributes per item").or(Preset::Integer(2)),
        Param::integer("width", 2, 64, "bits per counter; counters stick at the maximum")
            // Values of one attribute are often the same, so that counters must count further than those of keys.
            .or(Preset::Integer(8)),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests;
