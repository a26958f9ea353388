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
//! **Use it** where some non-members are asked for so often, or cost so much, that losing members is the
//! lesser evil. **Don't** where members are asked for as often as B is: in the example 34 members are
//! missed to be rid of 50 others. And never put a member into B: it is turned away as asked for.

use crate::hash::{Generator, mix64};
use crate::memory::check_room;
use crate::parts::flat_bits::{FlatBits, check_parts};
use crate::parts::{KeyPart, SetPart};
use crate::probe::{Coincide, Indices};
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

/// Which of a troublesome key's k bits is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Any of them.
    Random,
    /// The one that the fewest members have: argmin v_A.
    MinimumFn,
    /// The one that the most troublesome keys have: argmax v_B.
    MaximumFp,
    /// The one with the least v_A/v_B.
    Ratio,
}

/// How ones are cleared.
#[derive(Clone, Copy, Debug)]
pub enum Clearing {
    /// This many, at random.
    Bits(u64),
    /// This share of them, at random.
    Share(f64),
    /// One for every troublesome key that still passes.
    Selective(Rule),
}

/// The share of false positives removed, and of members lost, when a share `cleared` of the ones is
/// cleared at random: 1 − (1 − s/o)^k.
pub fn removed(cleared: f64, k: u32) -> f64 {
    1.0 - libm::pow(1.0 - cleared, f64::from(k))
}

/// Calls its argument with the digest of every member; can be gone through again.
type EachMember<'a> = dyn FnMut(&mut dyn FnMut(Digest)) -> Result<()> + 'a;

impl Retouched {
    /// The filter of `members`, some of its ones cleared. Only selective clearing looks at `troublesome`.
    ///
    /// ```
    /// use everbloom::hash::Hasher;
    /// use everbloom::membership::retouched::{Clearing, Retouched, Rule};
    /// use everbloom::plan::Flat;
    ///
    /// let shape = Flat { m: 64, k: 2 };
    /// let (members, spam) = (["ham", "eggs", "toast"], ["spam", "spam, spam", "spam, eggs"]);
    /// let how = Clearing::Selective(Rule::Ratio);
    /// let filter = Retouched::of(members, spam, shape, how, Hasher::default())?;
    /// assert!(spam.iter().all(|key| !filter.contains(*key)));
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn of<K: Key>(
        members: impl IntoIterator<Item = K> + Clone,
        troublesome: impl IntoIterator<Item = K>,
        flat: Flat,
        clearing: Clearing,
        hasher: Hasher,
    ) -> Result<Self> {
        let shape = Shape { flat, clearing };
        shape.check()?;
        let head = Head::new(hasher.clone(), FORMS[shape.form()].name);
        let mut each = |f: &mut dyn FnMut(Digest)| {
            members.clone().into_iter().for_each(|key| f(hasher.digest(&key)));
            Ok(())
        };
        let troublesome = troublesome.into_iter().map(|key| hasher.digest(&key));
        let mut filter = Self::empty(flat, head)?;
        let counts = filter.insert(&shape, &mut each)?;
        let passing = troublesome.filter(|d| filter.part.contains(*d)).collect();
        filter.retouch(&shape, counts, passing, &mut each)?;
        Ok(filter)
    }

    fn empty(flat: Flat, head: Head) -> Result<Self> {
        let generator = Generator::new(mix64(head.hasher.seed() ^ 0x5E70_0C4E));
        let part = FlatBits::new(flat)?;
        Ok(Self { head, part, cleared: 0, step: 0, kept: 1.0, generator })
    }

    /// Inserts the members; v_A, the number of members at each bit, where the rule needs it.
    fn insert(&mut self, shape: &Shape, each: &mut EachMember<'_>) -> Result<Vec<u32>> {
        let counted = matches!(shape.clearing, Clearing::Selective(Rule::MinimumFn | Rule::Ratio));
        let mut members = vec![0u32; if counted { self.part.m() as usize } else { 0 }];
        each(&mut |digest| {
            self.part.insert(digest);
            self.head.count(1);
            if counted {
                self.bits_of(digest).iter().for_each(|i| bump(&mut members[*i as usize]));
            }
        })?;
        Ok(members)
    }

