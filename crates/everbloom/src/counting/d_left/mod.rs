//! The d-left counting filter, dlCBF (Bonomi, Mitzenmacher, Panigrahy, Singh, Varghese 2006; catalogue I10;
//! S0 §III-B, S3 §V-C, S4).
//!
//! A table of fingerprints in place of counters, placed by d-left hashing ([`multiple_choice`]). The
//! fingerprint H(x) is a number below N = B·2^r. Each of the d tables has a permutation of its own, whose
//! high part says which of the table's B buckets the key may go to, and whose low r bits, the remainder,
//! are what is stored there:
//!
//! ```text
//!   H(x) ─P₁→ bucket 4, remainder 0x2c1       table 1   … │2c1·1 0f3·1 ___ ___ …│ …   ← here, if it is
//!        ─P₂→ bucket 0, remainder 0x07e       table 2   … │9b0·2 55d·1 c02·1 ___│ …     the emptiest
//!        ─P₃→ …                               cell = remainder · count (0: empty)
//! ```
//!
//! The permutations are what makes removal safe. A place and the remainder in it lead back to one H, so
//! that two keys agree in one table exactly if they agree in all, and at most one cell in all d buckets
//! speaks for a key. With d independent hashes and one plain fingerprint, two keys can meet in one table
//! with different choices in another: then two cells match, there is no telling whose is whose, and removing
//! one takes the other with it.
//!
//! Even buckets need little spare room: six keys on average in eight cells, and none overflows. So a key
//! takes (r + 2)·8/6 bits at a rate of 24·2^−r, less than half of what `counting` takes at 1 % and a
//! third at 10⁻⁶.
//!
//! The paper multiplies by odd numbers modulo 2^q, and the catalogue therefore rounds B up to a power of
//! two, at up to twice the space. Here B is what it needs to be: multiplying by a prime above 2⁶³ is a
//! permutation modulo any B·2^r, and modulo 2^q it is the paper's own.
//!
//! **Use it** instead of `counting` if the number of keys is known. **Don't** if it is unknown: eventually a key
//! finds its d buckets full and is refused. Repeated keys raise a two-bit count, which sticks at three (such a key
//! can never be removed); for multiplicities set a larger `count` or use `spectral`.
//!
//! [`multiple_choice`]: super::multiple_choice

mod table;

pub use table::Shape;

use table::{MAX_D, MAX_REMAINDER, MAX_ROOM, Table};

use crate::theory::bloom;
use crate::variant::prelude::*;

/// A multiset of fingerprints in d tables of buckets.
///
/// ```
/// let mut flows = everbloom::counting::DLeft::with_rate(1000, 0.001)?;
/// flows.insert("10.0.0.1")?;
/// flows.remove("10.0.0.1")?;
/// assert!(!flows.contains("10.0.0.1"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DLeft {
    head: Head,
    table: Table,
}

state!(plain DLeft { head, ..table });

impl DLeft {
    /// The paper's filter: four tables of `buckets` buckets of eight cells, each a remainder of
    /// `remainder` bits (1 to 56) and a count of two.
    pub fn with_shape(buckets: u64, remainder: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape { d: 4, buckets, room: 8, remainder, count: 2 };
        shape.possible()?;
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// Number of cells in use, which is that of distinct fingerprints.
    pub fn used(&self) -> u64 {
        self.table.used()
    }

    /// The number of the cell that holds the key's fingerprint, below [`cells`](Self::cells). It stays the same
    /// while the key is inside, so that it can be the index into a separate table of values.
    ///
    /// ```
    /// let mut labels = everbloom::counting::DLeft::with_rate(1000, 0.001)?;
    /// labels.insert("label")?;
    /// let mut ports = vec![0u64; labels.cells() as usize];
    /// if let Some(cell) = labels.cell_of("label") {
    ///     ports[cell as usize] = 0b101;
    /// }
    /// assert_eq!(labels.cell_of("another"), None);
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn cell_of<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        self.table.cell_of(self.head.hasher.digest(key))
    }

    /// Number of cells, in use or not.
    pub fn cells(&self) -> u64 {
        self.table.len()
    }

    /// Cells in use in each bucket, table by table.
    pub fn loads(&self) -> impl Iterator<Item = u64> + '_ {
        self.table.loads()
    }

    /// Inserts a key, again if already present. Refused, with nothing changed, if its fingerprint is new and all its
    /// buckets are full.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let new = self.table.insert(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.table.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted: its fingerprint counts one less, unless its count is stuck. Refused, with
    /// nothing changed, if none of its buckets holds its fingerprint. A non-member that passes cannot be told from a
    /// member: removing it removes a member with the same fingerprint.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.table.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted, or more if other members have the same fingerprint: never too low while its
    /// count is not stuck and only members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.table.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }
}

