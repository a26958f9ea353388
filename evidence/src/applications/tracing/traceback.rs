//! The path of one packet in the packet itself, with a generalized filter (catalogue A24; S2, S0 §III-R \[50\]).
//!
//! ```text
//!   the attacker writes anything      1 1 1 1 1 1 1 1 1 1
//!   every router sets k1 bits (h)
//!   and resets k0 bits (g)            1 0 1 1 1 0 1 1 0 1 ──▶ the victim tests the neighbors of the last router,
//!                                                            then those of each one found, back to the source
//! ```
//!
//! In a standard filter the attacker fills the field with ones, and every neighbor seems to be on the path. The
//! generalized filter asks for zeros as well as ones, so that no content lets a router pass with more than
//! F_p = (k0/(k0+k1))^k0·(k1/(k0+k1))^k1. The price are false negatives: later routers overwrite the bits of earlier
//! ones, at most F_n for the first of n.
//!
//! S0 once swaps the roles: in S2 g resets and h sets.

use std::collections::BTreeSet;

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::generalized::Shape;
use everbloom::membership::{Generalized, generalized};
use everbloom::{Bloom, Hasher, Result};

use crate::sim::{Graph, Link, Node, Topology, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// The field of a packet into which routers put themselves.
///
/// ```
/// use everbloom_lab::applications::tracing::traceback::Stamp;
/// let mut field = Stamp::new(&[0xFF; 160], (2, 2))?; // the attacker chose ones
/// for router in 0..10 {
///     field.pass(router);
/// }
/// assert!(field.contains(9));
/// assert!((10..100).filter(|&other| field.contains(other)).count() < 20);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Stamp {
    filter: Generalized,
}

impl Stamp {
    /// A field as the sender filled it, and how many bits a router resets and sets.
    pub fn new(content: &[u8], hashes: (u32, u32)) -> Result<Self> {
        let mut bits = Bits::try_new(content.len() as u64 * 8)?;
        for (at, byte) in (0..).step_by(8).zip(content) {
            for i in (0..8).filter(|i| byte >> i & 1 == 1) {
                bits.set(at + i);
            }
        }
        Ok(Self { filter: Generalized::on(bits, hashes.0, hashes.1, Hasher::default())? })
    }

    /// A router forwards the packet.
    pub fn pass(&mut self, router: u64) {
        self.filter.insert(&router);
    }

