//! Neighbors' and friends' filters on every link (catalogue A60; S0 §IV-B \[69\], Foreseer).
//!
//! ```text
//!   own store ─▶ friends' filters ─▶ neighbors' filters ─▶ one hop further through both ─▶ flooding
//! ```
//!
//! Neighbors are near in the network; friends are who answered before, since peers with the same interests have
//! what is wanted next. Each link carries the partner's filter, so that a request goes straight to who may have the
//! object. What flooding finds within the same hops is found. Before anything else is tried, a query for what
//! nobody near has costs (links)·f requests: 0.43 for 20 links at 8 bits a key.

use std::collections::{HashSet, VecDeque};

use everbloom::internals::hash::Generator;
use everbloom::{Bloom, Hasher, Result};

use super::Filled;
use crate::sim::{Graph, Link, Meter, Node, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// Peers with neighbors by place, and friends by past answers.
///
/// ```
/// use everbloom_lab::applications::peers::foreseer::{Foreseer, Stage};
///
/// let places = vec![(0.0, 0.0), (0.1, 0.0), (0.15, 0.0), (0.9, 0.9)];
/// let stores = vec![vec![], vec![1], vec![2], vec![3]];
/// let mut peers = Foreseer::new(places, stores, [1, 1], [1000, 5])?;
/// assert_eq!(peers.search(0, 1, 2).stage, Some(Stage::Neighbor));
/// assert_eq!(peers.search(0, 2, 2).stage, Some(Stage::Further));
/// peers.learn(0, 3);
/// assert_eq!(peers.search(0, 3, 2).stage, Some(Stage::Friend));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Foreseer {
    places: Vec<(f64, f64)>,
    stores: Vec<HashSet<u64>>,
    filters: Vec<Bloom>,
    neighbors: Vec<Vec<Node>>,
    /// The latest first.
    friends: Vec<VecDeque<Node>>,
    most_friends: usize,
}

/// Where a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// In the own store.
    Own,
    /// At a friend whose filter matched.
    Friend,
    /// At a neighbor whose filter matched.
    Neighbor,
    /// At a link of a link.
    Further,
    /// By flooding.
    Flood,
}

/// What a search found and cost.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The holder.
    pub at: Option<Node>,
    /// Where it was found.
    pub stage: Option<Stage>,
    /// Messages sent.
    pub meter: Meter,
    /// Who was asked in vain, and by whom.
    pub wrong: Vec<Link>,
    /// Of these, by the one who searches.
    pub wrong_direct: u64,
}

const MESSAGE: u64 = 64;

impl Foreseer {
    /// Peers at these places with these stores, so many neighbors and at most so many friends each, and filters of
    /// so many bits and probes.
    pub fn new(
        places: Vec<(f64, f64)>,
        stores: Vec<Vec<u64>>,
        [neighbors, most_friends]: [usize; 2],
        [m, k]: [u64; 2],
    ) -> Result<Self> {
        let empty = Bloom::with_shape(m, k as u32, Hasher::default())?;
        let filter = |store: &Vec<u64>| {
            let mut filter = empty.clone();
            filter.extend(store);
            filter
        };
        let near = |node: Node| {
            let (x, y) = places[node];
            let far = |other: &Node| {
                let (dx, dy) = (places[*other].0 - x, places[*other].1 - y);
                dx * dx + dy * dy
            };
            let mut others: Vec<Node> = (0..places.len()).filter(|other| *other != node).collect();
            others.sort_by(|a, b| far(a).total_cmp(&far(b)));
            others.truncate(neighbors);
            others
        };
        Ok(Self {
            filters: stores.iter().map(filter).collect(),
            neighbors: (0..places.len()).map(near).collect(),
            friends: vec![VecDeque::new(); places.len()],
            stores: stores.into_iter().map(|store| store.into_iter().collect()).collect(),
            most_friends,
            places,
        })
    }

