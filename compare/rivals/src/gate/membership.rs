//! Insert-only filters beside Boost and other crates.

use everbloom::membership::BlockedBloom;

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
    lines.extend(sizes.iter().filter(|n| **n == 1_000_000).map(|&items| concurrent(items)));
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

/// Strings of 20 bytes. Plain builds promise for sets that fit the cache; a million is shown.
fn strings(items: u64, lines: &mut Vec<Line>) {
    let times = strings::run(items, 0.01);
    let limits = match (NATIVE, items < 1_000_000) {
        (true, _) => [0.9, 0.5, 0.85, 0.5],
        (false, true) => [1.0, 0.7, 0.85, 0.55],
        (false, false) => [f64::INFINITY; 4],
    };
    for (i, op) in ["hit", "miss", "insert"].into_iter().enumerate() {
        let of = |rounds: &[[f64; 3]]| rounds.iter().map(|round| round[i]).collect::<Vec<_>>();
        let mut line = |how: &str, ours: &[[f64; 3]], peer: &str, theirs: &[[f64; 3]], limit| {
            let what = format!("blocked{how} {op}, 20-byte strings, {}", size(items));
            lines.push(Line::of(what, peer, &of(ours), &of(theirs), limit));
        };
        line("", &times.ours, "sbbf-rs-safe + xxh3", &times.sbbf, limits[0]);
        line("", &times.ours, "fastbloom + foldhash", &times.fastbloom, limits[1]);
        line(", batch", &times.batch, "sbbf-rs-safe + xxh3", &times.sbbf, limits[2]);
        line(", batch", &times.batch, "fastbloom + foldhash", &times.fastbloom, limits[3]);
    }
}

/// Two threads that insert half of the keys each, in bulk, against one that inserts all so, by the wall clock.
fn concurrent(items: u64) -> Line {
    let (keys, _) = measure::keys(items, 0);
    let fill = |threads: usize| {
        let filter = BlockedBloom::with_rate(items, 0.01).and_then(BlockedBloom::into_atomic);
        let filter = filter.expect("a possible goal");
        let (filter, part) = (&filter, keys.len().div_ceil(threads));
        measure::wall(|| {
            std::thread::scope(|scope| {
                for keys in keys.chunks(part) {
                    scope.spawn(move || filter.insert_many(keys));
                }
            });
        }) / items as f64
    };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        one.push(fill(1));
        two.push(fill(2));
    }
    let what = format!("blocked concurrent insert, {}, 2 threads", size(items));
    Line::of(what, "own one thread", &two, &one, 0.6)
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
