//! Par-BF, lists of filters that are matched in parallel (Liu, Ge, Du, Huang 2016; catalogue §13; S3 §VI-B).
//!
//! A filter for a set that grows and shrinks, with a rate that holds whatever comes. Filters of one list have one
//! shape; when a list has all the filters it may have, the next list's are twice as large and half as likely to
//! let a non-member pass:
//!
//! ```text
//!   list 0   ████ ████ ████ ████ ████ ████ ████ ████    at most 8 filters, F₀ = F/2 together     ─ one worker
//!   list 1   ████████ ████████ ███░░░░░                 twice the keys each, F₁ = F/4 together   ─ one worker
//!                              ▲ insertions
//! ```
//!
//! The lists' budgets F_j = F(1 − r)rʲ with r = ½ sum up to less than F; each of the s filters of a list may take
//! f_j = 1 − (1 − F_j)^{1/s}, with k_j = ⌈log2(1/f_j)⌉ probes. (S3 says only that the overall rate is
//! guaranteed; the budgets are a choice.)
//!
//! Cells are counters: S3's "resetting the corresponding bits" would lose members. A key is removed from the one
//! filter that claims it, and refused if two do. After a removal, filters of the list whose keys fit into one are
//! united, which they can because they share their hashes; every member stays a member.
//!
//! **Use it** when the number of keys is unknown, some are removed, and queries come in large batches
//! ([`contains_many`](ParBf::contains_many) gives each list a core). **Don't** when keys are only inserted
//! (`scalable` takes a quarter of the space), or when the size is known (`counting`).

use super::scalable::{layer_bits, layer_k};
use crate::cells::Counters;
use crate::parts::layers::{self, Counts, Layer};
use crate::parts::tally::Tallies;
use crate::plan::{MAX_CELLS, first_too_large};
use crate::probe::{MAX_K, Probe};
use crate::threads::{WORTH_A_THREAD, available, beside};
use crate::variant::prelude::*;

/// Lists of filters, each list larger and tighter than the one before.
///
/// ```
/// let mut seen = everbloom::growing::ParBf::with_rate(800, 0.01)?;
/// for visitor in 0..2000u64 {
///     seen.insert(&visitor)?;
/// }
/// assert_eq!(seen.lists().collect::<Vec<_>>(), [(8, 100), (6, 200)]);
/// assert!(seen.contains_many(&[7u64, 1999]).iter().all(|found| *found));
/// seen.remove(&7u64)?;
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ParBf {
    head: Head,
    shape: Shape,
    lists: Vec<List>,
}

state!(ParBf { head, shape, lists });

/// Filters of one shape under one salt.
#[derive(Clone, Debug, PartialEq)]
struct List {
    filters: Vec<Counts>,
}

state!(plain List { filters });

impl List {
    fn contains(&self, digest: Digest) -> bool {
        self.filters.iter().any(|filter| filter.part.contains(digest))
    }
}

