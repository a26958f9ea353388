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
//! **Use it** for sets that are built once and sent or stored often (blocks' filters of BIP 158 are such
//! sets with N = 784,931 and b = 2^19). **Don't** where keys come later, or where a query may not cost a
//! microsecond.

use crate::cells::{BitReader, BitWriter, Bits, Packed, truncated};
use crate::probe::multiply_shift;
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// A set of numbers below F in the code of their gaps.
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

/// The best parameter for gaps of mean 1/p: the least b with (1 − p)^b + (1 − p)^{b+1} ≤ 1, as
/// ⌈ln(2 − p)/−ln(1 − p)⌉ (catalogue I18).
pub fn best_parameter(p: f64) -> u64 {
    let b = (libm::log(2.0 - p) / -libm::log1p(-p)).ceil();
    // A p of 1 gives 0, one of 0 infinity.
    b.clamp(1.0, (1u64 << 62) as f64) as u64
}

/// Expected bits of the code with parameter `b` of a gap g that has probability p(1 − p)^g.
///
/// ⌊g/b⌋ is geometric with ratio Q = (1 − p)^b and takes 1 + Q/(1 − Q) bits in unary; g mod b takes one
/// bit more than the shortest where it reaches the cutoff. For b = 2^P this is P + 1 + Q/(1 − Q).
pub fn bits_per_gap(b: u64, p: f64) -> f64 {
    1.0 + f64::from(truncated(b).0) + beyond_shortest(b, p)
}

/// The same for the gaps between *different* numbers, which are at least 1: one more than such a g, so that
/// each step is reached 1/(1 − p) times as often.
pub fn bits_per_entry(b: u64, p: f64) -> f64 {
    1.0 + f64::from(truncated(b).0) + beyond_shortest(b, p) / (1.0 - p)
}

/// Expected steps of ⌊g/b⌋, and the chance of the longer code for g mod b.
fn beyond_shortest(b: u64, p: f64) -> f64 {
    let reach = |g: u64| libm::exp(g as f64 * libm::log1p(-p));
    let q = reach(b);
    reach(truncated(b).1) / (1.0 - q)
}

/// P(a stranger's number is in the set), 1 − (1 − 1/F)^n for n keys thrown at F numbers.
pub fn fpr(range: f64, n: f64) -> f64 {
    theory::fill(range, n)
}

