//! Counters for every attribute, and for the verification.

use super::{COMPACT, ParallelAttributes};
use crate::cells::Exact;
use crate::parts::several::{expected_fill, flat_for};
use crate::plan::{MAX_CELLS, Slices, check_cells};
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// The attributes, the counters of each, and those of the verification.
#[derive(Clone, Debug)]
pub struct Shape {
    pub(super) attributes: u64,
    pub(super) slices: Slices,
    pub(super) compact: Option<Flat>,
    pub(super) width: u32,
}

impl Shape {
    pub(super) fn bits(&self) -> f64 {
        let verification = self.compact.map_or(0, |flat| flat.m) as f64;
        (self.attributes as f64 * self.slices.m() as f64 + verification) * f64::from(self.width)
    }
}

impl Plan for ParallelAttributes {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let attributes = request.whole("attributes");
        let width = request.whole("width") as u32;
        let compact = request.form() == COMPACT;
        let shape = |slices: Slices, flat: Flat| Shape {
            attributes,
            slices,
            compact: compact.then_some(flat),
            width,
        };
        if request.integer(PARAM_M.name).is_some() {
            let slices = Slices::plan(request)?;
            return Ok(shape(slices, Flat { m: slices.m(), k: slices.k }));
        }
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        let sized = |n: u64, p: f64| {
            let k = k_set.unwrap_or((-libm::log2(p)).round().clamp(1.0, 1000.0) as u32);
            let slice = theory::slice_for(n as f64, p, k).ceil().max(1.0) as u64;
            shape(Slices { slice: slice.min(MAX_CELLS), k }, flat_for(n, p))
        };
        let cells = |n: u64, p: f64| {
            let Shape { slices: Slices { slice, k }, .. } = sized(n, p);
            slice as f64 * f64::from(k)
        };
        let (n, p) = request.items_and_rate(|n, p| {
            let all = attributes as f64 * cells(n, p);
            let flat = if compact { flat_for(n, p).m as f64 } else { 0.0 };
            let exact = if compact { 0 } else { Exact::bits_of(n) };
            (all + flat) * f64::from(width) + exact as f64
        })?;
        let all = attributes as f64 * cells(n, p) * f64::from(width);
        check_cells(n, p, all)?;
        Ok(sized(n, p))
    }

    /// Of items all of whose values are foreign.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let one = shape.slices.expect(load);
        let slices =
            (0..shape.attributes).map(|_| (shape.slices.m(), one.fill.unwrap_or_default()));
        let compact = shape.compact.map(|flat| (flat.m, flat.fill(load.distinct)));
        let mark = shape.compact.map_or(0.0, |flat| flat.fpr(load.distinct));
        let fpr = libm::pow(one.fpr, shape.attributes as f64) * mark;
        let bits = shape.bits() as u64;
        let fill = expected_fill(slices.chain(compact));
        Some(Expect::one_sided(fpr, bits, fill).probing(shape.slices.k))
    }

    fn beside(_request: &Request<'_>, shape: &Shape, load: &Load) -> u64 {
        if shape.compact.is_some() { 0 } else { Exact::bits_of(load.distinct) }
    }
}
