//! The multi-class Bloom filter (Li, Cui, Hu, Xia, Wang 2011; catalogue R1; S3 §IV).
//!
//! Every key of the universe has a known prior: the chance that it is a member. A likely one has few
//! chances to be a false positive and many to fill the filter, so it gets few probes; an unlikely one
//! gets many:
//!
//! ```text
//!   prior 0.5    ↓ ↓     ↓   ↓       ↓            5 probes
//!                1 0 1 1 0 1 1 0 1 0 1 1 0 0 1 …
//!   prior 0.05   ↑ ↑     ↑   ↑       ↑ ↑    ↑ …   9 probes, the first 5 of which it would have
//!                                                 with a prior of 0.5
//! ```
//!
//! The expected number of false positives, Σ(1−p_i)·ρ^{k_i}, is least when the filter is half full and
//! k_i = log2((1−p_i)/p_i) + C (catalogue R1, derived there: the survey gives no formula). C follows from
//! the members of the build: their priors are a sample of Σ p_j(…) over the universe.
//!
//! A record's weight is its prior, in insertions and in queries. A query without one checks as many
//! probes as the member with the fewest: no false negative, and more false positives. A prior of 1
//! needs no probe: such a key is always let pass. One of 0 gets the most probes there are.
//!
//! The rate depends on the priors of the queries, so the filter predicts none of itself: [`MultiClass::fpr_at`] has the
//! one of a prior.
//!
//! **Slow:** building finds the constant C by halving an interval, and goes through the priors of all members at
//! each step.
//!
//! **Use it** when priors are known and differ, as in switches that know which groups are popular. In the same bits
//! it halves the false positives of a universe with priors of 0.5 and 0.05. **Don't** when priors are guesses:
//! non-members with a high prior pass almost freely. A key whose prior has fallen since it was inserted is queried
//! with more probes than it set, and is lost.

use crate::cells::Bits;
use crate::filter::touched;
use crate::memory::check_room;
use crate::probe::{MAX_K, Probe};
use crate::theory::priors::MOST_CONSTANT;
pub use crate::theory::priors::{constant, constant_for, expected_false_positives, probes};
use crate::variant::prelude::*;

/// A set of keys with priors, in m bits.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiClass {
    head: Head,
    /// As many indices as any key may have.
    probe: Probe,
    /// C: the number of probes of a key with a prior of 1/2, before rounding.
    constant: f64,
    /// The fewest probes that a member set.
    least: u32,
    bits: Bits,
}

state!(MultiClass { head, probe, constant, least, bits });

impl MultiClass {
    /// An empty filter of `m` bits in which a prior of 1/2 gets `constant` probes and none more than
    /// `most`; [`constant`] and [`constant_for`] know the best one.
    ///
    /// ```
    /// use everbloom::weighted::MultiClass;
    ///
    /// let mut filter = MultiClass::with_shape(1000, 4.8, 32, Default::default())?;
    /// filter.insert("popular", 0.5)?;
    /// filter.insert("rare", 0.05)?;
    /// assert!(filter.contains("popular", Some(0.5))? && filter.contains("rare", None)?);
    /// assert!(!filter.contains("absent", Some(0.05))?);
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn with_shape(m: u64, constant: f64, most: u32, hasher: Hasher) -> Result<Self> {
        Flat { m, k: most }.checked()?;
        if !(-MOST_CONSTANT..=MOST_CONSTANT).contains(&constant) {
            return Err(Error::parameter(format!(
                "a constant of {constant}: it must be between −{MOST_CONSTANT} and {MOST_CONSTANT}"
            )));
        }
        Self::empty(m, constant, most, Head::new(hasher, FORM))
    }

    fn empty(m: u64, constant: f64, most: u32, head: Head) -> Result<Self> {
        let bits = Bits::try_new(m)?;
        // Likely keys have few probes; only the rarest have the most.
        let probe = Probe::promising(m, most, most.min(8));
        Ok(Self { head, probe, constant, least: most, bits })
    }

    /// The number of probes of a key with this prior.
    pub fn probes(&self, prior: f64) -> u32 {
        probes(prior, self.constant, self.probe.k())
    }

    /// Inserts a key with its prior.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, prior: f64) -> Result<Seen> {
        check_prior(prior)?;
        Ok(self.set(self.head.hasher.digest(key), prior))
    }

    fn set(&mut self, digest: Digest, prior: f64) -> Seen {
        let k = self.probes(prior);
        let bits = &mut self.bits;
        let mut new = false;
        self.probe.each_of_first(k, digest, |i| new |= bits.set(i));
        self.least = self.least.min(k);
        self.head.count(1);
        Seen::new_if(new)
    }

    /// Whether the key may be a member: with the prior it was inserted with, or without one.
    pub fn contains<K: Key + ?Sized>(&self, key: &K, prior: Option<f64>) -> Result<bool> {
        let k = match prior {
            Some(prior) => {
                check_prior(prior)?;
                self.probes(prior)
            }
            None => self.least,
        };
        let digest = self.head.hasher.digest(key);
        Ok(self.probe.all_of_first(k, digest, |i| self.bits.get(i)))
    }

    /// The false-positive rate of non-members with this prior, from the real fill; without one, of queries
    /// without a prior.
    pub fn fpr_at(&self, prior: Option<f64>) -> f64 {
        let k = prior.map_or(self.least, |prior| self.probes(prior));
        libm::pow(self.bits.fill(), f64::from(k))
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    fn check(&self) -> Result<()> {
        self.probe.check(self.bits.len())?;
        let constant = self.constant.is_finite() && self.constant.abs() <= MOST_CONSTANT;
        if constant && self.least <= self.probe.k() {
            return Ok(());
        }
        Err(Error::corrupt(
            0,
            format!("corrupt filter: C is {}, {} probes at least", self.constant, self.least),
        ))
    }
}

