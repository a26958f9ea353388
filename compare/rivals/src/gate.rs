//! The promises, each as a ratio of ours to a peer in the same run, and whether it is kept.

use everbloom::membership::BlockedBloom;

use crate::measure::{self, Case, Result, Round, least, median, median_ratio};
use crate::subject::{Rival, rival};
use crate::{floor, strings};

/// A promise and what came of it: medians of ours and of the peer's, the median of their quotients round by
/// round, which decides, and the quotient of their best rounds, which says what a quiet machine would show.
pub struct Line {
    pub what: String,
    pub peer: String,
    pub ours: f64,
    pub theirs: f64,
    pub ratio: f64,
    pub best: f64,
    pub limit: f64,
}

pub const KEPT: &str = "kept";
/// So little beyond the limit that the next run may be within.
pub const CLOSE: &str = "CLOSE";
pub const MISSED: &str = "MISSED";

impl Line {
    /// A promise about times of the same rounds.
    fn of(what: String, peer: &str, ours: &[f64], theirs: &[f64], limit: f64) -> Self {
        let middle = |times: &[f64]| median(times.to_vec());
        Self {
            what,
            peer: peer.to_owned(),
            ours: middle(ours),
            theirs: middle(theirs),
            ratio: median_ratio(ours, theirs),
            best: least(ours) / least(theirs),
            limit,
        }
    }

    pub fn kept(&self) -> bool {
        self.word() == KEPT
    }

    /// What came of it in a word.
    pub fn word(&self) -> &'static str {
        match self.ratio / self.limit {
            share if share <= 1.0 => KEPT,
            share if share <= 1.03 => CLOSE,
            _ => MISSED,
        }
    }
}

/// An operation of a round.
#[derive(Clone, Copy)]
enum Op {
    Fill,
    Hit,
    Miss,
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Op::Fill => "insert",
            Op::Hit => "hit",
            Op::Miss => "miss",
        }
    }

    fn of(self, round: &Round) -> f64 {
        match self {
            Op::Fill => round.fill,
            Op::Hit => round.hit,
            Op::Miss => round.miss,
        }
    }
}

/// The cases of the promises.
pub fn cases(sizes: &[u64]) -> Vec<Case> {
    let of = |&items: &u64| [0.01, 0.001].map(|rate| Case { items, rate });
    sizes.iter().flat_map(of).collect()
}

