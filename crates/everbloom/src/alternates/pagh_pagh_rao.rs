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
//! A bit can be moved between quotient and remainder without the keys, [`PaghPaghRao::doubled`] and
//! [`PaghPaghRao::halved`], and filters with fingerprints of one range merge.
//!
//! **Use it** where bits are dear and keys are removed, or their number is not certain. **Don't** for speed:
//! insertion moves the rest of its block, some dozens of words (`quotient` at 0.6 more bits a key moves less), and
//! the blocks in memory have a twelfth to spare.

use crate::cells::Buckets;
use crate::filter::List;
use crate::parts::multisets;
use crate::theory::bloom;
use crate::variant::prelude::*;

/// A multiset of fingerprints in lists by quotient.
///
/// ```
/// let mut seen = everbloom::alternates::PaghPaghRao::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// seen.insert("pear");
/// seen.remove("apple")?;
/// assert!(seen.contains("pear") && !seen.contains("apple"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PaghPaghRao {
    head: Head,
    lists: Lists,
}

state!(PaghPaghRao { head, ..lists });

/// Remainders in lists by quotient.
#[derive(Clone, Debug, PartialEq)]
struct Lists {
    lists: Buckets,
}

state!(inline Lists { lists });

/// Salts the digest for the fingerprint.
const FINGERPRINT: u64 = 0x52;

impl Lists {
    fn new(shape: &Shape) -> Result<Self> {
        Ok(Self { lists: Buckets::try_new(shape.quotients, shape.remainder)? })
    }

    fn shape(&self) -> Shape {
        Shape { quotients: self.lists.len(), remainder: self.lists.width() }
    }

    #[inline]
    fn split(&self, digest: Digest) -> (u64, u64) {
        let range = self.shape().range();
        self.cut(((u128::from(digest.word(FINGERPRINT)) * range) >> 64) as u64)
    }

    fn cut(&self, h: u64) -> (u64, u64) {
        let width = self.lists.width();
        (h >> width, h & ((1 << width) - 1))
    }

    /// Inserts a fingerprint in order; true if it was not there.
    fn put(&mut self, (quotient, x): (u64, u64)) -> bool {
        let (mut at, mut new) = (0, true);
        for other in self.lists.bucket(quotient).take_while(|other| *other <= x) {
            (at, new) = (at + 1, new && other != x);
        }
        self.lists.insert(quotient, at, x);
        new
    }

    fn insert(&mut self, digest: Digest) -> bool {
        self.put(self.split(digest))
    }

    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        let (quotient, x) = self.split(digest);
        self.lists.bucket(quotient).any(|other| other == x)
    }

    /// Refused if no equal fingerprint is there.
    fn remove(&mut self, digest: Digest) -> Result<()> {
        let (quotient, x) = self.split(digest);
        let at = self.lists.bucket(quotient).position(|other| other == x).ok_or_else(|| {
            let message = "the key is not in the filter: its list does not hold its fingerprint";
            Error::new(Kind::NotDeletable, message)
        })?;
        self.lists.remove(quotient, at as u64);
        Ok(())
    }

    /// How often the fingerprint is there: too high only if another key has the same one.
    fn count(&self, digest: Digest) -> Counted {
        let (quotient, x) = self.split(digest);
        Counted::about(self.lists.bucket(quotient).filter(|other| *other == x).count() as u64)
    }

    /// Every fingerprint in order, copies one by one.
    fn fingerprints(&self) -> impl Iterator<Item = u64> + '_ {
        let width = self.lists.width();
        let list = move |q| self.lists.bucket(q).map(move |x| q << width | x);
        (0..self.lists.len()).flat_map(list)
    }

    fn distinct(&self) -> u64 {
        let mut before = None;
        self.fingerprints().filter(|h| before.replace(*h) != Some(*h)).count() as u64
    }

    fn agree(&self, other: &Self) -> Result<()> {
        crate::error::agree("fingerprints", self.shape().range(), other.shape().range())
    }

    fn add(&mut self, other: &Self) {
        for h in other.fingerprints() {
            self.put(self.cut(h));
        }
    }

    /// The same fingerprints in other lists.
    fn recut(&self, shape: Shape) -> Result<Self> {
        shape.possible()?;
        let mut recut = Self::new(&shape)?;
        recut.add(self);
        Ok(recut)
    }

    /// Remainders are in order.
    fn check(&self) -> Result<()> {
        let rising = |q| {
            let mut before = 0;
            self.lists.bucket(q).all(|x| std::mem::replace(&mut before, x) <= x)
        };
        if self.shape().is_possible() && (0..self.lists.len()).all(rising) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: lists of remainders that are not in order"))
    }
}

