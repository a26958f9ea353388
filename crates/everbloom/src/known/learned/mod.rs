//! The learned Bloom filter, plain and sandwiched (Kraska et al. 2018, Mitzenmacher 2018; catalogue B14; S3 refs. 148
//! and 149).
//!
//! Where members look different from what will be asked for, a model of a few hundred weights says "yes" to most of
//! them. Only those that it misses, a share F_n, need a Bloom filter, the *backup*; so nothing is ever missed. What the
//! model wrongly says yes to, a share F_p of the queries, stays wrong: a filter in *front*, of all members, stops most
//! of it. Between the two slices of bread:
//!
//! ```text
//!   key ─▶ front filter ─no─▶ absent          f = f_I·(F_p + (1 − F_p)·f_B)
//!             │ yes
//!           score ≥ τ ─yes─▶ present
//!             │ no
//!          backup filter ─▶ absent or present
//! ```
//!
//! With b bits a key in all and α = 0.6185, the backup is best at b₂ = F_n·log_α(F_p/((1 − F_p)(1/F_n − 1))) bits for
//! each key, whatever b is, and the front gets the rest. (S3 says that learning leaves no false positives; it leaves no
//! false negatives.)
//!
//! The model is linear in the bytes of a key, or in hashed pairs of them: naive Bayes, or logistic regression in fixed
//! point (form `logistic`). Both are whole numbers after their logarithms, so that every machine trains, stores and
//! sums the same. Half of the known non-members train it, the others measure F_p. The threshold τ is the one that needs
//! the fewest bits, unless set; where no model is worth its own bits, there is none, and the backup is a standard
//! filter of all keys.
//!
//! **Slow:** building trains a model on the keys, in several passes, and measures it on others. A query is not
//! concerned.
//!
//! **Use it** when sample queries are available, differ from the members, and stay representative. **Don't**
//! against adversaries: queries that look like members have an F_p near 1, and only the front filter is left.

mod model;
mod shape;

use std::collections::HashSet;

use model::{Features, Keys, Model};
use shape::{Sizes, sizes};
pub use shape::{best_split, rate_at};

use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::parts::several;
use crate::plan::DEFAULT_FPR;
use crate::variant::prelude::*;

/// A model of the keys, with a filter behind it and one in front.
///
/// ```
/// use everbloom::known::Learned;
///
/// let members: Vec<String> = (0..5000).map(|i| format!("{i:06}-ok")).collect();
/// let others: Vec<String> = (0..5000).map(|i| format!("{i:x}-failed")).collect();
/// let filter = Learned::from_keys(&members, &others, 0.001)?;
/// assert!(members.iter().all(|key| filter.contains(key)));
/// assert!(filter.has_model() && filter.misses() < 0.01);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    head: Head,
    model: Model,
    /// τ, a whole number with a sign.
    threshold: u64,
    /// Known non-members that measured F_p, and those that the model took for members.
    tried: u64,
    wrong: u64,
    /// Members that the model misses.
    missed: u64,
    front: Option<FlatBits>,
    backup: FlatBits,
}

state!(Learned { head, model, threshold, tried, wrong, missed, front, backup });

impl Learned {
    /// The score of a key; those of at least [`Learned::threshold`] are said to be members.
    pub fn score<K: Key + ?Sized>(&self, key: &K) -> i64 {
        key.with_bytes(|key| self.model.score(key))
    }

    /// τ.
    pub fn threshold(&self) -> i64 {
        self.threshold as i64
    }

    fn accepts(&self, key: &[u8]) -> bool {
        !self.model.is_none() && self.model.score(key) >= self.threshold()
    }

