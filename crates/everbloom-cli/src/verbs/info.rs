//! `everbloom info`: what a filter is, how full, how good.

use everbloom::compact::times_bound;
use everbloom::internals::filter::{FactValue, Filter};
use everbloom::internals::state::{MAJOR, MINOR};
use everbloom_report::number::{bytes_text, integer_text, rate_text};
use everbloom_report::terminal;

use super::foreign;
use crate::args::Info;
use crate::output::{Sheet, facts, print, print_json};
use crate::report::json;
use crate::report::rate::{of_each_set, passing};
use crate::{Outcome, Result, input};

pub fn run(args: &Info) -> Result<Outcome> {
    let path = input::filter_file(&args.filter)?;
    if let Some(file) = foreign::recognized(&path, &args.foreign, &None)? {
        return foreign::info(&file, args);
    }
    let inspection = input::opener(&None)?.inspect(&path)?;
    inspection.with(|filter| match args.shown.machine.json {
        true => print_json(&json::info(filter)),
        false => print(&describe(filter, Sheet::of(args.shown.csv))),
    })?;
    Ok(Outcome::Some)
}

fn describe(filter: &dyn Filter, sheet: Sheet) -> String {
    let (variant, head, memory, now) =
        (filter.facts(), filter.head(), filter.memory(), filter.now());
    let rate = |r: Option<f64>| r.map_or("–".to_owned(), rate_text);
    let mut rows: Vec<(&str, String)> = vec![
        ("variant", format!("{} ({}, {})", variant.slug, variant.name, variant.entry)),
        ("form", head.form.to_owned()),
    ];
    for fact in filter.describe() {
        let value = match fact.value {
            FactValue::Integer(v) => integer_text(v),
            other => other.to_string(),
        };
        rows.push((fact.name, value));
    }
    rows.push(("items", integer_text(head.items)));
    let size = format!(
        "{} bits ({}): {} of cells, {} auxiliary",
        integer_text(memory.total()),
        bytes_text(memory.total().div_ceil(8)),
        integer_text(memory.cells),
        integer_text(memory.auxiliary),
    );
    rows.push(("size", size));
    if head.items > 0 {
        let per_item = memory.total() as f64 / head.items as f64;
        let bound = times_bound(filter)
            .map_or(String::new(), |times| format!(", {times:.2} times the lower bound"));
        rows.push(("bits per item", format!("{per_item:.2}{bound}")));
    }
    if let Some(fill) = filter.fill() {
        rows.push(("fill", format!("▕{}▏ {:.1} %", terminal::bar(fill, 40), fill * 100.0)));
    }
    rows.push(("false positives", format!("{} now", rate(passing(filter)))));
    if let Some(each) = of_each_set(filter) {
        rows.push(("of each set", format!("{} now", rate_text(each))));
    }
    rows.push(("false negatives", format!("{} now", rate(now.fnr))));
    if now.undecided.is_some() {
        rows.push(("undecided", format!("{} now, among them", rate(now.undecided))));
    }
    if let Some(target) = head.fpr {
        rows.push(("planned rate", format!("{} ({})", rate_text(target), variant.meaning)));
        if let Some(fpr) = now.fpr.filter(|_| filter.past_capacity()) {
            let warning = format!(
                "over capacity: {:.1} times the planned rate; build a larger filter",
                fpr / target
            );
            rows.push(("warning", warning));
        }
    }
    if let Some(target) = head.fnr {
        rows.push(("planned misses", rate_text(target)));
    }
    let reading = &head.reading;
    if !reading.key_type.is_empty() {
        rows.push(("key type", reading.key_type.clone()));
    }
    if !reading.ancestors.is_empty() {
        rows.push(("ancestors", format!("those of {} are inside", reading.ancestors)));
    }
    let word = if head.hasher.is_keyed() { "key" } else { "seed" };
    rows.push(("hash", format!("{}, {word} {:016x}", head.hasher.id(), head.hasher.seed())));
    rows.push(("format", format!("{MAJOR}.{MINOR}")));
    rows.push(("huge pages", if filter.huge_pages() { "yes" } else { "no" }.to_owned()));
    facts(sheet, 16, &rows)
}
