//! B17, HyperLogLog.

use everbloom::internals::filter::{Filter, Record};
use everbloom::internals::hash::{Generator, murmur_64a};
use everbloom::internals::theory::cardinality;
use everbloom::sketches::HyperLogLog;
use everbloom::{Goal, Kind, Seen};

fn redis() -> HyperLogLog {
    HyperLogLog::builder().form("redis").build().unwrap()
}

#[test]
fn b17_places_of_hashes() {
    let sketch = redis();
    let hello = murmur_64a(b"hello", 0xadc8_3b19);
    assert_eq!(hello, 0x0f65_6f01_eecf_e400);
    for (hash, place) in
        [(0, (0, 51)), (u64::MAX, (16383, 1)), (1 << 20, (0, 7)), (hello, (9216, 1))]
    {
        assert_eq!(sketch.place(hash), place, "{hash:x}");
    }
    let mut one = redis();
    assert_eq!(
        (one.count(), one.insert("hello"), one.insert("hello")),
        (0, Seen::New, Seen::Maybe)
    );
    let (registers, count) = (one.registers(), one.count());
    assert_eq!((registers.get(9216), registers.iter().sum::<u64>(), count), (1, 1, 1));
}

/// A sketch of n keys, by hashes drawn at random: only mean and spread are of interest.
fn estimates(n: u64, p: u32, runs: u64) -> (f64, f64) {
    let shape = HyperLogLog::with_precision(p).unwrap();
    let m = 1usize << p;
    let ratios: Vec<f64> = (0..runs)
        .map(|run| {
            let mut random = Generator::new(run << 32 | n);
            let mut ranks = vec![0u64; m];
            for _ in 0..n {
                let (register, rank) = shape.place(random.next_u64());
                ranks[register as usize] = ranks[register as usize].max(rank);
            }
            let mut counts = vec![0u64; 66 - p as usize];
            ranks.iter().for_each(|rank| counts[*rank as usize] += 1);
            cardinality::from_ranks(&counts) / n as f64
        })
        .collect();
    let mean = ratios.iter().sum::<f64>() / runs as f64;
    let sd = (ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / runs as f64).sqrt();
    (mean, sd)
}

#[test]
fn b17_mean_and_spread_of_estimates() {
    for (n, runs) in [(100, 200), (1000, 200), (20_000, 100), (60_000, 100), (100_000, 100)] {
        let (mean, sd) = estimates(n, 14, runs);
        assert!((mean - 1.0).abs() <= 0.003 && sd <= 0.0095, "{n}: {mean} ± {sd}");
    }
    let (mean, sd) = estimates(100_000, 10, 100);
    assert!((mean - 1.0).abs() < 0.015 && (0.024..0.042).contains(&sd), "p = 10: {mean} ± {sd}");
}

/// The keys of the library and the server's hash, on short text and integers.
#[test]
fn b17_keys_are_counted_within_the_error() {
    for form in ["standard", "redis"] {
        for n in [1u64, 10, 1000, 50_000] {
            let mut sketch = HyperLogLog::builder().form(form).build().unwrap();
            for i in 0..n {
                sketch.insert(&i);
                sketch.insert(i.to_string().as_str());
                sketch.insert(&i);
            }
            let off = sketch.estimate() / (2 * n) as f64 - 1.0;
            assert!(off.abs() < 5.0 * sketch.error(), "{form} {n}: {off}");
        }
    }
}

#[test]
fn b17_merging_is_adding_both_streams() {
    let build = |range: std::ops::Range<u64>| {
        let mut sketch = HyperLogLog::with_precision(12).unwrap();
        range.for_each(|key| _ = sketch.insert(&key));
        sketch
    };
    let (mut merged, whole) = (build(0..6000), build(0..9000));
    merged.union(&build(3000..9000)).unwrap();
    assert!(merged.registers().iter().eq(whole.registers().iter()), "register for register");
    let other = HyperLogLog::with_precision(11).unwrap();
    assert!(matches!(merged.union(&other).map_err(|e| e.kind()), Err(Kind::Incompatible { .. })));
}

#[test]
fn b17_values_of_the_redis_server() {
    let mut sketch = redis();
    (0..5000u32).for_each(|i| _ = sketch.insert(format!("user:{i}").as_str()));
    let value = sketch.to_redis().unwrap();
    assert_eq!((value.len(), &value[..8]), (16 + 12_288, &b"HYLL\0\0\0\0"[..]));
    assert_eq!(value[8..16], sketch.count().to_le_bytes());
    // Register i at bit 6i, least significant bit first: read bit by bit.
    for (i, rank) in sketch.registers().iter().enumerate() {
        let bit = |b: usize| u64::from(value[16 + b / 8] >> (b % 8) & 1);
        assert_eq!((0..6).map(|j| bit(6 * i + j) << j).sum::<u64>(), rank, "{i}");
    }
    let back = HyperLogLog::from_redis(&value).unwrap();
    assert!(back.registers().iter().eq(sketch.registers().iter()));
    // 100 zeros, then 3 of rank 7, then the rest zeros.
    let zeros = 16_384 - 103 - 1;
    let sparse = [
        &b"HYLL\x01\0\0\0"[..],
        &[0; 8],
        &[0x3f, 35, 0x80 | 6 << 2 | 2, 0x40 | (zeros >> 8) as u8, zeros as u8],
    ]
    .concat();
    let read = HyperLogLog::from_redis(&sparse).unwrap();
    let wanted = |i: usize| if (100..103).contains(&i) { 7 } else { 0 };
    assert!(read.registers().iter().enumerate().all(|(i, rank)| rank == wanted(i)));
    for bad in [
        &value[..100],
        b"",
        b"HYLL",
        &sparse[..sparse.len() - 1],
        &[b"HYLL\x07".as_slice(), &[0; 50]].concat(),
    ] {
        assert!(HyperLogLog::from_redis(bad).is_err());
    }
    let standard = HyperLogLog::with_precision(14).unwrap();
    assert_eq!(standard.to_redis().unwrap_err().kind(), Kind::Unsupported);
    assert!(HyperLogLog::builder().form("redis").seed(7).build().is_err(), "its seed is fixed");
}

#[test]
fn b17_registers_follow_from_the_error_or_the_memory() {
    let p = |goal: Goal| {
        let entry = everbloom::catalog::by_slug("hyperloglog").unwrap();
        entry.build_from(&goal, &[]).map(|s| s.as_same::<HyperLogLog>().unwrap().p())
    };
    assert_eq!(p(Goal::new(1000, 0.01)).unwrap(), 14);
    assert_eq!(p(Goal::new(1000, 0.0082)).unwrap(), 14);
    assert_eq!(p(Goal::new(1000, 0.03)).unwrap(), 11);
    assert_eq!(p(Goal::default()).unwrap(), 14);
    assert_eq!(p(Goal::default().bits(6 << 10)).unwrap(), 10);
    assert!(p(Goal::new(1, 1e-4)).is_err() && p(Goal::default().bits(10)).is_err());
    let refused = redis().query(Record::key(b"x")).unwrap_err();
    assert_eq!(refused.kind(), Kind::Unsupported);
}
