//! One harness over every variant of the list: nanoseconds per record to build, to find a member and to deny a
//! non-member, one by one and many at a time.
//!
//! `cargo run --release -p everbloom-bench [SIZES] [--markdown]`; SIZES are numbers of items with commas, by default
//! 10000,1000000. Rounds of all variants are interleaved and medians shown, so that a noisy machine disturbs all of
//! them alike; believe ratios, not nanoseconds. Calls go through the dynamic face, as the command line's do.

use std::hint::black_box;
use std::time::Instant;

use everbloom::Result;
use everbloom::catalog::VARIANTS;
use everbloom::internals::filter::{EntryKind, Filter, Form, Record};
use everbloom::internals::hash::Digest;
use everbloom::internals::plan::Goal;
use everbloom::internals::sample;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;
use everbloom_report::{Table, Times};

struct Case {
    variant: &'static Variant,
    form: &'static Form,
    goal: Goal,
    members: Sample,
    others: Sample,
    single: Times,
    many: Times,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let sizes: Option<Vec<u64>> =
        args.iter().find_map(|arg| arg.split(',').map(|n| n.parse().ok()).collect());
    let markdown = args.iter().any(|arg| arg == "--markdown");
    for items in sizes.unwrap_or_else(|| vec![10_000, 1_000_000]) {
        let table = measured(items)?;
        let text = if markdown { table.markdown() } else { table.terminal() };
        println!(
            "{items} items at 1 %, medians of {} interleaved rounds, ns per record\n\n{text}",
            rounds(items)
        );
    }
    Ok(())
}

fn rounds(items: u64) -> usize {
    if items < 1_000_000 { 9 } else { 3 }
}

fn measured(items: u64) -> Result<Table> {
    let mut cases: Vec<Case> = VARIANTS
        .iter()
        .filter(|v| v.kind == EntryKind::Filter && items <= v.reach)
        .flat_map(|v| v.forms.iter().map(move |form| case(v, form, items)))
        .collect();
    for _ in 0..rounds(items) {
        cases.iter_mut().try_for_each(round)?;
    }
    let bloom = cases.iter().find(|case| case.variant.slug == "bloom");
    let base = bloom.map_or([None; 3], |case| case.single.medians());
    let header = ["variant", "form", "build", "hit", "miss", "hit, many", "miss, many", "× bloom"];
    Ok(Table::new(2, header).rows(cases.iter().map(|case| row(case, base))))
}

/// A line of the table; the last cell is the slowest single operation as a multiple of `bloom`'s.
fn row(case: &Case, base: [Option<f64>; 3]) -> Vec<String> {
    let cell = |ns: Option<f64>| ns.map_or("–".to_owned(), |ns| format!("{ns:.1}"));
    let (single, many) = (case.single.medians(), case.many.medians());
    let ratios = single.iter().zip(base).filter_map(|(ns, base)| Some((*ns)? / base?));
    let slowest = ratios.fold(0.0, f64::max);
    let mut row = vec![case.variant.slug.to_owned(), case.form.name.to_owned()];
    row.extend(single.map(cell));
    row.extend(many[1..].iter().copied().map(cell));
    row.push(format!("{slowest:.1}"));
    row
}

fn case(variant: &'static Variant, form: &'static Form, items: u64) -> Case {
    Case {
        variant,
        form,
        goal: Goal::new(items, 0.01).set("form", form.name),
        members: Sample::new(&variant.input, Style::Random, 0..items),
        others: Sample::new(&variant.input, Style::Random, items..2 * items),
        single: Times::default(),
        many: Times::default(),
    }
}

fn round(case: &mut Case) -> Result<()> {
    let (members, others) = (case.members.records(), case.others.records());
    let per_record = |start: Instant| start.elapsed().as_nanos() as f64 / members.len() as f64;
    let start = Instant::now();
    let filter = sample::build(case.variant, &case.goal, &members)?;
    case.single.build.push(per_record(start));
    let ask = |records: &[Record<'_>]| {
        let start = Instant::now();
        records.iter().for_each(|record| {
            let _ = black_box(filter.query(*record));
        });
        per_record(start)
    };
    case.single.hit.push(ask(&members));
    case.single.miss.push(ask(&others));
    case.many.hit.extend(ask_many(&*filter, &members));
    case.many.miss.extend(ask_many(&*filter, &others));
    Ok(())
}

/// Nanoseconds per record, hashing included, where the filter is asked by digests.
fn ask_many(filter: &dyn Filter, records: &[Record<'_>]) -> Option<f64> {
    let (bulk, hasher) = (filter.as_bulk()?, &filter.head().hasher);
    let mut digests: Vec<Digest> = Vec::with_capacity(4096);
    let mut found = [false; 4096];
    let start = Instant::now();
    for records in records.chunks(4096) {
        digests.clear();
        digests.extend(records.iter().map(|record| hasher.digest(record.key)));
        bulk.contains_digests(&digests, &mut found[..records.len()]);
        black_box(&found);
    }
    Some(start.elapsed().as_nanos() as f64 / records.len() as f64)
}
