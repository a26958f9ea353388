//! Insert-only filters beside Boost and other crates.

use everbloom::membership::{BlockedBloom, Bloom};

use super::{Line, Measured, NATIVE, Table, cases, size};
use crate::measure::{self, Case, Figure, Result};
use crate::subject::{RIVALS, Rival, rival};
use crate::{floor, strings};

pub const SIZES: &[u64] = &[10_000, 1_000_000, 50_000_000];

const RATES: [f64; 2] = [0.01, 0.001];

/// Measures filters of these sizes: those of the promises, or everyone.
pub fn run(sizes: &[u64], everyone: bool) -> Measured {
    let mut results = Vec::new();
    for case in cases(sizes, &RATES) {
        let rivals = if everyone { RIVALS.to_vec() } else { rivals(case.items) };
        results.extend(measure::run(&rivals, case));
    }
    let lines = lines(&results, sizes);
    Measured { results, lines }
}

/// Who takes part in the promises about so many keys.
fn rivals(items: u64) -> Vec<Rival> {
    let always = [
        "everbloom blocked",
        "everbloom blocked, batch",
        "everbloom blocked, iterator",
        "everbloom bloom",
        "everbloom bloom, batch",
        "everbloom binary-fuse",
        "Boost fast_multiblock32<8>",
        "Boost fast_multiblock32<8>, stride 1",
        "Boost classic",
        "Boost fast_multiblock32<8>, stride 1, native",
        "RocksDB FastLocalBloom",
        "RocksDB FastLocalBloom, native",
        "fastbloom + foldhash",
        "sbbf-rs-safe + foldhash",
        "xorf BinaryFuse8/16",
    ];
    // Promises about these are made for a million keys; far beyond, some take minutes.
    let up_to_a_million = [
        "everbloom blocked, concurrent",
        "everbloom split-block",
        "everbloom split-block, batch",
        "everbloom ribbon",
        "fastbloom atomic + foldhash",
        "parquet Sbbf",
        "ribbon-filter",
    ];
    let few = up_to_a_million.iter().filter(|_| items <= 1_000_000);
    always.iter().chain(few).map(|name| rival(name)).collect()
}

/// All promises, from the results of all cases.
fn lines(results: &[Result], sizes: &[u64]) -> Vec<Line> {
    let mut lines = Vec::new();
    for case in cases(sizes, &RATES) {
        let table = Table { results, case };
        against_cpp(&table, &mut lines);
        if NATIVE {
            natively(&table, &mut lines);
        } else {
            plainly(&table, &mut lines);
        }
        against_crates(&table, &mut lines);
        against_itself(&table, &mut lines);
        budgets(&table, &mut lines);
    }
    for &items in sizes.iter().filter(|n| **n <= 1_000_000) {
        strings(items, &mut lines);
    }
    if sizes.contains(&1_000_000) {
        two_threads(&mut lines);
    }
    if let Some(&items) = sizes.iter().find(|n| **n >= 50_000_000) {
        memory_floor(items, results, &mut lines);
    }
    lines
}

const SBBF: &str = "sbbf-rs-safe + foldhash";

/// What a build for this processor promises for single calls.
fn natively(table: &Table<'_>, lines: &mut Vec<Line>) {
    let mut add = |ours: &str, op: Figure, peer: &str, limit: f64| {
        lines.extend(table.line(ours, op, &[peer], limit));
    };
    for op in [Figure::Hit, Figure::Miss] {
        add("everbloom blocked", op, SBBF, 0.7);
        add("everbloom split-block", op, "parquet Sbbf", 0.25);
        add("everbloom split-block, batch", op, "parquet Sbbf", 0.25);
    }
    add("everbloom blocked", Figure::Hit, "fastbloom + foldhash", 0.33);
    add("everbloom blocked", Figure::Miss, "fastbloom + foldhash", 0.22);
    add("everbloom split-block", Figure::Insert, "parquet Sbbf", 0.35);
    add("everbloom split-block, batch", Figure::Insert, "parquet Sbbf", 0.35);
    if table.case.items >= 1_000_000 {
        for op in [Figure::Hit, Figure::Miss] {
            add("everbloom binary-fuse", op, "xorf BinaryFuse8/16", 0.8);
        }
    }
}

