//! The retouched Bloom filter (Donnet, Baynat, Friedman 2006; catalogue R9; S0 §III-Q, S3 §IV-C). S3's
//! reference 75 names other authors for it, by mistake.
//!
//! After the keys are in, ones are cleared again. A false positive that loses one of its bits is gone
//! for good, and so is every member that used the same bit:
//!
//! ```text
//!   1 0 1 1 0 1 1 0        1 0 1 0 0 1 1 0
//!     y:  ↑ ↑   ↑   ──▶          ╳              y is turned away from now on
//!                                               and so is the member x that had its bit there
//! ```
//!
//! *Random clearing* of s of the o ones removes a share 1 − (1 − s/o)^k of all false positives, and makes
//! the same share of the members false negatives: χ = ΔFN/ΔFP = 1, nothing is gained but the choice.
//! (S3 calls the two "very close". The proportions are equal; the rates are not even of one kind.)
//! [`age`](crate::filter::Age::age) clears as many bits again per tick, by which the filter forgets.
//!
//! *Selective clearing* turns away a set B of known troublesome keys, one bit for each that still passes,
//! and chooses that bit well. Form by form: any (`selective-random`), the one of fewest members
//! (`minimum-fn`), of most troublesome keys (`maximum-fp`), or of the least quotient of the two (`ratio`).
//! B is then gone entirely at χ < 1. Of 200 members in 2000 bits, 50 keys cost 25, 20, 20 or 17 %.
//!
//! **Use it** if some non-members are queried so often, or cost so much, that losing members is the lesser evil.
//! **Don't** if members are queried as often as B: in the example 34 members are lost to get rid of 50 others. And
//! never put a member into B: it is rejected like the others.

pub use super::clearing::{Clearing, Rule};
use super::{all, clearing, negatives};
use crate::hash::{Generator, mix64};
use crate::memory::check_room;
use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::parts::several::{self, check_parts};
use crate::plan::MAX_CELLS;
use crate::variant::prelude::*;

/// A standard filter some of whose ones were cleared again.
#[derive(Clone, Debug, PartialEq)]
pub struct Retouched {
    head: Head,
    part: FlatBits,
    /// Ones cleared so far.
    cleared: u64,
    /// Ones a tick clears, in form `random`.
    step: u64,
    /// Share of the members that still pass: counted when built, estimated after a tick.
    kept: f64,
    /// Chooses the ones that ticks clear.
    generator: Generator,
}

state!(Retouched { head, part, cleared, step, kept, generator });

/// The share of false positives removed, and of members lost, when a share `cleared` of the ones is
/// cleared at random: 1 − (1 − s/o)^k.
pub fn removed(cleared: f64, k: u32) -> f64 {
    1.0 - libm::pow(1.0 - cleared, f64::from(k))
}

