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
//! with different choices in another: then two cells match, nobody knows whose is whose, and removing
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
//! **Use it** in place of `counting` where keys come and go and their number is known. **Don't** where it
//! is not: at some point a key finds its d buckets full and is refused. Repeated keys raise a two-bit
//! count, which sticks at three (such a key can never be removed); for multiplicities set `count` higher
//! or use `spectral`.
//!
//! [`multiple_choice`]: super::multiple_choice

use smallvec::SmallVec;

use crate::cells::Packed;
use crate::probe::multiply_shift;
use crate::solve::least_loaded;
use crate::theory::bloom;
use crate::variant::prelude::*;

/// A multiset of fingerprints in d tables of buckets.
///
/// ```
/// let mut flows = everbloom::counting::DLeft::with_rate(1000, 0.001)?;
/// flows.insert("10.0.0.1")?;
/// flows.remove("10.0.0.1")?;
/// assert!(!flows.contains("10.0.0.1"));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DLeft {
    head: Head,
    shape: Shape,
    cells: Packed,
}

state!(DLeft { head, shape, cells });

/// Number of tables, buckets per table, cells per bucket, and bits of a cell's two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    d: u32,
    buckets: u64,
    room: u32,
    remainder: u32,
    count: u32,
}

state!(Shape { d, buckets, room, remainder, count });

impl Shape {
    fn check(&self) -> Result<()> {
        let Self { d, buckets, room, remainder, count } = *self;
        let known = (1..=MAX_D).contains(&d)
            && buckets > 0
            && (1..=MAX_ROOM).contains(&room)
            && (1..=MAX_REMAINDER).contains(&remainder)
            && COUNTS.contains(&count);
        if known && remainder + count <= 64 && buckets <= MAX_RANGE >> remainder {
            return Ok(());
        }
        Err(Error::corrupt(0, format!("corrupt filter: impossible tables, {self:?}")))
    }

    /// N, the number of fingerprints there are.
    fn range(&self) -> u64 {
        self.buckets << self.remainder
    }

    /// Number of cells, if it can be counted.
    fn cells(&self) -> Option<u64> {
        self.buckets.checked_mul(u64::from(self.d))?.checked_mul(self.room.into())
    }

    fn bits(&self) -> u64 {
        let width = u64::from(self.remainder + self.count);
        self.cells().and_then(|cells| cells.checked_mul(width)).unwrap_or(u64::MAX)
    }
}

/// What multiplies a fingerprint, one number per table: random-looking primes above every B, so that
/// they divide no N = B·2^r and multiplication modulo N can be undone.
const MULTIPLIERS: [u64; MAX_D as usize] = [
    0x910a_2dec_8902_5cc7,
    0x9758_35de_1c97_56f9,
    0x9d0b_14e4_db01_8fef,
    0xee73_e372_e233_8acf,
    0xe303_3b0c_a389_c361,
    0xbd64_a5d9_adef_e02d,
    0xe3cb_e1e4_5932_0e15,
    0x9e56_51b0_ef95_3681,
];

/// Salts the digest for the fingerprint.
const FINGERPRINT: u64 = 0x10;

/// Where a key may be: the first cell of a bucket, and the remainder it would have there.
#[derive(Clone, Copy, Debug)]
struct Place {
    first: u64,
    remainder: u64,
}

type Places = SmallVec<[Place; 4]>;