    /// Clears, and counts the members that are left.
    fn retouch(
        &mut self,
        shape: &Shape,
        members: Vec<u32>,
        passing: Vec<Digest>,
        each: &mut EachMember<'_>,
    ) -> Result<()> {
        match shape.clearing {
            Clearing::Bits(bits) => self.step = bits,
            Clearing::Share(share) => {
                self.step = libm::round(share * self.part.bits.ones() as f64) as u64;
            }
            Clearing::Selective(rule) => self.clear_selectively(rule, &members, &passing),
        }
        self.clear_at_random(self.step);
        let mut left = 0;
        each(&mut |digest| left += u64::from(self.part.contains(digest)))?;
        self.kept = if self.head.items == 0 { 1.0 } else { left as f64 / self.head.items as f64 };
        Ok(())
    }

    /// Clears a bit of every key that still passes. Members and troublesome keys per bit are those
    /// before any clearing, as in the paper; of equals the lowest bit is taken.
    fn clear_selectively(&mut self, rule: Rule, members: &[u32], passing: &[Digest]) {
        let mut troubles = Vec::new();
        if matches!(rule, Rule::MaximumFp | Rule::Ratio) {
            troubles = vec![0u32; self.part.m() as usize];
            for digest in passing {
                self.bits_of(*digest).iter().for_each(|i| bump(&mut troubles[*i as usize]));
            }
        }
        let a = |i: u64| u64::from(members[i as usize]);
        let b = |i: u64| u64::from(troubles[i as usize]);
        for &digest in passing {
            if !self.part.contains(digest) {
                continue;
            }
            let mut bits = self.bits_of(digest);
            bits.sort_unstable();
            let chosen = match rule {
                Rule::Random => {
                    // Uniform among the k hashes, not among their distinct bits.
                    let hashes = self.part.probe.collect(digest, Coincide::PerHash);
                    hashes.get(self.generator.below(hashes.len() as u64) as usize).copied()
                }
                Rule::MinimumFn => bits.into_iter().min_by_key(|i| a(*i)),
                Rule::MaximumFp => bits.into_iter().min_by_key(|i| std::cmp::Reverse(b(*i))),
                // v_B is never zero, since the key itself counts: quotients compare by products.
                Rule::Ratio => {
                    bits.into_iter().min_by(|i, j| (a(*i) * b(*j)).cmp(&(a(*j) * b(*i))))
                }
            };
            if let Some(bit) = chosen {
                self.part.bits.reset(bit);
                self.cleared += 1;
            }
        }
    }

    fn bits_of(&self, digest: Digest) -> Indices {
        self.part.probe.collect(digest, Coincide::Distinct)
    }

