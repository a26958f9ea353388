//! Global icebergs, exactly: decodable counters of several sites, added up (catalogue A70; S0 \[100\], S3 \[11\]).
//!
//! ```text
//!   site 1: sum cells ─┐                      a flow of three sites is in one cell as
//!   site 2: sum cells ─┼─ added cell by cell  (n₁+n₂+n₃, id·(n₁+n₂+n₃), check·(n₁+n₂+n₃)):
//!   site 3: sum cells ─┘                      one flow still, with the total as its count
//! ```
//!
//! What decides whether the cells can be read is the number of *distinct* flows, not that of sites or packets. Cells
//! that xor their keys cannot be added: a flow of two sites cancels. So each site's keys are listed by themselves,
//! and only the counts are added. Where the sum does not decode, [`Top`](super::iceberg::Top) still answers.

use std::collections::HashMap;

use everbloom::internals::hash::Generator;
use everbloom::keyvalue::Iblt;
use everbloom::prelude::Merge as _;
use everbloom::reconciling::InvertibleCounting;
use everbloom::{Bloom, Hasher, Result};
use everbloom_lab::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series};

use super::flow_counters::{Flow, FlowCounters, flows, random_key, simulated};
use crate::{Application, Form, Oracle};

/// Adds up the counters of several sites.
///
/// ```
/// use everbloom_apps::measuring::flow_counters::FlowCounters;
/// use everbloom_apps::measuring::global_iceberg::Collector;
///
/// let mut collector = Collector::default();
/// for site in 0..3u32 {
///     let mut counters = FlowCounters::new(100)?;
///     counters.add(b"everywhere", 40)?;
///     counters.add(format!("site {site}").as_bytes(), 90)?;
///     collector.add(&counters)?;
/// }
/// let heavy = collector.heavy(100)?;
/// assert_eq!(heavy.len(), 1);
/// assert_eq!((heavy[0].key.as_deref(), heavy[0].count), (Some(&b"everywhere"[..]), 120));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Default)]
pub struct Collector {
    counts: Option<InvertibleCounting>,
    names: HashMap<u64, Vec<u8>>,
}

impl Collector {
    /// Adds the counters of a site, which have the shape and seed of the others.
    pub fn add(&mut self, site: &FlowCounters) -> Result<()> {
        match &mut self.counts {
            Some(counts) => counts.merge(site.counts())?,
            None => self.counts = Some(site.counts().clone()),
        }
        // A site whose keys cannot be read leaves its flows without names, unless another names them.
        self.names.extend(site.names().unwrap_or_default());
        Ok(())
    }

    /// Every flow whose total is at least `threshold`, the heaviest first: exact, or an error if the flows are too
    /// many to be told apart.
    pub fn heavy(self, threshold: u64) -> Result<Vec<Flow>> {
        let Some(counts) = self.counts else { return Ok(Vec::new()) };
        let mut all = flows(&counts, self.names)?;
        all.retain(|flow| flow.count >= threshold);
        Ok(all)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A70",
    form: Form::Tool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a70_sites_of_another_shape_are_refused_and_none_are_nothing() {
        assert_eq!(Collector::default().heavy(1).unwrap(), []);
        let mut collector = Collector::default();
        collector.add(&FlowCounters::new(100).unwrap()).unwrap();
        assert!(collector.add(&FlowCounters::new(5000).unwrap()).is_err());
    }
}
