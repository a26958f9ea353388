//! Counters in Elias codes: as many bits as a number needs, none of them too large (Elias 1975).
//!
//! ```text
//!   counter c as the code of v = c + 1, since codes begin at 1; N = ⌊log₂ v⌋
//!   γ   N zeros, a one, the N lowest bits of v          2N + 1 bits         0: 1   1: 010   2: 011
//!   δ   γ of N + 1, the N lowest bits of v              N + 2⌊log₂(N+1)⌋ + 1 bits
//! ```
//!
//! γ is the shorter one for counters below 16, δ for those above. Codes follow each other in [`Rows`] of
//! 64 counters, which are read from their beginning; fields stand lowest bit first.

use super::Rows;
use super::rows::Row;
use crate::error::{Error, Result};
use crate::names::named;
use crate::state::{Decoder, Encoder, MAX_ITEMS, State, state};

/// Counters per row.
const ROW: u64 = 64;

named! {
    /// Which of Elias' codes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub enum Code {
        /// γ.
        Gamma = 1 => "gamma",
        /// δ.
        Delta = 2 => "delta",
    }
}

impl Code {
    /// Bits of the code of `v` ≥ 1.
    pub fn bits(self, v: u64) -> u64 {
        let n = u64::from(v.max(1).ilog2());
        match self {
            Code::Gamma => 2 * n + 1,
            Code::Delta => n + 2 * u64::from((n + 1).ilog2()) + 1,
        }
    }

    /// The code of `v` ≥ 1, in the lowest [`Code::bits`] bits.
    fn of(self, v: u64) -> u128 {
        let n = v.ilog2();
        let low = u128::from(v & !(1 << n));
        match self {
            Code::Gamma => low << (n + 1) | 1 << n,
            Code::Delta => {
                let prefix = u64::from(n) + 1;
                low << Code::Gamma.bits(prefix) | Code::Gamma.of(prefix)
            }
        }
    }

    /// N and the place of the N lowest bits of the code at `at`; `None` where no code is.
    #[inline]
    fn head(self, row: Row<'_>, at: u64) -> Option<(u64, u64)> {
        let window = row.read(at);
        let zeros = u64::from(window.trailing_zeros());
        let (n, low) = match self {
            Code::Gamma => (zeros, at + zeros + 1),
            Code::Delta if zeros < 6 => {
                let more = window >> (zeros + 1) & ((1 << zeros) - 1);
                ((1 << zeros | more) - 1, at + 2 * zeros + 1)
            }
            Code::Delta => return None,
        };
        (n <= MAX_ITEMS.ilog2().into()).then_some((n, low))
    }

    /// Where the code after the first `count` codes begins; `None` where there are fewer.
    ///
    /// The hot path of every access: several codes are read from each window of 64 bits, and runs of
    /// zeros, which are ones, are counted together.
    #[inline]
    fn skip(self, row: Row<'_>, mut count: u64) -> Option<u64> {
        let mut at = 0;
        while count > 0 {
            let (mut window, mut left) = (row.read(at), 64);
            while count > 0 && left > 0 {
                let run = u64::from(window.trailing_ones()).min(count).min(left);
                if run == 64 {
                    (at, count, left) = (at + 64, count - 64, 0);
                    continue;
                }
                (at, count, left, window) = (at + run, count - run, left - run, window >> run);
                let zeros = u64::from(window.trailing_zeros());
                if count == 0 || 2 * zeros >= left {
                    break;
                }
                let length = match self {
                    Code::Gamma => 2 * zeros + 1,
                    Code::Delta => {
                        let more = window >> (zeros + 1) & ((1 << zeros) - 1);
                        2 * zeros + (1 << zeros | more)
                    }
                };
                if length >= left {
                    break;
                }
                (at, count, left, window) =
                    (at + length, count - 1, left - length, window >> length);
            }
            if count > 0 && left > 0 {
                // A code that the window does not hold whole.
                let (n, low) = self.head(row, at)?;
                (at, count) = (low + n, count - 1);
            }
        }
        Some(at)
    }
}

/// `len` counters in Elias codes.
#[derive(Clone, Debug, PartialEq)]
pub struct Elias {
    len: u64,
    code: Code,
    rows: Rows,
}

impl Elias {
    /// `len` zero counters, or an error where there is no room for them.
    pub fn try_new(len: u64, code: Code) -> Result<Self> {
        // The code of a zero is a one.
        let zeros = |row: u64| (u128::MAX, (len - row * ROW).min(ROW));
        Ok(Self { len, code, rows: Rows::try_new(len.div_ceil(ROW), zeros)? })
    }

    /// Number of counters.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no counters at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Bits of all codes.
    pub fn bits(&self) -> u64 {
        self.rows.bits()
    }

    /// Where the code of counter `i` begins in its row, its bits, and the counter.
    #[inline]
    fn find(&self, i: u64) -> Option<(u64, u64, u64)> {
        let row = self.rows.row(i / ROW);
        let at = self.code.skip(row, i % ROW)?;
        let (n, low) = self.code.head(row, at)?;
        Some((at, low + n - at, Self::value(row, n, low)))
    }