    /// Clears `s` of the ones, every choice of them equally likely, in one pass: each one is cleared
    /// with the share of those still to be cleared among those still to be seen.
    fn clear_at_random(&mut self, s: u64) {
        let mut ahead = self.part.bits.ones();
        let mut wanted = s.min(ahead);
        self.cleared = self.cleared.saturating_add(wanted);
        let mut at = 0;
        while wanted > 0 && at < self.part.m() {
            if self.part.bits.get(at) {
                if self.generator.below(ahead) < wanted {
                    self.part.bits.reset(at);
                    wanted -= 1;
                }
                ahead -= 1;
            }
            at += 1;
        }
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

/// Counts one more; where four billion are not enough, the rest makes no difference.
fn bump(count: &mut u32) {
    *count = count.saturating_add(1);
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
            return Err(Error::parameter("a share of ones to be cleared lies between 0 and 1"));
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
            (None, None) => Clearing::Share(request.real("share").unwrap_or(SHARE)),
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
        Some(Expect {
            fpr: libm::pow(left, f64::from(k)),
            fnr: if load.distinct == 0 { 0.0 } else { removed(share, k) },
            undecided: 0.0,
            bits: m,
            fill: Some((left, sd)),
        })
    }
}

impl Create for Retouched {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let selective = matches!(shape.clearing, Clearing::Selective(_));
        if selective && inputs.negatives.is_none() {
            return Err(Error::parameter(format!(
                "form {} turns known troublesome keys away: give them with --negatives, \
                 or clear at random with --set form={}",
                head.form, FORMS[0].name
            )));
        }
        let hasher = head.hasher.clone();
        let mut filter = Self::empty(shape.flat, head)?;
        let records = &mut *inputs.records;
        let mut each = |f: &mut dyn FnMut(Digest)| {
            records.batches(&mut |batch| {
                batch.iter().for_each(|record| f(hasher.digest(record.key)));
                Ok(())
            })
        };
        let counts = filter.insert(shape, &mut each)?;
        let mut passing = Vec::new();
        if let Some(known) = inputs.negatives.as_mut().filter(|_| selective) {
            known.batches(&mut |batch| {
                let digests = batch.iter().map(|record| hasher.digest(record.key));
                passing.extend(digests.filter(|d| filter.part.contains(*d)));
                Ok(())
            })?;
        }
        filter.retouch(shape, counts, passing, &mut each)?;
        let planned = shape.share(filter.part.bits.ones() as f64 + filter.cleared as f64);
        let fnr = planned.map(|share| removed(share, shape.flat.k));
        filter.head.fnr = fnr.filter(|rate| *rate > 0.0 && *rate < 1.0);
        Ok(filter)
    }
}

face!(Retouched: Age);

impl Filter for Retouched {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.part.fill())
    }

    /// False positives among strangers; those of the troublesome keys are gone.
    fn now(&self) -> Rates {
        Rates { fpr: Some(self.part.fpr()), fnr: Some(self.lost()), undecided: None }
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.part.m()),
            fact("k", self.part.k()),
            fact("bits cleared", self.cleared),
            real("members lost", self.lost()),
        ]
    }
}

impl Age for Retouched {
    fn age(&mut self, ticks: u64) {
        let ones = self.part.bits.ones();
        let s = ticks.saturating_mul(self.step).min(ones);
        if s > 0 {
            self.kept *= 1.0 - removed(s as f64 / ones as f64, self.part.k());
            self.clear_at_random(s);
        }
    }
}

/// The share of ones that random clearing takes by default: with k = 7, three in ten members are lost.
const SHARE: f64 = 0.05;

const LOST: FalseNegatives =
    FalseNegatives::Possible("members that share a cleared bit with a false positive are missed");

/// In the order of [`Rule`], after random clearing.
const FORMS: &[Form] = &[
    Form { name: "random", abilities: &[Ability::Age], false_negatives: LOST },
    Form { name: "selective-random", abilities: &[], false_negatives: LOST },
    Form { name: "minimum-fn", abilities: &[], false_negatives: LOST },
    Form { name: "maximum-fp", abilities: &[], false_negatives: LOST },
    Form { name: "ratio", abilities: &[], false_negatives: LOST },
];

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 20,
        slug: "retouched",
        entry: "R9",
        name: "Retouched Bloom filter",
        paper: "B. Donnet, B. Baynat, T. Friedman, Retouched Bloom filters: allowing networked applications to trade off selected false positives against false negatives, CoNEXT 2006",
        family: "known",
        needs: &["membership", "known-queries"],
        input: Input { negatives: Negatives::Optional, ..Input::KEYS },
        meaning: "items are keys, the rate is that of false positives before bits are cleared",
        forms: FORMS,
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "clear",
                range: Range::Integer(0, 1 << 48),
                default: Preset::Planned,
                help: "ones that random clearing resets, when built and at every tick",
            },
            Param {
                name: "share",
                range: Range::Real(0.0, 1.0),
                default: Preset::Real(SHARE),
                help: "share of the ones that random clearing resets, if their number is not set",
            },
        ],
        build: Build::Collected,
        reach: 1_000_000,
        ..Facts::FILTER
    },
    ops: Ops::of::<Retouched>(),
};
