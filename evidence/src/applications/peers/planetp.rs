//! Keyword search by everybody's filters, flat and in groups (catalogue A6; S1 §5.1: PlanetP, Ledlie et al.).
//!
//! ```text
//!   flat:     every peer holds N filters          a query goes to the peers whose filter has all its words
//!   grouped:  every peer holds one filter for     first to the leaders of matching groups, and from there
//!             each group, and its own group's     to the matching members
//! ```
//!
//! A leader's filter is the union of its members' bits. No peer that has the words is missed, as long as filters
//! are fresh. A peer without them is asked in vain with f^q for q words, none of which it has: 4.25 requests of
//! 200 peers for one word at 8 bits a key, 0.09 for two.
//!
//! **The trap** is the union: ten filters of 8 bits a key united are full, and every leader is asked. A filter for
//! a group of g needs g times the bits of a member's, so that groups save filters, but not bits.

use std::collections::HashMap;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Bloom, Hasher, Result};

use super::{Expected, Filled};
use crate::sim::{Link, drawing, leaf, stars};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// Everybody's filters, flat or in groups.
///
/// ```
/// use everbloom_lab::applications::peers::planetp::Directory;
///
/// let peers = [vec!["bloom", "filter"], vec!["hash"], vec!["bloom", "hash"]];
/// let directory = Directory::new(&peers, 10_000, 7, 2)?;
/// assert_eq!(directory.peers(&["bloom"]), [0, 2]);
/// assert_eq!(directory.peers(&["bloom", "hash"]), [2]);
/// // Peers 0 and 1 are group 0, peer 2 is group 1.
/// assert_eq!(directory.groups(&["filter"]), [0]);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Directory {
    filters: Vec<Bloom>,
    leaders: Vec<Bloom>,
    group: usize,
}

impl Directory {
    /// A filter of `m` bits and `k` probes for the words of each peer, and groups of `group` neighbors each.
    pub fn new<W: everbloom::Key>(peers: &[Vec<W>], m: u64, k: u32, group: usize) -> Result<Self> {
        let group = group.max(1);
        let empty = Bloom::with_shape(m, k, Hasher::default())?;
        let filters: Vec<Bloom> = peers
            .iter()
            .map(|words| {
                let mut filter = empty.clone();
                filter.extend(words);
                filter
            })
            .collect();
        let mut leaders = Vec::new();
        for members in filters.chunks(group) {
            let mut leader = empty.clone();
            members.iter().try_for_each(|member| leader.union(member))?;
            leaders.push(leader);
        }
        Ok(Self { filters, leaders, group })
    }

    /// Peers that may have all the words.
    pub fn peers<W: everbloom::Key>(&self, query: &[W]) -> Vec<usize> {
        matching(&self.filters, query)
    }

    /// Groups in which a peer may have all the words, or several may have them together.
    pub fn groups<W: everbloom::Key>(&self, query: &[W]) -> Vec<usize> {
        matching(&self.leaders, query)
    }

    /// Filters that a peer holds if it knows everybody's, and in groups.
    pub fn filters_held(&self) -> (usize, usize) {
        (self.filters.len(), self.leaders.len() + self.group)
    }

    /// Share of ones in the filter of a group.
    pub fn group_fill(&self, group: usize) -> f64 {
        self.leaders[group].bits().fill()
    }
}

fn matching<W: everbloom::Key>(filters: &[Bloom], query: &[W]) -> Vec<usize> {
    let has = |&i: &usize| query.iter().all(|word| filters[i].contains(word));
    (0..filters.len()).filter(has).collect()
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A6",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "an inverted index of the same words",
    data: "200 peers with 500 words each, queries whose words three of them have",
    experiment: Experiment {
        name: "planetp",
        source: "S1 §5.1",
        title: "Keyword search by everybody's filters, flat and in groups",
        shows: "No peer that has the words is missed. Of 197 others 4.25 are asked in vain for one word at 8 \
                bits a key, 0.092 for two. A group's union errs more than its members, and at their size \
                always.",
        run,
    },
};