fn check_prior(prior: f64) -> Result<()> {
    // A NaN is in no range.
    if (0.0..=1.0).contains(&prior) {
        return Ok(());
    }
    Err(Error::record(format!(
        "a weight of {prior}: it is the probability of being a member, 0 to 1"
    )))
}

/// The prior beside a key.
fn prior_of(record: &Record<'_>) -> Result<Option<f64>> {
    match record.value {
        None => Ok(None),
        Some(Value::Weight(prior)) => check_prior(prior).map(|()| Some(prior)),
        Some(_) => Err(Error::record("the value of the key must be its prior, a weight")),
    }
}

fn prior_to_insert(record: &Record<'_>) -> Result<f64> {
    prior_of(record)?.ok_or_else(|| {
        Error::record(
            "the key has no prior: write KEY, a TAB and its probability of being a member",
        )
    })
}

/// Nothing is predicted: rate and fill depend on priors that only the build sees.
impl Plan for MultiClass {
    /// Bits, and the most probes a key may have.
    type Shape = (Flat, u32);

    /// As many bits as the standard filter needs; how many probes, the priors of the members say.
    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let most = request.whole("most") as u32;
        let flat = Flat::plan(request, 1)?;
        check_room(flat.m)?;
        Ok((flat, most))
    }
}

impl Create for MultiClass {
    fn create(
        &(Flat { m, k }, most): &Self::Shape,
        head: Head,
        inputs: &mut Inputs<'_>,
    ) -> Result<Self> {
        let mut members: Vec<(Digest, f64)> = Vec::new();
        inputs.records.batches(&mut |batch| {
            for record in batch {
                let prior = prior_to_insert(record)
                    .map_err(|e| e.context(format!("record {}", members.len() + 1)))?;
                members.push((head.hasher.digest(record.key), prior));
            }
            Ok(())
        })?;
        // Without members, as if all that will come had a prior of 1/2.
        let constant = if members.is_empty() {
            f64::from(k)
        } else {
            constant_for(m as f64, members.iter().map(|(_, prior)| *prior), most)
        };
        let mut filter = Self::empty(m, constant, most, head)?;
        for (digest, prior) in members {
            filter.set(digest, prior);
        }
        Ok(filter)
    }
}

face!(MultiClass: Insert);

impl Filter for MultiClass {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key, prior_of(&record)?)?))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.fill())
    }

    fn now(&self) -> Rates {
        Rates { fpr: None, fnr: Some(0.0), undecided: None }
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.bits.len()),
            real("C", self.constant),
            fact("most probes", self.probe.k()),
            fact("fewest probes of a member", self.least),
            real("rate at a prior of 1/2", self.fpr_at(Some(0.5))),
            real("rate without a prior", self.fpr_at(None)),
        ]
    }

    /// The cells of a query without a prior.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let mut cells = Vec::new();
        self.probe.all_of_first(self.least, digest, |i| {
            cells.push(i);
            true
        });
        touched(&cells, |i| self.bits.get(i).into())
    }
}

impl Insert for MultiClass {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        MultiClass::insert(self, record.key, prior_to_insert(&record)?)
    }
}

const _: () = assert!(MOST_CONSTANT == 2.0 * MAX_K as f64);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<MultiClass>(Facts {
    id: 12,
    slug: "multi-class",
    entry: "R1",
    question: "Is it in the set, when some classes of keys are likelier than others?",
    name: "Multi-class Bloom filter",
    paper: "D. Li, H. Cui, Y. Hu, Y. Xia, X. Wang, Scalable data center multicast using multi-class Bloom filter, ICNP 2011",
    family: "weighted",
    needs: &["membership", "weighted", "accurate"],
    input: Input::valued(ValueKind::Weight),
    meaning: "items are members, weights are priors; the rate is that of a standard filter of the same size, to be \
              undercut",
    forms: &[Form::exact_while(
        FORM,
        &[Ability::Insert],
        "keys are queried with the prior they were inserted with, a higher one or none",
    )],
    params: &[
        PARAM_M,
        Param::integer(
            "most",
            1,
            MAX_K as u64,
            "maximum number of probes per key, for priors near 0",
        )
        .or(Preset::Integer(64)),
    ],
    ..Facts::COLLECTED
});