/// What a plain build promises, which asks at run time what the processor has.
fn plainly(table: &Table<'_>, lines: &mut Vec<Line>) {
    let mut add = |ours: &str, op: Figure, peer: &str, limit: f64| {
        lines.extend(table.line(ours, op, &[peer], limit));
    };
    for op in [Figure::Hit, Figure::Miss, Figure::Insert] {
        add("everbloom blocked", op, SBBF, 1.0);
        add("everbloom blocked, batch", op, SBBF, 0.75);
        add("everbloom blocked, iterator", op, SBBF, 0.75);
        add("everbloom split-block", op, "parquet Sbbf", 0.5);
        add("everbloom split-block, batch", op, "parquet Sbbf", 0.3);
    }
    for op in [Figure::Hit, Figure::Miss] {
        add("everbloom binary-fuse", op, "xorf BinaryFuse8/16", 0.95);
    }
}

/// No batch is slower than single calls.
fn against_itself(table: &Table<'_>, lines: &mut Vec<Line>) {
    for name in ["everbloom blocked", "everbloom bloom", "everbloom split-block"] {
        for op in [Figure::Hit, Figure::Miss, Figure::Insert] {
            lines.extend(table.line(&format!("{name}, batch"), op, &[name], 1.0));
        }
    }
}

const BOOST: [&str; 2] = ["Boost fast_multiblock32<8>", "Boost fast_multiblock32<8>, stride 1"];

fn against_cpp(table: &Table<'_>, lines: &mut Vec<Line>) {
    for op in [Figure::Hit, Figure::Miss, Figure::Insert] {
        lines.extend(table.line("everbloom blocked", op, &BOOST, 1.0));
        lines.extend(table.line("everbloom bloom", op, &["Boost classic"], 1.0));
    }
    for op in [Figure::Hit, Figure::Miss, Figure::Insert] {
        lines.extend(table.line("everbloom blocked", op, &["RocksDB FastLocalBloom"], 0.8));
    }
    if table.case.items >= 1_000_000 {
        for op in [Figure::Hit, Figure::Miss] {
            lines.extend(table.line("everbloom blocked, batch", op, &BOOST, 0.8));
        }
    }
}

fn against_crates(table: &Table<'_>, lines: &mut Vec<Line>) {
    let items = table.case.items;
    let mut add = |ours: &str, op: Figure, peer: &str, limit: f64| {
        lines.extend(table.line(ours, op, &[peer], limit));
    };
    match items {
        1_000_000 => add("everbloom blocked, batch", Figure::Insert, SBBF, 0.7),
        50_000_000 => add("everbloom blocked, batch", Figure::Insert, SBBF, 0.6),
        _ => {}
    }
    for op in [Figure::Hit, Figure::Miss, Figure::Insert] {
        add("everbloom bloom", op, "fastbloom + foldhash", 1.0);
    }
    add("everbloom bloom, batch", Figure::Miss, "fastbloom + foldhash", 0.45);
    if items == 50_000_000 {
        add("everbloom bloom, batch", Figure::Insert, "fastbloom + foldhash", 0.5);
    }
    if items == 1_000_000 {
        for op in [Figure::Hit, Figure::Miss] {
            add("everbloom ribbon", op, "ribbon-filter", 0.3);
        }
        add("everbloom ribbon", Figure::Insert, "ribbon-filter", 0.5);
        add("everbloom blocked, concurrent", Figure::Insert, "fastbloom atomic + foldhash", 0.6);
    }
    if items >= 1_000_000 {
        add("everbloom binary-fuse", Figure::Insert, "xorf BinaryFuse8/16", 0.85);
    }
}

/// Rates and bits per key: limits of their own, not of a peer.
fn budgets(table: &Table<'_>, lines: &mut Vec<Line>) {
    let (items, rate) = (table.case.items, table.case.rate.unwrap_or(1.0));
    let strict = rate < 0.005;
    let names = ["everbloom blocked", "everbloom bloom", "everbloom split-block"];
    lines.extend(names.into_iter().filter_map(|name| table.keeps_rate(name)));
    let mut bits = |name: &str, most: f64| {
        lines.extend(table.within(name, Figure::BitsPerKey, most));
    };
    bits("everbloom bloom", if strict { 14.4 } else { 9.6 });
    bits("everbloom blocked", if strict { 15.8 } else { 10.3 });
    if items >= 1_000_000 && !strict {
        bits("everbloom binary-fuse", 9.05);
    }
    if items >= 1_000_000 {
        let achieved = table.get("everbloom ribbon", Figure::Rate);
        bits("everbloom ribbon", 1.05 * -achieved.unwrap_or(rate).log2());
    }
}

/// Strings of 20 bytes, as arrays and as `&str`. Plain builds promise for sets that fit the cache; a million is shown.
fn strings(items: u64, lines: &mut Vec<Line>) {
    let [arrays, texts] = strings::run(items, 0.01);
    strings_of("strings", &arrays, items, lines);
    strings_of("&str", &texts, items, lines);
}

