//! The hashes of eight-byte keys, eight keys at once by AVX-512: `lane-64`, `fold-64` and XXH64; of 17 to 32 bytes, XXH3-64
//! and what `lane-64` makes of it; and the mixer.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::Digest;
use super::fold::{K1, K2};
use super::xxh3;
use super::xxh64::{P1, P2, P3, P4, P5};

/// Eight keys of [`xxh3::TEXT`] bytes, as XXH3 reads them: the sixteen bytes that each begins and ends with, those of
/// keys 0, 2, 4 and 6 in one register and those of the others in a second one.
pub(crate) struct Texts {
    pub(crate) starts: [__m512i; 2],
    pub(crate) ends: [__m512i; 2],
    /// A byte each.
    pub(crate) lengths: u64,
    pub(crate) seed: u64,
}

/// A word in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn all(word: u64) -> __m512i {
    _mm512_set1_epi64(word as i64)
}

/// H1 and the h whose low half is that of H2, by `lane-64` from its seed as it wants it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn lane(keys: __m512i, start: u64) -> (__m512i, __m512i) {
    let h = fold(_mm512_xor_si512(keys, all(start)), K1);
    (_mm512_mullo_epi64(h, all(K2)), h)
}

/// H1 and h by `lane-64`, as [`lane`] has them, of longer keys.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(crate) fn lane_of_texts(texts: &Texts) -> (__m512i, __m512i) {
    let secret = xxh3::secret(texts.seed);
    let folded = |[even, odd]: [__m512i; 2], i: usize| {
        let [low, high] = [_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd)];
        let with = |words, i: usize| _mm512_xor_si512(words, all(secret[i]));
        fold_both(with(low, 2 * i), with(high, 2 * i + 1))
    };
    let lengths = _mm_cvtsi64_si128(texts.lengths as i64);
    let lengths = _mm512_mullo_epi64(_mm512_cvtepu8_epi64(lengths), all(xxh3::P1));
    let mixed = _mm512_add_epi64(folded(texts.starts, 0), folded(texts.ends, 1));
    let h = _mm512_add_epi64(lengths, mixed);
    let h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64::<37>(h)), all(xxh3::MIX));
    let h = _mm512_xor_si512(h, _mm512_srli_epi64::<32>(h));
    (_mm512_mullo_epi64(h, all(K2)), h)
}

/// Sixteen bytes of a key, in a register that every x86-64 has: as an array of bytes they would go through memory.
pub(crate) type Piece = __m128i;

/// Those bytes.
#[inline(always)]
pub(crate) fn piece(bytes: &[u8; 16]) -> Piece {
    // SAFETY: sixteen readable bytes.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// Four pieces in one register. They come one by one: of pieces side by side in memory the compiler makes a load of 64
/// bytes, and right after 16 of these were written such a load takes as long as all the rest.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn four(a: Piece, b: Piece, c: Piece, d: Piece) -> __m512i {
    let all = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
    _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(all, c), d)
}

/// H1 by `fold-64` from its seed as it wants it.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn fold_64(keys: __m512i, start: u64) -> __m512i {
    let once = fold(_mm512_xor_si512(keys, all(start)), K1);
    fold(_mm512_xor_si512(once, all(start)), K2)
}

/// The exclusive or of the two halves of a product by one number, by the multiplication of 52 bits.
///
/// With a = a₁·2⁵² + a₀ and b alike, a·b = l + m·2⁵² + u·2¹⁰⁴, where l is the low part of a₀·b₀, which the others leave
/// alone, m its high part and the low ones of a₀·b₁ and a₁·b₀, and u their high parts and a₁·b₁: seven products that are added up
/// on their way.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn fold(a: __m512i, b: u64) -> __m512i {
    let zero = _mm512_setzero_si512();
    // What is above 52 bits of a factor the multiplication leaves out.
    let (a1, b0, b1) = (_mm512_srli_epi64::<52>(a), all(b), all(b >> 52));
    let l = _mm512_madd52lo_epu64(zero, a, b0);
    let m = _mm512_madd52hi_epu64(zero, a, b0);
    let m = _mm512_madd52lo_epu64(_mm512_madd52lo_epu64(m, a, b1), a1, b0);
    let u = _mm512_madd52hi_epu64(_mm512_madd52lo_epu64(zero, a1, b1), a, b1);
    let u = _mm512_madd52hi_epu64(u, a1, b0);
    let lower = _mm512_xor_si512(l, _mm512_slli_epi64::<52>(m));
    let upper = _mm512_add_epi64(_mm512_srli_epi64::<12>(m), _mm512_slli_epi64::<40>(u));
    _mm512_xor_si512(lower, upper)
}

