//! The probes of a classic filter, eight at once.
//!
//! A query of a classic filter looks at k cells all over the array. One by one, with an exit at the first
//! zero, a non-member's query ends after two of them on average, but nobody can foretell after which: the
//! mispredicted branch costs more than all k looks. Eight indices fit one register and eight words are
//! gathered by one instruction, so that the answer comes without a branch; of the non-members that pass
//! eight, hardly any are left for the rest.
//!
//! The way on the ring has a closed form, xᵢ = H1 + i·H2 + (i+1 choose 3)·STEP, so its indices need not
//! be computed one after the other. [`scalar`] is the twin that walks; tests hold the other against it.
//! Arrays of 2³² cells and more are left to it. Independent indices, which small filters have, are mixed eight at
//! once.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::cells::set_bit;
use crate::hash::Digest;
use crate::probe::{Mixed, Probe, Ring};

/// Whether all cells of a digest are set, by any scheme.
#[inline]
pub(crate) fn has(words: &[u64], probe: &Probe, digest: Digest) -> bool {
    match probe {
        Probe::Ring(ring) => all_set(words, ring, digest),
        Probe::Mixed(mixed) => all_mixed(words, mixed, digest),
        _ => probe.all(digest, |i| words[(i / 64) as usize] >> (i % 64) & 1 != 0),
    }
}

/// [`has`] of each of many digests: the instruction set is asked for once, and called once.
pub(crate) fn have(words: &[u64], probe: &Probe, digests: &[Digest], found: &mut [bool]) {
    #[cfg(target_arch = "x86_64")]
    if fits(words, probe.m()) && crate::simd::has_avx512() {
        match probe {
            Probe::Ring(ring) => {
                // SAFETY: the instruction set is there, and the array fits it.
                return unsafe { avx512::each_all_set(words, ring, digests, found) };
            }
            Probe::Mixed(mixed) => {
                // SAFETY: as above.
                return unsafe { avx512::each_all_mixed(words, mixed, digests, found) };
            }
            _ => {}
        }
    }
    let each = digests.iter().zip(found);
    match probe {
        #[cfg(target_arch = "x86_64")]
        Probe::Ring(ring) if crate::simd::has_avx2() => {
            // SAFETY: as in [`all_set`].
            unsafe { bmi2::each_all_set(words, *ring, each) }
        }
        Probe::Ring(ring) => scalar::each_all_set(words, *ring, each),
        _ => each.for_each(|(digest, found)| *found = has(words, probe, *digest)),
    }
}

/// Sets all cells of a digest, by any scheme; true if one was zero.
#[inline]
pub(crate) fn set(words: &mut [u64], probe: &Probe, digest: Digest) -> bool {
    match probe {
        Probe::Ring(ring) => set_all(words, *ring, digest),
        // Independent indices one after the other, too: eight out of a vector register took a fifth longer.
        _ => {
            let mut new = false;
            probe.each(digest, |i| new |= set_bit(words, i));
            new
        }
    }
}

/// Whether all cells of a digest are set.
#[inline(always)]
pub(crate) fn all_set(words: &[u64], ring: &Ring, digest: Digest) -> bool {
    #[cfg(target_arch = "x86_64")]
    if fits(words, ring.m()) && crate::simd::has_avx512() {
        // SAFETY: the instruction set is there, and the array fits it.
        return unsafe { avx512::all_set(words, ring, digest) };
    }
    #[cfg(target_arch = "x86_64")]
    if crate::simd::has_avx2() {
        // SAFETY: processors with AVX2 that are taken for such have these instructions, too.
        return unsafe { bmi2::all_set(words, ring, digest) };
    }
    scalar::all_set(words, ring, digest)
}

/// [`all_set`] for independent indices. Each costs two mixes of 64 bits, which takes longer than looking at the cells of
/// the small filters that have them.
#[inline]
fn all_mixed(words: &[u64], mixed: &Mixed, digest: Digest) -> bool {
    #[cfg(target_arch = "x86_64")]
    if fits(words, mixed.m()) && crate::simd::has_avx512() {
        // SAFETY: the instruction set is there, and the array fits it.
        return unsafe { avx512::all_mixed(words, mixed, digest) };
    }
    mixed.indices(digest).all(|i| words[(i / 64) as usize] >> (i % 64) & 1 != 0)
}

/// Sets all cells of a digest; true if one was zero.
///
/// One after the other: two of them may share a word, and indices that come out of a vector register
/// through memory cost more than they save. For the numbers of probes at 1 % and 0.1 % the loop is
/// compiled away. Always inlined: a loop that does not use whether keys were new then does not look for it,
/// which is a fifth of the work.
#[inline(always)]
pub(crate) fn set_all(words: &mut [u64], ring: Ring, digest: Digest) -> bool {
    assert!(ring.m() <= 64 * words.len() as u64, "{NO_WORD}");
    // SAFETY: every index below m has its word.
    unsafe {
        match ring.k() {
            7 => set_cells(words, ring, digest, 7),
            10 => set_cells(words, ring, digest, 10),
            _ => set_any_cells(words, ring, digest),
        }
    }
}

