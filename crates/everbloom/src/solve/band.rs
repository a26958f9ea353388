//! Banded linear systems over bits: equations whose coefficients stand within 64 neighboring columns.
//!
//! An equation says which of the 64 unknowns from its start on add up, by exclusive or, to its result.
//! Equations are taken in one by one: the first unknown of a new one either has no row yet, and then it
//! gets one, or the row there is added, which removes that unknown and leaves an equation further right:
//!
//! ```text
//!   unknowns  0 1 2 3 4 5 6 7 8          row 1:   1 0 1 1 . .          new:  1 1 0 1 . .  from 1
//!             . ▚▚▚▚▚▚▚ . . .            row 2:     1 1 0 1 .        ⊕ row 1:  1 1 0 . .  from 2
//!             . . ▚▚▚▚▚▚▚ . .                                        ⊕ row 2:    0 0 1 .  from 5: new row
//! ```
//!
//! Rows never change once they are there, so whatever came last can be taken back. An equation of which
//! nothing is left was a sum of others: redundant if its result is zero too, in conflict with them if not.
//! If equations come in the order of their starts, the work stays within a few rows (Dillinger, Walzer,
//! Ribbon filter: practically smaller than Bloom and xor, 2021).

use std::ops::Range;

use crate::cells::ones::{self, Ones, Portable};

/// Unknowns that an equation may have.
pub const WIDTH: u64 = 64;

/// What became of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// It has the row of this unknown.
    Stored(usize),
    /// It follows from the others.
    Redundant,
    /// It contradicts the others.
    Conflict,
}

/// A system of equations in echelon form.
#[derive(Clone, Debug)]
pub struct Band {
    /// The number of the first unknown.
    first: usize,
    /// Coefficients from each unknown on, its own in the lowest bit; 0 where there is no row.
    coefficients: Vec<u64>,
    results: Vec<u32>,
}

impl Band {
    /// No equations in these unknowns.
    pub fn new(unknowns: Range<usize>) -> Self {
        let (first, count) = (unknowns.start, unknowns.len());
        Self { first, coefficients: vec![0; count], results: vec![0; count] }
    }

    /// Takes an equation in: coefficients from `start` on, the first of them 1, and the result's bits,
    /// each of which is an equation for a bit of the unknowns.
    #[inline]
    pub fn insert(&mut self, start: usize, mut coefficients: u64, mut result: u32) -> Row {
        let mut at = start - self.first;
        loop {
            let row = self.coefficients[at];
            if row == 0 {
                self.coefficients[at] = coefficients;
                self.results[at] = result;
                return Row::Stored(self.first + at);
            }
            coefficients ^= row;
            result ^= self.results[at];
            if coefficients == 0 {
                return if result == 0 { Row::Redundant } else { Row::Conflict };
            }
            let zeros = coefficients.trailing_zeros();
            coefficients >>= zeros;
            at += zeros as usize;
        }
    }

    /// Takes back the row of an unknown, which was stored after all others that are to stay.
    pub fn remove(&mut self, at: usize) {
        self.coefficients[at - self.first] = 0;
    }

    /// Whether an equation's left side is a sum of the others'.
    pub fn spans(&self, start: usize, mut coefficients: u64) -> bool {
        let mut at = start - self.first;
        while coefficients != 0 {
            let zeros = coefficients.trailing_zeros();
            coefficients >>= zeros;
            at += zeros as usize;
            match self.coefficients[at] {
                0 => return false,
                row => coefficients ^= row,
            }
        }
        true
    }

    /// Unknowns without a row, which may be anything.
    pub fn free(&self) -> u64 {
        self.coefficients.iter().filter(|row| **row == 0).count() as u64
    }

    /// Writes the solution, `r` bits an unknown, 1 to 32; those without a row are what `free` says.
    ///
    /// In blocks of 64 unknowns, of each block the first bits of all, then the second bits, and so on: so
    /// that the sum of a bit over neighboring unknowns is the parity of a word or two.
    pub fn solve(&self, r: u32, solution: &mut [u64], free: impl FnMut() -> u32) {
        match ones::instructions() {
            Some(by) => self.solve_by(by, r, solution, free),
            None => self.solve_by(Portable, r, solution, free),
        }
    }

