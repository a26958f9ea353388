//! Which of many path queries does an XML document match? (catalogue A46; S0 §IV-F \[123\])
//!
//! ```text
//!   <a><b><c/></b></a>      the element c has the path a/b/c
//!      absolute filter      /a/b/c ?                     one test
//!      suffix filter        //c ?  //b/c ?  //a/b/c ?    one for each depth
//!      prefix filter        does any query begin with /a/b ?   if not, nothing below is tested against it
//! ```
//!
//! Queries are `/a/b/c` from the root and `//b/c` anywhere; a step may be `*`. A `*` is a mask: for every mask in
//! use, the path's steps are replaced there before they are tested. What passes is confirmed in a table. An element
//! at depth D tests 1 + D keys, so that it is looked up in vain with 1 − (1−f)^(D+1): the cost grows with depth, as S0
//! says. The prefix filter stops the descent where no absolute query can match any more.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Error, Kind, Result};
use everbloom_lab::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};
use quick_xml::Reader;
use quick_xml::events::Event;

use super::planes::Planes;
use crate::{Application, Form, Oracle};

/// A path of steps; none is any name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Query {
    absolute: bool,
    steps: Vec<Option<String>>,
}

/// The deepest element, and the longest query.
const MOST_DEPTH: usize = 64;

impl Query {
    fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| Error::new(Kind::BadRecord, format!("{text:?} is no path: {why}"));
        let (absolute, rest) = match (text.strip_prefix("//"), text.strip_prefix('/')) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => return Err(wrong("begin with / or //")),
        };
        let step = |step: &str| (step != "*").then(|| step.to_owned());
        let steps: Vec<Option<String>> = rest.split('/').map(step).collect();
        let plain = |step: &String| !step.is_empty() && !step.contains(['[', ']', '@', '*', ' ']);
        if !steps.iter().flatten().all(plain) {
            return Err(wrong("steps are names or *, with one / between them"));
        }
        if steps.len() > MOST_DEPTH {
            return Err(wrong("it has too many steps"));
        }
        Ok(Self { absolute, steps })
    }

    /// Where its `*` are.
    fn mask(&self) -> u64 {
        let stars = self.steps.iter().enumerate().filter(|(_, step)| step.is_none());
        stars.fold(0, |mask, (i, _)| mask | 1 << i)
    }

    fn key(&self, steps: usize) -> String {
        let steps = self.steps[..steps].iter().map(|step| step.as_deref().unwrap_or("*"));
        steps.collect::<Vec<_>>().join("/")
    }

    /// The exact answer for an element's path.
    fn matches(&self, path: &[String]) -> bool {
        let Some(skipped) = path.len().checked_sub(self.steps.len()) else { return false };
        let steps = self.steps.iter().zip(&path[skipped..]);
        (!self.absolute || skipped == 0)
            && steps.into_iter().all(|(s, name)| s.as_ref().is_none_or(|s| s == name))
    }
}

/// The steps of a path with `*` where the mask says.
fn masked(path: &[String], mask: u64) -> String {
    let step = |(i, name): (usize, &String)| {
        if mask >> i & 1 == 1 { "*".to_owned() } else { name.clone() }
    };
    path.iter().enumerate().map(step).collect::<Vec<_>>().join("/")
}

/// Queries of one kind: a filter, a table, and the masks in use by length.
struct Queries {
    filter: Planes,
    table: HashMap<String, Vec<u64>>,
    masks: BTreeMap<usize, BTreeMap<u64, u64>>,
}

impl Queries {
    fn new(queries: u64, bits: f64) -> Result<Self> {
        Ok(Self {
            filter: Planes::for_items(queries, bits)?,
            table: HashMap::new(),
            masks: BTreeMap::new(),
        })
    }

    fn insert(&mut self, key: String, length: usize, mask: u64, id: u64) {
        let owners = self.table.entry(key.clone()).or_default();
        if owners.is_empty() {
            self.filter.insert(&key);
        }
        owners.push(id);
        *self.masks.entry(length).or_default().entry(mask).or_default() += 1;
    }

