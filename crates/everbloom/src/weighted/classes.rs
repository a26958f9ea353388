//! Classes of keys by how often they are queried, and bits in which each class has a number of probes of its own.
//!
//! Keys whose weights differ by less than a factor of two are one class: half as many queries are one probe less.
//! What is counted of each class stands in the file, and so do its probes: whoever asks with the weight it built
//! with meets the same probes.

use std::collections::BTreeMap;

use crate::cells::Bits;
use crate::error::{Error, Result};
use crate::filter::{Ability, Facts, Form, Input, Negatives, Param, Preset, ValueKind};
use crate::filter::{Answer, Fact, Head, Record, Touched, Value, fact, real, text, touched};
use crate::hash::{Digest, Hasher, Key};
use crate::memory::check_room;
use crate::plan::{Flat, Goal, Request};
use crate::probe::{Indices, MAX_K, Probe};
use crate::state::{MAX_ITEMS, state};
use crate::variant::{Create, Inputs, Source, settle};

/// Keys that are queried about equally often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// The binary exponent of its weights above the least; 0 for those of weight 0.
    octave: u64,
    /// Members of the build.
    pub members: u64,
    /// Known non-members of the build.
    pub others: u64,
    /// The sum of the weights of both.
    pub weight: f64,
    /// The probes of its keys.
    pub probes: u32,
}

state!(Class { octave, members, others, weight, probes });

impl Class {
    /// The queries of its non-members: all weights times the share of non-members. Where no non-members are known,
    /// all classes are taken to have the same share of them, which makes no difference then.
    pub(super) fn missed(&self, known: bool) -> f64 {
        let all = (self.members + self.others).max(1) as f64;
        self.weight * if known { self.others as f64 / all } else { 1.0 }
    }

    /// The smallest weight of the class.
    pub fn from_weight(&self) -> f64 {
        if self.octave == 0 { 0.0 } else { libm::exp2(self.octave as f64 - BIAS) }
    }

    fn check(&self) -> Result<()> {
        let counts = self.members <= MAX_ITEMS && self.others <= MAX_ITEMS;
        if counts && self.octave < OCTAVES && self.weight >= 0.0 && self.weight.is_finite() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: a class of impossible weights"))
    }
}

/// Octaves are numbered from the smallest positive number up, beginning with 1.
const BIAS: f64 = 1075.0;
const OCTAVES: u64 = 2101;

/// The class of a weight, which is a finite number and not below zero.
fn octave(weight: f64) -> u64 {
    if weight > 0.0 { (libm::floor(libm::log2(weight)) + BIAS).max(1.0) as u64 } else { 0 }
}

/// The weight beside a key.
pub(super) fn weight_of(record: &Record<'_>) -> Result<Option<f64>> {
    match record.value {
        None => Ok(None),
        Some(Value::Weight(weight)) => check_weight(weight).map(|()| Some(weight)),
        Some(_) => {
            Err(Error::record("the value of the key must be how often it is queried, a weight"))
        }
    }
}

pub(super) fn check_weight(weight: f64) -> Result<()> {
    // A NaN is in no range.
    if (0.0..=MOST_WEIGHT).contains(&weight) {
        return Ok(());
    }
    Err(Error::record(format!(
        "a weight of {weight}: it says how often a key is queried, 0 to {MOST_WEIGHT:e}"
    )))
}

/// So that sums of weights are numbers.
const MOST_WEIGHT: f64 = 1e200;

/// What is read of a build: the members with their weights, and the classes without their probes.
pub(super) struct Read {
    pub(super) members: Vec<(Digest, f64)>,
    pub(super) classes: Vec<Class>,
}

impl Read {
    /// All records of a build; a record without a weight weighs 1.
    pub(super) fn from(hasher: &Hasher, inputs: &mut Inputs<'_>) -> Result<Self> {
        let (mut members, mut classes) = (Vec::new(), BTreeMap::new());
        let mut members_of = |source: &mut dyn Source, member: bool| {
            let mut line = 0u64;
            source.batches(&mut |batch| {
                for record in batch {
                    line += 1;
                    let kind = if member { "record" } else { "non-member" };
                    let weight =
                        weight_of(record).map_err(|e| e.context(format!("{kind} {line}")))?;
                    let weight = weight.unwrap_or(1.0);
                    let octave = octave(weight);
                    let blank = Class { octave, members: 0, others: 0, weight: 0.0, probes: 0 };
                    let class = classes.entry(octave).or_insert(blank);
                    class.weight += weight;
                    if member {
                        class.members += 1;
                        members.push((hasher.digest(record.key), weight));
                    } else {
                        class.others += 1;
                    }
                }
                Ok(())
            })
        };
        members_of(&mut *inputs.records, true)?;
        if let Some(negatives) = &mut inputs.negatives {
            members_of(&mut **negatives, false)?;
        }
        Ok(Self { members, classes: classes.into_values().collect() })
    }
}

