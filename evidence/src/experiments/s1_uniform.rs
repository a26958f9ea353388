//! Whether every cell is as likely as any other: the first, the last, each part in between.

use everbloom::Result;
use everbloom::internals::filter::Record;
use everbloom::internals::plan::Goal;

use crate::apparatus::classic::elements;
use crate::{Axis, Experiment, Lab, Report, Rows, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s1-uniform",
    source: "S1 §2, hash functions",
    title: "Every cell is equally likely",
    shows: "“Each item in the universe” is mapped “to a random number uniform over the range {1, …, m}”: so the last \
            thousandth of the cells has its thousandth of the ones, as every other part has.",
    run,
};

/// Bits of a filter, so many that the last thousandth holds thousands of ones.
const M: u64 = 1 << 20;
const ITEMS: u64 = 150_000;

/// Variants with m bits, each of whose keys sets k of them at places of its own scheme.
const FILTERS: [(&str, &[(&str, &str)]); 7] = [
    ("bloom", &[("scheme", "ring")]),
    ("bloom", &[("scheme", "double")]),
    ("bloom", &[("scheme", "enhanced")]),
    ("bloom", &[("scheme", "mixed")]),
    ("partitioned", &[]),
    ("blocked", &[("form", "mixed")]),
    ("blocked", &[("form", "lanes")]),
];

/// The parts of the range, by the share where they begin and end.
const PARTS: [(&str, f64, f64); 6] = [
    ("first 0.1 %", 0.0, 0.001),
    ("first half", 0.0, 0.5),
    ("second half", 0.5, 1.0),
    ("last tenth", 0.9, 1.0),
    ("last 1 %", 0.99, 1.0),
    ("last 0.1 %", 0.999, 1.0),
];

/// Cells looked at for members in each part, of all.
fn visits(lab: &Lab, number: usize) -> Result<([u64; 6], u64)> {
    let (slug, settings) = FILTERS[number];
    let seed = lab.seed_of(number as u64);
    let goal = Goal { items: Some(ITEMS), bits: Some(M), ..Goal::default() }.seed(seed);
    let goal = settings.iter().fold(goal, |goal, (name, value)| goal.set(name, *value));
    let variant = everbloom::catalog::by_slug(slug).expect("in the list");
    // More than planned where more is tried: a full filter's cells are as likely as an empty one's.
    let items = lab.scaled(ITEMS);
    let keys: Vec<[u8; 8]> = elements(items, seed).map(u64::to_le_bytes).collect();
    let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key)).collect();
    let filter = variant.build_from(&goal, &records)?;
    lab.ask_members(&keys, |key| filter.contains(*key));
    let m = filter.memory().cells as f64;
    let (mut seen, mut all) = ([0; 6], 0);
    for key in &keys {
        for cell in filter.trace(key) {
            let at = cell.index as f64 / m;
            all += 1;
            for (count, (_, from, to)) in seen.iter_mut().zip(PARTS) {
                *count += u64::from((from..to).contains(&at));
            }
        }
    }
    Ok((seen, all))
}

fn run(lab: &Lab) -> Result<Report> {
    let numbers: Vec<usize> = (0..FILTERS.len()).collect();
    let visits = lab.over(&numbers, |&number| visits(lab, number))?;
    let mut rows = Rows::new("", "Share of a key's cells in a part of all", Axis::log("share"));
    for ((slug, settings), (seen, all)) in FILTERS.iter().zip(visits) {
        let of = settings.first().map_or(String::new(), |(_, value)| format!(" ({value})"));
        for ((part, from, to), count) in PARTS.iter().zip(seen) {
            let predicted = to - from;
            // The cells of a key in a block go together, eight at most: as if there were an eighth of them.
            let trials = if *slug == "blocked" { all / 8 } else { all };
            let slack = bound::mean(predicted, (predicted * (1.0 - predicted)).sqrt(), trials);
            let bound = slack.widened(predicted, GRAIN);
            rows.row(format!("{slug}{of}: {part}"), predicted, count as f64 / all as f64, bound);
        }
    }
    Ok(Report::default().rows(rows).note(format!(
        "Filters of {M} bits, the cells of whose members are looked at. A part may begin inside of a block or \
         word, which is a few in a thousand of the smallest part."
    )))
}

/// A part's share may be off by this much of it, because cells are whole and blocks are of 512.
const GRAIN: f64 = 0.05;
