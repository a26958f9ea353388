//! The quotient filter (Bender et al. 2012; Pandey et al. 2017; catalogue B12; S3 §VIII, reference 151).
//!
//! A multiset of fingerprints in one flat array. A fingerprint is a number below R = N·2^r. Its high part, the
//! quotient, is one of N slots, so only the low r bits, the remainder, are stored; whose slot it is, is known
//! from where it stands. Remainders of one quotient form a run, in order; runs that want the same slots follow
//! each other by linear probing:
//!
//! ```text
//!   h(x) = 3·2^r + c          slot       0 1 2 3 4 5 6 7
//!   quotient 3, remainder c   remainder    a b c d e f 1       c, d and e have quotient 3: one run
//!                             occupied   0 1 0 1 1 0 1 0       quotients that have a run
//!                             run end    0 0 1 0 0 1 1 1       the second run ends at the second one: slot 5
//! ```
//!
//! The form `rank-select` keeps these two bits a slot, and a byte per 64 slots, from which the run of a quotient
//! is found by counting ones: 2.125 bits beside a remainder, quick up to a load of 0.95, so that a rate of 2⁻⁸
//! costs 10.7 bits a key. `status-bits` is the first published layout: three bits a slot and a walk to where
//! the cluster begins, in a power of two of slots. Clusters grow long as slots fill up, so that it is planned for
//! a load of 0.9 at most.
//!
//! Fingerprints can be read back, in order. So two filters merge in one pass over both, and a filter is doubled
//! ([`Quotient::doubled`]) or halved without its keys, by moving a bit between remainder and quotient. The
//! rate is n/R all the while: it grows with the keys, and doubling does not mend it. When no bit of the
//! remainder is left, doubling is refused.
//!
//! **Use it** if keys are removed, filters are merged, or a filter must grow without its keys. **Don't** for keys
//! that occur many times each, since every copy takes a slot (`counting-quotient`), nor for sets that never change
//! (`ribbon`, at 8.03 bits per key).

pub use super::quotients::Shape;
use super::quotients::{self, Code, Table, Values, View, quotients};
use crate::filter::Bulk;
use crate::parts::{fingerprints, methods, owns};
use crate::variant::prelude::*;

/// A multiset of fingerprints, stored as remainders in the runs of their quotients.
///
/// ```
/// let mut seen = everbloom::fingerprints::Quotient::with_rate(1000, 0.01)?;
/// seen.insert("apple")?;
/// let seen = seen.doubled()?;
/// assert!(seen.contains("apple") && !seen.contains("pear"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Quotient {
    head: Head,
    table: Table<Copies>,
}

state!(Quotient { head, ..table });

/// A slot for every copy.
#[derive(Debug)]
pub(crate) struct Copies;

impl Code for Copies {
    const LEAST: u32 = 1;
    const COPIES: u64 = u64::MAX;
    const PLAIN: u64 = u64::MAX;

    fn push(slots: &mut Values, _: u32, x: u64, count: u64) {
        slots.extend((0..count).map(|_| x));
    }

    fn next(run: &View<'_>, at: u64) -> Option<(u64, u64, u64)> {
        let x = run.get(at)?;
        let after = (at + 1..).find(|i| run.get(*i) != Some(x))?;
        Some((x, after - at, after))
    }

    /// Copies are counted as they stand, however many a file has.
    fn is_written(_: &View<'_>, _: u64, _: (u64, u64), _: u64) -> bool {
        true
    }
}

impl Quotient {
    /// Every run in order of the quotients: the quotient, the slot it begins at and its slots.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.table.runs.iter().map(|(quotient, run)| (quotient, run.start, run.len))
    }

    /// Inserts a key, again if already present. Refused, with nothing changed, if no slot is free.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        fingerprints::insert(self, key)
    }

    /// Inserts a slice of keys, in order, up to the first that is refused: faster than one by one if the filter is larger
    /// than the cache.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> Result<()> {
        fingerprints::insert_many(self, keys)
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.table.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted: one copy of its remainder, from the run of its quotient. Refused, with nothing
    /// changed, if the run does not hold it. A non-member that passes cannot be told from a member: removing it removes
    /// a member with the same fingerprint.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.table.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted, or more if other members have the same fingerprint: never too low while only
    /// members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.table.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }
}

/// The mean length of a cluster at load `alpha`, which a query walks with status bits: a first run in its own slot
/// and all that are shifted behind it, α/((1−α)(e^α−1)) (catalogue B12).
pub fn cluster(alpha: f64) -> f64 {
    alpha / ((1.0 - alpha) * libm::expm1(alpha))
}

