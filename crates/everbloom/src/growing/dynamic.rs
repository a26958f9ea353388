//! The dynamic Bloom filter (Guo, Wu, Chen, Yuan, Luo 2010; catalogue §10; S0 §III-O, S3 §VI-B).
//!
//! A filter for a set that grows beyond what anyone planned: when all filters of the list hold as many keys as
//! keep their rate, another of the same size and hashes is appended.
//!
//! ```text
//!   filter 3  ███░░░░░░░░░░   ◀── insertions: the first with fewer than c keys
//!   filter 2  █████████████   c keys
//!   filter 1  ████████░░░░░   some were removed: room again
//!   filter 0  █████████████   a key may be a member if one of the filters says so
//! ```
//!
//! With f_c the rate of a full filter, 1 − (1 − f_c)^{⌊n/c⌋}·(1 − f(n mod c)) of all non-members pass: the rate
//! grows with n, but by one filter's rate for every c keys, where a single filter of this size would let nearly
//! everything pass. It is planned for n keys in a number of filters at the rate asked for; further ones raise it.
//!
//! Keys are removed from the one filter that claims them. If two do, one of them is wrong, and the removal is
//! refused; S3's "resets these bits as 0s" loses other members, so that the cells are counters (form `counting`).
//! Removing a key that was never inserted and that exactly one filter claims still takes counts from members.
//! Filters that removals left nearly empty are united by [`compact`](Dynamic::compact): they share their hashes,
//! so that their counters add up.
//!
//! **Use it** when the set grows and shrinks without limit, in small steps of memory. **Don't** for sets that only
//! grow, at a rate that must always hold (`scalable`), or when the size is known (`counting`): every filter of the
//! list is queried.

use crate::cells::Counters;
use crate::parts::layers::{self, Counts, Layer};
use crate::parts::several::check_parts;
use crate::parts::tally::Tallies;
use crate::plan::check_cells;
use crate::probe::Probe;
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// A list of filters of one shape that grows with its keys.
///
/// ```
/// let mut seen = everbloom::growing::Dynamic::with_rate(1000, 0.01)?;
/// for visitor in 0..5000u64 {
///     seen.insert(&visitor)?;
/// }
/// assert_eq!((seen.capacity(), seen.filters()), (250, 20));
/// (0..4000u64).for_each(|visitor| _ = seen.remove(&visitor)); // a few are refused
/// assert!(seen.compact() >= 12);
/// assert!(seen.contains(&4321u64));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamic {
    head: Head,
    /// The keys that fill a filter.
    capacity: u64,
    filters: Vec<Counts>,
}

state!(Dynamic { head, capacity, filters });

impl Dynamic {
    /// Filters of `m` counters of 4 bits and `k` probes, for as many keys each as keep the rate `fpr`.
    pub fn with_shape(m: u64, k: u32, fpr: f64, hasher: Hasher) -> Result<Self> {
        let goal = Goal { fpr: Some(fpr), ..Goal::of(hasher) };
        empty(&goal.set("m", m).set("k", k).set("filters", 1))
    }

