//! The complement Bloom filter (Lim, Lee, Yim 2015; catalogue R7; S3 §IV-C, its reference 73).
//!
//! Where the universe U is known, a second filter can hold everything that is *not* in the set S. A key
//! of U is in one of the two, so a "no" of either filter is certain in both directions; only where both
//! say "yes" has an exact table to be asked, which lies in slower memory and is not part of the filter:
//!
//! ```text
//!                       complement: no              complement: yes
//!   main: yes     Present, for certain        Undecided: ask the table
//!   main: no      Absent: not even in U       Absent, for certain
//! ```
//!
//! Of a share s of queries for members, s·f_comp + (1 − s)·f_main ask the table; the sum of both rates
//! that S3 gives is an upper bound. With the table every answer about U is exact.
//!
//! **Outside of U nothing is certain but "no".** A key that is in neither set passes as the digests will
//! have it: f_main·(1 − f_comp) of them are called `Present`, wrongly, and f_main·f_comp `Undecided`.
//! These are the rates that [`now`](Filter::now) gives, since in U there are no false positives. `Absent`
//! with the label `not in the universe` is right in any case.
//!
//! **Use it** where U is known, not much larger than S, and members are asked for often: a standard
//! filter sends each of them to the table. **Don't** for a small set in a large universe: the complement
//! is then nearly all of U, and a standard filter of as many bits hardly ever errs.
//!
//! A later member may be inserted. It stays in the complement, which cannot forget it, so it costs a look
//! into the table at every query until the filter is built anew; the answers stay right.

use std::collections::HashSet;
use std::f64::consts::LN_2;

use crate::parts::flat_bits::{FlatBits, check_parts, flat_for};
use crate::parts::{KeyPart, SetPart};
use crate::plan::DEFAULT_FPR;
use crate::theory::bloom as theory;
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

state!(Complement { head, main, complement, others });

/// What the two filters say together (S3 table III).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// (1, 0): in the set, if in the universe.
    Member,
    /// (0, 1): not in the set.
    NoMember,
    /// (1, 1): the table knows.
    AskTable,
    /// (0, 0): not in the universe, and so not in the set.
    NotInUniverse,
}

/// The share of queries in U that ask the table, if a share `members` of them is for members.
pub fn table_accesses(members: f64, main: f64, complement: f64) -> f64 {
    members * complement + (1.0 - members) * main
}

impl Complement {
    /// Empty filters of these shapes.
    ///
    /// ```
    /// use everbloom::hash::Hasher;
    /// use everbloom::membership::{Complement, complement::Conclusion};
    /// use everbloom::plan::Flat;
    ///
    /// let shape = Flat { m: 1000, k: 7 };
    /// let mut days = Complement::with_shape(shape, shape, Hasher::default())?;
    /// ["Saturday", "Sunday"].iter().for_each(|day| days.exclude(*day));
    /// days.insert("Monday");
    /// assert_eq!(days.conclude("Monday"), Conclusion::Member);
    /// assert_eq!(days.conclude("Sunday"), Conclusion::NoMember);
    /// assert_eq!(days.conclude("Caturday"), Conclusion::NotInUniverse);
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn with_shape(main: Flat, complement: Flat, hasher: Hasher) -> Result<Self> {
        check_parts([main, complement])?;
        let head = Head::new(hasher, FORM);
        Ok(Self {
            head,
            main: FlatBits::new(main)?,
            complement: FlatBits::new(complement)?,
            others: 0,
        })
    }

