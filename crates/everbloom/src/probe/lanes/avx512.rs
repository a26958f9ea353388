//! AVX-512: a whole line in one register.
//!
//! A rotation takes its count modulo 64, so that counts need no masking, and a lane without the bit shows in a
//! mask register: five instructions from the word to the answer, and four where answers are collected. The top bits of
//! a 32-bit product are those that the multiplication of 52 bits hands out, if the constant is shifted by 26.

use std::arch::{asm, x86_64::*};

use super::*;
use crate::hash::{HashId, vector};

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
fn line_counts(word: u64) -> __m512i {
    let salts = LINE_SALTS.map(|salt| u64::from(salt) << 26);
    // SAFETY: eight constants are 64 readable bytes.
    let salts = unsafe { _mm512_loadu_si512(salts.as_ptr().cast()) };
    // In both halves of a lane: only the lower one matters, and the upper one need not be cleared.
    let word = _mm512_set1_epi32(word as i32);
    _mm512_madd52hi_epu64(_mm512_setzero_si512(), word, salts)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
fn line_mask(word: u64) -> __m512i {
    _mm512_rolv_epi64(_mm512_set1_epi64(1), line_counts(word))
}

/// What a line shows of a key, a byte for a lane: the lowest bit is the key's own, and others are chance.
pub(super) type Seen = u64;
pub(super) const ALL: Seen = u64::MAX / 255;

/// Picks the key's bit out of every lane by one instruction, where a mask takes two. Many keys gain by that; a single one waits for
/// the bits to be compared.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
pub(super) fn line_seen(line: &[u64; LINE], word: u64) -> Seen {
    // SAFETY: the line is 64 readable bytes; the load needs no alignment.
    let bits = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    _mm512_bitshuffle_epi64_mask(bits, line_counts(word))
}

// A program for any x86-64 has it where it is called (see `inlined`).
#[cfg_attr(not(any(test, target_feature = "avx")), allow(dead_code))]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
pub(super) fn line_has(line: &[u64; LINE], word: u64) -> bool {
    // SAFETY: the line is 64 readable bytes; the load needs no alignment.
    let bits = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    _mm512_testn_epi64_mask(bits, line_mask(word)) == 0
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
pub(super) fn shared_line_has(line: &[AtomicU64; LINE], word: u64) -> bool {
    let bits: __m512i;
    // SAFETY: the line is 64 readable bytes. That others write to them meanwhile is why this is not an
    // intrinsic: the compiler makes nothing of it, and the processor reads aligned words whole, as eight
    // relaxed loads would.
    unsafe {
        asm!(
            "vmovdqu64 {bits}, [{line}]",
            bits = out(zmm_reg) bits,
            line = in(reg) line.as_ptr(),
            options(readonly, nostack, preserves_flags),
        );
    }
    _mm512_testn_epi64_mask(bits, line_mask(word)) == 0
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
pub(super) fn line_set(line: &mut [u64; LINE], word: u64) -> bool {
    let (start, mask) = (line.as_mut_ptr().cast::<__m512i>(), line_mask(word));
    // SAFETY: the line is 64 writable bytes; load and store need no alignment.
    let bits = unsafe { _mm512_loadu_si512(start) };
    // SAFETY: as above.
    unsafe { _mm512_storeu_si512(start, _mm512_or_si512(bits, mask)) };
    _mm512_testn_epi64_mask(bits, mask) != 0
}

// A half line fits the registers of AVX2, which every processor with AVX-512 has.

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
pub(super) fn half_has(half: &[u64; HALF], key: u32) -> bool {
    avx2::half_has(half, key)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
pub(super) fn half_set(half: &mut [u64; HALF], key: u32) -> bool {
    avx2::half_set(half, key)
}

/// 64·⌊h·n/2⁶⁴⌋ for n < 2³²: where the line of a hash begins.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
fn line_offsets(h: __m512i, n: u64) -> __m512i {
    _mm512_slli_epi64::<6>(vector::multiply_shift(h, n))
}

/// Fills a chunk eight keys at a time; `hash` makes of eight keys the offsets and the words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
fn hashed(chunk: &mut Chunk, keys: &[u64; CHUNK], hash: impl Fn(__m512i) -> (__m512i, __m512i)) {
    chunk.len = 0;
    for keys in keys.as_chunks::<8>().0 {
        // SAFETY: eight keys are 64 readable bytes.
        push(chunk, hash(unsafe { _mm512_loadu_si512(keys.as_ptr().cast()) }));
    }
}

/// Fills a chunk from digests, eight at a time; `place` makes of eight first words the offsets, and `word` says which word
/// names the bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
fn placed(
    chunk: &mut Chunk,
    digests: &[Digest; CHUNK],
    place: impl Fn(__m512i) -> __m512i,
    word: impl Fn(__m512i, __m512i) -> __m512i,
) {
    chunk.len = 0;
    for digests in digests.as_chunks::<8>().0 {
        let (h1, h2) = vector::apart(digests);
        push(chunk, (place(h1), word(h1, h2)));
    }
}

/// Appends the offsets and the words of eight keys.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
fn push(chunk: &mut Chunk, (offsets, words): (__m512i, __m512i)) {
    let place = chunk.len..chunk.len + 8;
    let (at, word) = (&mut chunk.at[place.clone()], &mut chunk.word[place]);
    // SAFETY: eight offsets and eight words are 64 writable bytes each.
    unsafe {
        _mm512_storeu_si512(at.as_mut_ptr().cast(), offsets);
        _mm512_storeu_si512(word.as_mut_ptr().cast(), words);
    }
    chunk.len += 8;
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
fn load_lines<const MORE: bool>(chunk: &mut Chunk, digests: &mut impl Digests, n: u64) {
    if let Some(digests) = digests.given() {
        return placed(chunk, digests, |h1| line_offsets(h1, n), |_, h2| h2);
    }
    // Further rounds take more of a digest than eight hashes at once come with.
    if MORE {
        return chunk.load_lines::<MORE>(digests, n);
    }
    if let Some(words) = digests.words(HashId::Lane64, &mut [0; CHUNK]) {
        return hashed(chunk, words.keys, |keys| {
            let (h1, h2) = vector::lane(keys, words.seed);
            (line_offsets(h1, n), h2)
        });
    }
    chunk.len = 0;
    while chunk.len < CHUNK
        // SAFETY: this function has the instruction set.
        && let Some(texts) = unsafe { digests.texts(HashId::Lane64) }
    {
        let (h1, h2) = vector::lane_of_texts(&texts);
        push(chunk, (line_offsets(h1, n), h2));
    }
    if chunk.len == 0 {
        chunk.load_lines::<MORE>(digests, n);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]
fn load_halves(chunk: &mut Chunk, digests: &mut impl Digests, n: u64) {
    // 2³² half lines are a bit more than half a lane can say.
    if n >= MOST_HALVES {
        return chunk.load_halves(digests, n);
    }
    // In both halves of a lane, for the sake of the multiplication (see `hash/vector.rs`).
    let halves = _mm512_set1_epi32(n as i32);
    let place = |h: __m512i| {
        let at = _mm512_srli_epi64::<32>(_mm512_mul_epu32(_mm512_srli_epi64::<32>(h), halves));
        _mm512_slli_epi64::<5>(at)
    };
    if let Some(digests) = digests.given() {
        return placed(chunk, digests, place, |h1, _| h1);
    }
    if let Some(words) = digests.words(HashId::Xxh64, &mut [0; CHUNK]) {
        return hashed(chunk, words.keys, |keys| {
            let h = vector::xxh64(keys, words.seed);
            (place(h), h)
        });
    }
    chunk.load_halves(digests, n);
}

/// Keys of lines are hashed several at once.
const ONE_BY_ONE: bool = false;

many!(#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512bitalg")]);

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the product is a hair before or behind a whole line, rounding would show.
    #[test]
    fn offsets_are_exact_at_the_edges_of_lines() {
        if !has_avx512() {
            return;
        }
        for n in [1, 2, 3, 1000, (1 << 20) + 7, (1 << 31) - 1, MOST_LINES] {
            for i in 0..2000u64 {
                let line = crate::hash::mix64(i) % n;
                let edge = ((u128::from(line) << 64).div_ceil(u128::from(n))) as u64;
                let h: [u64; 8] =
                    std::array::from_fn(|j| edge.wrapping_add(j as u64).wrapping_sub(4));
                // SAFETY: any bits are eight words.
                let vector = unsafe { std::mem::transmute::<[u64; 8], __m512i>(h) };
                // SAFETY: the instruction set is there.
                let offsets = unsafe { line_offsets(vector, n) };
                // SAFETY: any bits are eight words.
                let offsets = unsafe { std::mem::transmute::<__m512i, [u64; 8]>(offsets) };
                let expected = h.map(|h1| 64 * line_of(Digest { h1, h2: 0 }, n) as u64);
                assert_eq!(offsets, expected, "{n} {line}");
            }
        }
    }
}
