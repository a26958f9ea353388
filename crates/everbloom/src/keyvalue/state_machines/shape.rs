//! Sizes and rates of the three forms.

use super::table::{self, CELLS, LOAD, MAX_PRINT, TABLES};
use super::{DIRECT, FINGERPRINT, STATEFUL, StateMachines};
use crate::cells::width_of;
use crate::plan::check_cells;
use crate::variant::prelude::*;

/// Bits of a state: none, each of σ, or unknown.
pub(super) fn code_bits(states: u64) -> u32 {
    width_of(states + 1)
}

/// P(one of `states` pairs passes) and P(several do), each with a chance of `f`.
pub(super) fn pairs(f: f64, states: f64) -> (f64, f64) {
    let none = libm::pow(1.0 - f, states);
    let one = states * f * libm::pow(1.0 - f, states - 1.0);
    (one, (1.0 - none - one).max(0.0))
}

/// P(don't know | member), static, with σ equally likely states: (1 − e^{−λ(1−1/σ)})^k, λ = k(n−1)/m.
pub fn unknown_rate(m: f64, n: f64, k: f64, states: f64) -> f64 {
    let load = k * (n - 1.0) / m;
    libm::pow(-libm::expm1(-load * (1.0 - 1.0 / states)), k)
}

/// P(some state | not there) of the form `stateful`, σ((π+δ)^k − δ^k), and P(don't know | not there), δ^k.
pub fn foreign_rates(m: f64, n: f64, k: f64, states: f64) -> (f64, f64) {
    let load = k * n / m;
    let own = libm::exp(-load * (1.0 - 1.0 / states)) - libm::exp(-load);
    let unknown = (-libm::expm1(-load) - states * own).max(0.0);
    let all = libm::pow(unknown, k);
    (states * (libm::pow(own + unknown, k) - all), all)
}

/// Form, states, and the size of cells or tables.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) form: &'static str,
    pub(super) states: u64,
    /// Bits per counter.
    pub(super) width: u32,
    pub(super) flat: Flat,
    /// Buckets per table and bits per fingerprint.
    pub(super) table: (u64, u32),
}

impl Shape {
    fn cell_bits(&self) -> u32 {
        match self.form {
            STATEFUL => self.width + code_bits(self.states) + 1,
            DIRECT => self.width + 1,
            _ => self.table.1 + code_bits(self.states) + 1,
        }
    }

    fn bits(&self) -> u64 {
        let cells = match self.form {
            FINGERPRINT => self.table.0.saturating_mul(TABLES * CELLS),
            _ => self.flat.m,
        };
        cells.saturating_mul(self.cell_bits().into())
    }
}

impl Plan for StateMachines {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let states = request.whole("states");
        let width = request.whole("width") as u32;
        let form = request.form();
        let flat = Flat { m: 1, k: 1 };
        let shape = Shape { form, states, width, flat, table: (1, 1) };
        if form != FINGERPRINT {
            // A question for each state in the form `direct`.
            let questions = if form == DIRECT { states as f64 } else { 1.0 };
            let bits = f64::from(shape.cell_bits());
            let flat = Flat::plan_held(request, |n, p| (n, p / questions), |m, _| m * bits)?.0;
            return Ok(Shape { flat: flat.checked()?, ..shape });
        }
        let by_hand = request.integer("print").map(|print| print as f64);
        let print = |p: f64| {
            let compared = (TABLES * LOAD) as f64;
            by_hand.unwrap_or(libm::log2(compared / p).ceil().max(1.0))
        };
        let sized = |n: u64, p: f64| {
            let print = print(p).min(f64::from(MAX_PRINT) + 1.0) as u32;
            Shape { table: (n.div_ceil(TABLES * LOAD).saturating_add(1), print), ..shape }
        };
        let (n, p) = request.items_and_rate(|n, p| match sized(n, p) {
            shape if shape.table.1 <= MAX_PRINT => shape.bits() as f64,
            _ => f64::INFINITY,
        })?;
        let shape = sized(n, p);
        if shape.table.1 > MAX_PRINT {
            let message = format!("a rate of {p} needs fingerprints of more than {MAX_PRINT} bits");
            return Err(Error::setting("rate", p, message));
        }
        check_cells(n, p, shape.bits() as f64)?;
        Ok(shape)
    }

    /// Of queries that name one of σ equally likely states.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let states = if load.classes > 0 { load.classes } else { shape.states } as f64;
        let (n, Flat { m, k }, bits) = (load.distinct, shape.flat, shape.bits());
        let (m, kf) = (m as f64, f64::from(k));
        let (some, undecided, fill) = match shape.form {
            FINGERPRINT => {
                let (buckets, print) = shape.table;
                let (some, several) = table::rates(n as f64 / buckets as f64, print);
                (some, several, (n as f64 / (buckets * TABLES * CELLS) as f64, 0.0))
            }
            STATEFUL => {
                let (some, unknown) = foreign_rates(m, n as f64, kf, states);
                (some, unknown, shape.flat.fill(n))
            }
            _ => {
                let (some, several) = pairs(shape.flat.fpr(n), states);
                (some, several, shape.flat.fill(n))
            }
        };
        let undecided = if shape.form == DIRECT { named(undecided, states) } else { undecided };
        let probes = (shape.form != FINGERPRINT).then_some(k.into());
        Some(Expect { undecided, probes, ..Expect::one_sided(some / states, bits, Some(fill)) })
    }
}

/// P(several states pass and the one that is named is among them), to first order: two of them.
fn named(several: f64, states: f64) -> f64 {
    2.0 * several / states
}
