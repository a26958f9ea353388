//! Every flow's count, read back from cells (catalogue A69; S3 \[11\], FlowRadar's idea).
//!
//! ```text
//!   packet ──▶ flow filter ──new──▶ xor cells: the flow's key, once       ──▶ list: which flows there were
//!        └─────────────────────────▶ sum cells: count, id·count, check·count ──▶ peel: how often each came
//! ```
//!
//! A cell that holds one flow alone names it; taking it out of its other cells frees others, until all are read or a
//! core is left. With three cells a flow that works from 1.2218 cells a flow on. The keys are in cells of their own
//! ([`Iblt`]), because they are wide and enter once; counts are in cells of sums ([`InvertibleCounting`]), where a
//! flow is a 64-bit id. A flow that the filter wrongly calls known enters no key cell: its count is exact all the
//! same, and it is reported by its id, which a second pass can name. So are flows with keys above 32 bytes.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use everbloom::internals::hash::Generator;
use everbloom::keyvalue::Iblt;
use everbloom::reconciling::InvertibleCounting;
use everbloom::{Bloom, Error, Hasher, Kind, Result, open_as, save};
use everbloom_lab::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

use crate::{Application, Form, Oracle};

/// The longest key that the cells carry.
pub const LONGEST: usize = 32;
/// Cells of a flow.
const K: u32 = 3;
/// P(the cells planned for do not decode).
const FAILURE: f64 = 0.001;

/// A flow that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its id, by [`FlowCounters::id`].
    pub id: u64,
    /// Its key, where the cells told it.
    pub key: Option<Vec<u8>>,
    /// How often it came, exactly.
    pub count: u64,
}

/// Exact counts of flows in cells.
///
/// ```
/// use everbloom_apps::measuring::flow_counters::FlowCounters;
///
/// let mut counters = FlowCounters::new(100)?;
/// for i in 0..500u32 {
///     counters.add(format!("10.0.0.{}", i % 50).as_bytes(), 1)?;
/// }
/// let flows = counters.decode()?;
/// assert_eq!(flows.len(), 50);
/// assert!(flows.iter().all(|flow| flow.count == 10 && flow.key.is_some()));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct FlowCounters {
    seen: Bloom,
    names: Iblt,
    counts: InvertibleCounting,
}

impl FlowCounters {
    /// Counters for so many distinct flows: fewer are read back, many more are not.
    pub fn new(distinct: u64) -> Result<Self> {
        let distinct = distinct.max(2);
        let counts = InvertibleCounting::builder().items(distinct).rate(FAILURE).set("k", K);
        let names = Iblt::builder().items(distinct).rate(FAILURE).set("k", K);
        // One flow in a hundred intervals is wrongly called known.
        let seen = Bloom::with_rate(distinct, (0.01 / distinct as f64).max(1e-12))?;
        let names = names.set("key-bytes", LONGEST as u64).set("value-bytes", 0).build()?;
        Ok(Self { seen, names, counts: counts.build()? })
    }

    /// Counters of a given number of cells of each kind, with a flow filter of one's own.
    pub fn with_shape(cells: u64, seen: Bloom, seed: u64) -> Result<Self> {
        let names = Iblt::builder().set("m", cells).set("k", K).seed(seed);
        let names = names.set("key-bytes", LONGEST as u64).set("value-bytes", 0).build()?;
        let counts = InvertibleCounting::with_shape(cells, K, "sums", Hasher::seeded(seed))?;
        Ok(Self { seen, names, counts })
    }

    /// Counts a flow `weight` more times; 0 changes nothing.
    pub fn add(&mut self, key: &[u8], weight: u64) -> Result<()> {
        if weight == 0 {
            return Ok(());
        }
        self.counts.insert_times(key, weight)?;
        if key.len() <= LONGEST && !self.seen.contains(key) {
            self.seen.insert(key);
            self.names.insert(key, b"")?;
        }
        Ok(())
    }

    /// The id of a key: what the cells of counts hold.
    pub fn id(&self, key: &[u8]) -> u64 {
        self.counts.id(key)
    }

    /// The cells of counts, for whoever adds up those of several sites.
    pub fn counts(&self) -> &InvertibleCounting {
        &self.counts
    }

    /// The keys that the cells tell, by their ids; an error if they are too many.
    pub fn names(&self) -> Result<HashMap<u64, Vec<u8>>> {
        let keys = self.names.list()?.inserted.into_iter();
        Ok(keys.map(|(key, _)| (self.id(&key), key)).collect())
    }

    /// Every flow with its count, the heaviest first: all of them, or an error if there are too many. Where keys
    /// alone cannot be read the flows have none.
    pub fn decode(&self) -> Result<Vec<Flow>> {
        flows(&self.counts, self.names().unwrap_or_default())
    }

    /// Bytes of the cells and of the flow filter.
    pub fn bytes(&self) -> u64 {
        let filters: [&dyn everbloom::Filter; 3] = [&self.seen, &self.names, &self.counts];
        filters.iter().map(|filter| filter.memory().total() / 8).sum()
    }

    /// Writes the counters into a folder, a file for each part, to be merged elsewhere.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        std::fs::create_dir_all(folder)?;
        save(&self.seen, folder.join("seen.evb"))?;
        save(&self.names, folder.join("names.evb"))?;
        save(&self.counts, folder.join("counts.evb"))
    }

    /// The counters that [`FlowCounters::save`] wrote.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        Ok(Self {
            seen: open_as(folder.join("seen.evb"))?,
            names: open_as(folder.join("names.evb"))?,
            counts: open_as(folder.join("counts.evb"))?,
        })
    }
}

/// The flows in cells of counts, named by what is known of their ids.
pub(super) fn flows(
    counts: &InvertibleCounting,
    mut names: HashMap<u64, Vec<u8>>,
) -> Result<Vec<Flow>> {
    let mut flows = Vec::new();
    for (id, count) in counts.decode()?.ids {
        let count = u64::try_from(count)
            .map_err(|_| Error::new(Kind::Undecodable, "a flow came less than never"))?;
        flows.push(Flow { id, key: names.remove(&id), count });
    }
    flows.sort_by(|a, b| (b.count, &a.key, a.id).cmp(&(a.count, &b.key, b.id)));
    Ok(flows)
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A69",
    form: Form::Tool,
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
    use super::*;

    #[test]
    fn a69_flows_that_share_all_cells() {
        let n = 1000.0f64;
        let pairs = n * n / (2.0 * libm::pow(1500.0 / 3.0, 3.0));
        assert!((pairs - 0.004).abs() < 1e-12);
    }

    #[test]
    fn long_keys_are_counted_and_named_by_a_second_pass() {
        let mut counters = FlowCounters::new(10).unwrap();
        let long = [b'x'; 40];
        counters.add(&long, 3).unwrap();
        counters.add(b"short", 2).unwrap();
        counters.add(b"never", 0).unwrap();
        let flows = counters.decode().unwrap();
        assert_eq!(flows.len(), 2);
        assert_eq!((flows[0].key.as_deref(), flows[0].count), (None, 3));
        assert_eq!(flows[0].id, counters.id(&long));
        assert_eq!(flows[1].key.as_deref(), Some(&b"short"[..]));
        assert!(counters.bytes() > 0);
    }

    #[test]
    fn too_many_flows_are_an_error() {
        let mut counters = FlowCounters::new(10).unwrap();
        for i in 0..10_000u32 {
            counters.add(&i.to_le_bytes(), 1).unwrap();
        }
        assert_eq!(counters.decode().unwrap_err().kind(), Kind::Undecodable);
    }
}