/// [`set`] of each of many digests.
pub(crate) fn set_each(words: &mut [u64], probe: &Probe, digests: &[Digest]) {
    let mut rest = digests;
    #[cfg(target_arch = "x86_64")]
    if let Probe::Ring(ring) = probe
        && gains_by_many(words, probe)
    {
        let eights;
        (eights, rest) = digests.as_chunks();
        // SAFETY: the instruction set is there, and the array fits it.
        unsafe { avx512::each_set_all(words, ring, eights) };
    }
    rest.iter().for_each(|digest| _ = set(words, probe, *digest));
}

/// Whether the program is compiled for a processor with AVX-512: then loops over single calls have no call to save by going many
/// at a time, and in the caches nothing else is gained by that.
pub(crate) const NATIVE: bool = cfg!(target_feature = "avx512ifma");

/// Arrays of more bytes are beyond the L1 cache, where inserting takes as long as lines take to come, however quickly
/// it is known which.
#[cfg(target_arch = "x86_64")]
const NEAR: usize = 64 << 10;

/// Whether [`set_each`] of many digests takes less than [`set`] of one after the other.
pub(crate) fn gains_by_many(words: &[u64], probe: &Probe) -> bool {
    #[cfg(target_arch = "x86_64")]
    if matches!(probe, Probe::Ring(_)) && size_of_val(words) <= NEAR && fits(words, probe.m()) {
        return !NATIVE && crate::simd::has_avx512();
    }
    let _ = (words, probe);
    false
}

/// [`set_cells`] for other numbers of probes; not inlined, to keep loops over keys short.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn set_any_cells(words: &mut [u64], ring: Ring, digest: Digest) -> bool {
    // SAFETY: as the caller says.
    unsafe { set_cells(words, ring, digest, ring.k()) }
}

/// # Safety
/// There is a word for every index below m.
#[inline(always)]
unsafe fn set_cells(words: &mut [u64], ring: Ring, digest: Digest, k: u32) -> bool {
    let (mut missing, mut walk) = (0, ring.walk(digest));
    for _ in 0..k {
        let cell = ring.step(&mut walk);
        // SAFETY: ⌊x·m/2⁶⁴⌋ < m.
        let word = unsafe { words.get_unchecked_mut((cell / 64) as usize) };
        let bit = 1 << (cell % 64);
        missing |= bit & !*word;
        *word |= bit;
    }
    missing != 0
}

/// Whether indices fit 32 bits and every one below m has its word, which the gathering relies on.
#[cfg(target_arch = "x86_64")]
#[inline]
fn fits(words: &[u64], m: u64) -> bool {
    m < 1 << 32 && m <= 64 * words.len() as u64
}

