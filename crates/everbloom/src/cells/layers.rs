//! Counters in popcount-linked layers: a bit for each counter and one for each increment (ML-CCBF, catalogue
//! C2).
//!
//! ```text
//!   layer 0   1 0 0 1 0 1 0 1     a bit per counter, in an array of its own
//!   layer 1   1 1 0 0             as many bits as layer 0 has ones, in their order
//!   layer 2   0 0                 as many bits as layer 1 has ones
//!             └ counters 0 and 3 are two, counters 5 and 7 are one: 8 + 6 bits in all
//! ```
//!
//! Read upwards, a counter of φ is φ ones and a zero, Huffman's code where half of all counters are zero,
//! a third one, and so on. [`Levels`](super::Levels) has the same layers inside words of fixed size, which
//! can be full. These never are: the layers above 0 of 512 counters each are a [`Rows`] row, which grows.
//! So a rank is counted within 512 bits, whatever the number of counters, and an increment moves a few
//! words; one sequence of layers over all counters would move half of all bits.

use super::rows::Row;
use super::{Bits, Rows};
use crate::error::{Error, Result};
use crate::state::state;

/// Counters per row.
const CHUNK: u64 = 512;
const WORDS: usize = (CHUNK / 64) as usize;

/// `len` counters without a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    first: Bits,
    upper: Rows,
}

/// Where a counter ends: its zero, in which layer and at which place there.
struct End {
    /// Where the layer of the zero begins in the row, and how long it is.
    start: u64,
    len: u64,
    /// The zero.
    at: u64,
    /// The one below it, unless that is in layer 0.
    below: Option<u64>,
    count: u64,
}

impl Layers {
    /// `len` zero counters, or an error where there is no room for them.
    pub fn try_new(len: u64) -> Result<Self> {
        let upper = Rows::try_new(len.div_ceil(CHUNK), |_| (0, 0))?;
        Ok(Self { first: Bits::try_new(len)?, upper })
    }

    /// Number of counters.
    pub fn len(&self) -> u64 {
        self.first.len()
    }

    /// Whether there are no counters at all.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Bits of all layers: those of layer 0 and the sum of the counters.
    pub fn bits(&self) -> u64 {
        self.first.len() + self.upper.bits()
    }

    /// Whether the counter at `i` is not zero: one bit of layer 0.
    #[inline]
    pub fn any(&self, i: u64) -> bool {
        self.first.get(i)
    }

    /// Number of counters that are not zero.
    pub fn nonzero(&self) -> u64 {
        self.first.ones()
    }

    /// The words of layer 0 that belong to a row.
    fn chunk(&self, row: u64) -> &[u64] {
        let words = self.first.words();
        let start = row as usize * WORDS;
        &words[start..(start + WORDS).min(words.len())]
    }

    /// Ones of layer 0 in the chunk of `i`: before it, and in all.
    fn ranks(&self, i: u64) -> (u64, u64) {
        let (mut before, mut all) = (0, 0);
        let (word, bit) = ((i % CHUNK / 64) as usize, i % 64);
        for (w, bits) in self.chunk(i / CHUNK).iter().enumerate() {
            if w == word {
                before = all + (bits & ((1 << bit) - 1)).count_ones();
            }
            all += bits.count_ones();
        }
        (before.into(), all.into())
    }

    /// Follows a counter that is not zero upwards.
    fn end(&self, i: u64) -> End {
        let row = self.upper.row(i / CHUNK);
        let (place, len) = self.ranks(i);
        let mut end = End { start: 0, len, at: place, below: None, count: 1 };
        while row.get(end.at) && end.at < row.len() {
            // Layers of ones alone have the counter in the same place. They are passed in one step, or a
            // counter of thousands would take as many steps for each change.
            let full = (row.next_zero(end.start).min(row.len()) - end.start) / end.len;
            if let Some(more) = full.checked_sub(1).filter(|more| *more > 0) {
                end.start += more * end.len;
                end.at += more * end.len;
                end.count += more;
            }
            let (before, all) =
                (row.ones(end.start, end.at), row.ones(end.start, end.start + end.len));
            let start = end.start + end.len;
            end = End {
                start,
                len: all,
                at: start + before,
                below: Some(end.at),
                count: end.count + 1,
            };
        }
        end
    }

    /// The counter at `i`.
    pub fn get(&self, i: u64) -> u64 {
        if self.any(i) { self.end(i).count } else { 0 }
    }

    /// Adds one.
    pub fn increment(&mut self, i: u64) {
        let row = i / CHUNK;
        // The counter's zero becomes a one, which has a zero in the next layer.
        let zero = if self.any(i) {
            let End { start, len, at, .. } = self.end(i);
            let before = self.upper.row(row).ones(start, at);
            self.upper.set(row, at);
            start + len + before
        } else {
            let (place, _) = self.ranks(i);
            self.first.set(i);
            place
        };
        self.upper.replace(row, zero, 0, 0, 1);
    }

    /// Takes one away, unless the counter is zero.
    pub fn decrement(&mut self, i: u64) {
        if !self.any(i) {
            return;
        }
        let row = i / CHUNK;
        let End { at, below, .. } = self.end(i);
        self.upper.replace(row, at, 1, 0, 0);
        match below {
            Some(one) => self.upper.reset(row, one),
            None => self.first.reset(i),
        }
    }

