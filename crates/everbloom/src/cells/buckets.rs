//! Buckets of values of one width, any number in each: 64 buckets to a row of bits.
//!
//! ```text
//!   row    │ 1 1 0 0 1 0 1 1 1 0 … │ v₀ v₁ │ v₂ │ v₃ v₄ v₅ │ …
//!            loads, in unary: as       the values of each bucket, `width` bits each
//!            many ones as values,
//!            then a zero
//! ```
//!
//! Bucket j of a row begins after the zero number j − 1, and as many values come before its first one as ones
//! before that zero. A bucket costs one bit and a value one bit beside its own: nothing is reserved, and
//! nothing overflows.

use super::ones;
use super::rows::{Row, Rows};
use crate::error::{Error, Result};
use crate::state::state;

/// Buckets per row.
const ROW: u64 = 64;

/// `len` buckets of values of `width` bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets {
    len: u64,
    width: u32,
    rows: Rows,
}

state!(Buckets { len, width, rows });

/// Where a bucket is in its row.
#[derive(Clone, Copy)]
struct Place<'a> {
    row: u64,
    view: Row<'a>,
    /// Where its ones begin, how many there are, and how many come before them.
    ones: u64,
    load: u64,
    first: u64,
    /// Where the values of the row begin.
    values: u64,
}

impl Buckets {
    /// `len` empty buckets; an error where there is no room for them.
    pub fn try_new(len: u64, width: u32) -> Result<Self> {
        Self::with_room(len, len, width)
    }

    /// `len` empty buckets, and room for `room` at most.
    pub fn with_room(len: u64, room: u64, width: u32) -> Result<Self> {
        let zeros = |row: u64| (0, in_row(len, row));
        Ok(Self { len, width, rows: Rows::try_new(room.max(len).div_ceil(ROW), zeros)? })
    }

    /// Number of buckets.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no buckets at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of buckets that there is room for.
    pub fn room(&self) -> u64 {
        self.rows.len() * ROW
    }

    /// Bits of a value.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Number of values.
    pub fn values(&self) -> u64 {
        (self.rows.bits() - self.len) / (1 + u64::from(self.width))
    }

    /// Bits that `len` buckets with `values` values take.
    pub fn bits_for(len: u64, values: u64, width: u32) -> u64 {
        len.saturating_add(values.saturating_mul(1 + u64::from(width)))
    }

    #[inline]
    fn place(&self, bucket: u64) -> Place<'_> {
        let (row, number) = (bucket / ROW, bucket % ROW);
        let view = self.rows.row(row);
        let zeros = in_row(self.len, row);
        let ones = if number == 0 { 0 } else { zero(view, number as u32 - 1) + 1 };
        let held = (view.len() - zeros) / (1 + u64::from(self.width));
        let (load, first) = (run(view, ones), ones - number);
        Place { row, view, ones, load, first, values: zeros + held }
    }

    /// The values of a bucket.
    #[inline]
    pub fn bucket(&self, bucket: u64) -> impl Iterator<Item = u64> + '_ {
        let place = self.place(bucket);
        let width = u64::from(self.width);
        let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
        let value = move |i| place.view.read(place.values + (place.first + i) * width) & mask;
        (0..place.load).map(value)
    }

    /// Puts a value at place `at` of a bucket.
    pub fn insert(&mut self, bucket: u64, at: u64, value: u64) {
        let Place { row, ones, first, values, .. } = self.place(bucket);
        let width = u64::from(self.width);
        self.rows.replace(row, values + (first + at) * width, 0, value.into(), width);
        self.rows.replace(row, ones, 0, 1, 1);
    }

    /// Takes the value at place `at` out of a bucket.
    pub fn remove(&mut self, bucket: u64, at: u64) {
        let Place { row, ones, first, values, .. } = self.place(bucket);
        let width = u64::from(self.width);
        self.rows.replace(row, values + (first + at) * width, width, 0, 0);
        self.rows.replace(row, ones, 1, 0, 0);
    }

    /// Puts other values in the place of a bucket's.
    pub fn replace(&mut self, bucket: u64, values: &[u64]) {
        (0..self.place(bucket).load).for_each(|_| self.remove(bucket, 0));
        (0..).zip(values).for_each(|(at, value)| self.insert(bucket, at, *value));
    }

    /// One more bucket, empty. There must be room for it.
    pub fn push(&mut self) {
        debug_assert!(self.len < self.room());
        let row = self.len / ROW;
        let zeros = in_row(self.len, row);
        let held = (self.rows.row(row).len() - zeros) / (1 + u64::from(self.width));
        self.rows.replace(row, zeros + held, 0, 0, 1);
        self.len += 1;
    }

    /// Drops the last bucket, which must be empty.
    pub fn pop(&mut self) {
        debug_assert!(self.len > 0 && self.place(self.len - 1).load == 0);
        let Place { row, ones, .. } = self.place(self.len - 1);
        self.rows.replace(row, ones, 1, 0, 0);
        self.len -= 1;
    }

    /// Every row has the zeros of its buckets, and as many values as ones.
    fn check(&self) -> Result<()> {
        let sound = |row: u64| {
            let (view, zeros) = (self.rows.row(row), in_row(self.len, row));
            let width = 1 + u64::from(self.width);
            let Some(beside) = view.len().checked_sub(zeros) else { return false };
            let loads = zeros + beside / width;
            beside.is_multiple_of(width)
                && view.ones(0, loads) == loads - zeros
                && (loads == 0 || !view.get(loads - 1))
        };
        let known = self.width <= 64 && self.len <= self.rows.len().saturating_mul(ROW);
        if known && (0..self.rows.len()).all(sound) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: buckets whose loads are not those of their values"))
    }
}