impl DLeft {
    /// The paper's filter: four tables of `buckets` buckets of eight cells, each a remainder of
    /// `remainder` bits (1 to 56) and a count of two.
    pub fn with_shape(buckets: u64, remainder: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape { d: 4, buckets, room: 8, remainder, count: 2 };
        shape.check().map_err(|_| beyond(&shape))?;
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// The key's places, one per table.
    #[inline]
    fn places<K: Key + ?Sized>(&self, key: &K) -> Places {
        let Shape { d, buckets, room, remainder, .. } = self.shape;
        let range = self.shape.range();
        let h = multiply_shift(self.head.hasher.digest(key).word(FINGERPRINT), range);
        let place = |(table, multiplier): (u64, &u64)| {
            let y = (u128::from(*multiplier) * u128::from(h) % u128::from(range)) as u64;
            // The bucket comes from the high part: the low bits of a product depend on low bits only.
            let bucket = table * buckets + (y >> remainder);
            Place { first: bucket * u64::from(room), remainder: y & ((1 << remainder) - 1) }
        };
        (0..u64::from(d)).zip(&MULTIPLIERS).map(place).collect()
    }

    /// Remainder and count of a cell; a count of zero is an empty cell.
    #[inline]
    fn cell(&self, i: u64) -> (u64, u64) {
        let cell = self.cells.get(i);
        (cell >> self.shape.count, cell & self.most())
    }

    /// The count that sticks.
    fn most(&self) -> u64 {
        (1 << self.shape.count) - 1
    }

    fn bucket(&self, place: Place) -> std::ops::Range<u64> {
        place.first..place.first + u64::from(self.shape.room)
    }

    fn used_in(&self, place: Place) -> u64 {
        self.bucket(place).filter(|&i| self.cell(i).1 > 0).count() as u64
    }

    fn find_in(&self, place: Place) -> Option<(u64, u64)> {
        let held = self.bucket(place).map(|i| (i, self.cell(i)));
        held.filter(|(_, (r, count))| *count > 0 && *r == place.remainder)
            .map(|(i, (_, count))| (i, count))
            .next()
    }

    /// The cell that holds the key's fingerprint, and its count.
    #[inline]
    fn find(&self, places: &[Place]) -> Option<(u64, u64)> {
        places.iter().find_map(|&place| self.find_in(place))
    }

    /// Inserts a key, once more if its fingerprint is there. Refused, with nothing changed, if it is not
    /// and all the buckets it may go to are full.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let places = self.places(key);
        let seen = if let Some((i, count)) = self.find(&places) {
            if count < self.most() {
                self.cells.set(i, self.cells.get(i) + 1);
            }
            Seen::Maybe
        } else {
            let chosen = least_loaded(places.iter().map(|&place| self.used_in(place)));
            let place = places[chosen.unwrap_or(0)];
            let free = self.bucket(place).find(|&i| self.cell(i).1 == 0).ok_or_else(|| {
                Error::new(
                    Kind::CapacityExceeded,
                    format!(
                        "all {} buckets that the key may go to are full: build the filter for more \
                         items, or with a lower load",
                        self.shape.d
                    ),
                )
            })?;
            self.cells.set(free, place.remainder << self.shape.count | 1);
            Seen::New
        };
        self.head.count(1);
        Ok(seen)
    }

    /// Removes a key that was inserted. Refused, with nothing changed, if its fingerprint is nowhere; a
    /// count that sticks keeps its value.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let (i, count) = self.find(&self.places(key)).ok_or_else(|| {
            Error::new(
                Kind::NotDeletable,
                "the key is not in the filter: none of its buckets holds its fingerprint",
            )
        })?;
        match count {
            1 => self.cells.set(i, 0),
            sticks if sticks == self.most() => {}
            _ => self.cells.set(i, self.cells.get(i) - 1),
        }
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.find(&self.places(key)).is_some()
    }

    /// How often the key was inserted, up to the count that sticks: too high only if another key has the
    /// same fingerprint.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.find(&self.places(key)).map_or(0, |(_, count)| count)
    }

    /// Number of cells in use, which is that of distinct fingerprints.
    pub fn used(&self) -> u64 {
        (0..self.cells.len()).filter(|&i| self.cell(i).1 > 0).count() as u64
    }

    /// Cells in use in each bucket, table by table.
    pub fn loads(&self) -> impl Iterator<Item = u64> + '_ {
        let buckets = (0..self.cells.len()).step_by(self.shape.room as usize);
        buckets.map(|first| self.used_in(Place { first, remainder: 0 }))
    }

    fn check(&self) -> Result<()> {
        let width = self.shape.remainder + self.shape.count;
        if self.shape.cells() == Some(self.cells.len()) && self.cells.width() == width {
            return Ok(());
        }
        let message = format!("corrupt filter: {} cells for {:?}", self.cells.len(), self.shape);
        Err(Error::corrupt(0, message))
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

fn beyond(shape: &Shape) -> Error {
    Error::parameter(format!(
        "{} buckets with remainders of {} bits and counts of {} are beyond the 2^{} fingerprints there \
         are, or none at all: ask for fewer items or a higher rate",
        shape.buckets,
        shape.remainder,
        shape.count,
        MAX_RANGE.ilog2()
    ))
}

impl Plan for DLeft {
    type Shape = Shape;

    /// Buckets for the load, then remainders for the rate.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let number = |name, default| request.integer(name).unwrap_or(default) as u32;
        let (d, room, count) = (number("d", 4), number("cells", 8), number("count", 2));
        let load = request.real("load").unwrap_or(0.75 * f64::from(room));
        if load > f64::from(room) {
            return Err(Error::parameter(format!(
                "--set load={load}: a bucket of {room} cells holds no more than {room} keys"
            )));
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
        let shape = match (set, remainder) {
            (Some(_), Some(_)) => shaped(1, 0.5),
            _ => {
                let (n, p) = request.items_and_rate(|n, p| shaped(n, p).bits() as f64)?;
                shaped(n, p)
            }
        };
        shape.check().map_err(|_| beyond(&shape))?;
        if shape.bits() == u64::MAX { Err(beyond(&shape)) } else { Ok(shape) }
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
        let cells = Packed::new(shape.cells().unwrap_or(0), shape.remainder + shape.count);
        Ok(Self { head, shape: *shape, cells })
    }
}

face!(DLeft: Insert, Remove, Count);
planned!(DLeft);

impl Filter for DLeft {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let count = self.count(record.key);
        Ok(Answer::of(count > 0).with(Detail::Count(Counted::about(count))))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.used() as f64 / self.cells.len() as f64)
    }

    /// A stranger passes exactly if its fingerprint is one of those inside.
    fn now(&self) -> Rates {
        Rates::one_sided(self.used() as f64 / self.shape.range() as f64)
    }

    fn describe(&self) -> Vec<Fact> {
        let Shape { d, buckets, room, remainder, count } = self.shape;
        vec![
            fact("d", d),
            fact("buckets", buckets),
            fact("cells", room),
            fact("remainder", remainder),
            fact("count", count),
            fact("fullest", self.loads().max().unwrap_or(0)),
            real("load", self.used() as f64 / (buckets as f64 * f64::from(d))),
        ]
    }

    /// The d buckets, how many cells each uses, and whether it holds the key's fingerprint.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let bucket = |place: &Place| Touched {
            index: place.first / u64::from(self.shape.room),
            value: self.used_in(*place),
            agrees: self.find_in(*place).is_some(),
        };
        self.places(key).iter().map(bucket).collect()
    }
}

