//! Look-ups of hierarchical names: two schemes (catalogue A31; S3 §III-B \[44\]\[45\]).
//!
//! ```text
//!   /org/example/video/7
//!
//!   NameFilter   a filter for each length ─▶ longest "maybe" ─▶ a filter for each port ─▶ port
//!   B and T      filters for the first b components ─▶ a small trie with the rest ─▶ port
//! ```
//!
//! Routers of named data forward by the longest prefix of a name. [`NameFilter`] asks two stages of filters, and
//! nothing else: an absent name of L components passes the first stage with 1 − (1−f)^L, and then gets a wrong port
//! with about ports·f. With its table at hand ([`NameFilter::confirmed`]) it is exact. [`NameTrie`] tests the first b
//! components alone, at which a trie hangs that decides: a false positive costs a visit and never a wrong port. The
//! shorter b, the fewer the visits in vain, and the longer the walks; b is chosen so that most requests need none.

mod experiment;

use std::collections::{BTreeMap, HashMap};

use everbloom::internals::theory::bloom;
use everbloom::{Bloom, Hasher, Result};

pub use experiment::APPLICATION;

/// A number of a port.
pub type Port = u16;

/// A name without slashes at its ends, and where each of its components ends.
struct Name<'a> {
    text: &'a str,
    ends: Vec<usize>,
}

impl<'a> Name<'a> {
    fn new(text: &'a str) -> Self {
        let text = text.trim_matches('/');
        let inner = text.match_indices('/').map(|(at, _)| at);
        let ends = inner.chain((!text.is_empty()).then_some(text.len())).collect();
        Self { text, ends }
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    /// The first `length` components.
    fn prefix(&self, length: usize) -> &'a str {
        &self.text[..length.checked_sub(1).map_or(0, |last| self.ends[last])]
    }

    /// The components from the `first` on.
    fn rest(&self, first: usize) -> impl Iterator<Item = &'a str> {
        let text = &self.text[self.prefix(first).len()..];
        text.split('/').filter(|component| !component.is_empty())
    }
}

fn filter(items: usize, bits: f64, seed: u64) -> Result<Bloom> {
    let m = ((items as f64 * bits).ceil() as u64).max(64);
    Bloom::with_shape(m, bloom::best_k(m, items.max(1) as u64), Hasher::seeded(seed))
}

/// Two stages of filters: by length, then by port.
///
/// ```
/// use everbloom_lab::applications::forwarding::names::NameFilter;
/// let routes = [("/org/example", 1), ("/org/example/video", 2)];
/// let names = NameFilter::new(routes, 16.0)?;
/// assert_eq!(names.port("/org/example/video/7"), Some(2));
/// assert_eq!(names.confirmed("/org/example/text").0, Some(1));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct NameFilter {
    lengths: BTreeMap<usize, Bloom>,
    ports: BTreeMap<Port, Bloom>,
    /// The exact routes, in slow memory.
    table: HashMap<String, Port>,
}

impl NameFilter {
    /// Routes (prefix, port), of which the last one for a prefix counts, with so many bits for each in both stages.
    pub fn new<'a>(routes: impl IntoIterator<Item = (&'a str, Port)>, bits: f64) -> Result<Self> {
        let table: HashMap<String, Port> = routes
            .into_iter()
            .map(|(name, port)| (Name::new(name).text.to_owned(), port))
            .collect();
        let (mut by_length, mut by_port) =
            (BTreeMap::<_, Vec<&str>>::new(), BTreeMap::<_, Vec<&str>>::new());
        for (prefix, port) in &table {
            by_length.entry(Name::new(prefix).len()).or_default().push(prefix);
            by_port.entry(*port).or_default().push(prefix);
        }
        fn built<L: Ord>(
            sets: BTreeMap<L, Vec<&str>>,
            bits: f64,
            seed: u64,
        ) -> Result<BTreeMap<L, Bloom>> {
            let filters = sets.into_iter().map(|(label, prefixes)| {
                let mut filter = filter(prefixes.len(), bits, seed)?;
                prefixes.iter().for_each(|prefix| _ = filter.insert(prefix));
                Ok((label, filter))
            });
            filters.collect()
        }
        let (lengths, ports) = (built(by_length, bits, 1)?, built(by_port, bits, 2)?);
        Ok(Self { lengths, ports, table })
    }

    /// The prefixes of a name that the first stage lets pass, the longest first.
    fn first_stage<'a>(&self, name: &Name<'a>) -> impl Iterator<Item = &'a str> {
        let asked = self.lengths.iter().rev().filter(|(length, _)| **length <= name.len());
        let passing = asked.filter_map(|(&length, filter)| {
            let prefix = name.prefix(length);
            filter.contains(prefix).then_some(prefix)
        });
        passing.collect::<Vec<_>>().into_iter()
    }

    /// A port, by the filters alone: that of the longest prefix, unless filters err. Where no port has the prefix,
    /// the next shorter one is tried.
    pub fn port(&self, name: &str) -> Option<Port> {
        self.first_stage(&Name::new(name)).find_map(|prefix| {
            self.ports.iter().find(|(_, filter)| filter.contains(prefix)).map(|(port, _)| *port)
        })
    }

    /// The port of the longest prefix, confirmed by the table, and how often the table was read.
    pub fn confirmed(&self, name: &str) -> (Option<Port>, u32) {
        let mut reads = 0;
        let port = self.first_stage(&Name::new(name)).find_map(|prefix| {
            reads += 1;
            self.table.get(prefix).copied()
        });
        (port, reads)
    }
}

