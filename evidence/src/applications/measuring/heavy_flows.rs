//! Heavy flows of each interval (catalogue A16; S1 §8.1, S0 §IV-D1 \[99\]): the tool [`everbloom_tools::top::heavy_flows`], tried.

use std::collections::HashMap;

use everbloom::internals::hash::Generator;
use everbloom::sketches::{Conservative, CountMin};
use everbloom::{Filter, Hasher, Result};
use everbloom_tools::top::heavy_flows::{Heavy, HeavyFlows};

use crate::sim::Zipf;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The most that a flow of `s` bytes passes: ((1/κ)·T/(T − s))^d with κ = T·b/C, at most 1.
fn passing_bound(total: f64, threshold: f64, counters: f64, stages: f64, s: f64) -> f64 {
    let kappa = threshold * counters / total;
    if s >= threshold {
        return 1.0;
    }
    libm::pow((threshold / (threshold - s) / kappa).min(1.0), stages)
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A16",
    form: Form::Tool("top --at-least"),
    uses: &["conservative-update", "count-min"],
    oracle: "a hash map of every flow's bytes",
    data: "packets of flows with Zipf's sizes, and the traffic that makes the most light flows pass",
    experiment: Experiment {
        name: "heavy-flows",
        source: "S1 §8.1, S0 §IV-D1 [99]",
        title: "Heavy flows of each interval by a multistage filter",
        shows: "No heavy flow is missed. A flow of a tenth of the threshold passes with 1.524e-4 at most, whatever \
                the others send. The conservative update lets fewer light flows pass than the plain one over the \
                same counters.",
        run,
    },
};

/// The example of the entry: C bytes in an interval, T, b, d, and its light flow, before others.
const TOTAL: u64 = 100_000_000;
const THRESHOLD: u64 = 1_000_000;
const COUNTERS: u64 = 1000;
const STAGES: u32 = 4;
const LIGHT: [u64; 3] = [100_000, 300_000, 500_000];

/// The share of light flows that pass where the others send T − s bytes each, as much as C allows: what makes the
/// bound nearly true.
fn worst_case(seed: u64, light: u64, trials: u64) -> Result<f64> {
    let mut filter = CountMin::with_shape(COUNTERS, STAGES, Hasher::seeded(seed))?;
    for other in 0..TOTAL / (THRESHOLD - light) {
        filter.insert_times(&other, THRESHOLD - light)?;
    }
    let passes = |flow: &u64| filter.count(&(flow + (1 << 32))) + light >= THRESHOLD;
    Ok((0..trials).filter(passes).count() as f64 / trials as f64)
}

/// What an interval of Zipf traffic showed.
struct Seen {
    missed: u64,
    above_plain: u64,
    below_truth: u64,
    /// Light flows that look heavy, by the plain and by the conservative update.
    light: [u64; 2],
}

fn packets(seed: u64, count: u64) -> Vec<(u64, u64)> {
    let (mut random, zipf) = (Generator::new(seed), Zipf::new(20_000, 1.0));
    (0..count).map(|_| (zipf.draw(&mut random) as u64, 40 + random.below(1461))).collect()
}

/// The plain update over the counters that the conservative one has, so that their counts compare flow by flow.
struct Plain {
    /// It tells where counters are, and counts nothing.
    places: Conservative,
    counters: Vec<u64>,
}

impl Plain {
    fn new() -> Result<Self> {
        let places = Conservative::with_stages(COUNTERS, STAGES, Hasher::default())?;
        let counters = vec![0; (COUNTERS * u64::from(STAGES)) as usize];
        Ok(Self { places, counters })
    }

    fn of(&self, flow: u64) -> impl Iterator<Item = usize> + use<> {
        self.places.trace(&flow.to_le_bytes()).into_iter().map(|cell| cell.index as usize)
    }

    fn add(&mut self, flow: u64, bytes: u64) {
        self.of(flow).for_each(|i| self.counters[i] += bytes);
    }

    fn count(&self, flow: u64) -> u64 {
        self.of(flow).map(|i| self.counters[i]).min().unwrap_or(0)
    }
}

fn zipf_traffic(seed: u64, count: u64) -> Result<Seen> {
    let packets = packets(seed, count);
    let total: u64 = packets.iter().map(|(_, bytes)| bytes).sum();
    let threshold = total / 1000;
    let mut plain = Plain::new()?;
    let mut conservative = Conservative::with_stages(COUNTERS, STAGES, Hasher::default())?;
    let mut heavy = HeavyFlows::new(threshold, STAGES, COUNTERS, 4000)?;
    let mut truth: HashMap<u64, u64> = HashMap::new();
    for (flow, bytes) in packets {
        plain.add(flow, bytes);
        conservative.insert_times(&flow, bytes);
        heavy.packet(&flow.to_le_bytes(), bytes)?;
        *truth.entry(flow).or_default() += bytes;
    }
    let found: HashMap<Vec<u8>, Heavy> =
        heavy.end_interval()?.into_iter().map(|h| (h.flow.clone(), h)).collect();
    let mut seen = Seen { missed: 0, above_plain: 0, below_truth: 0, light: [0; 2] };
    for (flow, bytes) in truth {
        let counts = [plain.count(flow), conservative.count(&flow)];
        let entry = found.get(&flow.to_le_bytes()[..]);
        seen.missed += u64::from(bytes >= threshold && entry.is_none());
        seen.below_truth +=
            u64::from(entry.is_some_and(|h| bytes > h.at_most || bytes < h.at_least));
        seen.below_truth += u64::from(counts[1] < bytes);
        seen.above_plain += u64::from(counts[1] > counts[0]);
        for (light, count) in seen.light.iter_mut().zip(counts) {
            *light += u64::from(bytes < threshold && count >= threshold);
        }
    }
    Ok(seen)
}

