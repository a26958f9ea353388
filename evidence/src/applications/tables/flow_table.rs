//! A table of flows with one access to slow memory for each packet (catalogue A40; S0 §IV-C \[75\], on B6).
//!
//! ```text
//!   packet ──▶ counters on the chip: a zero, unknown flow, no access
//!          └─▶ smallest of k counters ──▶ one bucket, with one record in it
//! ```
//!
//! The [`FastHashTable`] keeps every flow in one bucket that its counters name. Set-up and tear-down of flows
//! change it all the time: a flow that ended leaves its counters behind until a quarter has ended, and flows
//! that share a bucket are parted now and then by raising its counter. At 12.8 counters of 3 bits a flow (38.4 bits of
//! fast memory) no two share one, and a packet of an unknown flow reads a bucket 0.0022 times; chained
//! hashing at load 1 compares 1.5 records for a packet of a known flow.
//!
//! S0 promises one access in the worst case. That takes balancing where memory is tight: with two counters a
//! flow, 18 % of the flows share a bucket before it.

use std::collections::HashMap;

use everbloom::internals::hash::{Generator, mix64};
use everbloom::internals::theory::bloom as theory;
use everbloom::keyvalue::FastHashTable;
use everbloom::{Key, Result};

use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows, bound};

/// What is kept of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Packets seen.
    pub packets: u64,
    /// Bytes of them.
    pub bytes: u64,
}

impl Flow {
    fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.bytes) << 64 | u128::from(self.packets)).to_le_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let both = bytes.iter().rev().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
        Self { packets: both as u64, bytes: (both >> 64) as u64 }
    }
}

/// Flows with their packets and bytes, exact, and at one bucket read for each packet.
///
/// ```
/// use everbloom_lab::applications::tables::flow_table::FlowTable;
///
/// let mut flows = FlowTable::new(1000)?;
/// flows.set_up(&("10.0.0.1", 80));
/// assert!(flows.packet(&("10.0.0.1", 80), 1500));
/// assert!(!flows.packet(&("10.0.0.2", 80), 1500));
/// assert_eq!(flows.tear_down(&("10.0.0.1", 80)).map(|flow| flow.bytes), Some(1500));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct FlowTable {
    table: FastHashTable,
    room: u64,
    /// Set up since the flows were parted.
    since: u64,
    accesses: u64,
    compared: u64,
}

/// Counters for each flow, and buckets of a flow, as in the paper.
const COUNTERS: f64 = 12.8;
const PROBES: u32 = 10;
const WIDTH: u32 = 3;
const SWEEPS: u32 = 4;

impl FlowTable {
    /// A table for so many flows at a time, with 38.4 bits of fast memory for each. More are taken, at a rising
    /// number of accesses.
    pub fn new(flows: u64) -> Result<Self> {
        Self::with_counters((flows as f64 * COUNTERS) as u64, PROBES, flows)
    }

    /// A table with so many counters in all, and buckets of a flow.
    pub fn with_counters(counters: u64, probes: u32, flows: u64) -> Result<Self> {
        let builder = FastHashTable::builder();
        let table =
            builder.set("m", counters.max(1)).set("k", probes).set("width", WIDTH).build()?;
        Ok(Self { table, room: flows, since: 0, accesses: 0, compared: 0 })
    }

    /// Starts a flow; one that is there goes on. Returns whether it is new.
    pub fn set_up<K: Key + ?Sized>(&mut self, flow: &K) -> bool {
        let new = !self.table.contains(flow);
        if new {
            self.table.put(flow, &Flow::default().to_bytes());
            self.since += 1;
            if self.since > self.room / 4 {
                self.balance();
            }
        }
        new
    }

    /// Parts flows that share a bucket. Done by itself after every quarter of the flows that were set up.
    pub fn balance(&mut self) {
        self.table.balance(SWEEPS);
        self.since = 0;
    }

    /// Counts a packet of a flow; false if the flow is not known.
    pub fn packet<K: Key + ?Sized>(&mut self, flow: &K, bytes: u64) -> bool {
        self.accesses += u64::from(self.table.accesses(flow));
        self.compared += self.table.list_of(flow) as u64;
        let Some(mut held) = self.get(flow) else { return false };
        held.packets += 1;
        held.bytes = held.bytes.saturating_add(bytes);
        self.table.put(flow, &held.to_bytes());
        true
    }

