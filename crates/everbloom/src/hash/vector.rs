//! Eight at once by AVX-512: hashes of eight-byte keys (`lane-64`, XXH64, XXH3-128), and words of digests.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::columns::{Columns, MANY};
use super::fold::{K1, K2};
use super::xxh3;
use super::xxh64::{P1, P2, P3, P4, P5};

#[inline]
#[target_feature(enable = "avx512f")]
fn all(word: u64) -> __m512i {
    _mm512_set1_epi64(word as i64)
}

/// H1 and the h whose low half is that of H2, by `lane-64` from its seed as it wants it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(crate) fn lane(keys: __m512i, start: u64) -> (__m512i, __m512i) {
    let h = fold(_mm512_xor_si512(keys, all(start)), K1);
    (_mm512_mullo_epi64(h, all(K2)), h)
}

/// The exclusive or of the two halves of a product.
#[inline]
#[target_feature(enable = "avx512f")]
fn fold(a: __m512i, b: u64) -> __m512i {
    let (lower, upper) = product(a, b);
    _mm512_xor_si512(lower, upper)
}

/// The two halves of a product, from four products of 32 bits: vector units have no larger ones.
#[inline]
#[target_feature(enable = "avx512f")]
fn product(a: __m512i, b: u64) -> (__m512i, __m512i) {
    let low = all(u64::from(u32::MAX));
    let high = |x| _mm512_srli_epi64::<32>(x);
    // In both halves of a lane: were the upper one known to be zero, the compiler would take the
    // multiplication of 64 bits, which is three times as slow.
    let [b0, b1] = [b, b >> 32].map(|half| _mm512_set1_epi32(half as i32));
    let (a0, a1) = (a, high(a));
    let (least, most) = (_mm512_mul_epu32(a0, b0), _mm512_mul_epu32(a1, b1));
    let middle = _mm512_add_epi64(_mm512_mul_epu32(a1, b0), high(least));
    let other = _mm512_add_epi64(_mm512_mul_epu32(a0, b1), _mm512_and_si512(middle, low));
    let upper = _mm512_add_epi64(_mm512_add_epi64(most, high(middle)), high(other));
    let lower = _mm512_or_si512(_mm512_slli_epi64::<32>(other), _mm512_and_si512(least, low));
    (lower, upper)
}

/// `x` and its bits from `SHIFT` on, exclusive or, times `factor`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn mixed<const SHIFT: u32>(x: __m512i, factor: u64) -> __m512i {
    _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64::<SHIFT>(x)), all(factor))
}

/// [`super::mix64`].
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn mix(x: __m512i) -> __m512i {
    let z = _mm512_add_epi64(x, all(0x9E37_79B9_7F4A_7C15));
    let z = mixed::<27>(mixed::<30>(z, 0xBF58_476D_1CE4_E5B9), 0x94D0_49BB_1331_11EB);
    _mm512_xor_si512(z, _mm512_srli_epi64::<31>(z))
}

/// [`Digest::word`].
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn word(h1: __m512i, h2: __m512i, salts: __m512i) -> __m512i {
    mix(_mm512_xor_si512(h1, mix(_mm512_add_epi64(h2, salts))))
}

/// Words spread over `0..n` by multiply-shift: the high word of the product, by halves that do not overflow.
#[inline]
#[target_feature(enable = "avx512f")]
fn spread(words: __m512i, n: u32) -> __m512i {
    // In both halves, as above.
    let n = _mm512_set1_epi32(n.cast_signed());
    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(words), n);
    let carried = _mm512_srli_epi64::<32>(_mm512_mul_epu32(words, n));
    _mm512_srli_epi64::<32>(_mm512_add_epi64(high, carried))
}

/// XXH3-128 of eight bytes each, from its seed as it wants it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn xxh3_128(keys: __m512i, start: u64) -> (__m512i, __m512i) {
    let (low, high) = product(_mm512_xor_si512(keys, all(start)), xxh3::FACTOR);
    let high = _mm512_add_epi64(high, _mm512_slli_epi64::<1>(low));
    let low = mixed::<35>(_mm512_xor_si512(low, _mm512_srli_epi64::<3>(high)), xxh3::LAST);
    let high = mixed::<37>(high, xxh3::MIX);
    let end = |h, shifted| _mm512_xor_si512(h, shifted);
    (end(low, _mm512_srli_epi64::<28>(low)), end(high, _mm512_srli_epi64::<32>(high)))
}

/// Eight words of an array.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64; 8]) -> __m512i {
    // SAFETY: there are 64 bytes.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(vector: __m512i) -> [u64; 8] {
    let mut words = [0; 8];
    // SAFETY: as above.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}

