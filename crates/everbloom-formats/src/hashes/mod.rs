//! The hash functions of other software, each pinned by published vectors or by the software's own.
//!
//! XXH64, SipHash, MD5 and SHA come from crates. The functions here are of a few lines each; crates have the plain
//! ones at most, and not the variants that this software froze: tails hashed byte by byte, signed bytes, previews.

mod city;
mod xxh3_preview;

pub(crate) use everbloom::internals::hash::{
    murmur_64a as murmur2_64a, murmur3_last_64 as fmix64, murmur3_x64_128,
};
use everbloom::internals::hash::{
    murmur3_last_32 as fmix32, murmur3_round, murmur3_scramble, murmur3_with_tail,
};

pub(crate) use city::{city_64, city_128_to_64};
pub(crate) use xxh3_preview::xxh3_preview;

/// MurmurHash3 x86 32.
pub(crate) fn murmur3_x86_32(bytes: &[u8], seed: u32) -> u32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let mut h = seed;
    for word in words {
        h = murmur3_round(h, u32::from_le_bytes(*word));
    }
    if !tail.is_empty() {
        let mut last = [0; 4];
        last[..tail.len()].copy_from_slice(tail);
        h ^= murmur3_scramble(u32::from_le_bytes(last));
    }
    fmix32(h ^ bytes.len() as u32)
}

/// MurmurHash3 x64 128 with the bytes after the last whole block sign-extended, as Cassandra has it.
pub(crate) fn murmur3_cassandra(bytes: &[u8], seed: u64) -> [u64; 2] {
    let mut last = [0u64; 2];
    for (i, byte) in bytes.as_chunks::<16>().1.iter().enumerate() {
        last[i / 8] ^= (*byte as i8 as u64) << (i % 8 * 8);
    }
    murmur3_with_tail(bytes, last, seed)
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// Hive's and ORC's `Murmur3.hash64`: one lane of the 128-bit function.
pub(crate) fn murmur3_hive_64(bytes: &[u8]) -> u64 {
    let mix = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let (words, tail) = bytes.as_chunks::<8>();
    let mut h: u64 = 104_729;
    for word in words {
        h ^= mix(u64::from_le_bytes(*word));
        h = h.rotate_left(27).wrapping_mul(5).wrapping_add(0x52dc_e729);
    }
    if !tail.is_empty() {
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        h ^= mix(u64::from_le_bytes(last));
    }
    fmix64(h ^ bytes.len() as u64)
}

/// Thomas Wang's 64-bit mix with signed shifts, as Hive and ORC apply it to integers.
pub(crate) fn wang_64(key: i64) -> u64 {
    let mut key = (!key).wrapping_add(key << 21);
    key ^= key >> 24;
    key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    key ^= key >> 14;
    key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    key ^= key >> 28;
    key.wrapping_add(key << 31) as u64
}

/// Hadoop's (and stream-lib's) MurmurHash2, 32 bits: bytes after the last whole word are sign-extended, and enter in
/// the reverse order.
pub(crate) fn murmur2_hadoop(bytes: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let (words, tail) = bytes.as_chunks::<4>();
    let mut h = seed ^ bytes.len() as u32;
    for word in words {
        let k = u32::from_le_bytes(*word).wrapping_mul(M);
        h = h.wrapping_mul(M) ^ (k ^ k >> 24).wrapping_mul(M);
    }
    if !tail.is_empty() {
        for (i, byte) in tail.iter().rev().enumerate() {
            h ^= (*byte as i8 as u32) << (8 * i);
        }
        h = h.wrapping_mul(M);
    }
    h = (h ^ h >> 13).wrapping_mul(M);
    h ^ h >> 15
}

/// Bob Jenkins's lookup3, `hashlittle`.
pub(crate) fn jenkins_lookup3(bytes: &[u8], seed: u32) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(seed);
    let [mut a, mut b, mut c] = [start; 3];
    // The last one to twelve bytes are mixed in another way.
    let whole = bytes.len().saturating_sub(1) / 12 * 12;
    let word = |part: &[u8], i: usize| {
        let mut word = [0; 4];
        let from = part.get(4 * i..).unwrap_or_default();
        let len = from.len().min(4);
        word[..len].copy_from_slice(&from[..len]);
        u32::from_le_bytes(word)
    };
    for part in bytes[..whole].chunks_exact(12) {
        a = a.wrapping_add(word(part, 0));
        b = b.wrapping_add(word(part, 1));
        c = c.wrapping_add(word(part, 2));
        for (x, y, z, by) in
            [(0, 2, 1, 4), (1, 0, 2, 6), (2, 1, 0, 8), (0, 2, 1, 16), (1, 0, 2, 19), (2, 1, 0, 4)]
        {
            // x −= y; x ^= y rotated; y += z
            let mut v = [a, b, c];
            v[x] = v[x].wrapping_sub(v[y]) ^ v[y].rotate_left(by);
            v[y] = v[y].wrapping_add(v[z]);
            [a, b, c] = v;
        }
    }
    let last = &bytes[whole..];
    if last.is_empty() {
        return c;
    }
    let mut v = [
        a.wrapping_add(word(last, 0)),
        b.wrapping_add(word(last, 1)),
        c.wrapping_add(word(last, 2)),
    ];
    for (x, y, by) in
        [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)]
    {
        v[x] = (v[x] ^ v[y]).wrapping_sub(v[y].rotate_left(by));
    }
    v[2]
}