    /// Inserts a key into the first filter with room for it. Refused, with nothing changed, where a further filter
    /// would be needed and there is no memory for it.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        let seen = Seen::new_if(!self.has(digest));
        let open = match self.filters.iter().position(|filter| filter.items < self.capacity) {
            Some(open) => open,
            None => {
                // Of the scheme that the others have, which a file may keep from earlier days.
                let probe = self.filters[0].part.probe;
                let blank = self.shape().filter()?;
                self.filters.push(Layer { part: Tallies { probe, ..blank.part }, ..blank });
                self.filters.len() - 1
            }
        };
        self.filters[open].insert(digest);
        self.head.count(1);
        Ok(seen)
    }

    /// Whether the key may be a member.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.has(self.head.hasher.digest(key))
    }

    fn has(&self, digest: Digest) -> bool {
        self.filters.iter().any(|filter| filter.part.contains(digest))
    }

    /// Removes a key that was inserted. Refused, with nothing changed, unless exactly one filter claims it, and in the
    /// form without counters.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        if self.head.form != COUNTING {
            return Err(Error::unsupported(
                "bits cannot be removed for one key without removing them from others: use form counting",
            ));
        }
        let digest = self.head.hasher.digest(key);
        let owner = layers::owner(self.filters.iter().map(|filter| filter.part.contains(digest)))?;
        self.filters[owner].remove(digest)?;
        self.head.count_off();
        Ok(())
    }

    /// Unites filters whose keys fit into one; says how many were freed. Every member stays a member.
    pub fn compact(&mut self) -> usize {
        layers::unite(&mut self.filters, self.capacity)
    }

    /// The keys that fill a filter.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Number of filters.
    pub fn filters(&self) -> usize {
        self.filters.len()
    }

    fn shape(&self) -> Shape {
        let first = &self.filters[0].part;
        let flat = Flat { m: first.m(), k: first.k() };
        Shape { flat, capacity: self.capacity, width: first.cells.width() }
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        let Some(first) = self.filters.first() else { return wrong("no filter inside") };
        if (self.head.form == BITS) != (first.part.cells.width() == 1) {
            return wrong("cells that are not those of its form");
        }
        for filter in &self.filters {
            filter.part.check_flat()?;
            let alike = filter.part.probe == first.part.probe && filter.part.probe.is_planned();
            if !alike || filter.part.cells.width() != first.part.cells.width() {
                return wrong("filters of different shapes inside");
            }
            if filter.items > self.capacity {
                return wrong("a filter inside with more keys than it takes");
            }
        }
        if self.capacity == 0 { wrong("filters for no keys") } else { Ok(()) }
    }
}

/// The shape of each filter: cells, probes, keys and bits per counter.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    capacity: u64,
    width: u32,
}

impl Shape {
    fn filter(&self) -> Result<Counts> {
        let Flat { m, k } = self.flat;
        let cells = Counters::try_new(m, self.width)?;
        Ok(Layer { part: Tallies { probe: Probe::over(m, k), cells }, items: 0 })
    }
}

/// A filter of `n` keys at rate `p`, under a k that may be set by hand.
fn flat_for(n: u64, p: f64, k: Option<u32>) -> Flat {
    let m = match k {
        None => theory::bits_for(n, p),
        Some(k) => {
            let k = f64::from(k);
            (k * n as f64 / -libm::log1p(-libm::pow(p, 1.0 / k))).ceil().max(1.0) as u64
        }
    };
    Flat { m, k: k.unwrap_or_else(|| theory::best_k(m, n)) }
}

impl Plan for Dynamic {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let width = match request.form() {
            BITS => 1,
            _ => request.whole("width") as u32,
        };
        let filters = request.whole("filters");
        let each = |p: f64| layers::each_passes(p, filters as f64);
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        if let Some(m) = request.integer(PARAM_M.name) {
            // The largest c with f(m, c, k) ≤ f.
            let k = match (k_set, request.goal_items()) {
                (Some(k), _) => k,
                (None, Some(n)) => theory::best_k(m, n.div_ceil(filters)),
                (None, None) => return Err(m_alone()),
            };
            let capacity = theory::capacity(m as f64, f64::from(k), each(request.fpr())) as u64;
            check_parts([Flat { m, k }])?;
            return Ok(Shape { flat: Flat { m, k }, capacity: capacity.max(1), width });
        }
        let flat = |n: u64, p: f64| flat_for(n.div_ceil(filters), each(p), k_set);
        let all = |n: u64| filters.min(n) as f64 * f64::from(width);
        let (n, p) = request.items_and_rate(|n, p| flat(n, p).m as f64 * all(n))?;
        let planned = flat(n, p);
        check_cells(n, p, planned.m as f64 * all(n))?;
        check_parts([planned])?;
        Ok(Shape { flat: planned, capacity: n.div_ceil(filters), width })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat, capacity, width } = *shape;
        let n = load.distinct;
        let (full, rest) = (n / capacity, n % capacity);
        // Full filters are all alike, so that there may be any number of them.
        let last = (rest > 0 || full == 0).then(|| (flat.fpr(rest), flat.m, flat.fill(rest)));
        let fulls = (full > 0).then(|| {
            let (fpr, (fill, sd)) = (flat.fpr(capacity), flat.fill(capacity));
            let times = full as f64;
            let absent = times * libm::log1p(-fpr.min(1.0));
            let cells = flat.m.saturating_mul(full);
            (-libm::expm1(absent), cells, (fill, sd / times.sqrt()))
        });
        Some(layers::expect(fulls.into_iter().chain(last), width.into()).probing(flat.k))
    }
}