    /// Makes who answered the latest friend; the oldest goes where there are too many. Neighbors are no friends.
    pub fn learn(&mut self, node: Node, holder: Node) {
        if node == holder || self.neighbors[node].contains(&holder) {
            return;
        }
        let friends = &mut self.friends[node];
        friends.retain(|friend| *friend != holder);
        friends.push_front(holder);
        friends.truncate(self.most_friends);
    }

    /// Friends first, then neighbors.
    fn links(&self, node: Node) -> impl Iterator<Item = Node> {
        self.friends[node].iter().chain(&self.neighbors[node]).copied()
    }

    /// Searches by filters two hops far, then floods up to `hops` hops.
    pub fn search(&self, from: Node, object: u64, hops: usize) -> Search {
        let mut search = Search::default();
        if self.stores[from].contains(&object) {
            (search.at, search.stage) = (Some(from), Some(Stage::Own));
            return search;
        }
        let mut asked = HashSet::from([from]);
        let stages = [
            (Stage::Friend, self.friends[from].iter().copied().collect::<Vec<_>>()),
            (Stage::Neighbor, self.neighbors[from].clone()),
        ];
        for (stage, partners) in stages {
            if self.ask(from, partners, object, &mut asked, &mut search) {
                search.stage = Some(stage);
                return search;
            }
        }
        search.wrong_direct = search.wrong.len() as u64;
        for partner in self.links(from) {
            search.meter.send(MESSAGE);
            let further = self.links(partner).collect();
            if self.ask(partner, further, object, &mut asked, &mut search) {
                search.stage = Some(Stage::Further);
                return search;
            }
        }
        let (reached, messages) = self.flood(from, hops);
        (0..messages).for_each(|_| search.meter.send(MESSAGE));
        search.at = reached.into_iter().find(|node| self.stores[*node].contains(&object));
        search.stage = search.at.map(|_| Stage::Flood);
        search
    }

    /// Requests to those of the partners whose filter matches and who were not asked yet, until one has it.
    fn ask(
        &self,
        from: Node,
        partners: Vec<Node>,
        object: u64,
        asked: &mut HashSet<Node>,
        search: &mut Search,
    ) -> bool {
        for to in partners {
            if !self.filters[to].contains(&object) || !asked.insert(to) {
                continue;
            }
            if self.stores[to].contains(&object) {
                search.meter.send(MESSAGE);
                search.at = Some(to);
                return true;
            }
            search.meter.send_in_vain(MESSAGE);
            search.wrong.push(Link { from, to });
        }
        false
    }