/// Bits in which a key has as many probes as its class.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClassedBits {
    /// As many indices as any class may have.
    probe: Probe,
    /// In order of their octaves.
    pub(super) classes: Vec<Class>,
    /// The probes of a key without a weight, or of a class that was not there: the fewest that a member set.
    pub(super) default: u32,
    pub(super) bits: Bits,
}

state!(inline ClassedBits { probe, classes, default, bits });

impl ClassedBits {
    /// Zero bits for classes whose probes are settled; `default` probes while there are no members.
    pub(super) fn new(m: u64, most: u32, default: u32, classes: Vec<Class>) -> Result<Self> {
        // Most keys have few probes; only the most popular have the most.
        let probe = Probe::promising(m, most, most.min(8));
        let held = classes.iter().filter(|class| class.members > 0).map(|class| class.probes);
        let default = held.min().unwrap_or(default).min(most);
        Ok(Self { bits: Bits::try_new(m)?, probe, classes, default })
    }

    /// The probes of a key with this weight.
    pub(super) fn probes(&self, weight: Option<f64>) -> u32 {
        let class = weight.map(octave).and_then(|octave| {
            self.classes.binary_search_by_key(&octave, |class| class.octave).ok()
        });
        class.map_or(self.default, |i| self.classes[i].probes)
    }

    /// Inserts a key; true if it was certainly not there.
    pub(super) fn insert(&mut self, digest: Digest, weight: f64) -> bool {
        let k = self.probes(Some(weight));
        let (bits, mut new) = (&mut self.bits, false);
        self.probe.each_of_first(k, digest, |i| new |= bits.set(i));
        // Keys without a weight are queried with no more probes than any member set.
        self.default = self.default.min(k);
        new
    }

    /// Whether the key may be a member.
    pub(super) fn contains(&self, digest: Digest, weight: Option<f64>) -> bool {
        self.probe.all_of_first(self.probes(weight), digest, |i| self.bits.get(i))
    }

    /// P(a non-member of this weight passes), from the real fill.
    pub(super) fn fpr_at(&self, weight: Option<f64>) -> f64 {
        libm::pow(self.bits.fill(), f64::from(self.probes(weight)))
    }

    /// The share of the queries of known non-members that pass, from the real fill; without known ones, of queries
    /// with the weights of the members.
    pub(super) fn weighted_fpr(&self) -> f64 {
        let (fill, known) = (self.bits.fill(), self.classes.iter().any(|class| class.others > 0));
        let (mut passing, mut all) = (0.0, 0.0);
        for class in &self.classes {
            let queries = class.missed(known);
            passing += queries * libm::pow(fill, f64::from(class.probes));
            all += queries;
        }
        if all > 0.0 { passing / all } else { libm::pow(fill, f64::from(self.default)) }
    }

    /// Probes per member of the build.
    pub(super) fn cost(&self) -> f64 {
        let members: f64 = self.classes.iter().map(|class| class.members as f64).sum();
        let probes = |class: &Class| class.members as f64 * f64::from(class.probes);
        self.classes.iter().map(probes).sum::<f64>() / members.max(1.0)
    }

    pub(super) fn answer(&self, head: &Head, record: &Record<'_>) -> Result<Answer> {
        let weight = weight_of(record)?;
        Ok(Answer::of(self.contains(head.hasher.digest(record.key), weight)))
    }

    pub(super) fn describe(&self) -> Vec<Fact> {
        let class = |class: &Class| format!("{:e}: {}", class.from_weight(), class.probes);
        let classes: Vec<String> = self.classes.iter().map(class).collect();
        vec![
            fact("m", self.bits.len()),
            fact("classes", self.classes.len() as u64),
            text("probes from weight", classes.join(", ")),
            real("probes per member", self.cost()),
            fact("probes without a weight", self.default),
            real("rate of the queries known", self.weighted_fpr()),
            real("rate without a weight", self.fpr_at(None)),
        ]
    }

