//! The Golomb-coded set (Putze, Sanders, Singler 2007; catalogue I18; S0 §III-X, its reference 61).
//!
//! A set that never changes, close to the fewest bits there can be. Each key is hashed to a number below
//! F = n·N, the numbers are sorted, and the gaps between them, N on average, are written one after the
//! other in Golomb's code:
//!
//! ```text
//!   numbers   3         14        17        32        41        of F = 50: n = 5, N = 10
//!   gaps      3         11        3         15        9
//!   codes     0 100     10 101    0 100     110 010   10 011    b = 7: ⌊gap/b⌋ in unary, gap mod b
//!                                                               in truncated binary
//! ```
//!
//! A key that was not in the set meets one of the numbers with probability n/F = 1/N. Gaps of a random set
//! are geometric, and Golomb's code with b* = ⌈ln(2 − p)/−ln(1 − p)⌉, p = 1/N, is the best for such: 8.47
//! bits a key at N = 128, where log2 N = 7 is the lower bound, and the standard filter takes 10.1. The form
//! `rice` has a power of two for b, which costs up to 3 % and needs no division.
//!
//! To find a key, codes are decoded one by one until its number is reached or passed. An index of every
//! I-th number and the place of its code tells where to begin.
//!
//! **Slow:** a query decodes the codes between two entries of the index, one after the other, since each tells only
//! the gap to the one before.
//!
//! **Use it** for sets that are built once and sent or stored often (the block filters of BIP 158 are such sets
//! with N = 784,931 and b = 2^19). **Don't** if keys are added later, or if a query must take less than a
//! microsecond.

mod shape;

use crate::cells::{BitReader, BitWriter, Bits, Packed};
use crate::parts::static_set::{self, StaticSet, static_set};
use crate::probe::multiply_shift;
use crate::threads::Cores;
use crate::variant::prelude::*;

use shape::{MAX_PARAMETER, Parameter, bits_sd, index_shape, range, worth_while};
pub use shape::{Shape, best_parameter, bits_per_entry, bits_per_gap, fpr};

/// A set of numbers below F in the code of their gaps.
///
/// ```
/// let set = everbloom::compact::Golomb::from_keys(["apple", "pear"], 0.001)?;
/// assert!(set.contains("apple") && set.contains("pear"));
/// assert!(!set.contains("nut"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Golomb {
    head: Head,
    /// The n that fixes F: the keys planned for.
    planned: u64,
    /// N, numbers below F for each of them.
    spread: u64,
    /// b, Golomb's parameter.
    parameter: u64,
    /// Different numbers, at most as many as keys.
    entries: u64,
    codes: Bits,
    /// I, entries to an entry of the index; 0 for none.
    interval: u64,
    /// Entries 0, I, 2I, …: their numbers.
    values: Packed,
    /// The bits after their codes.
    places: Packed,
}

state!(Golomb { head, planned, spread, parameter, entries, codes, interval, values, places });

impl Golomb {
    /// The set of `keys` with F = n·`spread` for their number n, parameter `b` and an index every
    /// `interval` entries (0 for none).
    pub fn with_shape<K: Key>(
        keys: &[K],
        spread: u64,
        b: u64,
        interval: u64,
        hasher: Hasher,
    ) -> Result<Self> {
        let planned = (keys.len() as u64).max(1);
        let parameter = Parameter::Fixed(b);
        worth_while(b, range(planned, spread)? / planned)?;
        static_set::shaped(&Shape { planned, spread, parameter, interval }, GOLOMB, hasher, keys)
    }

    /// F, the range of the numbers.
    pub fn range(&self) -> u64 {
        // It was checked that it fits.
        self.planned.saturating_mul(self.spread)
    }

    /// Golomb's parameter b.
    pub fn parameter(&self) -> u64 {
        self.parameter
    }

    /// Distinct numbers, at most as many as keys: two keys with the same number cannot be distinguished.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Bits of the codes, without the index.
    pub fn code_bits(&self) -> u64 {
        self.codes.len()
    }

    /// The last entry of the index that is not above `target`.
    fn entry_before(&self, target: u64) -> Option<u64> {
        let (mut low, mut high) = (0, self.values.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.values.get(middle) <= target { low = middle + 1 } else { high = middle }
        }
        low.checked_sub(1)
    }

    /// Decodes everything once, so that queries need not fear.
    fn check(&self) -> Result<()> {
        let corrupt = |message: &str| Err(Error::corrupt(0, format!("corrupt filter: {message}")));
        let Ok(range) = range(self.planned, self.spread) else {
            return corrupt("numbers beyond 63 bits");
        };
        if !(1..=MAX_PARAMETER).contains(&self.parameter) {
            return corrupt("a Golomb parameter of 0 or beyond 62 bits");
        }
        if self.head.form == RICE && !self.parameter.is_power_of_two() {
            return corrupt("a Rice parameter that is no power of two");
        }
        let (indexed, widths) = index_shape(self.entries, self.interval, range, self.codes.len());
        let index = [&self.values, &self.places];
        if index.map(|i| i.len()) != [indexed; 2] || index.map(|i| i.width()) != widths {
            return corrupt("an index of another shape");
        }
        let mut codes = BitReader::new(&self.codes, 0);
        let mut value = 0u64;
        // Each code takes at least a bit, so this ends with the codes.
        for i in 0..self.entries {
            let next = codes.golomb(self.parameter).and_then(|gap| {
                let rising = gap > 0 || i == 0;
                value.checked_add(gap).filter(|next| *next < range && rising)
            });
            let Some(next) = next else { return corrupt("the codes are not of such a set") };
            value = next;
            if self.interval > 0 && i.is_multiple_of(self.interval) {
                let at = i / self.interval;
                if (self.values.get(at), self.places.get(at)) != (value, codes.at()) {
                    return corrupt("the index does not point at its entries");
                }
            }
        }
        if codes.at() == self.codes.len() { Ok(()) } else { corrupt("codes follow the last entry") }
    }
}

