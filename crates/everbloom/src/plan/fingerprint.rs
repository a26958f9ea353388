//! Planning of filters that are built from all their keys at once and tell them by fingerprints of r bits.
//!
//! Their number of cells comes with the keys; what a goal settles is r, or the room that r has to fit in.

use super::{MAX_CELLS, Request};
use crate::error::{Error, Result};
use crate::filter::{Head, Param};
use crate::theory::fingerprint::{false_positives, fingerprint_bits_for};

/// The longest fingerprints that are solved for.
pub(crate) const MAX_BITS: u32 = 32;

/// r, of such fingerprints.
pub(crate) const PARAM_BITS: Param =
    Param::integer("bits", 1, MAX_BITS as u64, "bits per fingerprint, r for a rate of 2^-r");

/// The longest fingerprints that keys of their own slots have.
pub(crate) const MAX_FINGERPRINT: u32 = 64;

/// j, of such fingerprints.
pub(crate) const PARAM_FINGERPRINT: Param = Param::integer(
    "fingerprint-bits",
    1,
    MAX_FINGERPRINT as u64,
    "bits per fingerprint, each of which halves the rate",
);

/// What items and rate mean for such a filter.
pub(crate) const MEANING: &str = "items are the distinct keys read, whatever was planned; the rate is that of \
                                  false positives, rounded down to a power of two";

/// What a goal says of fingerprints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprints {
    /// The most bits that one may have.
    most: u32,
    /// Bits set by hand or from the rate; without them, as many as there is room for.
    bits: Option<u32>,
    /// Bits that all cells have to fit in.
    room: u64,
    rate: Option<f64>,
}

impl Fingerprints {
    /// Fingerprints of `bits` bits, whatever the rate and the room.
    pub(crate) fn of(bits: u32, most: u32) -> Self {
        Self { most, bits: Some(bits), room: MAX_CELLS, rate: None }
    }

    /// By the parameter `bits`, the rate or the memory; the rate is divided by `margin`, for filters that let
    /// more pass than their fingerprints do. Memory without a rate buys the best rate; nothing at all, the
    /// default one.
    pub(crate) fn plan(request: &Request<'_>, bits: &Param, most: u32, margin: f64) -> Self {
        let by_hand = request.integer(bits.name).map(|r| r as u32);
        let (rate, room) = (request.goal_fpr(), request.goal_bits());
        let rate = rate.or((room.is_none() && by_hand.is_none()).then(|| request.fpr()));
        let bits = by_hand.or(rate.map(|p| fingerprint_bits_for(p / margin)));
        Self { most, bits, room: room.unwrap_or(MAX_CELLS).min(MAX_CELLS), rate }
    }

    /// Bits per fingerprint for `n` keys whose filter has `cells` cells of one fingerprint each and `beside`
    /// bits of other things, if all that fits.
    pub(crate) fn settle(&self, n: u64, cells: f64, beside: f64) -> Result<u32> {
        // Room and whatever fits it are exact in a double.
        let room = self.room as f64;
        let fitting = || ((room - beside) / cells.max(1.0)).clamp(1.0, self.most.into()) as u32;
        let r = self.bits.unwrap_or_else(fitting);
        if !(1..=self.most).contains(&r) {
            return Err(Error::parameter(format!(
                "fingerprints of {r} bits: they have 1 to {}, for rates down to {:e}",
                self.most,
                false_positives(self.most)
            )));
        }
        let needed = cells * f64::from(r) + beside;
        if needed > room {
            return Err(Error::parameter(format!(
                "{n} keys with fingerprints of {r} bits need {:.0} bytes, more than {}: \
                 give more {{memory}} or a higher {{rate}}",
                (needed / 8.0).ceil(),
                self.room / 8
            )));
        }
        Ok(r)
    }

    /// The head of a filter of `items` keys, planned for the rate asked for or for the one it has.
    pub(crate) fn head(&self, head: Head, items: u64, rate: f64) -> Head {
        Head { items, fpr: Some(self.rate.unwrap_or(rate)), ..head }
    }
}
