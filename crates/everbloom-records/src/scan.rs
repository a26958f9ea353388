//! Finding the ends of lines, 64 bytes at a time. Keys are short, and a search that starts anew behind
//! every line, as memchr's does, takes longer than hashing the line.
#![allow(unsafe_code)]

/// Calls `f` with every position of `byte` in the text, in order.
#[inline]
pub fn each_place(text: &[u8], byte: u8, mut f: impl FnMut(usize)) {
    let (chunks, last) = text.as_chunks::<64>();
    let mut tell = |start: usize, mut mask: u64| {
        while mask != 0 {
            f(start + mask.trailing_zeros() as usize);
            mask &= mask - 1;
        }
    };
    for (i, chunk) in chunks.iter().enumerate() {
        tell(64 * i, mask(chunk, byte));
    }
    let mut rest = [!byte; 64];
    rest[..last.len()].copy_from_slice(last);
    tell(64 * chunks.len(), mask(&rest, byte));
}

/// A bit for each of 64 bytes that is `byte`.
#[cfg(target_arch = "x86_64")]
#[inline]
fn mask(chunk: &[u8; 64], byte: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: SSE2 is part of the architecture, and each load reads 16 of the 64 bytes.
    unsafe {
        let wanted = _mm_set1_epi8(byte as i8);
        let start = chunk.as_ptr();
        let part = |i: usize| {
            let bytes = _mm_loadu_si128(start.add(16 * i).cast());
            u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)) as u16) << (16 * i)
        };
        part(0) | part(1) | part(2) | part(3)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn mask(chunk: &[u8; 64], byte: u8) -> u64 {
    (0..).zip(chunk).fold(0, |mask, (i, b)| mask | u64::from(*b == byte) << i)
}
