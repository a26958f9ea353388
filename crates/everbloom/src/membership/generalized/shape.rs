//! Planning of generalized filters: hashes for the false positives, then bits for the false negatives.

use crate::plan::MAX_CELLS;
use crate::theory::generalized::{self as theory, Hashes, MOST_HASHES};
use crate::variant::prelude::*;

/// Bits, hashes, the initial content and the bound on false negatives.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) m: u64,
    pub(super) k0: u32,
    pub(super) k1: u32,
    pub(super) zeros: f64,
    pub(super) init_seed: u64,
    pub(super) fnr: Option<f64>,
}

impl Shape {
    pub(super) fn exact(&self) -> theory::Shape {
        theory::Shape { m: self.m as f64, k0: f64::from(self.k0), k1: f64::from(self.k1) }
    }

    pub(super) fn hashes(&self) -> Hashes {
        Hashes { k0: f64::from(self.k0), k1: f64::from(self.k1) }
    }

    pub(super) fn plan(request: &Request<'_>) -> Result<Self> {
        let number = |name| request.integer(name).map(|k| k as u32);
        let zeros = request.number("zeros");
        let fnr = request.number("fnr");
        let planner = Planner { k0: number("k0"), k1: number("k1"), zeros, fnr };
        let init_seed = request.whole("init-seed");
        let (n, p, m) = match request.integer(PARAM_M.name) {
            Some(m) => (request.goal_items(), request.fpr(), m as f64),
            None => {
                let (n, p) = request.items_and_rate(|n, p| planner.bits(n, p))?;
                (Some(n), p, planner.bits(n, p).ceil())
            }
        };
        let hashes = planner.hashes(p).filter(|_| m <= MAX_CELLS as f64);
        let Some((k0, k1)) = hashes else {
            return Err(Error::parameter(format!(
                "no generalized filter bounds false positives by {p} and false negatives by {fnr} \
                 in {MAX_CELLS} bits: allow more of either, or set {{k0}} and {{k1}} by hand"
            )));
        };
        let m = (m as u64).max(1);
        let shape = Shape { m, k0, k1, zeros, init_seed, fnr: Some(fnr) };
        let fnr = match request.integer(PARAM_M.name) {
            _ if k0 == 0 => Some(0.0),
            Some(_) => n.map(|n| shape.hashes().max_fnr(m as f64 / n as f64)),
            None => Some(fnr),
        };
        Ok(Shape { fnr, ..shape })
    }
}

/// How much of the goal leaves which hashes and size to choose.
struct Planner {
    k0: Option<u32>,
    k1: Option<u32>,
    zeros: f64,
    fnr: f64,
}

impl Planner {
    /// The hashes whose F_p is at most `p`, as few as the false negatives like best (S2 §IV-B).
    fn hashes(&self, p: f64) -> Option<(u32, u32)> {
        let ok = |k0: u32, k1: u32| Hashes { k0: f64::from(k0), k1: f64::from(k1) }.max_fpr() <= p;
        match (self.k0, self.k1) {
            (Some(k0), Some(k1)) => Some((k0, k1)),
            (Some(0), None) => {
                let bits = |k1: &u32| self.standard_bits(1.0, p, *k1);
                let best = (1..=MOST_HASHES).min_by(|a, b| bits(a).total_cmp(&bits(b)));
                best.map(|k1| (0, k1))
            }
            (Some(k0), None) => (1..=MOST_HASHES).find(|&k1| ok(k0, k1)).map(|k1| (k0, k1)),
            (None, Some(k1)) => (1..=MOST_HASHES).find(|&k0| ok(k0, k1)).map(|k0| (k0, k1)),
            (None, None) => theory::design(p, self.fnr).map(|d| (d.k0, d.k1)),
        }
    }

    /// Bits for n keys at rate p with k probes and no resets: fill^k = p for a fill that starts at
    /// 1 − `zeros`; infinite where the start alone is too full.
    fn standard_bits(&self, n: f64, p: f64, k: u32) -> f64 {
        let k = f64::from(k);
        let untouched = (1.0 - libm::pow(p, 1.0 / k)) / self.zeros;
        if untouched < 1.0 { k * n / -libm::log(untouched) } else { f64::INFINITY }
    }

    /// Bits that keep both bounds for n keys; infinite where no filter does.
    fn bits(&self, n: u64, p: f64) -> f64 {
        let Some((k0, k1)) = self.hashes(p) else { return f64::INFINITY };
        if k0 == 0 {
            return self.standard_bits(n as f64, p, k1);
        }
        let hashes = Hashes { k0: f64::from(k0), k1: f64::from(k1) };
        let per_item = theory::bits_per_item_for(hashes, self.fnr).unwrap_or(f64::INFINITY);
        // The skip rule lifts F_p by (1 + k0/m)^{k0+k1}, so m must not be too small for the bound
        // either; where F_p has no slack, 1 % is let pass.
        let slack = (p / hashes.max_fpr()).max(1.01);
        let least = hashes.k0 / libm::expm1(libm::log(slack) / (hashes.k0 + hashes.k1));
        (per_item * n as f64).max(least)
    }
}
