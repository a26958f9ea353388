//! Lists and remainders: parameters, plans and rates.

use super::PaghPaghRao;
use crate::cells::Buckets;
use crate::theory::bloom;
use crate::variant::prelude::*;

/// Number of quotients, and bits of a remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) quotients: u64,
    pub(super) remainder: u32,
}

pub(super) const MAX_QUOTIENTS: u64 = 1 << 48;
pub(super) const MAX_REMAINDER: u32 = 60;

impl Shape {
    /// R.
    pub(super) fn range(&self) -> u128 {
        u128::from(self.quotients) << self.remainder
    }

    /// A fingerprint as quotient and remainder.
    pub(super) fn cut(&self, h: u64) -> (u64, u64) {
        (h >> self.remainder, h & ((1 << self.remainder) - 1))
    }

    pub(super) fn is_possible(&self) -> bool {
        (1..=MAX_QUOTIENTS).contains(&self.quotients)
            && self.remainder <= MAX_REMAINDER
            && self.quotients.ilog2() + self.remainder <= 63
    }

    pub(super) fn possible(&self) -> Result<()> {
        if self.is_possible() {
            return Ok(());
        }
        let Self { quotients, remainder } = *self;
        Err(Error::parameter(format!(
            "{quotients} lists with remainders of {remainder} bits exceed the 2^64 possible fingerprints: \
             use fewer {{items}} or a higher {{rate}}"
        )))
    }
}

impl Plan for PaghPaghRao {
    type Shape = Shape;

    /// As many lists as keys, N = n, and r = ⌈log₂(1/ε)⌉.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let (quotients, remainder) = (request.integer("quotients"), request.integer("remainder"));
        let shaped = |n: u64, p: f64| {
            let quotients = quotients.unwrap_or(n);
            let bits = libm::ceil(libm::log2(n as f64 / quotients as f64 / p));
            let bits = bits.clamp(0.0, f64::from(MAX_REMAINDER) + 1.0);
            Shape { quotients, remainder: remainder.unwrap_or(bits as u64) as u32 }
        };
        let shape =
            request.shape(quotients.is_some() && remainder.is_some(), shaped, |n, shape| {
                Buckets::bits_for(shape.quotients, n, shape.remainder)
            })?;
        shape.possible()?;
        Ok(shape)
    }

    /// Bits grow with the items, n(r + 1) + N.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let fpr = bloom::fill(shape.range() as f64, load.distinct as f64);
        let bits = Buckets::bits_for(shape.quotients, load.items, shape.remainder);
        let fill = load.items as f64 / shape.quotients as f64;
        Some(Expect::one_sided(fpr, bits, Some((fill, 0.0))))
    }
}
