//! Multicast with a filter for each interface (catalogue A18; S1 §7.3, S0 §IV-C4 \[80\]).
//!
//! ```text
//!   packet of group g ──▶ interface 1   g? no          a copy leaves by every interface
//!        (came by 4)  ──▶ interface 2   g? yes ──▶     whose filter says yes, but not by
//!                     ──▶ interface 3   g? yes ──▶     the one that the packet came by
//! ```
//!
//! A router keeps a counting filter of the groups joined behind each interface ([`FilterBank`]), and no table of
//! groups: joins insert, leaves remove. No member is missed. Each of the other interfaces gets a copy in vain with
//! the rate f of its filter.

use std::collections::{BTreeSet, HashMap};

use everbloom::grouping::FilterBank;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Result, Verdict};

use crate::sim::in_packet::{false_links, spread};
use crate::sim::{Link, Node, Topology, drawing, shuffle};
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// Which interfaces a packet of a group leaves by.
///
/// ```
/// use everbloom_lab::applications::forwarding::multicast::Router;
/// let mut router = Router::new(4, 100, 10.0)?;
/// router.join(7, 1)?;
/// router.join(7, 3)?;
/// assert_eq!(router.out(7, Some(3)), [1]);
/// router.leave(7, 1)?;
/// assert_eq!(router.out(7, None), [3]);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Router {
    bank: FilterBank,
    interfaces: u64,
}

impl Router {
    /// A router with filters of `bits_per_group` bits for each of `groups` groups at every interface.
    pub fn new(interfaces: u64, groups: u64, bits_per_group: f64) -> Result<Self> {
        let m = ((groups as f64 * bits_per_group).ceil() as u64).max(64);
        let bank = FilterBank::builder()
            .set("groups", interfaces)
            .set("policy", "all")
            .set("m", m * interfaces)
            .set("k", u64::from(bloom::best_k(m, groups.max(1))))
            .build()?;
        Ok(Self { bank, interfaces })
    }

    /// Someone behind the interface wants the group.
    pub fn join(&mut self, group: u64, interface: u64) -> Result<()> {
        self.bank.insert(&group, &interface.to_le_bytes()).map(drop)
    }

    /// Nobody behind the interface wants the group any longer. Refused where it was not joined.
    pub fn leave(&mut self, group: u64, interface: u64) -> Result<()> {
        self.bank.remove(&group, &interface.to_le_bytes())
    }

    /// Whether packets of the group leave by this interface.
    pub fn wants(&self, group: u64, interface: u64) -> bool {
        self.bank.contains(&group, &interface.to_le_bytes()) != Verdict::Absent
    }

