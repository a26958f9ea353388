//! Every flow's count, read back from cells (catalogue A69; S3 \[11\]): the tool [`everbloom_tools::top::flow_counters`], tried.

use std::collections::{HashMap, HashSet};

use everbloom::internals::hash::Generator;
use everbloom::{Bloom, Hasher, Result};
use everbloom_tools::top::flow_counters::FlowCounters;

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A69",
    form: Form::Tool("top --exact"),
    uses: &["bloom", "iblt", "invertible-counting"],
    oracle: "a hash map of every flow's packets",
    data: "packets of random flows, a few of each",
    experiment: Experiment {
        name: "flow-counters",
        source: "S3 [11]",
        title: "Every flow's count, read back from cells",
        shows: "All flows with their exact counts, or an error: nearly never at 1200 cells for 1000 flows, nearly \
                always at 1300. A flow filter that is too small leaves flows without a name, which are reported \
                by their ids.",
        run,
    },
};

/// Cells for 1000 flows and the share of complete decodes that was simulated for the catalogue.
const SIMULATED: [(u64, f64); 4] = [(1200, 0.055), (1260, 0.89), (1300, 0.992), (1500, 0.995)];
/// At least as many runs are behind each of them.
const RUNS: u64 = 500;

/// Where a share lies that was simulated before, by [`RUNS`] runs, and now by `runs`.
pub(super) fn simulated(share: f64, runs: u64) -> Bound {
    let sd = (share * (1.0 - share)).sqrt();
    bound::mean(share, sd * (1.0 + runs as f64 / RUNS as f64).sqrt(), runs)
}

pub(super) fn random_key(random: &mut Generator) -> [u8; 13] {
    let (a, b) = (random.next_u64().to_le_bytes(), random.next_u64().to_le_bytes());
    std::array::from_fn(|i| if i < 8 { a[i] } else { b[i - 8] })
}

struct Seen {
    /// Whether counts, and whether keys were read back.
    decoded: [bool; 2],
    pairs: Vec<(u64, u64)>,
    unnamed: u64,
}

fn try_one(seed: u64, flows: u64, cells: u64, filter: Bloom) -> Result<Seen> {
    let mut random = Generator::new(seed);
    let mut counters = FlowCounters::with_shape(cells, filter, seed)?;
    let mut truth: HashMap<Vec<u8>, u64> = HashMap::new();
    for i in 0..flows {
        let key = random_key(&mut random);
        for _ in 0..=i % 3 {
            let packets = 1 + random.below(100);
            counters.add(&key, packets)?;
            *truth.entry(key.to_vec()).or_default() += packets;
        }
    }
    let names = counters.names();
    let mut seen = Seen { decoded: [false, names.is_ok()], pairs: Vec::new(), unnamed: 0 };
    let Ok(found) = counters.decode() else { return Ok(seen) };
    seen.decoded[0] = true;
    let ids: HashMap<u64, u64> = truth.iter().map(|(key, n)| (counters.id(key), *n)).collect();
    seen.pairs.push((found.len() as u64, truth.len() as u64));
    for flow in &found {
        let count = match &flow.key {
            Some(key) => truth.get(key),
            None => ids.get(&flow.id),
        };
        seen.pairs.push((flow.count, count.copied().unwrap_or(0)));
    }
    let named: HashSet<&[u8]> = found.iter().filter_map(|flow| flow.key.as_deref()).collect();
    seen.unnamed = (truth.len() - named.len()) as u64;
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(100);
    let mut oracle = Oracle::default();
    let curve = SIMULATED.map(|(cells, share)| (cells as f64, share)).to_vec();
    let series =
        |name: &str| Series { name: name.into(), curve: curve.clone(), ..Series::default() };
    let mut kinds = [series("sum cells: counts"), series("xor cells: keys")];
    let mut pairs = Vec::new();
    for (cells, share) in SIMULATED {
        let filter = || Bloom::with_rate(1000, 1e-5);
        let seen = lab.runs(runs, |seed| try_one(seed, 1000, cells, filter()?))?;
        for (i, series) in kinds.iter_mut().enumerate() {
            let decoded = seen.iter().filter(|s| s.decoded[i]).count() as f64 / runs as f64;
            series.point(cells as f64, share, decoded, simulated(share, runs));
        }
        pairs.extend(seen.into_iter().flat_map(|s| s.pairs));
    }
    oracle.equal("flows and counts that were read back", pairs);
    let chart = Chart::new(
        "decoded",
        "Complete decodes of 1000 flows",
        [Axis::linear("cells"), Axis::linear("share of runs")],
        kinds,
    );
    let mut rows = Rows::new("small", "Few flows", Axis::linear("share of runs"));
    let few = lab.runs(4 * runs, |seed| try_one(seed, 100, 150, Bloom::with_rate(100, 1e-4)?))?;
    let share = few.iter().filter(|s| s.decoded[0]).count() as f64 / (4 * runs) as f64;
    rows.row("100 flows in 150 cells", 0.94, share, simulated(0.94, 4 * runs).widened(0.94, 0.01));
    Ok(oracle.report().chart(chart).rows(rows).rows(residue(lab)?))
}

/// Flows without a name, where the flow filter is right and where it is far too small.
fn residue(lab: &Lab) -> Result<Rows> {
    let (flows, m, k) = (1000u64, 4000u64, 3u32);
    let runs = lab.scaled(20);
    let mean = |filter: &(dyn Fn() -> Result<Bloom> + Sync)| -> Result<f64> {
        let seen = lab.runs(runs, |seed| try_one(seed, flows, 1600, filter()?))?;
        let decoded: Vec<f64> =
            seen.iter().filter(|s| s.decoded == [true; 2]).map(|s| s.unnamed as f64).collect();
        Ok(bound::mean_and_sd(&decoded).0)
    };
    let rate =
        |i: u64| everbloom::internals::theory::bloom::fpr_classic(m as f64, i as f64, k.into());
    // Each flow meets a filter of those before it that got in.
    let expected: f64 = (0..flows).map(rate).sum();
    let mut rows = Rows::new("residue", "Flows without a name", Axis::linear("of 1000 flows"));
    let right = mean(&|| Bloom::with_rate(flows, 0.01 / flows as f64))?;
    rows.row("flow filter with n·f = 0.01", 0.01, right, Bound::at_most(0.5));
    let small = mean(&|| Bloom::with_shape(m, k, Hasher::default()))?;
    // Those left out make the filter a little emptier than the sum assumes.
    let around = bound::mean(expected, expected.sqrt(), runs).widened(expected, 0.1);
    rows.row("trap: flow filter of 4 bits a flow", expected, small, around);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a69_flows_that_share_all_cells() {
        let n = 1000.0f64;
        let pairs = n * n / (2.0 * libm::pow(1500.0 / 3.0, 3.0));
        assert!((pairs - 0.004).abs() < 1e-12);
    }
}
