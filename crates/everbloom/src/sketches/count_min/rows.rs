//! d rows of w counters, one counter of every row per key.

use super::{CountMin, MOST_ROWS};
use crate::cells::Signed;
use crate::error::{Error, Result};
use crate::filter::{Touched, touched};
use crate::hash::{Digest, Hasher};
use crate::probe::{Coincide, Indices, Partitioned, Probe, Words};
use crate::state::state;
use crate::variant::Plan as _;

/// The counters, row after row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rows {
    pub(super) probe: Probe,
    pub(super) cells: Signed,
}

state!(Rows { probe, cells });

/// Shares of a row's counters below zero, at zero and above.
pub(super) struct Shares {
    pub(super) below: f64,
    pub(super) zero: f64,
}

impl Rows {
    /// Empty rows for keys that `hasher` hashes. A digest wider than the usual one counts in full.
    pub(super) fn new(w: u64, d: u32, hasher: &Hasher) -> Result<Self> {
        let usual = hasher.id() == CountMin::HASH;
        let words = if usual { Words::Multiplied } else { Words::Folded };
        let probe = Probe::Partitioned(Partitioned::new(w, d).by(words));
        Ok(Self { cells: Signed::try_new(probe.m())?, probe })
    }

    fn check(&self) -> Result<()> {
        self.probe.check(self.cells.len())?;
        if matches!(self.probe, Probe::Partitioned(_)) && self.d() <= MOST_ROWS {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: not the probes of a count-min sketch"))
    }

    /// Number of rows.
    pub(super) fn d(&self) -> u32 {
        self.probe.k()
    }

    /// Counters per row.
    pub(super) fn w(&self) -> u64 {
        self.probe.m() / u64::from(self.d())
    }

    /// The probes, which are known to be of this kind.
    #[inline]
    pub(super) fn rows(&self) -> Partitioned {
        match self.probe {
            Probe::Partitioned(rows) => rows,
            _ => Partitioned::new(1, 1),
        }
    }

    /// Prefetches a key's counters.
    #[inline]
    pub(super) fn fetch(&self, digest: Digest) {
        self.rows().indices(digest).for_each(|i| self.cells.fetch(i));
    }

    /// Counts a key once more; true if one of its counters was zero or below.
    #[inline(always)]
    pub(super) fn increment(&mut self, digest: Digest) -> bool {
        let (rows, counters, mut lower) = (self.rows(), self.cells.as_mut_slice(), 0);
        // One less than a counter is below zero if it was not above; asking once at the end is an instruction less a row.
        rows.each(digest, |i| lower |= Signed::step(&mut counters[i as usize]).wrapping_sub(1));
        lower < 0
    }

    /// Adds to a key's counters; true if one of them was zero.
    #[inline]
    pub(super) fn add(&mut self, digest: Digest, by: i64) -> bool {
        let (rows, cells, mut new) = (self.rows(), &mut self.cells, false);
        rows.indices(digest).for_each(|i| new |= cells.add(i, by) == 0);
        new
    }

    /// The least of a key's counters.
    #[inline(always)]
    pub(super) fn least(&self, digest: Digest) -> i64 {
        let (counters, mut least) = (self.cells.as_slice(), i64::MAX);
        self.rows().each(digest, |i| least = least.min(counters[i as usize].cast_signed()));
        least
    }

    /// The middle one of a key's counters; of two, the lower one.
    pub(super) fn median(&self, digest: Digest) -> i64 {
        let mut values: Vec<i64> = Vec::with_capacity(self.d() as usize);
        self.probe.each(digest, |i| values.push(self.cells.get(i)));
        middle(&mut values).unwrap_or(0)
    }

    /// P(a non-member passes): that all its counters are in use, or, `signed`, that the middle one is.
    pub(super) fn passing(&self, signed: bool) -> f64 {
        let shares = self.shares();
        if !signed {
            return shares.iter().map(|row| 1.0 - row.zero - row.below).product();
        }
        // chance[b][z]: so far b counters are below zero and z at zero.
        let d = shares.len();
        let mut chance = vec![vec![0.0; d + 1]; d + 1];
        chance[0][0] = 1.0;
        for (seen, row) in shares.iter().enumerate() {
            let above = 1.0 - row.below - row.zero;
            for b in (0..=seen + 1).rev() {
                for z in (0..=seen + 1 - b).rev() {
                    let from_below = if b > 0 { chance[b - 1][z] * row.below } else { 0.0 };
                    let from_zero = if z > 0 { chance[b][z - 1] * row.zero } else { 0.0 };
                    chance[b][z] = chance[b][z] * above + from_below + from_zero;
                }
            }
        }
        let at = (d - 1) / 2;
        let zero = |b: usize, z: usize| b <= at && b + z > at;
        let cases = (0..=d).flat_map(|b| (0..=d - b).map(move |z| (b, z)));
        cases.filter(|(b, z)| !zero(*b, *z)).map(|(b, z)| chance[b][z]).sum()
    }

    pub(super) fn trace(&self, digest: Digest) -> Vec<Touched> {
        let indices: Indices = self.probe.collect(digest, Coincide::PerHash);
        touched(&indices, |i| self.cells.get(i).unsigned_abs())
    }

    /// The counters of every row.
    pub(super) fn each_row(&self) -> impl Iterator<Item = impl Iterator<Item = i64>> {
        let w = self.w();
        (0..u64::from(self.d())).map(move |row| (row * w..(row + 1) * w).map(|i| self.cells.get(i)))
    }

    /// For every row, which shares of its counters are below zero and at zero.
    pub(super) fn shares(&self) -> Vec<Shares> {
        let w = self.w() as f64;
        let share = |row: Vec<i64>| {
            let count = |wanted: fn(&i64) -> bool| row.iter().filter(|c| wanted(c)).count() as f64;
            Shares { below: count(|c| *c < 0) / w, zero: count(|c| *c == 0) / w }
        };
        self.each_row().map(|row| share(row.collect())).collect()
    }

    /// The sum of a row: the total of all counts.
    pub(super) fn total(&self) -> i128 {
        self.each_row().next().map_or(0, |row| row.map(i128::from).sum())
    }

    /// Row by row, the sum of products of two sketches' counters.
    pub(super) fn products(&self, other: &Rows) -> Vec<i128> {
        let product = |(a, b): (i64, i64)| i128::from(a) * i128::from(b);
        let rows = self.each_row().zip(other.each_row());
        rows.map(|(a, b)| a.zip(b).map(product).fold(0, i128::saturating_add)).collect()
    }
}

/// The middle one of some values; of two, the lower one.
pub(super) fn middle<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    let at = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(at).1)
}
