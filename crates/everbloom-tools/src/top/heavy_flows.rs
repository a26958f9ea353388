//! Heavy flows of each interval by a multistage filter (catalogue A16; S1 §8.1, S0 §IV-D1 \[99\]).
//!
//! ```text
//!   packet ──▶ its flow is in the flow memory ──yes──▶ counted there, exactly
//!                        │ no
//!                        ▼
//!              d stages of counters, conservative update ──all reach T──▶ an entry in the flow memory
//! ```
//!
//! A flow of T bytes in an interval raises all its counters to T, so none is missed. A lighter one of s bytes gets
//! in only if every one of its counters was raised by others: with b counters a stage and C bytes in the interval,
//! at most ((1/κ)·T/(T − s))^d of them do, κ = T·b/C. At the end of the interval the counters are reset, and the
//! flows that were heavy keep their entries: from then on they are counted from their first byte.

use std::collections::HashMap;

use everbloom::sketches::Conservative;
use everbloom::{Error, Kind, Result};

/// A flow that was heavy in an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heavy {
    /// The flow's key.
    pub flow: Vec<u8>,
    /// Bytes that it sent for certain: those counted since it has an entry.
    pub at_least: u64,
    /// Bytes that it sent at most.
    pub at_most: u64,
}

/// The counters of an entry of the flow memory.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// What others may have added before the entry was there.
    before: u64,
    counted: u64,
}

/// Finds the flows that send at least a threshold of bytes in an interval.
///
/// ```
/// use everbloom_tools::top::heavy_flows::HeavyFlows;
///
/// let mut flows = HeavyFlows::new(1000, 4, 256, 100)?;
/// for _ in 0..10 {
///     flows.packet(b"10.0.0.1 > 10.0.0.9", 150)?;
/// }
/// flows.packet(b"10.0.0.2 > 10.0.0.9", 40)?;
/// let heavy = flows.end_interval()?;
/// assert_eq!(heavy.len(), 1);
/// assert!(heavy[0].at_least <= 1500 && heavy[0].at_most >= 1500);
///
/// // It is remembered: in the next interval its count is exact.
/// flows.packet(b"10.0.0.1 > 10.0.0.9", 1000)?;
/// let heavy = flows.end_interval()?;
/// assert_eq!((heavy[0].at_least, heavy[0].at_most), (1000, 1000));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct HeavyFlows {
    threshold: u64,
    stages: u32,
    counters: u64,
    filter: Conservative,
    memory: HashMap<Vec<u8>, Entry>,
    /// Entries that there is room for, and flows that found none.
    room: usize,
    refused: u64,
}

impl HeavyFlows {
    /// Flows of at least `threshold` bytes, by `stages` stages of `counters` counters, and a flow memory of at
    /// most `room` entries.
    pub fn new(threshold: u64, stages: u32, counters: u64, room: usize) -> Result<Self> {
        if threshold == 0 {
            return Err(Error::new(Kind::BadParameter, "a threshold of 0 makes every flow heavy"));
        }
        let filter = empty(stages, counters)?;
        let memory = HashMap::new();
        Ok(Self { threshold, stages, counters, filter, memory, room, refused: 0 })
    }

    /// Counts a packet of so many bytes.
    pub fn packet(&mut self, flow: &[u8], bytes: u64) -> Result<()> {
        if let Some(entry) = self.memory.get_mut(flow) {
            entry.counted = entry.counted.saturating_add(bytes);
            return Ok(());
        }
        // A sum of two never sticks: the counters have 64 bits.
        self.filter.insert_times(flow, bytes);
        let count = self.filter.count(flow);
        if count >= self.threshold {
            if self.memory.len() >= self.room {
                self.refused += 1;
                return Ok(());
            }
            let before = count.saturating_sub(bytes);
            self.memory.insert(flow.to_vec(), Entry { before, counted: bytes });
        }
        Ok(())
    }

    /// Ends the interval: the flows that may have been heavy, the heaviest first. The counters are reset; those
    /// flows keep their entries.
    pub fn end_interval(&mut self) -> Result<Vec<Heavy>> {
        self.filter = empty(self.stages, self.counters)?;
        self.refused = 0;
        let threshold = self.threshold;
        let mut heavy = Vec::new();
        self.memory.retain(|flow, entry| {
            let at_most = entry.before.saturating_add(entry.counted);
            let stays = at_most >= threshold;
            if stays {
                heavy.push(Heavy { flow: flow.clone(), at_least: entry.counted, at_most });
            }
            *entry = Entry { before: 0, counted: 0 };
            stays
        });
        heavy.sort_by(|a, b| (b.at_most, &a.flow).cmp(&(a.at_most, &b.flow)));
        Ok(heavy)
    }

    /// Packets of this interval whose flows may be heavy and found no room in the flow memory.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

fn empty(stages: u32, counters: u64) -> Result<Conservative> {
    let m = counters.saturating_mul(stages.into());
    Conservative::builder().form("stages").set("m", m).set("k", stages).set("width", 64).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_flow_memory_says_so_and_keeps_what_it_has() {
        let mut flows = HeavyFlows::new(10, 2, 64, 1).unwrap();
        flows.packet(b"first", 10).unwrap();
        flows.packet(b"second", 10).unwrap();
        assert_eq!(flows.refused(), 1);
        let heavy = flows.end_interval().unwrap();
        assert_eq!((heavy.len(), &heavy[0].flow[..]), (1, &b"first"[..]));
        assert!(HeavyFlows::new(0, 2, 64, 1).is_err());
        assert!(HeavyFlows::new(1, 0, 64, 1).is_err());
    }
}
