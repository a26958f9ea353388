//! Published vectors of every hash id, and quality on keys that are not random.

use super::*;

/// The byte sequence of the xxHash repository's sanity checks.
fn sanity_buffer(len: usize) -> Vec<u8> {
    let mut generator: u64 = 2_654_435_761;
    (0..len)
        .map(|_| {
            let byte = (generator >> 56) as u8;
            generator = generator.wrapping_mul(11_400_714_785_074_694_797);
            byte
        })
        .collect()
}

#[test]
fn xxh3_and_xxh64_match_the_published_sanity_vectors() {
    const PRIME32: u64 = 2_654_435_761;
    const PRIME64: u64 = 11_400_714_785_074_694_797;
    let buffer = sanity_buffer(64);
    let h = |id, seed, len: usize| Hasher::new(id, seed, None).digest(&buffer[..len]);
    // xxHash, tests/sanity_test_vectors.h: XXH64 of 0, 1 and 14 bytes.
    assert_eq!(h(HashId::Xxh64, 0, 0).h1, 0xEF46_DB37_51D8_E999);
    assert_eq!(h(HashId::Xxh64, PRIME32, 0).h1, 0xAC75_FDA2_929B_17EF);
    assert_eq!(h(HashId::Xxh64, 0, 1).h1, 0xE934_A84A_DB05_2768);
    assert_eq!(h(HashId::Xxh64, 0, 14).h1, 0x8282_DCC4_994E_35C8);
    // XXH3-64 of 0 and 1 bytes.
    assert_eq!(h(HashId::Xxh3_64, 0, 0).h1, 0x2D06_8005_38D3_94C2);
    assert_eq!(h(HashId::Xxh3_64, PRIME64, 0).h1, 0xA8A6_B918_B2F0_364A);
    assert_eq!(h(HashId::Xxh3_64, 0, 1).h1, 0xC44B_DFF4_074E_ECDB);
    // XXH3-128 of 0 and 1 bytes: low word first.
    let empty = h(HashId::Xxh3_128, 0, 0);
    assert_eq!((empty.h1, empty.h2), (0x6001_C324_468D_497F, 0x99AA_06D3_0147_98D8));
    let one = h(HashId::Xxh3_128, 0, 1);
    assert_eq!((one.h1, one.h2), (0xC44B_DFF4_074E_ECDB, 0xA6CD_5E93_9200_0F6A));
}

#[test]
fn the_fast_hash_is_pinned() {
    let fold = |seed, key: &[u8]| {
        let Digest { h1, h2 } = Hasher::with_id(HashId::Fold64, seed).unwrap().digest(key);
        assert_eq!(h2, h1.wrapping_mul(0x3C6E_F372_FE94_F82B));
        h1
    };
    assert_eq!(fold(0, &42u64.to_le_bytes()), 17_199_322_186_024_592_867);
    assert_eq!(fold(1, &42u64.to_le_bytes()), 13_679_422_360_752_605_145);
    // Any other length is XXH3-64, whose vectors are above.
    assert_eq!(fold(0, b""), 0x2D06_8005_38D3_94C2);
}

#[test]
fn the_quickest_hash_is_pinned() {
    let quick = |seed, key: &[u8]| {
        let Digest { h1, h2 } = Hasher::with_id(HashId::Quick64, seed).unwrap().digest(key);
        (h1, h2)
    };
    let of =
        |h: u64| (h.wrapping_mul(0xBB67_AE85_84CA_A73B), h.wrapping_mul(0x3C6E_F372_FE94_F82B));
    // The seed's part, mix64(seed ^ K3), and the fold of 42 by hand.
    let folded = |seed: u64| {
        let product = u128::from(42 ^ mix64(seed ^ 0x3C6E_F372_FE94_F82B)) * 0x6A09_E667_F3BC_C909;
        product as u64 ^ (product >> 64) as u64
    };
    assert_eq!(quick(0, &42u64.to_le_bytes()), of(folded(0)));
    assert_eq!(quick(1, &42u64.to_le_bytes()), of(folded(1)));
    assert_eq!(quick(0, b""), of(0x2D06_8005_38D3_94C2));
    // The one for lanes differs in its second word, whose low half it leaves alone.
    for key in [&42u64.to_le_bytes()[..], b"", b"seventeen letters"] {
        let lane = Hasher::with_id(HashId::Lane64, 1).unwrap().digest(key);
        let quick = quick(1, key);
        let h = quick.0.wrapping_mul(inverse(0xBB67_AE85_84CA_A73B));
        assert_eq!(lane.h1, quick.0);
        assert_eq!(lane.h2, h.wrapping_mul(0xFE94_F82B_0000_0001));
        assert_eq!(lane.h2 as u32, h as u32);
    }
}