    fn solve_by(&self, by: impl Ones, r: u32, solution: &mut [u64], mut free: impl FnMut() -> u32) {
        let r = r as usize;
        debug_assert_eq!(solution.len(), self.coefficients.len().div_ceil(64) * r);
        // Of each bit its values in the next 64 unknowns.
        let mut windows = [0u64; 32];
        let windows = &mut windows[..r];
        let rows = self.coefficients.chunks(64).zip(self.results.chunks(64));
        for ((coefficients, results), block) in rows.zip(solution.chunks_exact_mut(r)).rev() {
            for (&coefficients, &result) in coefficients.iter().zip(results).rev() {
                let mut result = if coefficients == 0 { free() } else { result };
                for window in &mut *windows {
                    let later = *window << 1;
                    *window = later | u64::from(by.parity(later & coefficients) ^ result & 1);
                    result >>= 1;
                }
            }
            block.copy_from_slice(windows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    #[test]
    fn solutions_solve() {
        let (unknowns, r) = (1000, 5);
        let mut coins = Generator::new(1);
        let mut band = Band::new(100..100 + unknowns);
        let mut kept = Vec::new();
        for _ in 0..900 {
            let start = 100 + coins.below(unknowns as u64 - 63) as usize;
            let (coefficients, result) = (coins.next_u64() | 1, coins.next_u64() as u32 & 31);
            let spanned = band.spans(start, coefficients);
            match band.insert(start, coefficients, result) {
                Row::Stored(at) => assert!(!spanned && at >= start),
                Row::Redundant => assert!(spanned),
                Row::Conflict => {
                    assert!(spanned);
                    continue;
                }
            }
            kept.push((start, coefficients, result));
        }
        assert!(kept.len() > 850 && band.free() >= 1000 - kept.len() as u64);
        let mut solution = vec![0; 16 * 5];
        band.solve(r, &mut solution, || coins.next_u64() as u32);
        let bit = |at: usize, j: usize| solution[(at - 100) / 64 * 5 + j] >> ((at - 100) % 64) & 1;
        for (start, coefficients, result) in kept {
            for j in 0..5 {
                let ones = (0..64).filter(|i| coefficients >> i & 1 == 1);
                let sum = ones.fold(0, |sum, i| sum ^ bit(start + i, j));
                assert_eq!(sum, u64::from(result >> j & 1));
            }
        }
    }

    #[test]
    fn what_came_last_can_be_taken_back() {
        let mut band = Band::new(0..128);
        assert_eq!(band.insert(3, 0b101, 1), Row::Stored(3));
        assert_eq!(band.insert(3, 0b101, 1), Row::Redundant);
        assert_eq!(band.insert(3, 0b101, 2), Row::Conflict);
        assert_eq!(band.insert(3, 0b111, 2), Row::Stored(4));
        band.remove(4);
        assert_eq!((band.free(), band.insert(4, 1, 7)), (127, Row::Stored(4)));
        let mut solution = [0; 6];
        band.solve(3, &mut solution, || 0);
        assert_eq!(solution, [0b11000, 0b10000, 0b10000, 0, 0, 0]);
    }

    #[test]
    fn the_instruction_and_its_twin_solve_alike() {
        let Some(by) = ones::instructions() else { return };
        let (unknowns, mut coins) = (1000, Generator::new(2));
        let mut band = Band::new(0..unknowns);
        for _ in 0..900 {
            let start = coins.below(unknowns as u64 - 63) as usize;
            band.insert(start, coins.next_u64() | 1, coins.next_u64() as u32);
        }
        for r in [1, 5, 8, 32] {
            let mut both = [vec![0; 16 * r as usize], vec![1; 16 * r as usize]];
            let [one, other] = &mut both;
            let free = || {
                let mut coins = Generator::new(3);
                move || coins.next_u64() as u32
            };
            band.solve_by(by, r, one, free());
            band.solve_by(Portable, r, other, free());
            assert!(both[0] == both[1] && both[0].iter().any(|word| *word != 0), "{r}");
        }
    }
}
