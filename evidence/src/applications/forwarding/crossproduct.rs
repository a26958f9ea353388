//! All rules that match a packet, by crossproducts of its longest prefixes (S0 §IV-C5 \[89\]).
//!
//! ```text
//!   source   10.1.2.3 ──▶ 10/8, 10.1/16       a search of each field finds its nested prefixes: 4 accesses;
//!   …                                         a set of rules takes one level of each field, so that a packet
//!   levels (0, 1, 0, 0)  filter: maybe ──▶    makes one key for it; tables whose filter says maybe are
//!   levels (1, 1, 0, 0)  filter: no           probed: p matches and e false ones
//! ```
//!
//! A table of all combinations of prefixes would answer with one access and have as many entries as the numbers of
//! prefixes multiply to. Here rules are kept apart by how deep their prefixes are nested, so that no two rules of a
//! set overlap without being equal in all fields, and there are no entries but rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;

use super::longest_prefix::{LongestPrefix, prefix};
use super::planes::Planes;
use crate::Oracle;
use crate::sim::shuffle;
use crate::{Axis, Bound, Lab, Rows, bound};

/// Source, destination and both ports.
pub const FIELDS: usize = 4;

/// Which packets a rule is for: a prefix and its length for each field. A port stands in the upper half of its
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// Value and length.
    pub fields: [(u32, u8); FIELDS],
    /// Of several rules the highest counts.
    pub priority: u32,
}

impl Rule {
    /// Whether the rule is for a packet.
    pub fn matches(&self, packet: [u32; FIELDS]) -> bool {
        let mut pairs = self.fields.iter().zip(packet);
        pairs.all(|((value, length), field)| prefix(*value, *length) == prefix(field, *length))
    }
}

/// How deep each field's prefix is nested within others of that field.
type Levels = [usize; FIELDS];

/// What a set of rules is looked up by: the prefixes of all fields.
type Prefixes = [u8; 4 * FIELDS];

fn prefixes(fields: [(u32, u8); FIELDS]) -> Prefixes {
    let mut bytes = [0; 4 * FIELDS];
    for (to, (value, length)) in bytes.chunks_exact_mut(4).zip(fields) {
        to.copy_from_slice(&(prefix(value, length) as u32).to_be_bytes());
    }
    bytes
}

struct Set {
    filter: Planes,
    rules: HashMap<Prefixes, Vec<Rule>>,
}

/// What a packet cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Tables probed for the prefixes of the fields.
    pub fields: u32,
    /// Tables of rules probed.
    pub rules: u32,
    /// Filters tested, in fast memory.
    pub tested: u32,
}

/// Rules by the nesting of their prefixes, with a filter in front of each set.
///
/// ```
/// use everbloom_lab::applications::forwarding::crossproduct::{Crossproduct, Rule};
/// let any = (0, 0);
/// let web = (443 << 16, 16);
/// let office = Rule { fields: [(0x0A00_0000, 8), any, any, any], priority: 1 };
/// let browsing = Rule { fields: [(0x0A01_0000, 16), any, any, web], priority: 2 };
/// let rules = Crossproduct::new(&[office, browsing], 8.0)?;
/// assert_eq!(rules.matches([0x0A01_0203, 7, 9 << 16, 443 << 16]), [office, browsing]);
/// assert_eq!(rules.matches([0x0A02_0203, 7, 9 << 16, 443 << 16]), [office]);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Crossproduct {
    /// By prefix, the lengths of all prefixes that it lies within, its own last.
    fields: Vec<LongestPrefix<u32, Vec<u8>>>,
    sets: BTreeMap<Levels, Set>,
}

impl Crossproduct {
    /// Sorts rules into sets, with filters of so many bits for each rule.
    pub fn new(rules: &[Rule], bits_per_rule: f64) -> Result<Self> {
        let nests: Vec<_> =
            (0..FIELDS).map(|i| nested(rules.iter().map(|r| r.fields[i]))).collect();
        let mut by_levels: BTreeMap<Levels, Vec<Rule>> = BTreeMap::new();
        for rule in rules {
            let depth = |i: usize| nests[i][&cut(rule.fields[i])].len() - 1;
            by_levels.entry(std::array::from_fn(depth)).or_default().push(*rule);
        }
        let fields = nests.into_iter().map(|nest| {
            let routes =
                nest.into_iter().map(|((value, length), lengths)| (value, length, lengths));
            LongestPrefix::new(routes, bits_per_rule)
        });
        let mut sets = BTreeMap::new();
        for (levels, rules) in by_levels {
            let filter = Planes::for_items(rules.len() as u64, bits_per_rule)?;
            let mut set = Set { filter, rules: HashMap::new() };
            for rule in rules {
                let key = prefixes(rule.fields);
                let same = set.rules.entry(key).or_default();
                if same.is_empty() {
                    set.filter.insert(&key[..]);
                }
                same.push(rule);
            }
            sets.insert(levels, set);
        }
        Ok(Self { fields: fields.collect::<Result<_>>()?, sets })
    }

    /// All rules for a packet.
    pub fn matches(&self, packet: [u32; FIELDS]) -> Vec<Rule> {
        self.counted(packet).0
    }

    /// All rules for a packet, and what they cost.
    pub fn counted(&self, packet: [u32; FIELDS]) -> (Vec<Rule>, Accesses) {
        let mut cost = Accesses::default();
        let lengths: [&[u8]; FIELDS] = std::array::from_fn(|i| {
            let (found, probes) = self.fields[i].probed(packet[i]);
            cost.fields += probes;
            found.map_or(&[][..], Vec::as_slice)
        });
        let mut found = Vec::new();
        for (levels, set) in &self.sets {
            if levels.iter().zip(lengths).any(|(level, lengths)| *level >= lengths.len()) {
                continue;
            }
            let key = prefixes(std::array::from_fn(|i| (packet[i], lengths[i][levels[i]])));
            cost.tested += 1;
            if set.filter.contains(&key[..]) {
                cost.rules += 1;
                found.extend(set.rules.get(&key).into_iter().flatten());
            }
        }
        (found, cost)
    }

