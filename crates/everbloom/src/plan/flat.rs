//! Planning of filters whose k probes range over all their m cells.

use super::{Expect, Load, PARAM_K, PARAM_M, PARAM_WIDTH, Request};
use crate::error::{Error, Result};
use crate::probe::MAX_K;
use crate::theory::bloom;

/// The shape of a filter whose k probes range over all its m cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flat {
    /// Number of cells.
    pub m: u64,
    /// Number of probes.
    pub k: u32,
}

/// A flat shape whose cells have several bits.
#[derive(Clone, Copy, Debug)]
pub struct Wide {
    /// Number of cells and probes.
    pub flat: Flat,
    /// Bits per cell, as the parameter `width` says.
    pub width: u32,
}

impl Wide {
    /// Cells of as many bits as the parameter says, with `beside` further bits to each.
    pub(crate) fn plan(request: &Request<'_>, beside: u64) -> Result<Self> {
        let width = request.whole(PARAM_WIDTH.name);
        Ok(Self { flat: Flat::plan(request, width + beside)?, width: width as u32 })
    }

    /// What is expected of such cells, with `beside` further bits to each.
    pub(crate) fn expect(&self, load: &Load, beside: u64) -> Expect {
        self.flat.expect(load, self.flat.m.saturating_mul(u64::from(self.width) + beside))
    }
}

/// m was set by hand, and nothing tells the best k for it.
pub(crate) fn m_alone() -> Error {
    Error::parameter("{m} without {k} needs {items}, to choose the best k")
}

/// The k for an m that is set by hand: the one that is set too, or the `best` for the items asked for.
pub(crate) fn k_for_m(request: &Request<'_>, best: impl FnOnce(u64) -> u32) -> Result<u32> {
    match (request.integer(PARAM_K.name), request.goal_items()) {
        (Some(k), _) => Ok(k as u32),
        (None, Some(n)) => Ok(best(n)),
        (None, None) => Err(m_alone()),
    }
}

/// Refuses more cells than an array can have.
pub(crate) fn check_cells(n: u64, p: f64, cells: f64) -> Result<()> {
    // Asked the positive way, so that NaN is refused too.
    if cells <= MAX_CELLS as f64 { Ok(()) } else { Err(too_many_cells(n, p, cells)) }
}

/// The first of the filters that take keys in turn is larger than an array can be.
pub(crate) fn first_too_large(n: u64, p: f64, first: &str) -> Error {
    Error::parameter(format!(
        "{n} items at a rate of {p} need a first {first} of more than {MAX_CELLS} bits: \
         use fewer {{items}} or a higher {{rate}}"
    ))
}

/// More cells than an array can have.
pub(crate) fn too_many_cells(n: u64, p: f64, cells: f64) -> Error {
    Error::parameter(format!(
        "{n} items at a rate of {p} need {cells:e} cells, more than {MAX_CELLS}: \
         use fewer {{items}} or a higher {{rate}}"
    ))
}

impl Flat {
    /// A shape made by hand; refused where no file can hold it.
    pub(crate) fn new(m: u64, k: u32) -> Result<Self> {
        PARAM_M.accept(&m.into())?;
        PARAM_K.accept(&k.into())?;
        Ok(Self { m, k })
    }

    /// m and k as the standard filter has them (S0 eq. 6 and 9), for cells of `cell_bits` bits.
    ///
    /// m = ⌈−n·ln p/(ln 2)²⌉ made even, so that the filter folds; k is the better neighbor of
    /// (m/n)·ln 2. A k that is set by hand changes m to what that k needs: m = kn/−ln(1 − p^{1/k}).
    pub(crate) fn plan(request: &Request<'_>, cell_bits: u64) -> Result<Self> {
        Self::plan_sized(request, |m, _, _| m * cell_bits as f64)
    }

    /// [`Flat::plan`] for cells whose size depends on what is in them: `bits(m, n, k)` is that of all m
    /// together.
    pub(crate) fn plan_sized(
        request: &Request<'_>,
        bits: impl Fn(f64, u64, u32) -> f64,
    ) -> Result<Self> {
        Ok(Self::settle(request, bits, cells_for, bloom::best_k)?.0)
    }

