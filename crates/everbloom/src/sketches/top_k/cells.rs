//! Cells of a fingerprint and a count, which other keys wear away.

use std::hint::select_unpredictable as choose;

use crate::cells::Packed;
use crate::error::Result;
use crate::hash::Generator;
use crate::memory::Words;
use crate::state::{Decoder, Encoder, Inline, Role, State};

/// A word each: the count above the fingerprint, so that a key meets one line of memory in every row. In files, all
/// fingerprints stand before all counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cells {
    words: Words,
}

/// Bits of a fingerprint, and of a count.
pub(super) const HALF: u32 = 32;

impl Cells {
    pub(super) fn try_new(len: u64) -> Result<Self> {
        Ok(Self { words: Words::try_zeroed(usize::try_from(len).unwrap_or(usize::MAX))? })
    }

    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.words.len() as u64
    }

    /// The count of a cell, and whose it is.
    #[inline]
    pub(super) fn get(&self, cell: u64) -> (u32, u32) {
        apart(self.words[cell as usize])
    }

    /// Counts a key once more in its cells, one in each of `d` rows; the most that one of them then says of it.
    #[inline(always)]
    pub(super) fn raise(
        &mut self,
        d: u64,
        place: impl Fn(u64) -> u64,
        fingerprint: u32,
        decay: &Decay,
        coins: &mut Generator,
    ) -> u32 {
        let (words, mut most) = (self.words.make_mut(), 0);
        let mut key = Arrival { fingerprint, decay, coins: coins.clone() };
        for row in (0..d / 4).map(|group| 4 * group) {
            let places = [0, 1, 2, 3].map(|i| place(row + i) as usize);
            most = most.max(key.enter(words, places));
        }
        for row in d / 4 * 4..d {
            most = most.max(key.enter(words, [place(row) as usize]));
        }
        *coins = key.coins;
        (most >> HALF) as u32
    }

    /// Counts a key many times in one cell; what the cell then says of it.
    pub(super) fn raise_times(
        &mut self,
        cell: u64,
        fingerprint: u32,
        times: u64,
        decay: &Decay,
        coins: &mut Generator,
    ) -> u32 {
        let (mut count, holder) = self.get(cell);
        let own = count == 0 || holder == fingerprint;
        let mut left = if own { 0 } else { times };
        while left > 0 && count > 0 {
            count -= u32::from(decay.gives_way(count.into(), coins.next_u64() >> 11));
            left -= 1;
        }
        let mine = own || count == 0;
        // The time at which the cell was taken counts, too.
        let now = if own { u64::from(count) + times } else { left + 1 };
        let now = u32::try_from(now).unwrap_or(u32::MAX);
        self.words.make_mut()[cell as usize] =
            if mine { joined(now, fingerprint) } else { joined(count, holder) };
        if mine { now } else { 0 }
    }
}

/// A key that comes once more.
struct Arrival<'a> {
    fingerprint: u32,
    decay: &'a Decay,
    coins: Generator,
}

impl Arrival<'_> {
    /// Counts it in some cells; the largest word of those that are its own then.
    #[inline(always)]
    fn enter<const N: usize>(&mut self, words: &mut [u64], places: [usize; N]) -> u64 {
        let held = places.map(|place| words[place]);
        let own = held.map(|word| {
            let (count, holder) = apart(word);
            (count == 0) | (holder == self.fingerprint)
        });
        // Most keys of a skewed stream have all of their cells, or hardly any.
        let all = own.into_iter().fold(true, |all, own| all & own);
        let mut most = 0;
        for ((place, word), own) in places.into_iter().zip(held).zip(own) {
            let grown = joined(apart(word).0.saturating_add(1), self.fingerprint);
            let now = if all { grown } else { self.meets(word, own, grown) };
            words[place] = now;
            most = most.max(choose(apart(now).1 == self.fingerprint, now, 0));
        }
        most
    }

    /// What becomes of a cell that may be another key's. Choices of values and not of ways: whose cell it is and how
    /// a coin falls, no processor guesses.
    #[inline(always)]
    fn meets(&mut self, word: u64, own: bool, grown: u64) -> u64 {
        let coin = self.coins.next_if(!own) >> 11;
        // Of an empty cell, which is own, it does not matter.
        let worn = word.wrapping_sub(u64::from(self.decay.gives_way(word >> HALF, coin)) << HALF);
        let left = choose(worn >> HALF == 0, joined(1, self.fingerprint), worn);
        choose(own, grown, left)
    }
}

#[inline(always)]
fn apart(word: u64) -> (u32, u32) {
    ((word >> HALF) as u32, word as u32)
}