const PEERS: usize = 200;
const RELEVANT: usize = 3;
const WORDS: u64 = 500;
const BITS: u64 = 8;
const QUERIES: usize = 100;
const GROUP: usize = 10;

/// Peers, queries, and the exact twin.
struct World {
    words: Vec<Vec<u64>>,
    queries: Vec<[u64; 2]>,
    index: HashMap<u64, Vec<usize>>,
}

impl World {
    /// Three peers have both words of a query; all peers have the same number of words, the rest nobody's else.
    fn new(seed: u64) -> Self {
        let mut random = Generator::new(seed);
        let mut words = vec![Vec::new(); PEERS];
        let mut index: HashMap<u64, Vec<usize>> = HashMap::new();
        let queries: Vec<[u64; 2]> =
            (0..QUERIES).map(|_| [random.next_u64(), random.next_u64()]).collect();
        for query in &queries {
            let mut relevant = Vec::new();
            while relevant.len() < RELEVANT {
                let peer = random.below(PEERS as u64) as usize;
                if !relevant.contains(&peer) {
                    relevant.push(peer);
                }
            }
            relevant.sort_unstable();
            for &word in query {
                relevant.iter().for_each(|&peer| words[peer].push(word));
                index.insert(word, relevant.clone());
            }
        }
        for words in &mut words {
            while (words.len() as u64) < WORDS {
                words.push(random.next_u64());
            }
        }
        Self { words, queries, index }
    }

    fn holders(&self, query: &[u64]) -> Vec<usize> {
        let has = |&peer: &usize| {
            query.iter().all(|w| self.index.get(w).is_some_and(|all| all.contains(&peer)))
        };
        (0..PEERS).filter(has).collect()
    }
}

#[derive(Default)]
struct Seen {
    answers: Vec<(Vec<usize>, Vec<usize>)>,
    missed: u64,
    wasted: [u64; 2],
    /// Peers that have one of two words.
    half: u64,
    /// Leaders asked in vain at the members' size, and at g times that.
    leaders: [u64; 2],
    /// The same, expected from the real fill.
    expected: [Expected; 2],
    /// Holders found by filters that are older than every tenth query's words.
    stale: u64,
}