    /// m and k of one of several filters, or of cells of several bits, that hold other keys at another rate than the
    /// goal names: `held(n, p)` says how many at which, `bits(m, n)` what all of it takes. Also the items, where
    /// they are known.
    pub(crate) fn plan_held(
        request: &Request<'_>,
        held: impl Fn(u64, f64) -> (u64, f64),
        bits: impl Fn(f64, u64) -> f64,
    ) -> Result<(Self, Option<u64>)> {
        let cells = |n: u64, p: f64, k: Option<u32>| {
            let (n, p) = held(n, p);
            cells_for(n, p, k)
        };
        let best_k = |m: u64, n: u64| bloom::best_k(m, held(n, request.fpr()).0);
        Self::settle(request, |m, n, _| bits(m, n), cells, best_k)
    }

    /// m and k for cells that pass more rarely than a bit does.
    ///
    /// `pass` is the chance that one probe of a foreign key passes at a load of λ = kn/m, growing with
    /// λ. Since ln f = k·ln pass(λ) and m = kn/λ, the least m maximizes λ·ln(1/pass(λ)): the best load
    /// does not depend on the rate. (For bits it is ln 2, and this is [`Flat::plan`] again.)
    pub(crate) fn plan_for(
        request: &Request<'_>,
        cell_bits: u64,
        pass: impl Fn(f64) -> f64,
    ) -> Result<Self> {
        let best = best_load(&pass);
        let sized = |n: u64, p: f64, k: u32| {
            let k = f64::from(k);
            // A little more room than that: the binomial fill of a few keys lies above Poisson's.
            k * n as f64 / load_for(&pass, libm::pow(p, 1.0 / k)) + 1.0
        };
        let probes = |p: f64| {
            let real = libm::log(p) / libm::log(pass(best));
            let floor = real.floor().clamp(1.0, f64::from(crate::probe::MAX_K - 1)) as u32;
            [floor, floor + 1]
        };
        let cells = |n: u64, p: f64, k: Option<u32>| match k {
            Some(k) => sized(n, p, k),
            None => probes(p).map(|k| sized(n, p, k)).into_iter().fold(f64::INFINITY, f64::min),
        };
        let best_k = |m: u64, n: u64| {
            let ratio = n as f64 / m as f64;
            let floor = (best / ratio).floor().clamp(1.0, f64::from(crate::probe::MAX_K - 1));
            let rate = |k: f64| libm::pow(pass(k * ratio), k);
            if rate(floor + 1.0) < rate(floor) { floor as u32 + 1 } else { floor as u32 }
        };
        Ok(Self::settle(request, |m, _, _| m * cell_bits as f64, cells, best_k)?.0)
    }

    /// The cells that `cells` asks for, unless m or k is set by hand; and the items, where they are known.
    fn settle(
        request: &Request<'_>,
        bits: impl Fn(f64, u64, u32) -> f64,
        cells: impl Fn(u64, f64, Option<u32>) -> f64,
        best_k: impl Fn(u64, u64) -> u32,
    ) -> Result<(Self, Option<u64>)> {
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        // A filter far too large for its items would like more probes than anybody has time for.
        let best_k = |m: u64, n: u64| best_k(m, n).min(MAX_K);
        if let Some(m) = request.integer(PARAM_M.name) {
            let k = k_for_m(request, |n| best_k(m, n))?;
            return Ok((Self { m, k }, request.goal_items()));
        }
        let k_for = |m: u64, n: u64| k_set.unwrap_or_else(|| best_k(m, n));
        let (n, p) = request.items_and_rate(|n, p| {
            let m = cells(n, p, k_set);
            bits(m, n, k_for(m.ceil() as u64, n))
        })?;
        let wanted = cells(n, p, k_set).ceil();
        check_cells(n, p, wanted)?;
        let mut m = (wanted as u64).max(2).next_multiple_of(2);
        let too_many = |room: u64| bits(m as f64, n, k_for(m, n)) > room as f64;
        if m > 2 && request.goal_bits().is_some_and(too_many) {
            m -= 2;
        }
        Ok((Self { m, k: k_for(m, n) }, Some(n)))
    }

