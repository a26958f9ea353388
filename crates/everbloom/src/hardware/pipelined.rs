//! The pipelined Bloom filter (Kaya and Kocak 2006, Paynter and Kocak 2008; catalogue I14; S3 §V-D, its
//! references 107 to 109).
//!
//! In hardware the k hash functions are circuits side by side, and all of them run for every query. Most
//! queries would be answered by the first zero. So the functions are put in stages, and a stage only runs
//! where all before it have found ones:
//!
//! ```text
//!   two-stage   ┌ h1 ┐  all ones  ┌ h3 h4 … ┐          full    h1 ─1─▶ h2 ─1─▶ … ─1─▶ hk ─1─▶ yes
//!     query ──▶ │ h2 │ ─────────▶ │      hk │ ──▶                │0      │0            │0
//!               └────┘            └─────────┘                    ▼       ▼             ▼
//!                 │ a zero: no        │ a zero: no               no      no            no
//! ```
//!
//! Bits, answers and rates are those of the standard filter; what is saved is energy. With a share ρ of
//! ones, a non-member needs the second stage with probability ρ^{k1}, and of the k evaluations
//!
//! | form | saved, of k |
//! |---|---|
//! | `two-stage` | k2·(1 − ρ^{k1})/k (S3 eq. 6) |
//! | `full` | 1 − (1 − ρ^k)/(k·(1 − ρ)) (S3 eq. 7) |
//!
//! which is 60 % and 80 % at k = 10, k1 = 2 in a half-full filter. A member costs all k, always. (S3 prints
//! the chance of the second stage as (1 − e^{−k1/m})^{k1}; its own eq. 6 is right only with
//! (1 − e^{−kn/m})^{k1}.)
//!
//! **Use it** if hash functions dominate the cost of a query and most queries are for non-members: packet
//! inspection, network processors. **Don't** expect a gain in software: probes of one digest are nearly free, and
//! `bloom` stops at the first zero anyway.

use crate::error::agree;
use crate::parts::flat_bits::FlatBits;
use crate::parts::{methods, owns, union};
use crate::probe::MAX_K;
use crate::variant::prelude::*;

/// A standard filter whose hash functions are evaluated in stages.
///
/// ```
/// let mut rules = everbloom::hardware::Pipelined::with_rate(1000, 0.001)?;
/// rules.insert("worm");
/// assert!(rules.ask("worm").present);
/// assert!(rules.ask("worm").evaluations > rules.ask("letter").evaluations);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pipelined {
    head: Head,
    part: FlatBits,
    /// k1, functions in the first stage; 1 where every stage has one.
    first: u32,
}

state!(Pipelined { head, part, first });

/// What a query found, and how many hash functions it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Whether the key may be a member.
    pub present: bool,
    /// Hash functions evaluated.
    pub evaluations: u32,
}

/// P(a non-member reaches the second stage), ρ^{k1}, in a filter with a share `fill` of ones.
pub fn second_stage(fill: f64, k1: u32) -> f64 {
    libm::pow(fill, k1.into())
}

/// Share of evaluations that two stages save on non-members, k2·(1 − ρ^{k1})/k (S3 eq. 6).
pub fn saved_by_two_stages(k: u32, k1: u32, fill: f64) -> f64 {
    let k2 = f64::from(k.saturating_sub(k1));
    k2 * (1.0 - second_stage(fill, k1)) / f64::from(k)
}

/// Share of evaluations that k stages of one save on non-members, 1 − (1 + ρ + … + ρ^{k−1})/k (S3 eq. 7).
pub fn saved_by_all_stages(k: u32, fill: f64) -> f64 {
    let sum: f64 = (0..k).map(|i| libm::pow(fill, i.into())).sum();
    1.0 - sum / f64::from(k)
}

/// The first stage that saves most.
pub fn best_first(k: u32, fill: f64) -> u32 {
    let saved = |k1: &u32| saved_by_two_stages(k, *k1, fill);
    // Of equals the smaller: fewer functions that always run.
    (1..=k).rev().max_by(|a, b| saved(a).total_cmp(&saved(b))).unwrap_or(1)
}

impl Pipelined {
    /// A filter of `m` bits and `k` functions, `k1` of them in the first of two stages, or each in a stage
    /// of its own where `k1` is `None`.
    pub fn with_shape(m: u64, k: u32, k1: Option<u32>, hasher: Hasher) -> Result<Self> {
        let flat = Flat { m, k }.checked()?;
        let (form, first) = k1.map_or((FULL, 1), |k1| (TWO_STAGE, k1));
        Self::empty(&Shape::new(flat, first)?, Head::new(hasher, form))
    }

