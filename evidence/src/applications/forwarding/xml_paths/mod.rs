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

mod experiment;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use everbloom::{Error, Kind, Result};
use quick_xml::Reader;
use quick_xml::events::Event;

use super::planes::Planes;

pub use experiment::APPLICATION;

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
/// use everbloom_lab::applications::forwarding::xml_paths::PathFilter;
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
