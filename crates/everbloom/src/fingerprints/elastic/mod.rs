//! The elastic filter: a table of fingerprints that grows and shrinks by single buckets, without the keys
//! (catalogue B15; the open issue of S3 §IX).
//!
//! A key's 64-bit word is cut into an address, its lowest bits, and a fingerprint, the bits above them. Linear
//! hashing (Litwin 1980) adds one bucket at a time: the bucket whose turn it is is split, and each fingerprint
//! in it gives its lowest bit to the address:
//!
//! ```text
//!   word  … f₄ f₃ f₂ f₁ f₀ a₂ a₁ a₀        bucket a₂a₁a₀ holds      1 f₄ f₃ f₂ f₁ f₀
//!                                          split: bucket f₀a₂a₁a₀      1 f₄ f₃ f₂ f₁
//!                          └ address ┘                                 ↑ marks where the bits end
//! ```
//!
//! So old fingerprints are shorter than new ones, as in taffy filters and the InfiniFilter, which double at once.
//! One that has lost all its bits, a *void*, matches everything in its bucket and is copied to both halves when
//! that is split. Two buckets that are joined get the bit back. In the form `widening` fingerprints of keys that come after g
//! doublings have ⌈2·log₂(g + 1)⌉ bits more, and the rate stays below 2.16·λ·2^−F for ever; in `fixed` all have
//! F bits when they come, and the rate rises by 0.75·λ·2^−F with every doubling.
//!
//! A key is removed by its **longest** match. Where two keys match one fingerprint, a shorter one matches both,
//! and is what has to stay. Removing any other loses members.
//!
//! **Use it** if the number of keys is unknown and keys are removed. **Don't** if the number is known: `quotient`
//! and `pagh-pagh-rao` take fewer bits. A copied void leaves a copy behind when its key is removed, which only adds
//! false positives. `describe` counts voids; above one in a thousand, rebuild the filter.

mod table;

pub use table::Shape;

use table::{MAX_BUCKETS, MAX_LENGTH, MAX_LOAD, Table};

use crate::cells::Buckets;
use crate::variant::prelude::*;

/// A multiset of fingerprints in buckets of any number.
///
/// ```
/// let mut seen = everbloom::fingerprints::Elastic::with_rate(100, 0.01)?;
/// for visitor in 0..10_000u64 {
///     seen.insert(&visitor)?;
/// }
/// assert_eq!(seen.buckets(), 2500);
/// for visitor in 0..9_000u64 {
///     seen.remove(&visitor)?;
/// }
/// seen.shrink_to(250);
/// assert!((9_000..10_000u64).all(|visitor| seen.contains(&visitor)));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Elastic {
    head: Head,
    table: Table,
}

state!(Elastic { head, ..table });

impl Elastic {
    /// A filter that begins with `first` buckets for four keys each, and fingerprints of `length` bits; later ones
    /// are longer if `widening`.
    pub fn with_shape(first: u64, length: u32, widening: bool, hasher: Hasher) -> Result<Self> {
        let shape = Shape { first, load: LOAD, length, widening };
        possible(&shape)?;
        let form = if widening { WIDENING } else { FIXED };
        Self::empty(&shape, Head::new(hasher.or(Self::HASH), form))
    }

    /// Inserts a key, again if already present. Refused, with nothing changed, only if memory runs out.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        // Voids that were copied do not count: they would be split for ever.
        self.reserve(self.head.items + 1)?;
        let new = self.table.insert(digest)?;
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.table.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted: the longest fingerprint of its bucket that matches. Refused, with nothing
    /// changed, if none matches. A non-member that passes cannot be told from a member: removing it removes a member
    /// whose fingerprint matches.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.table.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted, or more if fingerprints of other members match: never too low while only members
    /// are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.table.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }

    /// Splits buckets until there are enough for this many items.
    pub fn reserve(&mut self, items: u64) -> Result<()> {
        let wanted = items.div_ceil(self.table.shape.load);
        if wanted > MAX_BUCKETS {
            let message = format!("{items} items are more than {MAX_BUCKETS} buckets hold");
            return Err(Error::new(Kind::CapacityExceeded, message));
        }
        while self.table.buckets() < wanted {
            self.table.split()?;
        }
        Ok(())
    }