impl Part for Lists {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::counted(self.count(digest))
    }

    /// Keys per list, which may be above 1.
    fn fill(&self) -> f64 {
        self.lists.values() as f64 / self.lists.len() as f64
    }

    /// A non-member passes exactly if its fingerprint is one of those inside.
    fn rates(&self) -> Rates {
        Rates::one_sided(self.distinct() as f64 / self.shape().range() as f64)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("quotients", self.lists.len()),
            fact("remainder", self.lists.width()),
            real("load", self.fill()),
        ]
    }

    /// The remainders of the key's list.
    fn trace(&self, digest: Digest) -> Vec<Touched> {
        let (quotient, x) = self.split(digest);
        let list = self.lists.bucket(quotient);
        list.map(|value| Touched { index: quotient, value, agrees: value == x }).collect()
    }
}

impl PaghPaghRao {
    /// A filter of `quotients` lists with remainders of `remainder` bits, 0 to 60.
    pub fn with_shape(quotients: u64, remainder: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape { quotients, remainder };
        shape.possible()?;
        Self::empty(&shape, Head::new(hasher.or(Self::HASH), FORM))
    }

    /// The same filter in twice the lists, with remainders a bit shorter and therefore the same rate. Refused
    /// where remainders have no bit.
    pub fn doubled(&self) -> Result<Self> {
        let Shape { quotients, remainder } = self.lists.shape();
        let remainder = remainder.checked_sub(1).ok_or_else(|| {
            Error::new(
                Kind::CapacityExceeded,
                "the remainders have no bit to give to further lists",
            )
        })?;
        let lists = self.lists.recut(Shape { quotients: 2 * quotients, remainder })?;
        Ok(Self { head: self.head.clone(), lists })
    }

    /// The same filter in half the lists, with remainders a bit longer. Refused where lists are odd in number.
    pub fn halved(&self) -> Result<Self> {
        let Shape { quotients, remainder } = self.lists.shape();
        if !quotients.is_multiple_of(2) {
            let message = format!("{quotients} lists cannot be halved");
            return Err(Error::new(Kind::Unsupported, message));
        }
        let shape = Shape { quotients: quotients / 2, remainder: remainder + 1 };
        Ok(Self { head: self.head.clone(), lists: self.lists.recut(shape)? })
    }

    /// Every fingerprint in order, copies one by one.
    pub fn fingerprints(&self) -> impl Iterator<Item = u64> + '_ {
        self.lists.fingerprints()
    }

    fn check(&self) -> Result<()> {
        if self.lists.lists.values() == self.head.items {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: not as many fingerprints as items"))
    }
}

/// Number of quotients, and bits of a remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    quotients: u64,
    remainder: u32,
}

const MAX_QUOTIENTS: u64 = 1 << 48;
const MAX_REMAINDER: u32 = 60;

impl Shape {
    /// R.
    fn range(&self) -> u128 {
        u128::from(self.quotients) << self.remainder
    }

    fn is_possible(&self) -> bool {
        (1..=MAX_QUOTIENTS).contains(&self.quotients)
            && self.remainder <= MAX_REMAINDER
            && self.quotients.ilog2() + self.remainder <= 63
    }