    /// Inserts a member. One that was excluded before costs a look into the table from now on.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let new = self.main.insert(self.head.hasher.digest(key));
        self.head.count(1);
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Inserts a key of the universe that is not a member.
    pub fn exclude<K: Key + ?Sized>(&mut self, key: &K) {
        let digest = self.head.hasher.digest(key);
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

    /// P(the table is asked | a key of U that is not a member), from the real fill.
    pub fn main_fpr(&self) -> f64 {
        self.main.fpr()
    }

    /// P(the table is asked | a member that was never excluded), from the real fill.
    pub fn complement_fpr(&self) -> f64 {
        self.complement.fpr()
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// The salt of the complement's digests, which makes them independent of the main filter's.
const COMPLEMENT: u64 = 1;

/// What the goal says; how many keys are in the complement, the records tell.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    items: Option<u64>,
    others: Option<u64>,
    rate: Option<f64>,
    complement_rate: Option<f64>,
    room: Option<u64>,
}

impl Shape {
    /// The rate of the main filter, and both filters, for `n` members among `others`.
    fn settle(&self, n: u64, others: u64) -> Result<(f64, Flat, Flat)> {
        let p = self.rate.unwrap_or_else(|| match (self.room, self.complement_rate) {
            (None, _) => DEFAULT_FPR,
            // Two bits for rounding up twice.
            (Some(room), None) => rate_of(room as f64 - 2.0, n as f64 + others as f64),
            (Some(room), Some(c)) => {
                rate_of(room as f64 - theory::bits_for(others, c) as f64 - 1.0, n as f64)
            }
        });
        let complement = flat_for(others, self.complement_rate.unwrap_or(p).min(1.0));
        let main = flat_for(n, p.min(1.0));
        let needed = check_parts([main, complement])?;
        if p >= 1.0 || self.room.is_some_and(|room| needed > room) {
            return Err(Error::parameter(format!(
                "{n} members and {others} other keys need more than {} bytes: \
                 give more --memory or a higher rate",
                self.room.unwrap_or(0) / 8
            )));
        }
        Ok((p, main, complement))
    }
}

/// The rate that `bits` bits give `n` keys (S0 eq. 7), as far as a number can be that small.
fn rate_of(bits: f64, n: f64) -> f64 {
    libm::exp(-LN_2 * LN_2 * bits / n.max(1.0)).max(1e-300)
}

impl Plan for Complement {
    type Shape = Shape;

    /// Both filters get the rate asked for: whatever is asked, that share of queries needs the table.
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
        let [(a, a_sd), (b, b_sd)] = [main.fill(n), complement.fill(others)];
        let [m, c] = [main.m as f64, complement.m as f64];
        let sd = libm::hypot(a_sd * m, b_sd * c) / (m + c);
        Some(Expect {
            fpr: f * (1.0 - g),
            fnr: 0.0,
            undecided: f * g,
            bits: main.m + complement.m,
            fill: Some(((a * m + b * c) / (m + c), sd)),
        })
    }
}

impl Create for Complement {
    /// Members among the other keys are left out, so that the whole universe may be given for them.
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let digest = |record: &Record<'_>| head.hasher.digest(record.key);
        let mut members: HashSet<Digest> = HashSet::new();
        inputs.records.batches(&mut |batch| {
            members.extend(batch.iter().map(digest));
            Ok(())
        })?;
        let mut each_other = |f: &mut dyn FnMut(Digest)| match &mut inputs.negatives {
            Some(universe) => universe.batches(&mut |batch| {
                batch.iter().map(digest).filter(|d| !members.contains(d)).for_each(&mut *f);
                Ok(())
            }),
            None => Ok(()),
        };
        let mut others = 0;
        each_other(&mut |_| others += 1)?;
        let n = shape.items.unwrap_or(members.len() as u64);
        let (rate, main, complement) = shape.settle(n, shape.others.unwrap_or(others))?;
        let mut main = FlatBits::new(main)?;
        let mut complement = FlatBits::new(complement)?;
        members.iter().for_each(|&d| {
            main.insert(d);
        });
        each_other(&mut |d| {
            complement.insert(d.salted(COMPLEMENT));
        })?;
        let head = Head { items: members.len() as u64, fpr: Some(rate), ..head };
        Ok(Self { head, main, complement, others })
    }
}

face!(Complement: Insert);

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
        let ones = self.main.bits.ones() + self.complement.bits.ones();
        Some(ones as f64 / (self.main.m() + self.complement.m()) as f64)
    }

    /// For keys outside of the universe; in it there are no false positives.
    fn now(&self) -> Rates {
        let (f, g) = (self.main.fpr(), self.complement.fpr());
        Rates { fpr: Some(f * (1.0 - g)), fnr: Some(0.0), undecided: Some(f * g) }
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.main.m()),
            fact("k", self.main.k()),
            fact("complement m", self.complement.m()),
            fact("complement k", self.complement.k()),
            fact("other keys", self.others),
            real("table asked, members", self.complement_fpr()),
            real("table asked, others", self.main_fpr()),
        ]
    }
}

keyed!(Complement: Insert);

const FORM: &str = "standard";

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 18,
        slug: "complement",
        entry: "R7",
        name: "Complement Bloom filter",
        paper: "H. Lim, J. Lee, C. Yim, Complement Bloom filter for identifying true positiveness of a Bloom filter, IEEE Communications Letters 19(11), 2015",
        family: "known",
        needs: &["membership", "known-queries", "exact"],
        input: Input { negatives: Negatives::Required, ..Input::KEYS },
        meaning: "items are members, known non-members the rest of the universe; the rate is that of \
                  queries inside the universe that stay undecided, for which an exact table is asked",
        forms: &[Form::exact(FORM, &[Ability::Insert])],
        params: &[
            Param {
                name: "others",
                range: Range::Integer(0, 1 << 48),
                default: Preset::Planned,
                help: "keys in the rest of the universe; by default as many as are read",
            },
            Param {
                name: "complement-rate",
                range: Range::Real(1e-300, 0.999_999),
                default: Preset::Planned,
                help: "rate of the complement's filter, where not that of the main filter",
            },
        ],
        build: Build::Collected,
        reach: 1_000_000,
        ..Facts::FILTER
    },
    ops: Ops::of::<Complement>(),
};