/// Queries cell by cell, compiled for an instruction set.
macro_rules! cell_by_cell {
    ($(#[$feature:meta])*) => {
        /// Not inlined: the loop over single calls stays short enough to be inlined itself, where the call is AVX-512's.
        #[inline(never)]
        $(#[$feature])*
        pub(super) fn all_set(words: &[u64], ring: &Ring, digest: Digest) -> bool {
            match ring.k() {
                7 => all_of(words, *ring, digest, 7),
                10 => all_of(words, *ring, digest, 10),
                k => all_of(words, *ring, digest, k),
            }
        }

        /// [`all_set`] of each of many digests, compiled for the numbers of probes at 1 % and 0.1 %.
        $(#[$feature])*
        pub(super) fn each_all_set<'a>(
            words: &[u64],
            ring: Ring,
            each: impl Iterator<Item = (&'a Digest, &'a mut bool)>,
        ) {
            match ring.k() {
                7 => each.for_each(|(digest, found)| *found = all_of(words, ring, *digest, 7)),
                10 => each.for_each(|(digest, found)| *found = all_of(words, ring, *digest, 10)),
                k => each.for_each(|(digest, found)| *found = all_of(words, ring, *digest, k)),
            }
        }
    };
}

mod scalar {
    use super::*;

    cell_by_cell!();
}

/// By products and shifts that choose their registers, which saves moving what they work on.
#[cfg(target_arch = "x86_64")]
mod bmi2 {
    use super::*;

    cell_by_cell!(#[target_feature(enable = "bmi1,bmi2")]);
}

/// Whether the next `k` cells of a digest are set.
#[inline(always)]
fn all_of(words: &[u64], ring: Ring, digest: Digest, k: u32) -> bool {
    assert!(ring.m() <= 64 * words.len() as u64, "{NO_WORD}");
    let mut walk = ring.walk(digest);
    all(k, || {
        let cell = ring.step(&mut walk);
        // SAFETY: ⌊x·m/2⁶⁴⌋ < m, and every index below m has its word.
        let word = unsafe { words.get_unchecked((cell / 64) as usize) };
        word >> (cell % 64)
    })
}

/// Whether the lowest bits of the next `k` looks are all set. Four at a time without a branch: a non-member comes
/// as far as the fifth one time in sixteen, where after each of two looks every second time is foretold wrong.
#[inline(always)]
fn all(k: u32, mut look: impl FnMut() -> u64) -> bool {
    for _ in 0..k / 4 {
        if look() & look() & look() & look() & 1 == 0 {
            return false;
        }
    }
    (0..k % 4).fold(1, |seen, _| seen & look()) & 1 != 0
}

const NO_WORD: &str = "every index has its word";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Bits;
    use crate::hash::Generator;
    use crate::probe::bulk;

    #[test]
    fn all_at_once_equals_one_after_the_other() {
        let mut random = Generator::new(1);
        for m in [1, 63, 64, 65, 1000, 100_000, 1 << 20, (1 << 32) - 1, 1 << 32] {
            // The largest arrays are not touched but for a few pages.
            let keys = if m > 1 << 30 { 50 } else { 2000.min(m) };
            for k in [1, 2, 7, 8, 9, 10, 15, 16, 17, 40] {
                let ring = Ring::new(m, k);
                let (mut bits, mut twin) = (Bits::new(m), Bits::new(m));
                for _ in 0..keys {
                    let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                    let had = ring.indices(digest).all(|i| twin.get(i));
                    assert_eq!(scalar::all_set(twin.words(), &ring, digest), had, "{m} {k}");
                    assert_eq!(all_set(bits.words(), &ring, digest), had, "{m} {k}");
                    let new = ring.indices(digest).fold(false, |new, i| new | twin.set(i));
                    assert_eq!(set_all(bits.words_mut(), ring, digest), new, "{m} {k}");
                    assert_eq!(new, !had);
                    assert!(all_set(bits.words(), &ring, digest));
                }
                if m <= 1 << 30 {
                    assert!(bits == twin, "{m} {k}");
                    many_equal_one_by_one(m, &Probe::Ring(ring), &mut random);
                }
            }
        }
    }

    /// Half of the digests are members.
    fn many_equal_one_by_one(m: u64, probe: &Probe, random: &mut Generator) {
        let mut bits = Bits::new(m);
        // Three of four ones: in a fuller or an emptier one hardly an answer depends on the last probe.
        (0..m / 5 * 7).for_each(|_| _ = bits.set(random.below(m)));
        let mut digest = || Digest { h1: random.next_u64(), h2: random.next_u64() };
        let digests: Vec<Digest> = (0..45).map(|_| digest()).collect();
        let members: Vec<Digest> = digests.iter().copied().step_by(2).collect();
        // In empty ones: full ones would hide a cell that is not set.
        let (mut own, mut twin) = (Bits::new(m), Bits::new(m));
        bulk::set_all(&mut own, probe, &members);
        members.iter().for_each(|digest| _ = set(twin.words_mut(), probe, *digest));
        assert!(own == twin);
        bits.union(&own);
        let mut found = vec![false; digests.len()];
        have(bits.words(), probe, &digests, &mut found);
        let one_by_one = digests.iter().map(|digest| has(bits.words(), probe, *digest));
        assert_eq!(found, one_by_one.collect::<Vec<_>>());
        assert!(found.iter().step_by(2).all(|found| *found));
        if let Probe::Ring(ring) = probe {
            let mut plain = vec![false; digests.len()];
            scalar::each_all_set(bits.words(), *ring, digests.iter().zip(&mut plain));
            assert_eq!(plain, found);
        }
    }

    #[test]
    fn independent_indices_all_at_once_equal_one_after_the_other() {
        let mut random = Generator::new(2);
        for m in [1, 63, 64, 65, 1000, 65_535, 1 << 20, (1 << 32) - 1, 1 << 32] {
            let keys = if m > 1 << 30 { 50 } else { 300.min(m) };
            for k in [1, 2, 7, 8, 9, 15, 16, 17, 40] {
                let probe = Probe::Mixed(Mixed::new(m, k));
                let (mut bits, mut twin) = (Bits::new(m), Bits::new(m));
                for _ in 0..keys {
                    let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                    let had = probe.all(digest, |i| twin.get(i));
                    assert_eq!(has(bits.words(), &probe, digest), had, "{m} {k}");
                    assert_eq!(set(bits.words_mut(), &probe, digest), !had, "{m} {k}");
                    probe.each(digest, |i| {
                        twin.set(i);
                    });
                    assert!(has(bits.words(), &probe, digest));
                    // Without any one of them it is not there.
                    let cell = probe.nth(random.below(k.into()) as u32, digest);
                    bits.reset(cell);
                    assert!(!has(bits.words(), &probe, digest), "{m} {k}");
                    bits.set(cell);
                }
                if m <= 1 << 30 {
                    assert!(bits == twin, "{m} {k}");
                    many_equal_one_by_one(m, &probe, &mut random);
                }
            }
        }
    }
}