impl ParBf {
    /// Inserts a key into the first filter with room for it. Refused, with nothing changed, where a further filter
    /// would be needed and cannot be.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        let seen = Seen::new_if(!self.has(digest));
        let (list, filter) = self.open_filter()?;
        self.lists[list].filters[filter].insert(digest.salted(list as u64));
        self.head.count(1);
        Ok(seen)
    }

    /// The list and the number of the first filter with room, appended if need be.
    fn open_filter(&mut self) -> Result<(usize, usize)> {
        for (j, list) in self.lists.iter_mut().enumerate() {
            let capacity = self.shape.capacity(j).unwrap_or(0);
            if let Some(i) = list.filters.iter().position(|filter| filter.items < capacity) {
                return Ok((j, i));
            }
            if (list.filters.len() as u64) < self.shape.filters {
                // Of the scheme that the list has, which a file may keep from earlier days.
                let probe = list.filters.first().map(|filter| filter.part.probe);
                list.filters.push(self.shape.filter(j, probe)?);
                return Ok((j, list.filters.len() - 1));
            }
        }
        let next = self.lists.len();
        self.lists.push(List { filters: vec![self.shape.filter(next, None)?] });
        Ok((next, 0))
    }

    /// Whether the key may be a member.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.has(self.head.hasher.digest(key))
    }

    fn has(&self, digest: Digest) -> bool {
        (0..).zip(&self.lists).any(|(j, list)| list.contains(digest.salted(j)))
    }

    /// Whether each of a slice of keys may be a member, in their order; many keys are matched on several cores, one
    /// list on each.
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let digests: Vec<Digest> = keys.iter().map(|key| self.head.hasher.digest(key)).collect();
        if digests.len() < WORTH_A_THREAD || available() == 1 {
            return digests.iter().map(|digest| self.has(*digest)).collect();
        }
        self.matched_by_lists(&digests)
    }

    fn matched_by_lists(&self, digests: &[Digest]) -> Vec<bool> {
        let mut found = vec![false; digests.len()];
        let work = |(j, list): (u64, &List)| -> Vec<bool> {
            digests.iter().map(|digest| list.contains(digest.salted(j))).collect()
        };
        for matched in beside((0..).zip(&self.lists), work, || ()).1 {
            found.iter_mut().zip(matched).for_each(|(found, also)| *found |= also);
        }
        found
    }

    /// Removes a key that was inserted. Refused, with nothing changed, unless exactly one filter claims it. Filters
    /// of its list that now fit into one are merged.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        let places = (0u64..).zip(&self.lists).flat_map(|(j, list)| {
            let digest = digest.salted(j);
            list.filters.iter().map(move |filter| filter.part.contains(digest))
        });
        let mut owner = layers::owner(places)?;
        for (j, list) in self.lists.iter_mut().enumerate() {
            if owner < list.filters.len() {
                list.filters[owner].remove(digest.salted(j as u64))?;
                layers::unite(&mut list.filters, self.shape.capacity(j).unwrap_or(0));
                break;
            }
            owner -= list.filters.len();
        }
        self.head.count_off();
        Ok(())
    }

    /// Per list: the number of its filters, and the keys that fill each.
    pub fn lists(&self) -> impl Iterator<Item = (usize, u64)> {
        let sizes = |(j, list): (usize, &List)| {
            (list.filters.len(), self.shape.capacity(j).unwrap_or(u64::MAX))
        };
        self.lists.iter().enumerate().map(sizes)
    }

    fn filters(&self) -> impl Iterator<Item = &Counts> {
        self.lists.iter().flat_map(|list| &list.filters)
    }

    fn check(&self) -> Result<()> {
        let fits = |(j, list): (usize, &List)| {
            let (Ok(flat), Some(capacity)) = (self.shape.flat(j), self.shape.capacity(j)) else {
                return false;
            };
            let Some(probe) = list.filters.first().map(|filter| filter.part.probe) else {
                return false;
            };
            let planned = probe.is_planned() && (probe.m(), probe.k()) == (flat.m, flat.k);
            let number = 1..=self.shape.filters;
            planned
                && number.contains(&(list.filters.len() as u64))
                && list.filters.iter().all(|filter| {
                    let width = u64::from(filter.part.cells.width());
                    filter.part.probe == probe
                        && width == self.shape.width
                        && filter.items <= capacity
                })
        };
        if !self.lists.is_empty() && self.lists.iter().enumerate().all(fits) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: the lists are not those of its shape"))
    }
}

/// Most lists. Capacities double, so that 64 of them hold 2⁶⁴ keys whatever the first.
const MAX_LISTS: usize = 64;

/// The budget of list j, F_j = F(1 − r)rʲ with r = ½.
pub fn list_fpr(fpr: f64, j: usize) -> f64 {
    fpr * libm::exp2(-(j as f64 + 1.0))
}

/// The rate of each of `filters` filters of list j, f_j = 1 − (1 − F_j)^{1/s}.
pub fn filter_fpr(fpr: f64, filters: u64, j: usize) -> f64 {
    layers::each_passes(list_fpr(fpr, j), filters as f64)
}

/// Keys per filter of the first list, the rate of all lists, the maximum number of filters in a list, and bits per counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    items: u64,
    fpr: f64,
    filters: u64,
    width: u64,
}

state!(Shape { items, fpr, filters, width });

impl Shape {
    /// Keys per filter of list j, while that is a number.
    fn capacity(&self, j: usize) -> Option<u64> {
        let doubled = 1u64.checked_shl(j as u32).filter(|_| j < MAX_LISTS)?;
        doubled.checked_mul(self.items)
    }

    fn bits(&self, j: usize, items: u64) -> (f64, f64) {
        let target = filter_fpr(self.fpr, self.filters, j);
        (layer_bits(items as f64, target), layer_k(target))
    }

    /// Cells and probes of the filters of list j. Files rely on it, so it never changes.
    fn flat(&self, j: usize) -> Result<Flat> {
        let items = self.capacity(j);
        let (m, k) = items.map_or((f64::INFINITY, 1.0), |items| self.bits(j, items));
        if k <= f64::from(MAX_K) && m * self.width as f64 <= MAX_CELLS as f64 {
            return Ok(Flat { m: m as u64, k: k as u32 });
        }
        let message = format!(
            "the filter cannot grow: list {} would exceed {MAX_LISTS} lists or {MAX_CELLS} bits a filter; \
             start a new one with more {{items}} in the first list, or a higher {{rate}}",
            j + 1
        );
        Err(Error::new(Kind::CapacityExceeded, message))
    }

    fn filter(&self, j: usize, probe: Option<Probe>) -> Result<Counts> {
        let Flat { m, k } = self.flat(j)?;
        let cells = Counters::try_new(m, self.width as u32)?;
        let probe = probe.unwrap_or_else(|| Probe::over(m, k));
        Ok(Layer { part: Tallies { probe, cells }, items: 0 })
    }

    fn check(&self) -> Result<()> {
        let ok = self.items > 0
            && self.fpr > 0.0
            && self.fpr < 1.0
            && VARIANT.takes("filters", self.filters)
            && VARIANT.takes("width", self.width);
        if ok { Ok(()) } else { Err(Error::corrupt(0, "corrupt filter: impossible lists")) }
    }
}