    fn remove(&mut self, key: &str, length: usize, mask: u64, id: u64) -> Result<()> {
        if let Some(owners) = self.table.get_mut(key) {
            owners.retain(|owner| *owner != id);
            if owners.is_empty() {
                self.table.remove(key);
                self.filter.remove(key)?;
            }
        }
        if let Some(masks) = self.masks.get_mut(&length) {
            if let Some(users) = masks.get_mut(&mask) {
                *users -= 1;
            }
            masks.retain(|_, users| *users > 0);
        }
        Ok(())
    }

    /// The queries that are this path, each mask in use tried; counts tests and look-ups of the table.
    fn find(&self, path: &[String], seen: &mut Seen) {
        for mask in self.masks.get(&path.len()).into_iter().flat_map(BTreeMap::keys) {
            let key = masked(path, *mask);
            seen.tests += 1;
            if self.filter.contains(&key) {
                seen.lookups += 1;
                match self.table.get(&key) {
                    Some(ids) => seen.found.extend(ids),
                    None => seen.in_vain += 1,
                }
            }
        }
    }

    /// Whether some query may be this path.
    fn may_have(&self, path: &[String]) -> bool {
        let mut masks = self.masks.get(&path.len()).into_iter().flat_map(BTreeMap::keys);
        masks.any(|mask| self.filter.contains(&masked(path, *mask)))
    }
}

/// What a document matched, and what that cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The numbers of the queries.
    pub found: BTreeSet<u64>,
    /// Elements whose path was tested against absolute queries, and all elements.
    pub visited: u64,
    /// All elements.
    pub elements: u64,
    /// Tests of filters.
    pub tests: u64,
    /// Look-ups of tables, and those that found nothing.
    pub lookups: u64,
    /// Look-ups that found nothing.
    pub in_vain: u64,
}

/// Path queries, matched against documents.
///
/// ```
/// use everbloom_apps::forwarding::xml_paths::PathFilter;
/// let mut queries = PathFilter::new(1000, 14.4)?;
/// let title = queries.insert("//book/title")?;
/// let any = queries.insert("/library/*/title")?;
/// let document = "<library><book><title>Moby-Dick</title></book></library>";
/// assert_eq!(queries.matching(document)?.found, [title, any].into());
/// queries.remove(title)?;
/// assert_eq!(queries.matching(document)?.found, [any].into());
/// assert!(queries.matching("<library><book></library>").is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct PathFilter {
    absolute: Queries,
    anywhere: Queries,
    /// All beginnings of absolute queries.
    prefixes: Queries,
    queries: BTreeMap<u64, Query>,
    next: u64,
}

impl PathFilter {
    /// Room for so many queries at so many bits each; more of them raise the rate.
    pub fn new(queries: u64, bits: f64) -> Result<Self> {
        let [absolute, anywhere, prefixes] =
            [queries, queries, queries.saturating_mul(4)].map(|n| Queries::new(n, bits));
        Ok(Self {
            absolute: absolute?,
            anywhere: anywhere?,
            prefixes: prefixes?,
            queries: BTreeMap::new(),
            next: 0,
        })
    }

    /// Adds a query and returns its number.
    pub fn insert(&mut self, text: &str) -> Result<u64> {
        let query = Query::parse(text)?;
        let (id, length) = (self.next, query.steps.len());
        self.next += 1;
        let kind = if query.absolute { &mut self.absolute } else { &mut self.anywhere };
        kind.insert(query.key(length), length, query.mask(), id);
        if query.absolute {
            for length in 1..=length {
                self.prefixes.insert(query.key(length), length, low_bits(query.mask(), length), id);
            }
        }
        self.queries.insert(id, query);
        Ok(id)
    }