fn strings_of(kind: &str, times: &strings::Times, items: u64, lines: &mut Vec<Line>) {
    let limits = match (NATIVE, items < 1_000_000) {
        (true, _) => [0.9, 0.5, 0.85, 0.5],
        (false, true) => [1.0, 0.7, 0.85, 0.55],
        (false, false) => [f64::INFINITY; 4],
    };
    for (i, op) in ["hit", "miss", "insert"].into_iter().enumerate() {
        let of = |rounds: &[[f64; 3]]| rounds.iter().map(|round| round[i]).collect::<Vec<_>>();
        let mut line = |how: &str, ours: &[[f64; 3]], peer: &str, theirs: &[[f64; 3]], limit| {
            let what = format!("blocked{how} {op}, 20-byte {kind}, {}", size(items));
            lines.push(Line::of(what, peer, &of(ours), &of(theirs), limit));
        };
        line("", &times.ours, "sbbf-rs-safe + xxh3", &times.sbbf, limits[0]);
        line("", &times.ours, "fastbloom + foldhash", &times.fastbloom, limits[1]);
        line(", batch", &times.batch, "sbbf-rs-safe + xxh3", &times.sbbf, limits[2]);
        line(", batch", &times.batch, "fastbloom + foldhash", &times.fastbloom, limits[3]);
    }
}

/// Keys that two threads are given: what starting them takes is little beside them.
const FOR_TWO: u64 = 10_000_000;

/// What two threads take to insert, as a share of what one takes, by the wall clock, beside the same of arithmetic that
/// shares nothing: on two threads of one core that is more than a half, too.
fn two_threads(lines: &mut Vec<Line>) {
    let (keys, _) = measure::keys(FOR_TWO, 0);
    let blocked = || BlockedBloom::with_rate(FOR_TWO, 0.01).expect("a possible goal");
    let bloom = || Bloom::with_rate(FOR_TWO, 0.01).expect("a possible goal");
    let build = [
        |filter: &mut BlockedBloom, keys: &[u64]| filter.insert_many(keys),
        |filter: &mut BlockedBloom, keys: &[u64]| filter.insert_many_parallel(keys),
    ];
    let classic = [
        |filter: &mut Bloom, keys: &[u64]| filter.insert_many(keys),
        |filter: &mut Bloom, keys: &[u64]| filter.insert_many_parallel(keys),
    ];
    let shared = |threads: usize| {
        let filter = &blocked().into_atomic().expect("it has lanes");
        measure::wall(|| {
            std::thread::scope(|scope| {
                for keys in keys.chunks(keys.len().div_ceil(threads)) {
                    scope.spawn(move || filter.insert_many(keys));
                }
            });
        })
    };
    let mut shares: [Vec<f64>; 4] = Default::default();
    floor::on_two_cores(|| {
        for _ in 0..9 {
            let share = |times: [f64; 2]| times[1] / times[0];
            shares[0].push(share([1, 2].map(|threads| floor::arithmetic(threads, 1 << 25))));
            shares[1].push(share(build.map(|insert| {
                let mut filter = blocked();
                measure::wall(|| insert(&mut filter, &keys))
            })));
            shares[2].push(share(classic.map(|insert| {
                let mut filter = bloom();
                measure::wall(|| insert(&mut filter, &keys))
            })));
            shares[3].push(share([1, 2].map(shared)));
        }
    });
    let [arithmetic, rest @ ..] = &shares;
    for (name, ours) in
        ["blocked built", "bloom built", "blocked concurrent insert"].iter().zip(rest)
    {
        let what = format!("{name}, {}, 2 threads", size(FOR_TWO));
        lines.push(Line::of(what, "arithmetic on 2 threads", ours, arithmetic, 1.15));
    }
}

fn memory_floor(items: u64, results: &[Result], lines: &mut Vec<Line>) {
    let table = Table { results, case: Case { items, rate: Some(0.01) } };
    let name = "everbloom blocked, batch";
    let Some(bits) = table.get(name, Figure::BitsPerKey) else { return };
    let theirs = floor::random_lines((bits * items as f64 / 8.0) as usize, true);
    for op in [Figure::Hit, Figure::Miss] {
        let (what, peer) = (table.label(name, op), "cache-line floor, huge pages");
        let ours = table.get(name, op);
        lines.extend(ours.map(|ours| Line::of(what, peer, &[ours], &[theirs], 1.35)));
    }
}