impl Golomb {
    /// The set of `keys`, at a rate of `fpr`.
    ///
    /// ```
    /// let set = everbloom::compact::Golomb::of(&["apple", "pear"], 0.001)?;
    /// assert!(set.contains("apple") && set.contains("pear"));
    /// assert!(!set.contains("nut"));
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn of<K: Key>(keys: &[K], fpr: f64) -> Result<Self> {
        let goal = Goal::new((keys.len() as u64).max(1), fpr);
        let (shape, head) = crate::variant::settle::<Self>(&goal)?;
        let digests = keys.iter().map(|key| head.hasher.digest(key));
        Ok(Self::code(&shape, head.clone(), digests.collect()))
    }

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
        let shape = Shape { planned, spread, parameter: Parameter::Fixed(b.max(1)), interval };
        worth_while(b.max(1), range(planned, spread)? / planned)?;
        let digests = keys.iter().map(|key| hasher.digest(key)).collect();
        Ok(Self::code(&shape, Head::new(hasher, GOLOMB), digests))
    }

    fn code(shape: &Shape, mut head: Head, digests: Vec<Digest>) -> Self {
        let Shape { planned, spread, interval, .. } = *shape;
        head.count(digests.len() as u64);
        let range = planned.saturating_mul(spread);
        let mut numbers: Vec<u64> = digests.iter().map(|d| number(*d, range)).collect();
        drop(digests);
        numbers.sort_unstable();
        numbers.dedup();
        let entries = numbers.len() as u64;
        let parameter = shape.parameter.settle(entries, range);
        let (mut out, mut places, mut last) = (BitWriter::new(), Vec::new(), 0);
        for (i, number) in (0u64..).zip(&numbers) {
            out.golomb(number - last, parameter);
            last = *number;
            if interval > 0 && i.is_multiple_of(interval) {
                places.push(out.len());
            }
        }
        let codes = out.finish();
        let (indexed, [value_width, place_width]) =
            index_shape(entries, interval, range, codes.len());
        let mut values = Packed::new(indexed, value_width);
        let mut packed = Packed::new(indexed, place_width);
        for (i, place) in (0u64..).zip(&places) {
            values.set(i, numbers[(i * interval) as usize]);
            packed.set(i, *place);
        }
        Self { head, planned, spread, parameter, entries, codes, interval, values, places: packed }
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

    /// Different numbers, at most as many as keys: two keys of one number cannot be told apart.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Bits of the codes, without the index.
    pub fn code_bits(&self) -> u64 {
        self.codes.len()
    }

    /// Whether the key may be a member.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let target = number(self.head.hasher.digest(key), self.range());
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
        if self.parameter == 0 || self.parameter > 1 << 62 {
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

/// The number of a digest below `range`, (H·F) >> 64.
fn number(digest: Digest, range: u64) -> u64 {
    multiply_shift(digest.h1, range)
}

/// F = n·N, where it fits.
fn range(planned: u64, spread: u64) -> Result<u64> {
    let range = planned.checked_mul(spread).filter(|f| (1..=MAX_RANGE).contains(f));
    range.ok_or_else(|| {
        Error::parameter(format!(
            "{planned} items times {spread} is beyond 62 bits, and keys have no more to give: \
             ask for fewer items or a higher rate"
        ))
    })
}

/// Refuses a b so small that gaps of `mean` would be written nearly in unary.
fn worth_while(b: u64, mean: u64) -> Result<()> {
    if mean / b <= MAX_STEPS {
        return Ok(());
    }
    Err(Error::parameter(format!(
        "b = {b} writes gaps of {mean} on average with some {} ones each: take a larger one",
        mean / b
    )))
}

/// The largest F: numbers come from 64 bits of hash, which have to be spread evenly.
const MAX_RANGE: u64 = 1 << 62;

/// Entries of the index, and the bits of a number and a place in it.
fn index_shape(entries: u64, interval: u64, range: u64, code_bits: u64) -> (u64, [u32; 2]) {
    let indexed = if interval > 0 { entries.div_ceil(interval) } else { 0 };
    let width = |most: u64| most.max(1).ilog2() + 1;
    (indexed, [width(range - 1), width(code_bits)])
}

/// How b comes about.
#[derive(Clone, Copy, Debug)]
enum Parameter {
    /// The best for the gaps there are.
    Best,
    /// The better of the two powers of two beside it.
    BestPower,
    /// As set by hand.
    Fixed(u64),
}

impl Parameter {
    fn settle(self, entries: u64, range: u64) -> u64 {
        let p = (entries.max(1) as f64 / range as f64).min(0.5);
        match self {
            Parameter::Best => best_parameter(p),
            Parameter::BestPower => {
                let power = 1 << best_parameter(p).ilog2();
                let bits = |b: u64| bits_per_entry(b, p);
                if bits(2 * power) < bits(power) { 2 * power } else { power }
            }
            Parameter::Fixed(b) => b,
        }
    }
}

/// n, N, b and I as planned.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    planned: u64,
    spread: u64,
    parameter: Parameter,
    interval: u64,
}

impl Shape {
    /// Bits of codes and index for `n` keys, and the standard deviation of the codes'.
    fn bits(&self, n: f64) -> (f64, f64) {
        let range = self.planned.saturating_mul(self.spread);
        let entries = range as f64 * theory::fill(range as f64, n);
        if entries < 0.5 {
            return (0.0, 0.0);
        }
        let b = self.parameter.settle(entries.round() as u64, range);
        let codes = entries * bits_per_entry(b, entries / range as f64);
        let (indexed, widths) =
            index_shape(entries.round() as u64, self.interval, range, codes as u64);
        let index = indexed as f64 * f64::from(widths[0] + widths[1]);
        (codes + index, bits_sd(entries, b, range))
    }
}

/// Standard deviation of the bits of `entries` codes, and of the index that follows them: from above, as if
/// gaps were independent, while they add up to F. A step of ⌊g/b⌋ is a bit, and an index entry more or less
/// some 100.
fn bits_sd(entries: f64, b: u64, range: u64) -> f64 {
    let q = libm::exp(b as f64 * libm::log1p(-(entries / range as f64).min(0.5)));
    (entries * (q / ((1.0 - q) * (1.0 - q)) + 0.25)).sqrt() + 17.0
}

impl Plan for Golomb {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let interval = request.integer("interval").unwrap_or(INTERVAL);
        let fixed = match (request.form(), request.integer("b"), request.integer("P")) {
            (RICE, Some(_), _) => {
                return Err(Error::parameter("form rice takes P, the logarithm of b, not b"));
            }
            (GOLOMB, _, Some(_)) => {
                return Err(Error::parameter("P is for form rice; form golomb takes b"));
            }
            (_, b, power) => b.or(power.map(|p| 1 << p)),
        };
        let parameter = match fixed {
            Some(b) => Parameter::Fixed(b),
            None if request.form() == RICE => Parameter::BestPower,
            None => Parameter::Best,
        };
        let spread_set = request.integer("N");
        let shape = |n: u64, p: f64| {
            // F is n·N; with 1/N a hair above the rate of n keys, N = ⌈1/p⌉ keeps it.
            let spread = spread_set.unwrap_or_else(|| (1.0 / p).ceil().clamp(2.0, 1e19) as u64);
            Shape { planned: n, spread, parameter, interval }
        };
        let bits = |n: u64, p: f64| {
            let shape = shape(n, p);
            if range(n, shape.spread).is_err() {
                return f64::INFINITY;
            }
            // Six sigmas, since a set that needs more bits than its room is of no use.
            let (mean, sd) = shape.bits(n as f64);
            (mean + 6.0 * sd).ceil()
        };
        let (n, p) = request.items_and_rate(bits)?;
        let shape = shape(n, p);
        let range = range(n, shape.spread)?;
        fixed.map_or(Ok(()), |b| worth_while(b, range / n))?;
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let n = load.distinct as f64;
        let range = shape.planned.saturating_mul(shape.spread);
        let bits = shape.bits(n).0.round() as u64;
        Some(Expect::one_sided(fpr(range as f64, n), bits, None))
    }
}

