//! Multiple-choice hashing: d choices and d-left (Azar, Broder, Karlin, Upfal 1994; Vöcking 1999; catalogue
//! F5; S0 §II-C4).
//!
//! A hash table with one hash per key has buckets of very different size: of 100,000 buckets with one key
//! each on average, the fullest holds eight or so, and every bucket must have room for that. Let each
//! key choose the emptier of two, and it is three or four; with the choice between two tables, of equals
//! always the left one, it is three, with four tables two:
//!
//! ```text
//!   one choice     █▁▂▁▅▁█▂▁▃▁▁▆▂       fullest  ln n/ln ln n
//!   two choices    ▂▃▂▂▁▂▃▂▂▁▂▂▃▂                ln ln n/ln 2  + O(1)
//!   4-left         ▂▂▂▁│▂▂▁▂│▁▂▁▁│▁▁▁▁           ln ln n/(4·ln φ₄) + O(1)
//! ```
//!
//! Even buckets are what makes fixed-size ones worth while: [`DLeft`](super::DLeft) fills its buckets of
//! eight cells to three quarters and none overflows. Here is the technique itself, as a table of keys;
//! `solve` has the rule, and `theory::choice` the formulas.
//!
//! The rule of ties belongs to the definition: d-left needs one hash per table, not d hashes into one
//! table, and always the left of equals; ties at random are as good as no tables at all.
//!
//! **Use it** whenever items go to buckets of limited size. **Don't** rely on the maximum if keys are also removed:
//! the guarantee is for insertions, and anyone who chooses the removals can break it.

use crate::hash::Generator;
use crate::solve::Choices;
pub use crate::solve::Rule;
use crate::variant::prelude::*;

/// A hash table whose keys choose among d buckets. It holds the keys' 128-bit digests.
///
/// ```
/// use everbloom::Hasher;
/// use everbloom::counting::multiple_choice::{ChoiceTable, Rule};
///
/// let mut table = ChoiceTable::new(1000, 4, Rule::Left, Hasher::default())?;
/// (0..1000u64).for_each(|key| table.insert(&key));
/// assert!(table.contains(&7u64));
/// assert!(table.max_load() <= 3);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChoiceTable {
    hasher: Hasher,
    choices: Choices,
    /// Breaks ties, where the rule is to break them at random.
    random: Generator,
    buckets: Vec<Vec<Digest>>,
}

impl ChoiceTable {
    /// An empty table of `buckets` buckets and `d` choices.
    pub fn new(buckets: u32, d: u32, rule: Rule, hasher: Hasher) -> Result<Self> {
        let choices = Choices::new(buckets.into(), d, rule)?;
        let random = Generator::new(hasher.seed());
        Ok(Self { hasher, choices, random, buckets: vec![Vec::new(); buckets as usize] })
    }

    /// Puts a key into the least loaded of its buckets; again if already present.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) {
        let digest = self.hasher.digest(key);
        let load = |bucket: u64| self.buckets[bucket as usize].len() as u64;
        let bucket = self.choices.place(digest, load, &mut self.random);
        self.buckets[bucket as usize].push(digest);
    }

    /// Whether the key is in one of its d buckets.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.find(self.hasher.digest(key)).is_some()
    }

    /// The bucket that holds the key, if one does.
    pub fn bucket_of<K: Key + ?Sized>(&self, key: &K) -> Option<usize> {
        self.find(self.hasher.digest(key)).map(|(bucket, _)| bucket)
    }

    /// Takes a key out of the first of its buckets that has it; refused if none has.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let (bucket, slot) = self.find(self.hasher.digest(key)).ok_or_else(|| {
            Error::new(Kind::NotDeletable, "the key is in none of its buckets: insert it first")
        })?;
        self.buckets[bucket].swap_remove(slot);
        Ok(())
    }

    fn find(&self, digest: Digest) -> Option<(usize, usize)> {
        self.choices.candidates(digest).iter().find_map(|&bucket| {
            let bucket = bucket as usize;
            let slot = self.buckets[bucket].iter().position(|d| *d == digest)?;
            Some((bucket, slot))
        })
    }

    /// Keys in the fullest bucket.
    pub fn max_load(&self) -> usize {
        self.loads().max().unwrap_or(0)
    }

    /// Keys in each bucket.
    pub fn loads(&self) -> impl Iterator<Item = usize> + '_ {
        self.buckets.iter().map(Vec::len)
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 30,
    slug: "multiple-choice",
    entry: "F5",
    question: "How full does a hash table become if each key takes the emptiest of d buckets?",
    name: "Multiple-choice hashing: d choices and d-left",
    paper: "Y. Azar, A. Broder, A. Karlin, E. Upfal, Balanced allocations, STOC 1994; \
            B. Vöcking, How asymmetry helps load balancing, FOCS 1999",
    family: "counting",
    needs: &["membership", "compact"],
    meaning: "a rule for placing keys in buckets: the least loaded of d candidates takes the key",
    ..Facts::TECHNIQUE
});
