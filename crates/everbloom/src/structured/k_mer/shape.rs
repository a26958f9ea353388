//! What a lookup may err where K-mers have neighbors, and the bits for it.

use super::bits::{expect_lines, plan_lines};
use super::{BLOCKED, BOTH, KMer, LANE, ONE_SIDED, PLAIN, TWO_SIDED};
use crate::theory::search::least_real;
use crate::variant::prelude::*;

/// P(a random K-mer passes) where one lookup passes with `f`.
pub fn random_rate(form: &str, f: f64) -> f64 {
    let some_of = |n: f64| -libm::expm1(n * libm::log1p(-f));
    match form {
        ONE_SIDED => f * some_of(8.0),
        TWO_SIDED => f * some_of(4.0) * some_of(4.0),
        _ => f,
    }
}

/// [`random_rate`] of a K-mer that differs from a stored one in its last letter alone.
pub fn last_letter_rate(form: &str, f: f64) -> f64 {
    if form == TWO_SIDED { f * -libm::expm1(4.0 * libm::log1p(-f)) } else { f }
}

/// The rate of one lookup at which a random K-mer passes with `p`.
fn base_for(form: &str, p: f64) -> f64 {
    if matches!(form, PLAIN | BLOCKED) {
        p
    } else {
        libm::exp(-least_real(0.0, 700.0, |x| random_rate(form, libm::exp(-x)) <= p))
    }
}

/// The bits, and what a K-mer is.
#[derive(Clone, Debug)]
pub struct Shape {
    pub(super) flat: Flat,
    pub(super) length: u32,
    pub(super) both_strands: u32,
    pub(super) form: &'static str,
}

impl Plan for KMer {
    type Shape = Shape;

    fn hash(shape: &Shape) -> HashId {
        if shape.form == BLOCKED { LANE } else { Self::HASH }
    }

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let form = request.form();
        let cells = |n: u64, p: f64, k: u32| {
            let (k, f) = (f64::from(k), base_for(form, p));
            k * n as f64 / -libm::log1p(-libm::pow(f, 1.0 / k))
        };
        let rate = |flat: Flat, n: u64| random_rate(form, flat.fpr(n));
        let flat = match form {
            BLOCKED => plan_lines(request)?,
            _ => Flat::search(request, |_| 0, cells, rate)?.0,
        };
        let length = request.whole("length") as u32;
        let both_strands = u32::from(request.choice("strands") == Some(BOTH));
        Ok(Shape { flat, length, both_strands, form })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat, form, .. } = *shape;
        if form == BLOCKED {
            return Some(expect_lines(flat, load));
        }
        let n = load.distinct;
        Some(Expect { fpr: random_rate(form, flat.fpr(n)), ..flat.expect(load, flat.m) })
    }
}
