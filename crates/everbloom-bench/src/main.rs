//! One harness over every variant of the list: nanoseconds per record to build, to find a member, and to
//! deny a non-member.
//!
//! `cargo run --release -p everbloom-bench [ITEMS]`. Rounds of all variants are interleaved and medians
//! shown, so that a noisy machine disturbs all of them alike; believe ratios, not nanoseconds. Calls go
//! through the dynamic face, as the command line's do.

use std::hint::black_box;
use std::time::Instant;

use everbloom::Result;
use everbloom::catalog::VARIANTS;
use everbloom::internals::filter::Record;
use everbloom::internals::filter::{EntryKind, Form};
use everbloom::internals::plan::Goal;
use everbloom::internals::sample;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;
use everbloom_report::{Table, Times};

const ROUNDS: usize = 5;

struct Case {
    variant: &'static Variant,
    form: &'static Form,
    goal: Goal,
    members: Sample,
    others: Sample,
    times: Times,
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
    println!("{items} items at 1 %, medians of {ROUNDS} interleaved rounds, per record");
    let rows = cases.iter().map(|case| {
        let names = [case.variant.slug, case.form.name].map(str::to_owned);
        names.into_iter().chain(case.times.cells())
    });
    print!("{}", Table::new(2, ["variant", "form", "build", "hit", "miss"]).rows(rows).terminal());
    Ok(())
}

fn case(variant: &'static Variant, form: &'static Form, items: u64) -> Case {
    Case {
        variant,
        form,
        goal: Goal::new(items, 0.01).set("form", form.name),
        members: Sample::new(&variant.input, Style::Random, 0..items),
        others: Sample::new(&variant.input, Style::Random, items..2 * items),
        times: Times::default(),
    }
}

fn round(case: &mut Case) -> Result<()> {
    let members = case.members.records();
    let per_record = |start: Instant| start.elapsed().as_nanos() as f64 / members.len() as f64;
    let start = Instant::now();
    let filter = sample::build(case.variant, &case.goal, &members)?;
    case.times.build.push(per_record(start));
    let ask = |records: &[Record<'_>]| {
        let start = Instant::now();
        records.iter().for_each(|record| {
            let _ = black_box(filter.query(*record));
        });
        per_record(start)
    };
    case.times.hit.push(ask(&members));
    case.times.miss.push(ask(&case.others.records()));
    Ok(())
}
