//! Bits for so many vectors that the coarsest level is half full.

use super::{MAX_CHECKS, MultiGranularity};
use crate::parts::several::{check_parts, expected_fill};
use crate::theory::bloom;
use crate::variant::prelude::*;

/// Groups, levels, places, and the bits of both arrays.
#[derive(Clone, Debug)]
pub struct Shape {
    pub(super) k: u32,
    pub(super) groups: u32,
    pub(super) width: f64,
    pub(super) levels: u32,
    pub(super) checks: u32,
    pub(super) m: u64,
    pub(super) verify: u64,
}

impl Shape {
    /// P(some of the groups passes) where bits are set to these shares.
    pub(super) fn rate(&self, bits: f64, verify: f64) -> f64 {
        let one = libm::pow(bits, f64::from(self.k)) * libm::pow(verify, f64::from(self.checks));
        -libm::expm1(f64::from(self.groups) * libm::log1p(-one.min(1.0 - 1e-16)))
    }
}

impl Plan for MultiGranularity {
    type Shape = Shape;

    /// Half of the coarsest level set, in both arrays: then each of the k' places halves a group's rate. The k bits need
    /// not, since all are set where members are close together.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let number = |name: &str| request.whole(name) as u32;
        let (k, groups) = (number("lines"), number("groups"));
        let (levels, width) = (number("levels"), request.number("width"));
        let sized = |n: u64, p: f64| {
            let one = -libm::expm1(libm::log1p(-p) / f64::from(groups));
            let checks = (-libm::log2(one)).ceil().max(1.0) as u32;
            let array = |places: u32| {
                let coarse =
                    n as f64 * f64::from(groups) * f64::from(places) / core::f64::consts::LN_2;
                ((coarse.ceil() as u64).max(2)).saturating_mul(1 << (levels - 1))
            };
            Shape { k, groups, width, levels, checks, m: array(k), verify: array(checks) }
        };
        let bits = |shape: Shape| shape.m as f64 + shape.verify as f64;
        let (n, p) = request.items_and_rate(|n, p| bits(sized(n, p)))?;
        let shape = sized(n, p);
        if shape.checks > MAX_CHECKS {
            let message = format!("so low a rate needs more than {MAX_CHECKS} positions per group");
            return Err(Error::setting("rate", p, message));
        }
        check_parts([Flat { m: shape.m, k: 1 }, Flat { m: shape.verify, k: 1 }])?;
        Ok(shape)
    }

    /// Of vectors near no member, from where all members are, at the coarsest level: of others, fewer pass.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let throws =
            |places: u32| load.distinct as f64 * f64::from(shape.groups) * f64::from(places);
        let coarse = |m: u64, places| bloom::fill((m >> (shape.levels - 1)) as f64, throws(places));
        let fpr = shape.rate(1.0, coarse(shape.verify, shape.checks));
        let part = |m: u64, places| {
            (m, (bloom::fill(m as f64, throws(places)), bloom::fill_sd(m as f64, throws(places))))
        };
        let fill = expected_fill([part(shape.m, shape.k), part(shape.verify, shape.checks)]);
        Some(Expect::one_sided(fpr, shape.m + shape.verify, fill))
    }
}