    /// m and k of bit filters with a rate of their own: the k that needs the fewest cells. Also the
    /// items it is planned for, where they are known.
    ///
    /// `cells(n, p, k)` is the least m that keeps n items at rate p with k probes, and `rate(flat, n)`
    /// the rate of a shape; both have one valley over k. `extra(n)` are the bits beside the cells,
    /// which count towards the memory.
    pub(crate) fn search(
        request: &Request<'_>,
        extra: impl Fn(u64) -> u64,
        cells: impl Fn(u64, f64, u32) -> f64,
        rate: impl Fn(Flat, u64) -> f64,
    ) -> Result<(Self, Option<u64>)> {
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        if let Some(m) = request.integer(PARAM_M.name) {
            let best = |n| lowest(bloom::best_k(m, n), |k| rate(Self { m, k }, n)).0;
            let k = k_for_m(request, best)?;
            return Ok((Self { m, k }, request.goal_items()));
        }
        let sized = |n: u64, p: f64| {
            let (k, cells) = match k_set {
                Some(k) => (k, cells(n, p, k)),
                None => lowest((-libm::log2(p)).ceil() as u32, |k| cells(n, p, k)),
            };
            (k, cells.ceil().max(1.0))
        };
        let (n, p) = request.items_and_rate(|n, p| sized(n, p).1 + extra(n) as f64)?;
        let (k, wanted) = sized(n, p);
        check_cells(n, p, wanted)?;
        Ok((Self { m: wanted as u64, k }, Some(n)))
    }

    /// Refuses a shape that no filter can have.
    pub(crate) fn checked(self) -> Result<Self> {
        let Self { m, k } = self;
        if (1..=MAX_CELLS).contains(&m) && (1..=MAX_K).contains(&k) {
            return Ok(self);
        }
        Err(Error::parameter(format!(
            "{k} probes into {m} cells: there must be 1 to {MAX_K} probes and 1 to {MAX_CELLS} cells"
        )))
    }

    /// Fraction of cells in use after `n` distinct keys, with its spread from filter to filter.
    pub fn fill(&self, n: u64) -> (f64, f64) {
        let throws = n as f64 * f64::from(self.k);
        (bloom::fill(self.m as f64, throws), bloom::fill_sd(self.m as f64, throws))
    }

    /// The false-positive rate after `n` distinct keys.
    pub fn fpr(&self, n: u64) -> f64 {
        bloom::fpr_classic(self.m as f64, n as f64, f64::from(self.k))
    }
}

impl Flat {
    /// What is expected of `bits` bits of cells of this shape with one-sided error.
    pub(crate) fn expect(&self, load: &Load, bits: u64) -> Expect {
        let n = load.distinct;
        Expect::one_sided(self.fpr(n), bits, Some(self.fill(n))).probing(self.k)
    }
}

/// The cells of a standard filter for n keys at rate p, with the best k or a given one.
fn cells_for(n: u64, p: f64, k: Option<u32>) -> f64 {
    match k {
        None => bloom::bits_for(n, p) as f64,
        Some(k) => f64::from(k) * n as f64 / -libm::log1p(-libm::pow(p, 1.0 / f64::from(k))),
    }
}

/// The k at the bottom of the valley that holds `start`, and the value there.
pub(crate) fn lowest(start: u32, value: impl Fn(u32) -> f64) -> (u32, f64) {
    let mut best = start.clamp(1, MAX_K);
    let mut least = value(best);
    let mut walk = |step: i32| {
        while let Some(next) = best.checked_add_signed(step).filter(|k| (1..=MAX_K).contains(k))
            && value(next) < least
        {
            (best, least) = (next, value(next));
        }
    };
    walk(1);
    walk(-1);
    (best, least)
}

/// The load λ with the largest λ·ln(1/pass(λ)), by ternary search: one peak between empty and full.
fn best_load(pass: impl Fn(f64) -> f64) -> f64 {
    let worth = |load: f64| -load * libm::log(pass(load));
    let (mut low, mut high) = (1e-6, 16.0);
    for _ in 0..80 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if worth(a) < worth(b) { low = a } else { high = b }
    }
    0.5 * (low + high)
}

/// The load at which `pass` reaches `wanted`; the search is in ln λ, since loads span many orders of
/// magnitude.
fn load_for(pass: impl Fn(f64) -> f64, wanted: f64) -> f64 {
    let (mut low, mut high) = (-690.0f64, 9.0f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if pass(libm::exp(middle)) <= wanted { low = middle } else { high = middle }
    }
    libm::exp(low)
}

/// No array is planned larger than this many cells: 2⁴⁸ bits are 32 TiB.
pub const MAX_CELLS: u64 = 1 << 48;