    fn value(row: Row<'_>, n: u64, low: u64) -> u64 {
        (1 << n | row.read(low) & ((1 << n) - 1)) - 1
    }

    /// The counter at `i`.
    #[inline]
    pub fn get(&self, i: u64) -> u64 {
        self.find(i).map_or(0, |(_, _, value)| value)
    }

    /// Writes the counter at `i`, at most [`MAX_ITEMS`].
    pub fn set(&mut self, i: u64, value: u64) {
        self.change(i, |_| value);
    }

    /// Writes what `change` makes of the counter at `i`, at most [`MAX_ITEMS`]; returns what it was.
    #[inline]
    pub fn change(&mut self, i: u64, change: impl FnOnce(u64) -> u64) -> u64 {
        let Some((at, old, before)) = self.find(i) else { return 0 };
        let after = change(before).min(MAX_ITEMS);
        if after != before {
            let (code, bits) = (self.code.of(after + 1), self.code.bits(after + 1));
            self.rows.replace(i / ROW, at, old, code, bits);
        }
        before
    }

    /// Every counter, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.rows.len()).flat_map(move |row| {
            let view = self.rows.row(row);
            let mut at = 0;
            (0..(self.len - row * ROW).min(ROW)).map(move |_| {
                let Some((n, low)) = self.code.head(view, at) else { return 0 };
                at = low + n;
                Self::value(view, n, low)
            })
        })
    }

    /// Number of counters that are not zero.
    pub fn nonzero(&self) -> u64 {
        self.iter().filter(|&c| c != 0).count() as u64
    }

    fn check(&self) -> Result<()> {
        if self.sound() {
            return Ok(());
        }
        Err(Error::corrupt(0, format!("corrupt filter: rows that are not {} codes", self.len)))
    }

    /// Every row holds its counters' codes and nothing else.
    fn sound(&self) -> bool {
        self.len.div_ceil(ROW) == self.rows.len()
            && (0..self.rows.len()).all(|row| {
                let view = self.rows.row(row);
                let mut codes = 0..(self.len - row * ROW).min(ROW);
                let end = codes.try_fold(0, |at, _| {
                    self.code.head(view, at).map(|(n, low)| low + n).filter(|e| *e <= view.len())
                });
                end == Some(view.len())
            })
    }
}

state!(Elias { len, code, rows });

impl State for Code {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.u64(name, *self as u64);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let number = src.u64(name)?;
        let known = [Code::Gamma, Code::Delta].into_iter().find(|c| *c as u64 == number);
        known.ok_or_else(|| src.unsupported(format!("code {number}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    #[test]
    fn c3_lengths() {
        let lengths = |code: Code, values: &[u64]| -> Vec<u64> {
            values.iter().map(|v| code.bits(*v)).collect()
        };
        let delta = lengths(Code::Delta, &[1, 2, 3, 4, 8, 16, 17, 100]);
        assert_eq!(delta, [1, 4, 4, 5, 8, 9, 9, 11]);
        assert_eq!(lengths(Code::Gamma, &[1, 2, 3, 4, 8, 16]), [1, 3, 3, 5, 7, 9]);
    }

    #[test]
    fn the_drawn_codes() {
        // Lowest bit first: 1, 010, 011 with the low bit last.
        let codes: Vec<u128> = (1..4).map(|v| Code::Gamma.of(v)).collect();
        assert_eq!(codes, [0b1, 0b010, 0b110]);
        // δ(2) is γ(2) and the bit 0; δ(3) the same with a 1.
        assert_eq!((Code::Delta.of(2), Code::Delta.of(3)), (0b0010, 0b1010));
    }

    #[test]
    fn counters_of_both_codes_hold_their_values() {
        for code in [Code::Gamma, Code::Delta] {
            for len in [1u64, 63, 64, 65, 3000] {
                let mut random = Generator::new(len);
                let mut coded = Elias::try_new(len, code).unwrap();
                assert_eq!((coded.bits(), coded.nonzero()), (len, 0));
                let mut plain = vec![0u64; len as usize];
                for _ in 0..6000 {
                    let i = random.below(len);
                    let value = random.next_u64() >> random.below(63) >> 2;
                    coded.set(i, value);
                    plain[i as usize] = value;
                    assert_eq!(coded.get(i), value);
                }
                assert!(coded.iter().eq(plain.iter().copied()) && coded.sound());
                let bits: u64 = plain.iter().map(|v| code.bits(v + 1)).sum();
                assert_eq!(coded.bits(), bits);
                (0..len).for_each(|i| coded.set(i, 0));
                assert_eq!((coded.bits(), coded.nonzero()), (len, 0));
                coded.set(0, u64::MAX);
                assert_eq!(coded.get(0), MAX_ITEMS);
                assert!(coded.sound());
            }
        }
    }
}
