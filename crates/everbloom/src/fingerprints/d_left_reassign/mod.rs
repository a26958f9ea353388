//! The d-left filter with dynamic bit reassignment (Bonomi, Mitzenmacher, Panigrahy, Singh, Varghese 2006; catalogue
//! B2; S0 §II-C4).
//!
//! Fingerprints in buckets of 64 bits, placed by d-left hashing: one bucket in each of d tables, and the key goes to
//! the emptiest. A bucket says how many entries it has, and shares its bits out among them: the fewer there are, the
//! longer they are.
//!
//! ```text
//!   z = 2   │2│ 30 bits of x              │ 30 bits of y              │
//!   z = 3   │3│ 20 of x          │ 20 of y          │ 20 of w         │   ◀── w: x and y lose their low bits
//! ```
//!
//! An entry of a bucket with z of them has the top ⌊60/z⌋ bits of the key's fingerprint, or ⌊124/z⌋ in a bucket of 128
//! bits. Almost all buckets hold five to seven keys at a load of six, where fixed widths would have to be made
//! for eight: 0.032 of all non-members pass at 10.7 bits a key, not 0.19. The survey calls that comparable
//! to a Bloom filter. It is six times as much at these bits (0.0059), twice at 16, and about the same at 21.
//!
//! In the form `sorted` a bucket stores its entries as a set: in ascending order they are one of C(2^f + z − 1, z)
//! combinations, and the number of that combination is all that is written. That makes room for log₂(z!)/z more bits
//! an entry, 1.58 at z = 6, of which whole ones are used: 11 in place of 10. At a load of six 0.0125 pass.
//!
//! Keys are not removed: an entry of one table may match a key whose own is in another, and for shortened
//! fingerprints nobody can tell. The form `set` leaves a key out that passes already; `multiset` takes every one.
//!
//! **Slow:** a bucket is unpacked, changed and packed again; in `sorted` its entries are turned into the number of
//! a combination and back, by long divisions.
//!
//! **Use it** if a bucket is one memory word and d words are read at once. **Don't** elsewhere: `bloom` takes fewer
//! bits, and `d-left` or `cuckoo` can remove keys.

mod combination;
mod table;

use crate::cells::Packed;
use crate::plan::check_cells;
use crate::theory::choice::loads_to_the_left;
use crate::variant::prelude::*;

use combination::ROOM;
pub use table::Coding;
use table::{HEADER, Table, no_match};

/// Fingerprints that are as long as their bucket allows.
///
/// ```
/// let mut seen = everbloom::fingerprints::DLeftReassign::with_rate(1000, 0.01)?;
/// seen.insert("apple")?;
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DLeftReassign {
    head: Head,
    table: Table,
}

headed!(DLeftReassign { table });

/// The loads that the plan chooses among are multiples of 1/4, up to 6.
const LOADS: u32 = 24;

impl DLeftReassign {
    /// `d` tables (1 to 8) of `buckets` buckets of `width` bits, 64 or 128, that take every key.
    pub fn with_shape(d: u32, buckets: u64, width: u32, hasher: Hasher) -> Result<Self> {
        let goal = Goal::of(hasher).set("form", MULTISET).set("d", d).set("buckets", buckets);
        empty(&goal.set("width", width.to_string()))
    }

    fn check(&self) -> Result<()> {
        self.table.check()
    }

    /// Inserts a key; in a set, not if it passes already. Refused, with nothing changed, if all its buckets are full.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        let passes = self.table.contains(digest);
        if !(passes && self.head.form != MULTISET) {
            self.table.insert(digest)?;
            self.head.count(1);
        }
        Ok(Seen::new_if(!passes))
    }

    /// Whether the key may be a member.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.table.contains(self.head.hasher.digest(key))
    }

    /// Entries of each bucket, table by table.
    pub fn loads(&self) -> impl Iterator<Item = u64> + '_ {
        self.table.loads()
    }
}

/// Tables, buckets of each, and words of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    d: u32,
    buckets: u64,
    words: u32,
    /// Whether keys that pass are left out.
    set: bool,
    coding: Coding,
}