    /// Whether the router seems to be on the path.
    pub fn contains(&self, router: u64) -> bool {
        self.filter.contains(&router)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A24",
    form: Form::Simulation,
    uses: &["generalized", "bloom"],
    oracle: "the list of routers passed",
    data: "random paths in a random network; fields that the attacker fills with zeros, ones or a mixture",
    experiment: Experiment {
        name: "traceback",
        source: "S2, S0 §III-R [50]",
        title: "The path of a packet in its header, whatever the attacker wrote there",
        shows: "A neighbor off the path passes with at most F_p (6.3 % for two bits of each kind), whatever the \
                initial content; in a standard filter an all-one field lets every neighbor pass. The first of n \
                routers is lost with F_n: 6.0 % at 128 bits a router, 2.3 % at 512 with k0 = 2, k1 = 3.",
        run,
    },
};

const PATH: usize = 10;
const BITS: usize = 1280;
/// Resetting and setting hashes.
const HASHES: (u32, u32) = (2, 2);
/// Probes of the standard filter: as many bits a router.
const STANDARD: u32 = 4;

/// A field in which each bit is zero with probability `zeros`.
fn content(zeros: f64, bytes: usize, random: &mut Generator) -> Vec<u8> {
    let byte =
        |random: &mut Generator| (0..8).fold(0, |b, i| b | u8::from(random.unit() >= zeros) << i);
    (0..bytes).map(|_| byte(random)).collect()
}

fn shape(bits: usize, (k0, k1): (u32, u32)) -> Shape {
    Shape { m: bits as f64, k0: k0.into(), k1: k1.into() }
}

/// Of `queries` foreign routers, those that seem to be on the path: in the generalized and the standard filter.
fn false_branches(seed: u64, zeros: f64, queries: u64) -> Result<[u64; 2]> {
    let mut random = Generator::new(seed);
    let field = content(zeros, BITS / 8, &mut random);
    let mut stamp = Stamp::new(&field, HASHES)?;
    let bits = Stamp::new(&field, HASHES)?.filter.bits().clone();
    let mut standard = Bloom::from_bits(bits, STANDARD, Hasher::default(), 0)?;
    for _ in 0..PATH {
        let router = random.next_u64();
        stamp.pass(router);
        standard.insert(&router);
    }
    let mut wrong = [0; 2];
    for _ in 0..queries {
        let other = random.next_u64();
        wrong[0] += u64::from(stamp.contains(other));
        wrong[1] += u64::from(standard.contains(&other));
    }
    Ok(wrong)
}

fn contents(lab: &Lab) -> Result<(Chart, Rows)> {
    let (fields, queries) = (lab.scaled(200), 4_000);
    let shape = shape(BITS, HASHES);
    let (n, m) = (PATH as f64, BITS as f64);
    let passes =
        |zeros: f64| generalized::fpr_at(m, shape.zeros_after(zeros, n), HASHES.0, HASHES.1);
    let fill = |zeros: f64| 1.0 - zeros * libm::exp(-f64::from(STANDARD) * n / m);
    let xs = || (0..=40).map(|i| f64::from(i) / 40.0);
    let mut ours = Series::new("generalized, k0 = k1 = 2", xs(), passes);
    let mut standard = Series::new("standard, k = 4", xs(), |z| libm::pow(fill(z), 4.0));
    let most = generalized::max_fpr(m, HASHES.0, HASHES.1);
    let mut rows = Rows::new(
        "bound",
        "At most F_p, whatever the content",
        Axis::linear("share of foreign neighbors that pass"),
    );
    for (name, zeros) in [
        ("all ones", 0.0),
        ("a quarter zeros", 0.25),
        ("half zeros (worst)", 0.5),
        ("all zeros", 1.0),
    ] {
        let seen = lab.runs(fields, |seed| false_branches(seed, zeros, queries))?;
        let measured =
            |i: usize| seen.iter().map(|w| w[i]).sum::<u64>() as f64 / (fields * queries) as f64;
        let p = passes(zeros);
        // The content is random too, so that the share of zeros varies as in m coins.
        let sd_zeros = (zeros * (1.0 - zeros) / m).sqrt() + generalized::fill_sd(&shape, zeros, n);
        let fits = bound::rate(p, 4.0 * p.max(most / 4.0) * sd_zeros, fields, queries);
        ours.point(zeros, p, measured(0), fits);
        let high = bound::share(most, fields * queries).high.unwrap_or(1.0);
        rows.row(name, most, measured(0), Bound::at_most(high));
        let q = libm::pow(fill(zeros), 4.0);
        standard.point(zeros, q, measured(1), bound::rate(q, 8.0 * q * sd_zeros, fields, queries));
        if zeros == 0.0 {
            rows.row(
                "all ones in a standard filter: everybody passes",
                1.0,
                measured(1),
                Bound::exactly(1.0, 0.0),
            );
        }
    }
    let chart = Chart::new(
        "content",
        "Foreign neighbors that seem to be on a path of 10, by what the attacker wrote",
        [Axis::linear("zeros in the initial field"), Axis::log("share that passes")],
        [ours, standard],
    );
    Ok((chart, rows))
}

/// How often a router followed by `later` others is lost, of `fields` fields.
fn lost(seed: u64, bits: usize, hashes: (u32, u32), later: usize, fields: u64) -> Result<u64> {
    let mut random = Generator::new(seed);
    let mut lost = 0;
    for _ in 0..fields {
        let field = content(0.5, bits / 8, &mut random);
        let mut stamp = Stamp::new(&field, hashes)?;
        let first = random.next_u64();
        stamp.pass(first);
        (0..later).for_each(|_| stamp.pass(random.next_u64()));
        lost += u64::from(!stamp.contains(first));
    }
    Ok(lost)
}

fn misses(lab: &Lab) -> Result<Rows> {
    let (runs, fields) = (lab.scaled(20), 300);
    let mut rows = Rows::new("lost", "Routers lost, the first of n", Axis::linear("share"));
    for (k0, k1, per_router, said) in
        [(2, 2, 128, 0.0601), (2, 3, 256, 0.0456), (2, 3, 512, 0.0231)]
    {
        let bits = per_router * PATH;
        let exact = shape(bits, (k0, k1)).fnr(PATH as f64);
        let seen = lab.runs(runs, |seed| lost(seed, bits, (k0, k1), PATH, fields))?;
        let measured = seen.iter().sum::<u64>() as f64 / (runs * fields) as f64;
        let label = format!("k0 = {k0}, k1 = {k1}, {per_router} bits a router");
        rows.row(label, said, measured, bound::share(exact, runs * fields).widened(said, 0.02));
    }
    let seen = lab.runs(10, |seed| lost(seed, BITS, HASHES, 0, 100))?;
    rows.row("the last router", 0.0, seen.iter().sum::<u64>() as f64, Bound::exactly(0.0, 0.0));
    Ok(rows)
}

/// A path without circles of `PATH` routers.
fn random_path(graph: &Graph, random: &mut Generator) -> Vec<Node> {
    loop {
        let mut path = vec![random.below(graph.len() as u64) as usize];
        while path.len() < PATH {
            let neighbors = graph.neighbors(path[path.len() - 1]);
            let next = neighbors[random.below(neighbors.len() as u64) as usize];
            if path.contains(&next) {
                break;
            }
            path.push(next);
        }
        if path.len() == PATH {
            return path;
        }
    }
}

struct Traced {
    whole: u64,
    paths: u64,
    foreign: u64,
    wrong: u64,
    exact: Vec<(BTreeSet<Node>, BTreeSet<Node>)>,
    found: Vec<(bool, bool)>,
}

fn network(seed: u64) -> (Graph, Vec<u64>) {
    let graph = Topology::RandomRegular { nodes: 60, degree: 4 }.build(seed);
    let mut random = Generator::new(!seed);
    let names = (0..graph.len()).map(|_| random.next_u64()).collect();
    (graph, names)
}

fn trace_paths(seed: u64, paths: u64) -> Result<Traced> {
    let (graph, names) = network(seed);
    let mut random = Generator::new(seed);
    let mut all =
        Traced { whole: 0, paths, foreign: 0, wrong: 0, exact: Vec::new(), found: Vec::new() };
    for _ in 0..paths {
        let path = random_path(&graph, &mut random);
        let mut stamp = Stamp::new(&content(0.0, BITS / 8, &mut random), HASHES)?;
        path.iter().for_each(|&router| stamp.pass(names[router]));
        let found = graph.search(path[PATH - 1], |r| stamp.contains(names[r]));
        let tested = graph.tested(&found);
        all.whole += u64::from(path.iter().all(|r| stamp.contains(names[*r])));
        let foreign = || tested.iter().filter(|r| !path.contains(r));
        all.foreign += foreign().count() as u64;
        all.wrong += foreign().filter(|r| found.contains(r)).count() as u64;
        let exact = graph.search(path[PATH - 1], |r| path.contains(&r));
        // The filter finds all that the list does, unless it lost a router.
        let lost = path.iter().any(|r| !stamp.contains(names[*r]));
        all.found.push((exact.is_subset(&found), !lost));
        all.exact.push((exact, path.into_iter().collect()));
    }
    Ok(all)
}

fn run(lab: &Lab) -> Result<Report> {
    let seen = lab.runs(lab.scaled(20), |seed| trace_paths(seed, 50))?;
    let sum = |f: fn(&Traced) -> u64| seen.iter().map(f).sum::<u64>();
    let mut rows = Rows::new(
        "paths",
        "Paths of 10 traced back; the field began all ones",
        Axis::linear("share"),
    );
    let shape = shape(BITS, HASHES);
    let whole: f64 = (0..PATH).map(|later| 1.0 - shape.fnr(later as f64)).product();
    let paths = sum(|t| t.paths);
    // Losses of one path's routers are not quite independent.
    let fits = bound::share(whole, paths).widened(whole, 0.02);
    rows.row("paths found whole", whole, sum(|t| t.whole) as f64 / paths as f64, fits);
    let most = generalized::max_fpr(BITS as f64, HASHES.0, HASHES.1);
    let foreign = sum(|t| t.foreign);
    let high = bound::share(most, foreign).high.unwrap_or(1.0);
    let measured = sum(|t| t.wrong) as f64 / foreign as f64;
    rows.row(
        "false branches for each foreign neighbor: at most F_p",
        most,
        measured,
        Bound::at_most(high),
    );
    let p =
        generalized::fpr_at(BITS as f64, shape.zeros_after(0.0, PATH as f64), HASHES.0, HASHES.1);
    let sd = 4.0 * most / 4.0 * generalized::fill_sd(&shape, 0.0, PATH as f64);
    rows.row(
        "… and as many as the zeros that ten routers leave say",
        p,
        measured,
        bound::rate(p, sd, paths, foreign / paths).widened(p, 0.02),
    );
    let mut oracle = Oracle::default();
    oracle.equal(
        "paths by the filter: all of the exact list, unless a router is lost",
        seen.iter().flat_map(|t| t.found.iter().copied()),
    );
    oracle.equal("paths by the exact lists", seen.into_iter().flat_map(|t| t.exact));
    oracle.none("last routers lost", {
        let last = lab.runs(10, |seed| lost(seed, BITS, HASHES, 0, 50))?;
        last.iter().sum()
    });
    let (chart, bounds) = contents(lab)?;
    let zeros = steady_zeros(lab)?;
    let [generalized, standard] = draw(lab)?;
    Ok(oracle
        .report()
        .chart(chart)
        .rows(bounds)
        .rows(misses(lab)?)
        .rows(rows)
        .drawing(generalized)
        .drawing(standard)
        .erratum(
            "S0 §III-R (roles of g and h)",
            [
                "g sets and h resets, with k0 = 2, k1 = 3: 3/5 of the bits end as zeros",
                "g resets and h sets: 2/5",
            ],
            0.6,
            [0.4, zeros],
            Bound::exactly(0.4, 0.03),
        ))
}

/// The share of zeros that many routers leave, for k0 = 2 and k1 = 3.
fn steady_zeros(lab: &Lab) -> Result<f64> {
    let mut random = Generator::new(lab.seed());
    let mut stamp = Stamp::new(&content(0.5, 4096, &mut random), (2, 3))?;
    (0..60_000).for_each(|_| stamp.pass(random.next_u64()));
    Ok(1.0 - stamp.filter.bits().fill())
}

/// One path, traced by the generalized and by the standard filter; the attacker wrote ones.
fn draw(lab: &Lab) -> Result<[Drawing; 2]> {
    let (graph, names) = network(lab.seed());
    let mut random = Generator::new(lab.seed());
    let path = random_path(&graph, &mut random);
    let mut stamp = Stamp::new(&[0xFF; BITS / 8], HASHES)?;
    path.iter().for_each(|&router| stamp.pass(names[router]));
    let last = path[PATH - 1];
    let way = Link::along(&path);
    let labels = [(path[0], "attacker".to_owned()), (last, "victim".to_owned())];
    let picture = |id: &str, title: &str, found: &BTreeSet<Node>| {
        let wrong = graph.links_beside(found, &path);
        drawing(id, title, &graph, [&way, &wrong], &labels)
    };
    let found = graph.search(last, |r| stamp.contains(names[r]));
    // An all-one standard filter denies nobody.
    let all = graph.search(last, |_| true);
    Ok([
        picture(
            "generalized",
            "The attacker wrote ones: the path by the generalized filter, false branches red",
            &found,
        ),
        picture("standard", "… and by the standard filter, in which everybody passes", &all),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use everbloom::internals::theory::generalized::Hashes;

    #[test]
    fn a24_bounds() {
        let hashes = |k0: u32, k1: u32| Hashes { k0: k0.into(), k1: k1.into() };
        for (k0, k1, bound) in
            [(2, 2, 0.0625), (3, 3, 0.015625), (4, 4, 0.00390625), (2, 3, 0.03456)]
        {
            assert!((hashes(k0, k1).max_fpr() - bound).abs() < 1e-6);
        }
        for (k0, k1, bits, lost) in
            [(2, 2, 128.0, 0.0601), (2, 3, 256.0, 0.0456), (2, 3, 512.0, 0.0231)]
        {
            assert!((hashes(k0, k1).max_fnr(bits) - lost).abs() < 5e-5);
        }
    }

    #[test]
    fn an_empty_field_is_refused() {
        assert!(Stamp::new(&[], HASHES).is_err());
    }
}
