//! B7, the cuckoo filter.

use everbloom::Kind;
use everbloom::fingerprints::Cuckoo;
use everbloom::fingerprints::cuckoo::VARIANT;
use everbloom::internals::filter::{Face, Filter as _};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::cuckoo as theory;
use everbloom::internals::theory::tail::binomial_bounds;

use super::numbers::passing;

/// A table by hand: buckets, slots and fingerprint bits.
fn table(buckets: u64, slots: u32, fingerprint: u32, seed: u64) -> Cuckoo {
    let builder = Cuckoo::builder().set("buckets", buckets).set("slots", slots);
    builder.set("fingerprint", fingerprint).seed(seed).build().expect("a shape")
}

/// RedisBloom's filter, under a seed of its own.
fn redis(capacity: u64, slots: u32, expansion: u64, seed: u64) -> Cuckoo {
    let builder = Cuckoo::builder().form("redisbloom").set("capacity", capacity);
    builder.set("slots", slots).set("expansion", expansion).seed(seed).build().expect("a shape")
}

/// Inserts 0, 1, … up to the first that is refused; how many were taken.
fn fill(filter: &mut Cuckoo) -> u64 {
    (0u64..).find(|key| filter.insert(key).is_err()).expect("it is finite")
}

fn load(filter: &Cuckoo) -> f64 {
    filter.fill().expect("a load")
}

/// The mean load at the first refusal over some seeds, and its extremes.
fn loads(seeds: u64, make: impl Fn(u64) -> Cuckoo) -> (f64, f64, f64) {
    let loads = (0..seeds).map(|seed| {
        let mut filter = make(seed);
        fill(&mut filter);
        load(&filter)
    });
    let loads: Vec<f64> = loads.collect();
    let mean = loads.iter().sum::<f64>() / seeds as f64;
    let low = loads.iter().copied().fold(1.0, f64::min);
    (mean, low, loads.iter().copied().fold(0.0, f64::max))
}

#[test]
fn b7_load_at_the_first_refusal() {
    let (mean, low, high) = loads(6, |seed| table(1 << 14, 4, 12, seed));
    assert!((mean - 0.965).abs() < 0.004 && low > 0.955 && high < 0.975, "{mean} {low} {high}");
    let (mean, _, _) = loads(6, |seed| table(1 << 14, 2, 12, seed));
    assert!((mean - 0.877).abs() < 0.006, "{mean}");
    let (mean, low, high) = loads(20, |seed| table(1 << 14, 1, 12, seed));
    assert!((mean - 0.51).abs() < 0.02 && low > 0.36 && high < 0.56, "{mean} {low} {high}");
}

#[test]
fn b7_load_of_a_large_table() {
    let (load, _, _) = loads(1, |seed| table(1 << 18, 4, 12, seed));
    assert!((load - 0.960).abs() < 0.004, "{load}");
}

#[test]
fn b7_rates_at_the_first_refusal() {
    for (bits, printed, queries) in [(8, 0.0298, 400_000), (12, 0.0019, 2_000_000)] {
        let mut filter = table(1 << 14, 4, bits, 1);
        fill(&mut filter);
        let now = filter.now().fpr.expect("a formula");
        assert!((now / printed - 1.0).abs() < 0.03, "{now} {printed}");
        let (low, high) = binomial_bounds(queries, now, 1e-9);
        let passed = passing(&filter, queries);
        assert!((low..=high).contains(&passed), "{passed} of {queries}, {low} to {high}");
    }
}

/// A refused insertion changes nothing, and nobody who was taken is lost.
#[test]
fn b7_refusal_changes_nothing() {
    for form in ["standard", "semi-sorted"] {
        let builder = Cuckoo::builder().form(form).set("buckets", 1 << 10).set("fingerprint", 9);
        let mut filter = builder.build().expect("a shape");
        let taken = fill(&mut filter);
        let before = filter.clone();
        let refused = (taken..taken + 200).filter(|key| filter.insert(key).is_err()).count();
        assert!(refused > 20, "{refused}");
        let refused = (taken + 200..).find_map(|key| {
            let before = filter.clone();
            let refused = filter.insert(&key).err()?;
            assert_eq!(filter, before);
            Some(refused)
        });
        assert_eq!(refused.map(|e| e.kind()), Some(Kind::CapacityExceeded));
        assert!((0..taken).all(|key| filter.contains(&key) && before.contains(&key)));
    }
}

