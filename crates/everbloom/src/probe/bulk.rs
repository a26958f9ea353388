//! Many digests at a time, in filters whose probes range over the whole array.
//!
//! [`test_all`] goes through a chunk of digests in rounds. Round i prefetches the i-th cell of every key that is
//! still in question, then looks at all of them and drops the keys that fail. Half of the non-members fall in
//! every round, as one by one; but no branch depends on a bit, so none is mispredicted, and up to a chunk of
//! cache misses is under way at once. After a few rounds what is left are members mostly, and their other cells
//! are prefetched together.
//!
//! Members gain nothing by rounds: all their cells have to be looked at, and a processor that works ahead has as many of them
//! under way as it can, whether prefetched or not. So the first keys of a chunk are asked for one by one, and where
//! most of them are members, the others are, too.

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
        _ => scattered::set_each(bits.words_mut(), probe, digests),
    }
}

/// Writes for each digest whether all its cells are set.
pub(crate) fn test_all(bits: &Bits, probe: &Probe, digests: &[Digest], found: &mut [bool]) {
    match probe {
        Probe::Ring(ring) if worth_it(bits) => {
            for (digests, found) in digests.chunks(CHUNK).zip(found.chunks_mut(CHUNK)) {
                let (first, digests) = digests.split_at(digests.len().min(SAMPLE));
                let (known, found) = found.split_at_mut(first.len());
                scattered::have(bits.words(), probe, first, known);
                let members = known.iter().filter(|known| **known).count();
                if 2 * members > first.len() {
                    scattered::have(bits.words(), probe, digests, found);
                } else {
                    test_in_rounds(bits, ring, digests, found);
                }
            }
        }
        _ => scattered::have(bits.words(), probe, digests, found),
    }
}

/// Keys of a chunk by which the others are judged: so few that they cost little where they are alone in being no members.
const SAMPLE: usize = 16;

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
    /// Keys behind the sample, once after members and once after others.
    #[test]
    fn a_batch_looks_at_every_cell() {
        for (m, k) in
            [(FETCH_FROM, 2), (FETCH_FROM, 3), (FETCH_FROM + 1, 4), (FETCH_FROM, 7), (1000, 7)]
        {
            let ring = Ring::new(m, k);
            let probe = Probe::Ring(ring);
            let mut bits = Bits::new(m);
            let some = |keys: std::ops::Range<u64>| -> Vec<Digest> {
                keys.map(|key| Hasher::default().digest(&key)).collect()
            };
            let last = some(0..2);
            set_all(&mut bits, &probe, &last);
            let members = vec![last[1]; SAMPLE];
            for before in [members, some(2..2 + SAMPLE as u64)] {
                let digests = [before, last.clone()].concat();
                let asked = |bits: &Bits| {
                    let mut found = vec![true; digests.len()];
                    test_all(bits, &probe, &digests, &mut found);
                    let one_by_one =
                        digests.iter().map(|d| scattered::has(bits.words(), &probe, *d));
                    assert!(one_by_one.eq(found.iter().copied()), "m = {m}, k = {k}");
                    [found[SAMPLE], found[SAMPLE + 1]]
                };
                assert_eq!(asked(&bits), [true; 2], "m = {m}, k = {k}");
                for cell in ring.indices(last[0]) {
                    bits.reset(cell);
                    assert!(!asked(&bits)[0], "m = {m}, k = {k} without cell {cell}");
                    bits.set(cell);
                }
            }
        }
    }
}
