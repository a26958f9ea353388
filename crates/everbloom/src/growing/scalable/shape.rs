//! How large the layers of a scalable filter are, and what they promise together.

use crate::error::{Error, Kind, Result};
use crate::plan::{Expect, Load, MAX_CELLS, Request, first_too_large};
use crate::probe::{MAX_K, Partitioned};
use crate::state::state;
use crate::theory::bloom as theory;

/// Most layers. Capacities at least double, so that 64 of them hold 2⁶⁴ keys whatever the first.
const MAX_LAYERS: usize = 64;

pub(super) const MIN_GROWTH: u64 = 2;
pub(super) const MAX_GROWTH: u64 = 16;
pub(super) const MIN_TIGHTENING: f64 = 0.01;
pub(super) const MAX_TIGHTENING: f64 = 0.99;

/// The target of layer i, Pᵢ = P(1 − r)·rⁱ.
pub fn layer_fpr(fpr: f64, tightening: f64, i: usize) -> f64 {
    fpr * (1.0 - tightening) * libm::pow(tightening, i as f64)
}

/// The slices of a layer with target `fpr`, ⌈log2(1/Pᵢ)⌉.
pub fn layer_k(fpr: f64) -> f64 {
    (-libm::log2(fpr)).ceil().max(1.0)
}

/// The bits of a layer of `n` keys by the formula of the entry, ⌈kᵢ·nᵢ/−ln(1 − Pᵢ^{1/kᵢ})⌉.
///
/// The usual n·log2(1/P)/ln 2 misses P by up to 1.7 % once k is rounded up.
pub fn layer_bits(n: f64, fpr: f64) -> f64 {
    let k = layer_k(fpr);
    (k * n / -libm::log1p(-libm::pow(fpr, 1.0 / k))).ceil()
}

/// First capacity, overall rate, growth and tightening: all that layers are made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    pub(super) items: u64,
    pub(super) fpr: f64,
    pub(super) growth: u64,
    pub(super) tightening: f64,
}

state!(Shape { items, fpr, growth, tightening });

impl Shape {
    /// nᵢ = n₀·sⁱ, while that is a number.
    pub(super) fn capacity(&self, i: usize) -> Option<u64> {
        self.growth.checked_pow(i as u32)?.checked_mul(self.items)
    }

    /// Bits per slice, and slices, of layer i if it holds `items` keys.
    ///
    /// They are those of the exact rate, 1/(1 − (1 − Pᵢ^{1/kᵢ})^{1/nᵢ}), half a cell longer than
    /// [`layer_bits`]/kᵢ: with the latter a layer of five keys would miss its target by a third. From
    /// a thousand keys on the two round to nearly the same.
    fn slices(&self, i: usize, items: u64) -> (f64, f64) {
        let target = layer_fpr(self.fpr, self.tightening, i);
        let k = layer_k(target);
        (theory::slice_for(items as f64, target, k as u32), k)
    }

    /// The probe of layer i. Files rely on it, so it never changes.
    pub(super) fn layer(&self, i: usize) -> Result<Partitioned> {
        let capacity = self.capacity(i).filter(|_| i < MAX_LAYERS);
        let (slice, k) = capacity.map_or((f64::INFINITY, 1.0), |items| self.slices(i, items));
        if k <= f64::from(MAX_K) && slice * k <= MAX_CELLS as f64 {
            return Ok(Partitioned::new(slice as u64, k as u32));
        }
        let message = format!(
            "the filter cannot grow: layer {} would exceed {MAX_LAYERS} layers or {MAX_CELLS} bits; \
             start a new filter with more {{items}} in the first layer, or a higher {{rate}}",
            i + 1
        );
        Err(Error::new(Kind::CapacityExceeded, message))
    }

    fn check(&self) -> Result<()> {
        let ok = self.items > 0
            && self.fpr > 0.0
            && self.fpr < 1.0
            && (MIN_GROWTH..=MAX_GROWTH).contains(&self.growth)
            && (MIN_TIGHTENING..=MAX_TIGHTENING).contains(&self.tightening);
        if ok { Ok(()) } else { Err(Error::corrupt(0, "corrupt filter: impossible layers")) }
    }

