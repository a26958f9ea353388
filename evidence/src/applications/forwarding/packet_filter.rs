//! A packet filter whose rules come and go, with wildcards (catalogue A39; S0 §IV-C \[76\]).
//!
//! ```text
//!   rule   (tcp, 10.0.0.1, *)  ─▶ key  mask 110 | tcp | 10.0.0.1 | 0
//!   packet  source side, destination side ─▶ masked by every mask in use ─▶ filter ─▶ list of rules
//! ```
//!
//! A monitor in the kernel hands up the packets that match a rule, and must cost next to nothing for the others. One
//! filter holds all rules, keyed by their fields **and the mask of those that count**: a field of value 0 is not the
//! same as one that is left out. A packet is tested once for each mask in use and side, and a positive is confirmed
//! in the list of rules that share a bucket. So a clean packet costs 1 − (1−f)^w list look-ups a side for w masks: 2.4
//! % for 3, 6.4 % for all 8.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Error, Hasher, Kind, Result};

use super::planes::Planes;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// One side of packets to look for; what is none may be anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// The protocol's number.
    pub protocol: Option<u8>,
    /// The address of either side.
    pub address: Option<Ipv4Addr>,
    /// The port on that side.
    pub port: Option<u16>,
}

/// What a packet's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The protocol's number.
    pub protocol: u8,
    /// Address and port it comes from.
    pub source: (Ipv4Addr, u16),
    /// Address and port it goes to.
    pub destination: (Ipv4Addr, u16),
}

/// Mask and fields; fields that do not count are zero.
type Key = (u8, u8, u32, u16);

impl Rule {
    fn mask(&self) -> u8 {
        u8::from(self.protocol.is_some())
            | u8::from(self.address.is_some()) << 1
            | u8::from(self.port.is_some()) << 2
    }

    fn key(&self) -> Key {
        let address = self.address.map_or(0, u32::from);
        (self.mask(), self.protocol.unwrap_or(0), address, self.port.unwrap_or(0))
    }

    /// Whether one side of the packet is what the rule looks for.
    pub fn matches(&self, packet: &Packet) -> bool {
        packet.sides().into_iter().any(|(address, port)| {
            self.protocol.is_none_or(|p| p == packet.protocol)
                && self.address.is_none_or(|a| a == address)
                && self.port.is_none_or(|p| p == port)
        })
    }
}

impl Packet {
    fn sides(&self) -> [(Ipv4Addr, u16); 2] {
        [self.source, self.destination]
    }

    /// The key that a rule with this mask has if it matches this side.
    fn key(&self, mask: u8, (address, port): (Ipv4Addr, u16)) -> Key {
        let kept = |bit: u8| mask >> bit & 1 == 1;
        (
            mask,
            if kept(0) { self.protocol } else { 0 },
            if kept(1) { address.into() } else { 0 },
            if kept(2) { port } else { 0 },
        )
    }
}

/// Rules, found by a filter.
///
/// ```
/// use everbloom_lab::applications::forwarding::packet_filter::{Packet, PacketFilter, Rule};
/// let mut filter = PacketFilter::new(1000, 10.0)?;
/// let web = Rule { protocol: Some(6), port: Some(443), ..Rule::default() };
/// let id = filter.insert(web)?;
/// let packet = Packet {
///     protocol: 6,
///     source: ([10, 0, 0, 1].into(), 50_000),
///     destination: ([10, 0, 0, 2].into(), 443),
/// };
/// assert_eq!(filter.matching(&packet), [id]);
/// filter.remove(id)?;
/// assert!(filter.matching(&packet).is_empty());
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct PacketFilter {
    filter: Planes,
    /// Rules whose keys share a bucket of a small hash.
    lists: Vec<Vec<(Key, u64)>>,
    rules: BTreeMap<u64, Rule>,
    /// The masks in use, and by how many rules.
    masks: BTreeMap<u8, u64>,
    hasher: Hasher,
    next: u64,
}

