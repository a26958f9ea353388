//! I16, the LFSR counting filter.

use everbloom::Kind;
use everbloom::counting::lfsr_counting::{Register, SEED, VARIANT};
use everbloom::counting::{Counting, LfsrCounting};
use everbloom::internals::filter::{Filter as _, Merge as _};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::Goal;
use everbloom::internals::probe::{Coincide, Probe};

/// The catalogue's 15 states of x⁴ + x³ + 1.
const STATES: [u64; 15] = [
    0b0001, 0b0010, 0b0100, 0b1001, 0b0011, 0b0110, 0b1101, 0b1010, 0b0101, 0b1011, 0b0111, 0b1111,
    0b1110, 0b1100, 0b1000,
];

#[test]
fn i16_states() {
    let register = Register::new(4);
    assert_eq!(register.max(), 14);
    for (count, pair) in STATES.windows(2).enumerate() {
        assert_eq!(register.up(pair[0]), pair[1], "after {count}");
        assert_eq!(register.count(pair[0]), count as u64);
        assert_eq!(register.state(count as u64), pair[0]);
    }
    assert_eq!(register.up(STATES[14]), SEED, "the fifteenth step would be zero again");
    assert_eq!(register.count(STATES[14]), 14);
    for state in STATES {
        assert_eq!(register.down(register.up(state)), state);
        // The catalogue's inverse of the 4-bit register.
        let printed = state >> 1 | ((state & 1) ^ (state >> 3)) << 3;
        assert_eq!(register.down(state), printed);
    }
    assert_eq!((register.up(0), register.down(0)), (0, 0), "zeros lead nowhere");
}

#[test]
fn i16_every_width_has_the_longest_period() {
    for width in 2..=16 {
        let register = Register::new(width);
        let (mut state, mut period) = (SEED, 0u64);
        loop {
            assert_eq!(register.count(state), period, "{width} bits");
            let next = register.up(state);
            assert!(next != 0 && register.down(next) == state, "{width} bits");
            (state, period) = (next, period + 1);
            if state == SEED {
                break;
            }
        }
        assert_eq!(period, (1 << width) - 1, "{width} bits");
        assert_eq!(register.max(), period - 1, "{width} bits");
    }
}

#[test]
fn i16_answers_are_those_of_counters_with_the_same_cap() {
    // Beside plain counters that stick at 2^b − 2, over random insertions and removals.
    for (m, k, width, seed) in [(60, 3, 2, 1), (60, 3, 3, 2), (200, 4, 4, 3)] {
        let (hasher, probe) = (Hasher::seeded(seed), Probe::over(m, k));
        let mut filter = LfsrCounting::with_shape(m, k, width, hasher.clone()).unwrap();
        let cap = (1u64 << width) - 2;
        let mut plain = vec![0u64; m as usize];
        let mut inside = Vec::new();
        let mut random = Generator::new(seed);
        let mut stuck = 0;
        for _ in 0..6000 {
            if inside.is_empty() || random.below(100) < 51 {
                let key = random.below(80);
                filter.insert(&key);
                inside.push(key);
                let hits = probe.collect(hasher.digest(&key), Coincide::PerHash);
                hits.iter().for_each(|&i| plain[i as usize] = cap.min(plain[i as usize] + 1));
            } else {
                let at = random.below(inside.len() as u64) as usize;
                let key = inside.swap_remove(at);
                filter.remove(&key).expect("a member");
                for i in probe.collect(hasher.digest(&key), Coincide::PerHash) {
                    let count = &mut plain[i as usize];
                    *count -= u64::from(*count != cap);
                }
            }
            let key = random.below(1000);
            let cells = probe.collect(hasher.digest(&key), Coincide::PerHash);
            let passes = cells.iter().all(|&i| plain[i as usize] > 0);
            assert_eq!(filter.contains(&key), passes);
            let register = filter.registers().register();
            let states = filter.registers().states();
            let counts = states.iter().map(|state| register.count(state));
            assert!(counts.eq(plain.iter().copied()));
            let flags = filter.registers().flags();
            assert!((0..m).all(|i| flags.get(i) == (plain[i as usize] > 0)));
            stuck = filter.registers().stuck();
            assert_eq!(stuck, plain.iter().filter(|c| **c == cap).count() as u64);
        }
        assert!(stuck > 0, "some registers stuck");
        assert!(inside.iter().all(|key| filter.contains(key)), "nobody is lost");
    }
}

#[test]
fn i16_fills_like_plain_counters() {
    for (k, ones) in [(7, 5034.0f64), (3, 2592.0)] {
        let mut filter = LfsrCounting::with_shape(10_000, k, 4, Hasher::default()).unwrap();
        let mut plain = Counting::with_shape(10_000, k, 4, Hasher::default()).unwrap();
        for key in 0..1000u64 {
            assert_eq!(filter.insert(&key), plain.insert(&key));
        }
        let flags = filter.registers().flags();
        assert_eq!(flags, &plain.to_bits());
        assert!((flags.ones() as f64 - ones).abs() < 111.0, "{} of {ones}", flags.ones());
        assert!((0..20_000u64).all(|key| filter.contains(&key) == plain.contains(&key)));
        (0..1000u64).for_each(|key| filter.remove(&key).expect("a member"));
        assert_eq!(filter.registers().flags().ones(), 0);
        assert!(filter.registers().states().iter().all(|state| state == SEED));
    }
}

#[test]
fn i16_the_step_beyond_the_last_is_prevented() {
    let mut filter = LfsrCounting::with_shape(100, 1, 4, Hasher::default()).unwrap();
    (0..14).for_each(|_| {
        filter.insert("x");
    });
    assert_eq!((filter.count("x"), filter.registers().stuck()), (14, 1));
    filter.insert("x");
    assert_eq!(filter.count("x"), 14, "the fifteenth step would wrap to zero");
    (0..20).for_each(|_| filter.remove("x").expect("sticks"));
    assert!(filter.contains("x"));
    let refused = filter.remove("y").expect_err("never inserted");
    assert_eq!(refused.kind(), Kind::NotDeletable);
}

#[test]
fn i16_a_bit_more_per_counter_than_plain_ones() {
    let goal = Goal::new(1000, 0.01);
    let filter = VARIANT.build_from(&goal, &[]).expect("built");
    let plain = Counting::with_rate(1000, 0.01).expect("planned");
    assert_eq!(4 * filter.memory().cells, 5 * plain.memory().cells);
    let wide = VARIANT.build_from(&goal.set("width", 9), &[]).expect("built");
    assert_eq!(wide.memory().cells, 2 * filter.memory().cells);
}

#[test]
fn i16_merging_adds_counts_and_sticks() {
    let filled = |keys: std::ops::Range<u64>| {
        let mut filter = LfsrCounting::with_shape(200, 3, 3, Hasher::default()).unwrap();
        keys.for_each(|key| {
            filter.insert(&key);
        });
        filter
    };
    let (mut a, b, whole) = (filled(0..150), filled(150..300), filled(0..300));
    a.merge(&b).expect("same shape");
    assert_eq!(a, whole);
    assert!(a.registers().stuck() > 10);
    let wider = LfsrCounting::with_shape(200, 3, 4, Hasher::default()).unwrap();
    let refused = a.merge(&wider).expect_err("another width");
    assert_eq!(refused.kind(), Kind::Incompatible { what: "register width" });
}
