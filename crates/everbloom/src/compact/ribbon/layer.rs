//! A layer of a ribbon: the equations of some keys, solved.

use std::ops::Range;

use crate::cells::ones::Ones;
use crate::cells::{Bits, Packed};
use crate::error::{Error, Result};
use crate::hash::{Generator, mix64};
use crate::memory::Words;
use crate::plan::MAX_CELLS;
use crate::probe::multiply_shift;
use crate::solve::{Band, Row, WIDTH};
use crate::state::state;
use crate::threads::Cores;

use super::shape::{BUCKET, STRETCH, blocks, buckets, is_seam};

/// Slots, and which keys are theirs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layer {
    pub(super) seed: u64,
    /// Slots where an equation may start.
    pub(super) starts: u64,
    /// For each bucket the index of its threshold; none where every key is in this layer.
    pub(super) thresholds: Packed,
    pub(super) slots: Bits,
}

state!(Layer { seed, starts, thresholds, slots });

/// Keys with an offset below are in the next layer.
const THRESHOLDS: [u64; 4] = [0, 25, 49, BUCKET];
pub(super) const THRESHOLD_BITS: u32 = 2;
/// The coefficients of a hash, the first of them 1.
#[inline]
pub(super) fn coefficients(hash: u64) -> u64 {
    mix64(hash ^ 1) | 1
}

/// 32 bits of which a fingerprint takes the lowest, independent of start and coefficients.
#[inline]
pub(super) fn fingerprint(hash: u64) -> u32 {
    mix64(hash ^ 2) as u32
}

impl Layer {
    fn of(seed: u64, starts: u64, thresholds: Packed, slots: Words) -> Self {
        let slots = Bits::from_words(64 * slots.len() as u64, slots);
        Self { seed, starts, thresholds, slots }
    }

    /// The layer of these keys, in ascending order, without those that it bumps, which come with it.
    ///
    /// In stretches, so that several cores can do it. All keys of the first bucket of a stretch are in the next layer, so that
    /// no equation of a stretch reaches into another one. They are the same whatever the number of cores.
    pub(super) fn bumping(
        seed: u64,
        hashes: &[u64],
        r: u32,
        overload: f64,
        cores: Cores,
    ) -> (Self, Vec<u64>) {
        let buckets = buckets(hashes.len() as u64, overload);
        let starts = buckets * BUCKET;
        let mut slots = zeros(starts, r);
        let stretches = stretches(hashes, starts, slots.make_mut(), r);
        let filled = cores.map(stretches, |Stretch { unknowns, hashes, slots }| {
            let mut band = Band::new(unknowns);
            let filled = fill(&mut band, hashes, starts, r);
            band.solve(r, slots, || 0);
            filled
        });
        let mut thresholds = Packed::new(buckets, THRESHOLD_BITS);
        let mut bumped = Vec::new();
        for (indices, mut others) in filled {
            indices.into_iter().for_each(|(bucket, index)| thresholds.set(bucket, index));
            bumped.append(&mut others);
        }
        (Self::of(seed, starts, thresholds, slots), bumped)
    }

    /// The layer of all these keys in at least `slots` slots, unless two of them are in conflict.
    pub(super) fn standard(seed: u64, hashes: &[u64], slots: u64, r: u32) -> Option<Self> {
        let (band, starts) = band_of(hashes, slots, |hash| low_bits(fingerprint(hash), r))?;
        Some(Self::of(seed, starts, unbumped(), solved(&band, starts, r, || 0)))
    }