/// Slots in use are insertions less removals, exactly.
#[test]
fn b7_slots_are_counted_exactly() {
    for form in ["standard", "semi-sorted", "redisbloom"] {
        let mut filter = Cuckoo::builder().items(5000).rate(0.02).form(form).build().expect(form);
        for (key, inserted) in (0..5000u64).zip(1..) {
            filter.insert(&key).expect("room");
            if key % 500 == 0 {
                assert_eq!((filter.used(), filter.head().items), (inserted, inserted), "{form}");
            }
        }
        for key in 0..5000u64 {
            filter.remove(&key).expect("a member");
            assert!(
                key % 100 > 0 || (key + 1..5000).all(|other| filter.contains(&other)),
                "{form}"
            );
        }
        assert_eq!((filter.used(), filter.head().items), (0, 0), "{form}");
        assert_eq!(filter.remove(&7u64).expect_err("gone").kind(), Kind::NotDeletable, "{form}");
    }
}

/// At most 2b copies of a key, and each of them is counted once.
#[test]
fn b7_copies_of_a_key() {
    for slots in [1u32, 2, 4] {
        let mut filter = table(1 << 10, slots, 12, 3);
        for copies in 1..=2 * u64::from(slots) {
            filter.insert("again").expect("a copy");
            assert_eq!(filter.count("again"), copies);
        }
        let before = filter.clone();
        let refused = filter.insert("again").expect_err("one too many");
        assert_eq!((refused.kind(), &filter), (Kind::CapacityExceeded, &before));
        assert!(refused.to_string().contains("already there"), "{refused}");
        assert!(!filter.insert_if_absent("again").expect("nothing to do"));
        assert!(filter.insert_if_absent("once").expect("room"));
    }
    // Eight buckets: some keys have one bucket for two, and are not counted twice.
    let single = (0..200u64).filter(|key| {
        let mut filter = table(8, 4, 12, 3);
        filter.insert(key).expect("room");
        assert_eq!(filter.count(key), 1);
        let trace = filter.trace(&key.to_le_bytes());
        trace[0].index == trace[4].index
    });
    assert!((10..45).contains(&single.count()), "an eighth of 200");
}

/// Small tables refuse keys by chance: at 95 % in a few of a hundred seeds, at 85 % hardly ever.
#[test]
fn b7_small_tables() {
    let refused = |buckets: u64, load: f64| {
        let seeds = 600;
        let keys = (load * 4.0 * buckets as f64) as u64;
        let fails = |seed: &u64| {
            let mut filter = table(buckets, 4, 10, *seed);
            (0..keys).any(|key| filter.insert(&key).is_err())
        };
        (0..seeds).filter(fails).count() as f64 / seeds as f64
    };
    for buckets in [16, 32, 64] {
        let (full, planned) = (refused(buckets, 0.95), refused(buckets, 0.85));
        assert!((0.01..0.10).contains(&full), "{buckets} buckets: {full}");
        assert!(planned <= 0.015, "{buckets} buckets: {planned}");
    }
    assert!(refused(256, 0.95) <= 0.01);
}