impl PacketFilter {
    /// Room for so many rules at so many bits each; more of them raise the rate.
    pub fn new(rules: u64, bits_per_rule: f64) -> Result<Self> {
        Ok(Self {
            filter: Planes::for_items(rules, bits_per_rule)?,
            lists: vec![Vec::new(); rules.clamp(1, 1 << 24) as usize],
            rules: BTreeMap::new(),
            masks: BTreeMap::new(),
            hasher: Hasher::default(),
            next: 0,
        })
    }

    fn list(&self, key: &Key) -> usize {
        (self.hasher.digest(key).word(0x11) % self.lists.len() as u64) as usize
    }

    /// Adds a rule and returns its number. Equal rules have numbers of their own.
    pub fn insert(&mut self, rule: Rule) -> Result<u64> {
        let (id, key) = (self.next, rule.key());
        self.next += 1;
        let list = self.list(&key);
        if !self.lists[list].iter().any(|(other, _)| *other == key) {
            self.filter.insert(&key);
        }
        self.lists[list].push((key, id));
        self.rules.insert(id, rule);
        *self.masks.entry(key.0).or_default() += 1;
        Ok(id)
    }

    /// Takes a rule out by its number. Refused where there is none.
    pub fn remove(&mut self, id: u64) -> Result<Rule> {
        let rule = self
            .rules
            .remove(&id)
            .ok_or_else(|| Error::new(Kind::NotDeletable, format!("there is no rule {id}")))?;
        let key = rule.key();
        let list = self.list(&key);
        self.lists[list].retain(|(_, other)| *other != id);
        if !self.lists[list].iter().any(|(other, _)| *other == key) {
            self.filter.remove(&key)?;
        }
        if let Some(users) = self.masks.get_mut(&key.0) {
            *users -= 1;
            if *users == 0 {
                self.masks.remove(&key.0);
            }
        }
        Ok(rule)
    }

    /// The numbers of the rules that a packet matches.
    pub fn matching(&self, packet: &Packet) -> Vec<u64> {
        self.traced(packet, self.masks.keys().copied()).0
    }

