//! Leaves tell their ultrapeer what they have (catalogue A7; S0 §IV-B \[67\]).
//!
//! ```text
//!   leaf ─── filter ──▶ ultrapeer ─── OR of its leaves ──▶ neighboring ultrapeers
//!   a query floods the ultrapeers; its last hop, and the hop to a leaf, are taken only where the filter matches
//! ```
//!
//! All filters have one m, k and seed, or they cannot be united: a leaf that comes with another shape is refused.
//! The union's fill is 1 − Π(1 − ρ_i), and a query without an answer passes it with ρ^k: 30 leaves at a fill of
//! 0.05 give 0.785, and 0.617 at k = 2. So the filters are sized for the union, not for a leaf.
//!
//! **The trap** is a leaf that goes: bits cannot be taken out of a union, since other leaves share them. The rest
//! are united again.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Bloom, HashId, Hasher, Result};

use super::{Expected, Filled};
use crate::sim::{Graph, Link, Meter, Topology, drawing, leaf, stars};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// The filters of an ultrapeer's leaves, and their union.
///
/// ```
/// use everbloom::{Bloom, Hasher};
/// use everbloom_lab::applications::peers::gnutella::Ultrapeer;
///
/// let empty = Bloom::with_shape(1000, 3, Hasher::default())?;
/// let mut ultrapeer = Ultrapeer::new(empty.clone());
/// let mut songs = empty.clone();
/// songs.insert("song");
/// ultrapeer.join(7, songs)?;
/// ultrapeer.join(8, empty)?;
/// assert!(ultrapeer.may_have("song"));
/// assert_eq!(ultrapeer.leaves("song"), [7]);
/// ultrapeer.leave(7)?;
/// assert!(!ultrapeer.may_have("song"));
/// // Another shape or seed cannot be united.
/// assert!(ultrapeer.join(9, Bloom::with_shape(1000, 3, Hasher::seeded(5))?).is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone)]
pub struct Ultrapeer {
    empty: Bloom,
    leaves: BTreeMap<u64, Bloom>,
    union: Bloom,
}

impl Ultrapeer {
    /// An ultrapeer whose leaves have filters of the shape and seed of this empty one.
    pub fn new(empty: Bloom) -> Self {
        Self { union: empty.clone(), leaves: BTreeMap::new(), empty }
    }

    /// A leaf comes, or brings a new filter.
    pub fn join(&mut self, leaf: u64, filter: Bloom) -> Result<()> {
        self.empty.clone().union(&filter)?;
        match self.leaves.insert(leaf, filter) {
            Some(_) => self.unite(),
            None => self.union.union(&self.leaves[&leaf]),
        }
    }

    /// A leaf goes: the others are united again. Returns whether it was there.
    pub fn leave(&mut self, leaf: u64) -> Result<bool> {
        let was = self.leaves.remove(&leaf).is_some();
        self.unite()?;
        Ok(was)
    }

    fn unite(&mut self) -> Result<()> {
        self.union = self.empty.clone();
        self.leaves.values().try_for_each(|leaf| self.union.union(leaf))
    }

    /// Whether a leaf may have it.
    pub fn may_have<K: everbloom::Key + ?Sized>(&self, key: &K) -> bool {
        self.union.contains(key)
    }

    /// The leaves that may have it.
    pub fn leaves<K: everbloom::Key + ?Sized>(&self, key: &K) -> Vec<u64> {
        self.leaves.iter().filter(|(_, f)| f.contains(key)).map(|(leaf, _)| *leaf).collect()
    }

