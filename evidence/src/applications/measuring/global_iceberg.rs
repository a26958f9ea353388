//! Exact totals of flows over several sites (catalogue A70; S0 \[100\], S3 \[11\]): the tool
//! [`everbloom_tools::top::global_iceberg`], tried.

use std::collections::HashMap;

use everbloom::internals::hash::Generator;
use everbloom::keyvalue::Iblt;
use everbloom::prelude::Merge as _;
use everbloom::{Bloom, Hasher, Result};
use everbloom_tools::top::flow_counters::{Flow, FlowCounters};
use everbloom_tools::top::global_iceberg::Collector;

use super::flow_counters::{random_key, simulated};
use crate::{Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A70",
    form: Form::Tool("top --exact --merge"),
    uses: &["bloom", "iblt", "invertible-counting"],
    oracle: "a hash map of every flow's packets at all sites",
    data: "1000 flows at four sites, half of them at each",
    experiment: Experiment {
        name: "global-iceberg",
        source: "S0 [100], S3 [11]",
        title: "Exact totals of flows over several sites",
        shows: "Cells of sums add up: exact totals in 0.888 of the runs at 1260 cells for 1000 flows, 0.994 at 1350, \
                however many sites. Cells that xor keys cancel what two sites saw.",
        run,
    },
};

const SITES: usize = 4;
const FLOWS: u64 = 1000;
/// Cells, and the share of runs with exact totals that was simulated for the catalogue.
const SIMULATED: [(u64, f64); 3] = [(1260, 0.888), (1350, 0.994), (1500, 0.998)];

struct Seen {
    exact: bool,
    pairs: Vec<(u64, u64)>,
}

/// Which sites see each flow: each of them half of the flows.
fn sites_of(random: &mut Generator) -> Vec<usize> {
    loop {
        let bits = random.next_u64();
        let sites: Vec<usize> = (0..SITES).filter(|site| bits >> site & 1 == 1).collect();
        if !sites.is_empty() {
            return sites;
        }
    }
}

fn try_one(seed: u64, cells: u64) -> Result<Seen> {
    let mut random = Generator::new(seed);
    let filter = Bloom::with_rate(FLOWS, 1e-5)?;
    let mut sites: Vec<FlowCounters> = (0..SITES)
        .map(|_| FlowCounters::with_shape(cells, filter.clone(), seed))
        .collect::<Result<_>>()?;
    let mut truth: HashMap<Vec<u8>, u64> = HashMap::new();
    for _ in 0..FLOWS {
        let key = random_key(&mut random);
        for site in sites_of(&mut random) {
            let packets = 1 + random.below(100);
            sites[site].add(&key, packets)?;
            *truth.entry(key.to_vec()).or_default() += packets;
        }
    }
    let mut collector = Collector::default();
    sites.iter().try_for_each(|site| collector.add(site))?;
    let threshold = 150;
    let Ok(heavy) = collector.heavy(threshold) else {
        return Ok(Seen { exact: false, pairs: vec![] });
    };
    let expected = truth.values().filter(|count| **count >= threshold).count() as u64;
    // Two flows of a site in the same cells hide its keys, not the counts.
    let ids: HashMap<u64, u64> = truth.iter().map(|(key, n)| (sites[0].id(key), *n)).collect();
    let total = |flow: &Flow| match &flow.key {
        Some(key) => truth.get(key).copied(),
        None => ids.get(&flow.id).copied(),
    };
    let mut pairs = vec![(heavy.len() as u64, expected)];
    pairs.extend(heavy.iter().map(|flow| (flow.count, total(flow).unwrap_or(0))));
    Ok(Seen { exact: true, pairs })
}

/// Whether the keys of two sites that share half of their flows can be listed from cells that xor them.
fn xor_merged(seed: u64) -> Result<bool> {
    let mut random = Generator::new(seed);
    let mut sites = [
        Iblt::with_shape(3000, 3, Hasher::seeded(seed))?,
        Iblt::with_shape(3000, 3, Hasher::seeded(seed))?,
    ];
    for i in 0..FLOWS {
        let key = random_key(&mut random);
        for (site, cells) in sites.iter_mut().enumerate() {
            if i % 4 < 2 || i % 2 == site as u64 {
                cells.insert(&key[..], b"")?;
            }
        }
    }
    let [mut first, second] = sites;
    first.merge(&second)?;
    Ok(first.list().is_ok())
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(60);
    let mut oracle = Oracle::default();
    let curve = SIMULATED.map(|(cells, share)| (cells as f64, share)).to_vec();
    let mut series = Series { name: "sum cells of 4 sites".into(), curve, ..Series::default() };
    let mut pairs = Vec::new();
    for (cells, share) in SIMULATED {
        let seen = lab.runs(runs, |seed| try_one(seed, cells))?;
        let exact = seen.iter().filter(|s| s.exact).count() as f64 / runs as f64;
        series.point(cells as f64, share, exact, simulated(share, runs));
        pairs.extend(seen.into_iter().flat_map(|s| s.pairs));
    }
    oracle.equal("heavy flows and their totals", pairs);
    let chart = Chart::new(
        "exact",
        "Runs with exact totals of 1000 flows at four sites",
        [Axis::linear("cells"), Axis::linear("share of runs")],
        [series],
    );
    let listed = lab.runs(20, xor_merged)?.iter().filter(|listed| **listed).count() as f64;
    let mut rows = Rows::new("xor", "Keys of two sites in xor cells", Axis::linear("lists of 20"));
    let label = "trap: merged, half of the flows at both, 3 cells a flow";
    rows.row(label, 0.0, listed, Bound::exactly(0.0, 0.0));
    Ok(oracle.report().chart(chart).rows(rows))
}