/// Five intervals in which nobody sends T: how many flows are called heavy, with and without the reset.
fn intervals(seed: u64) -> Result<[u64; 2]> {
    let mut with = HeavyFlows::new(THRESHOLD, STAGES, COUNTERS, 1000)?;
    let mut without = HeavyFlows::new(THRESHOLD, STAGES, COUNTERS, 1000)?;
    let mut flagged = 0;
    for _ in 0..5 {
        for flow in 0..50 {
            let key = (seed ^ flow).to_le_bytes();
            with.packet(&key, THRESHOLD / 4)?;
            without.packet(&key, THRESHOLD / 4)?;
        }
        flagged += with.end_interval()?.len() as u64;
    }
    Ok([flagged, without.end_interval()?.len() as u64])
}

/// A flow that is heavy in two intervals: its count in the second is exact, whoever shares its counters.
fn second_interval(seed: u64) -> Result<Vec<(u64, u64)>> {
    let mut flows = HeavyFlows::new(10_000, 2, 16, 1000)?;
    let mut last = Vec::new();
    let mut truth = Vec::new();
    for interval in 0..2u64 {
        let mut random = Generator::new(seed ^ interval);
        truth = vec![0u64; 40];
        for _ in 0..20_000 {
            let (flow, bytes) = (random.below(40), random.below(1500));
            truth[flow as usize] += bytes;
            flows.packet(&flow.to_le_bytes(), bytes)?;
        }
        last = flows.end_interval()?;
    }
    let exact = |heavy: &Heavy| {
        let number = <[u8; 8]>::try_from(&heavy.flow[..]).map(u64::from_le_bytes).unwrap_or(0);
        [(heavy.at_least, truth[number as usize]), (heavy.at_most, truth[number as usize])]
    };
    Ok(last.iter().flat_map(exact).collect())
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let seen = lab.runs(lab.scaled(4), |seed| zipf_traffic(seed, 100_000))?;
    oracle.none("heavy flows missed", seen.iter().map(|s| s.missed).sum());
    oracle.none("counts below the truth", seen.iter().map(|s| s.below_truth).sum());
    oracle.none("conservative counts above plain ones", seen.iter().map(|s| s.above_plain).sum());
    oracle.equal("bytes of flows that kept their entry", second_interval(lab.seed())?);

    let (runs, trials) = (lab.scaled(20), 300_000);
    let [c, t, b, d] = [TOTAL, THRESHOLD, COUNTERS, STAGES.into()].map(|n: u64| n as f64);
    let limit = |s: f64| passing_bound(c, t, b, d, s);
    let xs = (0..=16).map(|i| f64::from(i) * 5e4);
    let mut series = Series::new("at most ((1/κ)·T/(T − s))^d", xs, limit);
    for light in LIGHT {
        let rates = lab.runs(runs, |seed| worst_case(seed, light, trials))?;
        let (rate, _) = bound::mean_and_sd(&rates);
        let (light, others) = (light as f64, (TOTAL / (THRESHOLD - light)) as f64);
        let expected = libm::pow(1.0 - libm::pow(1.0 - 1.0 / b, others), d);
        // A stage is met by so many throws less the few that share a counter: up to a tenth of the rate from filter
        // to filter.
        let around = bound::rate(expected, 0.1 * expected, runs, trials);
        let high = limit(light).min(around.high.unwrap_or(1.0));
        series.point(light, limit(light), rate, Bound { high: Some(high), ..around });
    }
    let chart = Chart::new(
        "passing",
        "Light flows that pass, where the others send what hurts most",
        [
            Axis::linear("bytes of the flow; the threshold is 1 MB"),
            Axis::log("share of such flows that pass"),
        ],
        [series],
    );

    let mut rows = Rows::new("light", "Light flows called heavy", Axis::linear("flows"));
    let light = |i: usize| seen.iter().map(|s| s.light[i]).sum::<u64>() as f64;
    rows.row("plain update, Zipf traffic: some", 1.0, light(0), Bound::at_least(1.0));
    let fewer = Bound::at_most(light(0) - 1.0);
    rows.row("conservative update, strictly fewer", light(0) - 1.0, light(1), fewer);
    let [with, without] = intervals(lab.seed())?;
    rows.row("five light intervals, with reset", 0.0, with as f64, Bound::exactly(0.0, 0.0));
    rows.row("trap: without reset, 50 flows", 50.0, without as f64, Bound::exactly(50.0, 0.0));
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a16_passing_bound() {
        let limit = passing_bound(1e8, 1e6, 1000.0, 4.0, 1e5);
        assert!((limit / 1.524e-4 - 1.0).abs() < 3e-4, "{limit}");
        assert_eq!(passing_bound(1e8, 1e6, 1000.0, 4.0, 1e6), 1.0);
    }
}
