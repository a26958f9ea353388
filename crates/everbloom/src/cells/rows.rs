//! Rows of bits whose lengths differ and change: the storage of coded counters.
//!
//! ```text
//!   ┌ region ────────────────────────────────┐┌ region …
//!   │row 0   │row 1 │row 2      │ … │ spare  ││row 128 …
//!   0110…1   10…1   0011…1            ↑ a row that grows beyond its last word moves those after it
//!        └ each row ends with a one             a word into the spare ones of its region
//! ```
//!
//! A change in the middle of one long row of codes would move megabytes. Cut into rows of a few words,
//! it moves those words, and once in a while the hundred or so rows behind it in the region. Only when a
//! region has no spare word left is everything laid out anew, with a twelfth to spare. Regions must not be
//! small: the luckless one among thousands decides when that is, and the more rows share their spare words,
//! the nearer it is to the others.
//!
//! The one that ends a row tells its length without reading its codes, and costs no index.

use smallvec::SmallVec;

use super::Packed;
use crate::error::Result;
use crate::memory::Words;
use crate::state::{Decoder, Encoder, Role, State};

/// Rows per region.
const REGION: u64 = 128;

/// An array of rows of bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    len: u64,
    /// Bits in all rows, without the ones that end them.
    bits: u64,
    /// The first word of each row, and after the rows of a region that of its spare words.
    starts: Packed,
    words: Words,
}

impl Rows {
    /// `len` rows, row i of the lowest `first(i).1` < 128 bits of `first(i).0`; an error where there is no
    /// room for them.
    pub fn try_new(len: u64, first: impl Fn(u64) -> (u128, u64)) -> Result<Self> {
        let bits = (0..len).map(|row| first(row).1).sum();
        let size = |row| words_for(first(row).1);
        Self::laid_out(len, bits, size, |row, words| {
            let (value, width) = first(row);
            let ended = value & ((1 << width) - 1) | 1 << width;
            words.iter_mut().zip([ended as u64, (ended >> 64) as u64]).for_each(|(w, v)| *w = v);
        })
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no rows at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bits in all rows.
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Rows of `size` words each, which `fill` writes.
    fn laid_out(
        len: u64,
        bits: u64,
        size: impl Fn(u64) -> usize,
        mut fill: impl FnMut(u64, &mut [u64]),
    ) -> Result<Self> {
        let regions = len.div_ceil(REGION);
        let rows = |region: u64| region * REGION..((region + 1) * REGION).min(len);
        let held = |region: u64| rows(region).map(&size).sum::<usize>();
        let spare = |region: u64| held(region) / 12 + 4;
        let total: usize = (0..regions).map(|region| held(region) + spare(region)).sum();
        let width = (total as u64 | 1).ilog2() + 1;
        let mut starts = Packed::try_new(len + regions + 1, width)?;
        let mut words = Words::try_zeroed(total)?;
        let (all, mut at) = (words.make_mut(), 0);
        for region in 0..regions {
            for row in rows(region) {
                starts.set(entry(row), at as u64);
                let end = at + size(row);
                fill(row, &mut all[at..end]);
                at = end;
            }
            starts.set(rows(region).end + region, at as u64);
            at += spare(region);
        }
        starts.set(len + regions, at as u64);
        Ok(Self { len, bits, starts, words })
    }

    #[inline]
    fn span(&self, row: u64) -> std::ops::Range<usize> {
        let entry = entry(row);
        self.starts.get(entry) as usize..self.starts.get(entry + 1) as usize
    }

    /// The words of a row; bits beyond its length but for the one that ends it are zero.
    #[inline]
    pub fn row(&self, row: u64) -> Row<'_> {
        Row { words: &self.words[self.span(row)] }
    }

    /// Sets the bit at `at` of a row, which it has.
    pub fn set(&mut self, row: u64, at: u64) {
        let word = self.span(row).start + (at / 64) as usize;
        self.words.make_mut()[word] |= 1 << (at % 64);
    }

