//! Fields of 1 to 64 bits, packed without gaps: fingerprint slots, values, xor cells.

use crate::error::Result;
use crate::memory::{Words, fields_mut};
use crate::state::{Decoder, Encoder, Role, State};

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

    /// [`Packed::new`], or an error where there is no room for the fields.
    pub fn try_new(len: u64, width: u32) -> Result<Self> {
        debug_assert!((1..=64).contains(&width));
        let bits = u128::from(len) * u128::from(width);
        let words = usize::try_from(bits.div_ceil(64)).unwrap_or(usize::MAX);
        Ok(Self { len, width, words: Words::try_zeroed(words)? })
    }

    /// Number of fields.
    #[inline]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no fields at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bits per field.
    #[inline]
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
        get(&self.words, self.width, i)
    }

    /// Writes the field at `i`; bits of `value` beyond the width are dropped.
    #[inline]
    pub fn set(&mut self, i: u64, value: u64) {
        debug_assert!(i < self.len);
        set(self.words.make_mut(), self.width, i, value);
    }

    /// [`Packed::get`] for callers that know the width beforehand, quicker for narrow fields: see
    /// [`Packed::set_near`].
    #[inline]
    pub(crate) fn get_of_width(&self, width: u32, i: u64) -> u64 {
        debug_assert_eq!(self.width, width);
        let bit = i * u64::from(width);
        let (bytes, at) = (self.bytes().filter(|_| width <= NEAR), (bit / 8) as usize);
        match bytes.and_then(|bytes| Some((bytes, bytes.len().checked_sub(8)?))) {
            Some((bytes, last)) if at <= last => {
                let word =
                    bytes[at..at + 8].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
                word >> (bit % 8) & (u64::MAX >> (64 - width))
            }
            _ => self.get_far(i),
        }
    }

    /// Out of everybody's loop.
    #[cold]
    #[inline(never)]
    fn get_far(&self, i: u64) -> u64 {
        self.get(i)
    }

    /// [`Packed::set`], quicker for narrow fields in no order: one word from the byte on where the field begins.
    #[inline]
    pub(crate) fn set_near(&mut self, i: u64, value: u64) {
        self.set_of_width(self.width, i, value);
    }

    /// [`Packed::set_near`] for callers that know the width beforehand.
    #[inline]
    pub(crate) fn set_of_width(&mut self, width: u32, i: u64, value: u64) {
        debug_assert_eq!(self.width, width);
        let (bit, mask) = (i * u64::from(width), u64::MAX >> (64 - width));
        let near = self.words.fields_mut::<u8>().filter(|_| width <= NEAR);
        let bytes = near.and_then(|bytes| bytes.get_mut((bit / 8) as usize..));
        let Some(bytes) = bytes.and_then(|bytes| bytes.first_chunk_mut()) else {
            return self.set(i, value);
        };
        let word = u64::from_le_bytes(*bytes) & !(mask << (bit % 8)) | (value & mask) << (bit % 8);
        *bytes = word.to_le_bytes();
    }

    /// Takes `by` from every field of a range, none below zero; returns how many became zero.
    #[inline]
    pub(crate) fn fade(&mut self, range: std::ops::Range<u64>, by: u64) -> u64 {
        let mut emptied = 0;
        for i in range {
            let field = self.get(i);
            if field > 0 {
                self.set(i, field.saturating_sub(by));
                emptied += u64::from(field <= by);
            }
        }
        emptied
    }

    /// Copies the fields `start..end`, of less than 64 bits each, to where they stand one field higher.
    pub(super) fn move_up(&mut self, start: u64, end: u64) {
        let width = u64::from(self.width);
        move_up(self.words.make_mut(), start * width, end * width, width);
    }

    /// Copies the fields `start..end`, of less than 64 bits each, to where they stand one field lower.
    pub(super) fn move_down(&mut self, start: u64, end: u64) {
        let width = u64::from(self.width);
        move_down(self.words.make_mut(), start * width, end * width, width);
    }

    /// Every field, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len).map(|i| self.get(i))
    }

    /// The fields as the machine reads them fastest.
    #[inline]
    pub(crate) fn view(&self) -> View<&[u8], &[u16], &Packed> {
        match self.width {
            8 => self.words.fields().map_or(View::Any(self), View::Bytes),
            16 => self.words.fields().map_or(View::Any(self), View::Shorts),
            _ => View::Any(self),
        }
    }

    /// The fields in parts of so many, which fill whole words unless there is one part.
    pub(crate) fn parts_mut(&mut self, fields: u64) -> Vec<Part<'_>> {
        let (width, words) = (self.width, (fields * u64::from(self.width)).div_ceil(64) as usize);
        debug_assert!(fields >= self.len || (fields * u64::from(width)).is_multiple_of(64));
        let mut left = self.len;
        let part = |words| {
            let len = left.min(fields);
            left -= len;
            Part { words, len: len as usize, width }
        };
        self.words.make_mut().chunks_mut(words.max(1)).map(part).collect()
    }

    /// The bytes that hold the fields, lowest bit first; `None` where the machine's order of bytes is not the
    /// file's.
    #[inline]
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.words.fields()
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

