//! MurmurHash2 in 32 bits and MurmurHash64A (Appleby 2008), as filters and sketches of the Redis family hash their keys.

const M64: u64 = 0xc6a4_a793_5bd1_e995;
const M32: u32 = 0x5bd1_e995;

/// MurmurHash64A of some bytes, read little-endian.
pub fn murmur_64a(bytes: &[u8], seed: u64) -> u64 {
    let mut h = seed ^ (bytes.len() as u64).wrapping_mul(M64);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let k = u64::from_le_bytes(chunk.try_into().unwrap_or_default()).wrapping_mul(M64);
        h = (h ^ (k ^ k >> 47).wrapping_mul(M64)).wrapping_mul(M64);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0, |tail, byte| tail << 8 | u64::from(*byte));
        h = (h ^ tail).wrapping_mul(M64);
    }
    h = (h ^ h >> 47).wrapping_mul(M64);
    h ^ h >> 47
}

/// MurmurHash2 of some bytes, read little-endian.
pub fn murmur_32(bytes: &[u8], seed: u32) -> u32 {
    let last = |tail: &[u8]| tail.iter().rev().fold(0, |h, byte| h << 8 | u32::from(*byte));
    murmur_32_tailed(bytes, last, seed)
}

/// [`murmur_32`] as HBase has it: bytes after the last whole word are sign-extended.
pub fn murmur_32_hbase(bytes: &[u8], seed: u32) -> u32 {
    murmur_32_tailed(bytes, |tail| signed(tail.iter().rev()), seed)
}

/// [`murmur_32`] as Hadoop and stream-lib have it: bytes after the last whole word are sign-extended, and enter in the
/// reverse order.
pub fn murmur_32_hadoop(bytes: &[u8], seed: u32) -> u32 {
    murmur_32_tailed(bytes, |tail| signed(tail.iter()), seed)
}

/// Bytes as one number, the first one highest; where one is negative, its sign goes through those before it.
fn signed<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    bytes.fold(0, |tail, byte| tail << 8 ^ *byte as i8 as u32)
}

/// MurmurHash2 with the number that `last` makes of the bytes after the last whole word.
fn murmur_32_tailed(bytes: &[u8], last: impl Fn(&[u8]) -> u32, seed: u32) -> u32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let mut h = seed ^ bytes.len() as u32;
    for word in words {
        let k = u32::from_le_bytes(*word).wrapping_mul(M32);
        h = h.wrapping_mul(M32) ^ (k ^ k >> 24).wrapping_mul(M32);
    }
    if !tail.is_empty() {
        h = (h ^ last(tail)).wrapping_mul(M32);
    }
    h = (h ^ h >> 13).wrapping_mul(M32);
    h ^ h >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(murmur_64a(b"", 0), 0);
        assert_eq!(murmur_64a(b"hello", 0), 0x1e68_d17c_457b_f117);
        assert_eq!(murmur_64a(b"hello", 0xadc8_3b19), 0x0f65_6f01_eecf_e400);
        assert_eq!(murmur_32(b"hello", 0), 0xe561_29cb);
        assert_eq!(murmur_32(b"hello", 1919), 0x234d_ad03);
        // One byte after the last word, or none: the order says nothing, and neither does a sign that is not there.
        assert_eq!(murmur_32_hadoop(b"hello", 1919), 0x234d_ad03);
        assert_eq!(murmur_32_hbase(b"hello you", 7), murmur_32(b"hello you", 7));
        assert_eq!(murmur_32_hbase(b"hello!!", 7), murmur_32(b"hello!!", 7));
        assert_ne!(murmur_32_hbase(b"caf\xc3\xa9", 7), murmur_32(b"caf\xc3\xa9", 7));
        assert_eq!(murmur_32_hadoop(b"....abc", 7), murmur_32_hbase(b"....cba", 7));
    }
}
