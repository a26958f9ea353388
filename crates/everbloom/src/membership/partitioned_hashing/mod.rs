//! Partitioned hashing (Hao, Kodialam, Lakshman 2007; catalogue R12; S3 §IV-B).
//!
//! A set known in advance is split into small groups by a hash of their own. Group after group, t
//! candidate sets of k hash functions are tried on all keys of the group, the one that adds the fewest
//! ones is kept, and a table remembers which it was. A query looks up its group's choice and reads k bits:
//!
//! ```text
//!              group(x) = 2          bits
//!   table   ┌───┬───┬───┬───┐     ┌─────────────────────┐
//!           │ 5 │ 0 │ 3 │ 7 │     │ 0 1 1 0 0 1 0 0 1 0 │
//!           └───┴───┴─┬─┴───┘     └───↑───────↑─────↑───┘
//!                     └─ candidate 3's hashes of x ─┘
//! ```
//!
//! Unlike `two-choices` a non-member has one chance only, f = ρ^k, and the choice is among many. The price
//! is the table, ⌈log2 t⌉ bits a group, and t times the work of building:
//!
//! | 10 bits a key, k = 7 | standard | s = 10, t = 8 | s = 10, t = 16 | s = 5, t = 64 |
//! |---|---|---|---|---|
//! | rate | 0.0082 | 0.0049 | 0.0042 | 0.0023 |
//! | table, bits a key | | 0.3 | 0.4 | 1.2 |
//!
//! Candidates are k fresh functions each (form `fresh`), or, as published, k of H base functions (form
//! `subsets`): H hashes then serve all candidates, but these resemble each other and gain less.
//!
//! **Slow:** building tries t sets of functions on every group of keys, and counts the ones that each would add. A
//! query is not concerned.
//!
//! **Use it** for fixed sets if the rate matters and building may take long. **Don't** if more keys are inserted
//! later: such a key follows its group's choice and is found, but the choice was not made for it. Nor with groups
//! of one or two keys: then the bits of the table are better used as cells. Two filters cannot be merged, because
//! their tables differ.

mod candidates;
mod shape;

use candidates::Candidates;
pub use shape::Shape;
use shape::{FRESH, PARAM_BASE, PARAM_GROUPS, PARAM_SIZE, PARAM_T, SUBSETS, width};

use crate::cells::{Bits, Packed};
use crate::memory::check_room;
use crate::parts::probed_bits::{ProbedBits, Probes};
use crate::parts::{methods, owns};
use crate::probe::{Probe, check_search, multiply_shift, place_fewest};
use crate::variant::prelude::*;

/// A set in m bits, each group of keys under its own choice of k hash functions. A key that is inserted later is
/// found from then on, but its group's choice was made without it.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionedHashing {
    head: Head,
    part: ProbedBits<Chosen>,
}

state!(PartitionedHashing { head, ..part });

/// The hash functions of every group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chosen {
    candidates: Candidates,
    /// What each group has chosen; empty where there is one candidate only.
    table: Packed,
}

state!(inline Chosen { candidates, table });

/// The salt of the hash that assigns groups.
const GROUP: u64 = 0x67_726f_7570;

#[inline]
fn group(digest: Digest, groups: u64) -> u64 {
    multiply_shift(digest.word(GROUP), groups)
}

impl PartitionedHashing {
    /// The filter of these keys, with the number of keys that the goal states, if any.
    ///
    /// ```
    /// use everbloom::{Goal, membership::PartitionedHashing};
    ///
    /// let goal = Goal { fpr: Some(0.001), ..Goal::default() };
    /// let filter = PartitionedHashing::of(&["apple", "pear", "plum"], &goal)?;
    /// assert!(filter.contains("apple") && filter.contains("plum"));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn of<K: Key>(keys: &[K], goal: &Goal) -> Result<Self> {
        let items = goal.items.or(Some(keys.len().max(1) as u64));
        let goal = Goal { items, ..goal.clone() };
        let (shape, head) = crate::variant::settle::<Self>(&goal)?;
        let digests = keys.iter().map(|key| head.hasher.digest(key)).collect();
        Self::empty(&shape, head)?.search(&shape, digests)
    }

    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, base, count, groups } = *shape;
        check_room(shape.bits())?;
        let candidates = Candidates::new(Probe::over(m, base), k, count).ok_or_else(|| {
            Error::parameter(format!("{count} candidates of {k} of {base} hashes"))
        })?;
        let table = Packed::new(if count > 1 { groups } else { 0 }, width(count).max(1));
        Ok(Self { head, part: ProbedBits::probed(Chosen { candidates, table })? })
    }

    /// Chooses group after group, greedily.
    fn search(self, shape: &Shape, mut keys: Vec<Digest>) -> Result<Self> {
        let probes = (keys.len() as u64).saturating_mul(shape.base.into());
        check_search(PARAM_T.name, shape.count, probes)?;
        let Self { mut head, part: ProbedBits { probe, mut bits } } = self;
        let Chosen { candidates, mut table } = probe;
        head.count(keys.len() as u64);
        let groups = table.len();
        keys.sort_unstable_by_key(|key| group(*key, groups));
        for keys in keys.chunk_by(|a, b| group(*a, groups) == group(*b, groups)) {
            let (chosen, _) = place_fewest(&mut bits, candidates.count, |candidate, mark| {
                keys.iter().for_each(|key| {
                    candidates.all(*key, candidate, |i| {
                        mark(i);
                        true
                    });
                });
            });
            if groups > 0 {
                table.set(group(keys[0], groups), chosen);
            }
        }
        Ok(Self { head, part: ProbedBits { probe: Chosen { candidates, table }, bits } })
    }

    /// Number of bits, the table apart.
    pub fn m(&self) -> u64 {
        self.part.m()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.part.probe.candidates.k
    }

    /// The choices of the groups, in ⌈log2 t⌉ bits each.
    pub fn table(&self) -> &Packed {
        &self.part.probe.table
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.part.bits
    }

    fn check(&self) -> Result<()> {
        let Candidates { probe, k, .. } = &self.part.probe.candidates;
        if self.head.form == SUBSETS || probe.k() == *k { Ok(()) } else { Err(misfit()) }
    }
}