impl Plan for ParBf {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [filters, width] = request.wholes(["filters", "width"]);
        let with = |n: u64, fpr: f64| Shape { items: n.div_ceil(filters), fpr, filters, width };
        let (n, p) = request.items_and_rate(|n, p| {
            let shape = with(n, p);
            let first = shape.bits(0, shape.items).0;
            first * filters.min(n) as f64 * width as f64
        })?;
        let shape = with(n, p);
        shape.flat(0).map_err(|_| first_too_large(n, p, "list"))?;
        Ok(shape)
    }

    /// List after list, until all keys are placed.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (mut left, mut layers) = (load.distinct, Vec::new());
        for j in 0.. {
            let (flat, capacity) = (shape.flat(j).ok()?, shape.capacity(j)?);
            for _ in 0..shape.filters {
                let inside = left.min(capacity);
                left -= inside;
                layers.push((flat.fpr(inside), flat.m, flat.fill(inside)));
                if left == 0 {
                    return Some(layers::expect(layers.into_iter(), shape.width));
                }
            }
        }
        None
    }
}

impl Stream for ParBf {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        // The target is that of all lists together, however the goal put it.
        let head = Head { fpr: Some(shape.fpr), ..head };
        let lists = vec![List { filters: vec![shape.filter(0, None)?] }];
        Ok(Self { head, shape: *shape, lists })
    }
}

face!(ParBf: Insert, Remove);
planned!(ParBf);

impl Filter for ParBf {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(layers::fill(self.filters()))
    }

    fn now(&self) -> Rates {
        Rates::one_sided(layers::fpr(self.filters()))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("lists", self.lists.len() as u64),
            fact("filters", self.filters().count() as u64),
            fact("m", self.filters().map(|filter| filter.part.m()).sum::<u64>()),
            fact("first", self.shape.items),
            fact("filters per list", self.shape.filters),
            fact("width", self.shape.width),
        ]
    }

    /// The cells of the filter that claims the key, or of the newest.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let all = || {
            (0..).zip(&self.lists).flat_map(|(j, list)| {
                list.filters.iter().map(move |filter| (digest.salted(j), filter))
            })
        };
        let claims = all().find(|(digest, filter)| filter.part.contains(*digest));
        let shown = claims.or_else(|| all().last());
        shown.map_or_else(Vec::new, |(digest, filter)| filter.part.trace(digest))
    }
}

impl Insert for ParBf {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        ParBf::insert(self, record.key)
    }
}

keyed!(ParBf: Remove);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<ParBf>(Facts {
    id: 69,
    slug: "par-bf",
    entry: "§13",
    question: "Is it in a set of unknown size, queried on several cores?",
    name: "Par-BF",
    paper: "Y. Liu, X. Ge, D. H. C. Du, X. Huang, Par-BF: a parallel partitioned Bloom filter for dynamic data \
            sets, IJHPCA 30(3), 2016",
    family: "growing",
    needs: &["membership", "grow", "delete", "parallel"],
    meaning: "items are the keys that fill the first list, memory is its memory, \
              the rate is the limit of all lists together",
    forms: &[Form::removing(FORM, &[Ability::Insert, Ability::Remove])],
    params: &[
        Param::integer("filters", 1, 1024, "maximum number of filters in a list")
            .or(Preset::Integer(8)),
        Param::integer("width", 2, 16, "bits per counter").or(Preset::Integer(4)),
    ],
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    fn filled(n: u64) -> ParBf {
        let mut filter = ParBf::with_rate(80, 0.05).unwrap();
        (0..n).for_each(|key| _ = filter.insert(&key).unwrap());
        filter
    }

    #[test]
    fn files_with_lists_that_cannot_be_are_refused() {
        let filter = filled(200);
        let lies: [fn(&mut ParBf); 8] = [
            |f| f.lists.clear(),
            |f| f.lists[1].filters.clear(),
            |f| f.lists.swap(0, 1),
            |f| f.lists[0].filters[3].items = 11,
            |f| f.shape.filters = 7,
            |f| f.shape.width = 5,
            |f| f.shape.fpr = f64::NAN,
            |f| f.shape.items = 1 << 60,
        ];
        lies_are_refused(&filter, lies);
    }

    #[test]
    fn workers_find_what_one_thread_finds() {
        let filter = filled(300);
        let digests: Vec<Digest> =
            (0..2000u64).map(|key| filter.head.hasher.digest(&key)).collect();
        let one: Vec<bool> = digests.iter().map(|digest| filter.has(*digest)).collect();
        assert_eq!(filter.matched_by_lists(&digests), one);
        assert!(one[..300].iter().all(|found| *found));
    }

    /// Under one salt, a key would look at the same places of all lists.
    #[test]
    fn lists_are_salted() {
        let filter = filled(200);
        let digest = filter.head.hasher.digest(&190u64);
        let own = filter.lists[1].filters.iter().find(|f| f.part.contains(digest.salted(1)));
        assert!(own.is_some() && !own.unwrap().part.contains(digest));
    }
}