/// The exclusive or of the two halves of a product.
#[inline]
#[target_feature(enable = "avx512f")]
fn fold_both(a: __m512i, b: __m512i) -> __m512i {
    // The upper half of a lane in both, as above.
    fold_halves(a, b, _mm512_shuffle_epi32::<0b11_11_01_01>(b))
}

/// The exclusive or of the two halves of a product, from four products of 32 bits: vector units have no larger
/// ones. The lower halves of `b0` and `b1` are those of the second factor.
#[inline]
#[target_feature(enable = "avx512f")]
fn fold_halves(a: __m512i, b0: __m512i, b1: __m512i) -> __m512i {
    let low = all(u64::from(u32::MAX));
    let high = |x| _mm512_srli_epi64::<32>(x);
    let (a0, a1) = (a, high(a));
    let (least, most) = (_mm512_mul_epu32(a0, b0), _mm512_mul_epu32(a1, b1));
    let middle = _mm512_add_epi64(_mm512_mul_epu32(a1, b0), high(least));
    let other = _mm512_add_epi64(_mm512_mul_epu32(a0, b1), _mm512_and_si512(middle, low));
    let upper = _mm512_add_epi64(_mm512_add_epi64(most, high(middle)), high(other));
    let lower = _mm512_or_si512(_mm512_slli_epi64::<32>(other), _mm512_and_si512(least, low));
    _mm512_xor_si512(lower, upper)
}

/// [`mix64`](super::mix64) of eight words.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(crate) fn mix64(x: __m512i) -> __m512i {
    let z = _mm512_add_epi64(x, all(0x9E37_79B9_7F4A_7C15));
    let z = _mm512_xor_si512(z, _mm512_srli_epi64::<30>(z));
    let z = _mm512_mullo_epi64(z, all(0xBF58_476D_1CE4_E5B9));
    let z = _mm512_xor_si512(z, _mm512_srli_epi64::<27>(z));
    let z = _mm512_mullo_epi64(z, all(0x94D0_49BB_1331_11EB));
    _mm512_xor_si512(z, _mm512_srli_epi64::<31>(z))
}

/// ⌊x·n/2⁶⁴⌋ of eight words and n < 2³², as [`multiply_shift`](super::multiply_shift) has it.
///
/// With x = a·2⁵² + b, x·n/2⁶⁴ = (a·n + b·n/2⁵²)/2¹², and to round b·n/2⁵² down first changes nothing: that sum
/// is what one multiplication of 52 bits computes.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn multiply_shift(x: __m512i, n: u64) -> __m512i {
    // In both halves of a lane: only the lower one matters, and the upper one need not be cleared.
    let a = _mm512_mul_epu32(_mm512_srli_epi64::<52>(x), _mm512_set1_epi32(n as i32));
    _mm512_srli_epi64::<12>(_mm512_madd52hi_epu64(a, x, all(n)))
}