/// Bits that a word has from any bit of its first byte on.
pub(super) const NEAR: u32 = 57;

/// The field at `i` of an array of fields of `width` bits.
#[inline]
fn get(words: &[u64], width: u32, i: u64) -> u64 {
    read(words, i * u64::from(width), width)
}

/// Writes the field at `i`; bits of `value` beyond the width are dropped.
#[inline]
fn set(words: &mut [u64], width: u32, i: u64, value: u64) {
    write(words, i * u64::from(width), width, value);
}

/// The `width` bits from `bit` on, 1 to 64 of them.
#[inline]
pub(super) fn read(words: &[u64], bit: u64, width: u32) -> u64 {
    let (word, shift) = ((bit / 64) as usize, (bit % 64) as u32);
    let mut value = words[word] >> shift;
    if shift + width > 64 {
        value |= words[word + 1] << (64 - shift);
    }
    value & (u64::MAX >> (64 - width))
}

/// Writes the `width` bits from `bit` on, 1 to 64 of them; bits of `value` beyond the width are dropped.
#[inline]
pub(super) fn write(words: &mut [u64], bit: u64, width: u32, value: u64) {
    let (word, shift) = ((bit / 64) as usize, (bit % 64) as u32);
    let mask = u64::MAX >> (64 - width);
    let value = value & mask;
    words[word] = words[word] & !(mask << shift) | value << shift;
    if shift + width > 64 {
        let spill = 64 - shift;
        words[word + 1] = words[word + 1] & !(mask >> spill) | value >> spill;
    }
}

/// Copies the bits `start..end` to where they stand `by` bits higher, 1 to 63: word by word from the highest.
#[inline]
pub(super) fn move_up(words: &mut [u64], start: u64, end: u64, by: u64) {
    if start >= end {
        return;
    }
    let (first, last) = (start + by, end + by - 1);
    for at in (first / 64..=last / 64).rev() {
        let (mask, at) = (mask_in(at, first, last), at as usize);
        let below = if at > 0 { words[at - 1] >> (64 - by) } else { 0 };
        words[at] = words[at] & !mask | (words[at] << by | below) & mask;
    }
}

/// Copies the bits `start..end` to where they stand `by` bits lower, 1 to 63: word by word from the lowest.
#[inline]
pub(super) fn move_down(words: &mut [u64], start: u64, end: u64, by: u64) {
    if start >= end {
        return;
    }
    let (first, last) = (start - by, end - by - 1);
    for at in first / 64..=last / 64 {
        let (mask, at) = (mask_in(at, first, last), at as usize);
        let above = words.get(at + 1).map_or(0, |word| word << (64 - by));
        words[at] = words[at] & !mask | (words[at] >> by | above) & mask;
    }
}

/// Which bits of word number `at` lie in `first..=last`, of which it has one at least.
#[inline(always)]
fn mask_in(at: u64, first: u64, last: u64) -> u64 {
    let low = if at == first / 64 { u64::MAX << (first % 64) } else { u64::MAX };
    let high = if at == last / 64 { u64::MAX >> (63 - last % 64) } else { u64::MAX };
    low & high
}

/// A part of an array of fields, from the beginning of a word on.
pub(crate) struct Part<'a> {
    words: &'a mut [u64],
    len: usize,
    width: u32,
}

/// An array of fields by their width: whole bytes, pairs of them, or any number of bits.
pub(crate) enum View<B, S, A> {
    Bytes(B),
    Shorts(S),
    Any(A),
}

/// Fields that are read and written by number, whatever their width.
pub(crate) trait Fields {
    /// The field at `i`, `None` beyond the last.
    fn at(&self, i: usize) -> Option<u64>;

    /// Writes the field at `i`, which must be there.
    fn put(&mut self, i: usize, value: u64);
}

impl Fields for [u8] {
    #[inline]
    fn at(&self, i: usize) -> Option<u64> {
        self.get(i).copied().map(u64::from)
    }

    #[inline]
    fn put(&mut self, i: usize, value: u64) {
        self[i] = value as u8;
    }
}

impl Fields for [u16] {
    #[inline]
    fn at(&self, i: usize) -> Option<u64> {
        self.get(i).copied().map(u64::from)
    }

    #[inline]
    fn put(&mut self, i: usize, value: u64) {
        self[i] = value as u16;
    }
}

