//! The optimal replacement of Pagh, Pagh and Rao, in its practical form (2005; catalogue B3; S0 §II-C, reference 5).
//!
//! A filter without false negatives needs log₂(1/ε) bits a key. This one takes two more, and keys can be
//! removed. A key's fingerprint is a number below R = N·2^r. Its high part, the quotient, says which of N lists
//! it belongs to, and the low r bits, the remainder, are all that the list stores, in order:
//!
//! ```text
//!   64 lists to a block    1 1 0 0 1 0 1 1 1 0 …   how many each has, in unary: a bit a list, a bit a key
//!                          3a c1 │ 07 │ 11 11 e0   their remainders, r bits each: list 3 holds 11 twice
//! ```
//!
//! With N lists for n = N keys that is n·r + n + N bits: 9 bits a key at a rate of 2⁻⁷, where a Bloom filter
//! needs 10.1. Where list j begins is found from the zero number j − 1 of its block, so a query reads a few
//! words of one place. Fingerprints are a multiset: equal ones are interchangeable, so removing a member never
//! loses another, and the rate is (number of different fingerprints)/R whatever came and went before. Blocks grow
//! as keys come, so the filter is never full; only its rate rises with n/R.
//!
//! The form `static` has one block in place of N/64, which is the Elias–Fano code of the fingerprints in order: as
//! many bits, to the last one, without a twelfth to spare and without a list of where blocks begin. It is built in
//! `blocks` and frozen then ([`PaghPaghRao::frozen`]), and takes and removes nothing until it is thawed.
//!
//! A bit can be moved between quotient and remainder without the keys, [`PaghPaghRao::doubled`] and
//! [`PaghPaghRao::halved`], and filters with fingerprints of one range merge.
//!
//! **Use it** if bits are scarce and keys are removed, or their number is uncertain. **Don't** for speed: an
//! insertion moves the rest of its block, some dozens of words (`quotient` moves less, at 0.6 more bits per key),
//! and blocks in memory keep a twelfth in reserve. Nor for sets that never change: `ribbon` takes 8.03 bits per key
//! where `static` takes 9, but cannot count or list.

mod lists;
mod shape;

use lists::Lists;
pub use shape::Shape;
use shape::{MAX_QUOTIENTS, MAX_REMAINDER};

use crate::filter::List;
use crate::parts::owns;
use crate::variant::prelude::*;

/// A multiset of fingerprints in lists by quotient.
///
/// ```
/// let mut seen = everbloom::fingerprints::PaghPaghRao::with_rate(1000, 0.01)?;
/// seen.insert("apple")?;
/// seen.insert("pear")?;
/// seen.remove("apple")?;
/// assert!(seen.contains("pear") && !seen.contains("apple"));
/// let mut fixed = seen.frozen()?;
/// assert!(fixed.contains("pear") && fixed.insert("apple").is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PaghPaghRao {
    head: Head,
    lists: Lists,
}

headed!(PaghPaghRao { lists });

impl PaghPaghRao {
    /// A filter of `quotients` lists with remainders of `remainder` bits, 0 to 60, in blocks.
    pub fn with_shape(quotients: u64, remainder: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape { quotients, remainder };
        shape.possible()?;
        Self::empty(&shape, Head::new(hasher.or(Self::HASH), BLOCKS))
    }

    fn check(&self) -> Result<()> {
        self.lists.check()?;
        if self.lists.len() == self.head.items {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: not as many fingerprints as items"))
    }

    /// Inserts a key, again if already present. Refused by a filter of the form `static`.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let new = self.lists.insert(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_one();
        Ok(Seen::new_if(new))
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.lists.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted: one copy of its fingerprint. Refused, with nothing changed, if its list does
    /// not hold the fingerprint, and by a filter of the form `static`. A non-member that passes cannot be told from a
    /// member: removing it removes a member with the same fingerprint.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.lists.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted, or more if other members have the same fingerprint: never too low while only
    /// members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.lists.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }

    /// The same filter in the form `static`: all fingerprints in one code, which does not change.
    pub fn frozen(&self) -> Result<Self> {
        self.recut(STATIC, self.lists.shape())
    }

    /// The same filter in the form `blocks`, which takes keys and removes them.
    pub fn thawed(&self) -> Result<Self> {
        self.recut(BLOCKS, self.lists.shape())
    }

    /// The same filter in twice the lists, with remainders a bit shorter and therefore the same rate. Refused
    /// where remainders have no bit.
    pub fn doubled(&self) -> Result<Self> {
        let Shape { quotients, remainder } = self.lists.shape();
        let remainder = remainder.checked_sub(1).ok_or_else(|| {
            Error::new(Kind::CapacityExceeded, "the remainders have no bit left for more lists")
        })?;
        self.recut(self.head.form, Shape { quotients: 2 * quotients, remainder })
    }

    /// The same filter in half the lists, with remainders a bit longer. Refused where lists are odd in number.
    pub fn halved(&self) -> Result<Self> {
        let Shape { quotients, remainder } = self.lists.shape();
        if !quotients.is_multiple_of(2) {
            let message = format!("{quotients} lists cannot be halved");
            return Err(Error::new(Kind::Unsupported, message));
        }
        let shape = Shape { quotients: quotients / 2, remainder: remainder + 1 };
        self.recut(self.head.form, shape)
    }

    /// The same fingerprints in a form, in the lists of a shape.
    fn recut(&self, form: &'static str, shape: Shape) -> Result<Self> {
        shape.possible()?;
        let recut = if form == STATIC { Lists::coded } else { Lists::in_blocks };
        Ok(Self { head: Head { form, ..self.head.clone() }, lists: recut(&self.lists, shape)? })
    }

    /// Every fingerprint in order, copies one by one.
    pub fn fingerprints(&self) -> impl Iterator<Item = u64> + '_ {
        self.lists.fingerprints()
    }
}

