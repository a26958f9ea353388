//! How many rows, and how many bits in each: formulas and planning of the split filter.

use crate::error::{Error, Result};
use crate::plan::{Expect, Flat, Load, MAX_CELLS, PARAM_K, Request, k_for_m};
use crate::probe::MAX_K;
use crate::theory::{blocked, bloom as theory};

pub(super) const HASHED: &str = "hashed";
pub(super) const SEQUENTIAL: &str = "sequential";
/// Most rows.
pub(super) const MAX_ROWS: u64 = 1 << 16;

/// Rate with n keys in s rows by hash: Σ Bin(n, i; 1/s)·f_row(m, i, k), exact in its inner rate.
/// [`blocked::fpr_rows`] has the classic one.
pub fn hashed_rate(rows: u64, m: u64, n: u64, k: u32) -> f64 {
    crate::theory::tail::binomial_mean(n, 1.0 / rows as f64, |i| theory::fpr_exact(m, i, k))
}

/// Rate with rows that are all looked into: 1 − Π(1 − f_row).
pub fn sequential_rate(rows: impl Iterator<Item = f64>) -> f64 {
    -libm::expm1(rows.map(|f| libm::log1p(-f)).sum())
}

/// How rows are chosen, how many, bits and probes of one, and how many keys it takes in turn.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    form: &'static str,
    pub(super) rows: u64,
    pub(super) flat: Flat,
    pub(super) capacity: u64,
}

impl Shape {
    pub(super) fn new(form: &'static str, rows: u64, flat: Flat, capacity: u64) -> Result<Self> {
        let bits = flat.m.checked_mul(rows).filter(|bits| *bits <= MAX_CELLS);
        if bits.is_some()
            && flat.checked().is_ok()
            && (1..=MAX_ROWS).contains(&rows)
            && capacity > 0
        {
            return Ok(Self { form, rows, flat, capacity });
        }
        Err(Error::parameter(format!(
            "{rows} rows of {} bits with {} probes and {capacity} keys: at most {MAX_ROWS} rows, \
             {MAX_CELLS} bits in all and {MAX_K} probes, and at least one of each; use fewer {{items}} or \
             a higher {{rate}}",
            flat.m, flat.k
        )))
    }

    fn rate(&self, n: u64) -> f64 {
        let Flat { m, k } = self.flat;
        match self.form {
            HASHED => blocked::fpr_rows(self.rows, m, n, k),
            _ => sequential_rate(
                self.loads(n).map(|i| theory::fpr_classic(m as f64, i as f64, k.into())),
            ),
        }
    }

    /// Keys in every row, if they fill one after the other.
    fn loads(&self, n: u64) -> impl Iterator<Item = u64> {
        let Self { rows, capacity, .. } = *self;
        (0..rows).map(move |row| {
            let left = n.saturating_sub(row.saturating_mul(capacity));
            if row + 1 == rows { left } else { left.min(capacity) }
        })
    }

    /// Rows for n/s keys each. By hash, each at the rate asked for; in sequence at f_row with
    /// 1 − (1 − f_row)^s = p, since every row errs.
    pub(super) fn plan(request: &Request<'_>) -> Result<Shape> {
        let (form, rows) = (request.form(), request.whole("rows"));
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        let share = |n: u64| n.div_ceil(rows).max(1);
        if let Some(m) = request.integer("m") {
            let k = k_for_m(request, |n| theory::best_k(m, share(n)).min(MAX_K))?;
            let full = || theory::capacity(m as f64, k.into(), request.fpr()) as u64;
            let capacity = request.goal_items().map_or_else(full, share).max(1);
            return Shape::new(form, rows, Flat { m, k }, capacity);
        }
        let flat = |n: u64, p: f64| {
            let p = if form == HASHED { p } else { -libm::expm1(libm::log1p(-p) / rows as f64) };
            let k = k_set.unwrap_or_else(|| {
                let m = theory::bits_for(share(n), p);
                theory::best_k(m, share(n)).min(MAX_K)
            });
            let kf = f64::from(k);
            // With many keys to a row; the rest of the way below, where rows fill unevenly.
            let m = kf * share(n) as f64 / -libm::log1p(-libm::pow(p, 1.0 / kf));
            (m.ceil().max(1.0), k)
        };
        let sized = |n: u64, p: f64| {
            let (mut m, k) = flat(n, p);
            let with =
                |m: f64| Shape { form, rows, flat: Flat { m: m as u64, k }, capacity: share(n) };
            // Uneven rows, and the few cells by which the formula is short, cost some percent at most.
            for _ in 0..200 {
                let fits = m * rows as f64 <= MAX_CELLS as f64;
                if !fits || with(m).rate(n) <= p {
                    break;
                }
                m = (m * 1.002).max(m + 1.0).ceil();
            }
            (m, k)
        };
        let (n, p) = request.items_and_rate(|n, p| sized(n, p).0 * rows as f64)?;
        let (m, k) = sized(n, p);
        Shape::new(form, rows, Flat { m: m.min(1e18) as u64, k }, share(n))
    }

    /// What the formulas say of this shape.
    pub(super) fn expect(&self, load: &Load) -> Expect {
        let Shape { rows, flat: Flat { m, k }, .. } = *self;
        let (n, mf, kf, s) = (load.distinct, m as f64, f64::from(k), rows as f64);
        let (mean, variance) = match self.form {
            HASHED => blocked::fill(s, mf, kf, n as f64),
            _ => {
                let mean = self.loads(n).map(|i| theory::fill(mf, i as f64 * kf)).sum::<f64>();
                let sds = self.loads(n).map(|i| theory::fill_sd(mf, i as f64 * kf));
                (mean / s, sds.map(|sd| sd * sd).sum::<f64>() / (s * s))
            }
        };
        Expect::one_sided(self.rate(n), m * rows, Some((mean, variance.sqrt()))).probing(k)
    }
}
