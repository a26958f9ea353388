//! The hash functions of other software, each pinned by published vectors or by the software's own.
//!
//! XXH64, SipHash, MD5 and SHA come from crates, and what filters are converted with from the library. The functions
//! here are of a few lines each; crates have the plain ones at most, and not the variants that this software froze.

pub(crate) use everbloom::internals::hash::{
    murmur_32_hadoop as murmur2_hadoop, murmur_32_hbase as murmur2_hbase,
    murmur_64a as murmur2_64a, murmur3_x64_128,
};
use everbloom::internals::hash::{murmur3_last_32 as fmix32, murmur3_round, murmur3_scramble};

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

/// FNV-1a, 64 bits, from `basis` on.
pub(crate) fn fnv1a_64(bytes: &[u8], basis: u64) -> u64 {
    bytes.iter().fold(basis, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

pub(crate) const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

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
        assert_eq!(fnv1a_64(b"foobar", FNV_BASIS), 0x8594_4171_f739_67e8);
    }
}