    /// How many sets of rules there are.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }
}

fn cut((value, length): (u32, u8)) -> (u32, u8) {
    (prefix(value, length) as u32, length.min(32))
}

/// Each prefix of a field, with the lengths of those that it lies within and its own, shortest first.
fn nested(all: impl Iterator<Item = (u32, u8)>) -> BTreeMap<(u32, u8), Vec<u8>> {
    let all: BTreeSet<(u32, u8)> = all.map(cut).collect();
    let around = |(value, length): (u32, u8)| {
        let shorter = (0..=length).filter(|shorter| all.contains(&cut((value, *shorter))));
        ((value, length), shorter.collect())
    };
    all.iter().copied().map(around).collect()
}

/// Rules of two nested prefixes in each of four fields, and packets with a rule in so many of the sixteen sets.
fn generate(seed: u64, packets: usize, matching: usize) -> (Vec<[u32; FIELDS]>, Vec<Rule>) {
    let mut random = Generator::new(seed);
    let (mut all, mut rules) = (Vec::new(), Vec::new());
    for _ in 0..packets {
        // 64 outer prefixes with four inner ones each; what follows them is any.
        let packet = [0; FIELDS].map(|_| {
            let [outer, inner] = [64, 4].map(|n| random.below(n) as u32);
            outer << 26 | inner << 16 | random.below(1 << 16) as u32
        });
        all.push(packet);
        let mut sets: Vec<u32> = (0..1 << FIELDS).collect();
        shuffle(&mut sets, &mut random);
        for set in &sets[..matching] {
            let length = |i: usize| if set >> i & 1 == 1 { 16 } else { 8 };
            rules.push(Rule {
                fields: std::array::from_fn(|i| (packet[i], length(i))),
                priority: random.below(1 << 30) as u32,
            });
        }
    }
    (all, rules)
}

/// What all matches of a packet cost by crossproducts.
pub(super) fn accesses(
    lab: &Lab,
    packets: usize,
    matching: usize,
    oracle: &mut Oracle,
) -> Result<Rows> {
    let mut rows = Rows::new(
        "crossproduct",
        "Accesses for all rules of a packet, by crossproducts of its prefixes",
        Axis::linear("accesses of slow memory"),
    );
    let (packets, rules) = generate(lab.seed(), packets, matching);
    for bits in [4.0, 8.0] {
        let table = Crossproduct::new(&rules, bits)?;
        let (mut cost, mut matches) = ([0_u64; 3], 0);
        let mut pairs = Vec::new();
        for packet in &packets {
            let (mut found, accesses) = table.counted(*packet);
            let mut scan: Vec<_> = rules.iter().filter(|r| r.matches(*packet)).copied().collect();
            found.sort();
            scan.sort();
            // Rules of the same prefixes are one match.
            let different: BTreeSet<_> = scan.iter().map(|rule| rule.fields.map(|f| f.1)).collect();
            matches += different.len() as u64;
            for (sum, one) in
                cost.iter_mut().zip([accesses.fields, accesses.rules, accesses.tested])
            {
                *sum += u64::from(one);
            }
            pairs.push((found, scan));
        }
        oracle.equal(&format!("all rules of a packet at {bits} bits a rule"), pairs);
        let n = (rules.len() / table.sets()) as u64;
        let m = (n as f64 * bits) as u64;
        let f = bloom::fpr_exact(m, n, bloom::best_k(m, n));
        let each = |sum: u64| sum as f64 / packets.len() as f64;
        let others = cost[2] - matches;
        let sure = FIELDS as f64 + each(matches);
        // Sets differ in their number of rules by 5 %, and filters in their fill.
        let e = bound::share(f, others).widened(f, 0.06);
        let with = |share: f64| sure + share * each(others);
        rows.row(
            format!("{bits} bits a rule: 4 + p + e, p = {:.3}", each(matches)),
            with(f),
            each(cost[0] + cost[1]),
            Bound { low: e.low.map(with), high: e.high.map(with) },
        );
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_at_every_depth_are_found() {
        // 10/8 ⊃ 10.1/16 ⊃ 10.1.2/24, a rule without a source, and one that is there twice.
        let source = [(0, 0), (0x0A00_0000, 8), (0x0A01_0000, 16), (0x0A01_0200, 24)];
        let mut rules: Vec<Rule> = (0..4)
            .map(|i| Rule {
                fields: [source[i], (0, 0), (0, 0), (80 << 16, 16)],
                priority: i as u32,
            })
            .collect();
        rules.push(Rule { priority: 9, ..rules[2] });
        let table = Crossproduct::new(&rules, 8.0).unwrap();
        assert_eq!(table.sets(), 4);
        for packet in [0x0A01_0203, 0x0A01_0303, 0x0A02_0203, 0x0B00_0000] {
            let packet = [packet, 1, 2, 80 << 16];
            let mut found = table.matches(packet);
            found.sort_by_key(|rule| rule.priority);
            let scan: Vec<Rule> = rules.iter().filter(|r| r.matches(packet)).copied().collect();
            assert_eq!(found, scan);
        }
        assert_eq!(table.matches([0x0A01_0203, 1, 2, 81 << 16]), []);
    }
}