    /// Inserts a key later: in the front filter, and behind the model if that misses it.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        key.with_bytes(|key| {
            let digest = self.head.hasher.digest(key);
            let new = !self.has(key, digest);
            self.put(key, digest);
            Seen::new_if(new)
        })
    }

    fn put(&mut self, key: &[u8], digest: Digest) {
        if let Some(front) = &mut self.front {
            front.insert(digest.salted(FRONT));
        }
        if !self.accepts(key) {
            self.backup.insert(digest.salted(BACKUP));
            self.missed += 1;
        }
        self.head.count_one();
    }

    fn has(&self, key: &[u8], digest: Digest) -> bool {
        self.front.as_ref().is_none_or(|front| front.contains(digest.salted(FRONT)))
            && (self.accepts(key) || self.backup.contains(digest.salted(BACKUP)))
    }

    /// Whether the key may be a member.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        key.with_bytes(|key| self.has(key, self.head.hasher.digest(key)))
    }

    /// Whether a model was worth its bits.
    pub fn has_model(&self) -> bool {
        !self.model.is_none()
    }

    /// The model's weight of a byte; zero if it looks at pairs, or there is none.
    pub fn weight(&self, byte: u8) -> i32 {
        if self.model.is_none() { 0 } else { self.model.weight(byte.into()) }
    }

    /// F_n, the share of members that the model misses.
    pub fn misses(&self) -> f64 {
        self.missed as f64 / self.head.items.max(1) as f64
    }

    /// F_p, the share of known non-members, kept from training, that the model takes for members.
    pub fn mistakes(&self) -> f64 {
        self.wrong as f64 / self.tried.max(1) as f64
    }

    /// Bits of the front filter and of the backup.
    pub fn filter_bits(&self) -> (u64, u64) {
        (self.front.as_ref().map_or(0, FlatBits::m), self.backup.m())
    }

    fn check(&self) -> Result<()> {
        let counts = self.wrong <= self.tried && self.missed <= self.head.items;
        let alone = !self.model.is_none()
            || (self.front.is_none() && self.wrong == 0 && self.missed == self.head.items);
        if counts && alone {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: shares of a model that cannot be"))
    }
}

/// What the goal says; how well a model does, the keys tell.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    items: Option<u64>,
    rate: Option<f64>,
    room: Option<u64>,
    features: Features,
    logistic: bool,
    sandwich: bool,
    threshold: Option<i64>,
}

impl Plan for Learned {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let pairs = request.choice("features") == Some("pairs");
        let shape = Shape {
            items: request.goal_items(),
            rate: request.goal_fpr(),
            room: request.goal_bits(),
            features: if pairs { Features::Pairs } else { Features::Bytes },
            logistic: request.form() == LOGISTIC,
            sandwich: request.choice("front") != Some("no"),
            threshold: request.integer("threshold").map(|threshold| threshold as i64),
        };
        // What is impossible even for a standard filter does not wait for the records to be refused.
        if shape.threshold.is_none()
            && let Some(n) = shape.items
        {
            several::check_parts([sizes(&shape.goal(), n, None)?.backup])?;
        }
        Ok(shape)
    }

    /// Nobody knows how well a model does before it has seen the keys.
    fn expect(_shape: &Shape, _load: &Load) -> Option<Expect> {
        None
    }
}

impl Shape {
    fn goal(&self) -> shape::Goal {
        let rate = self.rate.or(self.room.is_none().then_some(DEFAULT_FPR));
        shape::Goal { rate, room: self.room, model: self.features.bits(), sandwich: self.sandwich }
    }

    /// The model of these keys.
    fn train(&self, members: &Keys, others: &Keys) -> Model {
        if self.logistic {
            Model::logistic(self.features, members, others)
        } else {
            Model::naive_bayes(self.features, members, others)
        }
    }
}

/// Keys of records, each once; those in `not` are left out.
fn distinct(
    head: &Head,
    source: &mut dyn Source,
    not: &HashSet<Digest>,
) -> Result<(Keys, HashSet<Digest>)> {
    let (mut keys, mut seen) = (Keys::default(), HashSet::new());
    source.batches(&mut |batch| {
        for record in batch {
            let digest = head.hasher.digest(record.key);
            if !not.contains(&digest) && seen.insert(digest) {
                keys.push(record.key);
            }
        }
        Ok(())
    })?;
    Ok((keys, seen))
}

impl Create for Learned {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let (members, digests) = distinct(&head, inputs.records, &HashSet::new())?;
        let others = match &mut inputs.negatives {
            Some(negatives) => distinct(&head, *negatives, &digests)?.0,
            None => Keys::default(),
        };
        // Every other one trains, the rest measure.
        let mut halves = [Keys::default(), Keys::default()];
        others.iter().enumerate().for_each(|(i, key)| halves[i % 2].push(key));
        let [train, held_out] = halves;
        let model = shape.train(&members, &train);
        let score = |keys: &Keys| {
            let mut scores: Vec<i64> = keys.iter().map(|key| model.score(key)).collect();
            scores.sort_unstable();
            scores
        };
        let (own, foreign) = (score(&members), score(&held_out));
        let n = shape.items.unwrap_or(0).max(members.len() as u64);
        let chosen = shape::choose(&shape.goal(), n, &own, &foreign, shape.threshold)?;
        let Sizes { front, backup, .. } = chosen.sizes;
        several::check_parts(front.into_iter().chain([backup]))?;
        let wrong = chosen.threshold.map_or(0, |t| shape::at_least(&foreign, t));
        let mut filter = Self {
            head: Head { fpr: Some(chosen.sizes.rate).filter(|p| *p > 0.0 && *p < 1.0), ..head },
            model: if chosen.threshold.is_some() { model } else { Model::none() },
            threshold: chosen.threshold.unwrap_or(0) as u64,
            tried: foreign.len() as u64,
            wrong,
            missed: 0,
            front: front.map(FlatBits::new).transpose()?,
            backup: FlatBits::new(backup)?,
        };
        for key in members.iter() {
            let digest = filter.head.hasher.digest(key);
            filter.put(key, digest);
        }
        Ok(filter)
    }
}