#[test]
fn b7_planned_shapes() {
    let bits = |n: u64, p: f64| Cuckoo::with_rate(n, p).expect("a shape").memory().cells;
    assert_eq!(bits(60_000, 0.01), (1 << 14) * 4 * 10);
    assert_eq!(bits(60_000, 0.001), (1 << 14) * 4 * 13);
    assert_eq!(bits(62_260, 0.01), 2 * bits(62_259, 0.01), "0.95 of 65,536 slots");
    let sorted = Cuckoo::builder().items(60_000).rate(0.01).form("semi-sorted").build();
    assert_eq!(sorted.expect("a shape").memory().cells, (1 << 14) * 4 * 9);
    // Two slots are planned for 0.84, one for 0.48.
    for (slots, most) in [(2u32, 0.84), (1, 0.48)] {
        let keys = (most * f64::from(slots) * 4096.0) as u64;
        let made = |n: u64| {
            let goal = Goal::new(n, 0.01).set("slots", slots);
            VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap()
        };
        let (just, beyond) = (made(keys), made(keys + 1));
        assert_eq!(2 * just.bits, beyond.bits);
        assert!(just.fpr <= 0.01 && just.fpr > 0.002, "{}", just.fpr);
    }
    for bad in [3, 12, 1000] {
        let goal = Goal::new(100, 0.01).set("buckets", bad);
        assert_eq!(VARIANT.build_from(&goal, &[]).unwrap_err().field(), Some("buckets"));
    }
    let goal = Goal::new(100, 0.01).set("capacity", 1024);
    assert_eq!(VARIANT.build_from(&goal, &[]).unwrap_err().field(), Some("capacity"));
}

/// Whatever order the slots of a bucket are in, the same keys pass.
#[test]
fn b7_semi_sorting_saves_a_bit_and_changes_no_answer() {
    let make = |form: &str| {
        let builder = Cuckoo::builder().form(form).set("buckets", 4096).set("fingerprint", 8);
        let mut filter = builder.build().expect("a shape");
        (0..15_000u64).for_each(|key| _ = filter.insert(&key).expect("room"));
        filter
    };
    let (plain, mut sorted) = (make("standard"), make("semi-sorted"));
    assert_eq!(plain.memory().cells - sorted.memory().cells, 4 * 4096);
    for key in 0..100_000u64 {
        assert_eq!(plain.contains(&key), sorted.contains(&key), "{key}");
        assert_eq!(plain.count(&key), sorted.count(&key), "{key}");
    }
    (0..15_000u64).for_each(|key| sorted.remove(&key).expect("a member"));
    assert_eq!(sorted.used(), 0);
}

/// An absent key that passes cannot be told from a member. Its removal is accepted as often as predicted, and
/// takes one member with it.
#[test]
fn b7_removals_of_absent_keys_that_cannot_be_seen() {
    let (mut filter, keys, asked) = (table(1 << 14, 4, 8, 5), 60_000u64, 20_000u64);
    (0..keys).for_each(|key| _ = filter.insert(&key).expect("room"));
    let rate = filter.now().fpr.expect("a formula");
    let accepted =
        (1 << 40..(1 << 40) + asked).filter(|key| filter.remove(key).is_ok()).count() as u64;
    // The table empties a little meanwhile: by 3 % of 20,000 keys, one in a hundred.
    let (low, high) = binomial_bounds(asked, rate, 1e-9);
    assert!((low * 99 / 100..=high).contains(&accepted), "{accepted}, {low} to {high}");
    let lost = (0..keys).filter(|key| !filter.contains(key)).count() as u64;
    assert!(lost <= accepted && lost > accepted * 9 / 10, "{lost} lost by {accepted} removals");
}

/// Loads of RedisBloom's fixed size: moving in rotation fails early, and more kicks do not help.
#[test]
fn b7_redis_loads() {
    let (mean, low, high) = loads(60, |seed| redis(1024, 2, 0, seed));
    assert!((mean - 0.715).abs() < 0.03 && low > 0.4 && high < 0.86, "{mean} {low} {high}");
    let (mean, low, high) = loads(20, |seed| redis(131_072, 2, 0, seed));
    assert!((0.50..0.61).contains(&mean) && low > 0.25 && high < 0.68, "{mean} {low} {high}");
    let (mean, _, _) = loads(8, |seed| redis(262_144, 4, 0, seed));
    assert!((mean - 0.80).abs() < 0.02, "{mean}");
    let patient = |seed| {
        let builder = Cuckoo::builder().form("redisbloom").set("capacity", 131_072);
        builder.set("kicks", 500).set("expansion", 0).seed(seed).build().expect("a shape")
    };
    let (mean, _, _) = loads(12, patient);
    assert!((mean - 0.58).abs() < 0.04, "{mean}");
}

