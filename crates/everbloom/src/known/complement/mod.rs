//! The complement Bloom filter (Lim, Lee, Yim 2015; catalogue R7; S3 §IV-C, its reference 73).
//!
//! Where the universe U is known, a second filter can hold everything that is *not* in the set S. A key
//! of U is in one of the two, so a "no" of either filter is certain in both directions. Only where both
//! say "yes" must an exact table be queried, which lies in slower memory and is not part of the filter:
//!
//! ```text
//!                       complement: no              complement: yes
//!   main: yes     Present, for certain        Undecided: query the table
//!   main: no      Absent: not even in U       Absent, for certain
//! ```
//!
//! With a share s of the queries for members, s·f_comp + (1 − s)·f_main of them go to the table; the sum of
//! both rates that S3 gives is an upper bound. With the table every answer about U is exact.
//!
//! **Outside of U only "no" is certain.** A key that is in neither set passes by chance: f_main·(1 − f_comp)
//! of such keys are called `Present`, wrongly, and f_main·f_comp `Undecided`. These are the rates that
//! [`now`](Filter::now) gives, since in U there are no false positives. `Absent` with the label
//! `not in the universe` is right in any case.
//!
//! **Use it** if U is known, not much larger than S, and queries for members are frequent: a standard filter sends
//! each of them to the table. **Don't** for a small set in a large universe: the complement is then nearly all of
//! U, and a standard filter of the same size is almost never wrong.
//!
//! A later member may be inserted. It stays in the complement, which cannot forget it, so it costs a query to
//! the table every time until the filter is rebuilt; the answers stay right.

mod shape;

use std::collections::HashSet;

pub use shape::Shape;

use super::negatives;
use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::parts::several::{self, check_parts};
use crate::plan::MAX_CELLS;
use crate::variant::prelude::*;

/// A filter of the set and a filter of the rest of the universe.
#[derive(Clone, Debug, PartialEq)]
pub struct Complement {
    head: Head,
    main: FlatBits,
    complement: FlatBits,
    /// Keys in the complement.
    others: u64,
}

state!(plain Complement { head, main, complement, others });

/// What the two filters say together (S3 table III).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// (1, 0): in the set, if in the universe.
    Member,
    /// (0, 1): not in the set.
    NoMember,
    /// (1, 1): only the table can tell.
    AskTable,
    /// (0, 0): not in the universe, and so not in the set.
    NotInUniverse,
}

/// The share of queries in U that go to the table, if a share `members` of them is for members.
pub fn table_accesses(members: f64, main: f64, complement: f64) -> f64 {
    members * complement + (1.0 - members) * main
}

impl Complement {
    /// Empty filters of these shapes.
    ///
    /// ```
    /// use everbloom::known::complement::{Complement, Conclusion};
    /// use everbloom::{Flat, Hasher};
    ///
    /// let shape = Flat { m: 1000, k: 7 };
    /// let mut days = Complement::with_shape(shape, shape, Hasher::default())?;
    /// ["Saturday", "Sunday"].iter().for_each(|day| days.exclude(*day));
    /// days.insert("Monday");
    /// assert_eq!(days.conclude("Monday"), Conclusion::Member);
    /// assert_eq!(days.conclude("Sunday"), Conclusion::NoMember);
    /// assert_eq!(days.conclude("Caturday"), Conclusion::NotInUniverse);
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn with_shape(main: Flat, complement: Flat, hasher: Hasher) -> Result<Self> {
        check_parts([main, complement])?;
        Self::empty(main, complement, Head::new(hasher, FORM))
    }

    fn empty(main: Flat, complement: Flat, head: Head) -> Result<Self> {
        let [main, complement] = [FlatBits::new(main)?, FlatBits::new(complement)?];
        Ok(Self { head, main, complement, others: 0 })
    }

    /// Inserts a member. One that was excluded before costs a query to the table from now on.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let new = self.main.insert(self.head.hasher.digest(key));
        self.head.count(1);
        Seen::new_if(new)
    }

    /// Inserts a key of the universe that is not a member.
    pub fn exclude<K: Key + ?Sized>(&mut self, key: &K) {
        self.put_outside(self.head.hasher.digest(key));
    }

    fn put_outside(&mut self, digest: Digest) {
        self.complement.insert(digest.salted(COMPLEMENT));
        self.others = self.others.saturating_add(1);
    }

    /// What both filters say of the key.
    #[inline]
    pub fn conclude<K: Key + ?Sized>(&self, key: &K) -> Conclusion {
        let digest = self.head.hasher.digest(key);
        let in_complement = self.complement.contains(digest.salted(COMPLEMENT));
        match (self.main.contains(digest), in_complement) {
            (true, false) => Conclusion::Member,
            (false, true) => Conclusion::NoMember,
            (true, true) => Conclusion::AskTable,
            (false, false) => Conclusion::NotInUniverse,
        }
    }

    /// P(the table is queried | a key of U that is not a member), from the real fill.
    pub fn main_fpr(&self) -> f64 {
        self.main.fpr()
    }

    /// P(the table is queried | a member that was never excluded), from the real fill.
    pub fn complement_fpr(&self) -> f64 {
        self.complement.fpr()
    }
}