    /// Who is reached within `hops` hops over all links, and the messages it takes: each node sends to all links
    /// but the one it heard from, and so it is heard several times.
    pub fn flood(&self, from: Node, hops: usize) -> (Vec<Node>, u64) {
        let mut reached = vec![from];
        let mut seen = vec![false; self.stores.len()];
        seen[from] = true;
        let (mut start, mut messages) = (0, 0);
        for _ in 0..hops {
            let end = reached.len();
            for at in start..end {
                let before = reached.len();
                let node = reached[at];
                messages += self.links(node).count() as u64 - u64::from(at > 0).min(1);
                reached.extend(self.links(node));
                let mut kept = before;
                for i in before..reached.len() {
                    if !seen[reached[i]] {
                        seen[reached[i]] = true;
                        reached[kept] = reached[i];
                        kept += 1;
                    }
                }
                reached.truncate(kept);
            }
            start = end;
        }
        (reached, messages)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A60",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "the stores themselves, and flooding as far",
    data: "400 peers with 500 objects each of one of 20 topics; queries of which a share is in the own topic",
    experiment: Experiment {
        name: "foreseer",
        source: "S0 §IV-B [69]",
        title: "Neighbors' and friends' filters on every link",
        shows: "What flooding finds is found, with fewer messages the more queries stay in the peer's own \
                topic. 20 links cost 0.43 requests in vain at 8 bits a key.",
        run,
    },
};

const PEERS: usize = 400;
const TOPICS: u64 = 20;
const OBJECTS: u64 = 10_000;
const STORE: u64 = 500;
const BITS: u64 = 8;
const LINKS: [usize; 2] = [10, 10];
const HOPS: usize = 3;
const SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

fn network(seed: u64) -> Result<(Foreseer, Vec<u64>)> {
    let mut random = Generator::new(seed);
    let places = (0..PEERS).map(|_| (random.unit(), random.unit())).collect();
    let topics: Vec<u64> = (0..PEERS).map(|_| random.below(TOPICS)).collect();
    let store = |topic: &u64| {
        let mut store = HashSet::new();
        while (store.len() as u64) < STORE {
            store.insert(topic * OBJECTS + random.below(OBJECTS));
        }
        store.into_iter().collect()
    };
    let stores = topics.iter().map(store).collect();
    let shape = Filled::of(STORE, BITS);
    let mut network = Foreseer::new(places, stores, LINKS, [shape.m, shape.k.into()])?;
    for node in 0..PEERS {
        while network.friends[node].len() < LINKS[1] {
            let friend = random.below(PEERS as u64) as usize;
            network.learn(node, friend);
        }
    }
    Ok((network, topics))
}

#[derive(Default)]
struct Seen {
    found: Vec<(bool, bool)>,
    friends: Vec<(bool, bool)>,
    messages: u64,
    flooded: u64,
    answered: u64,
    wasted: u64,
}

fn try_one(seed: u64, share: f64, queries: u64) -> Result<Seen> {
    let (mut network, topics) = network(seed)?;
    let mut random = Generator::new(!seed);
    let mut seen = Seen::default();
    for _ in 0..queries {
        let from = random.below(PEERS as u64) as usize;
        let own = random.unit() < share;
        let topic = if own { topics[from] } else { random.below(TOPICS) };
        let object = topic * OBJECTS + random.below(OBJECTS);
        let has = |node: &Node| network.stores[*node].contains(&object);
        let (reached, messages) = network.flood(from, HOPS);
        let search = network.search(from, object, HOPS);
        seen.found.push((search.at.is_some(), reached.iter().any(has)));
        let friend = !has(&from) && network.friends[from].iter().any(has);
        seen.friends.push((search.stage == Some(Stage::Friend), friend));
        seen.messages += search.meter.messages;
        seen.flooded += messages;
        seen.answered += u64::from(search.at.is_some());
        if let Some(holder) = search.at {
            network.learn(from, holder);
        }
        // What nobody has: only the first round is of interest.
        let absent = TOPICS * OBJECTS + random.next_u64() / 2;
        let asked = network.links(from).filter(|to| network.filters[*to].contains(&absent));
        seen.wasted += asked.count() as u64;
    }
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, queries) = (lab.scaled(2), 500);
    let mut oracle = Oracle::default();
    let mut ours = Series::new("Foreseer", [], |_| 0.0);
    let mut flooding = Series::new("flooding", [], |_| 0.0);
    let mut friends = Series::new("answered by a friend", [], |_| 0.0);
    let (mut found, mut by_friend, mut wasted) = (Vec::new(), Vec::new(), 0);
    for share in SHARES {
        let seen = lab.runs(runs, |seed| try_one(seed, share, queries))?;
        let all = (runs * queries) as f64;
        let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>() as f64;
        let flooded = sum(|s| s.flooded) / all;
        flooding.curve.push((share, flooded));
        let messages = sum(|s| s.messages) / all;
        // Both stages of filters before a flood take a message for each link, and requests.
        ours.point(share, messages, messages, Bound::at_most(flooded));
        let answered = sum(|s| s.answered);
        wasted += seen.iter().map(|s| s.wasted).sum::<u64>();
        let hits = |at: fn(&(bool, bool)) -> bool| {
            seen.iter().flat_map(|s| &s.friends).filter(|pair| at(pair)).count() as f64 / answered
        };
        let truth = hits(|pair| pair.1);
        friends.curve.push((share, truth));
        friends.point(share, truth, hits(|pair| pair.0), Bound::exactly(truth, 1e-12));
        for one in seen {
            found.extend(one.found);
            by_friend.extend(one.friends);
        }
    }
    oracle.equal("objects found as by flooding", found);
    oracle.equal("answers by friends who have it", by_friend);
    let shape = Filled::of(STORE, BITS);
    let links = (LINKS[0] + LINKS[1]) as f64;
    let asked = runs * queries * SHARES.len() as u64;
    let mut rows = Rows::new("wasted", "Requests in vain", Axis::linear("for each query"));
    let mean = wasted as f64 / asked as f64;
    let (f, sd) = (shape.rate(), shape.rate_sd());
    // A query asks 20 filters of the 400 of each run.
    let per_filter = asked as f64 * links / (runs as f64 * PEERS as f64);
    let share = bound::rate(f, sd, runs * PEERS as u64, per_filter as u64);
    let scaled = |end: Option<f64>| end.map(|end| end * links);
    let bound = Bound { low: scaled(share.low), high: scaled(share.high) };
    rows.row("20 links at 8 bits a key (0.43)", links * f, mean, bound);
    let chart = |id: &str, title: &str, y: Axis, series| {
        Chart::new(id, title, [Axis::linear("share of queries in the own topic"), y], series)
    };
    let costs = Axis::log("messages for each query");
    let messages = chart("messages", "Messages beside flooding", costs, vec![flooding, ours]);
    let title = "Answers that come from friends";
    let hits = chart("friends", title, Axis::linear("share of answers"), vec![friends]);
    Ok(oracle.report().rows(rows).chart(messages).chart(hits).drawing(picture(lab)?))
}