#[test]
fn b7_redis_growth_and_rates() {
    for (slots, expansion, keys, filters, rate) in [
        (2, 1, 1000u64, 2, 0.0152),
        (2, 1, 4000, 5, 0.060),
        (2, 1, 8000, 9, 0.116),
        (2, 2, 20_000, 5, 0.059),
        (4, 2, 20_000, 5, 0.122),
    ] {
        let (mut counts, mut predicted, mut passed) = (0, 0.0, 0);
        let (seeds, queries) = (20, 10_000);
        for seed in 0..seeds {
            let mut filter = redis(1024, slots, expansion, seed);
            (0..keys).for_each(|key| _ = filter.insert(&key).expect("it grows"));
            assert!((0..keys).all(|key| filter.contains(&key)));
            counts += filter.sub_filters();
            predicted += filter.now().fpr.expect("a formula") / seeds as f64;
            passed += passing(&filter, queries);
        }
        let (counts, what) = (counts as f64 / seeds as f64, format!("{slots} {expansion} {keys}"));
        assert!((counts - f64::from(filters)).abs() < 0.5, "{what}: {counts} sub-filters");
        let measured = passed as f64 / (seeds * queries) as f64;
        assert!((measured / predicted - 1.0).abs() < 0.05, "{what}: {measured} {predicted}");
        assert!((measured / rate - 1.0).abs() < 0.08, "{what}: {measured} {rate}");
    }
}

/// One key, over and over: 31 sub-filters with 2b copies each, one in the 32nd, and then nothing any more.
#[test]
fn b7_redis_takes_125_copies() {
    let builder = Cuckoo::builder().form("redisbloom").set("capacity", 1024);
    let mut filter = builder.build().expect("a shape");
    let taken = (0..).find(|_| filter.insert("again").is_err()).expect("an end");
    assert_eq!((taken, filter.sub_filters(), filter.count("again")), (125, 32, 125));
    let before = filter.clone();
    assert_eq!(filter.insert("another").expect_err("full").kind(), Kind::CapacityExceeded);
    assert_eq!(filter, before);
    // Compaction packs nothing more into buckets that are full, but an emptied filter shrinks.
    (0..125).for_each(|_| filter.remove("again").expect("there"));
    assert_eq!((filter.used(), filter.sub_filters()), (0, 1));
}

/// The dump of a filter of `item-0` to `item-999` that RedisBloom wrote: read, rebuilt and written again.
#[test]
fn b7_redis_dump_is_the_same_bytes() {
    let dump = include_bytes!("../data/redisbloom_cf.dump");
    let mut read = Cuckoo::from_redis(dump).expect("a dump");
    assert_eq!((read.used(), read.sub_filters()), (1000, 1));
    assert!((0..1000).all(|i| read.contains(&format!("item-{i}"))));
    let builder = Cuckoo::builder().form("redisbloom").set("capacity", 2048);
    let mut built = builder.build().expect("a shape");
    (0..1000).for_each(|i| _ = built.insert(&format!("item-{i}")).expect("room"));
    assert_eq!(built.to_redis().expect("its own form"), dump);
    assert_eq!(read.to_redis().expect("its own form"), dump);
    let rate = read.now().fpr.expect("a formula");
    let passed = (0..200_000).filter(|i| read.contains(&format!("other-{i}"))).count() as u64;
    let (low, high) = binomial_bounds(200_000, rate, 1e-9);
    assert!((low..=high).contains(&passed), "{passed}, {low} to {high}");
    (0..1000).for_each(|i| read.remove(&format!("item-{i}")).expect("a member"));
    assert_eq!(read.used(), 0);
    let standard = Cuckoo::with_rate(10, 0.01).expect("a shape");
    assert_eq!(standard.to_redis().unwrap_err().kind(), Kind::Unsupported);
}

