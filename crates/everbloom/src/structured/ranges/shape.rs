//! How segments are cut, and how large their filters are.

use super::{COUNTING, EQUAL, OUTER, Ranges, segments};
use crate::parts::several::{expected_fill, flat_for};
use crate::plan::check_cells;
use crate::variant::prelude::*;

/// Segments for each attribute, and the filter of each.
#[derive(Clone, Debug)]
pub struct Shape {
    pub(super) attributes: u64,
    pub(super) segments: u64,
    pub(super) counting: bool,
    /// The rate of one segment's filter.
    pub(super) rate: f64,
    /// Ids that a segment is planned for, and one at either end.
    pub(super) inner: u64,
    pub(super) outer: u64,
    pub(super) quantiles: bool,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

impl Shape {
    /// The filter of a segment that `ids` ids are in, or as many as planned.
    pub(super) fn flat(&self, ids: u64, at_an_end: bool) -> Flat {
        let planned = if at_an_end { self.outer } else { self.inner };
        flat_for(ids.max(planned), self.rate)
    }

    pub(super) fn cell_bits(&self) -> u64 {
        if self.counting { u64::from(segments::WIDTH) } else { 1 }
    }

    /// The bounds of an attribute with these values.
    pub(super) fn bounds(&self, values: &mut [f64]) -> Vec<f64> {
        values.sort_unstable_by(f64::total_cmp);
        let least = values.first().copied().unwrap_or(0.0);
        let beyond = values.last().map_or(1.0, |most| most.next_up());
        let g = self.segments;
        if self.quantiles && !values.is_empty() {
            let at = |i: u64| values[(i as u128 * values.len() as u128 / u128::from(g)) as usize];
            return (0..g).map(at).chain([beyond]).collect();
        }
        let low = self.low.unwrap_or(least);
        let high = self.high.unwrap_or(beyond).max(low.next_up());
        let cut = |i: u64| low + (high - low) * (i as f64 / g as f64);
        (0..g).map(cut).chain([high]).collect()
    }
}

impl Plan for Ranges {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let [attributes, segments] = request.wholes(["attributes", "segments"]);
        let (low, high) = (request.real("low"), request.real("high"));
        if let (Some(low), Some(high)) = (low, high)
            && low >= high
        {
            return Err(Error::setting("low", low, format!("must be below {{high}}, {high}")));
        }
        let shape = |n: u64, p: f64| Shape {
            attributes,
            segments,
            counting: request.form() == COUNTING,
            rate: libm::pow(p, 1.0 / attributes as f64),
            inner: n.div_ceil(segments),
            outer: n.div_ceil(OUTER * segments),
            quantiles: request.choice("bounds") != Some(EQUAL),
            low,
            high,
        };
        let (n, p) = request.items_and_rate(|n, p| total(&shape(n, p)))?;
        let shape = shape(n, p);
        check_cells(n, p, total(&shape))?;
        Ok(shape)
    }

    /// Of ids that are not there, in one segment of each attribute.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (inner, outer) = (shape.flat(0, false), shape.flat(0, true));
        let fill = inner.fill(load.distinct.div_ceil(shape.segments));
        let parts = [(inner.m * shape.segments, fill), (2 * outer.m, (0.0, 0.0))];
        // The segments of all attributes fill independently.
        let (mean, sd) = expected_fill(parts)?;
        let sd = sd / ((shape.segments * shape.attributes) as f64).sqrt();
        let one = inner.fpr(load.distinct.div_ceil(shape.segments));
        let fpr = libm::pow(one, shape.attributes as f64);
        Some(Expect::one_sided(fpr, total(shape) as u64, Some((mean, sd))))
    }
}

/// Bits of all segments of all attributes.
fn total(shape: &Shape) -> f64 {
    let (inner, outer) = (shape.flat(0, false), shape.flat(0, true));
    let cells = shape.segments as f64 * inner.m as f64 + 2.0 * outer.m as f64;
    cells * shape.attributes as f64 * shape.cell_bits() as f64
}
