//! Fields of 1 to 64 bits, packed without gaps: fingerprint slots, values, xor cells.

use super::Words;
use crate::codec::{Decoder, Encoder, Role, State};
use crate::error::Result;

/// `len` unsigned fields of `width` bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    len: u64,
    width: u32,
    words: Words,
}

impl Packed {
    /// `len` zero fields of `width` bits, 1 to 64. The bits in all must fit 64-bit arithmetic.
    pub fn new(len: u64, width: u32) -> Self {
        debug_assert!((1..=64).contains(&width));
        let words = (len * u64::from(width)).div_ceil(64) as usize;
        Self { len, width, words: Words::zeroed(words) }
    }

    /// Number of fields.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no fields at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bits per field.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The largest value a field holds.
    #[inline]
    pub fn max(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The field at `i`.
    #[inline]
    pub fn get(&self, i: u64) -> u64 {
        debug_assert!(i < self.len);
        let bit = i * u64::from(self.width);
        let (word, shift) = ((bit / 64) as usize, (bit % 64) as u32);
        let mut value = self.words[word] >> shift;
        if shift + self.width > 64 {
            value |= self.words[word + 1] << (64 - shift);
        }
        value & self.max()
    }

    /// Writes the field at `i`; bits of `value` beyond the width are dropped.
    #[inline]
    pub fn set(&mut self, i: u64, value: u64) {
        debug_assert!(i < self.len);
        let bit = i * u64::from(self.width);
        let (word, shift) = ((bit / 64) as usize, (bit % 64) as u32);
        let (mask, value) = (self.max(), value & self.max());
        let words = self.words.make_mut();
        words[word] = words[word] & !(mask << shift) | value << shift;
        if shift + self.width > 64 {
            let spill = 64 - shift;
            words[word + 1] = words[word + 1] & !(mask >> spill) | value >> spill;
        }
    }

    /// Every field, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len).map(|i| self.get(i))
    }

    /// The words that hold the fields, lowest bit first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Zeroes every field.
    pub fn clear(&mut self) {
        self.words.make_mut().fill(0);
    }

    /// Whether huge pages back the array.
    pub fn huge(&self) -> bool {
        self.words.huge()
    }
}

impl Packed {
    /// [`State::save`] in another role than that of cells.
    pub(super) fn save_as<'a>(&'a self, name: &'static str, role: Role, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("width", self.width.into());
            out.array("fields", role, self.len, &self.words);
        });
    }
}

impl State for Packed {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        self.save_as(name, Role::Cells { bits: self.len * u64::from(self.width) }, out);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let width = u32::load("width", src)?;
            if !(1..=64).contains(&width) {
                return Err(src.corrupt(format!("{name}: fields of {width} bits")));
            }
            let (len, words) = src.array("fields")?;
            let bits = len.checked_mul(u64::from(width));
            if bits.map(|b| b.div_ceil(64)) != Some(words.len() as u64) {
                return Err(src.corrupt(format!("{name}: {len} fields in {} words", words.len())));
            }
            let used = len * u64::from(width) % 64;
            if used != 0 && words.last().is_some_and(|w| w >> used != 0) {
                return Err(src.corrupt(format!("{name}: padding bits are set")));
            }
            Ok(Self { len, width, words })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_width_hold_their_values_and_leave_neighbors_alone() {
        for width in 1..=64 {
            let mut packed = Packed::new(131, width);
            let value = |i: u64| crate::hash::mix64(i) & packed.max();
            let values: Vec<u64> = (0..131).map(value).collect();
            (0..131).rev().for_each(|i| packed.set(i, u64::MAX));
            for (i, &v) in values.iter().enumerate() {
                packed.set(i as u64, v);
            }
            assert_eq!(packed.iter().collect::<Vec<_>>(), values, "width {width}");
        }
    }
}
