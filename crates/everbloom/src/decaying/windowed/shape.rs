//! How living keys, a rate and the longest time to live become a table, a ring or slices.

use super::table::{self, MAX_PRINT, SLOTS};
use super::{CUCKOO, MULTISET, RING};
use crate::error::{Error, Result};
use crate::filter::{Param, Preset};
use crate::parts::generations::MAX_GENERATIONS;
use crate::parts::several::expected_fill;
use crate::plan::{Expect, Flat, Load, MAX_CELLS, PARAM_K, Request, check_cells};

pub(super) const PARAMS: &[Param] = &[
    PARAM_K,
    Param::integer("ttl", 1, 1 << 48, "longest time to live, and the default one")
        .or(Preset::Integer(126)),
    Param::integer("tag", 3, 32, "bits per slot for its expiry; more bits give finer epochs")
        .or(Preset::Integer(8)),
    Param::integer("print", 1, MAX_PRINT as u64, "bits per fingerprint"),
    Param::integer("epochs", 1, 1000, "epochs of a ring within the longest time to live")
        .or(Preset::Integer(8)),
    Param::integer("more", 1, 1000, "slices in addition to the k youngest"),
];

/// The load at which tables are planned to be full.
const LOAD: f64 = 0.95;

/// Form, time, and what the window is made of.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) form: &'static str,
    pub(super) grain: u64,
    pub(super) ttl: u64,
    pub(super) of: Kind,
}

/// What a window is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Table { buckets: u64, print: u32, tag: u32 },
    Ring { flat: Flat, filters: u64 },
    Slices { slice: u64, k: u32, more: u32, turn: u64 },
}

impl Kind {
    /// Slices that are half full when they have taken all their keys.
    pub(super) fn slices(k: u32, more: u32, turn: u64) -> Result<Self> {
        let slice = (f64::from(k) * turn as f64 / core::f64::consts::LN_2).ceil();
        let fits = slice * f64::from(k + more) <= MAX_CELLS as f64;
        if k == 0 || more == 0 || turn == 0 || !fits || (k + more) as usize > MAX_GENERATIONS {
            return Err(Error::parameter(format!(
                "slices for {k} bits per key and {more} more, a fresh one after every {turn} keys: at least one of \
                 each, and at most {MAX_GENERATIONS} slices of {MAX_CELLS} bits in all"
            )));
        }
        Ok(Kind::Slices { slice: slice as u64, k, more, turn })
    }
}

/// P(some `run` filters in a row let a non-member pass), where each alone does with these rates.
pub(super) fn run_rate(rates: &[f64], run: usize) -> f64 {
    run_rates(rates.iter().copied(), run).last().unwrap_or(0.0)
}

/// [`run_rate`] of the first filter, of the first two, and so on.
fn run_rates(rates: impl Iterator<Item = f64>, run: usize) -> impl Iterator<Item = f64> {
    // The chance of each length of the row that ends here, all of them too short so far.
    let mut rows = vec![0.0; run];
    rows[0] = 1.0;
    let mut passed = 0.0;
    rates.map(move |rate| {
        passed += rows[run - 1] * rate;
        let ended: f64 = rows.iter().sum::<f64>() * (1.0 - rate);
        rows.rotate_right(1);
        rows.iter_mut().for_each(|row| *row *= rate);
        rows[0] = ended;
        passed
    })
}

/// The rate of k + `more` slices just before a fresh one comes: the i-th youngest has taken the keys of i + 1 turns, at
/// most k, and is half full then.
pub fn slices_rate(k: u32, more: u32) -> f64 {
    slices_rates(k).nth(more as usize).unwrap_or(1.0)
}

/// [`slices_rate`] with no slice more, with one, and so on.
fn slices_rates(k: u32) -> impl Iterator<Item = f64> {
    let fill = move |i: u32| 1.0 - libm::exp2(-f64::from((i + 1).min(k)) / f64::from(k));
    run_rates((0..).map(fill), k as usize).skip(k as usize - 1)
}

