//! How many buckets a consistent cuckoo filter has, and how long its fingerprints are.

use super::RINGS;
use crate::plan::cuckoo::{KICKS, MAX_FINGERPRINT};
use crate::plan::{MAX_CELLS, too_many_cells};
use crate::variant::prelude::*;

/// Buckets of a ring, slots per bucket, bits per slot, points per bucket and per fingerprint, kicks, and whether there
/// may be several rings.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) grows: bool,
    pub(super) buckets: u64,
    pub(super) slots: u32,
    pub(super) fingerprint: u32,
    pub(super) points: u32,
    pub(super) choices: u32,
    pub(super) kicks: u32,
}

/// The load at which the first key is refused with v points per bucket and k per fingerprint, in 1000 buckets of
/// four (catalogue B11); that of the next smaller numbers that were measured.
pub fn refusal(points: u32, choices: u32) -> f64 {
    let row = match points {
        0..=3 => [0.575, 0.738, 0.808],
        4..=15 => [0.844, 0.949, 0.973],
        _ => [0.936, 0.990, 0.997],
    };
    match choices {
        // One bucket and no other: as soon as any bucket is full.
        0 | 1 => 0.2 * row[0],
        choices => row[(choices as usize - 2).min(2)],
    }
}

/// F = ⌈log2(n/p)⌉ (catalogue B11).
pub fn fingerprint_bits(n: u64, p: f64) -> f64 {
    libm::log2(n as f64 / p).ceil().max(2.0)
}

impl Shape {
    /// Buckets for nine tenths of the load at which keys are refused, then fingerprints for the rate.
    pub(super) fn plan(request: &Request<'_>) -> Result<Self> {
        let number = |name, default| request.integer(name).map_or(default, |v| v as u32);
        let (slots, kicks) = (number("slots", 4), number("kicks", KICKS as u32));
        let (points, choices) = (number("points", 4), number("choices", 3));
        let (set, bits) = (request.integer("buckets"), request.integer("fingerprint"));
        let (grows, rings) = (request.form() == RINGS, number("rings", 1));
        if rings > 1 && !grows {
            let message = "a filter of form standard has one ring; use form rings";
            return Err(Error::setting("rings", rings, message));
        }
        let load = refusal(points, choices) * (f64::from(slots) / 4.0).min(1.0);
        let shaped = |n: u64, p: f64| {
            let each = n.div_ceil(rings.into()) as f64;
            let least = |share: f64| (each / (share * load * f64::from(slots))).ceil().max(1.0);
            // Few buckets have arcs of very different lengths.
            let buckets = if least(0.9) < 128.0 { least(0.6) + 1.0 } else { least(0.9) };
            let buckets = set.map_or(buckets, |buckets| buckets as f64);
            (buckets, bits.map_or_else(|| fingerprint_bits(n, p), |bits| bits as f64))
        };
        let size = |(buckets, bits): (f64, f64)| {
            let possible = bits <= f64::from(MAX_FINGERPRINT);
            let one = buckets * f64::from(slots) * bits;
            if possible { f64::from(rings) * one } else { f64::INFINITY }
        };
        let by_hand = set.is_some() && bits.is_some();
        let (n, p) = request.items_unless(by_hand, |n, p| size(shaped(n, p)))?;
        let (buckets, bits) = shaped(n, p);
        if bits > f64::from(MAX_FINGERPRINT) {
            return Err(Error::parameter(format!(
                "fingerprints of {bits} bits for {n} items at a rate of {p}: they have up to {MAX_FINGERPRINT}; \
                 use fewer {{items}} or a higher {{rate}}"
            )));
        }
        // Asked the negative way, so that NaN is refused too.
        let fits = size((buckets, bits)) <= MAX_CELLS as f64 && buckets < libm::exp2(32.0);
        if !fits {
            return Err(too_many_cells(n, p, size((buckets, bits))));
        }
        let (buckets, fingerprint) = (buckets as u64, bits as u32);
        Ok(Self { grows, buckets, slots, fingerprint, points, choices, kicks })
    }
}
