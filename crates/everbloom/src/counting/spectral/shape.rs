//! How many bits the codes of a spectral filter take.

use super::RECURRING_MINIMUM;
use crate::cells::Code;
use crate::plan::{Flat, Load, Request};
use crate::theory::{counting::cell_pmf, mean_over, tail};

/// Mean and variance of the bits of a counter's code, where counters are c·repeats with a chance of
/// `pmf(c)` and c is `load` on average.
fn code_bits(code: Code, load: f64, repeats: f64, pmf: impl Fn(u64) -> f64) -> (f64, f64) {
    let bits = |c: f64| code.bits((c * repeats) as u64 + 1) as f64;
    if load > 1000.0 {
        // Relative to such a mean counters hardly differ, and their logarithms less.
        return (bits(load), 0.0);
    }
    let (mut mean, mut square) = (0.0, 0.0);
    for c in 0..(load + 12.0 * load.sqrt()) as u64 + 20 {
        let (p, bits) = (pmf(c), bits(c as f64));
        mean += p * bits;
        square += p * bits * bits;
    }
    (mean, (square - mean * mean).max(0.0))
}

/// Mean bits of a code of counters + 1 in a large filter of load λ = nk/m: at ln 2, γ 2.0666 and δ 2.5333
/// (catalogue C3).
pub fn mean_code_bits(code: Code, load: f64) -> f64 {
    code_bits(code, load, 1.0, |c| tail::poisson_pmf(load, c)).0
}

/// The share of n distinct keys that move, where each comes once: those whose least counter stood alone
/// at the time, Σ_v k·P(c = v)·P(c > v)^{k−1}, on average over the loads so far.
fn share_moved(m: u64, n: u64, k: u32) -> f64 {
    const SAMPLES: u64 = 32;
    let (k, last) = (f64::from(k), f64::from(k) * n as f64 / m as f64);
    if k < 2.0 {
        return 0.0;
    }
    mean_over(SAMPLES, |i| {
        let load = last * (i + 0.5) / SAMPLES as f64;
        let alone = |v: u64| {
            let above = tail::poisson_tail(load, v + 1);
            k * tail::poisson_pmf(load, v) * libm::pow(above, k - 1.0)
        };
        (0..(2.0 * load.min(1000.0)) as u64 + 16).map(alone).sum::<f64>()
    })
}

/// Number of counters and probes, the code, and the sizes behind recurring minima.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) flat: Flat,
    pub(super) code: Code,
    pub(super) second: Option<Second>,
}

/// Counters of the second filter, and bits of the markers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Second {
    pub(super) m: u64,
    pub(super) marker: u64,
}

impl Shape {
    /// What is asked for, with m counters.
    pub(super) fn of(request: &Request<'_>, flat: Flat) -> Self {
        let code = match request.choice("code") {
            Some(name) if name == Code::Gamma.name() => Code::Gamma,
            _ => Code::Delta,
        };
        let second = (request.form() == RECURRING_MINIMUM).then(|| Second {
            m: request.integer("second").unwrap_or(flat.m / 2).max(1),
            marker: request.integer("marker").unwrap_or(flat.m),
        });
        Self { flat, code, second }
    }

    /// Bits that the codes and markers hardly ever exceed: six standard deviations above their mean.
    /// Minimum increase has smaller counters, and no longer ones.
    pub(super) fn bits(&self, load: &Load) -> f64 {
        let Flat { m, k } = self.flat;
        let (n, repeats) = (load.distinct, load.items as f64 / load.distinct.max(1) as f64);
        let room = |m: u64, n: u64| {
            let load = n as f64 * f64::from(k) / m as f64;
            let (mean, variance) = code_bits(self.code, load, repeats, |c| cell_pmf(m, n, k, c));
            m as f64 * mean + 6.0 * (m as f64 * variance).sqrt()
        };
        let second = self.second.map_or(0.0, |second| {
            let moved = (share_moved(m, n, k) * n as f64).ceil() as u64;
            room(second.m, moved) + second.marker as f64
        });
        room(m, n) + second
    }
}
