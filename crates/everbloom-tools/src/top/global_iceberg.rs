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

use everbloom::Result;
use everbloom::prelude::Merge as _;
use everbloom::reconciling::InvertibleCounting;

use super::flow_counters::{Flow, FlowCounters, flows};

/// Adds up the counters of several sites.
///
/// ```
/// use everbloom_tools::top::flow_counters::FlowCounters;
/// use everbloom_tools::top::global_iceberg::Collector;
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
