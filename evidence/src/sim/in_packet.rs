//! Filters that travel in a packet's header.
//!
//! ```text
//!   tags     a─b  0 1 0 0 0 0 0 1 0 0       a node forwards over a link if all ones of its tag
//!            b─c  0 0 0 1 0 0 0 1 0 0       are ones of the header
//!   header        0 1 0 1 0 0 0 1 0 0
//! ```
//!
//! Links, nodes or credentials have [`Tags`]; a [`Header`] is the OR of those that the packet may use. Nodes keep
//! the tags of their own links and nothing of any packet.

use std::collections::{HashMap, HashSet, VecDeque};

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::{Digest, Generator};
use everbloom::internals::probe::{Probe, subset};
use everbloom::{Error, Hasher, Key, Kind, Result};

use super::graph::{Graph, Link, Node};
use super::passing::{Passing, Throws};

/// How keys become tags of m bits.
#[derive(Clone, Debug)]
pub struct Tags {
    throws: Throws,
    hasher: Hasher,
}

/// The ones of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Tag {
    bits: Bits,
    ones: u64,
}

/// What a packet carries: the OR of tags, and which of the tables of tags they are from.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The number of the table.
    pub table: u64,
    bits: Bits,
}

impl Tags {
    /// Tags of exactly `k` ones among `m` bits.
    pub fn distinct(m: u64, k: u32, hasher: Hasher) -> Self {
        Self { throws: Throws { m, k, distinct: true }, hasher }
    }

    /// Tags of `k` probes into `m` bits, as in a standard filter: two probes may meet.
    pub fn thrown(m: u64, k: u32, hasher: Hasher) -> Self {
        Self { throws: Throws { m, k, distinct: false }, hasher }
    }

    /// The tag of a key in one of the tables.
    pub fn tag<K: Key + ?Sized>(&self, table: u64, key: &K) -> Tag {
        self.tag_of(self.hasher.digest(key).salted(table))
    }

    fn tag_of(&self, digest: Digest) -> Tag {
        let Throws { m, k, distinct } = self.throws;
        let mut bits = Bits::new(m);
        if distinct {
            subset(digest, m, k).iter().for_each(|&i| _ = bits.set(i));
        } else {
            Probe::over(m, k).each(digest, |i| _ = bits.set(i));
        }
        Tag { ones: bits.ones(), bits }
    }

    /// A header of these tags.
    pub fn header<'t>(&self, table: u64, tags: impl IntoIterator<Item = &'t Tag>) -> Header {
        let mut header = Header { table, bits: Bits::new(self.throws.m) };
        tags.into_iter().for_each(|tag| header.add(tag));
        header
    }

    /// A header of so many ones anywhere, such as someone makes who knows no tag; all ones where there are not
    /// so many.
    pub fn forged(&self, ones: u64, random: &mut Generator) -> Header {
        let m = self.throws.m;
        let mut bits = Bits::new(m);
        while bits.ones() < ones.min(m) {
            bits.set(random.below(m));
        }
        Header { table: 0, bits }
    }

    /// The header that [`Header::to_bytes`] wrote; none where the bytes are not as many as it takes.
    pub fn read(&self, table: u64, bytes: &[u8]) -> Option<Header> {
        let m = self.throws.m;
        let mut bits = Bits::new(m);
        let ones =
            (0..bytes.len() as u64 * 8).filter(|i| bytes[(i / 8) as usize] >> (i % 8) & 1 == 1);
        for i in ones {
            if i >= m {
                return None;
            }
            bits.set(i);
        }
        (bytes.len() as u64 == m.div_ceil(8)).then_some(Header { table, bits })
    }

    /// How often a header of `n` tags lets another pass, the emptiest of `tables` chosen.
    pub fn passing(&self, n: u64, tables: u64) -> Passing {
        self.throws.passing(n, tables)
    }

    /// The same of a header that has this many ones.
    pub fn chance(&self, ones: u64) -> f64 {
        self.throws.chance(ones)
    }
}

impl Header {
    /// Adds a tag.
    pub fn add(&mut self, tag: &Tag) {
        self.bits.union(&tag.bits);
    }

    /// Whether all ones of the tag are ones of the header.
    pub fn admits(&self, tag: &Tag) -> bool {
        self.bits.ones_in_both(&tag.bits) == tag.ones
    }

    /// The bits as they travel, the lowest first.
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = self.bits.words().iter().flat_map(|word| word.to_le_bytes());
        bytes.take(self.bits.len().div_ceil(8) as usize).collect()
    }

    /// Number of ones.
    pub fn ones(&self) -> u64 {
        self.bits.ones()
    }

    /// Share of ones. A node drops headers above a limit, or a header of ones would go everywhere.
    pub fn fill(&self) -> f64 {
        self.bits.fill()
    }
}

/// By what the table of tags is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The fewest ones.
    Emptiest,
    /// The fewest wrong links at the nodes of the tree, which the sender knows.
    FewestFalse,
}

/// The identifiers of a network's links, one in each of several tables.
pub struct LinkIds {
    tags: Tags,
    ids: HashMap<Link, Vec<Tag>>,
    /// Headers with a greater share of ones are neither made nor forwarded.
    limit: f64,
}

