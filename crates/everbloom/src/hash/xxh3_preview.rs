//! The preview of XXH3 that RocksDB froze (xxHash 0.7.2, seed 0), which gives other values than the final function.
//!
//! The secret is that of the final function. What differs: the mix at the end has two steps, keys of up to 16 bytes
//! are combined in another way, and the hash of nothing is a product of the secret.

const SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

const NARROW: [u64; 3] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d];
const WIDE: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];

/// The 64-bit hash.
pub(super) fn xxh3_preview(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let start = (len as u64).wrapping_mul(WIDE[0]);
    match len {
        0 => folded(word(&SECRET, 0), WIDE[1]),
        1..=3 => {
            let ends = [bytes[0], bytes[len / 2], bytes[len - 1], len as u8];
            let keyed = u64::from(u32::from_le_bytes(ends) ^ half(&SECRET, 0));
            finished(keyed.wrapping_mul(WIDE[0]))
        }
        4..=8 => {
            let both = u64::from(half(bytes, 0)) | u64::from(half(bytes, len - 4)) << 32;
            let keyed = both ^ word(&SECRET, 0);
            let mixed = (keyed ^ keyed >> 51).wrapping_mul(NARROW[0]).wrapping_add(len as u64);
            finished((mixed ^ mixed >> 47).wrapping_mul(WIDE[1]))
        }
        9..=16 => {
            let low = word(bytes, 0) ^ word(&SECRET, 0);
            let high = word(bytes, len - 8) ^ word(&SECRET, 8);
            let sum = (len as u64).wrapping_add(low).wrapping_add(high);
            finished(sum.wrapping_add(folded(low, high)))
        }
        17..=128 => {
            // Pairs of 16 bytes from both ends inwards.
            let pairs = (len - 1) / 32;
            let pair = |i: usize| {
                mixed(bytes, 16 * i, 32 * i).wrapping_add(mixed(
                    bytes,
                    len - 16 * (i + 1),
                    32 * i + 16,
                ))
            };
            finished((0..=pairs).fold(start, |sum, i| sum.wrapping_add(pair(i))))
        }
        129..=240 => {
            let sum = (0..8).fold(start, |sum, i| sum.wrapping_add(mixed(bytes, 16 * i, 16 * i)));
            let rest = 8..len / 16;
            let sum = rest.fold(finished(sum), |sum, i| {
                sum.wrapping_add(mixed(bytes, 16 * i, 16 * (i - 8) + 3))
            });
            finished(sum.wrapping_add(mixed(bytes, len - 16, 136 - 17)))
        }
        _ => long(bytes, start),
    }
}

/// Stripes of 64 bytes into eight sums, which are scrambled after every sixteen.
fn long(bytes: &[u8], start: u64) -> u64 {
    let [n1, n2, n3] = NARROW;
    let [w1, w2, w3, w4, w5] = WIDE;
    let mut sums = [n3, w1, w2, w3, w4, n2, w5, n1];
    let stripe = |sums: &mut [u64; 8], at: usize, secret: usize| {
        for (i, sum) in sums.iter_mut().enumerate() {
            let data = word(bytes, at + 8 * i);
            let keyed = data ^ word(&SECRET, secret + 8 * i);
            let product = (keyed & 0xffff_ffff).wrapping_mul(keyed >> 32);
            *sum = sum.wrapping_add(data).wrapping_add(product);
        }
    };
    const ROUNDS: usize = (192 - 64) / 8;
    let (stripes, last) = (bytes.len() / 64, bytes.len() % 64);
    for n in 0..stripes {
        stripe(&mut sums, 64 * n, 8 * (n % ROUNDS));
        if n % ROUNDS == ROUNDS - 1 {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = (*sum ^ *sum >> 47 ^ word(&SECRET, 128 + 8 * i)).wrapping_mul(n1);
            }
        }
    }
    if last > 0 {
        stripe(&mut sums, bytes.len() - 64, 192 - 64 - 7);
    }
    let pair = |i: usize| {
        let at = 11 + 16 * i;
        folded(sums[2 * i] ^ word(&SECRET, at), sums[2 * i + 1] ^ word(&SECRET, at + 8))
    };
    finished((0..4).fold(start, |sum, i| sum.wrapping_add(pair(i))))
}

/// 16 bytes of the key with 16 of the secret.
fn mixed(bytes: &[u8], at: usize, secret: usize) -> u64 {
    folded(word(bytes, at) ^ word(&SECRET, secret), word(bytes, at + 8) ^ word(&SECRET, secret + 8))
}

fn finished(h: u64) -> u64 {
    let h = (h ^ h >> 37).wrapping_mul(WIDE[2]);
    h ^ h >> 32
}

fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rocksdb_pins_the_short_ones() {
        for (key, hash) in [
            (&b""[..], 5_999_572_062_939_766_020),
            (b"\x08", 583_283_813_901_344_696),
            (b"\x4d\x76", 6_859_542_833_406_258_115),
            (b"\x30\x46\x0b", 11_404_699_285_340_020_889),
            (b"\x67\x53\x81\x1c", 9_010_661_983_527_562_386),
            (b"\x31\x1b\x98\x75\x96\x22\xd3\x9a", 9_844_314_944_338_447_628),
            (b"\x1a\xb5\xd0\xfe\xab\xc3\x61\xb2\x99", 13_253_403_748_084_181_481),
            (b"\xbd\x2c\x63\x38\xbf\xe9\x78\xb7\xbf\x15", 10_551_812_464_348_219_044),
        ] {
            assert_eq!(xxh3_preview(key), hash, "{key:x?}");
        }
    }

    /// RocksDB's own check of all lengths up to 430, a character for each.
    #[test]
    fn rocksdb_pins_the_long_ones() {
        let digits = b"abcdefghijklmnopqrstuvwxyz123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let input = "foo".repeat(144);
        let found: Vec<u8> = (0..430)
            .map(|len| digits[(xxh3_preview(&input.as_bytes()[..len]) % 61) as usize])
            .collect();
        let expected = "cRhyWsY67B6klRA1udmOuiYuX7IthyGBKqbeosz2hzVglWCmQx8nEdnpkvPfYX56Up2OWOTV\
            lTzfAoYwvtqKzjD8E9xttR2unelbXbIV67NUe6bOO23BxaSFRcA3njGu5cUWfgwOqNoTsszp\
            uPvKRP6qaUR5VdoBkJUCFIefd7edlNK5mv6JYWaGdwxehg65hTkTmjZoPKxTZo4PLyzbL9U4\
            xt12ITSfeP2MfBHuLI2z2pDlBb44UQKVMx27LEoAHsdLp3WfWfgH3sdRBRCHm33UxCM4QmE2\
            xJ7gqSvNwTeH7v9GlC8zWbGroyD3UVNeShMLx29O7tH1biemLULwAHyIw8zdtLMDpEJ8m2ic\
            l6Lb4fDuuFNAs1GCVUthjK8CV8SWI8Rsz5THSwn5CGhpqUwSZcFknjwWIl5rNCvDxXJqYr";
        assert_eq!(String::from_utf8(found).unwrap(), expected);
    }
}