impl StaticSet for Golomb {
    type Word = u64;

    /// The number of a hash h is (h·F) >> 64.
    fn assemble(shape: &Shape, mut head: Head, mut hashes: Vec<u64>, _: Cores) -> Result<Self> {
        let (Shape { planned, spread, interval, .. }, range) = (*shape, shape.range());
        head.count(hashes.len() as u64);
        hashes.iter_mut().for_each(|hash| *hash = multiply_shift(*hash, range));
        let mut numbers = hashes;
        numbers.sort_unstable();
        numbers.dedup();
        let entries = numbers.len() as u64;
        let parameter = shape.parameter.settle(entries, range);
        let (mut out, mut indexed, mut last) = (BitWriter::new(), Vec::new(), 0);
        for (i, number) in (0u64..).zip(numbers) {
            out.golomb(number - last, parameter);
            last = number;
            if interval > 0 && i.is_multiple_of(interval) {
                indexed.push((number, out.len()));
            }
        }
        let codes = out.finish();
        let (len, [value_width, place_width]) = index_shape(entries, interval, range, codes.len());
        let (mut values, mut places) =
            (Packed::new(len, value_width), Packed::new(len, place_width));
        for (i, (value, place)) in (0u64..).zip(indexed) {
            values.set(i, value);
            places.set(i, place);
        }
        Ok(Self { head, planned, spread, parameter, entries, codes, interval, values, places })
    }

    fn has(&self, digest: Digest) -> bool {
        let target = multiply_shift(digest.h1, self.range());
        let (mut value, mut left, place) = match self.entry_before(target) {
            Some(at) => {
                let value = self.values.get(at);
                if value == target {
                    return true;
                }
                let left = self.interval.min(self.entries - at * self.interval) - 1;
                (value, left, self.places.get(at))
            }
            // With an index, the first entry is in it.
            None if self.interval > 0 => return false,
            None => (0, self.entries, 0),
        };
        let mut codes = BitReader::new(&self.codes, place);
        while left > 0 {
            // Whatever was loaded was decoded once to its end.
            let Some(gap) = codes.golomb(self.parameter) else { return false };
            value += gap;
            if value >= target {
                return value == target;
            }
            left -= 1;
        }
        false
    }
}

impl Plan for Golomb {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let n = load.distinct as f64;
        let bits = shape.bits(n).0.round() as u64;
        Some(Expect::one_sided(fpr(shape.range() as f64, n), bits, None))
    }
}

face!(Golomb: Bulk);
static_set!(Golomb);

impl Filter for Golomb {
    fn now(&self) -> Rates {
        Rates::one_sided(self.entries as f64 / self.range() as f64)
    }

    fn describe(&self) -> Vec<Fact> {
        let entries = self.entries.max(1) as f64;
        vec![
            fact("planned items", self.planned),
            fact("N", self.spread),
            fact("b", self.parameter),
            fact("entries", self.entries),
            real("code bits per entry", self.codes.len() as f64 / entries),
            fact("interval", self.interval),
        ]
    }

    fn bits_sd(&self) -> f64 {
        bits_sd(self.entries as f64, self.parameter, self.range())
    }

    /// The key's place in the range, and whether the code has it.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let agrees = self.has(digest);
        let index = multiply_shift(digest.h1, self.range());
        vec![Touched { index, value: agrees.into(), agrees }]
    }
}

const GOLOMB: &str = "golomb";
const RICE: &str = "rice";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Golomb>(Facts {
    id: 46,
    slug: "golomb",
    entry: "I18",
    question: "Is it in a fixed set, in a coded file of nearly the fewest bits?",
    name: "Golomb-coded set",
    paper: "F. Putze, P. Sanders, J. Singler, Cache-, hash- and space-efficient Bloom filters, WEA, 2007",
    family: "compact",
    needs: &["membership", "compact", "static", "accurate"],
    forms: &[Form::exact(GOLOMB, &[]), Form::exact(RICE, &[])],
    params: &[
        Param::integer("N", 2, 1 << 61, "numbers per key, instead of the rate 1/N"),
        Param::integer("b", 1, MAX_PARAMETER, "Golomb's parameter"),
        Param::integer("P", 0, 62, "Rice's parameter, b = 2^P"),
        Param::integer("interval", 0, 1 << 32, "entries per entry of the index; 0 for no index")
            // A query decodes 64 codes on average, and the index adds half a bit a key.
            .or(Preset::Integer(128)),
    ],
    ..Facts::COLLECTED
});
