//! What a filter leaves to the cells it is made of.

use super::{Answer, Fact, Rates, Touched};
use crate::hash::Digest;

/// Cells and the probes into them. A filter delegates its description, prediction and explanation to them. A part
/// has no
/// hash: its owner hands it digests.
pub trait Part {
    /// What the cells say of a key.
    fn answer(&self, digest: Digest) -> Answer;

    /// Fraction of cells in use.
    fn fill(&self) -> f64;

    /// The rates predicted from the real fill.
    fn rates(&self) -> Rates;

    /// The shape, in a few facts.
    fn describe(&self) -> Vec<Fact>;

    /// The cells that a query looks at.
    fn trace(&self, digest: Digest) -> Vec<Touched>;
}
