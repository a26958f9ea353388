//! From a goal to cells, probes and offsets.

use super::Task;
use crate::error::{Error, Result};
use crate::parts::exact::Exact;
use crate::plan::{Load, PARAM_K, PARAM_M, Request, check_cells};
use crate::theory::bloom as theory;
use crate::theory::shifting::{self, SPAN, any_of, each_of};

/// Cells that probes point at, probes per key, the largest offset plus one, bits per cell and regions.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) kind: Task,
    pub(super) m: u64,
    pub(super) k: u32,
    pub(super) span: u64,
    pub(super) width: u32,
    pub(super) regions: u64,
}

/// More probes help nobody: p = 10⁻³⁰⁰ needs 997.
const MOST_K: u32 = 1024;

impl Shape {
    pub(super) fn plan(request: &Request<'_>) -> Result<Self> {
        let kind = Task::of(request.form());
        let span = match kind {
            Task::Multiplicity => request.whole("c"),
            _ => SPAN,
        };
        let counting = request.form().starts_with("counting");
        let regions = request.integer("regions").filter(|_| kind == Task::Association);
        let width = if counting { request.whole("width") } else { 1 };
        let width = width as u32;
        let mut shape = Self { kind, m: 0, k: 0, span, width, regions: regions.unwrap_or(0) };
        let k = request.integer(PARAM_K.name).map(|k| k as u32);
        if let Some(odd) = k.filter(|k| kind == Task::Membership && k % 2 == 1) {
            return Err(Error::setting("k", odd, "pairs of bits are tested: k must be even"));
        }
        if let Some(m) = request.integer(PARAM_M.name) {
            let best =
                |n| (0.7009 * m as f64 / n as f64 / 2.0).round().clamp(1.0, 512.0) as u32 * 2;
            shape.m = m;
            shape.k = crate::plan::k_for_m(request, |n| match kind {
                Task::Membership => best(n),
                _ => theory::best_k(m, n).min(MOST_K),
            })?;
        } else {
            let cells = |n, p| (shape.sized(n, p, k).0 + span as f64) * f64::from(width);
            let bits = |n, p| cells(n, p) + tables(request.form(), n) as f64;
            let (n, p) = request.items_and_rate(bits)?;
            let (cells, k) = shape.sized(n, p, k);
            check_cells(n, p, cells)?;
            (shape.m, shape.k) = (cells as u64, k);
        }
        let room = request.goal_bits().unwrap_or(u64::MAX);
        if shape.m.saturating_add(span).saturating_mul(width.into()) > room {
            return Err(Error::parameter("so many cells do not fit the {memory}"));
        }
        Ok(shape)
    }

    pub(super) fn bits(&self) -> u64 {
        self.m.saturating_add(self.span).saturating_mul(self.width.into())
    }

    /// The fewest cells for `n` keys at rate `p`, and their probes.
    fn sized(&self, n: u64, p: f64, k: Option<u32>) -> (f64, u32) {
        let cells = |k: u32| {
            let (n, k) = (n as f64, f64::from(k));
            let load = match self.kind {
                Task::Membership => load_for(|x| shifting::membership_published(1.0, x / k, k), p),
                Task::Association => -libm::log1p(-libm::pow(p, 1.0 / k)),
                Task::Multiplicity => {
                    -libm::log1p(-libm::pow(each_of(p, self.span as f64), 1.0 / k))
                }
            };
            // One cell more: few keys fill their cells by steps.
            (k * n / load).ceil() + 1.0
        };
        if let Some(k) = k {
            return (cells(k), k);
        }
        let step = if self.kind == Task::Membership { 2 } else { 1 };
        let (mut best, mut since) = ((cells(step), step), 0);
        for k in (step..=MOST_K).step_by(step as usize).skip(1) {
            let found = cells(k);
            since += 1;
            if found < best.0 {
                (best, since) = ((found, k), 0);
            }
            if since == 8 {
                break;
            }
        }
        best
    }

    /// The rate that formulas give after a load.
    pub(super) fn fpr(&self, load: &Load) -> f64 {
        let (m, n, k) = (self.m as f64, load.distinct as f64, f64::from(self.k));
        match self.kind {
            Task::Membership => shifting::membership_published(m, n, k),
            Task::Association => theory::fpr_classic(m, n, k),
            Task::Multiplicity => any_of(theory::fpr_classic(m, n, k), self.span as f64),
        }
    }
}

/// Bits of the exact tables of the counting forms: a number for each of `n` keys, and the copies in a set.
pub(super) fn tables(form: &str, n: u64) -> u64 {
    match form.strip_prefix("counting-").map(Task::of) {
        Some(Task::Association) => Exact::bits_of(n.saturating_mul(2)),
        Some(Task::Multiplicity) => Exact::bits_of(n),
        _ => 0,
    }
}

/// The load kn/m at which a rate that grows with it reaches `p`.
fn load_for(rate: impl Fn(f64) -> f64, p: f64) -> f64 {
    let (mut low, mut high) = (-700.0f64, 7.0f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if rate(libm::exp(middle)) <= p { low = middle } else { high = middle }
    }
    libm::exp(low)
}