#[inline(always)]
fn joined(count: u32, holder: u32) -> u64 {
    u64::from(count) << HALF | u64::from(holder)
}

impl Inline for Cells {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        // Either takes half of every word.
        let role = Role::Cells { bits: self.len() * u64::from(HALF) };
        for (name, shift) in [("fingerprints", 0), ("counts", HALF)] {
            out.group(name, |out| {
                out.u64("width", HALF.into());
                out.coded("fields", role, self.words.len().div_ceil(2), || {
                    let half = |pair: &[u64]| {
                        let field = |word: &u64| *word >> shift & u64::from(u32::MAX);
                        field(&pair[0]) | pair.get(1).map_or(0, field) << HALF
                    };
                    (self.len(), self.words.chunks(2).map(half).collect())
                });
            });
        }
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let [holders, counts] = [Packed::load("fingerprints", src)?, Packed::load("counts", src)?];
        let shaped =
            holders.len() == counts.len() && (holders.width(), counts.width()) == (HALF, HALF);
        if !shaped {
            return Err(src.corrupt("fingerprints and counts of other numbers or widths"));
        }
        src.expand(64 * counts.len())?;
        let mut cells = Self::try_new(counts.len())?;
        let pairs = counts.iter().zip(holders.iter());
        for (word, (count, holder)) in cells.words.make_mut().iter_mut().zip(pairs) {
            *word = joined(count as u32, holder as u32);
        }
        Ok(cells)
    }
}

/// How likely a count gives way: the base to the power of the count.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decay {
    pub(super) base: f64,
    /// Of the first powers, which nearly all counts that meet another's key have, how many of 2^53 equally likely
    /// numbers are below.
    below: Box<[u64; TABLE]>,
}

const TABLE: usize = 256;

impl Decay {
    pub(super) fn new(base: f64) -> Self {
        let below = |count: usize| Self::numbers_below(libm::pow(base, count as f64));
        let mut below: Box<[u64; TABLE]> = Box::new(std::array::from_fn(below));
        // The last one stands for all larger counts, which give way less often; powers are off by less than one number.
        below[TABLE - 1] = below[TABLE - 1].saturating_add(2);
        Self { base, below }
    }

    /// How many of the numbers 0, 1, 2, … are less than 2^53 times a probability: exact, since that product is.
    fn numbers_below(chance: f64) -> u64 {
        (chance * (1u64 << 53) as f64).ceil() as u64
    }

    /// Whether a count gives way where the coin, a number of 53 bits, says so.
    #[inline(always)]
    fn gives_way(&self, count: u64, coin: u64) -> bool {
        let last = TABLE as u64 - 1;
        let may = coin < self.below[choose(count > last, last, count) as usize];
        if may & (count >= last) {
            return self.seldom(count, coin);
        }
        may
    }

    #[cold]
    fn seldom(&self, count: u64, coin: u64) -> bool {
        coin < Self::numbers_below(libm::pow(self.base, count as f64))
    }
}

impl State for Decay {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        self.base.save(name, out);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        f64::load(name, src).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIMES: [u64; 9] = [1, 2, 3, 5, 7, 11, 13, 17, 19];

    /// Keys that own all of their cells, some, or none.
    #[test]
    fn once_in_all_cells_is_once_in_each() {
        let (mut all, mut each) = (Cells::try_new(180).unwrap(), Cells::try_new(180).unwrap());
        let (mut one, mut other) = (Generator::new(1), Generator::new(1));
        let (decay, mut random) = (Decay::new(0.9), Generator::new(2));
        for _ in 0..5000 {
            let key = random.below(30) * random.below(30);
            let places: [u64; 9] =
                std::array::from_fn(|row| 20 * row as u64 + key / PRIMES[row] % 20);
            let most = all.raise(9, |i| places[i as usize], key as u32, &decay, &mut one);
            let cells = places
                .map(|cell| each.raise_times(cell, key as u32, 1, &decay, &mut other))
                .into_iter();
            assert_eq!(Some(most), cells.max());
        }
        assert_eq!((all, one), (each, other));
    }

    #[test]
    fn counts_end_where_they_have_no_more_bits() {
        let (mut cells, mut coins) = (Cells::try_new(1).unwrap(), Generator::new(1));
        let decay = Decay::new(0.9);
        cells.raise_times(0, 7, u64::from(u32::MAX) - 1, &decay, &mut coins);
        for _ in 0..3 {
            assert_eq!(cells.raise(1, |_| 0, 7, &decay, &mut coins), u32::MAX);
        }
        assert_eq!(cells.raise_times(0, 7, 5, &decay, &mut coins), u32::MAX);
        assert_eq!(cells.get(0), (u32::MAX, 7));
    }
}
