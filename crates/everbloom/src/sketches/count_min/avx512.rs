//! AVX-512: eight keys are hashed, and their places in a row found, at once. Queries gather the counters, too; updates take
//! them one by one, since two keys may have the same.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::rows::Rows;
use crate::cells::Signed;
use crate::hash::CHUNK;
use crate::hash::Words as Keys;
use crate::hash::vector::{all, fold_64, multiply_shift};
use crate::probe::{Words, factor};
use crate::simd::has_avx512;

/// Whether the processor can, and the places are as they are computed here.
#[inline]
pub(super) fn can(rows: &Rows) -> bool {
    let probe = rows.rows();
    has_avx512() && probe.words() == Words::Multiplied && probe.slice() < 1 << 32
}

/// Counts every key once more.
pub(super) fn increment(rows: &mut Rows, keys: &Keys) {
    assert!(can(rows), "the processor has AVX-512");
    // SAFETY: the instruction set is there.
    unsafe { increment_all(rows, keys) }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn increment_all(rows: &mut Rows, keys: &Keys) {
    let w = rows.w();
    for eight in keys.keys.as_chunks::<8>().0 {
        let hashes = hashes(eight, keys.seed);
        for (i, row) in (0..).zip(rows.cells.as_mut_slice().chunks_exact_mut(w as usize)) {
            // SAFETY: any bits are eight words.
            let places: [u64; 8] = unsafe { std::mem::transmute(places(hashes, i, w)) };
            places.iter().for_each(|place| _ = Signed::step(&mut row[*place as usize]));
        }
    }
}

/// The least counter of every key.
pub(super) fn least(rows: &Rows, keys: &Keys) -> [i64; CHUNK] {
    assert!(can(rows), "the processor has AVX-512");
    // SAFETY: the instruction set is there.
    unsafe { least_of_all(rows, keys) }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn least_of_all(rows: &Rows, keys: &Keys) -> [i64; CHUNK] {
    let (w, mut least) = (rows.w(), [i64::MAX; CHUNK]);
    for (eight, least) in keys.keys.as_chunks::<8>().0.iter().zip(least.as_chunks_mut::<8>().0) {
        let hashes = hashes(eight, keys.seed);
        let mut lowest = all(i64::MAX.cast_unsigned());
        for (i, row) in (0..).zip(rows.cells.as_slice().chunks_exact(w as usize)) {
            // SAFETY: every place is less than w, the length of the row.
            let counters =
                unsafe { _mm512_i64gather_epi64::<8>(places(hashes, i, w), row.as_ptr().cast()) };
            lowest = _mm512_min_epi64(lowest, counters);
        }
        // SAFETY: any bits are eight counters.
        *least = unsafe { std::mem::transmute::<__m512i, [i64; 8]>(lowest) };
    }
    least
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn hashes(keys: &[u64; 8], seed: u64) -> __m512i {
    // SAFETY: eight keys are 64 readable bytes.
    fold_64(unsafe { _mm512_loadu_si512(keys.as_ptr().cast()) }, seed)
}

/// Where eight keys have their counters in row i of w < 2³².
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn places(hashes: __m512i, i: u64, w: u64) -> __m512i {
    multiply_shift(_mm512_mullo_epi64(hashes, all(factor(i))), w)
}