    /// What is kept of a flow.
    pub fn get<K: Key + ?Sized>(&self, flow: &K) -> Option<Flow> {
        self.table.get(flow).map(Flow::from_bytes)
    }

    /// Ends a flow, and returns what was kept of it.
    pub fn tear_down<K: Key + ?Sized>(&mut self, flow: &K) -> Option<Flow> {
        let held = self.get(flow)?;
        self.table.remove(flow).ok().map(|()| held)
    }

    /// Buckets read for packets, and records compared there.
    pub fn work(&self) -> (u64, u64) {
        (self.accesses, self.compared)
    }

    /// Share of flows that have a bucket in common with another one.
    pub fn shared(&self) -> f64 {
        self.table.shared()
    }

    /// Records in the fullest bucket.
    pub fn longest(&self) -> usize {
        self.table.lists().max().unwrap_or(0)
    }
}

/// Chained hashing at load 1: what is compared with, and the exact twin.
struct Chained {
    chains: Vec<Vec<(u64, Flow)>>,
    compared: u64,
}

impl Chained {
    fn new(flows: usize) -> Self {
        Self { chains: vec![Vec::new(); flows], compared: 0 }
    }

    fn chain(&mut self, flow: u64) -> &mut Vec<(u64, Flow)> {
        let place = mix64(flow ^ 0x5eed) as usize % self.chains.len();
        &mut self.chains[place]
    }

    fn set_up(&mut self, flow: u64) {
        self.chain(flow).push((flow, Flow::default()));
    }

    fn packet(&mut self, flow: u64, bytes: u64) -> bool {
        let chain = self.chain(flow);
        let place = chain.iter().position(|(held, _)| *held == flow);
        let compared = place.map_or(chain.len(), |place| place + 1) as u64;
        if let Some(place) = place {
            chain[place].1.packets += 1;
            chain[place].1.bytes += bytes;
        }
        self.compared += compared;
        place.is_some()
    }

