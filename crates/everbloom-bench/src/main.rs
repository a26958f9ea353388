//! One harness over every variant of the list: nanoseconds per record to build, to find a member, and to
//! deny a stranger.
//!
//! `cargo run --release -p everbloom-bench [ITEMS]`. Rounds of all variants are interleaved and medians
//! shown, so that a noisy machine disturbs all of them alike; believe ratios, not nanoseconds. Calls go
//! through the dynamic face, as the command line's do.

use std::hint::black_box;
use std::time::Instant;

use everbloom::catalog::VARIANTS;
use everbloom::error::Result;
use everbloom::filter::Record;
use everbloom::plan::Goal;
use everbloom::sample::{self, Sample, Style};
use everbloom::variant::{EntryKind, Form, Variant};

const ROUNDS: usize = 5;

struct Case {
    variant: &'static Variant,
    form: &'static Form,
    goal: Goal,
    members: Sample,
    strangers: Sample,
    build: Vec<f64>,
    hit: Vec<f64>,
    miss: Vec<f64>,
}

fn main() -> Result<()> {
    let items = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let mut cases: Vec<Case> = VARIANTS
        .iter()
        .filter(|v| v.kind == EntryKind::Filter && items <= v.reach)
        .flat_map(|v| v.forms.iter().map(move |form| case(v, form, items)))
        .collect();
    for _ in 0..ROUNDS {
        cases.iter_mut().try_for_each(round)?;
    }
    println!("{items} items at 1 %, medians of {ROUNDS} interleaved rounds, ns per record");
    println!("{:<22} {:<20} {:>8} {:>8} {:>8}", "variant", "form", "build", "hit", "miss");
    for case in &mut cases {
        println!(
            "{:<22} {:<20} {:>8.1} {:>8.1} {:>8.1}",
            case.variant.slug,
            case.form.name,
            median(&mut case.build),
            median(&mut case.hit),
            median(&mut case.miss),
        );
    }
    Ok(())
}

fn case(variant: &'static Variant, form: &'static Form, items: u64) -> Case {
    Case {
        variant,
        form,
        goal: Goal::new(items, 0.01).set("form", form.name),
        members: Sample::new(&variant.input, Style::Random, 0..items),
        strangers: Sample::new(&variant.input, Style::Random, items..2 * items),
        build: Vec::new(),
        hit: Vec::new(),
        miss: Vec::new(),
    }
}

fn round(case: &mut Case) -> Result<()> {
    let members = case.members.records();
    let per_record = |start: Instant| start.elapsed().as_nanos() as f64 / members.len() as f64;
    let start = Instant::now();
    let filter = sample::build(case.variant, &case.goal, &members)?;
    case.build.push(per_record(start));
    let ask = |records: &[Record<'_>]| {
        let start = Instant::now();
        records.iter().for_each(|record| {
            let _ = black_box(filter.query(*record));
        });
        per_record(start)
    };
    case.hit.push(ask(&members));
    case.miss.push(ask(&case.strangers.records()));
    Ok(())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}