    /// Whether the key may be a member, and what it took to say so.
    #[inline]
    pub fn ask<K: Key + ?Sized>(&self, key: &K) -> Asked {
        let digest = self.head.hasher.digest(key);
        let (probe, bits, k) = (self.part.probe, &self.part.bits, self.k());
        if self.head.form == FULL {
            let mut evaluations = 0;
            let present = probe.all(digest, |i| {
                evaluations += 1;
                bits.get(i)
            });
            return Asked { present, evaluations };
        }
        // The functions of a stage run at the same time, so that it costs all of them.
        if !probe.all_of_first(self.first, digest, |i| bits.get(i)) {
            return Asked { present: false, evaluations: self.first };
        }
        Asked { present: probe.all(digest, |i| bits.get(i)), evaluations: k }
    }

    /// Number of bits.
    pub fn m(&self) -> u64 {
        self.part.m()
    }

    /// Number of hash functions.
    pub fn k(&self) -> u32 {
        self.part.k()
    }

    /// Number of functions in the first stage.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Share of evaluations saved on non-members, from the real fill.
    pub fn saved(&self) -> f64 {
        let (k, fill) = (self.k(), self.part.fill());
        if self.head.form == FULL {
            saved_by_all_stages(k, fill)
        } else {
            saved_by_two_stages(k, self.first, fill)
        }
    }

    /// Makes this the filter of the union of both sets, exactly.
    pub fn union(&mut self, other: &Pipelined) -> Result<()> {
        agree("k1", self.first, other.first)?;
        union((&mut self.head, &mut self.part), (&other.head, &other.part))
    }

    fn check(&self) -> Result<()> {
        let most = if self.head.form == FULL { 1 } else { self.k() };
        if (1..=most).contains(&self.first) {
            return Ok(());
        }
        let (k1, k) = (self.first, self.k());
        Err(Error::corrupt(0, format!("corrupt filter: a first stage of {k1} of {k} functions")))
    }
}

/// m, k and k1.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    first: u32,
}

impl Shape {
    fn new(flat: Flat, first: u32) -> Result<Self> {
        if (1..=flat.k).contains(&first) {
            return Ok(Self { flat, first });
        }
        let message = format!("the first stage has 1 to all {} of the functions", flat.k);
        Err(Error::setting(PARAM_FIRST.name, first, message))
    }
}

impl Plan for Pipelined {
    type Shape = Shape;

    /// The standard filter, and the first stage that saves most once it is as full as planned.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let flat = Flat::plan(request, 1)?;
        match (request.form(), request.integer(PARAM_FIRST.name)) {
            (FULL, Some(k1)) => {
                let message = "form full has one function in every stage";
                Err(Error::setting(PARAM_FIRST.name, k1, message))
            }
            (FULL, None) => Shape::new(flat, 1),
            (_, Some(k1)) => Shape::new(flat, k1 as u32),
            (_, None) => Shape::new(flat, best_first(flat.k, planned_fill(request, flat))),
        }
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        Some(shape.flat.expect(load, shape.flat.m))
    }
}

impl Stream for Pipelined {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, part: FlatBits::new(shape.flat)?, first: shape.first })
    }
}

/// How full a filter will be with all the keys it is planned for: half, where nobody says how many.
pub(crate) fn planned_fill(request: &Request<'_>, flat: Flat) -> f64 {
    request.goal_items().map_or(0.5, |n| flat.fill(n).0)
}

face!(Pipelined: Insert, Merge, Bulk, BulkInsert);
planned!(Pipelined);
owns!(Pipelined { part: FlatBits });
methods!(Pipelined:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(Pipelined: Insert, Union);

impl Filter for Pipelined {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.part)
    }

    fn describe(&self) -> Vec<Fact> {
        let evaluations = f64::from(self.k()) * (1.0 - self.saved());
        vec![
            fact("m", self.m()),
            fact("k", self.k()),
            fact("k1", self.first),
            real("evaluations for non-members", evaluations),
            real("saved", self.saved()),
        ]
    }

    /// The cells of the functions that were evaluated.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let mut cells = self.part.trace(self.head.hasher.digest(key));
        cells.truncate(self.ask(key).evaluations as usize);
        cells
    }
}

const TWO_STAGE: &str = "two-stage";
const FULL: &str = "full";
const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Merge];

/// How many functions always run.
pub(crate) const PARAM_FIRST: Param = Param::integer(
    "first",
    1,
    MAX_K as u64,
    "k1, hash functions in the first stage; by default the number that saves most",
);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Pipelined>(Facts {
    id: 47,
    slug: "pipelined",
    entry: "I14",
    question: "Is it in the set, in hardware that stops at the first zero to save energy?",
    name: "Pipelined Bloom filter",
    paper: "I. Kaya, T. Kocak, Energy-efficient pipelined Bloom filters for network intrusion detection, \
            IEEE ICC, 2006; M. Paynter, T. Kocak, Fully pipelined Bloom filter architecture, IEEE \
            Communications Letters 12(11), 2008",
    family: "hardware",
    needs: &["membership", "merge"],
    forms: &[Form::exact(TWO_STAGE, ABILITIES), Form::exact(FULL, ABILITIES)],
    params: &[PARAM_M, PARAM_K, PARAM_FIRST],
    ..Facts::FILTER
});
