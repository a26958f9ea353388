//! Buckets of slots: tables of fingerprints, where 0 is an empty slot.
//!
//! Buckets follow each other without gaps. A query compares as many slots at once as fit 64 bits, which is a
//! whole bucket in most shapes: the word is xored with the value in every lane, and a lane is zero exactly if
//! adding its greatest number without the top bit does not reach that bit, and the bit is not set.
//!
//! ```text
//!   bucket             │ 2c1 │ 07e │ 55d │ 000 │        sought: 55d
//!   xor 55d in lanes   │ 79c │ 523 │ 000 │ 55d │        a zero lane: found in slot 2
//! ```
//!
//! In the sorted layout, buckets of four keep their slots in ascending order. Four sorted nibbles have only
//! C(19,4) = 3876 values, so that the high nibbles of a bucket take 12 bits in place of 16: one bit less per slot.

mod sorted;

use super::Packed;
use super::packed::NEAR;
use crate::error::{Error, Result};
use crate::memory::{prefetch, prefetch_to_write};
use crate::state::{Decoder, Encoder, State};

/// How the slots of a bucket are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One after the other, in the order they were written.
    Plain,
    /// In ascending order, their high nibbles coded together: four slots of 5 to 16 bits.
    Sorted,
}

/// The slots of a bucket in the sorted layout.
const SORTED_ROOM: u32 = 4;
/// The widths of a slot in the sorted layout.
const SORTED_WIDTHS: std::ops::RangeInclusive<u32> = 5..=16;

/// Buckets of `room` slots, each of `width` bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots {
    /// Kept, because every look-up would have to divide for it.
    buckets: u64,
    room: u32,
    width: u32,
    layout: Layout,
    cells: Packed,
    /// Slots of a bucket that a word holds.
    lanes: u32,
    /// A one at the bottom of every lane.
    ones: u64,
    /// 2^16/width, rounded up: a division of up to 64 by the width is a product with it.
    inverse: u32,
    /// Bits of a bucket that a word has from any bit of its first byte on; 0 where it may not.
    near: u32,
}

impl Slots {
    /// The maximum number of slots of a bucket.
    pub const MAX_ROOM: u32 = 255;

    /// `buckets` buckets of `room` empty slots of `width` bits; refused where there is no room for them, or no
    /// such layout.
    pub fn try_new(buckets: u64, room: u32, width: u32, layout: Layout) -> Result<Self> {
        if !Self::possible(buckets, room, width, layout) {
            return Err(Error::parameter(format!(
                "{buckets} buckets of {room} slots of {width} bits: at least one of each, at most {} slots of 64 \
                 bits; sorted buckets have {SORTED_ROOM} slots of 5 to 16 bits",
                Self::MAX_ROOM
            )));
        }
        let cells = match layout {
            Layout::Plain => Packed::try_new(buckets.saturating_mul(room.into()), width)?,
            Layout::Sorted => Packed::try_new(buckets, SORTED_ROOM * (width - 1))?,
        };
        Ok(Self::of(room, width, layout, cells))
    }

    fn of(room: u32, width: u32, layout: Layout, cells: Packed) -> Self {
        let lanes = (64 / width).min(room);
        let ones = (0..lanes).fold(0, |ones, lane| ones | 1 << (lane * width));
        let buckets = match layout {
            Layout::Plain => cells.len() / u64::from(room),
            Layout::Sorted => cells.len(),
        };
        let inverse = (1u32 << 16).div_ceil(width);
        let near = Some(room * width).filter(|bits| layout == Layout::Plain && *bits <= NEAR);
        let near = near.filter(|_| cells.bytes().is_some()).unwrap_or(0);
        Self { buckets, room, width, layout, cells, lanes, ones, inverse, near }
    }

    fn possible(buckets: u64, room: u32, width: u32, layout: Layout) -> bool {
        let sorted = || room == SORTED_ROOM && SORTED_WIDTHS.contains(&width);
        buckets > 0
            && (1..=Self::MAX_ROOM).contains(&room)
            && (1..=64).contains(&width)
            && (layout == Layout::Plain || sorted())
    }

    /// Bits that `buckets` buckets take.
    pub fn bits_for(buckets: f64, room: u32, width: u32, layout: Layout) -> f64 {
        let width = if layout == Layout::Sorted { width - 1 } else { width };
        buckets * f64::from(room) * f64::from(width)
    }

