//! `everbloom demo`: every variant on a list of words made on the spot.

use everbloom::catalog::VARIANTS;
use everbloom::internals::filter::EntryKind;
use everbloom::internals::filter::Face;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;
use everbloom::membership::Bloom;
use everbloom_report::Table;
use everbloom_report::number::rate_text;
use everbloom_report::terminal::{Point, curve};
use serde_json::{Value, json};

use crate::args::Demo;
use crate::measure::{Measured, RATE, measure};
use crate::output::{integer_text, print, print_json};
use crate::{Outcome, Result};

const WORDS: u64 = 20_000;
const QUERIES: u64 = 100_000;
/// What is shown unless all are asked for: one for each everyday need.
const EVERYDAY: [&str; 8] =
    ["bloom", "blocked", "counting", "scalable", "stable", "bloomier", "binary-fuse", "ribbon"];

pub fn run(args: &Demo) -> Result<Outcome> {
    let bloom = bloom();
    let mut measured = Vec::new();
    let shown = |v: &&&Variant| args.all || EVERYDAY.contains(&v.slug);
    for variant in VARIANTS.iter().filter(|v| v.kind == EntryKind::Filter).filter(shown) {
        measured.push(measure(variant, variant.forms[0].name, WORDS, QUERIES)?);
    }
    let steps = overfill(bloom)?;
    if args.machine.json {
        print_json(&json!({
            "queries": QUERIES,
            "fpr_target": RATE,
            "variants": measured.iter().map(entry).collect::<Vec<_>>(),
            "overfill": steps.iter().map(step).collect::<Vec<_>>(),
        }))?;
    } else {
        let more = VARIANTS.iter().filter(|v| v.kind == EntryKind::Filter).count() - measured.len();
        print(&text(bloom, &measured, more, &steps))?;
    }
    Ok(Outcome::Some)
}

fn entry(m: &Measured) -> Value {
    json!({
        "slug": m.filter.facts().slug,
        "items": m.items,
        "bits_per_item": m.bits_per_item,
        "fill": m.filter.fill(),
        "fpr_predicted": m.predicted,
        "fpr_now": m.now,
        "fpr_measured": m.measured,
        "undecided_measured": m.undecided,
        "fnr_measured": m.missed,
    })
}

fn step(step: &Step) -> Value {
    json!({ "items": step.items, "fpr_predicted": step.predicted, "fpr_measured": step.measured })
}

fn text(bloom: &Variant, measured: &[Measured], more: usize, steps: &[Step]) -> String {
    let sample = Sample::new(&bloom.input, Style::Words, 1_000_000..1_000_003);
    let words: Vec<_> =
        sample.records().iter().map(|r| String::from_utf8_lossy(r.key).into_owned()).collect();
    format!(
        "{} made-up words ({}, …) go into each filter,\n\
         planned for a false-positive rate of 1 %; then each is queried for all of them\n\
         and for {} others.\n\n{}{}\n\
         predicted: false-positive rate by the formulas, before the filter was built;\n\
         now: from its real fill. missed: false negatives, where the variant trades them\n\
         for something else (CATALOG.md).\n\n\
         A standard filter planned for {} words, as it fills and overflows\n\
         (· predicted, ● measured):\n\n{}",
        integer_text(WORDS),
        words.join(", "),
        integer_text(QUERIES),
        rates(measured),
        if more > 0 { format!("{more} more: everbloom demo --all\n") } else { String::new() },
        integer_text(WORDS),
        picture(steps),
    )
}

/// The rate over the number of words.
fn picture(steps: &[Step]) -> String {
    let point = |step: &Step| Point {
        x: (step.items / 1000) as f64,
        predicted: step.predicted,
        measured: step.measured,
    };
    let points: Vec<Point> = steps.iter().map(point).collect();
    format!("{}\n{:>11}words inside, in thousands\n", curve(&points, 16, rate_text), "")
}

/// A standard filter on its way past its capacity, drawn.
pub fn overflow() -> Result<String> {
    Ok(picture(&overfill(bloom())?))
}

fn bloom() -> &'static Variant {
    everbloom::catalog::by_slug("bloom").unwrap_or(VARIANTS[0])
}

fn rates(measured: &[Measured]) -> String {
    let rate = |r: Option<f64>| r.map_or("–".to_owned(), rate_text);
    let row = |m: &Measured| {
        [
            m.filter.facts().slug.to_owned(),
            integer_text(m.items),
            format!("{:.2}", m.bits_per_item),
            m.filter.fill().map_or("–".to_owned(), |f| format!("{:.1} %", f * 100.0)),
            rate(m.predicted),
            rate(m.now),
            rate(Some(m.measured)),
            rate(Some(m.missed)),
        ]
    };
    let header =
        ["variant", "words", "bits/word", "fill", "predicted", "now", "measured", "missed"];
    Table::new(1, header).rows(measured.iter().map(row)).terminal()
}

/// A filter on its way past its capacity.
struct Step {
    items: u64,
    predicted: f64,
    measured: f64,
}

/// The rate of one filter from half its capacity to four times it.
fn overfill(variant: &'static Variant) -> Result<Vec<Step>> {
    let goal = Goal::new(WORDS, RATE);
    let mut filter = Bloom::with_rate(WORDS, RATE)?;
    let batch = WORDS / 4;
    let members = Sample::new(&variant.input, Style::Words, 0..4 * WORDS);
    let non_members = Sample::new(&variant.input, Style::Words, 4 * WORDS..4 * WORDS + QUERIES);
    let (members, non_members) = (members.records(), non_members.records());
    let mut steps = Vec::new();
    for batch in members.chunks(batch as usize) {
        batch.iter().for_each(|record| {
            filter.insert(record.key);
        });
        let n = filter.head().items;
        if n < WORDS / 2 {
            continue;
        }
        let hits = non_members.iter().filter(|r| filter.contains(r.key)).count();
        let predicted = variant.expect(&goal, &Load::items(n))?.map_or(0.0, |e| e.fpr);
        steps.push(Step { items: n, predicted, measured: hits as f64 / QUERIES as f64 });
    }
    Ok(steps)
}
