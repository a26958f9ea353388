//! What the vector instructions compute, lane by lane. Single calls are not inlined, to keep loops over keys short.

use super::*;

fn line_bit(word: u64, lane: usize) -> u64 {
    1 << bit_of_lane(word, lane)
}

/// Lane i of a half line is half a word: the lower one if i is even.
fn half_bit(key: u32, word: usize) -> u64 {
    let bit = |lane: usize| 1u64 << (key.wrapping_mul(SALTS[lane]) >> 27);
    bit(2 * word) | bit(2 * word + 1) << 32
}

/// What a line shows of a key: one if it has all bits.
pub(super) type Seen = u8;
pub(super) const ALL: Seen = 1;

pub(super) fn line_seen(line: &[u64; LINE], word: u64) -> Seen {
    // No early exit: a mispredicted branch costs more than the eight lanes.
    let missing = |sum, (lane, bits): (usize, &u64)| sum | (line_bit(word, lane) & !bits);
    Seen::from(line.iter().enumerate().fold(0, missing) == 0)
}

#[inline(never)]
pub(super) fn line_has(line: &[u64; LINE], word: u64) -> bool {
    line_seen(line, word) == ALL
}

pub(super) fn shared_line_has(line: &[AtomicU64; LINE], word: u64) -> bool {
    line_has(&std::array::from_fn(|lane| line[lane].load(Ordering::Relaxed)), word)
}

#[inline(never)]
pub(super) fn line_set(line: &mut [u64; LINE], word: u64) -> bool {
    let mut fresh = 0;
    for (lane, bits) in line.iter_mut().enumerate() {
        let bit = line_bit(word, lane);
        fresh |= bit & !*bits;
        *bits |= bit;
    }
    fresh != 0
}

#[inline(never)]
pub(super) fn half_has(half: &[u64; HALF], key: u32) -> bool {
    let missing = |sum, (word, bits): (usize, &u64)| sum | (half_bit(key, word) & !bits);
    half.iter().enumerate().fold(0, missing) == 0
}

#[inline(never)]
pub(super) fn half_set(half: &mut [u64; HALF], key: u32) -> bool {
    let mut fresh = 0;
    for (word, bits) in half.iter_mut().enumerate() {
        let bit = half_bit(key, word);
        fresh |= bit & !*bits;
        *bits |= bit;
    }
    fresh != 0
}

#[inline(always)]
pub(super) fn load_lines<const MORE: bool>(chunk: &mut Chunk, digests: &mut impl Digests, n: u64) {
    chunk.load_lines::<MORE>(digests, n);
}

#[inline(always)]
pub(super) fn load_halves(chunk: &mut Chunk, digests: &mut impl Digests, n: u64) {
    chunk.load_halves(digests, n);
}

/// Keys of lines are hashed one by one.
const ONE_BY_ONE: bool = true;

many!();
