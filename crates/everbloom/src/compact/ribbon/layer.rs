//! A layer of a ribbon: the equations of some keys, solved.

use crate::cells::ones::Ones;
use crate::cells::{Bits, Packed};
use crate::error::{Error, Result};
use crate::hash::{Generator, mix64};
use crate::memory::Words;
use crate::plan::MAX_CELLS;
use crate::probe::multiply_shift;
use crate::solve::{Band, Part, Row, WIDTH};
use crate::state::state;
use crate::threads::Cores;

use super::sizing::{STRETCH, blocks, buckets, is_seam};

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

/// Starts of a bucket.
pub(super) const BUCKET: u64 = 128;
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
    /// A layer of so many starts, solved; what has no row is what `free` says.
    fn solved(
        seed: u64,
        starts: u64,
        thresholds: Packed,
        band: &Band,
        r: u32,
        free: impl FnMut() -> u32,
    ) -> Self {
        let words = Words::from(&band.solve(r, free)[..]);
        let slots = Bits::from_words(64 * words.len() as u64, words);
        Self { seed, starts, thresholds, slots }
    }

    /// The layer of these keys, in ascending order, without those that it bumps, which come with it.
    pub(super) fn bumping(
        seed: u64,
        hashes: &[u64],
        r: u32,
        overload: f64,
        cores: Cores,
    ) -> (Self, Vec<u64>) {
        let Bumping { starts, band, thresholds, bumped } = bump(hashes, r, overload, cores);
        (Self::solved(seed, starts, thresholds, &band, r, || 0), bumped)
    }

    /// The layer of all these keys in at least `slots` slots, unless two of them are in conflict.
    pub(super) fn standard(seed: u64, hashes: &[u64], slots: u64, r: u32) -> Option<Self> {
        let (band, starts) = band_of(hashes, slots, |hash| low_bits(fingerprint(hash), r))?;
        Some(Self::solved(seed, starts, unbumped(), &band, r, || 0))
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
        let free = || coins.next_u64() as u32;
        Some((Self::solved(seed, starts, unbumped(), &band, r, free), spanned))
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

/// What of the keys goes into a layer: the starts, the band, the thresholds, and who is bumped.
struct Bumping {
    starts: u64,
    band: Band,
    thresholds: Packed,
    bumped: Vec<u64>,
}

/// Fills a bumping layer with the keys of these hashes, in ascending order.
///
/// In stretches, so that several cores can do it. All keys of the first bucket of a stretch are in the next layer, so that no
/// equation of a stretch reaches into another one. They are the same whatever the number of cores.
fn bump(hashes: &[u64], r: u32, overload: f64, cores: Cores) -> Bumping {
    let buckets = buckets(hashes.len() as u64, overload);
    let starts = buckets * BUCKET;
    let mut band = Band::new((starts + WIDTH) as usize);
    // The equations of a stretch reach into the next bucket by less than their width.
    let parts = band.parts((STRETCH * BUCKET) as usize, WIDTH as usize);
    let mut left = hashes;
    let stretches: Vec<(Part<'_>, &[u64])> = (1..)
        .zip(parts)
        .map(|(next, part)| {
            let ends =
                left.partition_point(|h| multiply_shift(*h, starts) < next * STRETCH * BUCKET);
            let (now, later) = left.split_at(ends);
            left = later;
            (part, now)
        })
        .collect();
    let filled = cores.map(stretches, |(part, hashes)| fill(part, hashes, starts, r));
    let mut thresholds = Packed::new(buckets, THRESHOLD_BITS);
    let mut bumped = Vec::new();
    for (indices, mut others) in filled {
        indices.into_iter().for_each(|(bucket, index)| thresholds.set(bucket, index));
        bumped.append(&mut others);
    }
    Bumping { starts, band, thresholds, bumped }
}

/// Fills a stretch: the indices of its buckets' thresholds, and who is bumped.
///
/// Bucket by bucket, the highest offset first: the first equation in conflict, at an offset o, rules out
/// all thresholds up to o. The next one is taken, and keys below it are taken back, as if it had been
/// tried from the start: rows do not depend on those that came later.
fn fill(mut part: Part<'_>, hashes: &[u64], starts: u64, r: u32) -> (Vec<(u64, u64)>, Vec<u64>) {
    let start_of = |hash: u64| multiply_shift(hash, starts);
    let (mut indices, mut bumped) = (Vec::new(), Vec::new());
    let mut stored: Vec<(u64, usize)> = Vec::new();
    for group in hashes.chunk_by(|a, b| start_of(*a) / BUCKET == start_of(*b) / BUCKET) {
        let bucket = start_of(group[0]) / BUCKET;
        let index = if is_seam(bucket) {
            THRESHOLDS.len() - 1
        } else {
            fill_bucket(&mut part, group, starts, r, &mut stored)
        };
        let threshold = THRESHOLDS[index];
        bumped.extend(group.iter().filter(|hash| start_of(**hash) % BUCKET < threshold));
        indices.push((bucket, index as u64));
    }
    (indices, bumped)
}

/// Takes in the keys of a bucket down to the threshold whose index it says.
fn fill_bucket(
    part: &mut Part<'_>,
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
        match part.insert(start as usize, coefficients(hash), low_bits(fingerprint(hash), r)) {
            Row::Stored(at) => stored.push((offset, at)),
            Row::Redundant => {}
            Row::Conflict => {
                index = THRESHOLDS.partition_point(|threshold| *threshold <= offset);
                break;
            }
        }
    }
    for (_, at) in stored.iter().filter(|(offset, _)| *offset < THRESHOLDS[index]) {
        part.remove(*at);
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
    let mut band = Band::new(slots as usize);
    for &hash in hashes {
        let start = multiply_shift(hash, starts) as usize;
        if band.insert(start, coefficients(hash), result(hash)) == Row::Conflict {
            return None;
        }
    }
    Some((band, starts))
}

/// The share of random equations that follow from those of the band, among 40·2^r, at most a million
/// (catalogue B4 (c)).
fn spanned_share(band: &Band, starts: u64, r: u32, coins: &mut Generator) -> f64 {
    let tries = (40u64 << r).min(1_000_000);
    let mut random = || band.spans(coins.below(starts) as usize, coins.next_u64() | 1);
    (0..tries).filter(|_| random()).count() as f64 / tries as f64
}
