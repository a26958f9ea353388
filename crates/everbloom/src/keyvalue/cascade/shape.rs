//! How often filters of levels may err, and the bits of all levels.

use super::{Cascade, FEW, MAX_LEVELS, MAX_VALUES};
use crate::plan::MAX_CELLS;
use crate::variant::prelude::*;

/// P(a non-member gets a value) with `v` values in filters of rate `f`, vf/(1 − f + vf).
pub fn false_positives(v: f64, f: f64) -> f64 {
    v * f / (1.0 - f + v * f)
}

/// The rate of filters with which [`false_positives`] of `v` values is `p`.
pub fn filter_rate(v: f64, p: f64) -> f64 {
    (p / (v * (1.0 - p) + p)).min(0.5)
}

/// Bits of all levels for the sizes of the values' sets, with filters of rate `f`, on average.
fn bits_for(sizes: &[f64], f: f64) -> f64 {
    // Of a value's keys, those go on that another filter claims.
    let on = -libm::expm1((sizes.len().max(1) - 1) as f64 * libm::log1p(-f));
    let (mut left, mut bits) = (1.0, 0.0);
    for _ in 0..MAX_LEVELS {
        let all: f64 = sizes.iter().map(|n| n * left).sum();
        if all < FEW as f64 && left < 1.0 {
            break;
        }
        let filters = sizes.iter().filter(|n| **n * left >= 0.5);
        bits += filters.map(|n| crate::theory::bloom::bits(n * left, f) + 1.0).sum::<f64>();
        left *= on;
    }
    bits
}

pub(super) fn too_small(room: u64, bits: f64) -> Error {
    Error::parameter(format!(
        "the filters of all levels need {:.0} bytes, more than {}: give more {{memory}} or a higher {{rate}}",
        (bits / 8.0).ceil(),
        room / 8
    ))
}

/// What the goal says of the filters; how many there are comes with the records.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) rate: Option<f64>,
    pub(super) room: u64,
}

impl Shape {
    /// The rate of filters for sets of these sizes: as asked for, or the least there is room for.
    pub(super) fn rate_for(&self, sizes: &[f64]) -> Result<f64> {
        let v = sizes.len() as f64;
        if let Some(p) = self.rate {
            return Ok(filter_rate(v.max(1.0), p));
        }
        // Bisect on ln f: rates span hundreds of orders of magnitude.
        let (mut low, mut high) = (-690.0f64, libm::log(0.5));
        if bits_for(sizes, 0.5) > self.room as f64 {
            return Err(too_small(self.room, bits_for(sizes, 0.5)));
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let fits = bits_for(sizes, libm::exp(middle)) <= 0.97 * self.room as f64;
            if fits { high = middle } else { low = middle }
        }
        Ok(libm::exp(high))
    }
}

impl Plan for Cascade {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let room = request.goal_bits();
        // What cannot fit two values does not wait for the records to be refused.
        if room.is_some() && request.goal_items().is_some() {
            request.items_and_rate(|n, p| bits_for(&[n as f64 / 2.0; 2], filter_rate(2.0, p)))?;
        }
        // Memory without a rate buys the best rate; nothing at all, the default one.
        let rate = request.goal_fpr().or(room.is_none().then(|| request.fpr()));
        Ok(Shape { rate, room: room.unwrap_or(MAX_CELLS).min(MAX_CELLS) })
    }

    /// Known where the load tells the number of values, which come with the records; all alike.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let v = load.classes;
        if v == 0 || v > MAX_VALUES as u64 {
            return None;
        }
        let sizes = vec![load.distinct as f64 / v as f64; v as usize];
        let f = shape.rate_for(&sizes).ok()?;
        let fpr = if load.distinct == 0 { 0.0 } else { false_positives(v as f64, f) };
        Some(Expect::one_sided(fpr, bits_for(&sizes, f).ceil() as u64, None))
    }
}