    /// Items and memory are those of the first layer; the rate is that of all together.
    pub(super) fn plan(request: &Request<'_>) -> Result<Shape> {
        let growth = request.whole("growth");
        let tightening = request.number("tightening");
        let with = |items: u64, fpr: f64| Shape { items, fpr, growth, tightening };
        let (items, fpr) = request.items_and_rate(|n, p| {
            let (slice, k) = with(n, p).slices(0, n);
            slice * k
        })?;
        let shape = with(items, fpr);
        shape.layer(0).map_err(|_| first_too_large(items, fpr, "layer"))?;
        Ok(shape)
    }

    /// Layer by layer, until all keys are placed. A new key that passes the older layers is skipped, so
    /// that only a share Π(1 − fⱼ) of the keys arrives. (Those that pass the newest are skipped too,
    /// but they would have set no bit there.)
    pub(super) fn expect(&self, load: &Load) -> Option<Expect> {
        let mut left = load.distinct as f64;
        let (mut absent, mut bits, mut ones, mut variance) = (1.0, 0, 0.0, 0.0);
        for i in 0.. {
            let layer = self.layer(i).ok()?;
            let inside = (left * absent).min(self.capacity(i)? as f64);
            left -= inside / absent;
            let [slice, k, m] = [layer.slice() as f64, f64::from(layer.k()), layer.m() as f64];
            absent *= 1.0 - theory::fpr_partitioned(slice, inside, k);
            bits += layer.m();
            ones += m * theory::fill(slice, inside);
            // Slices are independent of each other.
            let sd = slice * theory::fill_sd(slice, inside);
            variance += k * sd * sd;
            if left < 0.5 {
                break;
            }
        }
        let fill = (ones / bits as f64, variance.sqrt() / bits as f64);
        Some(Expect::one_sided(1.0 - absent, bits, Some(fill)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(items: u64, fpr: f64, growth: u64, tightening: f64) -> Shape {
        Shape { items, fpr, growth, tightening }
    }

    #[test]
    fn every_layer_meets_its_target() {
        for items in [1, 3, 10, 1000] {
            for (fpr, r) in [(0.5, 0.5), (0.01, 0.85), (1e-6, 0.9), (0.01, 0.1)] {
                let shape = shape(items, fpr, 2, r);
                for i in 0..20 {
                    let layer = shape.layer(i).unwrap();
                    let n = shape.capacity(i).unwrap() as f64;
                    let rate =
                        theory::fpr_partitioned(layer.slice() as f64, n, f64::from(layer.k()));
                    let target = layer_fpr(fpr, r, i);
                    assert!(rate <= target * (1.0 + 1e-12), "{items} {fpr} {r} {i}");
                }
            }
        }
        // Merged filters tell where a run begins by the size of its first layer.
        for (fpr, r) in [(0.999, 0.01), (0.999, 0.5), (0.999, 0.99), (0.3, 0.5), (1e-9, 0.01)] {
            for (items, growth) in [(1, 2), (2, 2), (3, 2), (1, 16), (1000, 2)] {
                let shape = shape(items, fpr, growth, r);
                let slices = (0..8).map(|i| shape.layer(i).unwrap().slice());
                assert!(slices.is_sorted_by(|a, b| a < b), "{items} {fpr} {growth} {r}");
            }
        }
        // The formula of the entry alone would not do in a small layer.
        let (p, k) = (0.0015, layer_k(0.0015));
        let short = (layer_bits(5.0, p) / k).ceil();
        assert!(theory::fpr_partitioned(short, 5.0, k) > 1.3 * p);
        // Growth that overflows is no number.
        assert!(shape(1 << 40, 0.01, 16, 0.85).layer(7).is_err());
        assert!(shape(1, 0.01, 2, 0.85).layer(64).is_err());
    }
}