/// The first words of eight digests, and the second ones.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn apart(digests: &[Digest; 8]) -> (__m512i, __m512i) {
    let start = digests.as_ptr().cast::<__m512i>();
    // SAFETY: eight digests of two words are twice 64 readable bytes.
    let [low, high] = unsafe { [_mm512_loadu_si512(start), _mm512_loadu_si512(start.add(1))] };
    let first = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    let second = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    let words = |which| _mm512_permutex2var_epi64(low, which, high);
    (words(first), words(second))
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
    use super::super::{self as one, HashId, Hasher};
    use super::*;
    use crate::simd::has_avx512;

    #[test]
    fn eight_texts_at_once_equal_one_by_one() {
        use super::super::{Batch, Digests as _};
        const LANE: u16 = HashId::Lane64 as u16;
        if !has_avx512() {
            return;
        }
        // SAFETY: any bits are eight words.
        let split = |v: __m512i| unsafe { std::mem::transmute::<__m512i, [u64; 8]>(v) };
        for seed in [0, 1, u64::MAX, one::mix64(7)] {
            let hasher = Hasher::with_id(HashId::Lane64, seed).unwrap();
            let text =
                |length: u64| (0..length).map(|i| one::mix64(i ^ length << 8) as u8).collect();
            let keys: Vec<Vec<u8>> = (17..=32).map(text).collect();
            let mut batch = Batch::<Vec<u8>, LANE>::new(&hasher, &keys);
            for keys in keys.chunks(8) {
                // SAFETY: the instruction set is there.
                let texts = unsafe { batch.texts(HashId::Lane64) }.unwrap();
                // SAFETY: as above.
                let (h1, h) = unsafe { lane_of_texts(&texts) };
                for (at, key) in keys.iter().enumerate() {
                    let digest = hasher.digest(key);
                    let several = (split(h1)[at], split(h)[at] as u32);
                    assert_eq!((digest.h1, digest.h2 as u32), several, "{} {seed}", key.len());
                }
            }
            // SAFETY: as above.
            assert!(unsafe { batch.texts(HashId::Lane64) }.is_none());
            for length in [0, 8, 16, 33, 40] {
                let mut keys = keys.clone();
                keys[7] = text(length);
                let mut batch = Batch::<Vec<u8>, LANE>::new(&hasher, &keys);
                // SAFETY: as above.
                assert!(unsafe { batch.texts(HashId::Lane64) }.is_none(), "{length} bytes");
            }
        }
    }

    #[test]
    fn eight_at_once_equal_one_by_one() {
        if !has_avx512() {
            return;
        }
        // SAFETY: any bits are eight words.
        let split = |v: __m512i| unsafe { std::mem::transmute::<__m512i, [u64; 8]>(v) };
        for i in 0..1000u64 {
            let mut keys: [u64; 8] = std::array::from_fn(|lane| one::mix64(8 * i + lane as u64));
            keys[0] = [0, 1, u64::MAX, 1 << 63, u64::from(u32::MAX)][i as usize % 5];
            // SAFETY: as above.
            let vector = unsafe { std::mem::transmute::<[u64; 8], __m512i>(keys) };
            let lanes = Hasher::with_id(HashId::Lane64, i).unwrap();
            // SAFETY: the instruction set is there.
            let (h1, h2) = unsafe { lane(vector, lanes.start) };
            // SAFETY: the instruction set is there.
            let parquet = split(unsafe { xxh64(vector, i) });
            let folds = Hasher::with_id(HashId::Fold64, i).unwrap();
            // SAFETY: the instruction set is there.
            let folded = split(unsafe { fold_64(vector, folds.start) });
            // SAFETY: the instruction set is there.
            let mixed = split(unsafe { mix64(vector) });
            let n = one::mix64(i) >> 32;
            // SAFETY: the instruction set is there.
            let spread = split(unsafe { multiply_shift(vector, n) });
            let (h1, h2) = (split(h1), split(h2));
            for (at, key) in keys.iter().enumerate() {
                let digest = lanes.digest(key);
                assert_eq!((digest.h1, digest.h2 as u32), (h1[at], h2[at] as u32));
                let digest = Hasher::with_id(HashId::Xxh64, i).unwrap().digest(key);
                assert_eq!(digest.h1, parquet[at]);
                assert_eq!(folds.digest(key).h1, folded[at]);
                assert_eq!(one::mix64(*key), mixed[at]);
                assert_eq!(one::multiply_shift(*key, n), spread[at]);
            }
        }
    }
}
