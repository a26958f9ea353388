//! The yes-no Bloom filter (Carrea, Vernitski, Reed 2016; catalogue R8; S3 §IV-C, its reference 74).
//!
//! Some non-members are known, and known to be queried. Those of them that pass the yes-filter are written
//! into small no-filters, and a key that a no-filter covers is turned away after all:
//!
//! ```text
//!   ┌─────────── yes-filter, p bits ───────────┬─ no 1 ─┬─ no 2 ─┬─ no 3 ─┐  q bits each
//!   │ 0 1 1 0 0 1 0 1 1 0 1 0 0 1 …            │ 0 1 1 0│ 1 0 0 0│ 0 0 1 1│
//!   └──────────────────────────────────────────┴────────┴────────┴────────┘
//!     k probes: all ones?                        and none has ones at all of the key's k' places
//! ```
//!
//! A no-filter must not cover a member, so an entry is accepted only if no member is covered then; else
//! the next no-filter is tried, and a known non-member that fits none stays a false positive. With this
//! test there are **no false negatives**. (S3's text says there is a risk of them, and its table that
//! there is none: it is there only if the test is left out.) Later members are tested the same way, and
//! those that a no-filter covers are refused.
//!
//! The k' places of a key are distinct and the same in all no-filters, so that one computation serves
//! them all, and two keys have the same with probability 1/C(q, k'). An entry takes about log2(n)/ln 2
//! bits, since about 2^−k' of the n members are covered by a no-filter that is half full.
//!
//! **Slow:** an entry of a no-filter is held against the members, and a known non-member that does not fit tries
//! one no-filter after the other. A query is not concerned.
//!
//! **Use it** for a set that is fully known and whose troublesome non-members recur: in 696 bits for 80 keys it
//! rejects all but one in a thousand of 300 known ones, where a single filter of this size lets three or four pass.
//! **Don't** if the queried non-members are unknown: the bits of the no-filters are then wasted.

use super::users::Users;
use super::{all, negatives};
use crate::cells::Bits;
use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::parts::several::{self, check_parts, flat_for, flat_set};
use crate::probe::{Indices, subset};
use crate::variant::prelude::*;

/// A filter of the set, and filters of those non-members that pass it.
#[derive(Clone, Debug, PartialEq)]
pub struct YesNo {
    head: Head,
    yes: FlatBits,
    /// Bits of each no-filter.
    no_bits: u64,
    /// Places of a key in them.
    no_k: u32,
    no: Vec<Bits>,
    /// Known non-members that were written into a no-filter.
    stored: u64,
    /// Known non-members that pass in spite of all.
    remaining: u64,
}

state!(YesNo { head, yes, no_bits, no_k, no, stored, remaining });

const MAX_NO_FILTERS: u64 = 1024;
const MAX_NO_K: u32 = 64;
/// The salt of the places in the no-filters: hashes independent of the yes-filter's.
const NO: u64 = 1;

/// P(a no-filter of q bits with `ones` ones covers a random key) = C(ones, k')/C(q, k').
pub fn covers(ones: u64, q: u64, k: u32) -> f64 {
    let factor = |i: u64| ones.saturating_sub(i) as f64 / (q - i) as f64;
    (0..u64::from(k).min(q)).map(factor).product()
}

