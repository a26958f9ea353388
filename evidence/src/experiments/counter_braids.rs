//! Counter braids: from how many counters per flow on every count is told exactly.

use everbloom::Result;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::peeling::THRESHOLDS;
use everbloom::sketches::CounterBraids;

use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "counter-braids",
    source: "S3 §VI-A and Y. Lu et al., Counter braids, SIGMETRICS 2008; catalogue §8",
    title: "Counter braids: the phase transition of decoding",
    shows: "Below 1.22 counters per flow no message passing tells all counts; a little above it tells all of them, exactly. Sizes \
            with a heavy tail, most of them one, are told with three quarters of a counter each.",
    run,
};

const FLOWS: u64 = 2000;
const K: u32 = 3;

/// Counters wide enough for every sum, so that the second layer is left alone.
const WIDTH: u32 = 16;
const CARRIES: u64 = 60;

/// How the sizes of flows are drawn, the counters per flow that are tried, and where the transition is.
struct Sizes {
    name: &'static str,
    draw: fn(&mut Generator) -> u64,
    fails: &'static [f64],
    works: &'static [f64],
    threshold: f64,
}

const SIZES: [Sizes; 2] = [
    Sizes {
        name: "sizes 1 to 100",
        draw: |random| 1 + random.below(100),
        fails: &[0.9, 1.05, 1.17],
        works: &[1.28, 1.4, 1.6],
        // Uniform sizes carry no hint: the 2-core of a random hypergraph with three edges a flow.
        threshold: THRESHOLDS[0],
    },
    Sizes {
        name: "heavy tail, α = 1.5",
        draw: |random| (1.0 - random.unit()).powf(-1.0 / 1.5).min(6e4) as u64,
        fails: &[0.45, 0.55],
        works: &[0.8, 0.9, 1.1],
        // Between 0.6, where it fails, and 0.75, where it works, as the catalogue has it.
        threshold: 0.67,
    },
];

/// Whether all flows are told, and how many of the bounds of those that are not are wrong.
fn decoded(sizes: &Sizes, ratio: f64, seed: u64) -> Result<(f64, f64)> {
    let m = (FLOWS as f64 * ratio / f64::from(K)).round() as u64 * u64::from(K);
    let mut sketch = CounterBraids::with_shape(m, WIDTH, K, CARRIES, Hasher::seeded(seed))?;
    let mut random = Generator::new(seed);
    let flows: Vec<(u64, u64)> =
        (0..FLOWS).map(|_| (random.next_u64(), (sizes.draw)(&mut random))).collect();
    for (flow, size) in &flows {
        sketch.insert_times(flow, *size)?;
    }
    let keys: Vec<u64> = flows.iter().map(|(flow, _)| *flow).collect();
    let bounds = sketch.bounds(&keys)?;
    let outside = flows
        .iter()
        .zip(bounds.lower.iter().zip(&bounds.upper))
        .filter(|((_, size), (low, high))| size < low || size > high)
        .count();
    let exact = bounds.exact() && bounds.upper.iter().eq(flows.iter().map(|(_, size)| size));
    Ok((f64::from(u8::from(exact)), outside as f64))
}

/// P(no two flows share all their counters, one in each third): those can't be told apart by anybody.
fn apart(ratio: f64) -> f64 {
    let slice = FLOWS as f64 * ratio / f64::from(K);
    (-((FLOWS * FLOWS) as f64) / 2.0 / slice.powi(K as i32)).exp()
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(20);
    let mut series = Vec::new();
    let mut wrong =
        Rows::new("b", "Sizes outside the bounds of the decoder", Axis::linear("flows"));
    for sizes in &SIZES {
        let formula = |ratio: f64| if ratio < sizes.threshold { 0.0 } else { apart(ratio) };
        let xs = (0..=240).map(|i| 0.4 + f64::from(i) / 200.0);
        let mut one = Series::new(sizes.name, xs, formula);
        let mut outside = 0.0;
        for ratio in sizes.fails.iter().chain(sizes.works) {
            let seen = lab.runs(runs, |seed| decoded(sizes, *ratio, seed))?;
            let exact = seen.iter().map(|run| run.0).sum::<f64>() / runs as f64;
            outside += seen.iter().map(|run| run.1).sum::<f64>();
            // Near the transition a few runs of so many flows go the other way.
            let bound = match formula(*ratio) {
                0.0 => Bound::between(0.0, 0.0),
                // Heavy tails have flows told apart by their sizes, too.
                p => Bound { high: Some(1.0), ..bound::share(p * 0.995, runs) },
            };
            one.point(*ratio, formula(*ratio), exact, bound);
        }
        let at = |ratio: f64| {
            one.points.iter().find(|p| p.x == ratio).map_or(f64::NAN, |p| p.verdict.measured)
        };
        let (below, above) = (at(sizes.fails[sizes.fails.len() - 1]), at(sizes.works[0]));
        one.claim("rise across the transition", 1.0, above - below, Bound::between(0.6, 1.0));
        series.push(one);
        wrong.row(sizes.name, 0.0, outside, Bound::exactly(0.0, 0.0));
    }
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            format!("Runs in which all of {FLOWS} flows are told, k = {K}"),
            [Axis::linear("counters per flow"), Axis::linear("share of runs")],
            series,
        ))
        .rows(wrong)
        .note(
            "One layer of wide counters, so that only the decoding is tried. Beyond the transition a run fails where two flows \
             share all their counters, which nothing can tell apart.",
        ))
}
