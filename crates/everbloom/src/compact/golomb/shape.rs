//! How many bits a Golomb-coded set takes, and the best parameter of its code.

use super::{GOLOMB, RICE};
use crate::cells::truncated;
use crate::error::{Error, Result};
use crate::plan::Request;
use crate::theory::bloom as theory;

/// The best parameter for gaps of mean 1/p: the least b with (1 − p)^b + (1 − p)^{b+1} ≤ 1, as
/// ⌈ln(2 − p)/−ln(1 − p)⌉ (catalogue I18).
pub fn best_parameter(p: f64) -> u64 {
    let b = (libm::log(2.0 - p) / -libm::log1p(-p)).ceil();
    // A p of 1 gives 0, one of 0 infinity.
    b.clamp(1.0, MAX_PARAMETER as f64) as u64
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

/// P(the number of a non-member is in the set), 1 − (1 − 1/F)^n for n keys thrown at F numbers.
pub fn fpr(range: f64, n: f64) -> f64 {
    theory::fill(range, n)
}

/// F = n·N, where it fits.
pub(super) fn range(planned: u64, spread: u64) -> Result<u64> {
    let range = planned.checked_mul(spread).filter(|f| (1..=MAX_RANGE).contains(f));
    range.ok_or_else(|| {
        Error::parameter(format!(
            "{planned} items times {spread} exceed 62 bits, the maximum: \
             use fewer {{items}} or a higher {{rate}}"
        ))
    })
}

/// The largest b.
pub(super) const MAX_PARAMETER: u64 = 1 << 62;

/// Refuses a b that is out of range, or so small that gaps of `mean` would be written nearly in unary.
pub(super) fn worth_while(b: u64, mean: u64) -> Result<()> {
    if !(1..=MAX_PARAMETER).contains(&b) {
        return Err(Error::setting("b", b, format!("must be from 1 to {MAX_PARAMETER}")));
    }
    if mean / b <= MAX_STEPS {
        return Ok(());
    }
    let ones = mean / b;
    let message =
        format!("writes gaps of {mean} on average with some {ones} ones each: take a larger one");
    Err(Error::setting("b", b, message))
}

/// The largest F: numbers come from 64 bits of hash, which have to be spread evenly.
const MAX_RANGE: u64 = 1 << 62;

/// Entries of the index, and the bits of a number and a place in it.
pub(super) fn index_shape(
    entries: u64,
    interval: u64,
    range: u64,
    code_bits: u64,
) -> (u64, [u32; 2]) {
    let indexed = if interval > 0 { entries.div_ceil(interval) } else { 0 };
    let width = |most: u64| most.max(1).ilog2() + 1;
    (indexed, [width(range - 1), width(code_bits)])
}

/// The longest unary number that is worth while, on average.
const MAX_STEPS: u64 = 1 << 10;

/// How b comes about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parameter {
    /// The best for the gaps there are.
    Best,
    /// The better of the two powers of two beside it.
    BestPower,
    /// As set by hand.
    Fixed(u64),
}

impl Parameter {
    pub(super) fn settle(self, entries: u64, range: u64) -> u64 {
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
    pub(super) planned: u64,
    pub(super) spread: u64,
    pub(super) parameter: Parameter,
    pub(super) interval: u64,
}

impl Shape {
    pub(super) fn plan(request: &Request<'_>) -> Result<Self> {
        let interval = request.whole("interval");
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

    /// F, which fits where the shape was planned.
    pub(super) fn range(&self) -> u64 {
        self.planned.saturating_mul(self.spread)
    }

    /// Bits of codes and index for `n` keys, and the standard deviation of the codes'.
    pub(super) fn bits(&self, n: f64) -> (f64, f64) {
        let range = self.range();
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
pub(super) fn bits_sd(entries: f64, b: u64, range: u64) -> f64 {
    let q = libm::exp(b as f64 * libm::log1p(-(entries / range as f64).min(0.5)));
    (entries * (q / ((1.0 - q) * (1.0 - q)) + 0.25)).sqrt() + 17.0
}