    /// Adds the counters of an array of the same length. Rows are read and written whole, so that the
    /// work is that of the bits in them.
    pub fn add(&mut self, other: &Layers) {
        for row in 0..self.upper.len() {
            if other.upper.row(row).is_empty() {
                continue;
            }
            let mut counts = self.counts(row);
            let more = other.counts(row);
            counts.iter_mut().zip(&more).for_each(|(count, more)| *count += more);
            self.store(row, &counts);
        }
    }

    /// The counters of a row.
    fn counts(&self, row: u64) -> Vec<u64> {
        let positions = row * CHUNK..((row + 1) * CHUNK).min(self.len());
        let mut counts: Vec<u64> = positions.clone().map(|i| self.any(i).into()).collect();
        let view = self.upper.row(row);
        let mut layer: Vec<usize> = (0..counts.len()).filter(|&i| counts[i] > 0).collect();
        let mut at = 0;
        while !layer.is_empty() && at < view.len() {
            let (start, len) = (at, layer.len() as u64);
            layer = (start..start + len)
                .zip(layer)
                .filter(|(b, _)| view.get(*b))
                .map(|l| l.1)
                .collect();
            layer.iter().for_each(|&i| counts[i] += 1);
            at += len;
        }
        counts
    }

    /// Writes the counters of a row.
    fn store(&mut self, row: u64, counts: &[u64]) {
        let length: u64 = counts.iter().sum();
        let mut words = vec![0u64; (length / 64) as usize + 1];
        let mut layer: Vec<usize> = (0..counts.len()).filter(|&i| counts[i] > 0).collect();
        for &i in &layer {
            self.first.set(row * CHUNK + i as u64);
        }
        let (mut at, mut level) = (0, 1);
        while !layer.is_empty() {
            for &i in &layer {
                words[at / 64] |= u64::from(counts[i] > level) << (at % 64);
                at += 1;
            }
            layer.retain(|&i| counts[i] > level);
            level += 1;
        }
        self.upper.store(row, &words, length);
    }

    /// Every counter, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.upper.len()).flat_map(|row| self.counts(row))
    }

    /// Layer `t` of the first 512 counters, for looking at.
    pub fn layer(&self, t: u32) -> Vec<bool> {
        if t == 0 {
            return (0..self.len().min(CHUNK)).map(|i| self.any(i)).collect();
        }
        let row = self.upper.row(0);
        let (mut start, mut len) = (0, self.ranks(0).1);
        for _ in 1..t {
            (start, len) = (start + len, row.ones(start, start + len));
        }
        (start..start + len).map(|at| row.get(at)).collect()
    }

    fn check(&self) -> Result<()> {
        if self.sound() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: layers that do not fit each other"))
    }

    /// The layers of every row are as long as the ones below say, and fill it.
    fn sound(&self) -> bool {
        let fits = |row: u64, view: Row<'_>| {
            let ones: u32 = self.chunk(row).iter().map(|w| w.count_ones()).sum();
            let (mut start, mut len) = (0, u64::from(ones));
            while len > 0 && start + len <= view.len() {
                (start, len) = (start + len, view.ones(start, start + len));
            }
            len == 0 && start == view.len()
        };
        self.first.len().div_ceil(CHUNK) == self.upper.len()
            && (0..self.upper.len()).all(|row| fits(row, self.upper.row(row)))
    }
}

state!(Layers { first, upper });

#[cfg(test)]
mod tests {
    use super::super::Hierarchy;
    use super::*;
    use crate::hash::Generator;

    #[test]
    fn layers_count_like_plain_counters() {
        for len in [1u64, 511, 512, 513, 3000] {
            let mut random = Generator::new(len);
            let mut layers = Layers::try_new(len).unwrap();
            let mut plain = vec![0u64; len as usize];
            for round in 0..20_000 {
                // Some counters are hot.
                let i = random.below(len) / (1 + random.below(4));
                let count = &mut plain[i as usize];
                if random.below(3) > u64::from(round > 12_000) {
                    layers.increment(i);
                    *count += 1;
                } else {
                    layers.decrement(i);
                    *count = count.saturating_sub(1);
                }
                assert_eq!(layers.get(i), *count);
            }
            assert!(layers.sound() && layers.iter().eq(plain.iter().copied()));
            assert_eq!(layers.bits(), len + plain.iter().sum::<u64>());
            let mut sum = layers.clone();
            sum.add(&layers);
            assert!(sum.sound() && sum.iter().eq(plain.iter().map(|c| 2 * c)));
            for (i, count) in plain.iter().enumerate() {
                (0..=*count).for_each(|_| layers.decrement(i as u64));
            }
            assert_eq!(
                layers,
                Layers { upper: layers.upper.clone(), ..Layers::try_new(len).unwrap() }
            );
            assert_eq!(layers.bits(), len);
        }
    }

    #[test]
    fn layers_are_those_of_bounded_words() {
        let (mut layers, mut word) = (Layers::try_new(40).unwrap(), Hierarchy::new(512, 40));
        let mut random = Generator::new(7);
        for _ in 0..300 {
            let i = random.below(40) * random.below(40) / 40;
            layers.increment(i);
            assert!(word.increment(i));
        }
        for t in 0..40 {
            assert_eq!(layers.layer(t), word.level(t + 1), "layer {t}");
        }
    }
}
