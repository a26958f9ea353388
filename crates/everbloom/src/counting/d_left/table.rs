//! The d tables of buckets: where a key may be, and what is stored of it.

use smallvec::SmallVec;

use crate::cells::Packed;
use crate::error::{Error, Kind, Result};
use crate::filter::{Answer, Counted, Fact, Part, Rates, Touched, fact, real};
use crate::hash::Digest;
use crate::parts::d_left;
use crate::probe::multiply_shift;
use crate::state::state;

pub(super) const MAX_D: u32 = 8;
pub(super) const MAX_ROOM: u32 = 64;
pub(super) const MAX_REMAINDER: u32 = 56;
const COUNTS: std::ops::RangeInclusive<u32> = 2..=16;
/// Fingerprints are taken from one 64-bit word, which must be a little longer than they are.
const MAX_RANGE: u64 = 1 << 60;

/// Number of tables, buckets per table, cells per bucket, and bits of a cell's two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) d: u32,
    pub(super) buckets: u64,
    pub(super) room: u32,
    pub(super) remainder: u32,
    pub(super) count: u32,
}

state!(Shape { d, buckets, room, remainder, count });

impl Shape {
    /// Refuses what was planned or set by hand and cannot be.
    pub(super) fn possible(&self) -> Result<()> {
        if self.check().is_ok() && self.bits() < u64::MAX {
            return Ok(());
        }
        let Self { buckets, remainder, count, .. } = *self;
        Err(Error::parameter(format!(
            "{buckets} buckets with remainders of {remainder} bits and counts of {count} exceed the 2^{} possible \
            fingerprints, or are none: use fewer {{items}} or a higher {{rate}}",
            MAX_RANGE.ilog2()
        )))
    }

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
    pub(super) fn range(&self) -> u64 {
        self.buckets << self.remainder
    }

    /// Number of cells, if it can be counted.
    pub(super) fn cells(&self) -> Option<u64> {
        self.buckets.checked_mul(u64::from(self.d))?.checked_mul(self.room.into())
    }

    pub(super) fn bits(&self) -> u64 {
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

/// Cells of remainders and counts, bucket after bucket and table after table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) shape: Shape,
    cells: Packed,
}

state!(inline Table { shape, cells });

impl Table {
    pub(super) fn new(shape: Shape) -> Result<Self> {
        let cells = shape.cells().unwrap_or(u64::MAX);
        Ok(Self { cells: Packed::try_new(cells, shape.remainder + shape.count)?, shape })
    }

    /// The key's places, one per table.
    #[inline]
    fn places(&self, digest: Digest) -> Places {
        let Shape { d, buckets, room, remainder, .. } = self.shape;
        let range = self.shape.range();
        let h = multiply_shift(digest.word(FINGERPRINT), range);
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

    /// Counts a fingerprint once more; true if it was not there. Refused if it was not and all the buckets
    /// it may go to are full.
    pub(super) fn insert(&mut self, digest: Digest) -> Result<bool> {
        let places = self.places(digest);
        if let Some((i, count)) = self.find(&places) {
            if count < self.most() {
                self.cells.set(i, self.cells.get(i) + 1);
            }
            return Ok(false);
        }
        let loads: SmallVec<[u64; 4]> = places.iter().map(|&place| self.used_in(place)).collect();
        let place = places[d_left::choose(&loads, self.shape.room.into())?];
        let free = self.bucket(place).find(|&i| self.cell(i).1 == 0).unwrap_or(place.first);
        self.cells.set(free, place.remainder << self.shape.count | 1);
        Ok(true)
    }

    /// Counts a fingerprint once less. Refused if it is nowhere; a count that sticks keeps its value.
    pub(super) fn remove(&mut self, digest: Digest) -> Result<()> {
        let (i, count) = self.find(&self.places(digest)).ok_or_else(|| {
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
        Ok(())
    }

    #[inline]
    pub(super) fn contains(&self, digest: Digest) -> bool {
        self.find(&self.places(digest)).is_some()
    }

    /// The cell that holds the key's fingerprint.
    pub(super) fn cell_of(&self, digest: Digest) -> Option<u64> {
        self.find(&self.places(digest)).map(|(i, _)| i)
    }

    /// Number of cells.
    pub(super) fn len(&self) -> u64 {
        self.cells.len()
    }

    /// The count of a fingerprint: too high only if another key has the same one.
    pub(super) fn count(&self, digest: Digest) -> Counted {
        let count = self.find(&self.places(digest)).map_or(0, |(_, count)| count);
        Counted::stuck_if(count == self.most(), count)
    }

    /// Number of cells in use.
    pub(super) fn used(&self) -> u64 {
        self.cells.iter().filter(|cell| cell & self.most() > 0).count() as u64
    }

    /// Cells in use in each bucket, table by table.
    pub(super) fn loads(&self) -> impl Iterator<Item = u64> + '_ {
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

impl Part for Table {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::counted(self.count(digest))
    }

    fn fill(&self) -> f64 {
        self.used() as f64 / self.cells.len() as f64
    }

    /// A non-member passes exactly if its fingerprint is one of those inside.
    fn rates(&self) -> Rates {
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
    fn trace(&self, digest: Digest) -> Vec<Touched> {
        let bucket = |place: &Place| Touched {
            index: place.first / u64::from(self.shape.room),
            value: self.used_in(*place),
            agrees: self.find_in(*place).is_some(),
        };
        self.places(digest).iter().map(bucket).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::DLeft;
    use super::*;
    use crate::{Hasher, Opener, to_bytes};

    #[test]
    fn counts_that_stick_are_marked() {
        let mut table = DLeft::with_shape(3, 10, Hasher::default()).unwrap().table;
        let digest = Hasher::default().digest("key");
        for (times, counted) in [(1, Counted::about(1)), (3, Counted::stuck_if(true, 3))] {
            (0..times).for_each(|_| _ = table.insert(digest));
            assert_eq!(table.count(digest), counted);
        }
    }

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
        let ok = filter.table.shape;
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
            filter.table.shape = shape;
            assert!(Opener::new().decode(&to_bytes(&filter)).is_err(), "{shape:?}");
        }
    }
}