    /// Number of buckets.
    #[inline]
    pub fn buckets(&self) -> u64 {
        self.buckets
    }

    /// Slots per bucket.
    #[inline]
    pub fn room(&self) -> u32 {
        self.room
    }

    /// Bits per slot.
    #[inline]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// How slots are stored.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Number of slots.
    pub fn len(&self) -> u64 {
        self.buckets * u64::from(self.room)
    }

    /// Whether there are no slots at all.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Bits of all buckets.
    pub fn bits(&self) -> u64 {
        self.cells.len() * u64::from(self.cells.width())
    }

    /// The words that hold the buckets.
    pub fn words(&self) -> &[u64] {
        self.cells.words()
    }

    /// Bits of a bucket that a word has from any bit of its first byte on; 0 where it may not.
    #[inline]
    pub(crate) fn near_bits(&self) -> u32 {
        self.near
    }

    /// A one at the bottom of every lane of a word.
    #[inline]
    pub(crate) fn lowest_bits(&self) -> u64 {
        self.ones
    }

    /// All slots of a bucket as lanes, where that is near.
    #[inline(always)]
    fn near(&self, bucket: u64) -> u64 {
        let bit = bucket * u64::from(self.near);
        let bytes = self.cells.bytes().unwrap_or_default();
        match bytes.get((bit / 8) as usize..).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => u64::from_le_bytes(*bytes) >> (bit % 8),
            None => self.last(bit),
        }
    }

    #[cold]
    #[inline(never)]
    fn last(&self, bit: u64) -> u64 {
        self.window(bit)
    }

    /// The 64 bits from `bit` on; what lies beyond the last word means nothing.
    #[inline]
    fn window(&self, bit: u64) -> u64 {
        let words = self.cells.words();
        let (word, shift) = ((bit / 64) as usize, bit % 64);
        let next = words[(word + 1).min(words.len() - 1)];
        words[word] >> shift | (next << 1) << (63 - shift)
    }

    /// Lanes from slot `first` of a bucket on, as many as a word holds; those beyond the bucket mean nothing.
    #[inline]
    fn lanes(&self, bucket: u64, first: u32) -> u64 {
        match self.layout {
            Layout::Plain => {
                let slot = bucket * u64::from(self.room) + u64::from(first);
                self.window(slot * u64::from(self.width))
            }
            Layout::Sorted => sorted::unpack(self.cells.get(bucket), self.width),
        }
    }

    /// The top bits of those lanes that hold `value`.
    #[inline(always)]
    fn equal(&self, lanes: u64, value: u64, ones: u64) -> u64 {
        let tops = ones << (self.width - 1);
        let below = tops - ones;
        let x = lanes ^ value.wrapping_mul(ones);
        !(((x & below) + below) | x) & tops
    }

    /// For every word of a bucket, its first slot and the top bits of the lanes that hold `value`.
    #[inline]
    fn matches(&self, bucket: u64, value: u64) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..self.room).step_by(self.lanes as usize).map(move |first| {
            // The last word of a bucket may have fewer lanes.
            let left = (self.room - first).min(self.lanes);
            let ones = self.ones & (u64::MAX >> (64 - left * self.width));
            (first, self.equal(self.lanes(bucket, first), value, ones))
        })
    }

    /// Whether one of the two buckets holds `value`: without a branch where a bucket fits a word.
    #[inline]
    pub fn either(&self, a: u64, b: u64, value: u64) -> bool {
        if self.near > 0 {
            let found = |bucket| self.equal(self.near(bucket), value, self.ones);
            return found(a) | found(b) != 0;
        }
        self.either_far(a, b, value)
    }

    #[inline(never)]
    fn either_far(&self, a: u64, b: u64, value: u64) -> bool {
        if self.lanes == self.room {
            let found = |bucket| self.equal(self.lanes(bucket, 0), value, self.ones);
            return found(a) | found(b) != 0;
        }
        self.has(a, value) || self.has(b, value)
    }

    /// Whether a bucket holds `value`.
    #[inline]
    pub fn has(&self, bucket: u64, value: u64) -> bool {
        self.matches(bucket, value).any(|(_, tops)| tops != 0)
    }

    /// How many slots of a bucket hold `value`.
    pub fn count(&self, bucket: u64, value: u64) -> u64 {
        self.matches(bucket, value).map(|(_, tops)| u64::from(tops.count_ones())).sum()
    }

    /// The first slot of a bucket that holds `value`.
    #[inline]
    pub fn find(&self, bucket: u64, value: u64) -> Option<u32> {
        if self.near > 0 {
            let tops = self.equal(self.near(bucket), value, self.ones);
            return (tops != 0).then(|| (tops.trailing_zeros() * self.inverse) >> 16);
        }
        self.find_far(bucket, value)
    }

    #[inline(never)]
    fn find_far(&self, bucket: u64, value: u64) -> Option<u32> {
        let (first, tops) = self.matches(bucket, value).find(|(_, tops)| *tops != 0)?;
        Some(first + ((tops.trailing_zeros() * self.inverse) >> 16))
    }

    /// What a slot of a bucket holds.
    #[inline]
    pub fn get(&self, bucket: u64, slot: u32) -> u64 {
        match self.layout {
            Layout::Plain => self.cells.get(bucket * u64::from(self.room) + u64::from(slot)),
            Layout::Sorted => self.lanes(bucket, 0) >> (slot * self.width) & self.max(),
        }
    }

    /// Writes a slot of a bucket; returns the slot that holds the value then, which is another one if the
    /// bucket is sorted.
    #[inline]
    pub fn set(&mut self, bucket: u64, slot: u32, value: u64) -> u32 {
        match self.layout {
            Layout::Plain => {
                self.cells.set_near(bucket * u64::from(self.room) + u64::from(slot), value);
                slot
            }
            Layout::Sorted => {
                let mut slots: [u64; 4] = std::array::from_fn(|i| self.get(bucket, i as u32));
                slots[slot as usize] = value;
                slots.sort_unstable();
                self.cells.set(bucket, sorted::pack(slots, self.width));
                slots.iter().position(|held| *held == value).unwrap_or(0) as u32
            }
        }
    }

    /// The largest number a slot holds.
    #[inline]
    pub fn max(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The slots of a bucket that are not empty.
    pub fn bucket(&self, bucket: u64) -> impl Iterator<Item = u64> + '_ {
        (0..self.room).map(move |slot| self.get(bucket, slot)).filter(|value| *value != 0)
    }

    /// Every slot that is not empty, with its bucket.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..self.buckets()).flat_map(|bucket| self.bucket(bucket).map(move |v| (bucket, v)))
    }

    /// Number of slots in use.
    pub fn used(&self) -> u64 {
        (0..self.buckets()).map(|bucket| u64::from(self.room) - self.count(bucket, 0)).sum()
    }

    /// The same slots in another number of buckets: those beyond are dropped, and new ones are empty.
    pub fn resized(&self, buckets: u64) -> Result<Self> {
        let mut slots = Self::try_new(buckets, self.room, self.width, self.layout)?;
        for field in 0..self.cells.len().min(slots.cells.len()) {
            slots.cells.set(field, self.cells.get(field));
        }
        Ok(slots)
    }

    /// Empties every slot.
    pub fn clear(&mut self) {
        self.cells.clear();
    }

    fn address(&self, bucket: u64) -> *const u8 {
        let bits = match self.layout {
            Layout::Plain => u64::from(self.room) * u64::from(self.width),
            Layout::Sorted => u64::from(self.cells.width()),
        };
        self.cells.words().as_ptr().wrapping_add((bucket * bits / 64) as usize).cast()
    }

    /// Prefetches a bucket.
    #[inline]
    pub(crate) fn prefetch(&self, bucket: u64) {
        prefetch(self.address(bucket));
    }

    /// Prefetches a bucket that will be written.
    #[inline]
    pub(crate) fn prefetch_to_write(&self, bucket: u64) {
        prefetch_to_write(self.address(bucket));
    }
}