    /// The cells of a query without a weight.
    pub(super) fn trace(&self, digest: Digest) -> Vec<Touched> {
        let mut indices = Indices::new();
        self.probe.each_of_first(self.default, digest, |i| indices.push(i));
        touched(&indices, |i| self.bits.get(i).into())
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.bits.len())?;
        let most = self.probe.k();
        let sorted = self.classes.windows(2).all(|pair| pair[0].octave < pair[1].octave);
        let known = self.classes.iter().all(|class| class.probes <= most);
        // A member that set fewer probes than the default would be lost.
        let held = self.classes.iter().filter(|class| class.members > 0);
        let kept = held.map(|class| class.probes).all(|probes| self.default <= probes);
        if sorted && known && kept && self.default <= most {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: classes out of order, or with impossible probes"))
    }
}

/// The filter of members with their weights, built against known non-members with theirs.
pub(super) fn build<T: Create, K: Key, L: Key>(
    goal: Goal,
    members: impl IntoIterator<Item = (K, f64)>,
    others: impl IntoIterator<Item = (L, f64)>,
) -> Result<T> {
    let (members, others) = (owned(members), owned(others));
    let records: Vec<Record<'_>> = members.iter().map(weighed).collect();
    let negatives: Vec<Record<'_>> = others.iter().map(weighed).collect();
    let goal = Goal { items: Some(records.len().max(1) as u64), ..goal };
    let (shape, head) = settle::<T>(&goal)?;
    let (mut records, mut negatives) = (&records[..], &negatives[..]);
    let inputs = &mut Inputs { records: &mut records, negatives: Some(&mut negatives) };
    T::create(&shape, head, inputs)
}

fn owned<K: Key>(keys: impl IntoIterator<Item = (K, f64)>) -> Vec<(Vec<u8>, f64)> {
    keys.into_iter().map(|(key, weight)| (key.with_bytes(<[u8]>::to_vec), weight)).collect()
}

fn weighed((key, weight): &(Vec<u8>, f64)) -> Record<'_> {
    Record::key(key).with(Value::Weight(*weight))
}

/// What the entries of such filters share.
pub(super) const FACTS: Facts = Facts {
    family: "weighted",
    needs: &["membership", "weighted", "accurate"],
    input: Input::valued(ValueKind::Weight).with_negatives(Negatives::Optional),
    meaning: "items are members, weights are query frequencies; the rate is that of a standard filter of the same \
              size, to be undercut",
    ..Facts::COLLECTED
};

/// A form of such filters.
pub(super) const fn form(name: &'static str) -> Form {
    let condition = "keys are queried with the weight they were inserted with, or none";
    Form::exact_while(name, &[Ability::Insert], condition)
}

/// The most probes of a key.
pub(super) const PARAM_MOST: Param =
    Param::integer("most", 1, MAX_K as u64, "maximum number of probes per key")
        .or(Preset::Integer(64));

/// Bits and probes of the standard filter; how many probes a key has, up to the most, the weights say.
pub(super) fn plan(request: &Request<'_>) -> Result<(Flat, u32)> {
    let flat = Flat::plan(request, 1)?.checked()?;
    check_room(flat.m)?;
    Ok((flat, request.whole(PARAM_MOST.name) as u32))
}

