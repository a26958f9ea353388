//! `everbloom bench`: a filter on this machine, beside a hash set of as many keys.

use std::collections::HashSet;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use everbloom::catalog::by_slug;
use everbloom::internals::filter::{Filter, Record};
use everbloom::internals::plan::Goal;
use everbloom::internals::sample;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;
use everbloom_report::{Table, Times};
use serde_json::json;

use super::{build::find, opened};
use crate::args::Bench;
use crate::output::{Sheet, integer_text, print, print_json};
use crate::{Outcome, Result, Stop};

const ROUNDS: usize = 5;

pub fn run(args: &Bench) -> Result<Outcome> {
    if args.items == 0 {
        return Err(Stop::Error("-n 0: give at least 1 key".to_owned()));
    }
    match (&args.filter, &args.kind) {
        (Some(path), None) if !path.exists() && path.to_str().and_then(by_slug).is_some() => {
            let slug = path.display();
            let message = format!("{slug}: no such file; for the variant write --kind {slug}");
            Err(Stop::Error(message))
        }
        (Some(path), _) => bench_file(args, path),
        (None, kind) => bench_kind(args, find(kind.as_deref().unwrap_or("bloom"))?),
    }
}

/// Builds and asks filters of a variant.
fn bench_kind(args: &Bench, variant: &'static Variant) -> Result<Outcome> {
    let mut goal = Goal::new(args.items, args.fpr);
    goal.settings.clone_from(&args.settings);
    variant.check(&goal)?;
    let members = Sample::new(&variant.input, Style::Random, 0..args.items);
    let non_members = Sample::new(&variant.input, Style::Random, args.items..2 * args.items);
    let (members, non_members) = (members.records(), non_members.records());
    let (mut ours, mut theirs, mut bytes) = (Times::default(), Times::default(), (0, 0));
    for _ in 0..ROUNDS {
        bytes.0 = filter_round(&mut ours, &members, &non_members, || {
            sample::build(variant, &goal, &members)
        })?;
        bytes.1 = set_round(&mut theirs, &members, &non_members);
    }
    report(args, args.items, [(variant.slug, ours, bytes.0), ("hash_set", theirs, bytes.1)])
}

/// Asks a filter file for keys that are not in it, and a set of as many keys for the same.
fn bench_file(args: &Bench, path: &Path) -> Result<Outcome> {
    let filter = opened(path, &args.key_file)?;
    let input = &filter.facts().input;
    let items = filter.head().items.clamp(1, MOST_ITEMS);
    let members = Sample::new(input, Style::Random, 0..items);
    let non_members = Sample::new(input, Style::Random, items..items + args.items.min(MOST_ITEMS));
    let (members, non_members) = (members.records(), non_members.records());
    let (mut ours, mut theirs, mut bytes) = (Times::default(), Times::default(), 0);
    for _ in 0..ROUNDS {
        ours.miss.push(ask(&*filter, &non_members));
        bytes = set_round(&mut theirs, &members, &non_members);
    }
    (theirs.build, theirs.hit) = Default::default();
    let memory = filter.memory().total() / 8;
    report(args, items, [(filter.facts().slug, ours, memory), ("hash_set", theirs, bytes)])
}

/// Keys that a hash set is filled with at most: it has to fit the memory.
const MOST_ITEMS: u64 = 10_000_000;

fn report(args: &Bench, items: u64, rows: [(&str, Times, u64); 2]) -> Result<Outcome> {
    if args.shown.machine.json {
        let mut report = serde_json::Map::new();
        report.insert("items".to_owned(), items.into());
        for (name, times, bytes) in rows {
            let [build, hit, miss] = times.medians();
            let object =
                json!({ "build_ns": build, "hit_ns": hit, "miss_ns": miss, "bytes": bytes });
            report.insert(name.to_owned(), object);
        }
        print_json(&report.into())?;
        return Ok(Outcome::Some);
    }
    let sheet = Sheet::of(args.shown.csv);
    let cells = |numbers: [Option<f64>; 4], text: fn(f64) -> String| {
        numbers.map(|n| n.map_or(sheet.none(), |n| sheet.pick(n, text)))
    };
    let mut medians = Vec::new();
    let mut table = Table::new(1, ["", "insert, ns", "hit, ns", "miss, ns", "memory, bytes"]);
    for (name, times, bytes) in &rows {
        let [build, hit, miss] = times.medians();
        let ns = |n: f64| format!("{n:.1}");
        let mut row = cells([build, hit, miss, Some(*bytes as f64)], ns);
        row[3] = sheet.integer(*bytes);
        table = table.row([name.replace('_', " ")].into_iter().chain(row));
        medians.push([build, hit, miss, Some(*bytes as f64)]);
    }
    let ratio = |i: usize| medians[0][i].zip(medians[1][i]).map(|(ours, theirs)| ours / theirs);
    let ratios = cells([0, 1, 2, 3].map(ratio), |r| format!("{r:.2}"));
    table = table.row(["ratio to the hash set".to_owned()].into_iter().chain(ratios));
    let head = format!(
        "{} keys, medians of {ROUNDS} interleaved rounds, nanoseconds per key\n",
        integer_text(items)
    );
    let head = if sheet == Sheet::Terminal { head } else { String::new() };
    print(&(head + &sheet.text(&table)))?;
    Ok(Outcome::Some)
}

/// Asks for all records; nanoseconds per key.
fn ask(filter: &dyn Filter, records: &[Record<'_>]) -> f64 {
    let start = Instant::now();
    records.iter().for_each(|record| {
        let _ = black_box(filter.query(*record));
    });
    per_key(start, records.len())
}

fn per_key(start: Instant, keys: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / keys as f64
}

fn filter_round(
    times: &mut Times,
    members: &[Record<'_>],
    non_members: &[Record<'_>],
    build: impl Fn() -> everbloom::Result<Box<dyn Filter>>,
) -> Result<u64> {
    let start = Instant::now();
    let filter = build()?;
    times.build.push(per_key(start, members.len()));
    times.hit.push(ask(&*filter, members));
    times.miss.push(ask(&*filter, non_members));
    Ok(filter.memory().total() / 8)
}

fn set_round(times: &mut Times, members: &[Record<'_>], non_members: &[Record<'_>]) -> u64 {
    let start = Instant::now();
    let set: HashSet<Vec<u8>> = members.iter().map(|r| r.key.to_vec()).collect();
    times.build.push(per_key(start, members.len()));
    let ask = |records: &[Record<'_>]| {
        let start = Instant::now();
        records.iter().for_each(|record| {
            black_box(set.contains(record.key));
        });
        per_key(start, records.len())
    };
    times.hit.push(ask(members));
    times.miss.push(ask(non_members));
    // A slot of the table and the key's own allocation.
    let keys: u64 = members.iter().map(|r| r.key.len() as u64).sum();
    set.capacity() as u64 * 25 + keys
}
