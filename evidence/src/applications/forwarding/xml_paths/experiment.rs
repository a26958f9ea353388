//! What paths claim, tried on documents that are made up.

use std::collections::BTreeSet;

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;

use super::{PathFilter, Seen, each_path};
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A46",
    form: Form::Component,
    uses: &["bloom", "counting"],
    oracle: "every query against the path of every element",
    data: "queries from the root and from anywhere, some with *, and generated documents",
    experiment: Experiment {
        name: "xml-paths",
        source: "S0 §IV-F [123]",
        title: "Path queries over XML documents",
        shows: "No matching query is missed. An element at depth D is looked up in vain with 1 − (1−f)^(D+1), 0.0070 at \
                depth 6 and f = 0.001; the prefix filter spares most paths.",
        run,
    },
};

const NAMES: u64 = 12;
const QUERIES: u64 = 600;
/// 14.378 bits a query give a rate of 0.001.
const BITS: f64 = 14.378;

fn name(random: &mut Generator) -> String {
    format!("n{}", random.below(NAMES))
}

fn query(random: &mut Generator, absolute: bool, stars: bool) -> String {
    let steps = 2 + random.below(4) as usize;
    // A query of * alone would match everything.
    let star = |i: usize, random: &mut Generator| stars && i > 0 && random.below(6) == 0;
    let step =
        |i: usize, random: &mut Generator| if star(i, random) { "*".into() } else { name(random) };
    let steps: Vec<String> = (0..steps).map(|i| step(i, random)).collect();
    format!("{}{}", if absolute { "/" } else { "//" }, steps.join("/"))
}

/// A document of random elements.
fn document(random: &mut Generator, elements: usize) -> String {
    let mut text = String::from("<n0>");
    let mut open = vec!["n0".to_owned()];
    for _ in 0..elements {
        while open.len() > 1 && (open.len() > 9 || random.below(5) < 2) {
            text.push_str(&format!("</{}>", open.pop().unwrap_or_default()));
        }
        let name = name(random);
        match random.below(4) {
            0 => text.push_str(&format!("<{name} id=\"1\"/>")),
            _ => {
                text.push_str(&format!("<{name}>text &amp; more"));
                open.push(name);
            }
        }
    }
    open.iter().rev().for_each(|name| text.push_str(&format!("</{name}>")));
    text
}

type Pairs = Vec<(BTreeSet<u64>, BTreeSet<u64>)>;

/// Answers beside the exact ones, with removals in between, and elements visited with and without prefixes.
fn exactness(seed: u64) -> Result<(Pairs, [u64; 3])> {
    let mut random = Generator::new(seed);
    let mut filter = PathFilter::new(QUERIES, BITS)?;
    for i in 0..QUERIES {
        filter.insert(&query(&mut random, i % 2 == 0, true))?;
    }
    (0..QUERIES).step_by(4).try_for_each(|id| filter.remove(id))?;
    let (mut pairs, mut visited) = (Pairs::new(), [0; 3]);
    for _ in 0..6 {
        let document = document(&mut random, 120);
        let seen = filter.matching(&document)?;
        let without = filter.traced(&document, false)?;
        visited =
            [visited[0] + seen.visited, visited[1] + without.visited, visited[2] + seen.elements];
        let mut exact = BTreeSet::new();
        each_path(&document, |path| {
            exact.extend(filter.queries.iter().filter(|(_, q)| q.matches(path)).map(|(id, _)| *id));
        })?;
        pairs.push((seen.found, exact.clone()));
        pairs.push((without.found, exact));
    }
    Ok((pairs, visited))
}

const PATHS: u64 = 8_000;

/// The share of elements at a depth that are looked up in vain, by filters without `*` that hold each length.
fn in_vain(seed: u64, depth: usize) -> Result<f64> {
    let mut filter = PathFilter::new(QUERIES, BITS)?;
    for i in 0..QUERIES {
        // Names that no document has; every length up to the depth is in use.
        let steps = 1 + i as usize % depth;
        let path: Vec<String> = (0..steps).map(|s| format!("q{seed}-{i}-{s}")).collect();
        filter.insert(&format!("/{}", path.join("/")))?;
        // Others than those: filters of the same paths would err for the same elements.
        filter.insert(&format!("//x{}", path.join("/")))?;
    }
    // The absolute test has one length; make sure that it is in use.
    let mut wrong = 0;
    for i in 0..PATHS {
        let path: Vec<String> = (0..depth).map(|s| format!("p{i}-{s}")).collect();
        let mut seen = Seen::default();
        filter.absolute.find(&path, &mut seen);
        (0..depth).for_each(|first| filter.anywhere.find(&path[first..], &mut seen));
        wrong += u64::from(seen.in_vain > 0);
    }
    Ok(wrong as f64 / PATHS as f64)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(6);
    let mut oracle = Oracle::default();
    let seen = lab.runs(lab.scaled(2), exactness)?;
    let visited: Vec<u64> = (0..3).map(|i| seen.iter().map(|(_, v)| v[i]).sum()).collect();
    oracle.equal("queries matched by documents", seen.into_iter().flat_map(|(pairs, _)| pairs));
    let m = (QUERIES as f64 * BITS).ceil() as u64;
    let k = bloom::best_k(m, QUERIES);
    let f = bloom::fpr_exact(m, QUERIES, k);
    let vain = |depth: f64| 1.0 - libm::pow(1.0 - f, depth + 1.0);
    let mut series = Series::new("1 − (1−f)^(D+1)", (1..=14).map(f64::from), vain);
    for depth in [2, 6, 12] {
        let shares = lab.runs(runs, |seed| in_vain(seed, depth))?;
        let mean = shares.iter().sum::<f64>() / runs as f64;
        let expected = vain(depth as f64);
        let throws = f64::from(k) * QUERIES as f64;
        let spread =
            f64::from(k) * bloom::fill_sd(m as f64, throws) / bloom::fill(m as f64, throws);
        series.point(
            depth as f64,
            expected,
            mean,
            bound::rate(expected, expected * spread, runs, PATHS),
        );
    }
    let chart = Chart::new(
        "depth",
        "Elements looked up in vain (f = 0.001)",
        [Axis::linear("depth D"), Axis::linear("share of elements")],
        [series],
    );
    let mut rows = Rows::new(
        "visited",
        "Elements tested against absolute queries",
        Axis::linear("share of all"),
    );
    let share = |count: u64| count as f64 / visited[2] as f64;
    rows.row("without the prefix filter", 1.0, share(visited[1]), Bound::exactly(1.0, 0.0));
    rows.row(
        "with it: most paths begin no query",
        0.3,
        share(visited[0]),
        Bound::between(0.0, 0.6),
    );
    Ok(oracle.report().chart(chart).rows(rows))
}
