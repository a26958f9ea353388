//! From a goal to rows: by the error of counts (ε, δ), or by the rate of non-members that pass.

use super::{DYADIC, HEAVY, MOST_ROWS, SIGNED, dyadic};
use crate::error::{Error, Result};
use crate::plan::{MAX_CELLS, Request, check_cells};
use crate::theory::{bloom as theory, tail};

/// Counters per row, rows, and what the form adds to them.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) w: u64,
    pub(super) d: u32,
    pub(super) signed: bool,
    /// Bits per level, of the dyadic form.
    pub(super) step: Option<u32>,
    /// The share of the total from which a key is heavy.
    pub(super) phi: f64,
    /// Room for candidates, of the heavy form.
    pub(super) candidates: Option<u64>,
    /// Whether ε, δ, w or d decided, so that there is no target rate.
    pub(super) by_hand: bool,
}

impl Shape {
    pub(super) fn plan(request: &Request<'_>) -> Result<Self> {
        let signed = request.form() == SIGNED;
        let phi = request.number("phi");
        let step = request.whole("step") as u32;
        let mut shape = Self {
            w: 0,
            d: 0,
            signed,
            step: (request.form() == DYADIC).then_some(step),
            phi,
            // As many as can be heavy, and as many again that look so while ε ≤ φ/2.
            candidates: (request.form() == HEAVY).then_some((2.0 / phi).ceil() as u64),
            by_hand: true,
        };
        let w = request.integer("w").or(request.real("epsilon").map(width_for));
        let d = request.integer("d").or(request.real("delta").map(depth_for));
        let d = d.map(|d| shape.odd(d as u32));
        match (w, d) {
            (Some(w), d) => (shape.w, shape.d) = (w, d.unwrap_or(shape.odd(DEPTH))),
            (None, d) => {
                let bits = |n, p| shape.sized(n, p, d).0 * 64.0 * shape.levels() as f64;
                let (n, p) = request.items_and_rate(bits)?;
                let (cells, d) = shape.sized(n, p, d);
                check_cells(n, p, bits(n, p))?;
                (shape.w, shape.d) = ((cells / f64::from(d)) as u64, d);
                shape.by_hand = false;
            }
        }
        let cells = u128::from(shape.w) * u128::from(shape.d) * u128::from(shape.levels());
        let room = request.goal_bits().unwrap_or(MAX_CELLS).min(MAX_CELLS);
        if 64 * cells > u128::from(room) {
            return Err(Error::parameter(format!(
                "{} rows of {} counters need {} bytes, more than {}: set fewer, or a larger {{epsilon}}",
                shape.d,
                shape.w,
                8 * cells,
                room / 8
            )));
        }
        Ok(shape)
    }

    /// A median needs an odd number of rows.
    fn odd(&self, d: u32) -> u32 {
        if self.signed { (d | 1).min(MOST_ROWS) } else { d }
    }

    /// Number of sketches.
    pub(super) fn levels(&self) -> u64 {
        self.step.map_or(1, |step| u64::from(dyadic::levels(step)))
    }

    pub(super) fn bits(&self) -> u64 {
        64 * self.w * u64::from(self.d) * self.levels()
    }

    /// P(a non-member passes) where a share `fill` of each row is in use: all rows, or most of them.
    pub(super) fn passing(&self, d: u32, fill: f64) -> f64 {
        if self.signed {
            tail::binomial_at_least(d.into(), fill, u64::from(d / 2 + 1))
        } else {
            libm::pow(fill, f64::from(d))
        }
    }

    /// The fewest counters in which `n` keys let a share `p` of the others pass, and their rows.
    fn sized(&self, n: u64, p: f64, d: Option<u32>) -> (f64, u32) {
        let cells = |d: u32| {
            let fill =
                if self.signed { self.fill_for(d, p) } else { libm::pow(p, 1.0 / f64::from(d)) };
            theory::slice_filled(n as f64, fill) * f64::from(d)
        };
        if let Some(d) = d {
            return (cells(d), d);
        }
        let step = if self.signed { 2 } else { 1 };
        let (mut best, mut since) = ((cells(1), 1), 0);
        for d in (1..=MOST_ROWS).step_by(step).skip(1) {
            let found = cells(d);
            since += 1;
            if found < best.0 {
                (best, since) = ((found, d), 0);
            }
            // One valley, but for rows of whole counters.
            if since == 8 {
                break;
            }
        }
        best
    }

    /// The share of rows in use at which a share `p` of non-members passes, by bisection on its logarithm.
    fn fill_for(&self, d: u32, p: f64) -> f64 {
        let (mut low, mut high) = (-700.0f64, -1e-12f64);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if self.passing(d, libm::exp(middle)) <= p { low = middle } else { high = middle }
        }
        libm::exp(low)
    }
}

/// Rows where only their length was set: δ = 0.01.
const DEPTH: u32 = 5;

/// w = ⌈e/ε⌉.
fn width_for(epsilon: f64) -> u64 {
    (core::f64::consts::E / epsilon).ceil() as u64
}

/// d = ⌈ln(1/δ)⌉, at least 1.
fn depth_for(delta: f64) -> u64 {
    (-libm::log(delta)).ceil().max(1.0) as u64
}