    /// Merges buckets until this many are left, or as many as the items need. Fingerprints get longer again.
    pub fn shrink_to(&mut self, buckets: u64) {
        let least = self.head.items.div_ceil(self.table.shape.load).max(1).max(buckets);
        while self.table.buckets() > least {
            self.table.join();
        }
    }

    /// Number of buckets.
    pub fn buckets(&self) -> u64 {
        self.table.buckets()
    }

    /// Fingerprints that have lost all their bits, copies included.
    pub fn voids(&self) -> u64 {
        self.table.voids()
    }

    /// Bits of a fingerprint on average.
    pub fn mean_length(&self) -> f64 {
        self.table.mean_length()
    }

    fn check(&self) -> Result<()> {
        let form = if self.table.shape.widening { WIDENING } else { FIXED };
        if form == self.head.form && self.table.entries() >= self.head.items {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: other fingerprints than its form and items say"))
    }
}

/// The rate after `g` doublings with fingerprints of `length` bits that all began with as many,
/// 1 − exp(−λ·2^−F·(1 + 0.75·g)) (catalogue B15).
pub fn fixed_rate(load: u64, length: u32, g: f64) -> f64 {
    -libm::expm1(-(load as f64) * libm::exp2(-f64::from(length)) * (1.0 + 0.75 * g))
}

/// The rate after `g` doublings where later fingerprints are longer,
/// λ·2^−F·(1 + 0.75·Σ_{j<g} 2^−⌈2·log₂(j+1)⌉) (catalogue B15).
pub fn widening_rate(load: u64, length: u32, g: u32) -> f64 {
    let more = |j: u32| u64::from(j + 1).pow(2).next_power_of_two().ilog2();
    let sum: f64 = (0..g).map(|j| libm::exp2(-f64::from(more(j)))).sum();
    load as f64 * libm::exp2(-f64::from(length)) * (1.0 + 0.75 * sum)
}

fn possible(shape: &Shape) -> Result<()> {
    if shape.is_possible() {
        return Ok(());
    }
    let Shape { first, length, .. } = shape;
    Err(Error::parameter(format!(
        "{first} buckets with fingerprints of {length} bits, which have 1 to {MAX_LENGTH} and 64 with their address: \
         use fewer {{items}} or a higher {{rate}}"
    )))
}

impl Plan for Elastic {
    type Shape = Shape;

    /// Buckets for the items, F = ⌈log₂(2.16·λ/ε)⌉, or ⌈log₂(λ(1 + 0.75·g)/ε)⌉ for at most g doublings.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let load = request.whole("load");
        let widening = request.form() == WIDENING;
        let doublings = request.whole("doublings") as f64;
        let margin = if widening { 2.16 } else { 1.0 + 0.75 * doublings };
        let (first, length) = (request.integer("buckets"), request.integer("length"));
        let shaped = |n: u64, p: f64| {
            let bits = libm::ceil(libm::log2(margin * load as f64 / p));
            let bits = bits.clamp(1.0, f64::from(MAX_LENGTH) + 1.0);
            let first = first.unwrap_or(n.div_ceil(load));
            Shape { first, load, length: length.unwrap_or(bits as u64) as u32, widening }
        };
        let shape =
            request.shape(first.is_some() && length.is_some(), shaped, |n, shape: Shape| {
                Buckets::bits_for(shape.first, n, shape.length + 1)
            })?;
        possible(&shape)?;
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { first, load: each, length, widening } = *shape;
        let (items, buckets) = (load.items, shape.buckets_for(load.items));
        let fpr = if buckets == first {
            // Buckets that were split have half of the keys of the others.
            let level = libm::exp2(f64::from(first.ilog2()));
            let split = first as f64 / level - 1.0;
            let rate = |share: f64| {
                -libm::expm1(
                    -(load.distinct as f64) / level * share * libm::exp2(-f64::from(length)),
                )
            };
            split * rate(0.5) + (1.0 - split) * rate(1.0)
        } else {
            let doublings = libm::log2(buckets as f64 / first as f64);
            let rate = fixed_rate(each, length, doublings);
            if widening {
                widening_rate(each, length, doublings as u32 + 1).min(rate)
            } else {
                rate
            }
        };
        let width = shape.fresh(buckets).max(length) + 1;
        let fill = items as f64 / (buckets as f64 * each as f64);
        Some(Expect::one_sided(fpr, Buckets::bits_for(buckets, items, width), Some((fill, 0.0))))
    }
}