    /// Resets the bit at `at` of a row, which it has.
    pub fn reset(&mut self, row: u64, at: u64) {
        let word = self.span(row).start + (at / 64) as usize;
        self.words.make_mut()[word] &= !(1 << (at % 64));
    }

    /// Puts the `new` ≤ 128 lowest bits of `value` in the place of `old` bits at `at`, which the row has.
    #[inline]
    pub fn replace(&mut self, row: u64, at: u64, old: u64, value: u128, new: u64) {
        let span = self.span(row);
        let view = Row { words: &self.words[span.clone()] };
        let length = view.len();
        debug_assert!(at + old <= length && new <= 128);
        if words_for(length - old + new) != span.len() || old.abs_diff(new) > 63 {
            return self.replace_and_move(row, at, old, value, new);
        }
        let words = &mut self.words.make_mut()[span];
        if new > old {
            open(words, at + old, new - old);
        } else if new < old {
            close(words, at + new, old - new);
        }
        clear(words, at, new.min(64));
        clear(words, at + 64, new.saturating_sub(64));
        write(words, at, value as u64, new.min(64));
        write(words, at + 64, (value >> 64) as u64, new.saturating_sub(64));
        self.bits = self.bits - old + new;
    }

    /// [`Rows::replace`] where the row gets another number of words, or more than a word moves.
    #[cold]
    fn replace_and_move(&mut self, row: u64, at: u64, old: u64, value: u128, new: u64) {
        let view = self.row(row);
        let length = view.len();
        // What follows, with the one that ends the row.
        let tail_bits = length + 1 - at - old;
        let pieces = (0..tail_bits.div_ceil(64)).map(|i| view.read(at + old + 64 * i));
        let tail: SmallVec<[u64; 16]> = pieces.collect();
        let span = self.span(row);
        let words = &mut self.words.make_mut()[span];
        let word = (at / 64) as usize;
        words[word] &= (1 << (at % 64)) - 1;
        words[word + 1..].fill(0);
        self.resize(row, words_for(length - old + new));
        let span = self.span(row);
        let words = &mut self.words.make_mut()[span];
        write(words, at, value as u64, new.min(64));
        write(words, at + 64, (value >> 64) as u64, new.saturating_sub(64));
        for (i, piece) in tail.iter().enumerate() {
            let done = 64 * i as u64;
            write(words, at + new + done, *piece, (tail_bits - done).min(64));
        }
        self.bits = self.bits - old + new;
    }

    /// Writes a whole row anew: the `length` lowest bits of `bits`, which has a word for the one after them.
    pub fn store(&mut self, row: u64, bits: &[u64], length: u64) {
        self.bits = self.bits - self.row(row).len() + length;
        self.resize(row, words_for(length));
        let span = self.span(row);
        let words = &mut self.words.make_mut()[span];
        words.copy_from_slice(&bits[..words.len()]);
        if let Some(last) = words.last_mut() {
            let one = 1 << (length % 64);
            *last = *last & (one - 1) | one;
        }
    }

    /// Gives a row `size` words: new ones are zero, and those dropped are lost.
    fn resize(&mut self, row: u64, size: usize) {
        let span = self.span(row);
        let region = row / REGION;
        let last = ((region + 1) * REGION).min(self.len) + region;
        let (spare, limit) = (self.starts.get(last) as usize, self.starts.get(last + 1) as usize);
        let moved = match size.checked_sub(span.len()) {
            Some(0) => return,
            Some(more) if spare + more > limit => return self.relay(row, size),
            Some(more) => {
                let words = self.words.make_mut();
                words.copy_within(span.end..spare, span.end + more);
                words[span.end..span.end + more].fill(0);
                more as i64
            }
            None => {
                let fewer = span.len() - size;
                let words = self.words.make_mut();
                words.copy_within(span.end..spare, span.end - fewer);
                words[spare - fewer..spare].fill(0);
                -(fewer as i64)
            }
        };
        for entry in entry(row) + 1..=last {
            self.starts.set(entry, self.starts.get(entry).wrapping_add_signed(moved));
        }
    }