impl Stream for Dynamic {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, capacity: shape.capacity, filters: vec![shape.filter()?] })
    }
}

face!(Dynamic: Insert, Remove);
planned!(Dynamic);

impl Filter for Dynamic {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(layers::fill(self.filters.iter()))
    }

    fn now(&self) -> Rates {
        let (m, k) = (self.filters[0].part.m(), self.filters[0].part.k());
        let set = |i: u64| {
            let bits = (0..).zip(&self.filters);
            bits.fold(0, |mask, (j, filter)| mask | u64::from(filter.part.cells.get(i) > 0) << j)
        };
        let shared = layers::any_shared(m, k, self.filters.len(), set);
        Rates::one_sided(shared.unwrap_or_else(|| layers::fpr(self.filters.iter())))
    }

    fn describe(&self) -> Vec<Fact> {
        let Shape { flat: Flat { m, k }, capacity, width } = self.shape();
        vec![
            fact("filters", self.filters.len() as u64),
            fact("m", m),
            fact("k", k),
            fact("capacity", capacity),
            fact("width", width),
        ]
    }

    /// The cells of the filter that claims the key, or of the newest.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let claims = self.filters.iter().find(|filter| filter.part.contains(digest));
        claims.or(self.filters.last()).map_or_else(Vec::new, |filter| filter.part.trace(digest))
    }
}

impl Insert for Dynamic {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        Dynamic::insert(self, record.key)
    }
}

keyed!(Dynamic: Remove);

const COUNTING: &str = "counting";
const BITS: &str = "bits";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Dynamic>(Facts {
    id: 67,
    slug: "dynamic",
    entry: "§10",
    question: "Is it in a set of unknown size, when keys are removed again?",
    name: "Dynamic Bloom filter",
    paper: "D. Guo, J. Wu, H. Chen, Y. Yuan, X. Luo, The dynamic Bloom filters, IEEE TKDE 22(1), 2010",
    family: "growing",
    needs: &["membership", "grow", "delete"],
    meaning: "items are the keys planned for, in all filters together; more of them raise the rate by that of one \
              filter",
    forms: &[
        Form::removing(COUNTING, &[Ability::Insert, Ability::Remove]),
        Form::exact(BITS, &[Ability::Insert]),
    ],
    operations: &[change!(
        Dynamic,
        "compact",
        "Merge filters whose keys fit into one.",
        [],
        [],
        |filter, _| Ok(filter.compact() > 0)
    )],
    params: &[
        Param { help: "number of cells of each filter", ..PARAM_M },
        PARAM_K,
        Param::integer("filters", 1, 1 << 20, "number of filters that the planned items fill")
            .or(Preset::Integer(4)),
        Param::integer("width", 2, 16, "bits per counter, of the form counting")
            .or(Preset::Integer(4)),
    ],
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_with_filters_that_cannot_be_are_refused() {
        let mut filter = Dynamic::with_rate(40, 0.05).unwrap();
        (0..30u64).for_each(|key| _ = filter.insert(&key).unwrap());
        let back: Dynamic = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!((filter.filters(), back), (3, filter.clone()));
        let lies: [fn(&mut Dynamic); 6] = [
            |f| f.filters.clear(),
            |f| f.capacity = 0,
            |f| f.capacity = 9,
            |f| f.filters[1].part.probe = Probe::over(f.filters[1].part.m(), 2),
            |f| f.filters[2].part.cells = Counters::new(f.filters[2].part.m(), 5),
            |f| f.head.form = BITS,
        ];
        lies_are_refused(&filter, lies);
    }
}