    /// The union of the leaves' filters, which neighbors get.
    pub fn union(&self) -> &Bloom {
        &self.union
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A7",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "the leaves' sets of words, and flooding as far",
    data: "80 ultrapeers with 6 links and 30 leaves each; queries for words of some leaves and of none",
    experiment: Experiment {
        name: "gnutella",
        source: "S0 §IV-B [67]",
        title: "Leaves tell their ultrapeer what they have",
        shows: "Whatever flooding finds within two hops is found. 30 leaves with a fill of 0.05 give a union \
                of 0.785, which lets 0.617 of all queries pass at k = 2; sized for the union, few.",
        run,
    },
};

const ULTRAPEERS: usize = 80;
const DEGREE: usize = 6;
const LEAVES: usize = 30;
/// Words of a leaf: a fill of 0.05 in [`SMALL`].
const WORDS: u64 = 105;
/// Ultrapeers whose unions are averaged.
const TRIED: u64 = 30;
const QUERY_BYTES: u64 = 80;
/// m and k at a leaf's size, and at 8 bits for a word of the union.
const SMALL: (u64, u32) = (4096, 2);
const LARGE: (u64, u32) = (8 * WORDS * LEAVES as u64, 6);

/// Words by ultrapeer and leaf.
fn words(seed: u64) -> Vec<Vec<Vec<u64>>> {
    let mut random = Generator::new(seed);
    let mut leaf = || (0..WORDS).map(|_| random.next_u64()).collect();
    (0..ULTRAPEERS).map(|_| (0..LEAVES).map(|_| leaf()).collect()).collect()
}

/// The hash function of all filters, named so that bits can be made a filter again.
fn hasher() -> Result<Hasher> {
    Hasher::with_id(HashId::Xxh3_128, 0)
}

fn ultrapeer(words: &[Vec<u64>], (m, k): (u64, u32)) -> Result<Ultrapeer> {
    let empty = Bloom::with_shape(m, k, hasher()?)?;
    let mut ultrapeer = Ultrapeer::new(empty.clone());
    for (leaf, words) in (0..).zip(words) {
        let mut filter = empty.clone();
        filter.extend(words);
        ultrapeer.join(leaf, filter)?;
    }
    Ok(ultrapeer)
}

/// One query from an ultrapeer: to all its neighbors, and from there, if filters let it, one hop further.
struct Query<'a> {
    graph: &'a Graph,
    ultrapeers: &'a [Ultrapeer],
    words: &'a [Vec<Vec<u64>>],
}

/// Leaves by their ultrapeer.
type Found = BTreeSet<(usize, u64)>;

#[derive(Default)]
struct Walk {
    found: Found,
    meter: Meter,
    /// Messages that filters let pass in vain, expected from their fills.
    expected: Expected,
    wrong: Vec<(usize, Option<u64>)>,
}

impl Query<'_> {
    /// Sends that reach an ultrapeer on the last hop, by ultrapeer, and the ultrapeers reached before.
    fn horizon(&self, from: usize) -> (BTreeMap<usize, u64>, Vec<usize>) {
        let near: Vec<usize> =
            std::iter::once(from).chain(self.graph.neighbors(from).iter().copied()).collect();
        let mut last = BTreeMap::new();
        for &hub in &near[1..] {
            for &next in self.graph.neighbors(hub).iter().filter(|next| !near.contains(next)) {
                *last.entry(next).or_default() += 1;
            }
        }
        (last, near)
    }

    fn flood(&self, from: usize, word: u64) -> Walk {
        let (last, near) = self.horizon(from);
        let mut walk = Walk::default();
        let hubs: u64 = (near.len() - 1) as u64 + last.values().sum::<u64>();
        let reached: Vec<usize> = near.into_iter().chain(last.into_keys()).collect();
        (0..hubs + (reached.len() * LEAVES) as u64).for_each(|_| walk.meter.send(QUERY_BYTES));
        for hub in reached {
            let has = |i: &usize| self.words[hub][*i].contains(&word);
            walk.found.extend((0..LEAVES).filter(has).map(|leaf| (hub, leaf as u64)));
        }
        walk
    }

    fn filtered(&self, from: usize, word: u64) -> Walk {
        let (last, near) = self.horizon(from);
        let mut walk = Walk::default();
        near[1..].iter().for_each(|_| walk.meter.send(QUERY_BYTES));
        let mut reached = near;
        for (hub, sends) in last {
            let right = self.words[hub].iter().any(|words| words.contains(&word));
            let passes = self.ultrapeers[hub].may_have(&word);
            if !right {
                walk.expected.add(sends as f64, passing(self.ultrapeers[hub].union()));
            }
            if passes {
                for _ in 0..sends {
                    send(&mut walk.meter, right);
                }
                reached.push(hub);
                walk.wrong.extend((!right).then_some((hub, None)));
            }
        }
        for hub in reached {
            for leaf in self.ultrapeers[hub].leaves(&word) {
                let right = self.words[hub][leaf as usize].contains(&word);
                send(&mut walk.meter, right);
                if right {
                    walk.found.insert((hub, leaf));
                } else {
                    walk.wrong.push((hub, Some(leaf)));
                }
            }
        }
        walk
    }
}

fn send(meter: &mut Meter, right: bool) {
    if right { meter.send(QUERY_BYTES) } else { meter.send_in_vain(QUERY_BYTES) }
}

/// The rate at which a filter lets pass what it does not have.
fn passing(filter: &Bloom) -> f64 {
    libm::pow(filter.bits().fill(), filter.k().into())
}

#[derive(Default)]
struct Seen {
    pairs: Vec<(Found, Found)>,
    flooded: Meter,
    filtered: Meter,
    last_hops: u64,
    expected: Expected,
}

