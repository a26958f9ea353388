//! LIPSIN: multicast trees in the packet (catalogue A19; S0 §IV-C4 \[84\]).
//!
//! ```text
//!             ┌─▶ c ─▶ f      header = OR of the identifiers of a─b, b─c, c─f, b─d
//!   a ──▶ b ──┤
//!             └─▶ d    e      a node tests the identifiers of its own links: (header & id) == id
//!                      ╰ a wrong branch, with C(ones, k)/C(m, k)
//! ```
//!
//! A link has an identifier of m = 256 bits with k = 5 ones in each of d tables. The sender ORs those of the tree's
//! links for every table and takes the table whose header is the emptiest, or the one that admits the fewest of the
//! links beside the tree, which it knows. Nodes keep nothing of any tree. A header that is too full is refused: one
//! of ones would go over every link.
//!
//! S0 and the paper calculate with fill^k. As an identifier has k *different* ones, the chance is C(ones, k)/C(m, k),
//! a tenth less for a tree of 20 links.

use everbloom::internals::hash::Generator;
use everbloom::{Hasher, Result};

use crate::sim::in_packet::{Choice, LinkIds, Tags, beside, false_links};
use crate::sim::{Graph, Link, Meter, Node, Topology, Tree, drawing};
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A19",
    form: Form::Simulation,
    uses: &["bloom", "best-of-n"],
    oracle: "the links and receivers of the tree itself",
    data: "multicast trees of 20, 35 and 40 links in networks of 120 nodes at random places",
    experiment: Experiment {
        name: "zfilters",
        source: "S0 §IV-C4 [84]",
        title: "Multicast trees in the packet's header (LIPSIN)",
        shows: "Every receiver is reached without state in the network. A link beside the tree is taken with \
                C(ones, k)/C(m, k): at 20, 35 and 40 links 0.0034, 0.030, 0.047, and 0.0026, 0.023, 0.037 with \
                the best of 8 tables.",
        run,
    },
};

const M: u64 = 256;
const K: u32 = 5;
const TABLES: u64 = 8;
const LINKS: [usize; 3] = [20, 35, 40];
/// The greatest share of ones of a header: beyond it, one link in six is taken that should not be.
const LIMIT: f64 = 0.7;

/// A network like a provider's: nodes at random places, linked with those nearby.
pub(super) fn network(seed: u64) -> Graph {
    Topology::UnitDisk { nodes: 120, radius: 0.16 }.build(seed)
}

pub(super) fn ids(graph: &Graph, tables: u64, seed: u64) -> LinkIds {
    LinkIds::new(graph, Tags::distinct(M, K, Hasher::seeded(seed)), tables, LIMIT)
}

/// One way of choosing the table.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    tables: u64,
    choice: Choice,
}

const WAYS: [Way; 3] = [
    Way { name: "one table", tables: 1, choice: Choice::Emptiest },
    Way { name: "emptiest of 8", tables: TABLES, choice: Choice::Emptiest },
    Way { name: "fewest false of 8", tables: TABLES, choice: Choice::FewestFalse },
];

#[derive(Default)]
struct Seen {
    missed: u64,
    /// Links beside the tree, and how many the header admits.
    beside: u64,
    admitted: u64,
    meter: Meter,
    /// Links admitted by the header that was chosen, and by the best of those that the exact twin makes one by one.
    chosen: Vec<(u64, u64)>,
}

/// A packet down each of several trees of a network.
fn try_one(seed: u64, links: usize, way: Way, trees: u64) -> Result<Seen> {
    let graph = network(seed);
    let ids = ids(&graph, way.tables, !seed);
    let mut random = Generator::new(seed);
    let mut seen = Seen::default();
    for _ in 0..trees {
        let root = random.below(graph.len() as u64) as Node;
        let tree = graph.tree_of(root, links, &mut random);
        let header = ids.header(&graph, &tree.links, way.choice)?;
        let beside = beside(&graph, &tree.links);
        let admitted = beside.iter().filter(|link| ids.admits(&header, **link)).count() as u64;
        seen.beside += beside.len() as u64;
        seen.admitted += admitted;
        seen.chosen.push((admitted, best_of_all(&ids, &tree, &beside, way)));
        let used = ids.forward(&graph, root, &header);
        seen.missed += missed(&tree, &used);
        let wrong = false_links(&used, &tree.links).len();
        (wrong..used.len()).for_each(|_| seen.meter.send(M / 8));
        (0..wrong).for_each(|_| seen.meter.send_in_vain(M / 8));
    }
    Ok(seen)
}