    fn possible(&self) -> Result<()> {
        if self.is_possible() {
            return Ok(());
        }
        let Self { quotients, remainder } = *self;
        Err(Error::parameter(format!(
            "{quotients} lists with remainders of {remainder} bits are beyond the 2^64 fingerprints there are: \
             ask for fewer {{items}} or a higher {{rate}}"
        )))
    }
}

impl Plan for PaghPaghRao {
    type Shape = Shape;

    /// As many lists as keys, N = n, and r = ⌈log₂(1/ε)⌉.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let (quotients, remainder) = (request.integer("quotients"), request.integer("remainder"));
        let shaped = |n: u64, p: f64| {
            let quotients = quotients.unwrap_or(n);
            let bits = libm::ceil(libm::log2(n as f64 / quotients as f64 / p));
            let bits = bits.clamp(0.0, f64::from(MAX_REMAINDER) + 1.0);
            Shape { quotients, remainder: remainder.unwrap_or(bits as u64) as u32 }
        };
        let shape =
            request.shape(quotients.is_some() && remainder.is_some(), shaped, |n, shape| {
                Buckets::bits_for(shape.quotients, n, shape.remainder)
            })?;
        shape.possible()?;
        Ok(shape)
    }

    /// Bits grow with the items, n(r + 1) + N.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let fpr = bloom::fill(shape.range() as f64, load.distinct as f64);
        let bits = Buckets::bits_for(shape.quotients, load.items, shape.remainder);
        let fill = load.items as f64 / shape.quotients as f64;
        Some(Expect::one_sided(fpr, bits, Some((fill, 0.0))))
    }
}

impl Stream for PaghPaghRao {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, lists: Lists::new(shape)? })
    }
}

face!(PaghPaghRao: Insert, Remove, Count, Merge, List);
planned!(PaghPaghRao);
multisets!(PaghPaghRao: lists);

impl List for PaghPaghRao {
    /// Fingerprints as 8 little-endian bytes, copies one by one.
    fn list(&self, f: &mut dyn FnMut(&[u8], Answer)) -> Result<()> {
        self.fingerprints().for_each(|h| f(&h.to_le_bytes(), Answer::counted(Counted::exactly(1))));
        Ok(())
    }
}

by_part!(PaghPaghRao: lists);

const FORM: &str = "blocks";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<PaghPaghRao>(Facts {
    id: 100,
    slug: "pagh-pagh-rao",
    entry: "B3",
    name: "Optimal Bloom filter replacement (Pagh, Pagh, Rao)",
    paper: "A. Pagh, R. Pagh, S. S. Rao, An optimal Bloom filter replacement, SODA 2005",
    family: "alternates",
    needs: &["membership", "delete", "count", "merge", "compact"],
    forms: &[Form::removing(
        FORM,
        &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge, Ability::List],
    )],
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
    use crate::{Opener, to_bytes};

    #[test]
    fn files_out_of_order_are_refused() {
        let mut good = PaghPaghRao::with_shape(20, 6, Hasher::default()).unwrap();
        (0..60u64).for_each(|key| _ = good.insert(&key));
        assert_eq!(Opener::new().decode_as::<PaghPaghRao>(&to_bytes(&good)).unwrap(), good);
        let refused = |liar: &PaghPaghRao| Opener::new().decode(&to_bytes(liar)).is_err();
        let head = Head { items: 61, ..good.head.clone() };
        assert!(refused(&PaghPaghRao { head, ..good.clone() }));
        good.lists.lists.replace(4, &[9, 8]);
        good.head.items = good.lists.lists.values();
        assert!(refused(&good));
        for (quotients, remainder) in [(0, 5), (9, 61), (1 << 40, 30), (1 << 49, 2)] {
            let made = PaghPaghRao::with_shape(quotients, remainder, Hasher::default());
            assert_eq!(made.unwrap_err().kind(), Kind::BadParameter);
        }
    }
}
