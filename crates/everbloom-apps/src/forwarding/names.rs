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

use std::collections::{BTreeMap, HashMap};

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Bloom, Hasher, Result};
use everbloom_lab::{Axis, Chart, Experiment, Lab, Report, Rows, Series, bound};

use crate::sim::Zipf;
use crate::{Application, Form, Oracle};

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
/// use everbloom_apps::forwarding::names::NameFilter;
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
/// use everbloom_apps::forwarding::names::NameTrie;
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

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A31",
    form: Form::Component,
    uses: &["bloom"],
    oracle: "a hash table of all prefixes, tried from the longest down",
    data: "18,000 prefixes of 1 to 6 components with 16 ports; requests by Zipf's law, and absent names",
    experiment: Experiment {
        name: "names",
        source: "S3 §III-B [44][45]",
        title: "Look-ups of hierarchical names: NameFilter, and B-prefix with T-suffix",
        shows: "An absent name of 6 components passes NameFilter's first stage with 1 − (1−f)^6 = 0.048, and then \
                gets a wrong port with 1 − (1−f)^16; with filters for 3 components and tries below, it costs 0.024 \
                visits in vain and never has a wrong port.",
        run,
    },
};

const DEPTH: usize = 6;
const EACH: u64 = 3_000;
const PORTS: u64 = 16;
const BITS: f64 = 10.0;
const ABSENT: u64 = 20_000;
const REQUESTS: u64 = 5_000;

/// Prefixes of 1 to 6 components, equally many of each: every longer one extends a shorter one.
fn routes(seed: u64) -> Vec<(String, Port)> {
    let mut random = Generator::new(seed);
    let name = |length: usize, i: u64| {
        let tail: String =
            (1..length).map(|c| format!("/c{}", i.wrapping_mul(31 + c as u64) % 97)).collect();
        format!("/s{i}{tail}")
    };
    (1..=DEPTH)
        .flat_map(|length| (0..EACH).map(move |i| (length, i)))
        .map(|(length, i)| (name(length, i), random.below(PORTS) as Port))
        .collect()
}

struct Seen {
    /// Ours and the twin's, for requests and absent names, of both schemes.
    exact: [Vec<(Option<Port>, Option<Port>)>; 2],
    /// Absent names that pass the first stage, that get a port by filters alone, and visits in vain.
    passed: u64,
    wrong: u64,
    in_vain: u64,
    steps: f64,
    reads: f64,
}

fn try_one(seed: u64, first: usize) -> Result<Seen> {
    let routes = routes(seed);
    let pairs = || routes.iter().map(|(name, port)| (name.as_str(), *port));
    let (filters, tries) = (NameFilter::new(pairs(), BITS)?, NameTrie::new(pairs(), first, BITS)?);
    let exact: HashMap<&str, Port> =
        pairs().map(|(name, port)| (Name::new(name).text, port)).collect();
    let twin = |name: &str| {
        let name = Name::new(name);
        (1..=name.len()).rev().find_map(|length| exact.get(name.prefix(length)).copied())
    };
    let mut random = Generator::new(!seed);
    let mut seen = Seen {
        exact: [Vec::new(), Vec::new()],
        passed: 0,
        wrong: 0,
        in_vain: 0,
        steps: 0.0,
        reads: 0.0,
    };
    let zipf = zipf();
    for i in 0..REQUESTS {
        let (route, _) = &routes[zipf.draw(&mut random)];
        let name = format!("{route}/part/{i}");
        let (port, reads) = filters.confirmed(&name);
        seen.exact[0].push((port, twin(&name)));
        let (port, cost) = tries.traced(&name);
        seen.exact[1].push((port, twin(&name)));
        seen.reads += f64::from(reads) / REQUESTS as f64;
        seen.steps += f64::from(cost.steps) / REQUESTS as f64;
    }
    for i in 0..ABSENT {
        let name = format!("/absent{i}/a/b/c/d/e{i}");
        seen.passed += u64::from(filters.first_stage(&Name::new(&name)).next().is_some());
        seen.wrong += u64::from(filters.port(&name).is_some());
        seen.exact[0].push((filters.confirmed(&name).0, twin(&name)));
        let (port, cost) = tries.traced(&name);
        seen.exact[1].push((port, twin(&name)));
        seen.in_vain += u64::from(cost.in_vain > 0);
    }
    Ok(seen)
}