    /// Lays everything out anew, with spare words in every region, and gives one row another size.
    #[cold]
    fn relay(&mut self, resized: u64, size: usize) {
        let words = |row: u64| if row == resized { size } else { self.span(row).len() };
        let laid_out = Self::laid_out(self.len, self.bits, words, |row, out| {
            let kept = &self.words[self.span(row)];
            let common = kept.len().min(out.len());
            out[..common].copy_from_slice(&kept[..common]);
        });
        match laid_out {
            Ok(rows) => *self = rows,
            Err(e) => panic!("{e}"),
        }
    }

    /// Rows follow each other, end with a one, and hold as many bits as is said.
    fn sound(&self) -> bool {
        let entries =
            self.len.checked_add(self.len.div_ceil(REGION)).and_then(|e| e.checked_add(1));
        if entries != Some(self.starts.len()) {
            return false;
        }
        let mut at = 0;
        let ordered = self.starts.iter().all(|start| std::mem::replace(&mut at, start) <= start);
        let ends = self.starts.get(0) == 0 && at == self.words.len() as u64;
        ordered
            && ends
            && (0..self.len).all(|row| self.words[self.span(row)].last().is_some_and(|w| *w != 0))
            && (0..self.len).map(|row| self.row(row).len()).sum::<u64>() == self.bits
    }
}

/// Where `starts` says a row begins: every region before it has an entry more.
#[inline]
fn entry(row: u64) -> u64 {
    row + row / REGION
}

/// Words that hold `length` bits and the one after them.
fn words_for(length: u64) -> usize {
    (length / 64) as usize + 1
}

/// Moves the bits from `at` on up by `by`, 1 to 63; those at the very end are zero.
fn open(words: &mut [u64], at: u64, by: u64) {
    let (word, low) = ((at / 64) as usize, (1u64 << (at % 64)) - 1);
    for w in (word + 1..words.len()).rev() {
        let below = if w == word + 1 { words[w - 1] & !low } else { words[w - 1] };
        words[w] = words[w] << by | below >> (64 - by);
    }
    words[word] = words[word] & low | (words[word] & !low) << by;
}

/// Drops `by` bits at `at`, 1 to 63, and moves those after them down.
fn close(words: &mut [u64], at: u64, by: u64) {
    let (word, low) = ((at / 64) as usize, (1u64 << (at % 64)) - 1);
    let kept = words[word] & low;
    for w in word..words.len() {
        let above = words.get(w + 1).map_or(0, |next| next << (64 - by));
        words[w] = words[w] >> by | above;
    }
    words[word] = kept | words[word] & !low;
}

/// Zeroes `width` ≤ 64 bits.
fn clear(words: &mut [u64], at: u64, width: u64) {
    if width == 0 {
        return;
    }
    let ones = u64::MAX >> (64 - width);
    let (word, shift) = ((at / 64) as usize, at % 64);
    words[word] &= !(ones << shift);
    if shift + width > 64 {
        words[word + 1] &= !(ones >> (64 - shift));
    }
}

/// Writes the `width` ≤ 64 lowest bits of `value` over zeros.
fn write(words: &mut [u64], at: u64, value: u64, width: u64) {
    if width == 0 {
        return;
    }
    let value = value & u64::MAX >> (64 - width);
    let (word, shift) = ((at / 64) as usize, at % 64);
    words[word] |= value << shift;
    if shift + width > 64 {
        words[word + 1] |= value >> (64 - shift);
    }
}

/// One row, to read.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    words: &'a [u64],
}