/// The inverse of an odd number by Newton's iteration, which doubles its right bits.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}

#[test]
fn inlined_hashes_equal_the_others() {
    for id in [HashId::Xxh64, HashId::Fold64, HashId::Quick64, HashId::Lane64, HashId::Xxh3_128] {
        for usual in HashId::ALL {
            let hasher = Hasher::with_id(id, 5).unwrap();
            assert_eq!(hasher.digest_usually(usual, &7u64), hasher.digest(&7u64), "{id} {usual}");
            assert_eq!(hasher.digest_usually(usual, &[7; 20]), hasher.digest(&[7; 20]), "{id}");
            assert_eq!(hasher.digest_usually(usual, "sevenths"), hasher.digest("sevenths"), "{id}");
            assert_eq!(hasher.digest_usually(usual, "seven"), hasher.digest("seven"), "{id}");
        }
    }
}

#[test]
fn siphash_matches_the_reference_vectors() {
    // SipHash reference, vectors.h (vectors_sip128): key 00..0f, messages of 0 and 1 bytes.
    let hasher = Hasher::keyed(SecretKey::new(std::array::from_fn(|i| i as u8)));
    let expect = |bytes: [u8; 16]| {
        let word = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap());
        Digest { h1: word(&bytes[..8]), h2: word(&bytes[8..]) }
    };
    let empty = expect([
        0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
        0x93,
    ]);
    let one = expect([
        0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
        0x45,
    ]);
    assert_eq!(hasher.digest(&[0u8; 0]), empty);
    assert_eq!(hasher.digest(&[0u8]), one);
}

/// Their functions are those of filters that other software wrote, which `everbloom-formats` asks for their keys.
#[test]
fn foreign_digests_are_pinned() {
    let pins = [
        ("murmur3-128", 0xfcd6_9097_3611_36f3, 0xf7fd_c86a_887e_17ed),
        ("murmur3-spark", 0x9b46_33cd_8fc0_6d02, 0x07fc_291b_649d_0327),
        ("murmur-64a-twice", 0x3194_f790_b270_1b52, 0x09ac_c7c8_cf18_706d),
        ("murmur3-cassandra", 0xf7fd_c86a_887e_17ed, 0xfcd6_9097_3611_36f3),
        ("murmur3-hive", 0xc991_fdff_06f7_3b2d, 0xd2b8_6355_bf18_1a55),
        ("wang-64", 0x6279_fd55_61b0_2fcf, 0x4403_3610_7163_ce64),
        ("murmur-hadoop", 0xf256_eccb_3fae_9c73, 0x6d6d_6ef8_8190_9c48),
        ("xxh64-twice", 0xfab5_74fd_9d1e_7758, 0xd448_07d6_dd53_33e2),
        ("xxh3-64-pair", 0xf642_ae47_f16a_6462, 0x2f3f_ec0b_6943_832e),
        ("fnv1-64", 0x27b8_6f43_7483_74c9, 0x75a3_9b49_018f_d08d),
        ("cityhash-64", 0x75c7_c33d_6833_c4b7, 0xc002_e6fc_9025_15f1),
        ("murmur3-last", 0x574a_3f18_20af_b164, 0x6e21_0bda_b126_e961),
        ("xxh3-preview", 0x779d_edb7_0000_0000, 0x0000_0000_d465_8889),
    ];
    assert_eq!(pins.map(|(name, ..)| name), HashId::FOREIGN.map(HashId::name));
    for (id, (name, h1, h2)) in HashId::FOREIGN.into_iter().zip(pins) {
        let digest = Hasher::with_id(id, 1).unwrap().digest("apple pie");
        assert_eq!(digest, Digest { h1, h2 }, "{name}");
    }
}

#[test]
fn splitmix64_matches_the_published_stream() {
    // Vigna's splitmix64.c from seed 1234567.
    let mut g = Generator::new(1_234_567);
    assert_eq!(g.next_u64(), 6_457_827_717_110_365_317);
    assert_eq!(g.next_u64(), 3_203_168_211_198_807_973);
    assert_eq!(g.next_u64(), 9_817_491_932_198_370_423);
}

#[test]
fn integers_are_their_little_endian_bytes_under_every_hash() {
    let key = SecretKey::from_hex("000102030405060708090a0b0c0d0e0f").unwrap();
    for id in HashId::ALL {
        let hasher = Hasher::with_id(id, 7).unwrap_or_else(|_| Hasher::keyed(key.clone()));
        assert_eq!(hasher.digest(&42u64), hasher.digest(&42u64.to_le_bytes()), "{id}");
        assert_eq!(hasher.digest("ab"), hasher.digest(b"ab"), "{id}");
    }
}

