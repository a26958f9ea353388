//! Words that count in levels, and the keys' places in them.

use smallvec::SmallVec;

use super::shape::{MAX_G, MAX_PROBES, Shape};
use crate::cells::{Hierarchy, Levels};
use crate::error::{Error, Kind, Result, agree};
use crate::filter::{Answer, Fact, Part, Rates, Touched, fact};
use crate::hash::Digest;
use crate::parts::SumPart;
use crate::probe::multiply_shift;
use crate::state::state;

/// Salts the digest for the choice of words, which must not depend on the positions.
const WORDS: u64 = 0x17;

/// l words, with k probes per key over g of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Words {
    k: u32,
    g: u32,
    pub(super) levels: Levels,
}

state!(inline Words { k, g, levels });

/// The words that a key touches, each taken out once.
type Copies = SmallVec<[(u64, Hierarchy); 4]>;

impl Words {
    pub(super) fn new(Shape { l, w, b1, k, g }: Shape) -> Result<Self> {
        Ok(Self { k, g, levels: Levels::try_new(l, w, b1)? })
    }

    /// The key's words and positions, one per hash.
    #[inline]
    fn hits(&self, digest: Digest) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (l, b1, g) = (self.levels.len(), self.levels.first(), u64::from(self.g));
        let words = digest.salted(WORDS);
        (0..u64::from(self.k)).map(move |i| {
            (multiply_shift(words.word(i % g), l), multiply_shift(digest.word(i), b1))
        })
    }

    /// Applies `step` to every hit of a key on copies of its words; all of them, or `None`.
    fn touch(&self, digest: Digest, step: impl Fn(&mut Hierarchy, u64) -> bool) -> Option<Copies> {
        let mut copies = Copies::new();
        for (word, i) in self.hits(digest) {
            let at = copies.iter().position(|(w, _)| *w == word).unwrap_or_else(|| {
                copies.push((word, self.levels.load(word)));
                copies.len() - 1
            });
            if !step(&mut copies[at].1, i) {
                return None;
            }
        }
        Some(copies)
    }

    fn store(&mut self, copies: &Copies) {
        copies.iter().for_each(|(word, value)| self.levels.store(*word, value));
    }

    /// Counts a key once more; true if it was certainly not there. Refused if one of its words is full.
    pub(super) fn insert(&mut self, digest: Digest) -> Result<bool> {
        let there = self.contains(digest);
        let copies = self.touch(digest, Hierarchy::increment).ok_or_else(|| {
            Error::new(
                Kind::CapacityExceeded,
                "the word of this key is full: plan for more {items}, or with a smaller {overflow}",
            )
        })?;
        self.store(&copies);
        Ok(!there)
    }

    /// Counts a key once less. Refused if a position counts less than the key would take.
    pub(super) fn remove(&mut self, digest: Digest) -> Result<()> {
        let copies = self.touch(digest, Hierarchy::decrement).ok_or_else(|| {
            Error::new(
                Kind::NotDeletable,
                "the key is not in the filter: a position has a smaller count than the amount to remove",
            )
        })?;
        self.store(&copies);
        Ok(())
    }

    #[inline]
    pub(super) fn contains(&self, digest: Digest) -> bool {
        self.hits(digest).all(|(word, i)| self.levels.get(word, i))
    }

    fn check(&self) -> Result<()> {
        let Self { k, g, ref levels } = *self;
        let g_fits = (1..=MAX_G).contains(&g) && k.is_multiple_of(g);
        if !levels.is_empty() && (1..=MAX_PROBES).contains(&k) && g_fits {
            return Ok(());
        }
        let message = format!("corrupt filter: {k} probes over {g} of {} words", levels.len());
        Err(Error::corrupt(0, message))
    }
}

impl SumPart for Words {
    /// Refuses words of another make, and those that together have no room for the keys of both.
    fn agree(&self, other: &Self) -> Result<()> {
        let (w, b1) = (self.levels.width(), self.levels.first());
        agree("l", self.levels.len(), other.levels.len())?;
        agree("w", w, other.levels.width())?;
        agree("b1", b1, other.levels.first())?;
        agree("k", self.k, other.k)?;
        agree("g", self.g, other.g)?;
        let fits = |(a, b): (Hierarchy, Hierarchy)| a.used() + b.used() <= w + b1;
        if self.levels.iter().zip(other.levels.iter()).all(fits) {
            return Ok(());
        }
        Err(Error::new(
            Kind::CapacityExceeded,
            "a word has no room for the keys of both filters: plan both for all of them",
        ))
    }

    /// Adds the counts of both, position by position.
    fn add(&mut self, other: &Self) {
        for word in 0..self.levels.len() {
            let (mut ours, theirs) = (self.levels.load(word), other.levels.load(word));
            for i in (0..self.levels.first()).filter(|i| theirs.bit(*i)) {
                (0..theirs.count(i)).for_each(|_| {
                    ours.increment(i);
                });
            }
            self.levels.store(word, &ours);
        }
    }
}

impl Part for Words {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::of(self.contains(digest))
    }

    /// The share of ones in the first levels.
    fn fill(&self) -> f64 {
        let ones: u64 = self.levels.iter().map(|word| word.in_use()).sum();
        ones as f64 / (self.levels.len() * self.levels.first()) as f64
    }

    /// The mean over the words of (ones/b1)^{k/g}, once for each of the g words of a key.
    fn rates(&self) -> Rates {
        let (b1, probes) = (self.levels.first() as f64, f64::from(self.k / self.g));
        let one = |word: Hierarchy| libm::pow(word.in_use() as f64 / b1, probes);
        let mean = self.levels.iter().map(one).sum::<f64>() / self.levels.len() as f64;
        Rates::one_sided(libm::pow(mean, f64::from(self.g)))
    }

    fn describe(&self) -> Vec<Fact> {
        let fullest = self.levels.iter().map(|word| word.used()).max().unwrap_or(0);
        vec![
            fact("l", self.levels.len()),
            fact("w", self.levels.width()),
            fact("b1", self.levels.first()),
            fact("k", self.k),
            fact("g", self.g),
            fact("bits used in the fullest word", fullest),
        ]
    }

    /// The positions of the key, counted over the first levels of all words.
    fn trace(&self, digest: Digest) -> Vec<Touched> {
        let position = |(word, i): (u64, u64)| {
            let value = self.levels.load(word).count(i);
            Touched { index: word * self.levels.first() + i, value, agrees: value > 0 }
        };
        self.hits(digest).map(position).collect()
    }
}
