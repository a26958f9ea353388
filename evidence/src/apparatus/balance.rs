//! Both kinds of errors of a generalized filter in balance: F_n over F_p, and where it takes a given value.

use everbloom::Result;
use everbloom::internals::theory::generalized::Hashes;

use super::classic::Rate;
use super::generalized::{self, Shape};
use crate::{Bound, Lab};

/// As in S2's figures about false negatives.
pub const ITEMS: u64 = 10;

/// F_p and F_n of one pair of hashes, measured.
pub struct Errors {
    pub hashes: Hashes,
    pub bits_per_item: u64,
    pub positives: Rate,
    pub negatives: Rate,
}

/// F_p: the rate of a filter that began in its worst state and stays there.
pub fn positives(lab: &Lab, k0: u32, k1: u32) -> Result<Rate> {
    let worst = Hashes { k0: f64::from(k0), k1: f64::from(k1) }.worst_zeros();
    generalized::after(lab, Shape::new(12_800, k0, k1), worst, 100, lab.scaled(80))
}

/// F_n: the share of elements lost that n others followed.
pub fn negatives(lab: &Lab, k0: u32, k1: u32, bits_per_item: u64) -> Result<Rate> {
    generalized::lost(lab, Shape::new(bits_per_item * ITEMS, k0, k1), ITEMS, lab.scaled(16))
}

impl Errors {
    /// F_n/F_p as predicted and measured, with the bound of both together.
    pub fn ratio(&self) -> Rate {
        let predicted = self.negatives.predicted / self.positives.predicted;
        let measured = self.negatives.measured / self.positives.measured;
        let slack = self.slack();
        // Half and twice are equally far off.
        let bound = Bound::between(predicted * (-slack).exp(), predicted * slack.exp());
        Rate { predicted, measured, bound }
    }

    /// How far ln(F_n/F_p) may be off by chance.
    fn slack(&self) -> f64 {
        relative(&self.positives).hypot(relative(&self.negatives))
    }

    /// ln(F_n/F_p) against eq. 19 and 22, as predicted for filters of this size and as measured.
    fn off(&self) -> [f64; 2] {
        let ratio = self.ratio();
        let simple = self.hashes.fnr_per_fpr(self.bits_per_item as f64);
        [ratio.predicted, ratio.measured].map(|ratio| (ratio / simple).ln())
    }
}

/// Half the width of a bound, as a share of the prediction.
fn relative(rate: &Rate) -> f64 {
    let (low, high) = (rate.bound.low.unwrap_or(0.0), rate.bound.high.unwrap_or(f64::INFINITY));
    (high - low) / 2.0 / rate.predicted
}

/// Where F_n/F_p takes the value it has analytically at the real number of hashes `at`, with whole numbers
/// measured on both sides. In between, measurements are taken to differ from the analytic curve as they
/// do beside it, in proportion.
pub fn crossing(at: f64, beside: [&Errors; 2], ratio: impl Fn(f64) -> f64) -> Rate {
    let step = 1e-4;
    let slope = (ratio(at + step).ln() - ratio(at - step).ln()) / (2.0 * step);
    let weights = [1.0 - at.fract(), at.fract()];
    let shift = |which: usize| -> f64 {
        beside.iter().zip(weights).map(|(errors, w)| w * errors.off()[which]).sum::<f64>() / slope
    };
    let slack =
        (weights[0] * beside[0].slack()).hypot(weights[1] * beside[1].slack()) / slope.abs();
    let predicted = at - shift(0);
    Rate { predicted, measured: at - shift(1), bound: Bound::exactly(predicted, slack) }
}
