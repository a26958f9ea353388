//! How a window and rates become cells, probes and decrements.

use std::cell::Cell;

use super::theory::{Shape, decrements_for};
use crate::error::{Error, Result};
use crate::plan::{MAX_CELLS, PARAM_K, PARAM_M, Request};
use crate::theory::search::least_for;
use crate::theory::tail;

/// What the goal leaves to choose.
struct Planner {
    k: Option<u32>,
    max_bits: u32,
    decrements: Option<u64>,
    fnr: f64,
}

impl Planner {
    /// Cells per key of the window with k probes, for m ≫ k: there touches are Poisson, and z depends
    /// on how many touches the window brings to a cell, Λ = n(P + k)/m, alone.
    fn cells_per_key(&self, p: f64, k: u32) -> f64 {
        let (kf, max) = (f64::from(k), (1u64 << self.max_bits) - 1);
        let decrements = match self.decrements {
            Some(p) => p as f64,
            None => decrements_for(p, f64::INFINITY, kf, max as f64).ceil(),
        };
        let all = libm::pow(decrements / (decrements + kf), max as f64);
        let fnr = |window: f64| {
            let missed = |i: u32| {
                let touches = window * (f64::from(i) + 0.5) / 32.0;
                -libm::expm1(kf * libm::log1p(-all * tail::poisson_tail(touches, max)))
            };
            (0..32).map(missed).sum::<f64>() / 32.0
        };
        // By the window's inverse, with which the rate falls.
        let least = least_for(1e-4 / max as f64, 1e12, self.fnr, |shorter| fnr(1.0 / shorter));
        (decrements + kf) * least.unwrap_or(f64::INFINITY)
    }

    /// The k with the fewest cells, and their number per key. Fewer probes need more zeros and so more
    /// decrements, more probes are more to lose: the number falls, then rises.
    /// `None` where the decrements set by hand keep no k at the rate.
    fn best(&self, p: f64) -> Option<(u32, f64)> {
        if let Some(k) = self.k {
            return Some((k, self.cells_per_key(p, k)));
        }
        let max = ((1u64 << self.max_bits) - 1) as f64;
        let keeps = |k: u32| {
            let (kf, by_hand) = (f64::from(k), self.decrements.map(|d| d as f64));
            by_hand.is_none_or(|d| decrements_for(p, f64::INFINITY, kf, max) <= d)
        };
        let mut best = None;
        for k in (1..=64).filter(|&k| keeps(k)) {
            let cells = self.cells_per_key(p, k);
            match best {
                Some((_, least)) if cells > 1.1 * least => break,
                Some((_, least)) if cells >= least => {}
                _ => best = Some((k, cells)),
            }
        }
        best
    }

    fn shape(&self, m: u64, k: u32, p: f64) -> Result<Shape> {
        let max = ((1u64 << self.max_bits) - 1) as f64;
        // Rounded up, which keeps the rate; out of range, the check says so.
        let planned = || decrements_for(p, m as f64, f64::from(k), max).ceil() as u64;
        let decrements = self.decrements.unwrap_or_else(planned);
        let shape = Shape { m, k, max_bits: self.max_bits, decrements, fnr: None };
        shape.check()?;
        Ok(shape)
    }
}

/// The shape that a request leads to.
pub(super) fn plan(request: &Request<'_>) -> Result<Shape> {
    let max_bits = request.whole("max-bits") as u32;
    let fnr = request.number("fnr");
    let k = request.integer(PARAM_K.name).map(|k| k as u32);
    let planner = Planner { k, max_bits, decrements: request.integer("decrements"), fnr };
    let too_few = |p: f64| {
        Error::parameter(format!(
            "no k keeps the rate at {p} with so few {{decrements}} per insertion: set more, or omit it"
        ))
    };
    if let Some(m) = request.integer(PARAM_M.name) {
        let p = request.fpr();
        let shape = planner.shape(m, planner.best(p).ok_or_else(|| too_few(p))?.0, p)?;
        return Ok(Shape { fnr: request.goal_items().map(|n| shape.mean_fnr(n)), ..shape });
    }
    let width = f64::from(max_bits);
    // Sought are the items for one rate, or the rate for given items: the last answer often serves.
    let last = Cell::new((f64::NAN, f64::NAN));
    let per_key = |p: f64| {
        if last.get().0 != p {
            last.set((p, planner.best(p).map_or(f64::INFINITY, |(_, cells)| cells)));
        }
        last.get().1
    };
    let (n, p) = request.items_and_rate(|n, p| (per_key(p) * n as f64).max(8.0) * width)?;
    let (k, per_key) = planner.best(p).ok_or_else(|| too_few(p))?;
    let wanted = per_key * n as f64;
    if wanted.is_nan() || wanted > MAX_CELLS as f64 {
        return Err(Error::parameter(format!(
            "a window of {n} keys at a rate of {p} needs {wanted:e} cells, more than \
             {MAX_CELLS}: use fewer {{items}}, a higher {{rate}} or a higher {{fnr}}"
        )));
    }
    // In a few hundred cells k/m is not small, and what holds for m ≫ k falls short by a little.
    let mut m = (wanted as u64).max(u64::from(k) + 1);
    let room = request.goal_bits().map_or(u64::MAX, |bits| bits / u64::from(max_bits));
    loop {
        match planner.shape(m, k, p) {
            Ok(shape) if shape.mean_fnr(n) <= fnr => {
                return Ok(Shape { fnr: Some(fnr), ..shape });
            }
            Err(e) if m > MAX_CELLS || m >= 1 << 20 => return Err(e),
            _ if m >= room => {
                let shape = planner.shape(room, k, p)?;
                return Ok(Shape { fnr: Some(shape.mean_fnr(n)), ..shape });
            }
            _ => m = (m + m / 128 + 1).min(room),
        }
    }
}