fn try_one(seed: u64, shape: (u64, u32), queries: u64) -> Result<Seen> {
    let words = words(seed);
    let ultrapeers: Vec<Ultrapeer> =
        words.iter().map(|leaves| ultrapeer(leaves, shape)).collect::<Result<_>>()?;
    let graph = Topology::RandomRegular { nodes: ULTRAPEERS, degree: DEGREE }.build(seed);
    let query = Query { graph: &graph, ultrapeers: &ultrapeers, words: &words };
    let mut random = Generator::new(!seed);
    let mut seen = Seen::default();
    for i in 0..queries {
        let from = random.below(ULTRAPEERS as u64) as usize;
        let hub = random.below(ULTRAPEERS as u64) as usize;
        let leaf = random.below(LEAVES as u64) as usize;
        // Every second query is for a word that nobody has.
        let word =
            if i % 2 == 0 { words[hub][leaf][(i % WORDS) as usize] } else { random.next_u64() };
        let (flood, walk) = (query.flood(from, word), query.filtered(from, word));
        seen.pairs.push((walk.found, flood.found));
        seen.flooded += flood.meter;
        seen.filtered += walk.meter;
        let (sends, _) = query.horizon(from);
        let hubs = walk.wrong.iter().filter(|(_, leaf)| leaf.is_none());
        seen.last_hops += hubs.map(|(hub, _)| sends[hub]).sum::<u64>();
        seen.expected += walk.expected;
    }
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, queries) = (lab.scaled(2), 200);
    let mut oracle = Oracle::default();
    let mut costs = Rows::new("messages", "Messages of a query", Axis::log("messages"));
    for (shape, size) in [(SMALL, "sized for a leaf"), (LARGE, "sized for the union")] {
        let seen = lab.runs(runs, |seed| try_one(seed, shape, queries))?;
        let all = (runs * queries) as f64;
        let (mut flooded, mut filtered) = (Meter::default(), Meter::default());
        let (mut expected, mut last) = (Expected::default(), 0);
        for s in &seen {
            flooded += s.flooded;
            filtered += s.filtered;
            expected += s.expected;
            last += s.last_hops;
        }
        let (mean, bound) = expected.over(all);
        costs.row(format!("last hops in vain, {size}"), mean, last as f64 / all, bound);
        let (flood, ours) = (flooded.messages as f64 / all, filtered.messages as f64 / all);
        costs.row(format!("all, {size} (flooding: {flood:.0})"), ours, ours, Bound::at_most(flood));
        let pairs = seen.into_iter().flat_map(|s| s.pairs);
        oracle.equal(&format!("leaves found, {size}"), pairs);
    }
    let mut traps = Rows::new("union", "The union", Axis::linear("share"));
    departures(lab, &mut traps)?;
    let (chart, [fill, rate]) = growth(lab)?;
    let filled = Filled { m: SMALL.0, k: SMALL.1, n: LEAVES as u64 * WORDS };
    let sd = bloom::fill_sd(filled.m as f64, f64::from(filled.k) * filled.n as f64);
    // The paper's numbers have three digits, and a leaf's words are a whole number.
    let near = |printed: f64, sd: f64| bound::mean(printed, sd, TRIED).widened(printed, 1e-3);
    traps.row("fill of 30 leaves at 0.05", 0.785, fill, near(0.785, sd));
    traps.row("queries that pass it at k = 2", 0.617, rate, near(0.617, filled.rate_sd()));
    Ok(oracle.report().rows(costs).rows(traps).chart(chart).drawing(picture(lab)?))
}

/// What is lost if the bits of a leaf that goes are cleared, and if the others are united again.
fn departures(lab: &Lab, rows: &mut Rows) -> Result<()> {
    let words = words(lab.seed());
    let (mut cleared, mut united, mut stale, mut all) = (0, 0, 0, 0);
    let mut expected = Expected::default();
    for leaves in words.iter().take(20) {
        let mut ultrapeer = ultrapeer(leaves, SMALL)?;
        let mut bits = ultrapeer.union().bits().clone();
        let gone = ultrapeer.leaves[&0].bits().clone();
        (0..gone.len()).filter(|&i| gone.get(i)).for_each(|i| bits.reset(i));
        let wrong = Bloom::from_bits(bits, SMALL.1, hasher()?, 0)?;
        ultrapeer.leave(0)?;
        let rest = self::ultrapeer(&leaves[1..], SMALL)?;
        stale += ultrapeer.union().bits().ones() - rest.union().bits().ones();
        let lost = 1.0 - libm::pow(1.0 - gone.fill(), SMALL.1.into());
        for word in leaves[1..].iter().flatten() {
            all += 1;
            cleared += u64::from(!wrong.contains(word));
            united += u64::from(!ultrapeer.may_have(word));
            expected.add(1.0, lost);
        }
    }
    let (mean, bound) = expected.over(f64::from(all));
    let share = |count: u64| count as f64 / f64::from(all);
    // Words of different leaves share bits, so that their losses are not quite independent.
    let bound = bound.widened(mean, 0.05);
    rows.row("words lost if a leaf's bits are cleared", mean, share(cleared), bound);
    rows.row(
        "words lost if the rest are united again",
        0.0,
        share(united),
        Bound::exactly(0.0, 0.0),
    );
    rows.row("bits left of the leaf that went", 0.0, stale as f64, Bound::exactly(0.0, 0.0));
    Ok(())
}

