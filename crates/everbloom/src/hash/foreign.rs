//! How the hashes of other software make a digest, for filters that it made, and the shortest of them.

use super::{Digest, widen};

/// Two words of one hash.
pub(super) fn both([h1, h2]: [u64; 2]) -> Digest {
    Digest { h1, h2 }
}

/// A hash, and again with the first as its seed.
pub(super) fn twice(hash: impl Fn(&[u8], u64) -> u64, bytes: &[u8], seed: u64) -> Digest {
    let h1 = hash(bytes, seed);
    Digest { h1, h2: hash(bytes, h1) }
}

/// [`twice`] in 32 bits each: the halves of one word, the first one low.
pub(super) fn halves(hash: impl Fn(&[u8], u32) -> u32, bytes: &[u8], seed: u64) -> Digest {
    let first = hash(bytes, seed as u32);
    let second = hash(bytes, first);
    widen(u64::from(second) << 32 | u64::from(first))
}

/// The first eight bytes as a number; zeros behind those that are fewer.
pub(super) fn first_word(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Thomas Wang's 64-bit mix with signed shifts, as Hive and ORC apply it to integers.
pub(super) fn wang_64(key: u64) -> u64 {
    let key = key as i64;
    let mut key = (!key).wrapping_add(key << 21);
    key ^= key >> 24;
    key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    key ^= key >> 14;
    key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    key ^= key >> 28;
    key.wrapping_add(key << 31) as u64
}

/// FNV-1, 64 bits.
pub(super) fn fnv1_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h: u64, byte| {
        h.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(*byte)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_agrees_with_its_draft() {
        assert_eq!(fnv1_64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1_64(b"foobar"), 0x340d_8765_a4dd_a9c2);
    }
}
