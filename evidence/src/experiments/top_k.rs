//! The most frequent keys of a stream: how many of them a small sketch names.

use everbloom::Result;
use everbloom::sketches::TopK;

use crate::apparatus::streams::{Ranks, zipf_shares};
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "top-k",
    source: "S3 §IX and J. Gong et al., HeavyKeeper, USENIX ATC 2018; catalogue B17",
    title: "HeavyKeeper: recall and error over memory",
    shows: "A thousand cells name 98 % of the 50 most frequent keys of a Zipf stream, 56 cells a third of them. No count is too \
            high, and what is missing from counts falls as fast.",
    run,
};

/// The keys to be named, all keys, and the events of the stream.
const TOP: usize = 50;
const KEYS: u64 = 10_000;
const EVENTS: u64 = 100_000;

/// Width and depth, with what the catalogue has for recall and relative error, and how far one run scatters.
const SIZES: [(u64, u64, f64, f64, f64); 3] =
    [(8, 7, 0.36, 0.93, 0.06), (200, 5, 0.98, 0.018, 0.02), (512, 4, 0.996, 0.003, 0.01)];

/// Recall, mean relative error of the true top, and counts that are too high.
fn quality(w: u64, d: u64, seed: u64) -> Result<[f64; 3]> {
    let mut ranks = Ranks::new(&zipf_shares(KEYS, 1.0), seed);
    let builder = TopK::builder().set("k", TOP as u64).set("w", w).set("d", d).set("decay", 0.9);
    let mut sketch = builder.seed(seed).build()?;
    let mut truth = vec![0u64; KEYS as usize];
    for _ in 0..EVENTS {
        let key = ranks.draw();
        truth[key as usize] += 1;
        sketch.add(&key, 1)?;
    }
    let mut sorted = truth.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let least = sorted[TOP - 1];
    let named = |(key, _): &(&[u8], u64)| {
        let key = <[u8; 8]>::try_from(*key).map_or(0, u64::from_le_bytes);
        truth[key as usize] >= least
    };
    let recall = sketch.list().filter(named).count() as f64 / TOP as f64;
    let (mut error, mut tops, mut over) = (0.0, 0.0, 0.0);
    for (key, count) in (0..KEYS).zip(&truth) {
        over += f64::from(u8::from(sketch.count(&key) > *count));
        if *count >= least {
            tops += 1.0;
            error += count.saturating_sub(sketch.count(&key)) as f64 / *count as f64;
        }
    }
    Ok([recall, error / tops, over])
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(4);
    let [mut recalls, mut errors] =
        ["recall", "relative error"].map(|name| Series { name: name.into(), ..Series::default() });
    let mut over = Rows::new("b", "Counts above the truth", Axis::linear("keys"));
    for (w, d, recall, error, scatter) in SIZES {
        let seen = lab.runs(runs, |seed| quality(w, d, seed))?;
        let mean = |i: usize| seen.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
        let cells = (w * d) as f64;
        // The catalogue rounds to a hundredth, from a few streams of its own.
        let slack = crate::bound::mean(0.0, scatter, runs.min(4)).high.unwrap_or(0.0);
        let around = |x: f64| Bound::between((x - slack).max(0.0), (x + slack).min(1.0));
        recalls.point(cells, recall, mean(0), around(recall));
        errors.point(cells, error, mean(1), around(error));
        over.row(format!("{w} × {d} cells"), 0.0, mean(2), Bound::exactly(0.0, 0.0));
    }
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            format!("The {TOP} most frequent of {KEYS} keys"),
            [Axis::log("cells"), Axis::linear("share")],
            [recalls, errors],
        ))
        .rows(over)
        .note(format!(
            "{EVENTS} events by Zipf's law with s = 1, decay 0.9. There is no formula: the numbers compared with are those \
             that the catalogue has from a simulation of the paper's rules."
        )))
}
