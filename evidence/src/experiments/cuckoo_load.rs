//! The cuckoo filter: how full it gets before it refuses a key, and the rate on the way there.

use everbloom::Result;
use everbloom::fingerprints::Cuckoo;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::cuckoo;

use crate::apparatus::classic::elements;
use crate::apparatus::generalized::steps;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "cuckoo-load",
    source: "S3 §VIII and B. Fan et al., Cuckoo filter, CoNEXT 2014; catalogue B7",
    title: "The cuckoo filter: load at the first refusal, and the rate by load",
    shows: "Buckets of one slot refuse a key when the table is half full, buckets of four at 96 %. Larger buckets get \
            fuller still, but a query is compared with more fingerprints: the rate grows with slots and load.",
    run,
};

const BUCKETS: u64 = 1 << 12;
const FINGERPRINT: u32 = 8;
const QUERIES: u64 = 20_000;

/// Slots of a bucket; the load at which the first key is refused, its spread from table to table, and the load that no
/// placement exceeds: that up to which a random graph has an orientation with so many edges a vertex at most.
const SIZES: [Size; 4] = [
    Size { slots: 1, load: 0.485, sd: 0.035, most: 0.5 },
    Size { slots: 2, load: 0.877, sd: 0.008, most: 0.8970 },
    Size { slots: 4, load: 0.967, sd: 0.004, most: 0.9803 },
    Size { slots: 8, load: 0.993, sd: 0.003, most: 0.9992 },
];

struct Size {
    slots: u32,
    load: f64,
    sd: f64,
    most: f64,
}

/// Loads at which the rate is measured, as shares of the planned one.
const STAGES: u64 = 5;

impl Size {
    fn capacity(&self) -> u64 {
        BUCKETS * u64::from(self.slots)
    }

    fn stage(&self, i: u64) -> u64 {
        (cuckoo::load(self.slots) * (self.capacity() * i) as f64 / STAGES as f64) as u64
    }

    /// The load at the first refusal, and the rates at each stage before.
    fn filled(&self, lab: &Lab, seed: u64) -> Result<(f64, Vec<f64>)> {
        let builder = Cuckoo::builder().set("buckets", BUCKETS).set("slots", self.slots);
        let mut filter = builder.set("fingerprint", FINGERPRINT).seed(seed).build()?;
        let mut others = Generator::new(!seed);
        let (mut rates, mut taken, mut keys) = (Vec::new(), 0, Generator::new(seed));
        while filter.insert(&keys.next_u64()).is_ok() {
            taken += 1;
            let stage = rates.len() as u64 + 1;
            if stage <= STAGES && taken == self.stage(stage) {
                let hits = (0..QUERIES).filter(|_| filter.contains(&others.next_u64())).count();
                rates.push(hits as f64 / QUERIES as f64);
            }
        }
        lab.ask_members(elements(taken, seed), |key| filter.contains(key));
        Ok((taken as f64 / self.capacity() as f64, rates))
    }
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(10);
    let mut refused = Series { name: "first refusal".into(), ..Series::default() };
    let mut most = Series {
        name: "threshold of any placement".into(),
        curve: SIZES.iter().map(|size| (f64::from(size.slots), size.most)).collect(),
        ..Series::default()
    };
    let mut rates = Vec::new();
    for size in &SIZES {
        let seen = lab.runs(runs, |seed| size.filled(lab, seed))?;
        let load = seen.iter().map(|run| run.0).sum::<f64>() / runs as f64;
        let x = f64::from(size.slots);
        refused.point(
            x,
            size.load,
            load,
            bound::mean(size.load, size.sd, runs).widened(1.0, 0.003),
        );
        // Half a table in buckets of one slot: a random graph's first cycle with a chord, by chance earlier or later.
        let below = Bound::at_most(size.most + bound::mean(0.0, size.sd, runs).high.unwrap_or(0.0));
        most.claim(format!("at {} slots, load reached", size.slots), size.most, load, below);
        let formula = |load: f64| cuckoo::fpr_of_table(FINGERPRINT, size.slots, load);
        let planned = cuckoo::load(size.slots);
        let mut series =
            Series::new(format!("b = {}", size.slots), steps(planned / 10.0, planned), formula);
        for i in 0..STAGES as usize {
            // Tables of one slot may be refused a key before they are as full as planned.
            let rates: Vec<f64> = seen.iter().filter_map(|run| run.1.get(i).copied()).collect();
            let load = size.stage(i as u64 + 1) as f64 / size.capacity() as f64;
            let measured = rates.iter().sum::<f64>() / rates.len() as f64;
            let bound = bound::share(formula(load), rates.len() as u64 * QUERIES);
            // Fingerprints of a table repeat, so that tables differ by about 1 % in what they let pass.
            series.point(load, formula(load), measured, bound.widened(formula(load), 0.01));
        }
        series.follows(formula, 0.01);
        rates.push(series);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            format!("Load at the first refusal, {BUCKETS} buckets"),
            [Axis::log("slots per bucket"), Axis::linear("load")],
            [refused, most],
        ))
        .chart(Chart::new(
            "b",
            format!("Rate by load: b slots per bucket, fingerprints of {FINGERPRINT} bits"),
            [Axis::linear("load"), Axis::linear("false-positive rate")],
            rates,
        ))
        .note(
            "A key is refused after 500 evictions, well below what an exhaustive search would place: the line is the \
             threshold of random graphs, the loads are those of the catalogue (0.51, 0.877, 0.965 in large tables).",
        ))
}
