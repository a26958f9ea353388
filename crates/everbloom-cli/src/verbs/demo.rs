//! `everbloom demo`: every variant on a list of words made on the spot.

use std::io::{self, Write};

use everbloom::catalog::VARIANTS;
use everbloom::filter::Filter as _;
use everbloom::membership::Bloom;
use everbloom::plan::{Goal, Load};
use everbloom::sample::{Sample, Style};
use everbloom::variant::{EntryKind, Variant};

use crate::measure::measure;
use crate::quantity::{integer_text, rate_text};
use crate::report::picture::{Point, curve};
use crate::report::table;
use crate::{Outcome, Result, output_error};

const WORDS: u64 = 20_000;
const QUERIES: u64 = 100_000;

pub fn run() -> Result<Outcome> {
    let bloom = Variant::by_slug("bloom").unwrap_or(VARIANTS[0]);
    let sample = Sample::new(&bloom.input, Style::Words, 1_000_000..1_000_003);
    let words: Vec<_> =
        sample.records().iter().map(|r| String::from_utf8_lossy(r.key).into_owned()).collect();
    let text = format!(
        "{} made-up words ({}, …) go into a filter of every variant, planned for a rate of 1 %;\n\
         then the filter is asked for all of them and for {} others.\n\n{}\n\n\
         predicted: by the formulas, before the filter was built; now: from its real fill.\n\
         missed: members it denies, where the variant trades them for something else (CATALOG.md).\n\n\
         A standard filter planned for {} words, as it fills and overflows \
         (· predicted, ● measured):\n\n{}\n{:>11}words inside, in thousands\n",
        integer_text(WORDS),
        words.join(", "),
        integer_text(QUERIES),
        rates()?,
        integer_text(WORDS),
        overfill(bloom)?,
        "",
    );
    io::stdout().write_all(text.as_bytes()).map_err(output_error)?;
    Ok(Outcome::Some)
}

fn rates() -> Result<String> {
    let mut rows = Vec::new();
    for variant in VARIANTS.iter().filter(|v| v.kind == EntryKind::Filter) {
        let m = measure(variant, variant.forms[0].name, WORDS, QUERIES)?;
        let rate = |r: Option<f64>| r.map_or("–".to_owned(), rate_text);
        rows.push(vec![
            variant.slug.to_owned(),
            integer_text(m.items),
            format!("{:.2}", m.bits_per_item),
            m.filter.fill().map_or("–".to_owned(), |f| format!("{:.1} %", f * 100.0)),
            rate(m.predicted),
            rate(m.now),
            rate(Some(m.measured)),
            rate(Some(m.missed)),
        ]);
    }
    Ok(table::table(
        1,
        &["variant", "words", "bits/word", "fill", "predicted", "now", "measured", "missed"],
        rows,
    ))
}

/// The rate of one filter from half its capacity to four times it.
fn overfill(variant: &'static Variant) -> Result<String> {
    let goal = Goal::new(WORDS, 0.01);
    let mut filter = Bloom::with_rate(WORDS, 0.01)?;
    let step = WORDS / 4;
    let members = Sample::new(&variant.input, Style::Words, 0..4 * WORDS);
    let strangers = Sample::new(&variant.input, Style::Words, 4 * WORDS..4 * WORDS + QUERIES);
    let (members, strangers) = (members.records(), strangers.records());
    let mut points = Vec::new();
    for batch in members.chunks(step as usize) {
        batch.iter().for_each(|record| {
            filter.insert(record.key);
        });
        let n = filter.head().items;
        if n < WORDS / 2 {
            continue;
        }
        let hits = strangers.iter().filter(|r| filter.contains(r.key)).count();
        let predicted = variant.expect(&goal, &Load::items(n))?.map_or(0.0, |e| e.fpr);
        points.push(Point {
            x: (n / 1000) as f64,
            predicted,
            measured: hits as f64 / QUERIES as f64,
        });
    }
    Ok(curve(&points, 16, rate_text))
}