impl Fields for Packed {
    #[inline]
    fn at(&self, i: usize) -> Option<u64> {
        ((i as u64) < self.len).then(|| self.get(i as u64))
    }

    #[inline]
    fn put(&mut self, i: usize, value: u64) {
        self.set(i as u64, value);
    }
}

impl<'a> Part<'a> {
    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The fields before `at` and those from it on, as the machine writes them fastest. `at` begins a word.
    pub(crate) fn split(self, at: usize) -> View<[&'a mut [u8]; 2], [&'a mut [u16]; 2], [Self; 2]> {
        let Self { words, len, width } = self;
        let bits = at * width as usize;
        debug_assert!(bits.is_multiple_of(64));
        if width == 8 && cfg!(target_endian = "little") {
            return View::Bytes(fields_mut(words).split_at_mut(at).into());
        }
        if width == 16 && cfg!(target_endian = "little") {
            return View::Shorts(fields_mut(words).split_at_mut(at).into());
        }
        let (low, high) = words.split_at_mut(bits / 64);
        let part = |words, len| Self { words, len, width };
        View::Any([part(low, at), part(high, len - at)])
    }
}

impl Fields for Part<'_> {
    #[inline]
    fn at(&self, i: usize) -> Option<u64> {
        (i < self.len).then(|| get(self.words, self.width, i as u64))
    }

    #[inline]
    fn put(&mut self, i: usize, value: u64) {
        set(self.words, self.width, i as u64, value);
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
            let (len, words) = super::array("fields", width.into(), src)?;
            Ok(Self { len, width, words })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill<F: Fields + ?Sized>(values: &[u64], split: usize, low: &mut F, high: &mut F) {
        for (i, &v) in values.iter().enumerate() {
            if i < split {
                low.put(i, v)
            } else {
                high.put(i - split, v)
            }
            let at = if i < split { low.at(i) } else { high.at(i - split) };
            assert_eq!(at, Some(v));
        }
    }

    #[test]
    fn near_fields_are_read_and_written_like_all() {
        for width in 1..=64 {
            let (mut near, mut plain) = (Packed::new(50, width), Packed::new(50, width));
            for i in (0..200).map(|i| i * 7 % 50) {
                let value = crate::hash::mix64(i << 8 | near.get(i) & 0xFF);
                near.set_near(i, value);
                plain.set(i, value);
                assert_eq!(near, plain, "{width}: {i}");
                assert_eq!(near.get_of_width(width, i), plain.get(i), "{width}: {i}");
            }
        }
    }

    #[test]
    fn fields_move_like_those_of_a_vector() {
        for width in [1, 3, 8, 13, 61, 63] {
            let mut packed = Packed::new(200, width);
            let value = |i: u64| crate::hash::mix64(i) & packed.max();
            let mut plain: Vec<u64> = (0..200).map(value).collect();
            plain.iter().zip(0..).for_each(|(v, i)| packed.set(i, *v));
            for (start, end) in [(0, 199), (1, 2), (5, 5), (63, 130), (1, 199), (190, 199)] {
                packed.move_up(start, end);
                plain.copy_within(start as usize..end as usize, start as usize + 1);
                assert!(packed.iter().eq(plain.iter().copied()), "{width}: {start}..{end} up");
                let start = start.max(1);
                packed.move_down(start, end);
                plain.copy_within(start as usize..end as usize, start as usize - 1);
                assert!(packed.iter().eq(plain.iter().copied()), "{width}: {start}..{end} down");
            }
        }
    }

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
            for split in [0, 64, 128] {
                let mut copy = Packed::new(131, width);
                let whole = copy.parts_mut(131).pop().expect("one part");
                match whole.split(split) {
                    View::Bytes([low, high]) => fill(&values, split, low, high),
                    View::Shorts([low, high]) => fill(&values, split, low, high),
                    View::Any([mut low, mut high]) => fill(&values, split, &mut low, &mut high),
                }
                assert_eq!(copy, packed, "width {width}");
            }
            for fields in [64, 128, 131, 200] {
                let mut copy = Packed::new(131, width);
                let mut parts = copy.parts_mut(fields as u64);
                for (values, part) in values.chunks(fields).zip(&mut parts) {
                    assert_eq!((values.len(), part.at(values.len())), (part.len, None));
                    values.iter().enumerate().for_each(|(i, value)| part.put(i, *value));
                }
                assert_eq!(copy, packed, "width {width}, parts of {fields}");
            }
            let at = |i: usize| match packed.view() {
                View::Bytes(bytes) => bytes.at(i),
                View::Shorts(shorts) => shorts.at(i),
                View::Any(any) => any.at(i),
            };
            assert!(values.iter().enumerate().all(|(i, v)| at(i) == Some(*v)), "width {width}");
            assert_eq!(at(131 + 8), None, "width {width}");
        }
    }
}