/// A search that asks somebody in vain, among 60 peers with few bits.
fn picture(lab: &Lab) -> Result<Drawing> {
    let mut random = Generator::new(lab.seed());
    let places: Vec<(f64, f64)> = (0..60).map(|_| (random.unit(), random.unit())).collect();
    let stores: Vec<Vec<u64>> =
        (0..60).map(|_| (0..50).map(|_| random.next_u64()).collect()).collect();
    let mut network = Foreseer::new(places.clone(), stores.clone(), [4, 3], [200, 3])?;
    for node in 0..60 {
        (0..3).for_each(|_| network.learn(node, random.below(60) as usize));
    }
    let searches = (0..60).flat_map(|to| {
        let network = &network;
        let object = stores[to][0];
        (0..60).map(move |from| (from, network.search(from, object, HOPS)))
    });
    let further = searches.filter(|(_, search)| search.stage == Some(Stage::Further));
    let best = further.max_by_key(|(_, search)| search.wrong.len());
    let (from, search) = best.unwrap_or_default();
    let to = search.at.unwrap_or(from);
    let mut graph = Graph::at(network.places.clone());
    for node in 0..60 {
        network.neighbors[node].iter().for_each(|other| {
            graph.link(node, *other);
        });
    }
    let via = network.links(from).find(|partner| network.links(*partner).any(|far| far == to));
    let via = via.unwrap_or(from);
    let mut right = vec![Link { from, to: via }, Link { from: via, to }];
    right.retain(|link| link.from != link.to);
    search.wrong.iter().chain(&right).for_each(|link| {
        graph.link(link.from, link.to);
    });
    let names = [(from, "asks".to_owned()), (to, "has it".to_owned())];
    let title = format!("A search over two hops: {} requests in vain", search.wrong.len());
    Ok(drawing("search", &title, &graph, [&right, &search.wrong], &names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use everbloom::internals::theory::bloom;

    #[test]
    fn a60_requests_in_vain() {
        assert!((20.0 * bloom::fpr_asymptotic(8.0, 1.0, 6.0) - 0.43).abs() < 5e-3);
    }

    #[test]
    fn a_friend_is_learned_once_and_the_oldest_goes() {
        let places = (0..6).map(|i| (f64::from(i), 0.0)).collect();
        let mut peers = Foreseer::new(places, vec![vec![]; 6], [1, 2], [100, 2]).unwrap();
        for holder in [0, 1, 3, 4, 3, 5] {
            peers.learn(0, holder);
        }
        assert_eq!(peers.friends[0], [5, 3]);
    }
}