impl Stream for PaghPaghRao {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head: Head { form: BLOCKS, ..head }, lists: Lists::new(shape)? })
    }

    /// Static filters are built in blocks.
    fn finished(self, form: &'static str) -> Result<Self> {
        if form == STATIC { self.frozen() } else { Ok(self) }
    }
}

face!(PaghPaghRao: Insert, Remove, Count, Merge, List);
planned!(PaghPaghRao);
owns!(PaghPaghRao { lists: Lists });
keyed!(PaghPaghRao: TryInsert, Remove);

impl Count for PaghPaghRao {
    fn count(&self, key: &[u8]) -> Counted {
        self.lists.count(self.head.hasher.digest(key))
    }
}

impl List for PaghPaghRao {
    /// Fingerprints in place of keys, which are not kept: 16 hexadecimal digits each, copies one by one.
    fn list(&self, f: &mut dyn FnMut(&[u8], Answer)) -> Result<()> {
        let one = || Answer::counted(Counted::exactly(1));
        self.fingerprints().for_each(|h| f(format!("{h:016x}").as_bytes(), one()));
        Ok(())
    }
}

by_part!(PaghPaghRao: lists);

const BLOCKS: &str = "blocks";
const STATIC: &str = "static";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<PaghPaghRao>(Facts {
    id: 100,
    slug: "pagh-pagh-rao",
    entry: "B3",
    question: "Is it in the set, when keys are removed again, in the fewest bits?",
    name: "Optimal Bloom filter replacement (Pagh, Pagh, Rao)",
    paper: "A. Pagh, R. Pagh, S. S. Rao, An optimal Bloom filter replacement, SODA 2005",
    family: "fingerprints",
    needs: &["membership", "delete", "count", "merge", "compact"],
    forms: &[
        Form::removing(
            BLOCKS,
            &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge, Ability::List],
        ),
        Form::exact(STATIC, &[Ability::Count, Ability::List]),
    ],
    operations: &[
        change!(
            PaghPaghRao,
            "double",
            "Double the lists; remainders get a bit shorter, and the rate stays.",
            [],
            [],
            |filter, _| {
                *filter = filter.doubled()?;
                Ok(true)
            }
        ),
        change!(
            PaghPaghRao,
            "halve",
            "Halve the lists; remainders get a bit longer, and the rate stays.",
            [],
            [],
            |filter, _| {
                *filter = filter.halved()?;
                Ok(true)
            }
        ),
        change!(
            PaghPaghRao,
            "freeze",
            "Code the lists in the fewest bits; the filter takes no more keys.",
            [],
            [],
            |filter, _| {
                *filter = filter.frozen()?;
                Ok(true)
            }
        ),
        change!(
            PaghPaghRao,
            "thaw",
            "Write the lists so that the filter takes keys again.",
            [],
            [],
            |filter, _| {
                *filter = filter.thawed()?;
                Ok(true)
            }
        ),
    ],
    params: &[
        Param::integer("quotients", 1, MAX_QUOTIENTS, "lists, by default as many as keys"),
        Param::integer(
            "remainder",
            0,
            MAX_REMAINDER as u64,
            "bits of a fingerprint that are stored",
        ),
    ],
    reach: 1_000_000,
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::EliasFano;
    use crate::shared_tests::lies_are_refused;

    fn filled() -> PaghPaghRao {
        let mut filter = PaghPaghRao::with_shape(20, 6, Hasher::default()).unwrap();
        (0..60u64).for_each(|key| _ = filter.insert(&key).unwrap());
        filter
    }

    #[test]
    fn files_out_of_order_are_refused() {
        let lies: [fn(&mut PaghPaghRao); 2] = [
            |filter| filter.head.items += 1,
            |filter| {
                let Lists::Blocks(blocks) = &mut filter.lists else { unreachable!() };
                blocks.replace(4, &[9, 8]);
                filter.head.items = filter.lists.len();
            },
        ];
        lies_are_refused(&filled(), lies);
    }

    #[test]
    fn static_files_that_are_no_code_of_their_items_are_refused() {
        fn hold(filter: &mut PaghPaghRao, width: u32, numbers: &[u64]) {
            let len = numbers.len() as u64;
            let code = EliasFano::try_new(20, width, len, numbers.iter().copied()).unwrap();
            (filter.lists, filter.head.items) = (Lists::Code(code), len);
        }
        let lies: [fn(&mut PaghPaghRao); 4] = [
            |filter| filter.head.items -= 1,
            |filter| filter.head.form = BLOCKS,
            |filter| hold(filter, 6, &[0x49, 0x48]),
            // More fingerprints than there are.
            |filter| hold(filter, 61, &[]),
        ];
        lies_are_refused(&filled().frozen().unwrap(), lies);
        let mut liar = filled();
        liar.head.form = STATIC;
        assert!(crate::Opener::new().decode(&crate::to_bytes(&liar)).is_err());
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        for (quotients, remainder) in [(0, 5), (9, 61), (1 << 40, 30), (1 << 49, 2)] {
            let made = PaghPaghRao::with_shape(quotients, remainder, Hasher::default());
            assert_eq!(made.unwrap_err().kind(), Kind::BadParameter);
        }
    }
}