impl Retouched {
    /// The filter of `members`, some of its ones cleared. Only selective clearing looks at `troublesome`.
    ///
    /// ```
    /// use everbloom::known::retouched::{Clearing, Retouched, Rule};
    /// use everbloom::{Flat, Hasher};
    ///
    /// let shape = Flat { m: 64, k: 2 };
    /// let (members, spam) = (["ham", "eggs", "toast"], ["spam", "spam, spam", "spam, eggs"]);
    /// let how = Clearing::Selective(Rule::Ratio);
    /// let filter = Retouched::of(members, spam, shape, how, Hasher::default())?;
    /// assert!(spam.iter().all(|key| !filter.contains(*key)));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn of<K: Key>(
        members: impl IntoIterator<Item = K>,
        troublesome: impl IntoIterator<Item = K>,
        flat: Flat,
        clearing: Clearing,
        hasher: Hasher,
    ) -> Result<Self> {
        let shape = Shape { flat, clearing };
        shape.check()?;
        let (members, troublesome) = (all(&hasher, members), all(&hasher, troublesome));
        let head = Head::new(hasher, FORMS[shape.form()].name);
        let mut filter = Self::unretouched(&shape, head, &members)?;
        let passing: Vec<Digest> =
            troublesome.into_iter().filter(|d| filter.part.contains(*d)).collect();
        filter.retouch(&shape, &members, &passing);
        Ok(filter)
    }

    /// The standard filter of the members.
    fn unretouched(shape: &Shape, head: Head, members: &[Digest]) -> Result<Self> {
        let generator = Generator::new(mix64(head.hasher.seed() ^ 0x5E70_0C4E));
        let part = FlatBits::new(shape.flat)?;
        let mut filter = Self { head, part, cleared: 0, step: 0, kept: 1.0, generator };
        filter.part.insert_all(members);
        filter.head.count(members.len() as u64);
        Ok(filter)
    }

    /// Clears, and counts the members that are left.
    fn retouch(&mut self, shape: &Shape, members: &[Digest], passing: &[Digest]) {
        match shape.clearing {
            Clearing::Bits(bits) => self.step = bits,
            Clearing::Share(share) => {
                self.step = libm::round(share * self.part.bits.ones() as f64) as u64;
            }
            Clearing::Selective(rule) => {
                let (part, generator) = (&mut self.part, &mut self.generator);
                self.cleared = clearing::selectively(part, generator, rule, members, passing);
            }
        }
        self.clear(self.step);
        let left = members.iter().filter(|digest| self.part.contains(**digest)).count();
        self.kept = if members.is_empty() { 1.0 } else { left as f64 / members.len() as f64 };
    }

    /// Clears `s` ones at random.
    fn clear(&mut self, s: u64) {
        let cleared = clearing::at_random(&mut self.part, &mut self.generator, s);
        self.cleared = self.cleared.saturating_add(cleared);
    }

    /// Whether the key passes: a member that was not lost, or a false positive.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.part.contains(self.head.hasher.digest(key))
    }

    /// Ones cleared so far.
    pub fn cleared(&self) -> u64 {
        self.cleared
    }

    /// Share of the members that are missed.
    pub fn lost(&self) -> f64 {
        1.0 - self.kept
    }

    fn check(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.kept) {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: an impossible share of members is left"))
        }
    }
}

/// The filter before it is retouched, and how it is.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    clearing: Clearing,
}

impl Shape {
    /// The form's place in the list.
    fn form(&self) -> usize {
        match self.clearing {
            Clearing::Bits(_) | Clearing::Share(_) => 0,
            Clearing::Selective(rule) => 1 + rule as usize,
        }
    }

    /// The share of `ones` that random clearing takes.
    fn share(&self, ones: f64) -> Option<f64> {
        match self.clearing {
            Clearing::Bits(_) if ones < 1.0 => Some(0.0),
            Clearing::Bits(bits) => Some((bits as f64 / ones).min(1.0)),
            Clearing::Share(share) => Some(share),
            Clearing::Selective(_) => None,
        }
    }

    fn check(&self) -> Result<()> {
        let share = matches!(self.clearing, Clearing::Share(s) if !(0.0..=1.0).contains(&s));
        if share {
            return Err(Error::parameter("a share of ones to be cleared must be between 0 and 1"));
        }
        // Selective clearing counts members and troublesome keys at every bit, 32 bits each.
        let counts = if self.form() == 0 { 1 } else { 65 };
        check_room(check_parts([self.flat])?.saturating_mul(counts))
    }
}

impl Plan for Retouched {
    type Shape = Shape;

    /// Planned as a standard filter: the rate is that before it is retouched.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let flat = Flat::plan(request, 1)?;
        let rules = [Rule::Random, Rule::MinimumFn, Rule::MaximumFp, Rule::Ratio];
        let selective = rules.into_iter().find(|r| FORMS[1 + *r as usize].name == request.form());
        let clearing = match (selective, request.integer("clear")) {
            (Some(rule), _) => Clearing::Selective(rule),
            (None, Some(bits)) => Clearing::Bits(bits),
            (None, None) => Clearing::Share(request.number("share")),
        };
        let shape = Shape { flat, clearing };
        shape.check()?;
        Ok(shape)
    }

    /// For random clearing: what selective clearing does depends on the troublesome keys, which are not
    /// part of a load.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Flat { m, k } = shape.flat;
        let (fill, sd) = shape.flat.fill(load.distinct);
        let share = shape.share(fill * m as f64)?;
        let left = fill * (1.0 - share);
        let fpr = libm::pow(left, f64::from(k));
        let fnr = if load.distinct == 0 { 0.0 } else { removed(share, k) };
        Some(Expect { fnr, ..Expect::one_sided(fpr, m, Some((left, sd))).probing(k) })
    }
}