/// Components below one prefix.
#[derive(Default)]
struct Trie {
    port: Option<Port>,
    children: HashMap<String, Trie>,
}

impl Trie {
    /// The port of the longest way down, and how many components were followed.
    fn longest<'a>(&self, rest: impl Iterator<Item = &'a str>) -> (Option<Port>, u32) {
        let (mut at, mut port, mut steps) = (self, self.port, 0);
        for component in rest {
            let Some(child) = at.children.get(component) else { break };
            steps += 1;
            at = child;
            port = at.port.or(port);
        }
        (port, steps)
    }
}

/// Filters for the first components, tries for the rest.
///
/// ```
/// use everbloom_lab::applications::forwarding::names::NameTrie;
/// let routes = [("/org/example", 1), ("/org/example/video/7", 2)];
/// let names = NameTrie::new(routes, 2, 16.0)?;
/// assert_eq!(names.port("/org/example/video/7/part"), Some(2));
/// assert_eq!(names.port("/org/example/video/8"), Some(1));
/// assert_eq!(names.port("/com"), None);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct NameTrie {
    filters: BTreeMap<usize, Bloom>,
    tries: HashMap<String, Trie>,
    first: usize,
}

/// What a look-up cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Tries that were visited though nothing hangs there.
    pub in_vain: u32,
    /// Components followed in tries.
    pub steps: u32,
}

impl NameTrie {
    /// Routes (prefix, port): the first `first` components in filters of so many bits for each, the rest in tries.
    pub fn new<'a>(
        routes: impl IntoIterator<Item = (&'a str, Port)>,
        first: usize,
        bits: f64,
    ) -> Result<Self> {
        let mut tries: HashMap<String, Trie> = HashMap::new();
        for (text, port) in routes {
            let name = Name::new(text);
            let cut = name.len().min(first);
            let root = tries.entry(name.prefix(cut).to_owned()).or_default();
            let leaf = name
                .rest(cut)
                .fold(root, |at, component| at.children.entry(component.to_owned()).or_default());
            leaf.port = Some(port);
        }
        let mut by_length: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        tries.keys().for_each(|p| by_length.entry(Name::new(p).len()).or_default().push(p));
        let mut filters = BTreeMap::new();
        for (length, prefixes) in by_length {
            let mut filter = filter(prefixes.len(), bits, 1)?;
            prefixes.iter().for_each(|prefix| _ = filter.insert(prefix));
            filters.insert(length, filter);
        }
        Ok(Self { filters, tries, first })
    }

    /// How many components it takes that so large a share of the requests finds its route without a walk: requests
    /// are given by the length of the route they match.
    pub fn components_for(requests: impl IntoIterator<Item = usize>, share: f64) -> usize {
        let mut lengths: Vec<usize> = requests.into_iter().collect();
        lengths.sort_unstable();
        let at = (lengths.len() as f64 * share).ceil() as usize;
        lengths.get(at.saturating_sub(1)).copied().unwrap_or(1).max(1)
    }

    /// The port of the longest prefix.
    pub fn port(&self, name: &str) -> Option<Port> {
        self.traced(name).0
    }

    /// The port, and what it took.
    pub fn traced(&self, name: &str) -> (Option<Port>, Cost) {
        let (name, mut cost) = (Name::new(name), Cost::default());
        for (&length, filter) in self.filters.range(..=name.len().min(self.first)).rev() {
            let prefix = name.prefix(length);
            if !filter.contains(prefix) {
                continue;
            }
            let Some(trie) = self.tries.get(prefix) else {
                cost.in_vain += 1;
                continue;
            };
            let (port, steps) = trie.longest(name.rest(length));
            cost.steps += steps;
            if port.is_some() {
                return (port, cost);
            }
        }
        (None, cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a31_first_stage() {
        let f = bloom::fpr_asymptotic(10.0, 1.0, 7.0);
        assert!((1.0 - (1.0 - f).powi(6) - 0.0482).abs() < 5e-5);
    }

    #[test]
    fn names_of_all_kinds() {
        let name = Name::new("//a/b/c/");
        assert_eq!((name.len(), name.prefix(0), name.prefix(2)), (3, "", "a/b"));
        assert_eq!(name.rest(1).collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!(Name::new("").len(), 0);
        for first in 1..5 {
            let names = NameTrie::new([("/", 9), ("/a", 1), ("/a/b/c/d", 2)], first, 16.0).unwrap();
            let ports = ["/a/b/c/d/e", "/a/b/c", "/x"].map(|name| names.port(name));
            assert_eq!(ports, [Some(2), Some(1), Some(9)], "{first}");
        }
        let filters = NameFilter::new([("/", 9), ("/a", 1)], 16.0).unwrap();
        assert_eq!(filters.confirmed("/x").0, Some(9));
        assert_eq!(NameTrie::components_for([1, 2, 3, 4], 0.5), 2);
        assert_eq!(NameTrie::components_for([], 0.5), 1);
    }
}
