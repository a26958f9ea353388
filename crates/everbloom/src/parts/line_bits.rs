//! Bits in lines of 512, eight or sixteen of them per key, one or two in each of a line's eight words: what vector
//! instructions set and test at once. For the blocked filter, and for filters inside which keys come in bulk.

use crate::cells::{Bits, ones};
use crate::hash::Digests;
use crate::probe::{Blocked, Inside, LANES, lanes};
use crate::threads;

/// Whether many keys at once are a matter for vector instructions.
pub(crate) fn is_for_lanes(probe: Blocked) -> bool {
    probe.inside() == Inside::Lanes && probe.blocks() <= lanes::MOST_LINES
}

/// Indices in each lane.
pub(crate) fn rounds(probe: Blocked) -> u32 {
    probe.k() / LANES as u32
}

/// Sets the bits of many keys in lines; says how many keys there were.
#[inline]
pub(crate) fn set_all(probe: Blocked, bits: &mut Bits, digests: impl Digests) -> u64 {
    lanes::lines_set(bits.words_mut().as_chunks_mut().0, rounds(probe), digests)
}

/// Whether the lines have all bits of each of many keys; says how many keys there were.
#[inline]
pub(crate) fn have(probe: Blocked, bits: &Bits, digests: impl Digests, found: &mut [bool]) -> u64 {
    lanes::lines_have(bits.words().as_chunks().0, rounds(probe), digests, found)
}

/// P(a non-member passes): the mean over the lines, of which each lane counts for itself.
pub(crate) fn fpr(probe: Blocked, bits: &Bits) -> f64 {
    let power = |ones: usize| (ones as f64 / 64.0).powi(rounds(probe) as i32);
    let powers: [f64; 65] = std::array::from_fn(power);
    let lane = |word: &u64| powers[ones::count(*word) as usize];
    let line = |line: &[u64; 8]| line.iter().map(lane).product::<f64>();
    let sum = threads::sum(bits.blocks(), |lines| lines.iter().map(line).sum());
    sum / probe.blocks() as f64
}

/// How many keys leave a line with so many zeros. A lane gets a bit of every key:
/// E[zeros] = B·(1 − 1/64)^{rounds·i}.
pub(crate) fn keys_in(probe: Blocked, zeros: u64) -> Option<f64> {
    (zeros > 0).then(|| {
        let rounds = f64::from(probe.k()) / LANES as f64;
        libm::log(zeros as f64 / probe.block() as f64) / (rounds * libm::log1p(-1.0 / 64.0))
    })
}

/// The number of ones in every block.
pub(crate) fn ones_by_block(probe: Blocked, bits: &Bits) -> impl Iterator<Item = u64> {
    let blocks = bits.words().chunks_exact((probe.block() / 64) as usize);
    blocks.map(|block| block.iter().map(|w| u64::from(w.count_ones())).sum())
}
