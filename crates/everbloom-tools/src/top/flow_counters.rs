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

use std::collections::HashMap;
use std::path::Path;

use everbloom::keyvalue::Iblt;
use everbloom::reconciling::InvertibleCounting;
use everbloom::{Bloom, Error, Hasher, Kind, Result, open_as, save};

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
/// use everbloom_tools::top::flow_counters::FlowCounters;
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
    /// The files that [`FlowCounters::save`] writes.
    pub const FILES: [&str; 3] = ["seen.evb", "names.evb", "counts.evb"];

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
        let [seen, names, counts] = Self::FILES.map(|name| folder.join(name));
        save(&self.seen, seen)?;
        save(&self.names, names)?;
        save(&self.counts, counts)
    }

    /// The counters that [`FlowCounters::save`] wrote.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let [seen, names, counts] = Self::FILES.map(|name| folder.join(name));
        Ok(Self { seen: open_as(seen)?, names: open_as(names)?, counts: open_as(counts)? })
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

#[cfg(test)]
mod tests {
    use super::*;

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