const FIRST: [usize; 3] = [2, 3, 4];

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(2);
    let mut oracle = Oracle::default();
    let m = (EACH as f64 * BITS) as u64;
    let f = bloom::fpr_exact(m, EACH, bloom::best_k(m, EACH));
    let passes = |f: f64, lengths: f64| 1.0 - libm::pow(1.0 - f, lengths);
    let mut stage = Series::new("NameFilter: 1 − (1−f)^6", (1..=6).map(f64::from), |_| {
        passes(f, DEPTH as f64)
    });
    let mut tries =
        Series::new("first b components: 1 − (1−f)^b", (1..=6).map(f64::from), |b| {
            passes(f, b)
        });
    let mut rows = Rows::new(
        "forwards",
        "Absent names, and what requests cost",
        Axis::linear("as the row says"),
    );
    // Filters of 30,000 bits differ by 2 % in their rates.
    let bound_of = |p: f64| bound::share(p, runs * ABSENT).widened(p, 0.05);
    for first in FIRST {
        let seen = lab.runs(runs, |seed| try_one(seed, first))?;
        let share = |count: &dyn Fn(&Seen) -> u64| {
            seen.iter().map(count).sum::<u64>() as f64 / (runs * ABSENT) as f64
        };
        let expected = passes(f, first as f64);
        tries.point(first as f64, expected, share(&|s| s.in_vain), bound_of(expected));
        if first == 3 {
            let all = passes(f, DEPTH as f64);
            stage.point(DEPTH as f64, all, share(&|s| s.passed), bound_of(all));
            let n = EACH * DEPTH as u64 / PORTS;
            let m = (n as f64 * BITS).ceil() as u64;
            let port = passes(bloom::fpr_exact(m, n, bloom::best_k(m, n)), PORTS as f64);
            // Each of the six lengths gives another prefix to the ports.
            let wrong = passes(f * port, DEPTH as f64);
            let bound = bound::share(wrong, runs * ABSENT).widened(wrong, 0.1);
            rows.row(
                "wrong ports by NameFilter's filters alone (trap)",
                wrong,
                share(&|s| s.wrong),
                bound,
            );
            let mean = |f: &dyn Fn(&Seen) -> f64| seen.iter().map(f).sum::<f64>() / runs as f64;
            // Requests have two components more than their route: longer prefixes may pass, and are read in vain.
            let more = asked_mean(|length| (DEPTH - length).min(2) as f64);
            let (reads, sd) = (1.0 + f * more, (f * more).sqrt());
            let bound = bound::mean(reads, sd, runs * REQUESTS).widened(f * more, 0.05);
            rows.row(
                "table reads for a request, NameFilter confirmed",
                reads,
                mean(&|s| s.reads),
                bound,
            );
            let steps = asked_mean(|length| length.saturating_sub(3) as f64);
            let squares = asked_mean(|length| (length.saturating_sub(3) as f64).powi(2));
            let bound = bound::mean(steps, (squares - steps * steps).sqrt(), runs * REQUESTS);
            rows.row("trie steps for a request, b = 3", steps, mean(&|s| s.steps), bound);
        }
        let [mut filters, mut walked] = [Vec::new(), Vec::new()];
        for s in seen {
            let [a, b] = s.exact;
            filters.extend(a);
            walked.extend(b);
        }
        if first == 3 {
            oracle.equal("ports, NameFilter confirmed by its table", filters);
        }
        oracle.equal(&format!("ports, filters for {first} components and tries"), walked);
    }
    let chart = Chart::new(
        "absent",
        "Absent names of 6 components that the filters let pass (10 bits a prefix)",
        [Axis::linear("components in filters"), Axis::linear("share of names")],
        [stage, tries],
    );
    let mut random = Generator::new(lab.seed());
    let popular = zipf();
    let asked = (0..REQUESTS).map(|_| 1 + popular.draw(&mut random) / EACH as usize);
    let b = NameTrie::components_for(asked, 0.8);
    Ok(oracle.report().chart(chart).rows(rows).note(format!(
        "With filters for {b} components, four fifths of the requests are answered without a walk in a trie."
    )))
}

/// The mean over requests of what depends on the length of their route: routes stand in the order of their length.
fn asked_mean(f: impl Fn(usize) -> f64) -> f64 {
    let zipf = zipf();
    (0..DEPTH * EACH as usize).map(|rank| zipf.share(rank) * f(1 + rank / EACH as usize)).sum()
}

/// How popular routes are: short ones first.
fn zipf() -> Zipf {
    Zipf::new(DEPTH * EACH as usize, 0.9)
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
