//! MurmurHash3 (Appleby 2011) as software that filters come from has it: the plain 128 bits, Cassandra's,
//! Hive's 64 and Spark's 32.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// MurmurHash3 x64 128 of some bytes, as its two words.
#[inline]
pub fn murmur3_x64_128(bytes: &[u8], seed: u64) -> [u64; 2] {
    let mut last = [0; 16];
    let tail = bytes.as_chunks::<16>().1;
    last[..tail.len()].copy_from_slice(tail);
    murmur3_with_tail(bytes, words(&last), seed)
}

/// [`murmur3_x64_128`] with the bytes after the last whole block sign-extended, as Cassandra has it.
#[inline]
pub fn murmur3_cassandra(bytes: &[u8], seed: u64) -> [u64; 2] {
    let mut last = [0u64; 2];
    for (i, byte) in bytes.as_chunks::<16>().1.iter().enumerate() {
        last[i / 8] ^= (*byte as i8 as u64) << (i % 8 * 8);
    }
    murmur3_with_tail(bytes, last, seed)
}

/// Hive's and ORC's `Murmur3.hash64`: one lane of the 128-bit function.
#[inline]
pub fn murmur3_hive(bytes: &[u8], seed: u64) -> u64 {
    let mix = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let (words, tail) = bytes.as_chunks::<8>();
    let mut h = seed;
    for word in words {
        h ^= mix(u64::from_le_bytes(*word));
        h = h.rotate_left(27).wrapping_mul(5).wrapping_add(0x52dc_e729);
    }
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    // Nothing mixes to nothing.
    h ^= mix(u64::from_le_bytes(last));
    murmur3_last_64(h ^ bytes.len() as u64)
}

/// [`murmur3_x64_128`] with these two words in place of the bytes after the last whole block.
#[inline]
fn murmur3_with_tail(bytes: &[u8], tail: [u64; 2], seed: u64) -> [u64; 2] {
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (mut h1, mut h2) = (seed, seed);
    for block in bytes.as_chunks::<16>().0 {
        let [k1, k2] = words(block);
        h1 ^= mix1(k1);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix2(k2);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    h1 ^= mix1(tail[0]) ^ bytes.len() as u64;
    h2 ^= mix2(tail[1]) ^ bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (murmur3_last_64(h1), murmur3_last_64(h2));
    h1 = h1.wrapping_add(h2);
    [h1, h2.wrapping_add(h1)]
}

#[inline]
fn words(block: &[u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(*block);
    [both as u64, (both >> 64) as u64]
}

/// The last step of MurmurHash3 x64.
#[inline]
pub fn murmur3_last_64(mut h: u64) -> u64 {
    h = (h ^ h >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ h >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ h >> 33
}

/// Spark's MurmurHash3 x86 32 (`hashUnsafeBytes`): each byte of the tail, sign-extended, has a round of its own.
#[inline]
pub fn murmur3_spark(bytes: &[u8], seed: u32) -> u32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let h = words.iter().fold(seed, |h, word| murmur3_round(h, u32::from_le_bytes(*word)));
    let h = tail.iter().fold(h, |h, byte| murmur3_round(h, *byte as i8 as u32));
    murmur3_last_32(h ^ bytes.len() as u32)
}

/// What MurmurHash3 x86 32 makes of a word before it is taken in.
#[inline]
pub fn murmur3_scramble(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

/// A round of MurmurHash3 x86 32.
#[inline]
pub fn murmur3_round(h: u32, word: u32) -> u32 {
    (h ^ murmur3_scramble(word)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

/// The last step of MurmurHash3 x86 32.
#[inline]
pub fn murmur3_last_32(mut h: u32) -> u32 {
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(murmur3_x64_128(b"", 0), [0, 0]);
        let fox = b"The quick brown fox jumps over the lazy dog";
        assert_eq!(murmur3_x64_128(fox, 0), [0xe34b_bc7b_bc07_1b6c, 0x7a43_3ca9_c49a_9347]);
        // Cassandra's is the plain one for ASCII; the sign of a byte goes through all above it.
        assert_eq!(murmur3_cassandra(fox, 7), murmur3_x64_128(fox, 7));
        let key = b"\x9e\x80";
        assert_eq!(murmur3_cassandra(key, 7), murmur3_with_tail(key, [0x7f9e, 0], 7));
        // Whole words alone, where Spark's function is the plain one.
        assert_eq!(murmur3_spark(b"test", 0), 0xba6b_d213);
        assert_eq!(murmur3_spark(b"test", 0x9747_b28c), 0x704b_81dc);
    }
}