/// FNV-1, 64 bits.
pub(crate) fn fnv1_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_BASIS, |h, byte| h.wrapping_mul(FNV_PRIME) ^ u64::from(*byte))
}

/// FNV-1a, 64 bits, from `basis` on.
pub(crate) fn fnv1a_64(bytes: &[u8], basis: u64) -> u64 {
    bytes.iter().fold(basis, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

pub(crate) const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Two 32-bit hashes that make k: h1 + i·h2 for i = 1 … k, in 32 bits, with all bits flipped where that is below
/// zero. Guava's first strategy, Spark's V1, ORC and Hive share it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halves {
    pub(crate) h1: u32,
    pub(crate) h2: u32,
}

/// The low and the high half of a 64-bit hash.
pub(crate) fn halves(h: u64) -> Halves {
    Halves { h1: h as u32, h2: (h >> 32) as u32 }
}

impl Halves {
    /// The value number `i`, not below zero.
    #[inline]
    pub(crate) fn nth(self, i: u32) -> u32 {
        let combined = self.h1.wrapping_add(i.wrapping_mul(self.h2)) as i32;
        (if combined < 0 { !combined } else { combined }) as u32
    }

    /// Whether `probe` holds for all k indices.
    #[inline]
    pub(crate) fn all(self, m: u64, k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        (1..=k).all(|i| probe(u64::from(self.nth(i)) % m))
    }
}

/// A signed number with all bits flipped where it is below zero.
#[inline]
pub(crate) fn flipped(value: i64) -> u64 {
    (if value < 0 { !value } else { value }) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SMHasher's own check of a 32-bit function: keys of 0 to 255 bytes under seeds 256 − length, hashed once more.
    fn verification(hash: impl Fn(&[u8], u32) -> Vec<u8>) -> u32 {
        let key: Vec<u8> = (0..=255).collect();
        let all: Vec<u8> = (0..256u32).flat_map(|i| hash(&key[..i as usize], 256 - i)).collect();
        u32::from_le_bytes(hash(&all, 0)[..4].try_into().unwrap())
    }

    #[test]
    fn smhasher_verifies_the_murmur_family() {
        let narrow = |k: &[u8], s: u32| murmur3_x86_32(k, s).to_le_bytes().to_vec();
        assert_eq!(verification(narrow), 0xB0F5_7EE3);
        let wide = |k: &[u8], s: u32| {
            murmur3_x64_128(k, s.into()).iter().flat_map(|w| w.to_le_bytes()).collect()
        };
        assert_eq!(verification(wide), 0x6384_BA69);
        let older = |k: &[u8], s: u32| murmur2_64a(k, s.into()).to_le_bytes().to_vec();
        assert_eq!(verification(older), 0x1F0D_3804);
    }

    #[test]
    fn lookup3_agrees_with_its_author() {
        let text = b"Four score and seven years ago";
        assert_eq!(jenkins_lookup3(text, 0), 0x1777_0551);
        assert_eq!(jenkins_lookup3(text, 1), 0xcd62_8161);
        assert_eq!(jenkins_lookup3(b"", 0), 0xdead_beef);
    }

    #[test]
    fn fnv_agrees_with_its_draft() {
        assert_eq!(fnv1_64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1_64(b"foobar"), 0x340d_8765_a4dd_a9c2);
        assert_eq!(fnv1a_64(b"foobar", FNV_BASIS), 0x8594_4171_f739_67e8);
    }
}
