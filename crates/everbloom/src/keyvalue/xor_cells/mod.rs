//! Equations over cells: the xor of a key's three cells and its mask is what the key stores beside c zeros.
//!
//! The keys are peeled ([`peel`]), so that in reverse order each sets a cell of its own to make its equation true.
//!
//! Many keys are in parts by the first bits of their digests, each with cells of its own. A part fits the caches, where all cells
//! of ten million keys do not, and every core takes one after the other.

use std::array;

use crate::cells::{Fields, Packed, PackedPart};
use crate::error::{Error, Result};
use crate::filter::Touched;
use crate::hash::Digest;
use crate::keyvalue::entries::Entry;
use crate::probe::{Partitioned, Probe, multiply_shift};
use crate::solve::{Peeled, peel};
use crate::state::{Decoder, Encoder, Inline, State, state};
use crate::threads::Cores;

/// Every key has a cell in each of three segments.
const SEGMENTS: u64 = 3;
/// The bits of ι, which names a segment.
pub(super) const OWNER_BITS: u32 = 2;
pub(super) const MAX_CHECK_BITS: u32 = 62;
/// Nine of ten salts peel (catalogue §20), so not one in 64 does if the keys are at fault.
const ATTEMPTS: u64 = 64;
/// The salt of the mask: beyond the probes, which use the words 0..3.
const MASK: u64 = 1 << 32;
/// The fewest keys of a part, 2^19. Parts have the same number of cells and not quite the same number of keys; in a part of this size
/// five sigmas more than the average are still few enough to peel.
const PART_BITS: u32 = 19;

/// The cells, and in the mutable form the values beside them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct XorCells {
    /// Salts the digests: the first under which the keys peel.
    pub(super) salt: u64,
    /// Of a part. There are as many parts as the table is longer, a power of two.
    probe: Probe,
    pub(super) check_bits: u32,
    pub(super) value_bits: u32,
    /// Value and check, or ι and check.
    pub(super) table: Packed,
    /// The values, in the mutable form.
    values: Option<Packed>,
}

state!(inline XorCells { salt, probe, check_bits, value_bits, table, values });

/// Where a filter may also do without such cells, they are a group of their own.
impl State for XorCells {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| self.save_fields(out));
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, Self::load_fields)
    }
}

/// Cells for `n` keys: ⌈1.23 n⌉ + 32, made a multiple of three (catalogue §20); the same of every part, where there are several.
pub fn cells_for(n: u64) -> u64 {
    part_cells(n).saturating_mul(1 << part_bits(n))
}

/// So many bits of a digest say in which part the key is.
fn part_bits(n: u64) -> u32 {
    n.checked_ilog2().unwrap_or(0).saturating_sub(PART_BITS)
}

/// Cells of a part of `n` keys in all.
fn part_cells(n: u64) -> u64 {
    let parts = 1u128 << part_bits(n);
    // Several parts begin with a word whatever the width of cells.
    let whole = if parts == 1 { SEGMENTS } else { 64 * SEGMENTS };
    let cells = (u128::from(n) * 123).div_ceil(100 * parts) + 32;
    cells.next_multiple_of(u128::from(whole)) as u64
}

/// P(present | not a member) with `c` check bits: 2^−c, and ¾ of it where ι must name a segment.
pub fn false_positives(mutable: bool, c: u32) -> f64 {
    libm::exp2(-f64::from(c)) * if mutable { 0.75 } else { 1.0 }
}

/// The fewest check bits that keep [`false_positives`] at or below `p`.
pub fn check_bits_for(mutable: bool, p: f64) -> u32 {
    libm::ceil(libm::log2(false_positives(mutable, 0) / p)).max(0.0) as u32
}

impl XorCells {
    /// Peels the keys, all different and in order of their digests, under one salt after another, then solves for the cells.
    pub(super) fn of(
        entries: &[Entry],
        mutable: bool,
        value_bits: u32,
        check_bits: u32,
    ) -> Result<Self> {
        debug_assert!(entries.is_sorted_by_key(|e| e.digest.h1));
        let cores = Cores::for_keys(entries.len());
        for salt in 0..ATTEMPTS {
            let n = entries.len() as u64;
            let mut this = Self { salt, ..Self::empty(n, mutable, value_bits, check_bits)? };
            if this.solve(entries, cores) {
                return Ok(this);
            }
        }
        Err(Error::parameter(format!(
            "the keys do not peel under {ATTEMPTS} salts, which does not happen by chance: build with another \
            {{seed}}, or with a secret {{key}} if somebody chose them"
        )))
    }

    /// Cells for `n` keys, all zero.
    fn empty(n: u64, mutable: bool, value_bits: u32, check_bits: u32) -> Result<Self> {
        let (cells, slice) = (cells_for(n), part_cells(n) / SEGMENTS);
        let width = check_bits + if mutable { OWNER_BITS } else { value_bits };
        Ok(Self {
            salt: 0,
            probe: Probe::Partitioned(Partitioned::new(slice, SEGMENTS as u32)),
            check_bits,
            value_bits,
            table: Packed::try_new(cells, width)?,
            values: if mutable { Some(Packed::try_new(cells, value_bits)?) } else { None },
        })
    }

    /// Solves for the cells of every part; whether the keys of all of them peel.
    fn solve(&mut self, entries: &[Entry], cores: Cores) -> bool {
        let bits = self.part_bits();
        let mut tables = self.table.parts_mut(self.probe.m()).into_iter();
        let values = self.values.as_mut().map(|values| values.parts_mut(self.probe.m()));
        let mut values = values.into_iter().flatten();
        let mut left = entries;
        let part = |number: u64| {
            let end = left.partition_point(|e| part_of(e.digest, bits) <= number);
            let (entries, later) = left.split_at(end);
            left = later;
            let (table, values) = (tables.next()?, values.next());
            Some(Part { entries, probe: &self.probe, salt: self.salt, table, values })
        };
        let parts: Vec<Part<'_>> = (0..1 << bits).map_while(part).collect();
        let solved = cores.map(parts, |part| part.solve(self.check_bits));
        solved.into_iter().all(|solved| solved)
    }

