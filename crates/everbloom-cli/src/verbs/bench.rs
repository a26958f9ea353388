//! `everbloom bench`: this filter on this machine, beside a hash set of the same keys.

use std::collections::HashSet;
use std::hint::black_box;
use std::time::Instant;

use everbloom::filter::{Filter, Record};
use everbloom::plan::Goal;
use everbloom::sample::{self, Sample, Style};
use serde_json::json;

use super::{build::find, print};
use crate::args::Bench;
use crate::quantity::{bytes_text, integer_text};
use crate::report::table;
use crate::{Outcome, Result};

const ROUNDS: usize = 5;

/// Nanoseconds per key, one entry a round.
#[derive(Default)]
struct Times {
    build: Vec<f64>,
    hit: Vec<f64>,
    miss: Vec<f64>,
}

impl Times {
    fn medians(&mut self) -> [f64; 3] {
        [&mut self.build, &mut self.hit, &mut self.miss].map(|times| {
            times.sort_unstable_by(f64::total_cmp);
            times[times.len() / 2]
        })
    }
}

pub fn run(args: &Bench) -> Result<Outcome> {
    let variant = find(&args.kind)?;
    let mut goal = Goal::new(args.items, args.fpr);
    goal.settings.clone_from(&args.settings);
    variant.check(&goal)?;
    let members = Sample::new(&variant.input, Style::Random, 0..args.items);
    let strangers = Sample::new(&variant.input, Style::Random, args.items..2 * args.items);
    let (members, strangers) = (members.records(), strangers.records());
    let (mut ours, mut theirs, mut bytes) = (Times::default(), Times::default(), (0, 0));
    for _ in 0..ROUNDS {
        bytes.0 = filter_round(&mut ours, &members, &strangers, || {
            sample::build(variant, &goal, &members)
        })?;
        bytes.1 = set_round(&mut theirs, &members, &strangers);
    }
    let (ours, theirs) = (ours.medians(), theirs.medians());
    if args.json {
        let object = |[build, hit, miss]: [f64; 3], bytes: u64| json!({ "build_ns": build, "hit_ns": hit, "miss_ns": miss, "bytes": bytes });
        let report = json!({ "items": args.items, variant.slug: object(ours, bytes.0), "hash_set": object(theirs, bytes.1) });
        print(&format!("{report:#}\n"))?;
    } else {
        let row = |name: &str, times: [f64; 3], bytes: u64| {
            let mut row = vec![name.to_owned()];
            row.extend(times.map(|t| format!("{t:.1} ns")));
            row.push(bytes_text(bytes));
            row
        };
        let rows = vec![row(variant.slug, ours, bytes.0), row("hash set", theirs, bytes.1)];
        let header = ["", "insert", "hit", "miss", "memory"];
        print(&format!(
            "{} keys, medians of {ROUNDS} interleaved rounds, per key\n{}\n",
            integer_text(args.items),
            table::table(1, &header, rows)
        ))?;
    }
    Ok(Outcome::Some)
}

fn per_key(start: Instant, keys: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / keys as f64
}

fn filter_round(
    times: &mut Times,
    members: &[Record<'_>],
    strangers: &[Record<'_>],
    build: impl Fn() -> everbloom::error::Result<Box<dyn Filter>>,
) -> Result<u64> {
    let start = Instant::now();
    let filter = build()?;
    times.build.push(per_key(start, members.len()));
    let ask = |records: &[Record<'_>]| {
        let start = Instant::now();
        records.iter().for_each(|record| {
            let _ = black_box(filter.query(*record));
        });
        per_key(start, records.len())
    };
    times.hit.push(ask(members));
    times.miss.push(ask(strangers));
    Ok(filter.memory().total() / 8)
}

fn set_round(times: &mut Times, members: &[Record<'_>], strangers: &[Record<'_>]) -> u64 {
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
    times.miss.push(ask(strangers));
    // A slot of the table and the key's own allocation.
    let keys: u64 = members.iter().map(|r| r.key.len() as u64).sum();
    set.capacity() as u64 * 25 + keys
}