    /// [`Layer::standard`] with results of zero, and the share of other equations that follow from these;
    /// unless it is more than a quarter of those that are satisfied by chance.
    pub(super) fn homogeneous(
        seed: u64,
        hashes: &[u64],
        slots: u64,
        r: u32,
        coins: &mut Generator,
    ) -> Option<(Self, f64)> {
        let (band, starts) = band_of(hashes, slots, |_| 0)?;
        let spanned = spanned_share(&band, starts, r, coins);
        if spanned > libm::exp2(-f64::from(r)) / 4.0 {
            return None;
        }
        // Zeros everywhere would be a solution too, for members and all others alike.
        let mut coins = Generator::new(seed);
        let slots = solved(&band, starts, r, || coins.next_u64() as u32);
        Some((Self::of(seed, starts, unbumped(), slots), spanned))
    }

    /// Whether the keys of this layer do not include one that starts there.
    #[inline]
    pub(super) fn bumps(&self, start: u64) -> bool {
        !self.thresholds.is_empty()
            && start % BUCKET < THRESHOLDS[self.thresholds.get(start / BUCKET) as usize % 4]
    }

    /// Whether the slots add up to `result`, in each of their bits.
    #[inline]
    pub(super) fn agrees(
        &self,
        by: impl Ones,
        start: u64,
        coefficients: u64,
        mut result: u32,
        r: usize,
    ) -> bool {
        let (at, shift) = ((start / 64) as usize * r, start % 64);
        let words = self.slots.words();
        let Some(here) = words.get(at..at + r) else { return false };
        // Nothing is read behind the last block.
        let next = words.get(at + r..at + 2 * r).unwrap_or(here);
        let masks = [coefficients << shift, coefficients >> 1 >> (63 - shift)];
        let ((here, last), (next, last_next)) = (here.as_chunks::<4>(), next.as_chunks::<4>());
        // Four bits at a time, without a branch: of non-members, 15 in 16 fail in the first four.
        for (here, next) in here.iter().zip(next) {
            if is_wrong(by, here, next, masks, result) {
                return false;
            }
            result >>= 4;
        }
        !is_wrong(by, last, last_next, masks, result)
    }

    fn check(&self) -> Result<()> {
        let buckets = self.thresholds.len();
        let good = (1..=MAX_CELLS).contains(&self.starts)
            && (buckets == 0 || buckets.checked_mul(BUCKET) == Some(self.starts))
            && self.thresholds.width() == THRESHOLD_BITS;
        if good { Ok(()) } else { Err(Error::corrupt(0, "corrupt filter: starts of a layer")) }
    }
}

/// Whether one of these bits of the slots' sum is not that of the result; masks say which slots of either block are added.
#[inline(always)]
fn is_wrong(by: impl Ones, here: &[u64], next: &[u64], masks: [u64; 2], mut result: u32) -> bool {
    let mut wrong = 0;
    for (here, next) in here.iter().zip(next) {
        wrong |= by.parity(here & masks[0] ^ next & masks[1]) ^ result;
        result >>= 1;
    }
    wrong & 1 != 0
}

/// What one core fills and solves.
struct Stretch<'a> {
    unknowns: Range<usize>,
    hashes: &'a [u64],
    /// The solution.
    slots: &'a mut [u64],
}

/// The stretches of a layer with these keys and slots. Equations of each reach into the bucket behind it, by less than their
/// width: the first block of that bucket is its own.
fn stretches<'a>(
    mut hashes: &'a [u64],
    starts: u64,
    mut slots: &'a mut [u64],
    r: u32,
) -> Vec<Stretch<'a>> {
    let (mut all, mut first, mut end) = (Vec::new(), 0, 0);
    while end < starts {
        end = (end + STRETCH * BUCKET).min(starts);
        let unknowns = first..(end + WIDTH) as usize;
        first = unknowns.end;
        let keys = hashes.partition_point(|hash| multiply_shift(*hash, starts) < end);
        let (these, later) = hashes.split_at(keys);
        let (its, others) = slots.split_at_mut(unknowns.len() / 64 * r as usize);
        all.push(Stretch { unknowns, hashes: these, slots: its });
        (hashes, slots) = (later, others);
    }
    all
}