/// The rate with `n` distinct keys and N fingerprints, 1 − (1 − 1/N)^n ≈ n/N: at a load of 6 in each of 4·B
/// buckets, 24·2^−r (catalogue I10).
pub fn fpr(range: u64, n: u64) -> f64 {
    bloom::fill(range as f64, n as f64)
}

/// The bits of a remainder that keep a rate of `p` with d buckets of `load` cells in use,
/// r = ⌈log₂(d·load/p)⌉ (catalogue I10).
pub fn remainder_bits(d: u32, load: f64, p: f64) -> f64 {
    libm::ceil(libm::log2(f64::from(d) * load / p)).max(1.0)
}

impl Plan for DLeft {
    type Shape = Shape;

    /// Buckets for the load, then remainders for the rate.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let number = |name, default| request.integer(name).unwrap_or(default) as u32;
        let (d, room, count) = (number("d", 4), number("cells", 8), number("count", 2));
        let load = request.real("load").unwrap_or(0.75 * f64::from(room));
        if load > f64::from(room) {
            let message = format!("a bucket of {room} cells holds at most {room} keys");
            return Err(Error::setting("load", load, message));
        }
        let (set, remainder) = (request.integer("buckets"), request.integer("remainder"));
        let shaped = |n: u64, p: f64| {
            let least = (n as f64 / (f64::from(d) * load)).ceil().max(1.0);
            let buckets = set.unwrap_or(least as u64);
            let load = set.map_or(load, |b| n as f64 / (b as f64 * f64::from(d)));
            let bits = remainder_bits(d, load, p).min(f64::from(MAX_REMAINDER) + 1.0);
            let remainder = remainder.map_or(bits as u32, |r| r as u32);
            Shape { d, buckets, room, remainder, count }
        };
        let by_hand = set.is_some() && remainder.is_some();
        let shape = request.shape(by_hand, shaped, |_, shape| shape.bits())?;
        shape.possible()?;
        Ok(shape)
    }

    /// Fingerprints are cells in use, as long as no bucket overflows; n of them fall on N like the bits
    /// of a filter with one hash.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (range, n) = (shape.range(), load.distinct);
        let share = range as f64 / shape.cells()? as f64;
        let mean = share * fpr(range, n);
        let sd = share * bloom::fill_sd(range as f64, n as f64);
        Some(Expect::one_sided(fpr(range, n), shape.bits(), Some((mean, sd))))
    }
}

impl Stream for DLeft {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, table: Table::new(*shape)? })
    }
}

face!(DLeft: Insert, Remove, Count);
planned!(DLeft);
keyed!(DLeft: TryInsert, Remove);

impl Count for DLeft {
    fn count(&self, key: &[u8]) -> Counted {
        self.table.count(self.head.hasher.digest(key))
    }
}

by_part!(DLeft: table);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<DLeft>(Facts {
    id: 49,
    slug: "d-left",
    entry: "I10",
    question: "Is it in the set, when keys are removed again, in half the space of counters?",
    name: "d-left counting Bloom filter (dlCBF)",
    paper: "F. Bonomi, M. Mitzenmacher, R. Panigrahy, S. Singh, G. Varghese, An improved construction for \
            counting Bloom filters, ESA 2006",
    family: "counting",
    needs: &["membership", "delete", "count", "compact"],
    forms: &[Form::removing(FORM, &[Ability::Insert, Ability::Remove, Ability::Count])],
    params: &[
        Param::integer("d", 1, MAX_D as u64, "number of tables").or(Preset::Integer(4)),
        Param::integer("buckets", 1, 1 << 40, "buckets per table"),
        Param::integer("cells", 1, MAX_ROOM as u64, "cells per bucket").or(Preset::Integer(8)),
        Param::real(
            "load",
            0.01,
            MAX_ROOM as f64,
            "keys per bucket to plan for, by default three quarters of its cells",
        ),
        Param::integer(
            "remainder",
            1,
            MAX_REMAINDER as u64,
            "bits of a fingerprint that a cell stores",
        ),
        Param::integer("count", 2, 16, "bits per count of a cell").or(Preset::Integer(2)),
    ],
    ..Facts::MULTISET
});