/// P(a non-member passes) at a load of `load` keys per bucket, 1 − Π over the d buckets, with buckets as full as
/// d-left hashing makes them.
pub fn fpr(coding: Coding, d: u32, payload: u32, load: f64) -> f64 {
    fprs(coding, d, payload, [load]).sum()
}

/// [`fpr`] at several loads, in ascending order.
fn fprs(
    coding: Coding,
    d: u32,
    payload: u32,
    loads: impl IntoIterator<Item = f64>,
) -> impl Iterator<Item = f64> {
    let loads = loads_to_the_left(loads, d, ROOM as usize);
    loads.map(move |tails| fpr_of(coding, d, payload, &tails))
}

/// [`fpr`], given the share of buckets that hold at least 1, 2… entries.
fn fpr_of(coding: Coding, d: u32, payload: u32, tails: &[f64]) -> f64 {
    let at_least = |z: usize| if z == 0 { 1.0 } else { tails.get(z - 1).copied().unwrap_or(0.0) };
    let share = |z: usize| at_least(z) - at_least(z + 1);
    let passes = |z: usize| {
        share(z).max(0.0) * (1.0 - no_match(coding.entry_bits(payload, z as u64), z as u64))
    };
    let one: f64 = (1..=ROOM as usize).map(passes).sum();
    -libm::expm1(f64::from(d) * libm::log1p(-one.min(1.0)))
}

impl Shape {
    fn payload(&self) -> u32 {
        64 * self.words - HEADER
    }

    fn load(&self, n: f64) -> f64 {
        n / (f64::from(self.d) * self.buckets as f64)
    }
}

impl Plan for DLeftReassign {
    type Shape = Shape;

    /// The highest load up to six that keeps the rate, in buckets of the width that takes fewer bits then.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let d = request.whole("d") as u32;
        let (set, coding) = (request.form() != MULTISET, Coding::of(request.form()));
        let width = request.choice("width").map(|width| if width == "128" { 2 } else { 1 });
        if let Some(buckets) = request.integer("buckets") {
            return Ok(Shape { d, buckets, words: width.unwrap_or(1), set, coding });
        }
        // Rates by load, once: each is the solution of a differential equation.
        let loads: Vec<f64> = (1..=LOADS).map(|i| f64::from(i) / 4.0).collect();
        let widths = [1, 2].into_iter().filter(|words| width.is_none_or(|width| width == *words));
        let rates: Vec<(u32, Vec<f64>)> = widths
            .map(|words| {
                (words, fprs(coding, d, 64 * words - HEADER, loads.iter().copied()).collect())
            })
            .collect();
        let by_hand = request.real("load");
        let best = |p: f64| {
            let most = |(words, rates): &(u32, Vec<f64>)| {
                let fitting = loads.iter().zip(rates).filter(|(_, rate)| **rate <= p);
                let load = by_hand.or_else(|| fitting.map(|(load, _)| *load).next_back())?;
                Some((*words, load))
            };
            let bits = |(words, load): &(u32, f64)| f64::from(64 * words) / load;
            rates.iter().filter_map(most).min_by(|a, b| bits(a).total_cmp(&bits(b)))
        };
        let buckets = |n: u64, load: f64| (n as f64 / (f64::from(d) * load)).ceil().max(1.0);
        let size = |n: u64, p: f64| {
            let bits = |(words, load)| f64::from(64 * words * d) * buckets(n, load);
            best(p).map_or(f64::INFINITY, bits)
        };
        let (n, p) = request.items_and_rate(size)?;
        let (words, load) = best(p).ok_or_else(|| {
            let message =
                format!("a rate of {p} is out of reach of {d} buckets: use a higher {{rate}}");
            Error::parameter(message)
        })?;
        check_cells(n, p, size(n, p))?;
        Ok(Shape { d, buckets: buckets(n, load) as u64, words, set, coding })
    }

    /// A set leaves those out that pass already: the sum of the rates as it fills.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (n, payload) = (load.distinct as f64, shape.payload());
        let load_of = |n: f64| shape.load(n).min(ROOM as f64);
        let left_out = if shape.set {
            // Simpson's rule; rates rise steeply at the end.
            let loads = (0..=16).map(|i| load_of(n * f64::from(i) / 16.0));
            let rates = fprs(shape.coding, shape.d, payload, loads);
            let weights = (0..=16).map(|i| match i {
                0 | 16 => 1.0,
                _ => f64::from(2 + 2 * (i % 2)),
            });
            n / 48.0 * rates.zip(weights).map(|(rate, weight)| weight * rate).sum::<f64>()
        } else {
            0.0
        };
        let kept = if shape.set { n - left_out } else { load.items as f64 };
        let slots = f64::from(shape.d) * shape.buckets as f64 * ROOM as f64;
        let sd = if shape.set { (left_out + 1.0).sqrt() + 0.1 * left_out } else { 0.0 };
        let bits = shape.buckets.saturating_mul(u64::from(64 * shape.words * shape.d));
        let fill = ((kept / slots).min(1.0), sd / slots);
        let rate = fpr(shape.coding, shape.d, payload, load_of(kept));
        Some(Expect::one_sided(rate, bits, Some(fill)))
    }
}

