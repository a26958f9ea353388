//! Bits one after the other: codes of varying length, written at the end and read from anywhere.
//!
//! A field of w bits stands lowest bit first, in the order in which [`Bits`] counts. A unary number q is q
//! ones and a zero; a Golomb number of parameter b is ⌊v/b⌋ in unary and v mod b in truncated binary:
//!
//! ```text
//!   v = 13, b = 5:   1 1 0 | 1 1 0      ⌊13/5⌋ = 2, and 13 mod 5 = 3 as the 3-bit code of 3 + 3
//! ```
//!
//! A reader never leaves the bits that are there: past the last one it has `None` to say.

use super::Bits;
use crate::memory::Words;

/// Appends codes to a growing row of bits.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    words: Vec<u64>,
    len: u64,
}

impl BitWriter {
    /// No bits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bits written so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the lowest `width` bits of `value`, 0 to 64 of them; higher bits are dropped.
    pub fn write(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 64);
        if width == 0 {
            return;
        }
        let value = value & u64::MAX >> (64 - width);
        let used = (self.len % 64) as u32;
        match self.words.last_mut() {
            Some(word) if used > 0 => {
                *word |= value << used;
                if used + width > 64 {
                    self.words.push(value >> (64 - used));
                }
            }
            _ => self.words.push(value),
        }
        self.len += u64::from(width);
    }

    /// Appends `count` ones and a zero.
    pub fn unary(&mut self, mut count: u64) {
        while count >= 64 {
            self.write(u64::MAX, 64);
            count -= 64;
        }
        self.write((1 << count) - 1, count as u32);
        self.write(0, 1);
    }

    /// Appends `value` as a Golomb number of parameter `b`, at least 1; a power of two makes it Rice's.
    pub fn golomb(&mut self, value: u64, b: u64) {
        let b = b.max(1);
        self.unary(value / b);
        let (short, cutoff) = truncated(b);
        let rest = value % b;
        if rest < cutoff {
            self.write(rest, short);
        } else {
            // The high bits first, so that a reader knows whether one more follows.
            let code = rest + cutoff;
            self.write(code >> 1, short);
            self.write(code, 1);
        }
    }

    /// The bits written.
    pub fn finish(self) -> Bits {
        Bits::from_words(self.len, Words::from(&self.words[..]))
    }
}

/// Truncated binary for 0..b: values below the second number take as many bits as the first one says,
/// the others one more.
pub fn truncated(b: u64) -> (u32, u64) {
    let short = b.max(1).ilog2();
    // 2^{short+1} − b, without the power that may not fit.
    (short, (1u64 << short) - (b.max(1) - (1u64 << short)))
}

/// Reads codes from a row of bits.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bits: &'a Bits,
    at: u64,
}

impl<'a> BitReader<'a> {
    /// Reads from bit `at` on.
    pub fn new(bits: &'a Bits, at: u64) -> Self {
        Self { bits, at: at.min(bits.len()) }
    }

    /// The bit that is read next.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The next `width` bits, 0 to 64 of them; `None` where fewer are left.
    #[inline]
    pub fn read(&mut self, width: u32) -> Option<u64> {
        debug_assert!(width <= 64);
        if u64::from(width) > self.bits.len() - self.at {
            return None;
        }
        if width == 0 {
            return Some(0);
        }
        let words = self.bits.words();
        let (word, shift) = ((self.at / 64) as usize, (self.at % 64) as u32);
        let mut value = words[word] >> shift;
        if shift + width > 64 {
            value |= words[word + 1] << (64 - shift);
        }
        self.at += u64::from(width);
        Some(value & u64::MAX >> (64 - width))
    }

    /// The number of ones before the next zero, which is passed too; `None` where no zero follows.
    #[inline]
    pub fn unary(&mut self) -> Option<u64> {
        let (words, start) = (self.bits.words(), self.at);
        let mut at = start;
        while at < self.bits.len() {
            let shift = at % 64;
            let ones = u64::from((words[(at / 64) as usize] >> shift).trailing_ones());
            at += ones;
            if ones < 64 - shift {
                // Padding is zero, so a row that ends in ones ends here.
                if at >= self.bits.len() {
                    return None;
                }
                self.at = at + 1;
                return Some(at - start);
            }
        }
        None
    }

    /// A Golomb number of parameter `b`; `None` where the bits end inside it, or it exceeds 64 bits.
    #[inline]
    pub fn golomb(&mut self, b: u64) -> Option<u64> {
        let b = b.max(1);
        let quotient = self.unary()?;
        let (short, cutoff) = truncated(b);
        let mut rest = self.read(short)?;
        if rest >= cutoff {
            rest = (rest << 1 | self.read(1)?) - cutoff;
        }
        quotient.checked_mul(b)?.checked_add(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    #[test]
    fn fields_and_unary_numbers_come_back() {
        let mut out = BitWriter::new();
        let fields: Vec<(u64, u32)> = (0..500).map(|i| (mix64(i), (i % 65) as u32)).collect();
        for &(value, width) in &fields {
            out.write(value, width);
            out.unary(value % 200);
        }
        let bits = out.finish();
        let mut src = BitReader::new(&bits, 0);
        for (value, width) in fields {
            let kept = value.checked_rem_euclid(1u64.checked_shl(width).unwrap_or(0));
            assert_eq!(src.read(width), Some(kept.unwrap_or(value)), "{width} bits");
            assert_eq!(src.unary(), Some(value % 200));
        }
        assert_eq!(src.at(), bits.len());
        assert_eq!((src.read(1), src.unary(), src.read(0)), (None, None, Some(0)));
    }

    #[test]
    fn golomb_numbers_of_every_parameter_come_back() {
        let parameters = (1..70).chain([88, 709, 1 << 19, (1 << 19) + 1, 1 << 63, u64::MAX]);
        for b in parameters {
            let values: Vec<u64> =
                (0..3 * b.min(70)).chain([b.saturating_mul(3), b - 1, b / 2]).collect();
            let mut out = BitWriter::new();
            values.iter().for_each(|v| out.golomb(*v, b));
            let bits = out.finish();
            let mut src = BitReader::new(&bits, 0);
            for v in values {
                assert_eq!(src.golomb(b), Some(v), "b = {b}");
            }
            assert_eq!(src.at(), bits.len(), "b = {b}");
        }
    }

    #[test]
    fn the_drawn_code() {
        let mut out = BitWriter::new();
        out.golomb(13, 5);
        let bits = out.finish();
        // 110, then the code 6 = 110 with its two high bits as a field of their own: 11, then 0.
        assert_eq!((bits.len(), bits.words()[0]), (6, 0b01_1011));
    }

    #[test]
    fn a_row_that_ends_inside_a_code_says_so() {
        let mut out = BitWriter::new();
        out.write(u64::MAX, 64);
        let bits = out.finish();
        assert_eq!(BitReader::new(&bits, 0).unary(), None);
        assert_eq!(BitReader::new(&bits, 63).golomb(4), None);
        assert_eq!(BitReader::new(&bits, 99).read(1), None);
    }
}
