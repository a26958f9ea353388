//! False reports dropped on their way (catalogue A52; S0 §IV-E \[119\]).
//!
//! ```text
//!   event ─▶ T sensors, each with a key of another partition ─▶ report: event, T key numbers,
//!                                                                        one filter of the T MACs
//!   hop ─▶ has one of these keys? computes its MAC: not in the filter ─▶ drop
//!   sink ─▶ has all keys: checks all T
//! ```
//!
//! Keys are in N partitions; a node has half the keys of one. Whoever captured nodes of one partition can make one of
//! the T MACs, and has to guess the others. A filter of m bits carries all MACs in a few bytes, and a guess passes it
//! as often as its bits are set: reports with more than k·T ones are dropped, or an attacker would set them all.
//! A forger who sets all 25 allowed of 64 bits passes a check with (25/64)^5 = 0.0091, and is dropped at a hop with
//! p = (4/10)·½·(1−f): within 5 hops 67 %, within 20 hops 98.8 %.

use everbloom::internals::hash::{Generator, mix64};
use everbloom::{Bloom, HashId, Hasher, Result, SecretKey};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report as Findings, Rows,
    Series, bound,
};

const BITS: u64 = 64;
const PROBES: u32 = 5;
const PARTITIONS: u64 = 10;
const KEYS: u64 = 20;
/// Endorsements of a report.
const ENDORSED: usize = 5;

/// A key's partition, and its number there.
type KeyName = (u64, u64);

struct Report {
    event: u64,
    keys: [KeyName; ENDORSED],
    macs: Bloom,
}

/// A seed for each event, so that bits known from other reports are of no use.
fn hasher(event: u64) -> Result<Hasher> {
    Hasher::with_id(HashId::Xxh3_128, mix64(event))
}

fn empty(event: u64) -> Result<Bloom> {
    Bloom::with_shape(BITS, PROBES, hasher(event)?)
}

/// The MAC of an event under a key of the network.
fn mac(network: u64, key: KeyName, event: u64) -> u64 {
    let secret =
        u128::from(mix64(network ^ mix64(key.0 * KEYS + key.1))) << 64 | u128::from(network);
    Hasher::keyed(SecretKey::new(secret.to_le_bytes())).digest(&event).word(0)
}

/// Partitions in random order.
fn partitions(random: &mut Generator) -> Vec<u64> {
    let mut all: Vec<u64> = (0..PARTITIONS).collect();
    crate::sim::shuffle(&mut all, random);
    all
}

fn honest(network: u64, event: u64, random: &mut Generator) -> Result<Report> {
    let order = partitions(random);
    let keys = [0, 1, 2, 3, 4].map(|i: usize| (order[i], random.below(KEYS)));
    let mut macs = empty(event)?;
    keys.iter().for_each(|key| _ = macs.insert(&mac(network, *key, event)));
    Ok(Report { event, keys, macs })
}

/// What a forger does beside the one MAC he can make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Forgery {
    /// Guesses the other MACs.
    Guess,
    /// Sets as many bits as are allowed.
    Fill,
    /// Sets all.
    AllOnes,
    /// Uses his partition five times.
    Repeat,
}

fn forged(network: u64, event: u64, how: Forgery, random: &mut Generator) -> Result<Report> {
    let order = partitions(random);
    let mut keys = [0, 1, 2, 3, 4].map(|i: usize| (order[i], random.below(KEYS)));
    let mut macs = empty(event)?;
    macs.insert(&mac(network, keys[0], event));
    match how {
        Forgery::Guess => (1..ENDORSED).for_each(|_| _ = macs.insert(&random.next_u64())),
        Forgery::Fill | Forgery::AllOnes => {
            let most = if how == Forgery::Fill { most_ones() } else { BITS };
            let mut bits = macs.bits().clone();
            while bits.ones() < most {
                bits.set(random.below(BITS));
            }
            macs = Bloom::from_bits(bits, PROBES, hasher(event)?, 0)?;
        }
        Forgery::Repeat => {
            for (i, key) in keys.iter_mut().enumerate() {
                *key = (order[0], i as u64);
                macs.insert(&mac(network, *key, event));
            }
        }
    }
    Ok(Report { event, keys, macs })
}

fn most_ones() -> u64 {
    u64::from(PROBES) * ENDORSED as u64
}

/// What a forwarding node has: half the keys of a partition.
struct Node {
    partition: u64,
    keys: Vec<bool>,
}

impl Node {
    fn new(random: &mut Generator) -> Self {
        let mut keys: Vec<bool> = (0..KEYS).map(|i| i < KEYS / 2).collect();
        crate::sim::shuffle(&mut keys, random);
        Self { partition: random.below(PARTITIONS), keys }
    }

    /// Whether it forwards a report.
    fn forwards(&self, network: u64, report: &Report) -> bool {
        well_formed(report)
            && report.keys.iter().all(|key| {
                let has = key.0 == self.partition && self.keys[key.1 as usize];
                !has || report.macs.contains(&mac(network, *key, report.event))
            })
    }
}