impl State for Slots {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("room", self.room.into());
            out.u64("sorted", u64::from(self.layout == Layout::Sorted));
            self.cells.save("cells", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let room = u32::load("room", src)?;
            let layout = match src.u64("sorted")? {
                0 => Layout::Plain,
                1 => Layout::Sorted,
                other => return Err(src.corrupt(format!("{name}: layout {other}"))),
            };
            let cells = Packed::load("cells", src)?;
            let (width, each) = match layout {
                Layout::Plain => (cells.width(), u64::from(room)),
                Layout::Sorted => (cells.width() / SORTED_ROOM + 1, 1),
            };
            let whole = each > 0 && cells.len().is_multiple_of(each);
            let fits = layout == Layout::Plain || cells.width().is_multiple_of(SORTED_ROOM);
            if !whole || !fits || !Self::possible(cells.len() / each, room, width, layout) {
                let what = format!("{name}: {} slots in buckets of {room}", cells.len());
                return Err(src.corrupt(what));
            }
            if layout == Layout::Sorted && !cells.iter().all(|code| sorted::sound(code, width)) {
                return Err(src.corrupt(format!("{name}: a bucket that is not sorted")));
            }
            Ok(Self::of(room, width, layout, cells))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    fn same(slots: &Slots, plain: &[Vec<u64>], values: &[u64]) {
        for (bucket, held) in (0..).zip(plain) {
            let read: Vec<u64> = (0..slots.room()).map(|slot| slots.get(bucket, slot)).collect();
            assert_eq!(&read, held);
            for value in values {
                let count = held.iter().filter(|v| *v == value).count() as u64;
                assert_eq!(slots.count(bucket, *value), count, "{value:x} in {held:x?}");
                assert_eq!(slots.has(bucket, *value), count > 0);
                let first = held.iter().position(|v| v == value).map(|slot| slot as u32);
                assert_eq!(slots.find(bucket, *value), first);
                let other = (bucket + 3) % plain.len() as u64;
                let either = count > 0 || plain[other as usize].contains(value);
                assert_eq!(slots.either(bucket, other, *value), either);
            }
        }
        let used = plain.iter().flatten().filter(|v| **v != 0).count() as u64;
        assert_eq!((slots.used(), slots.entries().count() as u64), (used, used));
    }

    /// Slots of every width, in buckets of many sizes, hold what vectors of numbers hold.
    #[test]
    fn slots_are_like_vectors_of_numbers() {
        let mut random = Generator::new(1);
        let shapes = (1..=64).flat_map(|width| [1, 2, 3, 4, 5, 8, 9, 17].map(|room| (width, room)));
        let shapes = shapes.map(|(width, room)| (width, room, Layout::Plain));
        for (width, room, layout) in shapes.chain((5..=16).map(|w| (w, 4, Layout::Sorted))) {
            let mut slots = Slots::try_new(7, room, width, layout).unwrap();
            let mut plain = vec![vec![0; room as usize]; 7];
            // Few values, so that some are held twice; the extremes are among them.
            let mut values: Vec<u64> = (0..5).map(|_| random.next_u64() & slots.max()).collect();
            values.extend([0, 1, slots.max(), slots.max() >> 1, (slots.max() >> 1) + 1]);
            values.retain(|value| *value <= slots.max());
            for _ in 0..40 {
                let (bucket, slot) = (random.below(7), random.below(room.into()) as u32);
                let value = values[random.below(values.len() as u64) as usize];
                let landed = slots.set(bucket, slot, value);
                let held = &mut plain[bucket as usize];
                held[slot as usize] = value;
                if layout == Layout::Sorted {
                    held.sort_unstable();
                }
                assert_eq!(held[landed as usize], value);
            }
            same(&slots, &plain, &values);
            for buckets in [3, 11] {
                let mut other = plain.clone();
                other.resize(buckets as usize, vec![0; room as usize]);
                same(&slots.resized(buckets).unwrap(), &other, &values);
            }
            slots.clear();
            assert_eq!(slots.used(), 0);
        }
    }

    #[test]
    fn a_sorted_bucket_takes_a_bit_less_per_slot() {
        let [plain, sorted] = [Layout::Plain, Layout::Sorted]
            .map(|layout| Slots::try_new(100, 4, 12, layout).unwrap().bits());
        assert_eq!((plain, sorted), (4800, 4400));
        assert_eq!(Slots::bits_for(100.0, 4, 12, Layout::Sorted), 4400.0);
    }

    #[test]
    fn impossible_shapes_are_refused() {
        for (buckets, room, width) in [(0, 4, 8), (9, 0, 8), (9, 256, 8), (9, 4, 0), (9, 4, 65)] {
            assert!(Slots::try_new(buckets, room, width, Layout::Plain).is_err());
        }
        for (room, width) in [(3, 8), (5, 8), (4, 4), (4, 17)] {
            assert!(Slots::try_new(9, room, width, Layout::Sorted).is_err());
        }
        // Codes beyond the table, and slots in the wrong order.
        assert!(sorted::sound(sorted::pack([0, 1, 1, 4095], 12), 12));
        assert!(!sorted::sound(3876, 12));
        assert!(!sorted::sound(1 << 12, 12), "1, 0, 0, 0");
    }
}