/// Buckets in a row, if there are `len` in all.
fn in_row(len: u64, row: u64) -> u64 {
    len.saturating_sub(row.saturating_mul(ROW)).min(ROW)
}

/// The place of the zero number `rank`, which the row must have.
#[inline]
fn zero(row: Row<'_>, mut rank: u32) -> u64 {
    let mut at = 0;
    loop {
        let zeros = !row.read(at);
        let count = ones::count(zeros);
        if rank < count {
            return at + u64::from(ones::select(zeros, rank));
        }
        (rank, at) = (rank - count, at + 64);
    }
}

/// Ones in a row from `at` on.
#[inline]
fn run(row: Row<'_>, at: u64) -> u64 {
    let mut end = at;
    loop {
        let ones = u64::from(row.read(end).trailing_ones());
        end += ones;
        if ones < 64 {
            return end - at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    fn assert_same(buckets: &Buckets, plain: &[Vec<u64>]) {
        buckets.check().expect("sound");
        assert_eq!(buckets.len(), plain.len() as u64);
        for (bucket, values) in (0..).zip(plain) {
            assert!(buckets.bucket(bucket).eq(values.iter().copied()), "bucket {bucket}");
        }
        let values: usize = plain.iter().map(Vec::len).sum();
        assert_eq!(buckets.values(), values as u64);
        let bits = Buckets::bits_for(buckets.len(), values as u64, buckets.width());
        assert_eq!(buckets.rows.bits(), bits);
    }

    #[test]
    fn buckets_change_like_vectors() {
        let mut random = Generator::new(1);
        for width in [0u32, 1, 7, 20, 64] {
            let mut buckets = Buckets::with_room(70, 300, width).unwrap();
            let mut plain = vec![Vec::new(); 70];
            for round in 0..3000 {
                let bucket = random.below(plain.len() as u64);
                let list = &mut plain[bucket as usize];
                let value = if width == 0 { 0 } else { random.next_u64() >> (64 - width) };
                match random.below(8) {
                    0..5 => {
                        let at = random.below(list.len() as u64 + 1);
                        list.insert(at as usize, value);
                        buckets.insert(bucket, at, value);
                    }
                    5 if !list.is_empty() => {
                        let at = random.below(list.len() as u64);
                        list.remove(at as usize);
                        buckets.remove(bucket, at);
                    }
                    6 if (plain.len() as u64) < buckets.room() => {
                        plain.push(Vec::new());
                        buckets.push();
                    }
                    7 if plain.len() > 1 => {
                        let last = plain.len() as u64 - 1;
                        plain.pop();
                        buckets.replace(last, &[]);
                        buckets.pop();
                        let values = vec![value; 3];
                        buckets.replace(0, &values);
                        plain[0] = values;
                    }
                    _ => {}
                }
                if round % 50 == 0 {
                    assert_same(&buckets, &plain);
                }
            }
            assert_same(&buckets, &plain);
            // A crowd in one bucket reaches over words.
            (0..500).for_each(|i| buckets.insert(3, i, 0));
            plain[3].splice(0..0, [0; 500]);
            assert_same(&buckets, &plain);
            let wrong = Buckets { len: buckets.len + 1, ..buckets.clone() };
            assert!(wrong.check().is_err());
            assert!(Buckets { width: width + 1, ..buckets.clone() }.check().is_err());
        }
    }
}