/// The k and l with the fewest bits per key that is surely found, (k + l)·k/(l·ln 2), at a rate of at most `p`: for
/// every k the largest l.
fn best_slices(p: f64, k_set: Option<u32>, more_set: Option<u32>) -> Option<(u32, u32)> {
    let largest = |k: u32| {
        if let Some(more) = more_set {
            return (slices_rate(k, more) <= p).then_some((k, more));
        }
        let more = slices_rates(k).skip(1).take(256).take_while(|rate| *rate <= p).count();
        (more > 0).then_some((k, more as u32))
    };
    let bits = |(k, more): (u32, u32)| f64::from((k + more) * k) / f64::from(more);
    let ks = k_set.map_or(1..=64, |k| k..=k);
    ks.filter_map(largest).min_by(|a, b| bits(*a).total_cmp(&bits(*b)))
}

impl Shape {
    pub(super) fn plan(request: &Request<'_>) -> Result<Self> {
        let form = request.form();
        let ttl = request.whole("ttl");
        let shape = |grain, of| Shape { form, grain, ttl, of };
        match form {
            CUCKOO | MULTISET => {
                let tag = request.whole("tag") as u32;
                // One epoch is lost to rounding up.
                let grain = ttl.div_ceil(table::longest(tag) - 1);
                Ok(shape(grain, table_for(request, tag)?))
            }
            RING => {
                let epochs = request.whole("epochs");
                let filters = epochs + 1;
                let held = |n: u64, p: f64| (n.div_ceil(epochs), p / filters as f64);
                let (flat, _) = Flat::plan_held(request, held, |m, _| m * filters as f64)?;
                let of = Kind::Ring { flat: flat.checked()?, filters };
                Ok(shape(ttl.div_ceil(epochs), of))
            }
            _ => {
                let by_hand = |name| request.integer(name).map(|v| v as u32);
                let (k, more) = (by_hand(PARAM_K.name), by_hand("more"));
                // Bisecting for the items asks for one rate again and again.
                let last = std::cell::Cell::new((f64::NAN, None));
                let of = |n: u64, p: f64| {
                    if last.get().0 != p {
                        last.set((p, best_slices(p, k, more)));
                    }
                    let (k, more) = last.get().1?;
                    Kind::slices(k, more, n.div_ceil(more.into())).ok()
                };
                let bits = |of| shape(1, of).bits() as f64;
                let (n, p) = request.items_and_rate(|n, p| of(n, p).map_or(f64::INFINITY, bits))?;
                let of = of(n, p).ok_or_else(|| {
                    Error::parameter(format!(
                        "no slices hold {n} keys at a rate of {p}: use fewer {{items}} or a higher {{rate}}"
                    ))
                })?;
                Ok(Shape { ttl: 1, ..shape(1, of) })
            }
        }
    }

    pub(super) fn bits(&self) -> u64 {
        match self.of {
            Kind::Table { buckets, print, tag } => {
                buckets.saturating_mul(SLOTS).saturating_mul((print + tag).into())
            }
            Kind::Ring { flat, filters } => flat.m.saturating_mul(filters),
            Kind::Slices { slice, k, more, .. } => slice.saturating_mul((k + more).into()),
        }
    }

