//! Packet classification in tuple space (catalogue A22; S0 §IV-C5 \[89\]\[90\], §IV-D4 \[104\]).
//!
//! ```text
//!   packet ──▶ tuple (24, 16)   filter: no           a tuple is the pair of prefix lengths of its rules;
//!          ──▶ tuple (16, 32)   filter: maybe ──▶    one table for each, probed only if the filter
//!          ──▶ tuple ( 8, 24)   filter: no           in front of it says that it may hold a match
//! ```
//!
//! The rules of a tuple are keyed by the prefixes of source and destination. Without filters a packet costs a probe
//! of every table; with them those of its matches and f of the others: 3 + 47·f = 4.014 of 50 at 8 bits a rule. The
//! answer is the rule of the highest priority, exactly as a scan of all rules finds it.
//!
//! With many tuples, most of which no packet can match, S0's scheme of [crossproducts](super::crossproduct) looks for the
//! prefixes of the fields first: 4 + p + e accesses for p matches.
//!
//! Rules of one tuple that share a bucket of its hash table cost further accesses. A *pruned* counting filter
//! ([`FastHashTable`]) gives every rule the least crowded of several buckets.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::keyvalue::FastHashTable;
use everbloom::{Error, Hasher, Kind, Result};

use super::crossproduct;
use super::planes::Planes;
use crate::sim::shuffle;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// What packets a rule is for, and how it ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Sources, by prefix and its length.
    pub source: (Ipv4Addr, u8),
    /// Destinations.
    pub destination: (Ipv4Addr, u8),
    /// Of several rules the highest counts.
    pub priority: u32,
}

/// Prefix lengths of source and destination.
type Tuple = (u8, u8);

fn masked(address: Ipv4Addr, length: u8) -> u32 {
    u32::from(address) & u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

fn key(source: Ipv4Addr, destination: Ipv4Addr, (from, to): Tuple) -> (u32, u32) {
    (masked(source, from), masked(destination, to))
}

impl Rule {
    fn tuple(&self) -> Tuple {
        (self.source.1.min(32), self.destination.1.min(32))
    }

    fn key(&self) -> (u32, u32) {
        key(self.source.0, self.destination.0, self.tuple())
    }

    /// Whether the rule is for packets from `source` to `destination`.
    pub fn matches(&self, source: Ipv4Addr, destination: Ipv4Addr) -> bool {
        key(source, destination, self.tuple()) == self.key()
    }
}

struct Table {
    filter: Planes,
    rules: HashMap<(u32, u32), Vec<Rule>>,
}

/// Rules by tuple, with a filter in front of each table.
///
/// ```
/// use everbloom_lab::applications::forwarding::tuple_space::{Classifier, Rule};
/// let any = ([0, 0, 0, 0].into(), 0);
/// let web = Rule { source: any, destination: ([10, 1, 0, 0].into(), 16), priority: 1 };
/// let host = Rule { source: any, destination: ([10, 1, 2, 3].into(), 32), priority: 9 };
/// let mut rules = Classifier::new([web, host], 8.0)?;
/// let from = [8, 8, 8, 8].into();
/// assert_eq!(rules.classify(from, [10, 1, 2, 3].into()), Some(host));
/// rules.remove(&host)?;
/// assert_eq!(rules.classify(from, [10, 1, 2, 3].into()), Some(web));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Classifier {
    tables: BTreeMap<Tuple, Table>,
    bits_per_rule: f64,
}

impl Classifier {
    /// A classifier with filters of so many bits for each rule.
    pub fn new(rules: impl IntoIterator<Item = Rule>, bits_per_rule: f64) -> Result<Self> {
        let mut by_tuple: BTreeMap<Tuple, Vec<Rule>> = BTreeMap::new();
        rules.into_iter().for_each(|rule| by_tuple.entry(rule.tuple()).or_default().push(rule));
        let mut classifier = Self { tables: BTreeMap::new(), bits_per_rule };
        for (tuple, rules) in by_tuple {
            let filter = Planes::for_items(rules.len() as u64, bits_per_rule)?;
            classifier.tables.insert(tuple, Table { filter, rules: HashMap::new() });
            rules.into_iter().try_for_each(|rule| classifier.insert(rule))?;
        }
        Ok(classifier)
    }

    /// Adds a rule. A tuple that was not there gets a filter for 64 rules.
    pub fn insert(&mut self, rule: Rule) -> Result<()> {
        if !self.tables.contains_key(&rule.tuple()) {
            let filter = Planes::for_items(64, self.bits_per_rule)?;
            self.tables.insert(rule.tuple(), Table { filter, rules: HashMap::new() });
        }
        if let Some(table) = self.tables.get_mut(&rule.tuple()) {
            let same = table.rules.entry(rule.key()).or_default();
            if same.is_empty() {
                table.filter.insert(&rule.key());
            }
            same.push(rule);
            same.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
        }
        Ok(())
    }

