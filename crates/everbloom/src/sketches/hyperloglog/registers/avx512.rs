//! AVX-512: eight keys are hashed, and their registers looked at, at once. Few of them raise one.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{Registers, WIDTH};
use crate::hash::CHUNK;
use crate::hash::vector::fold_64;
use crate::simd::has_avx512;

/// Whether the processor can, and the registers are as long as the gathering relies on.
#[inline]
pub(super) fn can(registers: &Registers) -> bool {
    let Registers { cells, p, .. } = registers;
    has_avx512()
        && cells.width() == WIDTH
        && *p >= 4
        && u64::from(WIDTH) << p <= cells.words().len() as u64 * 64
}

/// Raises the registers of keys, hashed by `fold-64` from its seed as it wants it.
pub(super) fn raise(registers: &mut Registers, keys: &[u64], seed: u64) {
    assert!(can(registers), "the processor has AVX-512");
    // SAFETY: the instruction set is there.
    unsafe { raise_all(registers, keys, seed) };
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn raise_all(registers: &mut Registers, keys: &[u64], seed: u64) {
    for keys in keys.chunks(CHUNK) {
        // Whether one in eight raises a register, no processor guesses: those that do are put aside without a branch.
        let (mut raising, mut count) = ([0u64; CHUNK], 0);
        for eight in keys.as_chunks::<8>().0 {
            // SAFETY: eight keys are 64 readable bytes.
            let hashes = fold_64(unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) }, seed);
            // SAFETY: the registers are long enough, or it had not come so far.
            let lifting = unsafe { lifting(registers, hashes) };
            let room = raising[count..].as_mut_ptr().cast();
            // SAFETY: no more are put aside than there are keys in the chunk.
            unsafe { _mm512_mask_compressstoreu_epi64(room, lifting, hashes) };
            count += lifting.count_ones() as usize;
        }
        // Two of them may have one register, so each looks again.
        for hash in &raising[..count] {
            let (register, rank) = registers.place(*hash);
            registers.raise(register, rank);
        }
    }
}

/// Which of eight hashes have a rank above their register's.
///
/// # Safety
/// There are 2^p registers of six bits, and p is at least 4: they fill more than a word.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
unsafe fn lifting(registers: &Registers, hashes: __m512i) -> __mmask8 {
    let p = registers.p();
    let all = |word: u64| _mm512_set1_epi64(word as i64);
    let words = registers.cells.words();
    let register = _mm512_and_si512(hashes, all((1 << p) - 1));
    // Six times the number of the register, in bits; the word that is read from there on ends with the array.
    let double = _mm512_add_epi64(register, register);
    let bit = _mm512_add_epi64(_mm512_add_epi64(double, double), double);
    let last = all(8 * (words.len() as u64 - 1));
    let byte = _mm512_min_epu64(_mm512_srli_epi64::<3>(bit), last);
    // SAFETY: eight bytes from there on are in the array.
    let word = unsafe { _mm512_i64gather_epi64::<1>(byte, words.as_ptr().cast()) };
    let within = _mm512_sub_epi64(bit, _mm512_slli_epi64::<3>(byte));
    let rank = _mm512_and_si512(_mm512_srlv_epi64(word, within), all(63));
    // A higher rank has as many zeros behind the index as the register's says, at least; the guard is no zero.
    let rest = _mm512_srl_epi64(hashes, _mm_set_epi64x(0, p.into()));
    let rest = _mm512_or_si512(rest, all(1 << (64 - p)));
    let zeros = _mm512_sub_epi64(_mm512_sllv_epi64(all(1), rank), all(1));
    _mm512_testn_epi64_mask(rest, zeros)
}