/// Digests by XXH3-128 of words. Panics without AVX-512.
#[inline]
pub(super) fn columns(keys: &[u64; MANY], start: u64) -> Columns {
    #[target_feature(enable = "avx512f,avx512dq")]
    fn all(keys: &[u64; MANY], start: u64, columns: &mut Columns) {
        let out = columns.h1.as_chunks_mut().0.iter_mut().zip(columns.h2.as_chunks_mut().0);
        for (keys, (h1, h2)) in keys.as_chunks().0.iter().zip(out) {
            let (first, second) = xxh3_128(load(keys), start);
            (*h1, *h2) = (store(first), store(second));
        }
    }
    assert!(crate::simd::has_avx512());
    let mut columns = Columns { h1: [0; MANY], h2: [0; MANY] };
    // SAFETY: the instruction set is there.
    unsafe { all(keys, start, &mut columns) };
    columns
}

/// [`Columns::words`]. Panics without AVX-512.
#[inline]
pub(super) fn words(columns: &Columns, salt: u64) -> [u64; MANY] {
    #[target_feature(enable = "avx512f,avx512dq")]
    fn each(columns: &Columns, salt: u64, out: &mut [u64; MANY]) {
        let digests = columns.h1.as_chunks().0.iter().zip(columns.h2.as_chunks().0);
        for ((h1, h2), out) in digests.zip(out.as_chunks_mut().0) {
            *out = store(word(load(h1), load(h2), all(salt)));
        }
    }
    assert!(crate::simd::has_avx512());
    let mut out = [0; MANY];
    // SAFETY: the instruction set is there.
    unsafe { each(columns, salt, &mut out) };
    out
}

/// [`Columns::places`]. Panics without AVX-512.
#[inline]
pub(super) fn places(columns: &Columns, salt: u64, n: u32) -> [u64; MANY] {
    #[target_feature(enable = "avx512f,avx512dq")]
    fn each(columns: &Columns, salt: u64, n: u32, out: &mut [u64; MANY]) {
        let digests = columns.h1.as_chunks().0.iter().zip(columns.h2.as_chunks().0);
        let start = all(salt * u64::from(n));
        for ((h1, h2), out) in digests.zip(out.as_chunks_mut().0) {
            let places = spread(word(load(h1), load(h2), all(salt)), n);
            *out = store(_mm512_add_epi64(start, places));
        }
    }
    assert!(crate::simd::has_avx512());
    let mut out = [0; MANY];
    // SAFETY: the instruction set is there.
    unsafe { each(columns, salt, n, &mut out) };
    out
}

/// XXH64 of eight bytes each.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(crate) fn xxh64(keys: __m512i, seed: u64) -> __m512i {
    let times = |x, factor| _mm512_mullo_epi64(x, all(factor));
    let round = times(_mm512_rol_epi64::<31>(times(keys, P2)), P1);
    let h = _mm512_xor_si512(all(seed.wrapping_add(P5).wrapping_add(8)), round);
    let h = _mm512_add_epi64(times(_mm512_rol_epi64::<27>(h), P1), all(P4));
    let h = times(_mm512_xor_si512(h, _mm512_srli_epi64::<33>(h)), P2);
    let h = times(_mm512_xor_si512(h, _mm512_srli_epi64::<29>(h)), P3);
    _mm512_xor_si512(h, _mm512_srli_epi64::<32>(h))
}

#[cfg(test)]
mod tests {
    use super::super::{HashId, Hasher, mix64};
    use super::*;

    #[test]
    fn eight_at_once_equal_one_by_one() {
        if !(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq")) {
            return;
        }
        // SAFETY: any bits are eight words.
        let split = |v: __m512i| unsafe { std::mem::transmute::<__m512i, [u64; 8]>(v) };
        for i in 0..1000u64 {
            let mut keys: [u64; 8] = std::array::from_fn(|lane| mix64(8 * i + lane as u64));
            keys[0] = [0, 1, u64::MAX, 1 << 63, u64::from(u32::MAX)][i as usize % 5];
            // SAFETY: as above.
            let vector = unsafe { std::mem::transmute::<[u64; 8], __m512i>(keys) };
            let lanes = Hasher::with_id(HashId::Lane64, i).unwrap();
            // SAFETY: the instruction set is there.
            let (h1, h2) = unsafe { lane(vector, lanes.start) };
            // SAFETY: the instruction set is there.
            let parquet = split(unsafe { xxh64(vector, i) });
            let (h1, h2) = (split(h1), split(h2));
            for (at, key) in keys.iter().enumerate() {
                let digest = lanes.digest(key);
                assert_eq!((digest.h1, digest.h2 as u32), (h1[at], h2[at] as u32));
                let digest = Hasher::with_id(HashId::Xxh64, i).unwrap().digest(key);
                assert_eq!(digest.h1, parquet[at]);
            }
        }
    }
}