/// `classed!(WeightedBloom);`: what a type does that is a head and classed bits, all but choosing the probes.
macro_rules! classed {
    ($type:ident) => {
        impl $type {
            /// The filter of members with their weights, built against known non-members with theirs (there may be
            /// none), in `m` bits.
            pub fn from_weights<K: Key, L: Key>(
                members: impl IntoIterator<Item = (K, f64)>,
                others: impl IntoIterator<Item = (L, f64)>,
                m: u64,
            ) -> Result<Self> {
                $crate::weighted::classes::build(Goal::default().set("m", m), members, others)
            }

            /// The number of probes of a key with this weight.
            pub fn probes(&self, weight: Option<f64>) -> u32 {
                self.classed.probes(weight)
            }

            /// Inserts a key with its weight, into the class that the build found for it.
            pub fn insert<K: Key + ?Sized>(&mut self, key: &K, weight: f64) -> Result<Seen> {
                $crate::weighted::classes::check_weight(weight)?;
                let digest = self.head.hasher.digest(key);
                self.head.count(1);
                Ok(Seen::new_if(self.classed.insert(digest, weight)))
            }

            /// Whether the key may be a member: with the weight it was inserted with, or without one.
            pub fn contains<K: Key + ?Sized>(&self, key: &K, weight: Option<f64>) -> Result<bool> {
                weight.map_or(Ok(()), $crate::weighted::classes::check_weight)?;
                Ok(self.classed.contains(self.head.hasher.digest(key), weight))
            }

            /// The false-positive rate of non-members with this weight, from the real fill; without one, of queries
            /// without a weight.
            pub fn fpr_at(&self, weight: Option<f64>) -> f64 {
                self.classed.fpr_at(weight)
            }

            /// The share of the queries of known non-members that pass, from the real fill.
            pub fn weighted_fpr(&self) -> f64 {
                self.classed.weighted_fpr()
            }

            /// Probes per member of the build.
            pub fn cost(&self) -> f64 {
                self.classed.cost()
            }

            /// The classes, by rising weight.
            pub fn classes(&self) -> &[Class] {
                &self.classed.classes
            }

            /// The filter of a build whose classes have their probes.
            fn assemble(
                head: Head,
                (flat, most): (Flat, u32),
                Read { members, classes }: Read,
            ) -> Result<Self> {
                let classed = ClassedBits::new(flat.m, most, flat.k, classes)?;
                let mut filter = Self { head, classed };
                for (digest, weight) in members {
                    filter.classed.insert(digest, weight);
                    filter.head.count(1);
                }
                Ok(filter)
            }
        }

        face!($type: Insert);

        impl Filter for $type {
            fn query(&self, record: Record<'_>) -> Result<Answer> {
                self.classed.answer(&self.head, &record)
            }

            fn fill(&self) -> Option<f64> {
                Some(self.classed.bits.fill())
            }

            fn now(&self) -> Rates {
                Rates { fpr: None, fnr: Some(0.0), undecided: None }
            }

            fn describe(&self) -> Vec<Fact> {
                self.classed.describe()
            }

            fn trace(&self, key: &[u8]) -> Vec<Touched> {
                self.classed.trace(self.head.hasher.digest(key))
            }
        }

        impl Insert for $type {
            /// Without a weight, 1.
            fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
                let weight = $crate::weighted::classes::weight_of(&record)?.unwrap_or(1.0);
                $type::insert(self, record.key, weight)
            }
        }
    };
}
pub(super) use classed;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octaves_are_factors_of_two() {
        assert_eq!((octave(0.0), octave(1.0), octave(1.99), octave(2.0)), (0, 1075, 1075, 1076));
        assert_eq!((octave(f64::from_bits(1)), octave(0.75)), (1, 1074));
        assert!(octave(MOST_WEIGHT) < OCTAVES);
        let class = |octave| Class { octave, members: 0, others: 0, weight: 0.0, probes: 1 };
        assert_eq!([0, 1074, 1075].map(|o| class(o).from_weight()), [0.0, 0.5, 1.0]);
    }

    /// A file whose default has more probes than a member set would lose that member.
    #[test]
    fn files_with_classes_that_cannot_be_are_refused() {
        let class =
            |octave, members, probes| Class { octave, members, others: 3, weight: 1.0, probes };
        let classes = vec![class(7, 5, 4), class(9, 5, 8), class(11, 0, 1)];
        let good = ClassedBits::new(1000, 16, 9, classes).unwrap();
        assert_eq!((good.default, good.check().is_ok()), (4, true));
        let lies: [fn(&mut ClassedBits); 6] = [
            |c| c.default = 5,
            |c| c.classes.swap(0, 1),
            |c| c.classes[1].octave = 7,
            |c| c.classes[2].probes = 17,
            |c| c.bits = Bits::new(999),
            |c| c.classes.clear(),
        ];
        for (i, lie) in lies.into_iter().enumerate() {
            let mut liar = good.clone();
            lie(&mut liar);
            // Without classes there is nothing to contradict.
            assert_eq!(liar.check().is_ok(), i == 5, "lie {i}");
        }
        assert!(Class { octave: OCTAVES, ..class(0, 0, 1) }.check().is_err());
        assert!(Class { weight: f64::NAN, ..class(0, 0, 1) }.check().is_err());
    }

    #[test]
    fn impossible_weights_are_refused() {
        for weight in [-1.0, f64::NAN, f64::INFINITY, 1e201] {
            assert!(check_weight(weight).is_err());
        }
    }
}