    fn tear_down(&mut self, flow: u64) -> Option<Flow> {
        let chain = self.chain(flow);
        let place = chain.iter().position(|(held, _)| *held == flow)?;
        Some(chain.remove(place).1)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A40",
    form: Form::Component,
    uses: &["fast-hash-table"],
    oracle: "chained hashing of the same flows",
    data: "flows with random ids that begin, send and end",
    experiment: Experiment {
        name: "flow-table",
        source: "S0 §IV-C [75]",
        title: "A table of flows with one access to slow memory for each packet",
        shows: "Records are those of chained hashing. A packet of a known flow reads one bucket with one record, where \
                chains compare 1.5; one of an unknown flow reads 0.0022. With two counters a flow, 18 % of the \
                flows share a bucket until they are parted.",
        run,
    },
};

const FLOWS: u64 = 10_000;

struct Seen {
    pairs: Vec<(Option<Flow>, Option<Flow>)>,
    answers: Vec<(bool, bool)>,
    known: (u64, u64),
    unknown: u64,
    chained: u64,
    longest: usize,
    tight: [f64; 2],
}

fn try_one(seed: u64) -> Result<Seen> {
    let flow = |i: u64| mix64(seed ^ i);
    let (mut table, mut twin) = (FlowTable::new(FLOWS)?, Chained::new(FLOWS as usize));
    for i in 0..FLOWS {
        table.set_up(&flow(i));
        twin.set_up(flow(i));
    }
    let longest = table.longest();
    let mut answers = Vec::new();
    for i in 0..FLOWS {
        answers.push((table.packet(&flow(i), 100), twin.packet(flow(i), 100)));
    }
    let (known, chained) = (table.work(), twin.compared);
    for i in 0..4 * FLOWS {
        let other = flow(1 << 40 | i);
        answers.push((table.packet(&other, 100), twin.packet(other, 100)));
    }
    let unknown = table.work().0 - known.0;
    // Half of the flows end, in random order, and as many begin, with packets in between.
    let mut random = Generator::new(seed);
    let mut pairs = Vec::new();
    for i in 0..FLOWS / 2 {
        let old = flow(random.below(FLOWS));
        pairs.push((table.tear_down(&old), twin.tear_down(old)));
        let new = flow(FLOWS + i);
        table.set_up(&new);
        twin.set_up(new);
        let some = flow(random.below(FLOWS + i));
        answers.push((table.packet(&some, i), twin.packet(some, i)));
    }
    let left: HashMap<u64, Flow> = twin.chains.into_iter().flatten().collect();
    pairs.extend((0..2 * FLOWS).map(|i| (table.get(&flow(i)), left.get(&flow(i)).copied())));
    // Two counters a flow, without balancing on the way, and with.
    let mut tight = FlowTable::with_counters(2 * FLOWS, 3, 4 * FLOWS)?;
    (0..FLOWS).for_each(|i| _ = tight.set_up(&flow(i)));
    let before = tight.shared();
    tight.balance();
    let tight = [before, tight.shared()];
    Ok(Seen { pairs, answers, known, unknown, chained, longest, tight })
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(2);
    let seen = lab.runs(runs, try_one)?;
    let mut oracle = Oracle::default();
    oracle.equal("known or not", seen.iter().flat_map(|s| s.answers.iter().copied()));
    oracle.equal("records", seen.iter().flat_map(|s| s.pairs.iter().copied()));
    let mean = |of: &dyn Fn(&Seen) -> f64| seen.iter().map(of).sum::<f64>() / runs as f64;
    let n = FLOWS as f64;
    let mut rows = Rows::new("accesses", "For each packet", Axis::log("accesses or comparisons"));
    rows.row(
        "known flow: buckets read",
        1.0,
        mean(&|s| s.known.0 as f64 / n),
        Bound::exactly(1.0, 0.0),
    );
    rows.row(
        "known flow: records compared",
        1.0,
        mean(&|s| s.known.1 as f64 / n),
        Bound::exactly(1.0, 0.0),
    );
    let f = theory::fpr_classic(COUNTERS * n, n, PROBES.into());
    let sd = f * 10.0 * theory::fill_sd(COUNTERS * n, 10.0 * n) / 0.54;
    let unknown = mean(&|s| s.unknown as f64 / (4.0 * n));
    rows.row("unknown flow: buckets read", f, unknown, bound::rate(f, sd, runs, 4 * FLOWS));
    // A chain of a flow holds n/m others on average, half of them before it; its variance is about 1/2.
    let chained = mean(&|s| s.chained as f64 / n);
    rows.row(
        "known flow, chained: records compared",
        1.5,
        chained,
        bound::mean(1.5, 0.9 / n.sqrt(), runs),
    );
    rows.row(
        "records in the fullest bucket",
        1.0,
        mean(&|s| s.longest as f64),
        Bound::exactly(1.0, 0.0),
    );
    rows.row(
        "bits of fast memory a flow",
        38.4,
        COUNTERS * f64::from(WIDTH),
        Bound::exactly(38.4, 1e-9),
    );
    let [before, after] = [0, 1].map(|i| mean(&|s| s.tight[i]));
    let mut tight = Rows::new(
        "tight",
        "Two counters a flow",
        Axis::linear("share of flows in a shared bucket"),
    );
    // Flows share in pairs, so that each counts twice.
    let around = bound::mean(0.178, (2.0 * 0.178 / n).sqrt(), runs).widened(0.178, 0.02);
    tight.row("before balancing", 0.178, before, around);
    tight.row("after four sweeps", 0.0, after, Bound::at_most(0.001));
    Ok(oracle.report().rows(rows).rows(tight).erratum(
        "S0 §IV-C (fast hash table)",
        [
            "one access in the worst case",
            "with two counters a flow, 18 % share a bucket before balancing",
        ],
        0.0,
        [0.178, before],
        around,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a40_numbers() {
        let f = theory::fpr_asymptotic(12.8, 1.0, 10.0);
        assert!((f - 0.00219).abs() < 5e-6, "{f}");
        assert!((COUNTERS * f64::from(WIDTH) - 38.4).abs() < 1e-9);
    }

    #[test]
    fn records_survive_their_bytes_and_full_tables_stay_exact() {
        let flow = Flow { packets: 3, bytes: u64::MAX };
        assert_eq!(Flow::from_bytes(&flow.to_bytes()), flow);
        let mut table = FlowTable::new(10).unwrap();
        (0..500u64).for_each(|i| assert!(table.set_up(&i)));
        (0..500u64).for_each(|i| assert!(table.packet(&i, i)));
        assert!((0..500u64).all(|i| table.get(&i) == Some(Flow { packets: 1, bytes: i })));
        assert!(!table.set_up(&7u64));
        assert_eq!(table.tear_down(&7u64), Some(Flow { packets: 1, bytes: 7 }));
        assert_eq!(table.tear_down(&7u64), None);
    }
}