/// Keys people really have: counters, short words, one field that moves inside a fixed frame.
fn structured_keys(n: u64) -> Vec<(&'static str, Vec<Vec<u8>>)> {
    vec![
        ("sequential", (0..n).map(|i| i.to_le_bytes().to_vec()).collect()),
        ("multiples of 2^32", (0..n).map(|i| (i << 32).to_le_bytes().to_vec()).collect()),
        ("short strings", (0..n).map(|i| format!("{i:x}").into_bytes()).collect()),
        ("urls", (0..n).map(|i| format!("https://a.b/{i}/index.html").into_bytes()).collect()),
        ("strides", (0..n).map(|i| (i * 0x1_0001).to_le_bytes().to_vec()).collect()),
        ("pointers", (0..n).map(|i| (0x7F3A_0000_0000 + 48 * i).to_le_bytes().to_vec()).collect()),
        ("high bits", (0..n).map(|i| i.reverse_bits().to_le_bytes().to_vec()).collect()),
        ("four ones", four_ones(n).map(|w| w.to_le_bytes().to_vec()).collect()),
        ("addresses", (0..n).map(|i| (0x0A00_0000 + i as u32).to_be_bytes().to_vec()).collect()),
    ]
}

/// Words with four ones, in ascending order.
fn four_ones(n: u64) -> impl Iterator<Item = u64> {
    // Gosper's step to the next word with as many ones.
    let next = |&w: &u64| {
        let carried = w + (w & w.wrapping_neg());
        Some(carried | ((w ^ carried) >> 2) >> w.trailing_zeros())
    };
    std::iter::successors(Some(0b1111), next).take(n as usize)
}

#[test]
fn structured_keys_spread_like_random_ones() {
    for id in [HashId::Xxh3_128, HashId::Fold64, HashId::Quick64, HashId::Lane64] {
        spreads(&Hasher::with_id(id, 0).unwrap());
        spreads(&Hasher::with_id(id, 99).unwrap());
    }
}

fn spreads(hasher: &Hasher) {
    // χ² over 1,024 bins on the top and the bottom bits of both words and of a salted word:
    // mean 1023, sd 45; six sigmas is 271.
    const N: u64 = 102_400;
    for (name, keys) in structured_keys(N) {
        type View = fn(Digest) -> u64;
        let views: [(&str, View); 6] = [
            ("h1 high", |d| d.h1 >> 54),
            ("h1 low", |d| d.h1 & 1023),
            ("h2 high", |d| d.h2 >> 54),
            ("h2 low", |d| d.h2 & 1023),
            ("both high", |d| (d.h1 >> 59) << 5 | d.h2 >> 59),
            ("salted", |d| d.salted(3).h1 >> 54),
        ];
        // The quickest hashes promise their high bits alone.
        let quick = matches!(hasher.id(), HashId::Quick64 | HashId::Lane64);
        let promised = |view: &str| !quick || !view.ends_with("low");
        for (view, bin) in views.into_iter().filter(|(view, _)| promised(view)) {
            let mut counts = vec![0f64; 1024];
            for key in &keys {
                counts[bin(hasher.digest(key)) as usize] += 1.0;
            }
            let mean = N as f64 / 1024.0;
            let chi2: f64 = counts.iter().map(|c| (c - mean).powi(2) / mean).sum();
            assert!((chi2 - 1023.0).abs() < 271.0, "{hasher:?}, {name}, {view}: χ² = {chi2}");
        }
    }
}

#[test]
fn every_input_bit_moves_half_the_output_bits() {
    avalanches(&Hasher::default());
    avalanches(&Hasher::with_id(HashId::Fold64, 0).unwrap());
}

fn avalanches(hasher: &Hasher) {
    for bit in 0..64 {
        let flips: u32 = (0..1000u64)
            .map(|i| {
                let (a, b) = (hasher.digest(&i), hasher.digest(&(i ^ 1 << bit)));
                (a.h1 ^ b.h1).count_ones() + (a.h2 ^ b.h2).count_ones()
            })
            .sum();
        // 128,000 fair coins: sd 179, six sigmas 1073.
        assert!((i64::from(flips) - 64_000).abs() < 1_073, "{hasher:?}, bit {bit}: {flips}");
    }
}

#[test]
fn a_malformed_key_is_refused() {
    for bad in ["", "00", "zz0102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0f00"]
    {
        assert!(SecretKey::from_hex(bad).is_err(), "{bad:?}");
    }
}