/// Who takes part in the promises about so many keys.
pub fn rivals(items: u64) -> Vec<Rival> {
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
pub fn lines(results: &[Result], sizes: &[u64]) -> Vec<Line> {
    let mut lines = Vec::new();
    for case in cases(sizes) {
        let table = Table { results, case };
        against_boost(&table, &mut lines);
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

/// The results of one case.
struct Table<'a> {
    results: &'a [Result],
    case: Case,
}

impl Table<'_> {
    fn get(&self, name: &str) -> Option<&Round> {
        let mine = self.results.iter().find(|r| r.name == name && r.case == self.case);
        mine.map(|r| &r.median)
    }

    fn label(&self, what: &str, op: &str) -> String {
        format!("{what} {op}, {} at {} %", size(self.case.items), self.case.rate * 100.0)
    }

    /// The times of an operation, round by round.
    fn times(&self, name: &str, op: Op) -> Option<Vec<f64>> {
        let mine = self.results.iter().find(|r| r.name == name && r.case == self.case)?;
        Some(mine.rounds.iter().map(|round| op.of(round)).collect())
    }

    /// A promise of one operation of ours against the best of some peers.
    fn line(&self, name: &str, op: Op, peers: &[&str], limit: f64) -> Option<Line> {
        let ours = self.times(name, op)?;
        let theirs = peers.iter().filter_map(|peer| Some((self.times(peer, op)?, *peer)));
        let (theirs, peer) = theirs
            .max_by(|a, b| median_ratio(&ours, &a.0).total_cmp(&median_ratio(&ours, &b.0)))?;
        let what = self.label(name.trim_start_matches("everbloom "), op.name());
        Some(Line::of(what, peer, &ours, &theirs, limit))
    }
}

/// Whether this is compiled for the processor it runs on, rather than for any.
pub const NATIVE: bool = cfg!(target_feature = "avx2");

const SBBF: &str = "sbbf-rs-safe + foldhash";

/// What a build for this processor promises for single calls.
fn natively(table: &Table<'_>, lines: &mut Vec<Line>) {
    let mut add = |ours: &str, op: Op, peer: &str, limit: f64| {
        lines.extend(table.line(ours, op, &[peer], limit));
    };
    for op in [Op::Hit, Op::Miss] {
        add("everbloom blocked", op, SBBF, 0.7);
        add("everbloom split-block", op, "parquet Sbbf", 0.25);
        add("everbloom split-block, batch", op, "parquet Sbbf", 0.25);
    }
    add("everbloom blocked", Op::Hit, "fastbloom + foldhash", 0.33);
    add("everbloom blocked", Op::Miss, "fastbloom + foldhash", 0.22);
    add("everbloom split-block", Op::Fill, "parquet Sbbf", 0.35);
    add("everbloom split-block, batch", Op::Fill, "parquet Sbbf", 0.35);
    if table.case.items >= 1_000_000 {
        for op in [Op::Hit, Op::Miss] {
            add("everbloom binary-fuse", op, "xorf BinaryFuse8/16", 0.8);
        }
    }
}

/// What a plain build promises, which asks at run time what the processor has.
fn plainly(table: &Table<'_>, lines: &mut Vec<Line>) {
    let mut add = |ours: &str, op: Op, peer: &str, limit: f64| {
        lines.extend(table.line(ours, op, &[peer], limit));
    };
    for op in [Op::Hit, Op::Miss, Op::Fill] {
        add("everbloom blocked", op, SBBF, 1.0);
        add("everbloom blocked, batch", op, SBBF, 0.75);
        add("everbloom blocked, iterator", op, SBBF, 0.75);
        add("everbloom split-block", op, "parquet Sbbf", 0.5);
        add("everbloom split-block, batch", op, "parquet Sbbf", 0.3);
    }
    for op in [Op::Hit, Op::Miss] {
        add("everbloom binary-fuse", op, "xorf BinaryFuse8/16", 0.95);
    }
}

/// No batch is slower than single calls.
fn against_itself(table: &Table<'_>, lines: &mut Vec<Line>) {
    for name in ["everbloom blocked", "everbloom bloom", "everbloom split-block"] {
        for op in [Op::Hit, Op::Miss, Op::Fill] {
            lines.extend(table.line(&format!("{name}, batch"), op, &[name], 1.0));
        }
    }
}

const BOOST: [&str; 2] = ["Boost fast_multiblock32<8>", "Boost fast_multiblock32<8>, stride 1"];

fn against_boost(table: &Table<'_>, lines: &mut Vec<Line>) {
    for op in [Op::Hit, Op::Miss, Op::Fill] {
        lines.extend(table.line("everbloom blocked", op, &BOOST, 1.0));
        lines.extend(table.line("everbloom bloom", op, &["Boost classic"], 1.0));
    }
    if table.case.items >= 1_000_000 {
        for op in [Op::Hit, Op::Miss] {
            lines.extend(table.line("everbloom blocked, batch", op, &BOOST, 0.8));
        }
    }
}

fn against_crates(table: &Table<'_>, lines: &mut Vec<Line>) {
    let items = table.case.items;
    let mut add = |ours: &str, op: Op, peer: &str, limit: f64| {
        lines.extend(table.line(ours, op, &[peer], limit));
    };
    match items {
        1_000_000 => add("everbloom blocked, batch", Op::Fill, SBBF, 0.7),
        50_000_000 => add("everbloom blocked, batch", Op::Fill, SBBF, 0.6),
        _ => {}
    }
    for op in [Op::Hit, Op::Miss, Op::Fill] {
        add("everbloom bloom", op, "fastbloom + foldhash", 1.0);
    }
    add("everbloom bloom, batch", Op::Miss, "fastbloom + foldhash", 0.45);
    if items == 50_000_000 {
        add("everbloom bloom, batch", Op::Fill, "fastbloom + foldhash", 0.5);
    }
    if items == 1_000_000 {
        for op in [Op::Hit, Op::Miss] {
            add("everbloom ribbon", op, "ribbon-filter", 0.3);
        }
        add("everbloom ribbon", Op::Fill, "ribbon-filter", 0.5);
        add("everbloom blocked, concurrent", Op::Fill, "fastbloom atomic + foldhash", 0.6);
    }
    if items >= 1_000_000 {
        add("everbloom binary-fuse", Op::Fill, "xorf BinaryFuse8/16", 0.85);
    }
}

/// Rates and bits per key: limits of their own, not of a peer.
fn budgets(table: &Table<'_>, lines: &mut Vec<Line>) {
    let Case { items, rate } = table.case;
    let strict = rate < 0.005;
    for name in ["everbloom blocked", "everbloom bloom", "everbloom split-block"] {
        let Some(round) = table.get(name) else { continue };
        let what = table.label(name.trim_start_matches("everbloom "), "rate");
        lines.push(Line::of(what, "target", &[round.rate], &[rate], 1.05));
    }
    let mut bits = |name: &str, most: f64| {
        let Some(round) = table.get(name) else { return };
        let what = table.label(name.trim_start_matches("everbloom "), "bits per key");
        lines.push(Line::of(what, "budget", &[round.bits_per_key], &[most], 1.0));
    };
    bits("everbloom bloom", if strict { 14.4 } else { 9.6 });
    bits("everbloom blocked", if strict { 15.8 } else { 10.3 });
    if items >= 1_000_000 && !strict {
        bits("everbloom binary-fuse", 9.05);
    }
    if items >= 1_000_000 {
        let achieved = table.get("everbloom ribbon").map(|round| round.rate);
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
    let table = Table { results, case: Case { items, rate: 0.01 } };
    let Some(round) = table.get("everbloom blocked, batch") else { return };
    let bytes = (round.bits_per_key * items as f64 / 8.0) as usize;
    let theirs = floor::random_lines(bytes, true);
    for op in [Op::Hit, Op::Miss] {
        let what = table.label("blocked, batch", op.name());
        lines.push(Line::of(
            what,
            "cache-line floor, huge pages",
            &[op.of(round)],
            &[theirs],
            1.35,
        ));
    }
}

/// 10k, 1M.
pub fn size(items: u64) -> String {
    match items {
        n if n >= 1_000_000 && n % 1_000_000 == 0 => format!("{}M", n / 1_000_000),
        n if n >= 1000 && n % 1000 == 0 => format!("{}k", n / 1000),
        n => n.to_string(),
    }
}