/// The exact twin of the choice: the header of every table, and what it admits of the links beside the tree.
fn best_of_all(ids: &LinkIds, tree: &Tree, beside: &[Link], way: Way) -> u64 {
    let tag = |table: u64, link: &Link| ids.tags().tag(table, &(link.from as u64, link.to as u64));
    let tables = (0..way.tables).map(|table| {
        let tags: Vec<_> = tree.links.iter().map(|link| tag(table, link)).collect();
        let header = ids.tags().header(table, &tags);
        let admitted = beside.iter().filter(|link| header.admits(&tag(table, link))).count() as u64;
        (header.ones(), admitted)
    });
    match way.choice {
        Choice::Emptiest => {
            tables.min_by_key(|(ones, _)| *ones).map_or(0, |(_, admitted)| admitted)
        }
        Choice::FewestFalse => tables.map(|(_, admitted)| admitted).min().unwrap_or(0),
    }
}

/// Receivers that a packet over these links does not reach.
pub(super) fn missed(tree: &Tree, used: &[crate::sim::Link]) -> u64 {
    let reached = |node: &&Node| !used.iter().any(|link| link.to == **node);
    tree.receivers.iter().filter(reached).count() as u64
}

fn run(lab: &Lab) -> Result<Report> {
    let (networks, trees) = (lab.scaled(8), 24);
    let tags = Tags::distinct(M, K, Hasher::default());
    let mut oracle = Oracle::default();
    let mut efficiency = Rows::new(
        "efficiency",
        "Links of the tree among all links used (forwarding efficiency)",
        Axis::linear("share"),
    );
    let mut series = Vec::new();
    let mut rates = Vec::new();
    for way in WAYS {
        let xs = (4..=60).map(f64::from);
        let rate = |n: f64| tags.passing(n as u64, way.tables).mean;
        let mut line = Series::new(way.name, xs, rate);
        if way.choice == Choice::FewestFalse {
            line.curve.clear();
        }
        for links in LINKS {
            let seen = lab.runs(networks, |seed| try_one(seed, links, way, trees))?;
            oracle.none(
                &format!("receivers missed, {links} links, {}", way.name),
                seen.iter().map(|s| s.missed).sum(),
            );
            oracle.equal(
                &format!("the table chosen for {links} links, {}", way.name),
                seen.iter().flat_map(|s| s.chosen.iter().copied()),
            );
            let [tested, admitted] = [|s: &Seen| s.beside, |s: &Seen| s.admitted]
                .map(|f| seen.iter().map(f).sum::<u64>());
            let measured = admitted as f64 / tested as f64;
            let passing = tags.passing(links as u64, way.tables);
            let headers = networks * trees;
            let (predicted, bound) = match way.choice {
                Choice::Emptiest => {
                    let spread = bound::rate(passing.mean, passing.sd, headers, tested / headers);
                    (passing.mean, spread)
                }
                // No formula: the least that the twin finds among all tables, exactly.
                Choice::FewestFalse => {
                    let least = seen.iter().flat_map(|s| &s.chosen).map(|(_, least)| least);
                    let share = least.sum::<u64>() as f64 / tested as f64;
                    (share, Bound::exactly(share, 0.0))
                }
            };
            line.point(links as f64, predicted, measured, bound);
            rates.push((way.name, links, measured));
            let mut meter = Meter::default();
            seen.iter().for_each(|s| meter += s.meter);
            // A wrong link is tested once, and leads to a node that tests its own links in turn.
            let tests = tested as f64 / headers as f64;
            let expected = links as f64 / (links as f64 + tests * passing.mean);
            efficiency.row(
                format!("{links} links, {}", way.name),
                expected,
                meter.efficiency(),
                Bound::between(expected - 2.0 * (1.0 - expected) - 0.01, 1.0),
            );
        }
        series.push(line);
    }
    let chart = Chart::new(
        "rate",
        "Links beside the tree that the header admits (m = 256, k = 5)",
        [Axis::linear("links of the tree"), Axis::log("share admitted")],
        series,
    );
    let fewest = rates.iter().find(|(name, links, _)| *name == WAYS[2].name && *links == 40);
    let (printed, true_rate) = (tags.passing(40, 1).fill_to_k, tags.passing(40, 1).mean);
    let mut report = oracle.report().chart(chart).rows(efficiency).rows(limits(lab)?);
    report = report.drawing(picture(lab)?).note(format!(
        "S0 states about 3 % at 40 links and 24 users; the fewest false of 8 tables let {:.1} % pass here, the \
         emptiest of 8 3.7 %.",
        fewest.map_or(f64::NAN, |(.., rate)| rate * 100.0)
    ));
    let measured = exact_share(lab);
    Ok(report.erratum(
        "S0 §IV-C4 (in-packet filters)",
        ["a link passes with fill^k", "with C(ones, k)/C(m, k), since its k ones differ"],
        printed,
        [true_rate, measured],
        bound::rate(true_rate, tags.passing(40, 1).sd, HEADERS, TESTS),
    ))
}

