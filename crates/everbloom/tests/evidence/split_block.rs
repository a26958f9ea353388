//! Catalogue I4.

use everbloom::catalog;
use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::hash::{HashId, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::membership::{SplitBlock, split_block};

fn parquet(blocks: u64, seed: u64) -> SplitBlock {
    SplitBlock::with_shape(blocks, Hasher::with_id(HashId::Xxh64, seed).unwrap()).unwrap()
}

#[test]
fn i4_rates_by_formula() {
    for (blocks, k, width, rate) in [
        (3125, 8, 32, 0.033_210),
        (3906, 8, 32, 0.012_651),
        (6250, 8, 32, 0.001_315_4),
        (3906, 4, 64, 0.013_669),
    ] {
        let f = split_block::fpr(blocks, k, width, 100_000);
        assert!((f / rate - 1.0).abs() < 5e-5, "{blocks} {k} {width}: {f} is not {rate}");
    }
}

#[test]
fn i4_measured_rates() {
    // Means over 20 filters of 100,000 keys; the catalogue's simulation had 0.0333, 0.0126, 0.00131.
    for (blocks, rate) in [(3125, 0.033_210), (3906, 0.012_651), (6250, 0.001_315_4)] {
        const QUERIES: u64 = 200_000;
        let mut hits = 0u64;
        for seed in 0..20 {
            let mut filter = parquet(blocks, seed);
            filter.extend(0..100_000u64);
            let asked: Vec<u64> = (0..QUERIES).map(|i| (1 << 40) + i).collect();
            hits += filter.contains_many(&asked).into_iter().filter(|found| *found).count() as u64;
        }
        let expected = rate * 20.0 * QUERIES as f64;
        // Spread of the queries, and 0.6 % from filter to filter over the root of 20.
        let sd = (expected + (0.006 * expected).powi(2) / 20.0).sqrt();
        assert!((hits as f64 - expected).abs() < 5.0 * sd, "{blocks}: {hits}, not {expected}");
    }
}

#[test]
fn i4_one_key_sets_one_bit_in_each_of_eight_words_of_one_block() {
    for key in 0..500u64 {
        let mut filter = parquet(7, 0);
        filter.insert(&key);
        let bytes = filter.to_parquet().unwrap();
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
        let set: Vec<usize> = (0..words.len()).filter(|&i| words[i] != 0).collect();
        assert_eq!(set.len(), 8);
        assert_eq!(set[0] % 8, 0);
        assert_eq!(set[7], set[0] + 7);
        assert!(set.iter().all(|&i| words[i].count_ones() == 1));
        let touched: Vec<u64> =
            filter.trace(&key.to_le_bytes()).iter().map(|cell| cell.index / 32).collect();
        assert_eq!(touched, set.iter().map(|&i| i as u64).collect::<Vec<_>>());
        assert!(filter.trace(&key.to_le_bytes()).iter().all(|cell| cell.agrees));
    }
}

#[test]
fn i4_bits_are_those_of_other_parquet_writers() {
    // One block with the strings a0 to a9, as written by a Java implementation and kept as a fixture of
    // Apache Arrow's Rust reader (parquet/src/bloom_filter).
    const THEIRS: [u8; 32] = [
        200, 1, 80, 20, 64, 68, 8, 109, 6, 37, 4, 67, 144, 80, 96, 32, 8, 132, 43, 33, 0, 5, 99,
        65, 2, 0, 224, 44, 64, 78, 96, 4,
    ];
    let mut ours = parquet(1, 0);
    (0..10).for_each(|i| {
        ours.insert(format!("a{i}").as_str());
    });
    assert_eq!(ours.to_parquet().unwrap(), THEIRS);
    let read = SplitBlock::from_parquet(&THEIRS).unwrap();
    assert!((0..10).all(|i| read.contains(format!("a{i}").as_str())));
    assert!((9..=11).contains(&read.head().items), "estimated from the bits");
    assert!(SplitBlock::from_parquet(&THEIRS[..31]).is_err());
    assert!(SplitBlock::from_parquet(&[]).is_err());
    assert!(parquet(1, 1).to_parquet().is_err(), "another seed is another filter");
}

#[test]
fn i4_default_is_the_specification_and_plans_meet_the_rate() {
    let variant = catalog::VARIANTS.iter().find(|v| v.slug == "split-block").unwrap();
    for (n, p, most) in [(1_000_000, 0.01, 10.55), (1_000_000, 0.001, 16.9), (10, 0.5, 60.0)] {
        let expect = variant.expect(&Goal::new(n, p), &Load::items(n)).unwrap().unwrap();
        assert!(expect.fpr <= p, "{n} {p}: {}", expect.fpr);
        let bits = expect.bits as f64 / n as f64;
        assert!(bits <= most, "{n} {p}: {bits} bits per key");
    }
    let filter = SplitBlock::with_rate(1000, 0.01).unwrap();
    assert_eq!((filter.head().hasher.id(), filter.head().hasher.seed()), (HashId::Xxh64, 0));
}