impl Row<'_> {
    /// Number of bits.
    #[inline]
    pub fn len(&self) -> u64 {
        let last = self.words.last().copied().unwrap_or(1);
        64 * (self.words.len() as u64).saturating_sub(1) + u64::from((last | 1).ilog2())
    }

    /// Whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bit at `at`; zero beyond the row.
    #[inline]
    pub fn get(&self, at: u64) -> bool {
        self.words.get((at / 64) as usize).is_some_and(|w| w >> (at % 64) & 1 != 0)
    }

    /// The 64 bits from `at` on, zeros after the one that ends the row.
    #[inline]
    pub fn read(&self, at: u64) -> u64 {
        let (word, shift) = ((at / 64) as usize, at % 64);
        let low = self.words.get(word).map_or(0, |w| w >> shift);
        let high = self.words.get(word + 1).filter(|_| shift > 0).map_or(0, |w| w << (64 - shift));
        low | high
    }

    /// Where the first zero from `at` on is; the one that ends the row is followed by zeros.
    pub fn next_zero(&self, mut at: u64) -> u64 {
        loop {
            let ones = u64::from(self.read(at).trailing_ones());
            at += ones;
            if ones < 64 {
                return at;
            }
        }
    }

    /// Ones in `start..end`.
    pub fn ones(&self, start: u64, end: u64) -> u64 {
        let mut count = 0;
        let mut at = start;
        while at < end {
            let width = (end - at).min(64);
            count += (self.read(at) & u64::MAX >> (64 - width)).count_ones();
            at += width;
        }
        count.into()
    }
}

impl State for Rows {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("bits", self.bits);
            self.starts.save_as("starts", Role::Auxiliary, out);
            out.array("rows", Role::Cells { bits: self.bits }, self.len, &self.words);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let bits = src.u64("bits")?;
            let starts = Packed::load("starts", src)?;
            let (len, words) = src.array("rows")?;
            let rows = Self { len, bits, starts, words };
            if rows.sound() {
                Ok(rows)
            } else {
                Err(src.corrupt(format!("{name}: rows that do not follow each other")))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    #[test]
    fn rows_change_like_vectors_of_bits() {
        let mut random = Generator::new(1);
        for len in [1u64, 127, 128, 129, 300] {
            let mut rows = Rows::try_new(len, |row| (row.into(), row % 7)).unwrap();
            let start = |row: u64| (0..row % 7).map(|bit| row >> bit & 1 != 0).collect();
            let mut plain: Vec<Vec<bool>> = (0..len).map(start).collect();
            for round in 0..4000u64 {
                let row = random.below(len);
                let bits = &mut plain[row as usize];
                let at = random.below(bits.len() as u64 + 1);
                let old = random.below((bits.len() as u64 - at).min(90) + 1);
                // Growing at first, shrinking later.
                let new = random.below(if round < 2500 { 129 } else { 40 });
                let value = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
                let insert = (0..new).map(|bit| value >> bit & 1 != 0);
                bits.splice(at as usize..(at + old) as usize, insert);
                rows.replace(row, at, old, value, new);
                assert_eq!(rows.row(row).len(), bits.len() as u64);
                if let Some(at) = bits.len().checked_sub(1) {
                    bits[at / 2] = true;
                    rows.set(row, at as u64 / 2);
                    bits[at] = false;
                    rows.reset(row, at as u64);
                }
                if round % 100 == 0 {
                    assert!(rows.sound(), "{len} rows, round {round}");
                    for (row, bits) in plain.iter().enumerate() {
                        let view = rows.row(row as u64);
                        let read: Vec<bool> = (0..view.len()).map(|at| view.get(at)).collect();
                        assert_eq!(&read, bits);
                        let half = bits.len() / 2;
                        let ones = bits[half..].iter().filter(|b| **b).count() as u64;
                        assert_eq!(view.ones(half as u64, view.len()), ones);
                    }
                }
            }
            let mut words = vec![u64::MAX; 4];
            words[3] = 0;
            rows.store(0, &words, 190);
            assert!(rows.sound());
            assert_eq!((rows.row(0).len(), rows.row(0).ones(0, 190)), (190, 190));
        }
    }
}