    /// The rules, and how many lists were looked up for each side.
    fn traced(&self, packet: &Packet, masks: impl Iterator<Item = u8>) -> (Vec<u64>, [u32; 2]) {
        let (mut found, mut lookups) = (BTreeSet::new(), [0; 2]);
        for mask in masks {
            for (side, lookups) in packet.sides().into_iter().zip(&mut lookups) {
                let key = packet.key(mask, side);
                if self.filter.contains(&key) {
                    *lookups += 1;
                    let rules = self.lists[self.list(&key)].iter();
                    found.extend(rules.filter(|(other, _)| *other == key).map(|(_, id)| *id));
                }
            }
        }
        (found.into_iter().collect(), lookups)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A39",
    form: Form::Component,
    uses: &["bloom", "counting"],
    oracle: "a scan of all rules",
    data: "rules with 3 and with 8 different masks; packets that match some of them, and clean ones",
    experiment: Experiment {
        name: "packet-filter",
        source: "S0 §IV-C [76]",
        title: "A packet filter whose rules come and go, with wildcards",
        shows: "Every matching packet is found, with its rules. A clean one costs 1 − (1−f)^w look-ups of a list on \
                each side: 0.0244 for 3 masks in use and 0.0637 for 8.",
        run,
    },
};

const RULES: u64 = 2_000;
const CLEAN: u64 = 20_000;
/// Masks in use: all three fields, address alone, address and port.
const FEW: [u8; 3] = [0b111, 0b010, 0b110];

fn address(random: &mut Generator, network: u32) -> Ipv4Addr {
    (network << 24 | random.next_u64() as u32 >> 8).into()
}

/// Rules are about network 10; values 0 are among them.
fn rule(mask: u8, random: &mut Generator) -> Rule {
    Rule {
        protocol: (mask & 1 != 0).then(|| [0, 6, 17][random.below(3) as usize]),
        address: (mask & 2 != 0).then(|| address(random, 10)),
        port: (mask & 4 != 0).then(|| random.below(1 << 15) as u16),
    }
}

fn packet(network: u32, random: &mut Generator) -> Packet {
    // Clean packets have protocols and ports that no rule names: 100 and above, 32,768 and above.
    let port = |random: &mut Generator| (1 << 15 | random.below(1 << 15)) as u16;
    Packet {
        protocol: 100 + random.below(100) as u8,
        source: (address(random, network), port(random)),
        destination: (address(random, network), port(random)),
    }
}

/// A packet that a rule is for, on one of its sides.
fn aimed(rule: &Rule, random: &mut Generator) -> Packet {
    let mut packet = packet(11, random);
    let side = if random.below(2) == 0 { &mut packet.source } else { &mut packet.destination };
    side.0 = rule.address.unwrap_or(side.0);
    side.1 = rule.port.unwrap_or(side.1);
    packet.protocol = rule.protocol.unwrap_or(packet.protocol);
    packet
}

struct Seen {
    pairs: Vec<(Vec<u64>, Vec<u64>)>,
    /// Share of sides of clean packets with a look-up: by the masks in use, and by all eight.
    looked: [f64; 2],
}

fn try_one(seed: u64, masks: &[u8]) -> Result<Seen> {
    let mut random = Generator::new(seed);
    let mut filter = PacketFilter::new(RULES, 10.0)?;
    let mut ids = Vec::new();
    for i in 0..RULES + RULES / 4 {
        // Masks without an address have few different rules: mostly ports.
        ids.push(filter.insert(rule(masks[i as usize % masks.len()], &mut random))?);
    }
    let gone: Vec<u64> = ids.iter().step_by(5).copied().take(RULES as usize / 4).collect();
    let removed = gone.iter().map(|id| filter.remove(*id)).collect::<Result<Vec<Rule>>>()?;
    let mut pairs = Vec::new();
    for (i, rule) in filter.rules.values().step_by(8).chain(removed.iter().step_by(8)).enumerate() {
        let packet = if i % 4 == 3 { packet(10, &mut random) } else { aimed(rule, &mut random) };
        let exact = filter.rules.iter().filter(|(_, rule)| rule.matches(&packet));
        pairs.push((filter.matching(&packet), exact.map(|(id, _)| *id).collect()));
    }
    let mut looked = [0u64; 2];
    for _ in 0..CLEAN {
        let packet = packet(11, &mut random);
        let used = filter.traced(&packet, filter.masks.keys().copied()).1;
        let all = filter.traced(&packet, 0..8).1;
        for (sum, sides) in looked.iter_mut().zip([used, all]) {
            *sum += sides.iter().filter(|lookups| **lookups > 0).count() as u64;
        }
    }
    Ok(Seen { pairs, looked: looked.map(|l| l as f64 / (2 * CLEAN) as f64) })
}

/// Different keys in the filter, as the rate depends on them.
fn distinct(seed: u64, masks: &[u8]) -> u64 {
    let mut random = Generator::new(seed);
    let rules: Vec<Rule> = (0..RULES + RULES / 4)
        .map(|i| rule(masks[i as usize % masks.len()], &mut random))
        .collect();
    let kept = |i: &usize| !i.is_multiple_of(5);
    (0..rules.len()).filter(kept).map(|i| rules[i].key()).collect::<BTreeSet<Key>>().len() as u64
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(4);
    let mut oracle = Oracle::default();
    let m = RULES * 10;
    let k = bloom::best_k(m, RULES);
    let planned = bloom::fpr_exact(m, RULES, k);
    let curve = |w: f64| 1.0 - libm::pow(1.0 - planned, w);
    let mut series = Series::new("1 − (1−f)^w", (1..=8).map(f64::from), curve);
    let mut rows = Rows::new("traps", "Ways to get it wrong", Axis::linear("share"));
    // Eight masks: the empty one would match every packet, so seven and the three again are told apart by use.
    let most: Vec<u8> = (1..8).collect();
    for masks in [&FEW[..], &most] {
        let seen = lab.runs(runs, |seed| try_one(seed, masks))?;
        let w = masks.len() as f64;
        let mean = |i: usize| seen.iter().map(|s| s.looked[i]).sum::<f64>() / runs as f64;
        let n = (0..runs).map(|i| distinct(lab.seed_of(i), masks)).sum::<u64>() / runs;
        let f = bloom::fpr_exact(m, n, k);
        // Protocol and port alone have few keys, which all clean packets of a mask share: rates vary with them.
        let expected = 1.0 - libm::pow(1.0 - f, w);
        let slack = if masks.len() == FEW.len() { 0.1 } else { 0.35 };
        let bound = |p: f64| bound::share(p, runs * CLEAN * 2).widened(p, slack);
        series.point(w, expected, mean(0), bound(expected));
        if masks.len() == FEW.len() {
            let all = 1.0 - libm::pow(1.0 - f, 8.0);
            rows.row(
                "look-ups a side where all 8 masks are tested for the 3 in use (trap)",
                all,
                mean(1),
                bound(all).widened(all, 0.2),
            );
        }
        oracle.equal(
            &format!("rules matched, {} masks", masks.len()),
            seen.into_iter().flat_map(|s| s.pairs),
        );
    }
    let chart = Chart::new(
        "lookups",
        "List look-ups for one side of a clean packet (10 bits a rule)",
        [Axis::linear("masks in use w"), Axis::linear("share of sides with a look-up")],
        [series],
    );
    zero_is_a_value(&mut rows)?;
    Ok(oracle.report().chart(chart).rows(rows))
}

/// A rule for port 0 is not one for any port.
fn zero_is_a_value(rows: &mut Rows) -> Result<()> {
    let host = Ipv4Addr::new(10, 0, 0, 1);
    let rule = Rule { protocol: Some(6), address: Some(host), port: Some(0) };
    let mut filter = PacketFilter::new(16, 16.0)?;
    filter.insert(rule)?;
    let to =
        |port| Packet { protocol: 6, source: ([11, 0, 0, 1].into(), 9), destination: (host, port) };
    let ports = || (1..1000).map(to);
    let wrong = ports().filter(|packet| !filter.matching(packet).is_empty()).count();
    rows.row(
        "packets to other ports matched by a rule for port 0",
        0.0,
        wrong as f64 / 999.0,
        Bound::exactly(0.0, 0.0),
    );
    let zero = f64::from(u8::from(filter.matching(&to(0)).len() == 1));
    rows.row("the packet to port 0 matched by it", 1.0, zero, Bound::exactly(1.0, 0.0));
    // Without the mask in the key, 0 in the rule is what a masked port is in the packet.
    let blind = |key: Key| (key.1, key.2, key.3);
    let mistaken = ports().filter(|packet| {
        let key = packet.key(0b011, packet.destination);
        blind(key) == blind(rule.key())
    });
    let share = mistaken.count() as f64 / 999.0;
    rows.row("the same with keys that lack the mask (trap)", 1.0, share, Bound::exactly(1.0, 0.0));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a39_lookups() {
        let f = bloom::fpr_asymptotic(10.0, 1.0, 7.0);
        let looked = |w: i32| 1.0 - (1.0 - f).powi(w);
        assert!((looked(3) - 0.0244).abs() < 5e-5 && (looked(8) - 0.0637).abs() < 5e-5);
    }

    #[test]
    fn equal_rules_are_removed_one_by_one() {
        let mut filter = PacketFilter::new(4, 16.0).unwrap();
        let any = Rule::default();
        let [a, b] = [filter.insert(any).unwrap(), filter.insert(any).unwrap()];
        let packet =
            Packet { protocol: 0, source: ([0; 4].into(), 0), destination: ([0; 4].into(), 0) };
        assert_eq!(filter.matching(&packet), [a, b]);
        filter.remove(a).unwrap();
        assert_eq!(filter.matching(&packet), [b]);
        assert!(filter.remove(a).is_err());
        filter.remove(b).unwrap();
        assert!(filter.matching(&packet).is_empty() && filter.masks.is_empty());
    }
}
