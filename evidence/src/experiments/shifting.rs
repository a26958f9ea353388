//! The shifting filter: half the reads of a standard one at nearly its rate.

use std::collections::HashSet;

use everbloom::Result;
use everbloom::internals::filter::{Filter, Record};
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::Goal;

use crate::apparatus::classic::{Shape, elements, rates};
use crate::apparatus::generalized::steps;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "shifting",
    source: "S3 §V-B and T. Yang et al., A shifting Bloom filter framework for set queries, VLDB 2016; catalogue §5",
    title: "The shifting filter: rate and memory reads beside the standard one",
    shows: "Each hash gives two bits, the second at a distance that depends on the key and fits into the same read: half the \
            reads, little more than half the hashes, and a rate that is higher by one or two percent.",
    run,
};

const ITEMS: u64 = 5000;
const K: u32 = 8;
const RATIOS: [u64; 4] = [6, 8, 10, 12];
const QUERIES: u64 = 20_000;

/// The distance is one of so many.
const OFFSETS: f64 = 56.0;

fn shape(ratio: u64) -> Shape {
    Shape { m: ratio * ITEMS, n: ITEMS, k: K }
}

/// Both bits of a pair are set: 1 − 2p + p^(2 − 1/112), p the share of zeros; one base of 56 that hits one bit of the pair
/// has its offset, and hits the other one, too.
fn rate(ratio: f64) -> f64 {
    let zeros = (-f64::from(K) / ratio).exp();
    (1.0 - 2.0 * zeros + zeros.powf(2.0 - 0.5 / OFFSETS)).powf(f64::from(K) / 2.0)
}

/// The rate of a filter, and the reads of 64 bits from any byte on that one query takes.
fn measured(lab: &Lab, ratio: u64, seed: u64) -> Result<[f64; 2]> {
    let variant = everbloom::catalog::by_slug("shifting").expect("in the list");
    let goal =
        Goal::default().set("form", "membership").set("m", ratio * ITEMS).set("k", K).seed(seed);
    let keys: Vec<[u8; 8]> = elements(ITEMS, seed).map(u64::to_le_bytes).collect();
    let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key)).collect();
    let filter: Box<dyn Filter> = variant.build_from(&goal, &records)?;
    lab.ask_members(&keys, |key| filter.contains(*key));
    let mut others = Generator::new(!seed);
    let hits = (0..QUERIES).filter(|_| filter.contains(&others.next_u64().to_le_bytes())).count();
    Ok([hits as f64 / QUERIES as f64, reads(&*filter, &keys[0])])
}

/// The fewest reads that cover all cells of a key: a read covers a cell and all up to 56 further.
fn reads(filter: &dyn Filter, key: &[u8]) -> f64 {
    let cells: HashSet<u64> = filter.trace(key).iter().map(|cell| cell.index).collect();
    let mut cells: Vec<u64> = cells.into_iter().collect();
    cells.sort_unstable();
    let (mut reads, mut end) = (0.0, None);
    for cell in cells {
        if end.is_none_or(|end| cell > end) {
            reads += 1.0;
            end = Some(cell + OFFSETS as u64);
        }
    }
    reads
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(20);
    let mut shifting = Series::new("shifting", steps(5.0, 13.0), rate);
    let formula = |ratio: f64| (1.0 - (-f64::from(K) / ratio).exp()).powf(f64::from(K));
    let mut standard = Series::new("standard", steps(5.0, 13.0), formula);
    let mut rows = Rows::new("b", "What a query takes", Axis::linear("reads of a word"));
    let alone = rates(lab, &RATIOS.map(shape), runs)?;
    let mut most: f64 = 0.0;
    for (ratio, alone) in RATIOS.into_iter().zip(alone) {
        let x = ratio as f64;
        standard.point(x, alone.predicted, alone.measured, alone.bound);
        let seen = lab.runs(runs, |seed| measured(lab, ratio, seed))?;
        let mean = |i: usize| seen.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
        // Pairs share offsets, so that fills spread a little more than those of single bits.
        let sd = 1.5 * shape(ratio).fpr_sd();
        shifting.point(
            x,
            rate(x),
            mean(0),
            bound::rate(rate(x), sd, runs, QUERIES).widened(rate(x), 0.005),
        );
        most = seen.iter().map(|run| run[1]).fold(most, f64::max);
    }
    shifting.follows(rate, 0.005);
    standard.follows(formula, 0.01);
    let pairs = f64::from(K) / 2.0;
    rows.row("shifting, at most", pairs, most, Bound::between(pairs - 1.0, pairs));
    let sparse = shape(RATIOS[RATIOS.len() - 1]);
    let each = lab.runs(runs, |seed| {
        let key = elements(1, seed).next().unwrap_or_default();
        Ok(reads(&sparse.filled(seed), &key.to_le_bytes()))
    })?;
    let most = each.into_iter().fold(0.0, f64::max);
    rows.row(
        "standard, at most",
        2.0 * pairs,
        most,
        Bound::between(2.0 * pairs - 1.0, 2.0 * pairs),
    );
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            format!("Rate over the bits per key, k = {K}"),
            [Axis::linear("bits per key"), Axis::log("false-positive rate")],
            [shifting, standard],
        ))
        .rows(rows)
        .note(format!(
            "{ITEMS} keys. A read is of 64 bits from any byte on, which covers a bit and the 56 after it. A standard filter \
             takes as many reads as hashes, but for cells that happen to be near each other."
        )))
}
