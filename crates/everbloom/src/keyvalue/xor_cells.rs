//! Equations over cells: the xor of a key's three cells and its mask is what the key stores beside c zeros.
//!
//! The keys are peeled ([`peel`]), so that in reverse order each sets a cell of its own to make its equation true.

use crate::cells::Packed;
use crate::error::{Error, Result};
use crate::filter::Touched;
use crate::hash::Digest;
use crate::keyvalue::entries::Entry;
use crate::probe::{Partitioned, Probe};
use crate::solve::{Peeled, peel};
use crate::state::{Decoder, Encoder, Inline, State, state};

/// Every key has a cell in each of three segments.
const SEGMENTS: u64 = 3;
/// The bits of ι, which names a segment.
pub(super) const OWNER_BITS: u32 = 2;
pub(super) const MAX_CHECK_BITS: u32 = 62;
/// Nine of ten salts peel (catalogue §20), so not one in 64 does if the keys are at fault.
const ATTEMPTS: u64 = 64;
/// The salt of the mask: beyond the probes, which use the words 0..3.
const MASK: u64 = 1 << 32;

/// The cells, and in the mutable form the values beside them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct XorCells {
    /// Salts the digests: the first under which the keys peel.
    pub(super) salt: u64,
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

/// Cells for `n` keys: ⌈1.23 n⌉ + 32, made a multiple of three (catalogue §20).
pub fn cells_for(n: u64) -> u64 {
    let cells = (u128::from(n) * 123).div_ceil(100) + 32;
    u64::try_from(cells.next_multiple_of(u128::from(SEGMENTS))).unwrap_or(u64::MAX - 3)
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
    /// Peels the keys, all different, under one salt after another, then solves for the cells.
    pub(super) fn of(
        entries: &[Entry],
        mutable: bool,
        value_bits: u32,
        check_bits: u32,
    ) -> Result<Self> {
        let cells = cells_for(entries.len() as u64);
        let width = check_bits + if mutable { OWNER_BITS } else { value_bits };
        let mut this = Self {
            salt: 0,
            probe: Probe::Partitioned(Partitioned::new(cells / SEGMENTS, SEGMENTS as u32)),
            check_bits,
            value_bits,
            table: Packed::try_new(cells, width)?,
            values: if mutable { Some(Packed::try_new(cells, value_bits)?) } else { None },
        };
        for salt in 0..ATTEMPTS {
            this.salt = salt;
            let around = |key: usize| this.cells(entries[key].digest.salted(salt));
            let indices = |key| around(key).map(|cell| cell as usize);
            if let Some(order) = peel(entries.len(), cells as usize, indices) {
                this.solve(entries, &order);
                return Ok(this);
            }
        }
        Err(Error::parameter(format!(
            "the keys do not peel under {ATTEMPTS} salts, which chance does not do: \
             build with another {{seed}}, or under a secret {{key}} if somebody chose them"
        )))
    }

    /// Sets, in reverse order of peeling, every key's own cell so that its equation holds.
    fn solve(&mut self, entries: &[Entry], order: &[Peeled]) {
        for &Peeled { key, slot } in order.iter().rev() {
            let Entry { digest, value, .. } = entries[key];
            let digest = digest.salted(self.salt);
            let own = self.cells(digest)[slot];
            let stored = match &mut self.values {
                Some(values) => {
                    values.set(own, value);
                    slot as u64
                }
                None => value,
            };
            // The own cell is still zero, so this is the xor of the other two and the mask.
            let rest = self.equation(digest);
            self.table.set(own, rest ^ stored << self.check_bits);
        }
    }

    fn cells(&self, digest: Digest) -> [u64; SEGMENTS as usize] {
        let mut cells = [0; SEGMENTS as usize];
        let mut slots = cells.iter_mut();
        self.probe.each(digest, |i| {
            if let Some(slot) = slots.next() {
                *slot = i;
            }
        });
        cells
    }

    /// The xor of the key's cells and its mask: for a member, what it stores beside c zeros.
    fn equation(&self, digest: Digest) -> u64 {
        let mask = digest.word(MASK) & self.table.max();
        self.cells(digest).iter().fold(mask, |xor, &cell| xor ^ self.table.get(cell))
    }

    /// What the equation says of the key, if its check bits are right.
    fn stored(&self, digest: Digest) -> Option<u64> {
        let found = self.equation(digest);
        (found.trailing_zeros() >= self.check_bits).then_some(found >> self.check_bits)
    }

    /// The cells whose sum is read: they speak for the key together, or not at all.
    pub(super) fn trace(&self, digest: Digest) -> Vec<Touched> {
        let agrees = self.value(digest).is_some();
        let cell = |index| Touched { index, value: self.table.get(index), agrees };
        self.cells(digest).map(cell).to_vec()
    }

    /// In the mutable form, the cell that holds the key's value.
    pub(super) fn own_cell(&self, digest: Digest) -> Option<u64> {
        let digest = digest.salted(self.salt);
        let owner = self.stored(digest)?;
        self.cells(digest).get(owner as usize).copied()
    }

    /// The value of the key, if its check bits are right.
    pub(super) fn value(&self, digest: Digest) -> Option<u64> {
        match &self.values {
            Some(values) => self.own_cell(digest).map(|cell| values.get(cell)),
            None => self.stored(digest.salted(self.salt)),
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
        self.probe.check(self.table.len())?;
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