impl Create for Retouched {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let selective = matches!(shape.clearing, Clearing::Selective(_));
        if !selective && inputs.negatives.is_some() {
            return Err(Error::parameter(
                "{form=random} clears bits at random and does not use known non-members: use {form=ratio} (or \
                selective-random, minimum-fn, maximum-fp), or omit {negatives}",
            ));
        }
        if selective && inputs.negatives.is_none() {
            return Err(Error::parameter(format!(
                "{{form={}}} clears the bits of known troublesome keys: give {{negatives}}, or clear at random with \
                {{form={}}}",
                head.form, FORMS[0].name
            )));
        }
        let hasher = head.hasher.clone();
        let members = digests(&hasher, inputs.records)?;
        let mut filter = Self::unretouched(shape, head, &members)?;
        let passing =
            negatives(&hasher, inputs, |digest| selective && filter.part.contains(digest))?;
        filter.retouch(shape, &members, &passing);
        let planned = shape.share(filter.part.bits.ones() as f64 + filter.cleared as f64);
        let fnr = planned.map(|share| removed(share, shape.flat.k));
        filter.head.fnr = fnr.filter(|rate| *rate > 0.0 && *rate < 1.0);
        Ok(filter)
    }
}

face!(Retouched: Age);
built!(Retouched: against);

impl Filter for Retouched {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.part)
    }

    /// False positives among unknown keys; those of the troublesome keys are gone.
    fn now(&self) -> Rates {
        Rates { fpr: Some(self.part.fpr()), fnr: Some(self.lost()), undecided: None }
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = Vec::from(several::shape(&self.part, ["m", "k"]));
        facts.extend([fact("bits cleared", self.cleared), real("members lost", self.lost())]);
        facts
    }
}

impl Age for Retouched {
    fn age(&mut self, ticks: u64) {
        let ones = self.part.bits.ones();
        let s = ticks.saturating_mul(self.step).min(ones);
        if s > 0 {
            self.kept *= 1.0 - removed(s as f64 / ones as f64, self.part.k());
            self.clear(s);
        }
    }
}

const LOST: &str = "members that share a cleared bit with a false positive are missed";

/// In the order of [`Rule`], after random clearing.
const FORMS: &[Form] = &[
    Form::lossy("random", &[Ability::Age], LOST),
    Form::lossy("selective-random", &[], LOST),
    Form::lossy("minimum-fn", &[], LOST),
    Form::lossy("maximum-fp", &[], LOST),
    Form::lossy("ratio", &[], LOST),
];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Retouched>(Facts {
    id: 20,
    slug: "retouched",
    entry: "R9",
    question: "Is it in the set, when known false positives may be cleared at the price of false negatives?",
    name: "Retouched Bloom filter",
    paper: "B. Donnet, B. Baynat, T. Friedman, Retouched Bloom filters: allowing networked applications to trade off selected false positives against false negatives, CoNEXT 2006",
    family: "known",
    needs: &["membership", "known-queries"],
    input: Input::KEYS.with_negatives(Negatives::Optional),
    meaning: "items are keys, the rate is the false-positive rate before bits are cleared",
    forms: FORMS,
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer(
            "clear",
            0,
            MAX_CELLS,
            "ones that random clearing resets, when built and at every tick",
        ),
        Param::real(
            "share",
            0.0,
            1.0,
            "share of the ones that random clearing resets, if their number is not set",
        )
        // With k = 7, three in ten members are lost.
        .or(Preset::Real(0.05)),
    ],
    reach: 1_000_000,
    ..Facts::COLLECTED
});