    /// Takes a query out. Refused where there is none of this number.
    pub fn remove(&mut self, id: u64) -> Result<()> {
        let query = self
            .queries
            .remove(&id)
            .ok_or_else(|| Error::new(Kind::NotDeletable, format!("there is no query {id}")))?;
        let length = query.steps.len();
        if !query.absolute {
            return self.anywhere.remove(&query.key(length), length, query.mask(), id);
        }
        self.absolute.remove(&query.key(length), length, query.mask(), id)?;
        (1..=length).try_for_each(|length| {
            self.prefixes.remove(&query.key(length), length, low_bits(query.mask(), length), id)
        })
    }

    /// The queries that some element of a document matches. Refused where it is no XML, or too deep.
    pub fn matching(&self, document: &str) -> Result<Seen> {
        self.traced(document, true)
    }

    fn traced(&self, document: &str, prefixes: bool) -> Result<Seen> {
        let mut seen = Seen::default();
        // How deep the path is that still begins some absolute query.
        let mut alive: Vec<bool> = Vec::new();
        each_path(document, |path| {
            seen.elements += 1;
            alive.truncate(path.len() - 1);
            let above = alive.last().copied().unwrap_or(true);
            let here = above && (!prefixes || self.prefixes.may_have(path));
            alive.push(here);
            if here {
                seen.visited += 1;
                self.absolute.find(path, &mut seen);
            }
            for first in 0..path.len() {
                self.anywhere.find(&path[first..], &mut seen);
            }
        })?;
        Ok(seen)
    }
}

fn low_bits(mask: u64, bits: usize) -> u64 {
    if bits < 64 { mask & ((1 << bits) - 1) } else { mask }
}

/// Calls `f` with the path of every element, parents first.
fn each_path(document: &str, mut f: impl FnMut(&[String])) -> Result<()> {
    let mut reader = Reader::from_str(document);
    let mut path: Vec<String> = Vec::new();
    let wrong =
        |at: u64, why: String| Error::new(Kind::BadRecord, format!("no XML at byte {at}: {why}"));
    loop {
        let event =
            reader.read_event().map_err(|e| wrong(reader.error_position(), e.to_string()))?;
        match event {
            Event::Start(ref tag) | Event::Empty(ref tag) => {
                if path.len() == MOST_DEPTH {
                    let why = format!("elements are more than {MOST_DEPTH} deep");
                    return Err(wrong(reader.buffer_position(), why));
                }
                path.push(AsRef::<str>::as_ref(&tag.name()).to_owned());
                f(&path);
                if matches!(event, Event::Empty(_)) {
                    path.pop();
                }
            }
            Event::End(_) => _ = path.pop(),
            Event::Eof if path.is_empty() => return Ok(()),
            Event::Eof => {
                let open = path.join("/");
                return Err(wrong(reader.buffer_position(), format!("{open} is never closed")));
            }
            _ => {}
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a46_in_vain() {
        assert!((1.0 - 0.999f64.powi(7) - 0.0070).abs() < 5e-5);
    }

    #[test]
    fn queries_and_documents_that_are_none_are_refused() {
        let mut filter = PathFilter::new(10, 10.0).unwrap();
        for bad in ["", "a/b", "/", "//", "/a//b", "/a/", "/a[1]", "/a b"] {
            assert!(filter.insert(bad).is_err(), "{bad}");
        }
        assert!(filter.insert(&"/a".repeat(MOST_DEPTH + 1)).is_err());
        let id = filter.insert("//a").unwrap();
        for bad in ["<a>", "<a></b>", "</a>", "<a", &"<a>".repeat(100)] {
            assert!(filter.matching(bad).is_err(), "{bad}");
        }
        let deep = format!("{}{}", "<a>".repeat(64), "</a>".repeat(64));
        assert_eq!(filter.matching(&deep).unwrap().found, [id].into());
        assert!(
            filter
                .matching("<?xml version=\"1.0\"?><!-- none --><b>a</b>")
                .unwrap()
                .found
                .is_empty()
        );
        assert!(filter.remove(7).is_err());
    }
}
