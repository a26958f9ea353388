//! Ranges over segmented attributes: what segments cost, and what hashing does.

use everbloom::Result;
use everbloom::internals::filter::Filter as _;
use everbloom::internals::hash::mix64;
use everbloom::structured::Ranges;

use crate::{Axis, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "ranges",
    source: "S0 §IV-F [129]; catalogue §24",
    title: "Ranges: how much is reported, by the number of segments",
    shows: "A range that ends within a segment reports the whole segment: 30 % instead of 20 % in ten segments. More segments \
            report less in vain, until hashing errors of all the segments that a range meets outweigh it.",
    run,
};

const IDS: u64 = 1000;
/// The range asked for: from a quarter of the values on, a fifth of them.
const LOW: f64 = 250.0;
const HIGH: f64 = 450.0;
const SEGMENTS: [u64; 6] = [2, 4, 8, 10, 20, 50];
const RATE: f64 = 0.01;
const OUTSIDERS: u64 = 20_000;

/// Segments of a thousand values in so many that the range meets.
fn met(segments: u64) -> u64 {
    let width = IDS as f64 / segments as f64;
    (HIGH / width).ceil() as u64 - (LOW / width).floor() as u64
}

/// What one filter reports: its rate f, the share of ids, and that of keys that are no ids.
fn measured(lab: &Lab, segments: u64, seed: u64) -> Result<[f64; 3]> {
    let built = Ranges::builder().items(IDS).rate(RATE).set("bounds", "equal").seed(seed);
    let built = built.set("segments", segments).set("low", 0.0).set("high", IDS as f64);
    let name = |i: u64| mix64(seed ^ mix64(i)).to_string();
    let filter = built.build_from((0..IDS).map(|i| format!("{}\t{i}", name(i))))?;
    let asked = |i: u64| filter.contains(name(i).as_bytes(), &[Some(LOW..HIGH)]).unwrap_or(false);
    lab.ask_members(LOW as u64..HIGH as u64, |i| asked(*i));
    let share = |keys: std::ops::Range<u64>| {
        let all = (keys.end - keys.start) as f64;
        keys.filter(|i| asked(*i)).count() as f64 / all
    };
    Ok([filter.now().fpr.unwrap_or(f64::NAN), share(0..IDS), share(IDS..IDS + OUTSIDERS)])
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(6);
    let hashing = |f: f64, segments: u64| 1.0 - (1.0 - f).powf(met(segments) as f64);
    let share = |f: f64, segments: u64| {
        let whole = met(segments) as f64 / segments as f64;
        whole + (1.0 - whole) * hashing(f, segments)
    };
    let series = |name: &str, of: &dyn Fn(u64) -> f64| Series {
        name: name.into(),
        curve: SEGMENTS.map(|segments| (segments as f64, of(segments))).to_vec(),
        ..Series::default()
    };
    let mut ids = series("ids reported", &|segments| share(RATE, segments));
    let mut others = series("keys that are no ids", &|segments| hashing(RATE, segments));
    for segments in SEGMENTS {
        let seen = lab.runs(runs, |seed| measured(lab, segments, seed))?;
        let mean = |i: usize| seen.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
        let (f, x) = (mean(0), segments as f64);
        // Only ids of other segments are left to chance.
        let outside = (1.0 - met(segments) as f64 / x) * (runs * IDS) as f64;
        let chance = bound::share(hashing(f, segments), (outside as u64).max(1));
        let bound = chance.map(|share| 1.0 - (1.0 - share) * outside / (runs * IDS) as f64);
        ids.point(x, share(f, segments), mean(1), bound);
        let expected = hashing(f, segments);
        // Segments hold the same number of ids; their fills differ a little.
        let bound = bound::share(expected, runs * OUTSIDERS).widened(expected, 0.05);
        others.point(x, expected, mean(2), bound);
    }
    ids.follows(|segments| share(RATE, segments as u64), 0.01);
    // Filters are rounded to whole probes and differ from what was planned by as much.
    others.follows(|segments| hashing(RATE, segments as u64), 0.15);
    Ok(Report::default()
        .chart(Chart::new("a", "A thousand ids, a range with 20 % of them", [Axis::log("segments"), Axis::linear("share reported")], [ids]))
        .chart(Chart::new("b", "Errors by hashing: 1 − (1 − f)^g over g segments", [Axis::log("segments"), Axis::log("share of other keys that pass")], [others]))
        .note("The lines are for f = 1 % as planned; points are judged by the f of the filters as they are."))
}