face!(Learned: Insert);
built!(Learned: against);
keyed!(Learned: Insert);

impl Filter for Learned {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    /// Of queries like the known non-members.
    fn now(&self) -> Rates {
        let front = self.front.as_ref().map_or(1.0, FlatBits::fpr);
        let behind = rate_at(self.mistakes(), self.backup.fpr());
        Rates::one_sided((front * behind + self.head.collisions()).min(1.0))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        if let Some(front) = &self.front {
            facts.extend(several::shape(front, ["front m", "front k"]));
        }
        facts.extend(several::shape(&self.backup, ["backup m", "backup k"]));
        facts.push(text("model", if self.model.is_none() { "none" } else { self.head.form }));
        if !self.model.is_none() {
            facts.push(text("threshold", self.threshold().to_string()));
            facts.extend([real("misses", self.misses()), real("mistakes", self.mistakes())]);
        }
        facts
    }

    /// The bits of the front filter, then those of the backup.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let front = self.front.as_ref().map(|front| Part::trace(front, digest.salted(FRONT)));
        let mut cells = front.unwrap_or_default();
        cells.extend(Part::trace(&self.backup, digest.salted(BACKUP)));
        cells
    }
}

const NAIVE_BAYES: &str = "naive-bayes";
const LOGISTIC: &str = "logistic";
/// Salts that make the two filters independent.
const FRONT: u64 = 1;
const BACKUP: u64 = 2;

/// Twelve letters; those of members and of others come alike, so that a model is worth nothing.
fn example(i: u64) -> Vec<u8> {
    let mut rest = crate::hash::mix64(i);
    let mut letter = |_| {
        let letter = b'a' + (rest % 26) as u8;
        rest /= 26;
        letter
    };
    (0..13).map(&mut letter).collect()
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Learned>(Facts {
    id: 110,
    slug: "learned",
    entry: "B14",
    question: "Is it in the set, when a model can tell members from non-members?",
    name: "Learned Bloom filter, sandwiched",
    paper: "T. Kraska, A. Beutel, E. H. Chi, J. Dean, N. Polyzotis, The case for learned index structures, SIGMOD \
            2018; M. Mitzenmacher, A model for learned Bloom filters, and optimizing by sandwiching, NeurIPS 2018",
    family: "known",
    needs: &["membership", "known-queries", "compact"],
    input: Input::KEYS.with_negatives(Negatives::Required).with_examples(example),
    meaning: "items are keys; the rate is the false-positive rate only among queries similar to the known non-members",
    forms: &[
        Form::exact(NAIVE_BAYES, &[Ability::Insert]),
        Form::exact(LOGISTIC, &[Ability::Insert]),
    ],
    operations: &[tell!(
        Learned,
        "score",
        "The score that the model gives the key.",
        [],
        [Keys],
        |filter, given| { Ok(Detail::Score(filter.score(given.record.key) as f64)) }
    )],
    params: &[
        Param::first_of("features", &["bytes", "pairs"], "input of the model"),
        Param::first_of(
            "front",
            &["yes", "no"],
            "whether a filter of all keys comes before the model",
        ),
        Param::integer(
            "threshold",
            0,
            1 << 40,
            "lowest score at which the model says yes, in 1/256 of a natural logarithm",
        ),
    ],
    reach: 1_000_000,
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_with_shares_that_cannot_be_are_refused() {
        let members: Vec<String> = (0..2000).map(|i| format!("{i:06}")).collect();
        let others: Vec<String> = (0..2000).map(|i| format!("{i:b}-x")).collect();
        let good = Learned::from_keys(&members, &others, 0.001).unwrap();
        assert!(good.has_model());
        let lies: [fn(&mut Learned); 3] = [
            |f| f.wrong = f.tried + 1,
            |f| f.missed = f.head.items + 1,
            |f| f.model = Model::none(),
        ];
        lies_are_refused(&good, lies);
    }
}