    /// The interfaces that a packet leaves by: not the one it came by.
    pub fn out(&self, group: u64, came_by: Option<u64>) -> Vec<u64> {
        let others = (0..self.interfaces).filter(|i| Some(*i) != came_by);
        others.filter(|&interface| self.wants(group, interface)).collect()
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A18",
    form: Form::Simulation,
    uses: &["filter-bank"],
    oracle: "a table of the interfaces of every group",
    data: "groups with members behind 3 of 16 interfaces; trees of 6 receivers in a network of 60 routers",
    experiment: Experiment {
        name: "multicast",
        source: "S1 §7.3, S0 §IV-C4 [80]",
        title: "Multicast with a filter for each interface",
        shows: "No member is missed, and a packet has f copies in vain for each interface without members: \
                0.1065 at 13 of them and 10 bits a group.",
        run,
    },
};

const INTERFACES: u64 = 16;
const MEMBERS: usize = 3;
const GROUPS: u64 = 8_000;
const BITS: [f64; 3] = [6.0, 8.0, 10.0];

/// Copies in vain of a packet, and answers beside the table's: what must be reached, and whether it was.
fn one_router(seed: u64, bits: f64) -> Result<(f64, u64)> {
    let per_interface = GROUPS * MEMBERS as u64 / INTERFACES;
    let mut router = Router::new(INTERFACES, per_interface, bits)?;
    let mut random = Generator::new(seed);
    let mut table: HashMap<u64, BTreeSet<u64>> = HashMap::new();
    let mut interfaces: Vec<u64> = (0..INTERFACES).collect();
    // A quarter more joins, and leaves again: the filters must forget these and no others.
    for group in 0..GROUPS + GROUPS / 4 {
        shuffle(&mut interfaces, &mut random);
        for &interface in &interfaces[..MEMBERS] {
            router.join(group, interface)?;
            table.entry(group).or_default().insert(interface);
        }
    }
    for group in GROUPS..GROUPS + GROUPS / 4 {
        for interface in table.remove(&group).into_iter().flatten() {
            router.leave(group, interface)?;
        }
    }
    let (mut vain, mut missed) = (0, 0);
    for (group, members) in &table {
        let came_by = members.first().copied();
        let out: BTreeSet<u64> = router.out(*group, came_by).into_iter().collect();
        missed += members.iter().filter(|i| Some(**i) != came_by && !out.contains(i)).count();
        missed += usize::from(came_by.is_some_and(|i| out.contains(&i)));
        vain += out.difference(members).count();
    }
    Ok((vain as f64 / table.len() as f64, missed as u64))
}

/// A network of routers, and the trees of its groups.
struct Network {
    graph: crate::sim::Graph,
    routers: Vec<Router>,
    trees: Vec<(Node, Vec<Node>, Vec<Link>)>,
}

const TREES: u64 = 300;
const RECEIVERS: usize = 6;

impl Network {
    fn new(seed: u64, bits: f64) -> Result<Self> {
        let graph = Topology::UnitDisk { nodes: 60, radius: 0.22 }.build(seed);
        let mut random = Generator::new(!seed);
        let mut nodes: Vec<Node> = (0..graph.len()).collect();
        let mut trees = Vec::new();
        let mut loads: HashMap<Link, u64> = HashMap::new();
        for _ in 0..TREES {
            shuffle(&mut nodes, &mut random);
            let (root, receivers) = (nodes[0], nodes[1..=RECEIVERS].to_vec());
            let links = graph.tree(root, &receivers);
            links.iter().for_each(|link| *loads.entry(*link).or_default() += 1);
            trees.push((root, receivers, links));
        }
        let routers = (0..graph.len()).map(|from| {
            let load = |&to: &Node| loads.get(&Link { from, to }).copied().unwrap_or(0);
            let most = graph.neighbors(from).iter().map(load).max().unwrap_or(0);
            Router::new(graph.len() as u64, most, bits)
        });
        let mut network = Self { routers: routers.collect::<Result<_>>()?, graph, trees };
        for group in 0..network.trees.len() {
            for link in network.trees[group].2.clone() {
                network.routers[link.from].join(group as u64, link.to as u64)?;
            }
        }
        Ok(network)
    }

    /// Half of the receivers leave, and branches without receivers are taken off.
    fn half_leave(&mut self) -> Result<()> {
        for group in 0..self.trees.len() {
            let (root, receivers, links) = &mut self.trees[group];
            receivers.truncate(RECEIVERS / 2);
            let left = self.graph.tree(*root, receivers);
            for link in false_links(links, &left) {
                self.routers[link.from].leave(group as u64, link.to as u64)?;
            }
            self.trees[group].2 = left;
        }
        Ok(())
    }

    /// The links that a packet of a group takes.
    fn send(&self, group: usize) -> Vec<Link> {
        let wants = |link: Link| self.routers[link.from].wants(group as u64, link.to as u64);
        spread(&self.graph, self.trees[group].0, wants)
    }