/// Removal goes from the newest sub-filter, the largest, to the oldest: no member is lost, whatever the order.
#[test]
fn b7_redis_removal_across_sizes() {
    for seed in 0..20 {
        let mut filter = redis(64, 2, 2, seed);
        let mut inside: Vec<u64> = (0..1500).collect();
        inside.iter().for_each(|key| _ = filter.insert(key).expect("it grows"));
        let grown = filter.sub_filters();
        let mut random = Generator::new(seed);
        while !inside.is_empty() {
            let key = inside.swap_remove(random.below(inside.len() as u64) as usize);
            filter.remove(&key).expect("a member");
            if inside.len().is_multiple_of(50) {
                assert!(inside.iter().all(|key| filter.contains(key)), "seed {seed}");
            }
        }
        assert!(grown >= 4 && filter.sub_filters() < grown);
        assert_eq!(filter.used(), 0);
    }
}

/// Compaction moves entries to older sub-filters and loses nobody; a full one goes on where the automatic one stops.
#[test]
fn b7_redis_compaction() {
    let mut filter = redis(256, 2, 2, 1);
    (0..2000u64).for_each(|key| _ = filter.insert(&key).expect("it grows"));
    let before = filter.sub_filters();
    // Fewer than a tenth at a time would compact by itself.
    (0..1200u64).for_each(|key| filter.remove(&key).expect("a member"));
    filter.compact();
    assert!(filter.sub_filters() <= before);
    assert!((1200..2000u64).all(|key| filter.contains(&key)));
    assert_eq!(filter.used(), 800);
    let again = filter.clone();
    filter.compact();
    assert_eq!(filter.used(), again.used());
}

/// Where the two buckets of a key are one, RedisBloom counts its entries twice.
#[test]
fn b7_redis_counts_double_where_buckets_coincide() {
    let mut filter = redis(16, 2, 1, 0);
    let doubled = (0..300u64).filter(|key| {
        let mut filter = redis(16, 2, 1, 0);
        filter.insert(key).expect("room");
        filter.count(key) == 2
    });
    // φ is a multiple of eight: 31 of 255.
    assert!((15..60).contains(&doubled.count()), "an eighth of 300");
    filter.insert("one").expect("room");
    assert!(filter.count("one") >= 1);
}

#[test]
fn b7_space_below_a_bloom_filter_at_low_rates() {
    // log2(2b·0.95/ε)/0.95 bits a key at full load, against 1.44·log2(1/ε).
    for (p, wins) in [(0.1, false), (0.001, true), (1e-6, true)] {
        let cuckoo = theory::fingerprint_bits(4, p) / 0.95;
        let bloom = -f64::log2(p) * std::f64::consts::LOG2_E;
        assert_eq!(cuckoo < bloom, wins, "{p}: {cuckoo} {bloom}");
    }
}

#[test]
fn b7_every_width_of_slot_and_hash() {
    for (slots, bits) in [(1u32, 8u32), (2, 3), (3, 7), (4, 16), (4, 17), (5, 33), (8, 9), (16, 56)]
    {
        let mut filter = table(256, slots, bits, 9);
        let keys = 70 * u64::from(slots);
        (0..keys).for_each(|key| _ = filter.insert(&key).expect("room"));
        assert!((0..keys).all(|key| filter.contains(&key)));
        (0..keys).for_each(|key| filter.remove(&key).expect("a member"));
        assert_eq!(filter.used(), 0);
    }
    let wide = Cuckoo::with_shape(1 << 10, 52, Hasher::default()).expect("a shape");
    assert!(!wide.head().hasher.id().is_narrow(), "64 bits do not do for such rates");
    let narrow = Cuckoo::with_shape(1 << 10, 12, Hasher::default()).expect("a shape");
    assert!(narrow.head().hasher.id().is_narrow());
}