    /// For keys that all live; those of a ring spread evenly over its epochs.
    pub(super) fn expect(&self, load: &Load) -> Expect {
        let (n, bits) = (load.distinct, self.bits());
        match self.of {
            Kind::Table { buckets, print, .. } => {
                let (n, slots) = (n as f64, (buckets * SLOTS) as f64);
                let held = if self.form == CUCKOO { table::entries(buckets, print, n) } else { n };
                let fill = (held / slots, (n - held).max(0.0).sqrt() / slots);
                Expect::one_sided(table::rate(buckets, print, held), bits, Some(fill))
            }
            Kind::Ring { flat, filters } => {
                let absent = (filters - 1) as f64 * libm::log1p(-flat.fpr(n.div_ceil(filters - 1)));
                Expect::one_sided(-libm::expm1(absent), bits, None).probing(flat.k)
            }
            Kind::Slices { slice, k, more, turn } => {
                let (done, begun) = (n / turn, n % turn);
                let of = |turns_ago: u64| match turns_ago {
                    0 => begun,
                    ago if ago <= done => turn,
                    _ => 0,
                };
                let flat = Flat { m: slice, k: 1 };
                // A slice takes the keys of the k turns in which it is among the youngest.
                let held = |i: u64| ((i + 1).saturating_sub(k.into())..=i).map(of).sum::<u64>();
                let fills: Vec<_> = (0..u64::from(k + more)).map(|i| flat.fill(held(i))).collect();
                let rates: Vec<f64> = fills.iter().map(|fill| fill.0).collect();
                let fill = expected_fill(fills.into_iter().map(|fill| (slice, fill)));
                let found = turn.saturating_mul(more.into()).saturating_add(begun);
                let fnr = if n == 0 { 0.0 } else { 1.0 - found.min(n) as f64 / n as f64 };
                Expect {
                    fnr,
                    ..Expect::one_sided(run_rate(&rates, k as usize), bits, fill).probing(flat.k)
                }
            }
        }
    }
}

/// Fingerprints of ⌈log2(2b·0.95/ε)⌉ bits, and buckets for n keys at a load of 95 %; small tables have some slots to
/// spare, since theirs fill less evenly.
fn table_for(request: &Request<'_>, tag: u32) -> Result<Kind> {
    let by_hand = request.integer("print").map(|print| print as u32);
    let print_for = |p: f64| {
        let print = libm::log2(2.0 * SLOTS as f64 * LOAD / p).ceil().max(1.0);
        by_hand.map_or(print, f64::from)
    };
    let buckets_for = |n: u64| {
        let n = n as f64;
        ((n / (LOAD * SLOTS as f64)).ceil() + (n.sqrt() / SLOTS as f64).ceil()).max(2.0)
    };
    let bits = |n: u64, p: f64| {
        let print = print_for(p);
        let bits = buckets_for(n) * SLOTS as f64 * (print + f64::from(tag));
        if print <= f64::from(MAX_PRINT) { bits } else { f64::INFINITY }
    };
    let (n, p) = request.items_and_rate(bits)?;
    if print_for(p) > f64::from(MAX_PRINT) {
        return Err(Error::parameter(format!(
            "a rate of {p} needs fingerprints of more than {MAX_PRINT} bits: use a higher {{rate}}"
        )));
    }
    check_cells(n, p, bits(n, p))?;
    Ok(Kind::Table { buckets: buckets_for(n) as u64, print: print_for(p) as u32, tag })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::bloom;

    #[test]
    fn rows_of_equal_rates() {
        // Two in a row among three: both pairs, less those that were counted twice.
        let p = 0.3f64;
        assert!((run_rate(&[p; 3], 2) - (2.0 * p * p - p * p * p)).abs() < 1e-15);
        assert!((run_rate(&[p; 4], 1) - (1.0 - 0.7f64.powi(4))).abs() < 1e-15);
        assert!((run_rate(&[p; 4], 4) - p.powi(4)).abs() < 1e-15);
    }

    #[test]
    fn b18_rates_of_slices() {
        assert!((slices_rate(10, 7) - 0.0015).abs() < 5e-5, "{}", slices_rate(10, 7));
        // The catalogue measured 1.6e-4.
        assert!((slices_rate(14, 11) - 1.196e-4).abs() < 5e-8, "{}", slices_rate(14, 11));
        let bits = |k: f64, l: f64| (k + l) * k / (l * core::f64::consts::LN_2);
        assert!((bits(10.0, 7.0) - 35.0).abs() < 0.5 && (bits(14.0, 11.0) - 46.0).abs() < 0.5);
        assert_eq!(bloom::bits_for(1000, 0.001), 14_378, "14.4 bits per key of a ring's filter");
    }
}
