//! The energy-efficient self-adaptive Bloom filter, EABF (Zhou, Song, Wang 2012; catalogue I15; S3 §V-D, its
//! reference 110).
//!
//! The two-stage filter (`pipelined`) saves energy but answers late where many queries need the second
//! stage: members, or an attack of keys that look like some. Here the functions beyond the first k1 move
//! between the stages, each under a control bit, as the queue in front of the second stage demands:
//!
//! ```text
//!   query ─▶ stage 1: h1 … h_a ─all ones─▶ queue ▯▯▯ ─▶ stage 2: h_{a+1} … h_k, one a tick ─▶ answer
//!                 │ a zero: no                │                   │ a zero: no
//!            a + 1 ◀── queue longer than 2 ───┴─── empty for 8 ticks ──▶ a − 1, not below k1
//! ```
//!
//! So it is the two-stage filter while little is going on and the standard filter, with an answer every
//! tick, in the rush hour. Bits, answers and rates are the standard filter's in every state. With a
//! functions in the first stage a non-member takes a + (k − a)·ρ^a evaluations.
//!
//! The bits know nothing of time: a [`Pipeline`] over the filter has the clock, the control bits and the
//! queue, and several may run over one filter. A query is offered to a tick; where the queue is full it is
//! not taken, and has to be offered again. Nothing is dropped: [`Pipeline::finish`] answers what is left.
//!
//! Functions move in order, the next one into stage 1 and the last one out. So stage 1 is always
//! h1 … h_a, C\[i\] = 0 means i ≤ a, and the mask of the functions that a waiting key has passed is a number: a
//! function that moves while it waits is still evaluated for it.
//!
//! **Use it** to study such hardware. **Don't** to answer queries in software, which has no second stage to
//! switch off: that is `bloom`.

use super::pipeline::{HIGH, MAX_ROOM, PATIENCE, ROOM};
pub use super::pipeline::{Pipeline, Policy, Tick};
use super::pipelined::{PARAM_FIRST, best_first, planned_fill, second_stage};
use crate::parts::flat_bits::FlatBits;
use crate::parts::{methods, owns, sets};
use crate::variant::prelude::*;

/// A standard filter and the rules by which its hash functions change stages.
///
/// ```
/// let mut filter = everbloom::hardware::Adaptive::with_rate(1000, 0.001)?;
/// filter.insert("worm");
/// let mut pipeline = filter.pipeline();
/// let ticket = pipeline.tick(Some("worm")).ticket;
/// assert_eq!(pipeline.finish(), [(ticket.expect("room"), true)]);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptive {
    head: Head,
    part: FlatBits,
    policy: Policy,
}

state!(Adaptive { head, part, policy });

/// Expected evaluations for a non-member with `a` functions in stage 1, a + (k − a)·ρ^a (catalogue I15).
///
/// This counts the second stage as a whole, like S3 eq. 6. Evaluated one a tick it stops at the first
/// zero, and takes [`serial_evaluations`].
pub fn evaluations(k: u32, a: u32, fill: f64) -> f64 {
    f64::from(a) + f64::from(k.saturating_sub(a)) * second_stage(fill, a)
}

/// Expected evaluations for a non-member in a [`Pipeline`], a + ρ^a + … + ρ^{k−1}.
pub fn serial_evaluations(k: u32, a: u32, fill: f64) -> f64 {
    f64::from(a) + (a..k).map(|i| libm::pow(fill, i.into())).sum::<f64>()
}

impl Adaptive {
    /// A filter of `m` bits and `k` functions, under a policy with at most as many in its first stage.
    pub fn with_shape(m: u64, k: u32, policy: Policy, hasher: Hasher) -> Result<Self> {
        let flat = Flat { m, k }.checked()?;
        policy.check().map_err(|_| Error::parameter(WORKABLE))?;
        if policy.first > flat.k {
            return Err(Error::parameter(WORKABLE));
        }
        Self::empty(&(flat, policy), Head::new(hasher, FORM))
    }