impl YesNo {
    /// The filter of `members`, with those of `troublesome` turned away that can be.
    ///
    /// ```
    /// use everbloom::known::yes_no::{Shape, YesNo};
    /// use everbloom::{Flat, Hasher};
    ///
    /// let shape = Shape { yes: Flat { m: 24, k: 2 }, no_filters: 2, no_bits: 32, no_k: 4 };
    /// let filter = YesNo::of(["ant", "bee", "fly"], ["cat", "cow", "dog"], shape, Hasher::default())?;
    /// assert!(filter.contains("bee"));
    /// assert!(!filter.contains("cow"));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn of<K: Key>(
        members: impl IntoIterator<Item = K>,
        troublesome: impl IntoIterator<Item = K>,
        shape: Shape,
        hasher: Hasher,
    ) -> Result<Self> {
        shape.check()?;
        let (members, troublesome) = (all(&hasher, members), all(&hasher, troublesome));
        let mut filter = Self::empty(&shape, Head::new(hasher, FORM))?;
        filter.say_yes(&members);
        let passing = troublesome.into_iter().filter(|d| filter.yes.contains(*d)).collect();
        filter.say_no(&members, passing)?;
        Ok(filter)
    }

    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { yes, no_filters, no_bits, no_k } = *shape;
        let no = (0..no_filters).map(|_| Bits::try_new(no_bits)).collect::<Result<_>>()?;
        let yes = FlatBits::new(yes)?;
        Ok(Self { head, yes, no_bits, no_k, no, stored: 0, remaining: 0 })
    }

    fn say_yes(&mut self, members: &[Digest]) {
        self.yes.insert_all(members);
        self.head.count(members.len() as u64);
    }

    /// Writes the non-members that pass into the no-filters, in the order given, each into the first that
    /// then covers no member.
    fn say_no(&mut self, members: &[Digest], passing: Vec<Digest>) -> Result<()> {
        if passing.is_empty() || self.no.is_empty() {
            self.remaining = passing.len() as u64;
            return Ok(());
        }
        let users = Users::new(members, |digest| self.places(digest), self.no_bits)?;
        for digest in passing {
            let places = self.places(digest);
            // One that another entry's bits turn away already need not be stored.
            if self.denies(&places) {
                continue;
            }
            let accepts = |no: &Bits| {
                let fresh = places.iter().filter(|i| !no.get(**i));
                // Only a member that has a place among the new bits can be covered now.
                !fresh.flat_map(|i| users.at(*i)).any(|member| {
                    let theirs = self.places(members[*member as usize]);
                    theirs.iter().all(|i| no.get(*i) || places.contains(i))
                })
            };
            match self.no.iter().position(accepts) {
                Some(j) => {
                    places.iter().for_each(|i| {
                        self.no[j].set(*i);
                    });
                    self.stored += 1;
                }
                None => self.remaining += 1,
            }
        }
        Ok(())
    }

    fn places(&self, digest: Digest) -> Indices {
        subset(digest.salted(NO), self.no_bits, self.no_k)
    }

    /// Whether a no-filter has ones at all of these places.
    fn denies(&self, places: &[u64]) -> bool {
        self.no.iter().any(|no| places.iter().all(|i| no.get(*i)))
    }

    /// Whether the key may be a member. The no-filters are queried only after a yes.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        self.yes.contains(digest) && (self.no.is_empty() || !self.denies(&self.places(digest)))
    }

    /// Inserts a member, unless a no-filter would turn it away.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        if !self.no.is_empty() && self.denies(&self.places(digest)) {
            return Err(Error::record(
                "a no-filter covers the key, so that it would be a false negative: rebuild the filter with it",
            ));
        }
        let new = self.yes.insert(digest);
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    /// Known non-members that were written into a no-filter.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// Known non-members that passed at the time of the build, since every no-filter refused them.
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    fn check(&self) -> Result<()> {
        let Self { no_bits, no_k, .. } = *self;
        let yes = Flat { m: self.yes.m(), k: self.yes.k() };
        let shape = Shape { yes, no_filters: self.no.len() as u64, no_bits, no_k };
        if shape.possible() && self.no.iter().all(|no| no.len() == no_bits) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: impossible no-filters"))
    }
}

/// The yes-filter, and number, bits and places of the no-filters.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The yes-filter.
    pub yes: Flat,
    /// r, at most 1024; none makes it a standard filter.
    pub no_filters: u64,
    /// q.
    pub no_bits: u64,
    /// k', at most 64 and at most q.
    pub no_k: u32,
}

impl Shape {
    fn bits(&self) -> f64 {
        self.yes.m as f64 + self.no_filters as f64 * self.no_bits as f64
    }

    /// Whether there can be no-filters like these.
    fn possible(&self) -> bool {
        self.no_filters <= MAX_NO_FILTERS
            && (1..=MAX_NO_K).contains(&self.no_k)
            && u64::from(self.no_k) <= self.no_bits
    }

    fn check(&self) -> Result<()> {
        let Shape { yes, no_filters, no_bits, no_k } = *self;
        if !self.possible() {
            return Err(Error::parameter(format!(
                "{no_filters} no-filters with {no_k} places in {no_bits} bits: at most \
                 {MAX_NO_FILTERS} filters, and at most {MAX_NO_K} places and as many as there are bits"
            )));
        }
        let no = Flat { m: no_bits, k: no_k };
        check_parts(std::iter::once(yes).chain(std::iter::repeat_n(no, no_filters as usize)))
            .map(drop)
    }
}

impl Plan for YesNo {
    type Shape = Shape;