impl LinkIds {
    /// Identifiers for both directions of every link of a network, in `tables` tables.
    pub fn new(graph: &Graph, tags: Tags, tables: u64, limit: f64) -> Self {
        let both = graph.links().flat_map(|link| [link, Link { from: link.to, to: link.from }]);
        let ids = both.map(|link| {
            let key = (link.from as u64, link.to as u64);
            (link, (0..tables).map(|table| tags.tag(table, &key)).collect())
        });
        Self { ids: ids.collect(), tags, limit }
    }

    /// How links get their identifiers.
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Whether the header lets the packet over this link.
    pub fn admits(&self, header: &Header, link: Link) -> bool {
        self.ids
            .get(&link)
            .and_then(|ids| ids.get(header.table as usize))
            .is_some_and(|id| header.admits(id))
    }

    /// The header of a tree, from the best table. Refused where even that is too full.
    pub fn header(&self, graph: &Graph, tree: &[Link], choice: Choice) -> Result<Header> {
        let tables = self.ids.values().map(Vec::len).min().unwrap_or(0);
        let made = (0..tables).map(|table| {
            let tags = tree.iter().filter_map(|link| self.ids.get(link)?.get(table));
            self.tags.header(table as u64, tags)
        });
        let beside: Vec<Link> = match choice {
            Choice::Emptiest => Vec::new(),
            Choice::FewestFalse => beside(graph, tree),
        };
        let wrong = |header: &Header| beside.iter().filter(|l| self.admits(header, **l)).count();
        let best = made.min_by_key(|header| (wrong(header), header.ones()));
        let fits = best.filter(|header| header.fill() <= self.limit);
        fits.ok_or_else(|| {
            Error::new(
                Kind::CapacityExceeded,
                format!(
                    "a header of {} links would be more than {:.0} % ones: send it in parts",
                    tree.len(),
                    self.limit * 100.0
                ),
            )
        })
    }

    /// The links that a packet takes from `root`, in order; none where its header is too full.
    pub fn forward(&self, graph: &Graph, root: Node, header: &Header) -> Vec<Link> {
        if header.fill() > self.limit {
            return Vec::new();
        }
        spread(graph, root, |link| self.admits(header, link))
    }
}

/// Links from a node of the tree to a neighbor that are not of the tree, in the direction a packet would take.
pub fn beside(graph: &Graph, tree: &[Link]) -> Vec<Link> {
    let wanted: HashSet<Link> = tree.iter().copied().collect();
    let came: HashMap<Node, Node> = tree.iter().map(|link| (link.to, link.from)).collect();
    let nodes: HashSet<Node> = tree.iter().flat_map(|link| [link.from, link.to]).collect();
    let mut beside: Vec<Link> = nodes
        .into_iter()
        .flat_map(|from| graph.neighbors(from).iter().map(move |&to| Link { from, to }))
        .filter(|link| !wanted.contains(link) && came.get(&link.from) != Some(&link.to))
        .collect();
    beside.sort_unstable();
    beside
}

/// Where a packet goes from `root`: over every link that `goes` admits, but not back to where it came from. A link
/// carries it once, since nodes remember for a moment what came back to them.
pub fn spread(graph: &Graph, root: Node, mut goes: impl FnMut(Link) -> bool) -> Vec<Link> {
    let mut used = Vec::new();
    let mut seen = HashSet::new();
    let mut waiting = VecDeque::from([(root, root)]);
    while let Some((came, from)) = waiting.pop_front() {
        for &to in graph.neighbors(from).iter().filter(|&&to| to != came) {
            let link = Link { from, to };
            if goes(link) && seen.insert(link) {
                used.push(link);
                waiting.push_back((from, to));
            }
        }
    }
    used
}

/// The links among `used` that are not of the tree.
pub fn false_links(used: &[Link], tree: &[Link]) -> Vec<Link> {
    used.iter().filter(|link| !tree.contains(link)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Topology;

    #[test]
    fn tags_have_k_ones_and_tables_differ() {
        let tags = Tags::distinct(256, 5, Hasher::default());
        for key in 0..1000u64 {
            assert_eq!(tags.tag(0, &key).ones, 5);
            assert_ne!(tags.tag(0, &key), tags.tag(1, &key));
        }
        let thrown = Tags::thrown(256, 5, Hasher::default());
        assert!((0..1000u64).any(|key| thrown.tag(0, &key).ones < 5), "two probes may meet");
        let odd = Tags::thrown(90, 7, Hasher::default());
        let header = odd.header(3, &[odd.tag(3, "a"), odd.tag(3, "b")]);
        let bytes = header.to_bytes();
        assert_eq!(odd.read(3, &bytes), Some(header));
        assert_eq!((odd.read(3, &bytes[1..]), odd.read(3, &[0xFF; 12])), (None, None));
    }

    #[test]
    fn a_tree_is_covered_and_too_large_a_tree_is_refused() {
        let grid = Topology::Grid { width: 12, height: 12 }.build(1);
        let ids = LinkIds::new(&grid, Tags::distinct(256, 5, Hasher::default()), 8, 0.7);
        let tree = grid.tree(0, &[143, 11, 132]);
        let header = ids.header(&grid, &tree, Choice::Emptiest).unwrap();
        let used = ids.forward(&grid, 0, &header);
        assert!(tree.iter().all(|link| used.contains(link)));
        let all: Vec<Node> = (1..144).collect();
        let refused = ids.header(&grid, &grid.tree(0, &all), Choice::Emptiest).unwrap_err();
        assert!(refused.to_string().contains("send it in parts"), "{refused}");
    }
}