/// The salt of the complement's digests, which makes them independent of the main filter's.
const COMPLEMENT: u64 = 1;

impl Plan for Complement {
    type Shape = Shape;

    /// Both filters get the rate of the goal: of any mix of queries, that share needs the table.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let shape = Shape {
            items: request.goal_items(),
            others: request.integer("others"),
            rate: request.goal_fpr(),
            complement_rate: request.real("complement-rate"),
            room: request.goal_bits(),
        };
        // What is impossible anyway does not wait for the records to be refused.
        shape.settle(shape.items.unwrap_or(1), shape.others.unwrap_or(0))?;
        Ok(shape)
    }

    /// Known where `others` is set: the rest of the universe is not part of a load.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let n = load.distinct;
        let others = shape.others?;
        let (_, main, complement) = shape.settle(shape.items.unwrap_or(n), others).ok()?;
        let (f, g) = (main.fpr(n), complement.fpr(others));
        let fills = [(main.m, main.fill(n)), (complement.m, complement.fill(others))];
        let (bits, fill) = (main.m + complement.m, several::expected_fill(fills));
        Some(Expect {
            undecided: f * g,
            ..Expect::one_sided(f * (1.0 - g), bits, fill).probing(main.k)
        })
    }
}

impl Create for Complement {
    /// Members among the other keys are left out, so that the whole universe may be given for them.
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let hasher = head.hasher.clone();
        let members: HashSet<Digest> = digests(&hasher, inputs.records)?.into_iter().collect();
        let others = negatives(&hasher, inputs, |digest| !members.contains(&digest))?;
        let n = shape.items.unwrap_or(members.len() as u64);
        let (rate, main, complement) =
            shape.settle(n, shape.others.unwrap_or(others.len() as u64))?;
        let head = Head { items: members.len() as u64, fpr: Some(rate), ..head };
        let mut filter = Self::empty(main, complement, head)?;
        members.into_iter().for_each(|digest| {
            filter.main.insert(digest);
        });
        others.into_iter().for_each(|digest| filter.put_outside(digest));
        Ok(filter)
    }
}

face!(Complement: Insert);
built!(Complement: against);
keyed!(Complement: Insert);

impl Filter for Complement {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let answer = |verdict| Answer { verdict, detail: Detail::None };
        Ok(match self.conclude(record.key) {
            Conclusion::Member => answer(Verdict::Present),
            Conclusion::NoMember => answer(Verdict::Absent),
            Conclusion::AskTable => answer(Verdict::Undecided),
            Conclusion::NotInUniverse => {
                answer(Verdict::Absent).with(Detail::Labels(vec![b"not in the universe".to_vec()]))
            }
        })
    }

    /// Share of ones over both filters.
    fn fill(&self) -> Option<f64> {
        several::fill([&self.main, &self.complement])
    }

    /// For keys outside of the universe; in it there are no false positives.
    fn now(&self) -> Rates {
        let (f, g) = (self.main.fpr(), self.complement.fpr());
        Rates { fpr: Some(f * (1.0 - g)), fnr: Some(0.0), undecided: Some(f * g) }
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = Vec::from(several::shape(&self.main, ["m", "k"]));
        facts.extend(several::shape(&self.complement, ["complement m", "complement k"]));
        facts.extend([
            fact("other keys", self.others),
            real("table asked, members", self.complement_fpr()),
            real("table asked, others", self.main_fpr()),
        ]);
        facts
    }

    /// A cell of the complement speaks for the key if it is empty.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let parts = [(&self.main, digest), (&self.complement, digest.salted(COMPLEMENT))];
        let mut cells = several::trace(parts);
        let main = self.main.k() as usize;
        cells.iter_mut().skip(main).for_each(|cell| cell.agrees = cell.value == 0);
        cells
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Complement>(Facts {
    id: 18,
    slug: "complement",
    entry: "R7",
    question: "Is it in the set, exactly, in a universe that is known?",
    name: "Complement Bloom filter",
    paper: "H. Lim, J. Lee, C. Yim, Complement Bloom filter for identifying true positiveness of a Bloom filter, IEEE Communications Letters 19(11), 2015",
    family: "known",
    needs: &["membership", "known-queries", "exact"],
    input: Input::KEYS.with_negatives(Negatives::Required),
    meaning: "items are members, known non-members the rest of the universe; the rate is that of undecided queries \
              inside the universe, which an exact table answers",
    forms: &[Form::exact(FORM, &[Ability::Insert])],
    operations: &[change!(
        Complement,
        "exclude",
        "Add keys of the universe that are not members.",
        [],
        [Keys],
        |filter, given| {
            filter.exclude(given.record.key);
            Ok(true)
        }
    )],
    params: &[
        Param::integer(
            "others",
            0,
            MAX_CELLS,
            "keys in the rest of the universe; by default the number read",
        ),
        Param::real(
            "complement-rate",
            1e-300,
            0.999_999,
            "rate of the complement's filter; by default that of the main filter",
        ),
    ],
    reach: 1_000_000,
    ..Facts::COLLECTED
});
