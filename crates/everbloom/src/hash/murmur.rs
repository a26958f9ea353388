//! MurmurHash64A (Appleby 2008), for layouts defined elsewhere: what RedisBloom hashes keys with.

const M: u64 = 0xC6A4_A793_5BD1_E995;
const R: u32 = 47;

/// MurmurHash64A of `bytes` under `seed`, words read in little-endian order on every machine.
pub(super) fn of(bytes: &[u8], seed: u64) -> u64 {
    let mut h = seed ^ (bytes.len() as u64).wrapping_mul(M);
    let mut words = bytes.chunks_exact(8);
    for word in words.by_ref() {
        let mut k = u64::from_le_bytes(word.try_into().unwrap_or_default()).wrapping_mul(M);
        k = (k ^ k >> R).wrapping_mul(M);
        h = (h ^ k).wrapping_mul(M);
    }
    let tail = words.remainder();
    if !tail.is_empty() {
        let last = tail.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        h = (h ^ last).wrapping_mul(M);
    }
    h = (h ^ h >> R).wrapping_mul(M);
    h ^ h >> R
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What published implementations give.
    #[test]
    fn known_values() {
        assert_eq!(of(b"", 0), 0);
        assert_eq!(of(b"hello", 0), 0x1E68_D17C_457B_F117);
    }
}
