//! Many digests at a time, in filters whose probes range over the whole array.
//!
//! [`test_all`] goes through a chunk of digests in rounds. Round i prefetches the i-th cell of every key that is
//! still in question, then looks at all of them and drops the keys that fail. Half of the non-members fall in
//! every round, as one by one; but no branch depends on a bit, so none is mispredicted, and up to a chunk of
//! cache misses is under way at once. After a few rounds what is left are members mostly, and their other cells
//! are prefetched together.

use super::{Probe, Ring, Walk, scattered};
use crate::cells::Bits;
use crate::hash::Digest;
use crate::memory::prefetch;

/// Digests of a chunk: 4 KiB.
pub(crate) const CHUNK: usize = 256;

/// Arrays of fewer bits live in the L1 and L2 caches, where prefetching costs more than it saves.
pub(crate) const FETCH_FROM: u64 = 8 * (4 << 20);

/// Whether a flat array is so large that going through many keys in rounds pays.
pub(crate) fn worth_it(bits: &Bits) -> bool {
    bits.len() >= FETCH_FROM
}

/// Sets all cells of every digest.
pub(crate) fn set_all(bits: &mut Bits, probe: &Probe, digests: &[Digest]) {
    match probe {
        Probe::Ring(ring) if worth_it(bits) => set_in_rounds(bits, ring, digests),
        Probe::Ring(ring) => digests.iter().for_each(|&digest| {
            scattered::set_all(bits.words_mut(), *ring, digest);
        }),
        _ => digests.iter().for_each(|&digest| {
            scattered::set(bits.words_mut(), probe, digest);
        }),
    }
}

/// Writes for each digest whether all its cells are set.
pub(crate) fn test_all(bits: &Bits, probe: &Probe, digests: &[Digest], found: &mut [bool]) {
    match probe {
        Probe::Ring(ring) if worth_it(bits) => {
            for (digests, found) in digests.chunks(CHUNK).zip(found.chunks_mut(CHUNK)) {
                test_in_rounds(bits, ring, digests, found);
            }
        }
        _ => scattered::have(bits.words(), probe, digests, found),
    }
}

/// Keys whose cells are prefetched before the first is set: k cells each.
pub(crate) const SET_AHEAD: usize = 16;

fn set_in_rounds(bits: &mut Bits, ring: &Ring, digests: &[Digest]) {
    let start = bits.words().as_ptr();
    let fetch = |i: u64| prefetch(start.wrapping_add((i / 64) as usize).cast());
    digests.iter().take(SET_AHEAD).for_each(|digest| ring.indices(*digest).for_each(fetch));
    let later = digests.iter().skip(SET_AHEAD).map(Some).chain(std::iter::repeat(None));
    for (digest, later) in digests.iter().zip(later) {
        if let Some(later) = later {
            ring.indices(*later).for_each(fetch);
        }
        ring.indices(*digest).for_each(|i| {
            bits.set(i);
        });
    }
}

/// Rounds in which keys fall, before all other cells of those that are left are prefetched at once: seven of eight
/// non-members are gone by then, and members need all their cells anyway.
const ROUNDS: u32 = 3;

fn test_in_rounds(bits: &Bits, ring: &Ring, digests: &[Digest], found: &mut [bool]) {
    let words = bits.words();
    // Who is still in question, where their probes stand, and the cell each looks at next.
    let mut who = [0u32; CHUNK];
    let mut walks = [Walk::default(); CHUNK];
    let mut cells = [0u64; CHUNK];
    let mut left = digests.len();
    for (i, digest) in digests.iter().enumerate() {
        (who[i], walks[i]) = (i as u32, ring.walk(*digest));
    }
    found.fill(false);
    for _ in 0..ring.k().min(ROUNDS) {
        for (walk, cell) in walks[..left].iter_mut().zip(&mut cells) {
            *cell = ring.step(walk);
            prefetch(words.as_ptr().wrapping_add((*cell / 64) as usize).cast());
        }
        let mut kept = 0;
        for i in 0..left {
            (who[kept], walks[kept]) = (who[i], walks[i]);
            kept += is_set(words, cells[i]) as usize;
        }
        left = kept;
    }
    let rest = ring.k().saturating_sub(ROUNDS);
    for &(mut walk) in &walks[..left] {
        (0..rest).for_each(|_| {
            let cell = ring.step(&mut walk);
            prefetch(words.as_ptr().wrapping_add((cell / 64) as usize).cast());
        });
    }
    for (&who, &(mut walk)) in who[..left].iter().zip(&walks) {
        let all = (0..rest).fold(1, |all, _| all & is_set(words, ring.step(&mut walk)));
        found[who as usize] = all != 0;
    }
}

/// 1 if the cell is set, or 0.
#[inline(always)]
fn is_set(words: &[u64], cell: u64) -> u64 {
    words[(cell / 64) as usize] >> (cell % 64) & 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hasher;

    /// A rate would hardly show it: seven of eight non-members fall in the first rounds, few ever reach the last cell.
    #[test]
    fn a_batch_looks_at_every_cell() {
        for (m, k) in
            [(FETCH_FROM, 2), (FETCH_FROM, 3), (FETCH_FROM + 1, 4), (FETCH_FROM, 7), (1000, 7)]
        {
            let ring = Ring::new(m, k);
            let probe = Probe::Ring(ring);
            let mut bits = Bits::new(m);
            let digests: Vec<Digest> =
                (0..2u64).map(|key| Hasher::default().digest(&key)).collect();
            set_all(&mut bits, &probe, &digests);
            let mut found = [false; 2];
            test_all(&bits, &probe, &digests, &mut found);
            assert_eq!(found, [true; 2], "m = {m}, k = {k}");
            for cell in ring.indices(digests[0]) {
                bits.reset(cell);
                test_all(&bits, &probe, &digests, &mut found);
                assert_eq!(found, [false, true], "m = {m}, k = {k} without cell {cell}");
                bits.set(cell);
            }
        }
    }
}