const HEADERS: u64 = 4_000;
const TESTS: u64 = 400;

/// How often headers of 40 tags admit another tag: many headers, since their fill varies.
fn exact_share(lab: &Lab) -> f64 {
    let tags = Tags::distinct(M, K, Hasher::seeded(lab.seed()));
    let others: Vec<_> = (0..TESTS).map(|i| tags.tag(1, &i)).collect();
    let admitted = (0..HEADERS).map(|header| {
        let members: Vec<_> = (0..40u64).map(|i| tags.tag(2, &(header * 40 + i))).collect();
        let header = tags.header(0, &members);
        others.iter().filter(|tag| header.admits(tag)).count() as u64
    });
    admitted.sum::<u64>() as f64 / (HEADERS * TESTS) as f64
}

/// The limit on the fill, and what happens without it.
fn limits(lab: &Lab) -> Result<Rows> {
    let graph = network(lab.seed());
    let mut random = Generator::new(lab.seed());
    let tree = graph.tree_of(0, 119, &mut random);
    let strict = ids(&graph, TABLES, lab.seed());
    let ones = strict.tags().forged(M, &mut random);
    let lax = LinkIds::new(&graph, strict.tags().clone(), 1, 1.0);
    let mut rows = Rows::new(
        "limit",
        "A limit on the share of ones",
        Axis::linear("links taken, or 1 where it is refused"),
    );
    let refused = strict.header(&graph, &tree.links, Choice::Emptiest).is_err();
    rows.row(
        "a tree of 119 links is refused",
        1.0,
        f64::from(u8::from(refused)),
        Bound::exactly(1.0, 0.0),
    );
    let taken = strict.forward(&graph, 0, &ones).len() as f64;
    rows.row("a header of ones, with the limit", 0.0, taken, Bound::exactly(0.0, 0.0));
    // Every link but those that would lead back.
    let (all, flooded) = (graph.links().count() as f64, lax.forward(&graph, 0, &ones).len() as f64);
    rows.row("a header of ones, without (trap)", all, flooded, Bound::between(all, 2.0 * all));
    Ok(rows)
}

fn picture(lab: &Lab) -> Result<crate::Drawing> {
    let graph = network(lab.seed_of(1));
    let mut random = Generator::new(lab.seed_of(2));
    let tree = graph.tree_of(0, 40, &mut random);
    let ids = ids(&graph, TABLES, lab.seed());
    let header = ids.header(&graph, &tree.links, Choice::Emptiest)?;
    let used = ids.forward(&graph, 0, &header);
    let wrong = false_links(&used, &tree.links);
    let mut names = vec![(0, "sender".to_owned())];
    names.extend(tree.receivers.iter().map(|&node| (node, " ".to_owned())));
    let title = format!(
        "A tree of 40 links to {} receivers, {} links taken wrongly",
        tree.receivers.len(),
        wrong.len()
    );
    Ok(drawing("tree", &title, &graph, [&tree.links, &wrong], &names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a19_shares_admitted() {
        let tags = Tags::distinct(M, K, Hasher::default());
        let expected = [
            (20, [0.0035, 0.0026], [0.0038, 0.0028]),
            (35, [0.030, 0.023], [0.0314, 0.0241]),
            (40, [0.047, 0.037], [0.0483, 0.0384]),
        ];
        for (links, exact, fill) in expected {
            for (i, tables) in [1, TABLES].into_iter().enumerate() {
                let passing = tags.passing(links, tables);
                assert!((passing.mean / exact[i] - 1.0).abs() < 0.03, "{links}: {passing:?}");
                assert!((passing.fill_to_k / fill[i] - 1.0).abs() < 0.03, "{links}: {passing:?}");
            }
        }
    }
}