    /// Takes a rule out. Refused where it is not inside.
    pub fn remove(&mut self, rule: &Rule) -> Result<()> {
        let missing = || Error::new(Kind::NotDeletable, "there is no such rule");
        let table = self.tables.get_mut(&rule.tuple()).ok_or_else(missing)?;
        let same = table.rules.get_mut(&rule.key()).ok_or_else(missing)?;
        let place = same.iter().position(|other| other == rule).ok_or_else(missing)?;
        same.remove(place);
        if same.is_empty() {
            table.rules.remove(&rule.key());
            table.filter.remove(&rule.key())?;
        }
        Ok(())
    }

    /// The rule of the highest priority for a packet.
    pub fn classify(&self, source: Ipv4Addr, destination: Ipv4Addr) -> Option<Rule> {
        self.probed(source, destination).0
    }

    /// The rule, and how many tables were probed for it.
    pub fn probed(&self, source: Ipv4Addr, destination: Ipv4Addr) -> (Option<Rule>, u32) {
        let (mut best, mut probes) = (None::<Rule>, 0);
        for (tuple, table) in &self.tables {
            let key = key(source, destination, *tuple);
            if table.filter.contains(&key) {
                probes += 1;
                let found = table.rules.get(&key).and_then(|rules| rules.first());
                best = best.max_by_priority(found.copied());
            }
        }
        (best, probes)
    }

    /// How many tuples there are.
    pub fn tuples(&self) -> usize {
        self.tables.len()
    }
}

trait MaxByPriority {
    fn max_by_priority(self, other: Self) -> Self;
}