    /// Evaluations that a query takes with `a` functions in stage 1 and the others evaluated together.
    pub fn cost<K: Key + ?Sized>(&self, key: &K, a: u32) -> u32 {
        let (digest, a) = (self.head.hasher.digest(key), a.min(self.k()));
        let bits = &self.part.bits;
        let passed = self.part.probe.all_of_first(a, digest, |i| bits.get(i));
        if passed { self.k() } else { a }
    }

    /// A clock, control bits and a queue over this filter, with k1 functions in stage 1.
    pub fn pipeline(&self) -> Pipeline<'_> {
        Pipeline::new(&self.part, &self.head.hasher, self.policy)
    }

    /// Number of bits.
    pub fn m(&self) -> u64 {
        self.part.m()
    }

    /// Number of hash functions.
    pub fn k(&self) -> u32 {
        self.part.k()
    }

    /// When functions change stages.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    fn check(&self) -> Result<()> {
        if self.policy.first <= self.k() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: more functions in the first stage than there are"))
    }
}

impl Plan for Adaptive {
    /// m, k and the policy.
    type Shape = (Flat, Policy);

    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let flat = Flat::plan(request, 1)?;
        let usual = || best_first(flat.k, planned_fill(request, flat));
        let policy = Policy {
            first: request.integer(PARAM_FIRST.name).map_or_else(usual, |k1| k1 as u32),
            high: request.whole("high"),
            patience: request.whole("patience"),
            room: request.whole("room"),
        };
        if policy.check().is_err() || policy.first > flat.k {
            return Err(Error::parameter(WORKABLE));
        }
        Ok((flat, policy))
    }

    fn expect((flat, _): &Self::Shape, load: &Load) -> Option<Expect> {
        Some(flat.expect(load, flat.m))
    }
}

impl Stream for Adaptive {
    fn empty(&(flat, policy): &Self::Shape, head: Head) -> Result<Self> {
        Ok(Self { head, part: FlatBits::new(flat)?, policy })
    }
}

face!(Adaptive: Insert, Merge, Bulk, BulkInsert);
planned!(Adaptive);
owns!(Adaptive { part: FlatBits });
methods!(Adaptive:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(Adaptive: Insert);
sets!(@union Adaptive: part);

impl Filter for Adaptive {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.part)
    }

    fn describe(&self) -> Vec<Fact> {
        let Policy { first, high, patience, room } = self.policy;
        vec![
            fact("m", self.m()),
            fact("k", self.k()),
            fact("k1", first),
            fact("high mark", high),
            fact("patience", patience),
            fact("queue", room),
            real("evaluations for non-members", evaluations(self.k(), first, self.part.fill())),
        ]
    }
}

const WORKABLE: &str = "a pipeline needs at least one and at most k functions in its first stage, \
                        patience of a tick or more, and a queue with room for more keys than its high mark";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Adaptive>(Facts {
    id: 48,
    slug: "adaptive",
    entry: "I15",
    question: "Is it in the set, in hardware that saves energy and still answers members fast?",
    name: "Energy-efficient self-adaptive Bloom filter (EABF)",
    paper: "Y. Zhou, T. Song, X. Wang, EABF: Energy efficient self-adaptive Bloom filter for network \
            packet processing, IEEE ICC, 2012",
    family: "hardware",
    needs: &["membership", "merge"],
    forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge])],
    params: &[
        PARAM_M,
        PARAM_K,
        PARAM_FIRST,
        Param::integer(
            "high",
            0,
            MAX_ROOM - 1,
            "queue length at which a function joins the first stage",
        )
        .or(Preset::Integer(HIGH)),
        Param::integer(
            "patience",
            1,
            1 << 32,
            "ticks with an empty queue after which a function leaves the first stage",
        )
        .or(Preset::Integer(PATIENCE)),
        Param::integer("room", 1, MAX_ROOM, "maximum number of keys in the queue")
            .or(Preset::Integer(ROOM)),
    ],
    ..Facts::FILTER
});