fn misfit() -> Error {
    Error::corrupt(0, "corrupt filter: the table of choices does not fit the candidates")
}

impl Chosen {
    #[inline]
    fn choice(&self, digest: Digest) -> u64 {
        if self.table.is_empty() { 0 } else { self.table.get(group(digest, self.table.len())) }
    }

    fn check(&self) -> Result<()> {
        let (table, count) = (&self.table, self.candidates.count);
        let fits = match count {
            1 => (table.len(), table.width()) == (0, 1),
            _ => !table.is_empty() && table.width() == width(count),
        };
        // A field without spare values cannot hold a wrong one.
        let known = || count.is_power_of_two() || table.iter().all(|c| c < count);
        if fits && known() { Ok(()) } else { Err(misfit()) }
    }
}

impl Probes for Chosen {
    fn m(&self) -> u64 {
        self.candidates.probe.m()
    }

    #[inline]
    fn all(&self, digest: Digest, f: impl FnMut(u64) -> bool) -> bool {
        self.candidates.all(digest, self.choice(digest), f)
    }

    fn fpr(&self, bits: &Bits) -> f64 {
        libm::pow(bits.fill(), f64::from(self.candidates.k))
    }

    fn describe(&self) -> Vec<Fact> {
        let Candidates { probe, k, count, .. } = &self.candidates;
        let mut facts = vec![
            fact("m", probe.m()),
            fact("k", *k),
            fact("t", *count),
            fact("groups", self.table.len()),
            text("scheme", probe.scheme().name()),
        ];
        if probe.k() != *k {
            facts.push(fact("base", probe.k()));
        }
        facts
    }

    fn check(&self, bits: u64) -> Result<()> {
        self.candidates.probe.check_flat(bits)
    }
}

shaped!(PartitionedHashing);

impl Create for PartitionedHashing {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let digests = digests(&head.hasher, inputs.records)?;
        Self::empty(shape, head)?.search(shape, digests)
    }
}

face!(PartitionedHashing: Insert, Bulk, BulkInsert);
built!(PartitionedHashing);
owns!(PartitionedHashing { part: ProbedBits<Chosen> });
methods!(PartitionedHashing:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(PartitionedHashing: Insert);

by_part!(PartitionedHashing: part);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<PartitionedHashing>(Facts {
    id: 22,
    slug: "partitioned-hashing",
    entry: "R12",
    question: "Is it in the set, in fewer bits, when all keys are known?",
    name: "Bloom filter with partitioned hashing",
    paper: "F. Hao, M. Kodialam, T. V. Lakshman, Building high accuracy Bloom filters using \
            partitioned hashing, SIGMETRICS 2007",
    family: "membership",
    needs: &["membership", "accurate", "static"],
    forms: &[Form::exact(FRESH, &[Ability::Insert]), Form::exact(SUBSETS, &[Ability::Insert])],
    params: &[PARAM_M, PARAM_K, PARAM_T, PARAM_SIZE, PARAM_GROUPS, PARAM_BASE],
    reach: 1_000_000,
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests {
    use super::candidates::MAX_CANDIDATES;
    use super::*;
    use crate::{Opener, to_bytes};

    fn plan(goal: &Goal) -> Result<Shape> {
        PartitionedHashing::plan(&Request::new(&VARIANT, goal)?)
    }

    #[test]
    fn endless_searches_are_refused() {
        let shape = plan(&Goal::new(1_000_000, 0.01).set("t", MAX_CANDIDATES)).unwrap();
        let filter =
            PartitionedHashing::empty(&shape, Head::new(Hasher::default(), FRESH)).unwrap();
        let keys = vec![Digest { h1: 0, h2: 0 }; 1_000_000];
        assert_eq!(filter.search(&shape, keys).unwrap_err().kind(), Kind::BadParameter);
    }

    #[test]
    fn files_with_tables_that_do_not_fit_are_refused() {
        let shape = plan(&Goal::new(100, 0.01).set("t", 5)).unwrap();
        let filter =
            PartitionedHashing::empty(&shape, Head::new(Hasher::default(), FRESH)).unwrap();
        let refused = |f: &PartitionedHashing| Opener::new().decode(&to_bytes(f)).is_err();
        assert!(!refused(&filter));
        let mut wrong = filter.clone();
        wrong.part.probe.table.set(3, 5);
        assert!(refused(&wrong), "candidate 5 of 0..5");
        for table in [Packed::new(10, 4), Packed::new(0, 3)] {
            let mut other = filter.clone();
            other.part.probe.table = table;
            assert!(refused(&other));
        }
        for count in [0, 1, MAX_CANDIDATES + 1] {
            let mut other = filter.clone();
            other.part.probe.candidates.count = count;
            assert!(refused(&other), "{count} candidates");
        }
        for k in [0, filter.k() - 1, filter.k() + 1] {
            let mut subset = filter.clone();
            subset.part.probe.candidates.k = k;
            assert!(refused(&subset), "fresh functions are no subsets");
        }
    }
}