impl MaxByPriority for Option<Rule> {
    fn max_by_priority(self, other: Self) -> Self {
        self.into_iter().chain(other).max_by_key(|rule| rule.priority)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A22",
    form: Form::Component,
    uses: &["bloom", "counting", "fast-hash-table"],
    oracle: "a scan of all rules",
    data: "rules of 50 tuples, and packets with a rule in three of them or in none",
    experiment: Experiment {
        name: "tuple-space",
        source: "S0 §IV-C5 [89][90], §IV-D4 [104]",
        title: "Packet classification in tuple space, with a filter before each table",
        shows: "Every rule is the scan's. A packet with matches in 3 of 50 tuples costs 3 + 47·f probes: 4.014 at 8 \
                bits a rule, in place of 50. By crossproducts, all matches of a packet cost 4 + p + e accesses.",
        run,
    },
};

const TUPLES: usize = 50;
const MATCHING: usize = 3;
const PACKETS: usize = 4_000;

type Packet = (Ipv4Addr, Ipv4Addr);

/// Packets, and rules that each of them has in three of the tuples.
fn generate(seed: u64) -> (Vec<Packet>, Vec<Rule>) {
    let mut random = Generator::new(seed);
    // Short prefixes would match by chance.
    let lengths = [14, 16, 18, 20, 22, 24, 26, 28];
    let mut tuples: Vec<Tuple> =
        lengths.into_iter().flat_map(|a| lengths.map(|b| (a, b))).collect();
    shuffle(&mut tuples, &mut random);
    tuples.truncate(TUPLES);
    let (mut packets, mut rules) = (Vec::new(), Vec::new());
    for _ in 0..PACKETS {
        let [source, destination] = [0; 2].map(|_| Ipv4Addr::from(random.next_u64() as u32));
        packets.push((source, destination));
        shuffle(&mut tuples, &mut random);
        for tuple in &tuples[..MATCHING] {
            let priority = random.below(1 << 30) as u32;
            rules.push(Rule {
                source: (source, tuple.0),
                destination: (destination, tuple.1),
                priority,
            });
        }
    }
    (packets, rules)
}

struct Seen {
    pairs: Vec<(Option<Rule>, Option<Rule>)>,
    /// Mean probes of packets with matches and without, before anything is removed.
    probes: [f64; 2],
}

fn try_one(seed: u64, bits: f64) -> Result<Seen> {
    let (packets, rules) = generate(seed);
    let mut classifier = Classifier::new(rules.iter().copied(), bits)?;
    let mut random = Generator::new(!seed);
    let absent: Vec<Packet> = (0..PACKETS)
        .map(|_| {
            (Ipv4Addr::from(random.next_u64() as u32), Ipv4Addr::from(random.next_u64() as u32))
        })
        .collect();
    let probes = [&packets, &absent].map(|packets| {
        let sum: u32 = packets.iter().map(|p| classifier.probed(p.0, p.1).1).sum();
        f64::from(sum) / packets.len() as f64
    });
    // A tenth of the rules goes, a few come: the answers are then compared with a scan.
    let (gone, left): (Vec<_>, Vec<_>) = rules.iter().enumerate().partition(|(i, _)| i % 10 == 0);
    for (_, rule) in gone.iter().take(300) {
        classifier.remove(rule)?;
    }
    let mut left: Vec<Rule> = left
        .into_iter()
        .map(|(_, rule)| *rule)
        .chain(gone.iter().skip(300).map(|(_, rule)| **rule))
        .collect();
    for &(source, destination) in &packets[..20] {
        let rule = Rule { source: (source, 9), destination: (destination, 9), priority: 1 << 31 };
        classifier.insert(rule)?;
        left.push(rule);
    }
    let tried =
        packets.iter().step_by(20).chain(packets.iter().take(40)).chain(absent.iter().step_by(100));
    let pairs = tried.map(|&(source, destination)| {
        let matching = left.iter().filter(|rule| rule.matches(source, destination));
        (classifier.classify(source, destination), matching.max_by_key(|r| r.priority).copied())
    });
    Ok(Seen { pairs: pairs.collect(), probes })
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(3);
    let mut oracle = Oracle::default();
    let probes =
        |bits: f64, matching: f64| matching + (TUPLES as f64 - matching) * bloom::fpr_best(bits);
    let xs = || (16..=64).map(|i| f64::from(i) / 4.0);
    let mut series = [MATCHING, 0].map(|matching| {
        let name = format!("{matching} tuples match: {matching} + {}·f", TUPLES - matching);
        Series::new(name, xs(), move |bits| probes(bits, matching as f64))
    });
    let n = (PACKETS * MATCHING / TUPLES) as u64;
    for bits in [6.0, 8.0, 12.0] {
        let seen = lab.runs(runs, |seed| try_one(seed, bits))?;
        let m = (n as f64 * bits) as u64;
        let f = bloom::fpr_exact(m, n, bloom::best_k(m, n));
        for (i, matching) in [MATCHING, 0].into_iter().enumerate() {
            let others = (TUPLES - matching) as f64;
            let mean = seen.iter().map(|s| s.probes[i]).sum::<f64>() / runs as f64;
            let share = bound::share(f, runs * PACKETS as u64 * others as u64);
            // Tuples differ in their number of rules by 6 %, and filters in their fill.
            let share = share.widened(f, 0.06);
            let bound = Bound {
                low: share.low.map(|l| matching as f64 + l * others),
                high: share.high.map(|h| matching as f64 + h * others),
            };
            series[i].point(bits, matching as f64 + others * f, mean, bound);
        }
        oracle
            .equal(&format!("rules at {bits} bits a rule"), seen.into_iter().flat_map(|s| s.pairs));
    }
    let chart = Chart::new(
        "probes",
        "Tables probed for a packet, of 50",
        [Axis::linear("bits of filter for each rule"), Axis::linear("tables probed")],
        series,
    );
    let accesses = crossproduct::accesses(lab, PACKETS / 2, MATCHING, &mut oracle)?;
    Ok(oracle.report().chart(chart).rows(accesses).rows(collisions(lab)?))
}

/// Rules that share a bucket of the hash table, hashed once and pruned.
fn collisions(lab: &Lab) -> Result<Rows> {
    let (_, rules) = generate(lab.seed());
    let keys: Vec<(Tuple, (u32, u32))> = rules.iter().map(|r| (r.tuple(), r.key())).collect();
    let n = keys.len() as u64;
    let mut rows = Rows::new(
        "collisions",
        "Rules that share a bucket (2 buckets a rule)",
        Axis::linear("share"),
    );
    let mut shares = Vec::new();
    for k in [1, 3] {
        let mut table = FastHashTable::with_shape(2 * n, k, Hasher::seeded(lab.seed()))?;
        for ((from, to), (source, destination)) in &keys {
            table.put(&(*from, *to, *source, *destination), b"");
        }
        shares.push(table.shared());
    }
    // n − 1 others fall into a rule's bucket with 1/2n each.
    let plain = 1.0 - libm::exp(-0.5);
    rows.row(
        "hashed once: 1 − e^(−1/2)",
        plain,
        shares[0],
        bound::share(plain, n).widened(plain, 0.03),
    );
    let fewer = 1.0 - shares[1] / shares[0];
    rows.row(
        "fewer by pruning (3 buckets to choose from); S0: 4 to 32 %",
        0.32,
        fewer,
        Bound::at_least(0.04),
    );
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a22_tables_probed() {
        let f = bloom::fpr_asymptotic(8.0, 1.0, 6.0);
        assert!((f - 0.021577).abs() < 1e-6);
        assert!((3.0 + 47.0 * f - 4.014).abs() < 5e-4);
    }

    #[test]
    fn rules_that_are_not_there_are_not_removed() {
        let rule = |length, priority| Rule {
            source: ([10, 0, 0, 0].into(), length),
            destination: ([0, 0, 0, 0].into(), 0),
            priority,
        };
        let mut rules = Classifier::new([rule(8, 1), rule(8, 2)], 8.0).unwrap();
        assert!(rules.remove(&rule(8, 3)).is_err() && rules.remove(&rule(9, 1)).is_err());
        assert_eq!(rules.classify([10, 1, 1, 1].into(), [1, 1, 1, 1].into()), Some(rule(8, 2)));
        rules.remove(&rule(8, 2)).unwrap();
        assert_eq!(rules.classify([10, 1, 1, 1].into(), [1, 1, 1, 1].into()), Some(rule(8, 1)));
        assert_eq!(rules.tuples(), 1);
    }
}