    /// The yes-filter alone keeps to the rate, for unknown keys; the no-filters take a tenth of all bits.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let no_filters = request.whole("no-filters");
        let share = request.number("no-share");
        let sized = |n: u64, p: f64| {
            let yes = flat_set(request, ["m", "k"], n, flat_for(n, p).m);
            let room = share / (1.0 - share) * yes.m as f64 / no_filters.max(1) as f64;
            let no_bits = request.integer("no-bits").unwrap_or((room as u64).max(1));
            // 2^−k' of the members are covered by a no-filter that is half full: less than one.
            let places = libm::ceil(libm::log2(n as f64)).max(1.0) as u64;
            let no_k = request.integer("no-k").unwrap_or(places.min(no_bits));
            Shape { yes, no_filters, no_bits, no_k: no_k as u32 }
        };
        let (n, p) = request.items_and_rate(|n, p| sized(n, p).bits())?;
        let shape = sized(n, p);
        shape.check()?;
        Ok(shape)
    }

    /// For unknown keys, and with the no-filters empty: what non-members are known is not part of a load.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let bits = shape.yes.m + shape.no_filters * shape.no_bits;
        let n = load.distinct;
        Some(
            Expect::one_sided(shape.yes.fpr(n), bits, Some(shape.yes.fill(n))).probing(shape.yes.k),
        )
    }
}

impl Create for YesNo {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let hasher = head.hasher.clone();
        let members = digests(&hasher, inputs.records)?;
        let mut filter = Self::empty(shape, head)?;
        filter.say_yes(&members);
        let passing = negatives(&hasher, inputs, |digest| filter.yes.contains(digest))?;
        filter.say_no(&members, passing)?;
        Ok(filter)
    }
}

face!(YesNo: Insert);
built!(YesNo: against);

impl Filter for YesNo {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    /// That of the yes-filter.
    fn fill(&self) -> Option<f64> {
        several::fill([&self.yes])
    }

    /// For unknown keys: f_yes·Π(1 − g_j). The no-filters share a key's places but hardly any ones, so
    /// they count as independent.
    fn now(&self) -> Rates {
        let passes = |no: &Bits| 1.0 - covers(no.ones(), self.no_bits, self.no_k);
        Rates::one_sided(self.yes.fpr() * self.no.iter().map(passes).product::<f64>())
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = Vec::from(several::shape(&self.yes, ["m", "k"]));
        facts.extend([
            fact("no-filters", self.no.len() as u64),
            fact("no-filter bits", self.no_bits),
            fact("no-filter k", self.no_k),
            fact("non-members stored", self.stored),
            fact("non-members remaining", self.remaining),
        ]);
        facts
    }

    /// A cell of a no-filter speaks for the key if it is empty.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let mut cells = several::trace([(&self.yes, digest)]);
        let places = self.places(digest);
        for (i, no) in (0..).zip(&self.no) {
            let start = self.yes.m() + i * self.no_bits;
            cells.extend(places.iter().map(|place| {
                let value = u64::from(no.get(*place));
                Touched { index: start + place, value, agrees: value == 0 }
            }));
        }
        cells
    }
}

impl Insert for YesNo {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        YesNo::insert(self, record.key)
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<YesNo>(Facts {
    id: 19,
    slug: "yes-no",
    entry: "R8",
    question: "Is it in the set, with fewer errors among known non-members?",
    name: "Yes-no Bloom filter",
    paper: "L. Carrea, A. Vernitski, M. Reed, Yes-no Bloom filter: a way of representing sets with fewer false positives, arXiv:1603.01060, 2016",
    family: "known",
    needs: &["membership", "known-queries", "accurate"],
    input: Input::KEYS.with_negatives(Negatives::Optional),
    meaning: "items are keys, the rate is the false-positive rate among unknown keys",
    forms: &[Form::exact(FORM, &[Ability::Insert])],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("no-filters", 0, MAX_NO_FILTERS, "number of no-filters")
            .or(Preset::Integer(4)),
        Param::real("no-share", 0.0, 0.9, "share of all bits that the no-filters get")
            .or(Preset::Real(0.1)),
        Param { name: "no-bits", help: "bits of each no-filter", ..PARAM_M },
        Param::integer(
            "no-k",
            1,
            MAX_NO_K as u64,
            "positions of a key in the no-filters; about log2 of the items by default",
        ),
    ],
    reach: 1_000_000,
    ..Facts::COLLECTED
});
