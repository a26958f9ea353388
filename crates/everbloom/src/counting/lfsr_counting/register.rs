//! Shift registers with linear feedback, which count by going from state to state.

use std::sync::OnceLock;

/// An up/down shift register of 2 to 16 bits with the feedback that gives it the longest period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    width: u32,
    /// The bits that are fed back: the highest, and those of the polynomial.
    taps: u64,
}

/// The exponents of a primitive polynomial for each width from 2 on, without the width itself and 0.
const POLYNOMIALS: [&[u32]; 15] = [
    &[1],
    &[2],
    &[3],
    &[3],
    &[5],
    &[6],
    &[6, 5, 4],
    &[5],
    &[7],
    &[9],
    &[6, 4, 1],
    &[4, 3, 1],
    &[5, 3, 1],
    &[14],
    &[15, 13, 4],
];

/// The state of a count of zero.
pub const SEED: u64 = 1;

impl Register {
    /// The widths a register may have.
    pub const WIDTHS: std::ops::RangeInclusive<u32> = 2..=16;

    /// The register of `width` bits, 2 to 16.
    pub fn new(width: u32) -> Self {
        let width = width.clamp(2, 16);
        let exponents = POLYNOMIALS[width as usize - 2].iter().chain([&width]);
        Self { width, taps: exponents.fold(0, |taps, e| taps | 1 << (e - 1)) }
    }

    /// The next state.
    #[inline]
    pub fn up(&self, state: u64) -> u64 {
        let fed = u64::from((state & self.taps).count_ones() % 2);
        state << 1 & self.mask() | fed
    }

    /// The state before.
    #[inline]
    pub fn down(&self, state: u64) -> u64 {
        // What was fed in is the xor of the taps; all but the highest are still there, a place further.
        let kept = state >> 1;
        let high = u64::from((kept & self.taps).count_ones() % 2) ^ state & 1;
        kept | high << (self.width - 1)
    }

    fn mask(&self) -> u64 {
        (1 << self.width) - 1
    }

    /// The largest count, 2^b − 2: the period is 2^b − 1, zero included.
    pub fn max(&self) -> u64 {
        self.mask() - 1
    }

    /// The state of the largest count, one step before the first.
    pub(super) fn last(&self) -> u64 {
        self.down(SEED)
    }

    /// The table of states: the count of each, and of each count its state.
    fn table(&self) -> &'static (Vec<u16>, Vec<u16>) {
        static TABLES: [OnceLock<(Vec<u16>, Vec<u16>)>; 17] = [const { OnceLock::new() }; 17];
        TABLES[self.width as usize].get_or_init(|| {
            let size = self.mask() as usize + 1;
            let (mut counts, mut states) = (vec![0; size], Vec::with_capacity(size));
            let mut state = SEED;
            for count in 0..=self.max() {
                counts[state as usize] = count as u16;
                states.push(state as u16);
                state = self.up(state);
            }
            (counts, states)
        })
    }

    /// The count of a state.
    pub fn count(&self, state: u64) -> u64 {
        self.table().0.get(state as usize).map_or(0, |count| u64::from(*count))
    }

    /// The state of a count, at most the largest.
    pub fn state(&self, count: u64) -> u64 {
        self.table().1.get(count.min(self.max()) as usize).map_or(SEED, |state| u64::from(*state))
    }
}
