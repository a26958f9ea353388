//! `everbloom info`: what a filter is, how full, how good.

use everbloom::compact::times_bound;
use everbloom::internals::filter::{FactValue, Filter};
use everbloom::internals::state::{MAJOR, MINOR};
use everbloom_report::number::bytes_text;
use everbloom_report::terminal;

use super::foreign;
use crate::args::Info;
use crate::output::{Sheet, facts, integer_text, print, print_json};
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
    let (variant, head, now) = (filter.facts(), filter.head(), filter.now());
    let rate = |r: Option<f64>| r.map_or(sheet.none(), |r| sheet.rate(r));
    let current = |r: Option<f64>| words(sheet, rate(r), " now");
    let mut rows: Vec<(&str, String)> = vec![
        ("variant", format!("{} ({}, {})", variant.slug, variant.name, variant.entry)),
        ("form", head.form.to_owned()),
    ];
    for fact in filter.describe() {
        let value = match fact.value {
            FactValue::Integer(v) => sheet.integer(v),
            other => other.to_string(),
        };
        rows.push((fact.name, value));
    }
    rows.extend(size(filter, sheet));
    if let Some(fill) = filter.fill() {
        let bar = |fill: f64| format!("▕{}▏ {:.1} %", terminal::bar(fill, 40), fill * 100.0);
        rows.push(("fill", sheet.pick(fill, bar)));
    }
    rows.push(("false positives", current(passing(filter))));
    if let Some(each) = of_each_set(filter) {
        rows.push(("of each set", current(Some(each))));
    }
    rows.push(("false negatives", current(now.fnr)));
    if now.undecided.is_some() {
        rows.push(("undecided", words(sheet, rate(now.undecided), " now, among them")));
    }
    if let Some(target) = head.fpr {
        let meaning = format!(" ({})", variant.meaning);
        rows.push(("planned rate", words(sheet, sheet.rate(target), &meaning)));
        if let Some(fpr) = now.fpr.filter(|_| filter.past_capacity()) {
            let warning = format!(
                "over capacity: {:.1} times the planned rate; build a larger filter",
                fpr / target
            );
            rows.push(("warning", warning));
        }
    }
    if let Some(target) = head.fnr {
        rows.push(("planned misses", sheet.rate(target)));
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

/// A value, with words behind it for people.
fn words(sheet: Sheet, value: String, behind: &str) -> String {
    match sheet {
        Sheet::Terminal => value + behind,
        Sheet::Csv => value,
    }
}

/// How many items in how many bits: a line each for people, a number each for spreadsheets.
fn size(filter: &dyn Filter, sheet: Sheet) -> Vec<(&'static str, String)> {
    let (items, memory) = (filter.len(), filter.memory());
    let keys = filter.fewer_keys().map(|keys| keys.round().max(1.0));
    let per_item = (items > 0).then(|| memory.total() as f64 / keys.unwrap_or(items as f64));
    let times = times_bound(filter);
    if sheet == Sheet::Csv {
        let mut rows = vec![("items", items.to_string())];
        rows.extend(keys.map(|keys| ("different keys", keys.to_string())));
        rows.push(("bits", memory.total().to_string()));
        rows.push(("bits of cells", memory.cells.to_string()));
        rows.push(("bits auxiliary", memory.auxiliary.to_string()));
        rows.extend(per_item.map(|bits| ("bits per item", bits.to_string())));
        rows.extend(times.map(|times| ("times the lower bound", times.to_string())));
        return rows;
    }
    let different = keys.map_or(String::new(), |keys| {
        format!(", about {} different keys", integer_text(keys as u64))
    });
    let size = format!(
        "{} bits ({}): {} of cells, {} auxiliary",
        integer_text(memory.total()),
        bytes_text(memory.total().div_ceil(8)),
        integer_text(memory.cells),
        integer_text(memory.auxiliary),
    );
    let mut rows = vec![("items", integer_text(items) + &different), ("size", size)];
    if let Some(bits) = per_item {
        let bound = times.map_or(String::new(), |t| format!(", {t:.2} times the lower bound"));
        let name = if keys.is_some() { "bits per key" } else { "bits per item" };
        rows.push((name, format!("{bits:.2}{bound}")));
    }
    rows
}
