//! How large the two filters of a complement filter are.

use std::f64::consts::LN_2;

use crate::parts::several::{check_parts, flat_for};
use crate::plan::DEFAULT_FPR;
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// What the goal says; how many keys are in the complement, the records tell.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) items: Option<u64>,
    pub(super) others: Option<u64>,
    pub(super) rate: Option<f64>,
    pub(super) complement_rate: Option<f64>,
    pub(super) room: Option<u64>,
}

impl Shape {
    /// The rate of the main filter, and both filters, for `n` members among `others`.
    pub(super) fn settle(&self, n: u64, others: u64) -> Result<(f64, Flat, Flat)> {
        let p = self.rate.unwrap_or_else(|| match (self.room, self.complement_rate) {
            (None, _) => DEFAULT_FPR,
            // Two bits for rounding up twice.
            (Some(room), None) => rate_of(room as f64 - 2.0, n as f64 + others as f64),
            (Some(room), Some(c)) => {
                rate_of(room as f64 - theory::bits_for(others, c) as f64 - 1.0, n as f64)
            }
        });
        let complement = flat_for(others, self.complement_rate.unwrap_or(p).min(1.0));
        let main = flat_for(n, p.min(1.0));
        let needed = check_parts([main, complement])?;
        if p >= 1.0 || self.room.is_some_and(|room| needed > room) {
            return Err(Error::parameter(format!(
                "{n} members and {others} other keys need more than {} bytes: \
                 give more {{memory}} or a higher {{rate}}",
                self.room.unwrap_or(0) / 8
            )));
        }
        Ok((p, main, complement))
    }
}

/// The rate that `bits` bits give `n` keys (S0 eq. 7), as far as a number can be that small.
fn rate_of(bits: f64, n: f64) -> f64 {
    libm::exp(-LN_2 * LN_2 * bits / n.max(1.0)).max(1e-300)
}