fn try_one(seed: u64) -> Result<Seen> {
    let world = World::new(seed);
    let shape = Filled::of(WORDS, BITS);
    let small = Directory::new(&world.words, shape.m, shape.k, GROUP)?;
    let large = Directory::new(&world.words, shape.m * GROUP as u64, shape.k, GROUP)?;
    let mut old = world.words.clone();
    let new: Vec<u64> = world.queries.iter().step_by(10).map(|query| query[0]).collect();
    old.iter_mut().for_each(|words| words.retain(|word| !new.contains(word)));
    let stale = Directory::new(&old, shape.m, shape.k, GROUP)?;
    let mut seen = Seen::default();
    for (i, query) in world.queries.iter().enumerate() {
        for (q, wasted) in (1..).zip(&mut seen.wasted) {
            let holders = world.holders(&query[..q]);
            let asked = small.peers(&query[..q]);
            *wasted += (asked.len() - asked.iter().filter(|p| holders.contains(p)).count()) as u64;
            seen.missed += holders.iter().filter(|peer| !asked.contains(peer)).count() as u64;
            // Who is asked looks into its own words.
            let has = |peer: &usize| query[..q].iter().all(|w| world.words[*peer].contains(w));
            seen.answers.push((asked.into_iter().filter(has).collect(), holders));
        }
        // One word of this query and one of the next: three peers have one, three others the other.
        let mixed = [query[0], world.queries[(i + 1) % QUERIES][0]];
        let one = |peer: &usize| world.words[*peer].contains(&mixed[0]);
        let asked = small.peers(&mixed);
        seen.half +=
            asked.iter().filter(|p| one(p) && !world.words[**p].contains(&mixed[1])).count() as u64;
        let holders = world.holders(&query[..1]);
        for (at, directory) in [&small, &large].into_iter().enumerate() {
            let groups = directory.groups(&query[..1]);
            let in_vain = |g: &usize| !holders.iter().any(|peer| peer / GROUP == *g);
            seen.leaders[at] += groups.iter().filter(|g| in_vain(g)).count() as u64;
            for group in (0..PEERS / GROUP).filter(in_vain) {
                let fill = directory.group_fill(group);
                seen.expected[at].add(1.0, libm::pow(fill, shape.k.into()));
            }
        }
        let found = stale.peers(&query[..1]);
        seen.stale += holders.iter().filter(|peer| found.contains(peer)).count() as u64;
    }
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(4);
    let seen = lab.runs(runs, try_one)?;
    let shape = Filled::of(WORDS, BITS);
    let (f, filters) = (shape.rate(), runs * PEERS as u64);
    let queries = runs as f64 * QUERIES as f64;
    let others = (PEERS - RELEVANT) as f64;
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>() as f64;
    let mut rows = Rows::new("wasted", "Requests in vain for each query", Axis::log("requests"));
    // A filter is asked 98.5 times on average by queries it has no words of.
    let trials = (QUERIES as f64 * others / PEERS as f64) as u64;
    let one = scaled(shape.rate_bound(filters, trials), others);
    rows.row("one word, flat (4.25)", others * f, sum(|s| s.wasted[0]) / queries, one);
    let p2 = f * f;
    let two = scaled(bound::rate(p2, 2.0 * f * shape.rate_sd(), filters, trials), others);
    rows.row("two words, flat (0.092)", others * p2, sum(|s| s.wasted[1]) / queries, two);
    let half = bound::share(f, runs * (QUERIES * RELEVANT) as u64);
    rows.row(
        "two words, of which a peer has one: f again",
        RELEVANT as f64 * f,
        sum(|s| s.half) / queries,
        scaled(half.widened(f, 0.05), RELEVANT as f64),
    );
    for (at, size) in ["the members' size", "ten times that size"].into_iter().enumerate() {
        let mut expected = Expected::default();
        seen.iter().for_each(|s| expected += s.expected[at]);
        let (mean, bound) = expected.over(queries);
        let asked = seen.iter().map(|s| s.leaders[at]).sum::<u64>() as f64 / queries;
        rows.row(format!("leaders of 20 groups, filters of {size}"), mean, asked, bound);
    }
    let mut state = Rows::new("state", "What it takes", Axis::log("see each line"));
    let world = World::new(lab.seed());
    let directory = Directory::new(&world.words, shape.m, shape.k, GROUP)?;
    let (flat, grouped) = directory.filters_held();
    let exact = |n: f64| Bound::exactly(n, 0.0);
    state.row("filters a peer holds, flat", 200.0, flat as f64, exact(200.0));
    state.row("filters a peer holds, in groups of ten", 30.0, grouped as f64, exact(30.0));
    let per_key = shape.m as f64 / WORDS as f64;
    state.row("bits for an object, where an id has 64", 8.0, per_key, Bound::between(8.0, 16.0));
    let holders = queries * RELEVANT as f64;
    let fresh = 0.9 + 0.1 * f;
    state.row(
        "holders found if a tenth of the words came after the filters",
        fresh,
        sum(|s| s.stale) / holders,
        affine(bound::share(f, holders as u64 / 10), 0.9, 0.1),
    );
    let mut oracle = Oracle::default();
    oracle.none("peers with the words that were not asked", sum(|s| s.missed) as u64);
    oracle.equal("peers found", seen.into_iter().flat_map(|s| s.answers));
    let report = oracle.report().rows(rows).rows(state).chart(unions(&world)?);
    Ok(report.drawing(picture(&world)?).note(
        "Filters of a group's size take 8·N·n bits for the leaders alone, as much as all members' filters: groups \
         save filters and updates, not bits.",
    ))
}