impl Stream for Elastic {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, table: Table::new(*shape)? })
    }
}

face!(Elastic: Insert, Remove, Count);
planned!(Elastic);
keyed!(Elastic: TryInsert, Remove);

impl Count for Elastic {
    fn count(&self, key: &[u8]) -> Counted {
        self.table.count(self.head.hasher.digest(key))
    }
}

by_part!(Elastic: table);

const WIDENING: &str = "widening";
const FIXED: &str = "fixed";
const LOAD: u64 = 4;
const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Remove, Ability::Count];

/// For `shrink` and `reserve`.
const LEFT: Param =
    Param::integer("buckets", 1, MAX_BUCKETS, "buckets to leave; more if the items need them")
        .or(Preset::Integer(1));
const ROOM: Param = Param::integer("room", 1, 1 << 48, "number of items");

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Elastic>(Facts {
    id: 111,
    slug: "elastic",
    entry: "B15",
    question: "Is it in a set that grows and shrinks bucket by bucket, in one table?",
    name: "Elastic filter",
    paper: "after N. Dayan, I. Bercea, P. Reviriego, R. Pagh, InfiniFilter: expanding filters to infinity and \
            beyond, SIGMOD 2023, on W. Litwin's linear hashing, VLDB 1980",
    family: "fingerprints",
    needs: &["membership", "delete", "count", "grow"],
    meaning: "items are the keys to plan for at first, and insertions minus removals when counted; the rate is that of \
              false positives, kept as it grows",
    forms: &[Form::removing(WIDENING, ABILITIES), Form::removing(FIXED, ABILITIES)],
    operations: &[
        change!(
            Elastic,
            "shrink",
            "Merge buckets; fingerprints get longer again.",
            [LEFT],
            [],
            |filter, given| {
                let before = filter.buckets();
                filter.shrink_to(given.whole(0));
                Ok(filter.buckets() < before)
            }
        ),
        change!(
            Elastic,
            "reserve",
            "Split buckets until there are enough for so many items.",
            [ROOM],
            [],
            |filter, given| {
                let before = filter.buckets();
                filter.reserve(given.whole(0))?;
                Ok(filter.buckets() > before)
            }
        ),
    ],
    params: &[
        Param::integer("load", 1, MAX_LOAD, "keys per bucket").or(Preset::Integer(LOAD)),
        Param::integer("buckets", 1, MAX_BUCKETS, "initial and minimum number of buckets"),
        Param::integer("length", 1, MAX_LENGTH as u64, "initial bits of a fingerprint"),
        Param::integer("doublings", 0, 48, "doublings that form fixed is planned for")
            .or(Preset::Integer(10)),
    ],
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_that_cannot_be_are_refused() {
        let mut good = Elastic::with_shape(3, 5, true, Hasher::default()).unwrap();
        (0..200u64).for_each(|key| _ = good.insert(&key).unwrap());
        let lies: [fn(&mut Elastic); 7] = [
            |f| f.head.items = 1 << 40,
            |f| f.head.form = FIXED,
            |f| f.table.shape.first = 0,
            |f| f.table.shape.load = 0,
            |f| f.table.shape.length = 64,
            |f| f.table.shape.first = 1 << 60,
            |f| f.table.shape.widening = false,
        ];
        lies_are_refused(&good, lies);
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        for (first, length) in [(0, 8), (4, 0), (4, 57), (1 << 40, 30), (1 << 49, 2)] {
            let made = Elastic::with_shape(first, length, true, Hasher::default());
            assert_eq!(made.unwrap_err().kind(), Kind::BadParameter, "{first} {length}");
        }
    }
}