impl Insert for DLeft {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        DLeft::insert(self, record.key)
    }
}

keyed!(DLeft: Remove, Count);

const FORM: &str = "standard";
const MAX_D: u32 = 8;
const MAX_ROOM: u32 = 64;
const MAX_REMAINDER: u32 = 56;
const COUNTS: std::ops::RangeInclusive<u32> = 2..=16;
/// Fingerprints are taken from one 64-bit word, which must be a little longer than they are.
const MAX_RANGE: u64 = 1 << 60;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 49,
        slug: "d-left",
        entry: "I10",
        name: "d-left counting Bloom filter (dlCBF)",
        paper: "F. Bonomi, M. Mitzenmacher, R. Panigrahy, S. Singh, G. Varghese, An improved construction for \
                counting Bloom filters, ESA 2006",
        family: "counting",
        needs: &["membership", "delete", "count", "compact"],
        meaning: "items are insertions minus removals, the rate is that of false positives",
        forms: &[Form {
            name: FORM,
            abilities: &[Ability::Insert, Ability::Remove, Ability::Count],
            false_negatives: FalseNegatives::NeverWhile("only keys that were inserted are removed"),
        }],
        params: &[
            Param {
                name: "d",
                range: Range::Integer(1, MAX_D as u64),
                default: Preset::Integer(4),
                help: "number of tables",
            },
            Param {
                name: "buckets",
                range: Range::Integer(1, 1 << 40),
                default: Preset::Planned,
                help: "buckets per table",
            },
            Param {
                name: "cells",
                range: Range::Integer(1, MAX_ROOM as u64),
                default: Preset::Integer(8),
                help: "cells per bucket",
            },
            Param {
                name: "load",
                range: Range::Real(0.01, MAX_ROOM as f64),
                default: Preset::Planned,
                help: "keys per bucket to plan for, by default three quarters of its cells",
            },
            Param {
                name: "remainder",
                range: Range::Integer(1, MAX_REMAINDER as u64),
                default: Preset::Planned,
                help: "bits of a fingerprint that a cell stores",
            },
            Param {
                name: "count",
                range: Range::Integer(2, 16),
                default: Preset::Integer(2),
                help: "bits of a cell's count",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<DLeft>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn multiplication_permutes_every_range() {
        for range in [1u64, 2, 24, 1000, 4167 << 3, 1 << 12, 3 * 5 * 7 * 11] {
            for multiplier in MULTIPLIERS {
                let mut seen = vec![false; range as usize];
                for h in 0..range {
                    let y = (u128::from(multiplier) * u128::from(h) % u128::from(range)) as usize;
                    assert!(!std::mem::replace(&mut seen[y], true), "{range} {multiplier:x}");
                }
            }
        }
    }

    #[test]
    fn files_with_impossible_tables_are_refused() {
        let mut filter = DLeft::with_shape(3, 10, Hasher::default()).unwrap();
        filter.insert("a").unwrap();
        let back: DLeft = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        let ok = filter.shape;
        for shape in [
            Shape { d: 0, ..ok },
            Shape { d: 9, ..ok },
            Shape { buckets: 0, ..ok },
            Shape { buckets: u64::MAX, ..ok },
            Shape { buckets: 4, ..ok },
            Shape { room: 0, ..ok },
            Shape { remainder: 0, ..ok },
            Shape { remainder: 63, count: 2, ..ok },
            Shape { remainder: 11, count: 1, ..ok },
        ] {
            let alien = DLeft { shape, ..filter.clone() };
            assert!(Opener::new().decode(&to_bytes(&alien)).is_err(), "{shape:?}");
        }
    }
}