/// Queries that pass the union, by the number of leaves; and the union of 30 leaves at a fill of 0.05.
fn growth(lab: &Lab) -> Result<(Chart, [f64; 2])> {
    let hubs = words(lab.seed());
    let mut at_thirty = [0.0; 2];
    let mut series = Vec::new();
    for ((m, k), size) in [(SMALL, "4096 bits, k = 2"), (LARGE, "8 bits for a word of 30 leaves")] {
        let rate = |leaves: f64| bloom::fpr_classic(m as f64, leaves * WORDS as f64, f64::from(k));
        let mut one = Series::new(size, (1..=30).map(f64::from), rate);
        for leaves in [1, 2, 5, 10, 20, 30] {
            let unions: Vec<f64> = hubs[..TRIED as usize]
                .iter()
                .map(|words| Ok(ultrapeer(&words[..leaves], (m, k))?.union().bits().fill()))
                .collect::<Result<_>>()?;
            let rates: Vec<f64> = unions.iter().map(|fill| libm::pow(*fill, k.into())).collect();
            let (fill, _) = bound::mean_and_sd(&unions);
            let (mean, _) = bound::mean_and_sd(&rates);
            let filled = Filled { m, k, n: leaves as u64 * WORDS };
            let bound = bound::mean(filled.rate(), filled.rate_sd(), TRIED);
            one.point(leaves as f64, filled.rate(), mean, bound);
            if leaves == 30 && m == SMALL.0 {
                at_thirty = [fill, mean];
            }
        }
        series.push(one);
    }
    let chart = Chart::new(
        "growth",
        "Queries that pass the union of an ultrapeer's leaves in vain",
        [Axis::linear("leaves"), Axis::log("share of queries")],
        series,
    );
    Ok((chart, at_thirty))
}

/// A small network: 10 ultrapeers with 8 leaves each, filters sized for a leaf.
fn picture(lab: &Lab) -> Result<Drawing> {
    let (hubs, leaves) = (10, 8);
    let mut words = words(lab.seed());
    words.truncate(hubs);
    words.iter_mut().for_each(|all| all.truncate(leaves));
    let ultrapeers: Vec<Ultrapeer> =
        words.iter().map(|all| ultrapeer(all, (1024, 2))).collect::<Result<_>>()?;
    let network = Topology::RandomRegular { nodes: hubs, degree: 3 }.build(lab.seed());
    let mut graph = stars(hubs, leaves);
    network.links().for_each(|link| {
        graph.link(link.from, link.to);
    });
    let query = Query { graph: &network, ultrapeers: &ultrapeers, words: &words };
    let (last, near) = query.horizon(0);
    // A word of the last ultrapeer that is two hops away, so that the picture shows an answer.
    let hub = last.keys().next_back().copied().unwrap_or(near[1]);
    let walk = query.filtered(0, words[hub][3][0]);
    let from = |hub: usize| {
        let via = near[1..].iter().find(|n| network.neighbors(**n).contains(&hub));
        via.copied().unwrap_or(0)
    };
    let mut right: Vec<Link> = near[1..].iter().map(|&to| Link { from: 0, to }).collect();
    for &(hub, i) in &walk.found {
        right.push(Link { from: from(hub), to: hub });
        right.push(Link { from: hub, to: leaf(hubs, leaves, hub, i as usize) });
    }
    let wrong = walk.wrong.iter().map(|&(hub, i)| match i {
        None => Link { from: from(hub), to: hub },
        Some(i) => Link { from: hub, to: leaf(hubs, leaves, hub, i as usize) },
    });
    let wrong: HashSet<Link> = wrong.collect();
    let wrong: Vec<Link> = wrong.into_iter().collect();
    let names = [(0, "asks".to_owned()), (leaf(hubs, leaves, hub, 3), "has it".to_owned())];
    let title = "A query over two hops with filters too small for a union";
    Ok(drawing("query", title, &graph, [&right, &wrong], &names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a7_thirty_leaves() {
        let fill = 1.0 - libm::pow(0.95, 30.0);
        assert!((fill - 0.785).abs() < 5e-4 && (fill * fill - 0.617).abs() < 5e-4);
        assert!((bloom::fill(4096.0, 2.0 * WORDS as f64) - 0.05).abs() < 2e-4);
    }
}