/// The rate of a union by the size of the group, at the members' size and sized for ten.
fn unions(world: &World) -> Result<Chart> {
    let shape = Filled::of(WORDS, BITS);
    let mut series = Vec::new();
    for times in [1, GROUP as u64] {
        let m = shape.m * times;
        let rate =
            |group: f64| bloom::fpr_classic(m as f64, WORDS as f64 * group, f64::from(shape.k));
        let xs = (1..=40).map(f64::from);
        let mut one = Series::new(format!("{} bits a key of one member", times * BITS), xs, rate);
        for group in [1, 2, 4, 10, 20, 40] {
            let directory = Directory::new(&world.words, m, shape.k, group)?;
            let fills =
                (0..PEERS / group).map(|g| libm::pow(directory.group_fill(g), shape.k.into()));
            let filled = Filled { m, k: shape.k, n: WORDS * group as u64 };
            let measured = fills.sum::<f64>() / (PEERS / group) as f64;
            // Words that several members have are one key of the union.
            let bound = bound::mean(filled.rate(), filled.rate_sd(), (PEERS / group) as u64);
            one.point(group as f64, filled.rate(), measured, bound.widened(filled.rate(), 0.02));
        }
        series.push(one);
    }
    Ok(Chart::new(
        "union",
        "A union errs at least as often as its members (S0 Theorem 1)",
        [
            Axis::linear("members of a group"),
            Axis::log("false-positive rate of the group's filter"),
        ],
        series,
    ))
}

/// One query over two tiers: leaders inside, members outside.
fn picture(world: &World) -> Result<Drawing> {
    let shape = Filled::of(WORDS, BITS);
    let groups = PEERS / GROUP;
    let directory = Directory::new(&world.words, shape.m * GROUP as u64, shape.k, GROUP)?;
    let graph = stars(groups, GROUP);
    let query = &world.queries[0][..1];
    let holders = world.holders(query);
    let link = |peer: usize| Link {
        from: peer / GROUP,
        to: leaf(groups, GROUP, peer / GROUP, peer % GROUP),
    };
    // The members' own filters keep 8 bits a key.
    let members = Directory::new(&world.words, shape.m, shape.k, GROUP)?;
    let reached = directory.groups(query);
    let asked: Vec<usize> =
        members.peers(query).into_iter().filter(|peer| reached.contains(&(peer / GROUP))).collect();
    let (right, wrong): (Vec<usize>, Vec<usize>) =
        asked.iter().partition(|peer| holders.contains(peer));
    let links = |peers: &[usize]| peers.iter().map(|&peer| link(peer)).collect::<Vec<_>>();
    let names: Vec<(usize, String)> = reached.iter().map(|&g| (g, format!("group {g}"))).collect();
    Ok(drawing(
        "query",
        "One word, three holders: leaders that match are named",
        &graph,
        [&links(&right), &links(&wrong)],
        &names,
    ))
}

/// A bound of x as one of `times`·x.
fn scaled(bound: Bound, times: f64) -> Bound {
    affine(bound, 0.0, times)
}

/// A bound of x as one of `plus` + `times`·x.
fn affine(bound: Bound, plus: f64, times: f64) -> Bound {
    let moved = |end: Option<f64>| end.map(|end| plus + times * end);
    Bound { low: moved(bound.low), high: moved(bound.high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_wasted_requests() {
        let f = bloom::fpr_asymptotic(8.0, 1.0, 6.0);
        assert!((f - 0.02158).abs() < 6e-6);
        assert!((197.0 * f - 4.25).abs() < 5e-3 && (197.0 * f * f - 0.092).abs() < 5e-4);
    }
}