    /// Links of trees that packets do not take, links beside trees that they take, and links of trees.
    fn judge(&self) -> (u64, u64, u64) {
        let (mut missed, mut vain, mut all) = (0, 0, 0);
        for (group, (_, _, links)) in self.trees.iter().enumerate() {
            let used = self.send(group);
            missed += false_links(links, &used).len();
            vain += false_links(&used, links).len();
            all += links.len();
        }
        (missed as u64, vain as u64, all as u64)
    }
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(3);
    let mut oracle = Oracle::default();
    let others = (INTERFACES as usize - MEMBERS) as f64;
    let curve = |bits: f64| others * bloom::fpr_best(bits);
    let xs = (20..=60).map(|i| f64::from(i) / 5.0);
    let mut series = Series::new("f for each of 13 interfaces", xs, curve);
    let n = GROUPS * MEMBERS as u64 / INTERFACES;
    for bits in BITS {
        let m = (n as f64 * bits) as u64;
        let f = bloom::fpr_exact(m, n, bloom::best_k(m, n));
        let seen = lab.runs(runs, |seed| one_router(seed, bits))?;
        let mean = seen.iter().map(|(vain, _)| vain).sum::<f64>() / runs as f64;
        let trials = runs * GROUPS * others as u64;
        // Interfaces differ in their number of groups by 2 %, and with it their rates by up to 5 %.
        let bound = bound::share(f, trials).widened(f, 0.05).map(|share| share * others);
        series.point(bits, others * f, mean, bound);
        let missed = seen.iter().map(|(_, missed)| missed).sum();
        oracle.none(&format!("interfaces missed at {bits} bits a group"), missed);
    }
    let mut network = Network::new(lab.seed(), 8.0)?;
    let mut rows = Rows::new(
        "network",
        "A network of 60 routers: links taken in vain for one of a tree",
        Axis::linear("links for each link of a tree"),
    );
    let mut judge = |network: &Network, when: &str, expected: f64| {
        let (missed, vain, all) = network.judge();
        oracle.none(&format!("links of trees not taken, {when}"), missed);
        let measured = vain as f64 / all as f64;
        // Interfaces are filled differently, most of them less than planned for.
        rows.row(when, expected, measured, Bound::between(0.0, expected));
    };
    let degree = 2.0 * network.graph.links().count() as f64 / network.graph.len() as f64;
    let most = degree * bloom::fpr_best(8.0);
    judge(&network, "all receivers joined", most);
    network.half_leave()?;
    judge(&network, "half of them left", most);
    let chart = Chart::new(
        "copies",
        "Copies of a packet in vain: 16 interfaces, members behind 3",
        [
            Axis::linear("bits of filter for each group of an interface"),
            Axis::log("copies in vain"),
        ],
        [series],
    );
    let bits: u64 = n * 10;
    Ok(oracle.report().chart(chart).rows(rows).drawing(picture(lab)?).note(format!(
        "No table of groups: at 10 bits a group an interface with {n} groups has a filter of {bits} bits in \
         the data plane; a list of its groups' IPv4 addresses would have {}.",
        n * 32
    )))
}

/// The group with the most links in vain, in filters of 4 bits a group.
fn picture(lab: &Lab) -> Result<crate::Drawing> {
    let network = Network::new(lab.seed(), 4.0)?;
    let wrong = |group: usize| false_links(&network.send(group), &network.trees[group].2);
    let group = (0..network.trees.len()).max_by_key(|g| wrong(*g).len()).unwrap_or(0);
    let (root, receivers, links) = &network.trees[group];
    let mut names = vec![(*root, "source".to_owned())];
    names.extend(receivers.iter().map(|&node| (node, "member".to_owned())));
    let wrong = wrong(group);
    let title =
        format!("A group's tree, and {} links taken in vain at 4 bits a group", wrong.len());
    Ok(drawing("tree", &title, &network.graph, [links, &wrong], &names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a18_copies_in_vain() {
        let f = bloom::fpr_asymptotic(10.0, 1.0, 7.0);
        assert!((f - 0.008194).abs() < 1e-6);
        assert!((13.0 * f - 0.1065).abs() < 5e-5);
    }

    #[test]
    fn what_was_not_joined_cannot_be_left() {
        let mut router = Router::new(2, 10, 10.0).unwrap();
        assert!(router.leave(1, 0).is_err());
        router.join(1, 0).unwrap();
        assert!(router.leave(1, 1).is_err());
        assert!(router.wants(1, 0));
    }
}