/// No more ones than honest reports have, and every partition once.
fn well_formed(report: &Report) -> bool {
    let different = (0..ENDORSED).all(|i| (0..i).all(|j| report.keys[i].0 != report.keys[j].0));
    report.macs.bits().ones() <= most_ones() && different
}

/// The sink has all keys.
fn accepted(network: u64, report: &Report) -> bool {
    let genuine = |key: &KeyName| report.macs.contains(&mac(network, *key, report.event));
    well_formed(report) && report.keys.iter().all(genuine)
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A52",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "the simulator knows which reports are honest",
    data: "reports on paths of 20 random nodes, honest ones and forgeries of four kinds",
    experiment: Experiment {
        name: "en-route",
        source: "S0 §IV-E [119]",
        title: "False reports dropped on their way",
        shows: "No honest report is dropped. A forger with the keys of one partition is dropped within 5, 10 and 20 hops with \
                0.669, 0.890 and 0.988; all ones and repeated partitions are dropped at once.",
        run,
    },
};

/// P(dropped at a hop): the node has a key of one of the four other partitions, and the guess fails.
fn dropped_at_a_hop(f: f64) -> f64 {
    0.4 * 0.5 * (1.0 - f)
}

const HOPS: usize = 20;

/// At which hop a report is dropped; `HOPS` if it arrives.
fn travel(network: u64, report: &Report, random: &mut Generator) -> usize {
    (0..HOPS).find(|_| !Node::new(random).forwards(network, report)).unwrap_or(HOPS)
}

fn run(lab: &Lab) -> Result<Findings> {
    let reports = lab.scaled(2_500);
    let network = lab.seed();
    let hops = |how: Option<Forgery>| {
        lab.runs(reports, |seed| {
            let random = &mut Generator::new(seed);
            let report = match how {
                None => honest(network, seed, random)?,
                Some(how) => forged(network, seed, how, random)?,
            };
            let (ones, passes) = (report.macs.bits().ones(), accepted(network, &report));
            Ok((travel(network, &report, random), ones, passes))
        })
    };
    let mut oracle = Oracle::default();
    let fair = hops(None)?;
    let lost = fair.iter().filter(|(hop, _, passes)| *hop < HOPS || !passes).count();
    oracle.none(&format!("honest reports dropped, of {reports}"), lost as u64);
    let [x, y] = [Axis::linear("hops"), Axis::linear("share of forged reports dropped")];
    let mut chart = Chart::new("hops", "Forged reports dropped within some hops", [x, y], []);
    let mut rows = Rows::new("checks", "A single check", Axis::log("share that passes"));
    let cases = [(Forgery::Fill, 0.0091), (Forgery::Guess, 0.0035)];
    for (how, quoted) in cases {
        let seen = hops(Some(how))?;
        let ones = seen.iter().map(|s| s.1 as f64).sum::<f64>() / reports as f64;
        let f = libm::pow(ones / BITS as f64, PROBES.into());
        let curve = |h: f64| 1.0 - libm::pow(1.0 - dropped_at_a_hop(quoted), h);
        let mut series = Series::new(format!("{how:?}"), (0..=HOPS).map(|h| h as f64), curve);
        for h in [5, 10, 20] {
            let share = seen.iter().filter(|s| s.0 < h).count() as f64 / reports as f64;
            series.point(h as f64, curve(h as f64), share, bound::share(curve(h as f64), reports));
        }
        chart.series.push(series);
        // A guess that happens to fill few bits passes less often, so that the mean over reports is a little higher.
        rows.row(
            format!("{how:?}: from the ones of the filters"),
            quoted,
            f,
            Bound::exactly(quoted, 0.1 * quoted),
        );
        let passing = seen.iter().filter(|s| s.2).count() as u64;
        oracle.none(&format!("forged reports that the sink takes, {how:?}"), passing);
    }
    for how in [Forgery::AllOnes, Forgery::Repeat] {
        let seen = hops(Some(how))?;
        let farther = seen.iter().filter(|s| s.0 > 0 || s.2).count() as u64;
        oracle.none(&format!("forged reports that pass the first hop, {how:?}"), farther);
    }
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a52_dropped_within_hops() {
        let f = libm::pow(25.0 / 64.0, 5.0);
        assert!((f - 0.0091).abs() < 5e-5);
        for (hops, quoted) in [(5, 0.669), (10, 0.890), (20, 0.988)] {
            let dropped = 1.0 - libm::pow(1.0 - dropped_at_a_hop(f), f64::from(hops));
            assert!((dropped - quoted).abs() < 6e-4, "{hops}: {dropped}");
        }
        // Random guesses: 25 throws into 64 bits.
        let ones = 1.0 - libm::pow(63.0 / 64.0, 25.0);
        assert!((libm::pow(ones, 5.0) - 0.0035).abs() < 2e-4);
    }
}