/// The mean length of what lies between two empty slots at load `alpha`, the most that an insertion moves:
/// α/((1−α)(1−e^{−α})) (catalogue B12).
pub fn stretch(alpha: f64) -> f64 {
    alpha / ((1.0 - alpha) * -libm::expm1(-alpha))
}

quotients!(Quotient: Copies, Copies::LEAST);
owns!(Quotient { table: Table<Copies> });
methods!(Quotient: insert_if_absent, contains_many, contains_many_into, contains_iter);
keyed!(Quotient: Remove);

impl Count for Quotient {
    fn count(&self, key: &[u8]) -> Counted {
        self.table.count(self.head.hasher.digest(key))
    }
}

impl Bulk for Quotient {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        self.table.contains_all(digests, found);
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Quotient>(Facts {
    id: 108,
    slug: "quotient",
    entry: "B12",
    question: "Is it in the set, when filters are merged, resized or listed without their keys?",
    name: "Quotient filter",
    paper: "M. A. Bender et al., Don't thrash: how to cache your hash on flash, VLDB 2012; P. Pandey, \
            M. A. Bender, R. Johnson, R. Patro, A general-purpose counting filter, SIGMOD 2017",
    family: "fingerprints",
    needs: &["membership", "delete", "count", "merge", "compact"],
    forms: quotients::FORMS,
    operations: &[
        change!(
            Quotient,
            "double",
            "Double the slots; remainders get a bit shorter, and the rate stays.",
            [],
            [],
            |filter, _| {
                *filter = filter.doubled()?;
                Ok(true)
            }
        ),
        change!(
            Quotient,
            "halve",
            "Halve the slots; remainders get a bit longer, and the rate stays.",
            [],
            [],
            |filter, _| {
                *filter = filter.halved()?;
                Ok(true)
            }
        ),
    ],
    params: &quotients::params(Copies::LEAST),
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::quotients::{RANK_SELECT, STATUS_BITS};
    use super::*;
    use crate::parts::fingerprints::many_keys_are_as_one;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_of_another_form_or_out_of_order_are_refused() {
        for form in [RANK_SELECT, STATUS_BITS] {
            let mut good = Quotient::with_shape(form, 64, 4, Hasher::default()).unwrap();
            (0..40u64).for_each(|key| _ = good.insert(&key).unwrap());
            assert_eq!(Opener::new().decode_as::<Quotient>(&to_bytes(&good)).unwrap(), good);
            let refused = |liar: &Quotient| Opener::new().decode(&to_bytes(liar)).is_err();
            let head = Head { items: 41, ..good.head.clone() };
            assert!(refused(&Quotient { head, ..good.clone() }));
            let other = if form == RANK_SELECT { STATUS_BITS } else { RANK_SELECT };
            let head = Head { form: other, ..good.head.clone() };
            assert!(refused(&Quotient { head, ..good.clone() }));
            let (quotient, run) = good.table.runs.iter().find(|(_, run)| run.len > 1).unwrap();
            let mut values: Vec<u64> = good.table.runs.values(run).collect();
            let sorted = values.clone();
            values.reverse();
            good.table.runs.replace(quotient, &values);
            assert_eq!(refused(&good), values != sorted, "remainders out of order");
        }
    }

    /// Prefetching calls store and find what calls for single keys do, up to the first that has no room.
    #[test]
    fn many_keys_at_once_equal_one_by_one() {
        for (form, slots) in
            [(RANK_SELECT, 1 << 12), (STATUS_BITS, 1 << 12), (RANK_SELECT, 1 << 22)]
        {
            let make = || Quotient::with_shape(form, slots, 9, Hasher::default()).unwrap();
            let keys: Vec<u64> = (0..3500).map(|i| i % 3000).collect();
            many_keys_are_as_one!(make(), keys);
        }
        let mut small = Quotient::with_shape(RANK_SELECT, 64, 9, Hasher::default()).unwrap();
        let refused = small.insert_many(&(0..100u64).collect::<Vec<_>>()).unwrap_err();
        assert_eq!((refused.kind(), small.head.items), (Kind::CapacityExceeded, 63));
        assert!(refused.to_string().contains("key 64"), "{refused}");
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        for (form, slots, remainder) in [
            (RANK_SELECT, 100, 0),
            (RANK_SELECT, 100, 62),
            (STATUS_BITS, 1 << 40, 30),
            (STATUS_BITS, 1 << 50, 4),
            ("other", 100, 4),
        ] {
            let refused = Quotient::with_shape(form, slots, remainder, Hasher::default());
            assert_eq!(
                refused.unwrap_err().kind(),
                Kind::BadParameter,
                "{form} {slots} {remainder}"
            );
        }
        let smallest = Quotient::with_shape(STATUS_BITS, 0, 61, Hasher::default()).unwrap();
        assert_eq!((smallest.slots(), smallest.remainder()), (2, 61));
    }
}
