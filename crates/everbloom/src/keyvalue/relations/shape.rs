//! Bits of nodes and of their parents, or counting filters of nodes and edges.

use super::{DEPTH_BITS, DYNAMIC, Relations, WIDTH};
use crate::keyvalue::xor_cells::{MAX_CHECK_BITS, cells_for, false_positives};
use crate::parts::several::{expected_fill, flat_for};
use crate::plan::{DEFAULT_FPR, MAX_CELLS, check_cells};
use crate::theory::fingerprint::fingerprint_bits_for;
use crate::variant::prelude::*;

/// What the goal says; how many cells there are comes with the nodes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Set by hand or from the rate; else as many as there is room for.
    pub(super) node_bits: Option<u32>,
    pub(super) parent_bits: u32,
    pub(super) depths: bool,
    pub(super) room: u64,
    pub(super) rate: Option<f64>,
    /// Counting filters of nodes and edges, in the form `dynamic`.
    pub(super) counters: Option<(Flat, Flat)>,
}

impl Shape {
    pub(super) fn value_bits(&self) -> u32 {
        self.parent_bits + if self.depths { DEPTH_BITS } else { 0 }
    }

    /// Bits of a node's own part, and bits in all, for `n` nodes.
    pub(super) fn settle(&self, n: u64) -> Result<(u32, u64)> {
        let (cells, value) = (cells_for(n), self.value_bits());
        let most = MAX_CHECK_BITS.min(64 - value);
        let node = self.node_bits.unwrap_or_else(|| {
            (self.room / cells).saturating_sub(value.into()).clamp(1, most.into()) as u32
        });
        let bits = cells.saturating_mul(u64::from(node + value));
        if node > most || bits > self.room {
            return Err(Error::parameter(format!(
                "{n} nodes with {node} bits of their own and {value} of their parents need {} bytes, more than {}, or \
                 more than 64 bits: give more {{memory}} or a higher {{rate}}",
                bits.div_ceil(8),
                self.room / 8
            )));
        }
        Ok((node, bits))
    }
}

impl Plan for Relations {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let parent_bits = request.whole("parent-bits") as u32;
        let by_hand = request.integer("node-bits").map(|bits| bits as u32);
        let depths = request.choice("depth") == Some("yes");
        let (rate, room) = (request.goal_fpr(), request.goal_bits());
        let rate = rate.or((room.is_none() && by_hand.is_none()).then_some(DEFAULT_FPR));
        let mut shape = Shape {
            node_bits: by_hand.or(rate.map(fingerprint_bits_for)),
            parent_bits,
            depths,
            room: room.unwrap_or(MAX_CELLS).min(MAX_CELLS),
            rate,
            counters: None,
        };
        if request.form() != DYNAMIC {
            // What does not fit does not wait for the nodes to be refused.
            shape.settle(request.goal_items().unwrap_or(0))?;
            return Ok(shape);
        }
        if depths || by_hand.is_some() {
            let message =
                "only static trees have depths and bits of nodes: omit {depth} and {node-bits}";
            return Err(Error::parameter(message));
        }
        let sized =
            |n: u64, p: f64| (flat_for(n, p), flat_for(n, libm::exp2(-f64::from(parent_bits))));
        let bits =
            |(nodes, edges): (Flat, Flat)| (nodes.m as f64 + edges.m as f64) * f64::from(WIDTH);
        let (n, p) = request.items_and_rate(|n, p| bits(sized(n, p)))?;
        check_cells(n, p, bits(sized(n, p)))?;
        shape.counters = Some(sized(n, p));
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let n = load.distinct;
        if let Some((nodes, edges)) = shape.counters {
            let fill = expected_fill([(nodes.m, nodes.fill(n)), (edges.m, edges.fill(n))]);
            let bits = (nodes.m + edges.m) * u64::from(WIDTH);
            return Some(Expect::one_sided(nodes.fpr(n), bits, fill).probing(nodes.k));
        }
        let (node_bits, bits) = shape.settle(n).ok()?;
        let fpr = if n == 0 { 0.0 } else { false_positives(false, node_bits) };
        Some(Expect::one_sided(fpr, bits, None))
    }
}