impl Stream for DLeftReassign {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let words = shape.buckets.saturating_mul(u64::from(shape.d * shape.words));
        let cells = Packed::try_new(words, 64)?;
        Ok(Self { head, table: Table::new(shape.d, shape.words, cells, shape.coding) })
    }
}

face!(DLeftReassign: Insert);
planned!(DLeftReassign);

impl Insert for DLeftReassign {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        DLeftReassign::insert(self, record.key)
    }
}

by_part!(DLeftReassign: table);

const SET: &str = "set";
const MULTISET: &str = "multiset";
const SORTED: &str = "sorted";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<DLeftReassign>(Facts {
    id: 99,
    slug: "d-left-reassign",
    entry: "B2",
    question: "Is it in the set, in buckets that are words of memory read at once?",
    name: "Bloom filter via d-left hashing and dynamic bit reassignment",
    paper: "F. Bonomi, M. Mitzenmacher, R. Panigrahy, S. Singh, G. Varghese, Bloom filters via d-left hashing and \
            dynamic bit reassignment, Allerton 2006",
    family: "fingerprints",
    needs: &["membership", "parallel"],
    forms: &[
        Form::exact(SET, &[Ability::Insert]),
        Form::exact(MULTISET, &[Ability::Insert]),
        Form::exact(SORTED, &[Ability::Insert]),
    ],
    params: &[
        Param::integer("d", 1, 8, "number of tables").or(Preset::Integer(4)),
        Param::integer("buckets", 1, 1 << 40, "buckets per table"),
        Param::choice("width", &["64", "128"], "bits per bucket"),
        Param::real("load", 0.01, 6.0, "keys per bucket to plan for"),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_with_impossible_buckets_are_refused() {
        for width in [64, 128] {
            let mut filter = DLeftReassign::with_shape(4, 5, width, Hasher::default()).unwrap();
            (0..70u64).for_each(|key| _ = filter.insert(&key).unwrap());
            let back: DLeftReassign = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
            assert_eq!(back, filter);
            let refused = |change: fn(&mut Table)| {
                let mut other = filter.clone();
                change(&mut other.table);
                assert!(Opener::new().decode(&to_bytes(&other)).is_err(), "{width}");
            };
            refused(|table| table.d = 0);
            refused(|table| table.d = 9);
            refused(|table| table.d = 3);
            refused(|table| table.words = 3);
            refused(|table| table.set(2, 9, 0));
            refused(|table| table.set(2, 0, 1));
            refused(|table| table.set(2, 7, 1 << (64 * table.words - HEADER - 1)));
            refused(|table| table.cells = Packed::new(0, 64));
        }
    }

    #[test]
    fn files_with_impossible_combinations_are_refused() {
        let builder = DLeftReassign::builder().set("d", 2).set("buckets", 5);
        let mut filter = builder.form(SORTED).build().unwrap();
        (0..30u64).for_each(|key| _ = filter.insert(&key).unwrap());
        assert_eq!(Opener::new().decode_as::<DLeftReassign>(&to_bytes(&filter)).unwrap(), filter);
        let last = combination::count(11, 6) - 1;
        filter.table.set(3, 6, last);
        assert!(Opener::new().decode(&to_bytes(&filter)).is_ok());
        filter.table.set(3, 6, last + 1);
        assert!(Opener::new().decode(&to_bytes(&filter)).is_err());
    }
}