impl Create for Golomb {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let digests = digests(&head.hasher, inputs.records)?;
        Ok(Self::code(shape, head, digests))
    }
}

face!(Golomb: );

impl Filter for Golomb {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    /// There are no cells to be in use or not.
    fn fill(&self) -> Option<f64> {
        None
    }

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
}

const GOLOMB: &str = "golomb";
const RICE: &str = "rice";

/// A query decodes half as many codes on average, and the index adds half a bit a key.
const INTERVAL: u64 = 128;

/// The longest unary number that is worth while, on average.
const MAX_STEPS: u64 = 1 << 10;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 46,
        slug: "golomb",
        entry: "I18",
        name: "Golomb-coded set",
        paper: "F. Putze, P. Sanders, J. Singler, Cache-, hash- and space-efficient Bloom filters, WEA, 2007",
        family: "compact",
        needs: &["membership", "compact", "static", "accurate"],
        forms: &[
            Form { name: GOLOMB, abilities: &[], false_negatives: FalseNegatives::Never },
            Form { name: RICE, abilities: &[], false_negatives: FalseNegatives::Never },
        ],
        params: &[
            Param {
                name: "N",
                range: Range::Integer(2, 1 << 61),
                default: Preset::Planned,
                help: "numbers for each key, in place of the rate 1/N",
            },
            Param {
                name: "b",
                range: Range::Integer(1, 1 << 62),
                default: Preset::Planned,
                help: "Golomb's parameter",
            },
            Param {
                name: "P",
                range: Range::Integer(0, 62),
                default: Preset::Planned,
                help: "Rice's parameter, b = 2^P",
            },
            Param {
                name: "interval",
                range: Range::Integer(0, 1 << 32),
                default: Preset::Integer(INTERVAL),
                help: "entries to an entry of the index; 0 for no index",
            },
        ],
        build: Build::Collected,
        ..Facts::FILTER
    },
    ops: Ops::of::<Golomb>(),
};
