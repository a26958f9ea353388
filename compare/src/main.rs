//! Everbloom beside its rivals: same keys, same target rate, interleaved rounds, medians, ratios.
//!
//! `cargo run --release --manifest-path compare/Cargo.toml [ITEMS]`. A workspace of its own, so that
//! rivals never slow the build.

use std::hint::black_box;
use std::time::Instant;

use everbloom::hash::mix64;
use everbloom::membership::Bloom;

const ROUNDS: usize = 7;

/// What a contestant took for one round, in nanoseconds per key, and the share of strangers it let in.
#[derive(Clone, Copy, Default)]
struct Round {
    insert: f64,
    hit: f64,
    miss: f64,
    rate: f64,
}

struct Contestant {
    name: &'static str,
    run: fn(&[u64], &[u64], f64) -> Round,
    rounds: Vec<Round>,
}

fn main() {
    let items = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000u64);
    let members: Vec<u64> = (0..items).map(mix64).collect();
    let strangers: Vec<u64> = (items..2 * items).map(mix64).collect();
    let mut contestants = [
        Contestant { name: "everbloom bloom", run: everbloom_bloom, rounds: Vec::new() },
        Contestant { name: "fastbloom", run: fastbloom, rounds: Vec::new() },
    ];
    for _ in 0..ROUNDS {
        for contestant in &mut contestants {
            contestant.rounds.push((contestant.run)(&members, &strangers, 0.01));
        }
    }
    println!("{items} u64 keys at 1 %, medians of {ROUNDS} interleaved rounds");
    println!("{:<18} {:>9} {:>9} {:>9} {:>9}", "", "insert", "hit", "miss", "rate");
    for contestant in &contestants {
        let m = |field: fn(&Round) -> f64| median(&contestant.rounds, field);
        println!(
            "{:<18} {:>6.1} ns {:>6.1} ns {:>6.1} ns {:>8.3}%",
            contestant.name,
            m(|r| r.insert),
            m(|r| r.hit),
            m(|r| r.miss),
            m(|r| r.rate) * 100.0
        );
    }
    let ratio = |field: fn(&Round) -> f64| {
        median(&contestants[0].rounds, field) / median(&contestants[1].rounds, field)
    };
    println!(
        "{:<18} {:>9.2} {:>9.2} {:>9.2}",
        "ratio",
        ratio(|r| r.insert),
        ratio(|r| r.hit),
        ratio(|r| r.miss)
    );
}

fn everbloom_bloom(members: &[u64], strangers: &[u64], rate: f64) -> Round {
    let mut filter = Bloom::with_rate(members.len() as u64, rate).expect("a possible goal");
    measure(
        &mut filter,
        members,
        strangers,
        |filter, key| {
            filter.insert(key);
        },
        |filter, key| filter.contains(key),
    )
}

fn fastbloom(members: &[u64], strangers: &[u64], rate: f64) -> Round {
    let mut filter =
        fastbloom::BloomFilter::with_false_pos(rate).seed(&1).expected_items(members.len());
    measure(
        &mut filter,
        members,
        strangers,
        |filter, key| {
            filter.insert(key);
        },
        |filter, key| filter.contains(key),
    )
}

fn measure<F>(
    filter: &mut F,
    members: &[u64],
    strangers: &[u64],
    insert: impl Fn(&mut F, &u64),
    contains: impl Fn(&F, &u64) -> bool,
) -> Round {
    let per_key = |start: Instant| start.elapsed().as_nanos() as f64 / members.len() as f64;
    let start = Instant::now();
    members.iter().for_each(|key| insert(filter, key));
    let inserted = per_key(start);
    let ask = |keys: &[u64]| {
        let start = Instant::now();
        let found = keys.iter().filter(|key| black_box(contains(filter, key))).count();
        (per_key(start), found as f64 / keys.len() as f64)
    };
    let (hit, found) = ask(members);
    assert_eq!(found, 1.0, "no false negatives");
    let (miss, rate) = ask(strangers);
    Round { insert: inserted, hit, miss, rate }
}

fn median(rounds: &[Round], field: impl Fn(&Round) -> f64) -> f64 {
    let mut values: Vec<f64> = rounds.iter().map(field).collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