    /// So many bits of a digest say in which part the key is.
    #[inline]
    fn part_bits(&self) -> u32 {
        // The quotient is a power of two.
        self.table.len().ilog2() - self.probe.m().ilog2()
    }

    /// The cells of a key, and its mask.
    #[inline]
    fn place(&self, digest: Digest) -> ([u64; SEGMENTS as usize], u64) {
        let salted = digest.salted(self.salt);
        let before = part_of(digest, self.part_bits()) * self.probe.m();
        let cells = cells_of(&self.probe, salted).map(|cell| before + cell);
        (cells, mask_of(salted) & self.table.max())
    }

    /// What the equation says of a key, the xor of its cells and its mask, if its check bits are right.
    #[inline]
    fn stored(&self, (cells, mask): ([u64; SEGMENTS as usize], u64)) -> Option<u64> {
        let found = cells.iter().fold(mask, |xor, &cell| xor ^ self.table.get(cell));
        (found.trailing_zeros() >= self.check_bits).then_some(found >> self.check_bits)
    }

    /// The cells whose sum is read: they speak for the key together, or not at all.
    pub(super) fn trace(&self, digest: Digest) -> Vec<Touched> {
        let agrees = self.value(digest).is_some();
        let cell = |index| Touched { index, value: self.table.get(index), agrees };
        self.place(digest).0.map(cell).to_vec()
    }

    /// In the mutable form, the cell that holds the key's value.
    pub(super) fn own_cell(&self, digest: Digest) -> Option<u64> {
        let place = self.place(digest);
        place.0.get(self.stored(place)? as usize).copied()
    }

    /// The value of the key, if its check bits are right.
    pub(super) fn value(&self, digest: Digest) -> Option<u64> {
        match &self.values {
            Some(values) => self.own_cell(digest).map(|cell| values.get(cell)),
            None => self.stored(self.place(digest)),
        }
    }

    /// Changes the value in a cell, in the mutable form.
    pub(super) fn assign(&mut self, cell: u64, value: u64) {
        if let Some(values) = &mut self.values {
            values.set(cell, value);
        }
    }

    /// Whether values can be changed.
    pub(super) fn mutable(&self) -> bool {
        self.values.is_some()
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        let (cells, part) = (self.table.len(), self.probe.m());
        if part == 0 || !cells.is_multiple_of(part) || !(cells / part).is_power_of_two() {
            return wrong("cells that are not those of some parts");
        }
        if !matches!(self.probe, Probe::Partitioned(_)) || u64::from(self.probe.k()) != SEGMENTS {
            return wrong("not the probes of a Bloomier filter");
        }
        let stored = if self.mutable() { OWNER_BITS } else { self.value_bits };
        if !(1..=64).contains(&self.value_bits)
            || self.check_bits.checked_add(stored) != Some(self.table.width())
        {
            return wrong("values and checks do not fill the cells");
        }
        let fits = |v: &Packed| (v.len(), v.width()) == (self.table.len(), self.value_bits);
        if !self.values.as_ref().is_none_or(fits) {
            return wrong("the table of values does not fit the cells");
        }
        Ok(())
    }
}

/// The number of the part of a key, among 2^bits.
#[inline]
fn part_of(digest: Digest, bits: u32) -> u64 {
    multiply_shift(digest.h1, 1 << bits)
}

/// The mask of a salted digest.
#[inline]
fn mask_of(digest: Digest) -> u64 {
    digest.word(MASK)
}

/// The cells of a salted digest in its part.
#[inline]
fn cells_of(probe: &Probe, digest: Digest) -> [u64; SEGMENTS as usize] {
    match probe {
        Probe::Partitioned(probe) => array::from_fn(|i| probe.index(digest, i as u64)),
        // Refused when it is loaded, and never made.
        _ => [0; SEGMENTS as usize],
    }
}

/// Keys that have their cells in one part, and these.
struct Part<'a> {
    entries: &'a [Entry],
    probe: &'a Probe,
    salt: u64,
    table: PackedPart<'a>,
    values: Option<PackedPart<'a>>,
}

impl Part<'_> {
    /// Sets, in reverse order of peeling, every key's own cell so that its equation holds; not if some key does not peel.
    fn solve(self, check_bits: u32) -> bool {
        let Self { entries, probe, salt, mut table, mut values } = self;
        // Kept, since to hash a key costs more than to look them up. A part has less than 2^32 cells.
        let keys = entries.iter().map(|e| {
            let digest = e.digest.salted(salt);
            (cells_of(probe, digest).map(|cell| cell as u32), mask_of(digest))
        });
        let (cells, masks): (Vec<[u32; SEGMENTS as usize]>, Vec<u64>) = keys.unzip();
        let Some(order) = peel(&cells, probe.m() as usize) else { return false };
        for &Peeled { key, slot } in order.iter().rev() {
            let (value, around) = (entries[key].value, cells[key].map(|cell| cell as usize));
            let stored = match &mut values {
                Some(values) => {
                    values.put(around[slot], value);
                    slot as u64
                }
                None => value,
            };
            // The own cell is still zero, so this is the xor of the other two and the mask. Bits beyond the width are dropped.
            let others = around.iter().fold(0, |xor, &cell| xor ^ table.at(cell).unwrap_or(0));
            table.put(around[slot], others ^ masks[key] ^ stored << check_bits);
        }
        true
    }
}

#[cfg(test)]
mod tests;