/// Fills a stretch: the indices of its buckets' thresholds, and who is bumped.
///
/// Bucket by bucket, the highest offset first: the first equation in conflict, at an offset o, rules out
/// all thresholds up to o. The next one is taken, and keys below it are taken back, as if it had been
/// tried from the start: rows do not depend on those that came later.
fn fill(band: &mut Band, hashes: &[u64], starts: u64, r: u32) -> (Vec<(u64, u64)>, Vec<u64>) {
    let start_of = |hash: u64| multiply_shift(hash, starts);
    let (mut indices, mut bumped) = (Vec::new(), Vec::new());
    let mut stored: Vec<(u64, usize)> = Vec::new();
    for group in hashes.chunk_by(|a, b| start_of(*a) / BUCKET == start_of(*b) / BUCKET) {
        let bucket = start_of(group[0]) / BUCKET;
        let index = if is_seam(bucket) {
            THRESHOLDS.len() - 1
        } else {
            fill_bucket(band, group, starts, r, &mut stored)
        };
        let threshold = THRESHOLDS[index];
        bumped.extend(group.iter().filter(|hash| start_of(**hash) % BUCKET < threshold));
        indices.push((bucket, index as u64));
    }
    (indices, bumped)
}

/// Takes in the keys of a bucket down to the threshold whose index it says.
fn fill_bucket(
    band: &mut Band,
    hashes: &[u64],
    starts: u64,
    r: u32,
    stored: &mut Vec<(u64, usize)>,
) -> usize {
    stored.clear();
    let mut index = 0;
    for &hash in hashes.iter().rev() {
        let start = multiply_shift(hash, starts);
        let offset = start % BUCKET;
        match band.insert(start as usize, coefficients(hash), low_bits(fingerprint(hash), r)) {
            Row::Stored(at) => stored.push((offset, at)),
            Row::Redundant => {}
            Row::Conflict => {
                index = THRESHOLDS.partition_point(|threshold| *threshold <= offset);
                break;
            }
        }
    }
    for (_, at) in stored.iter().filter(|(offset, _)| *offset < THRESHOLDS[index]) {
        band.remove(*at);
    }
    index
}

/// The lowest `r` bits, 1 to 32.
fn low_bits(word: u32, r: u32) -> u32 {
    word & (u32::MAX >> (32 - r))
}

/// No thresholds: all keys are in the layer.
fn unbumped() -> Packed {
    Packed::new(0, THRESHOLD_BITS)
}

/// The band of these keys in at least `slots` slots, and the number of starts, unless two are in conflict.
fn band_of(hashes: &[u64], slots: u64, result: impl Fn(u64) -> u32) -> Option<(Band, u64)> {
    let slots = 64 * blocks(slots);
    let starts = slots - (WIDTH - 1);
    let mut band = Band::new(0..slots as usize);
    for &hash in hashes {
        let start = multiply_shift(hash, starts) as usize;
        if band.insert(start, coefficients(hash), result(hash)) == Row::Conflict {
            return None;
        }
    }
    Some((band, starts))
}

/// The slots of a layer before it is solved.
fn zeros(starts: u64, r: u32) -> Words {
    Words::zeroed(blocks(starts + WIDTH - 1) as usize * r as usize)
}

/// The slots of a layer that bumps nobody; what has no row is what `free` says.
fn solved(band: &Band, starts: u64, r: u32, free: impl FnMut() -> u32) -> Words {
    let mut slots = zeros(starts, r);
    band.solve(r, slots.make_mut(), free);
    slots
}

/// The share of random equations that follow from those of the band, among 40·2^r, at most a million
/// (catalogue B4 (c)).
fn spanned_share(band: &Band, starts: u64, r: u32, coins: &mut Generator) -> f64 {
    let tries = (40u64 << r).min(1_000_000);
    let mut random = || band.spans(coins.below(starts) as usize, coins.next_u64() | 1);
    (0..tries).filter(|_| random()).count() as f64 / tries as f64
}
