//! The shapes of a main filter and of those that check it.

use super::MAX_PARTS;
use crate::parts::several::check_parts;
use crate::variant::prelude::*;

/// The main filter, the cross filters, and which of those are queried.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) main: Flat,
    pub(super) cross: Flat,
    pub(super) parts: u64,
    pub(super) own: bool,
}

impl Shape {
    /// The rate of cross filters below a main filter of rate `main` that makes `p` of both. Never
    /// looser than a coin: a filter that lets nearly all pass is no check.
    pub(super) fn cross_rate(&self, p: f64, main: f64) -> f64 {
        let both = (p / main).min(1.0);
        let each =
            if self.own { both } else { -libm::expm1(libm::log1p(-both) / self.parts as f64) };
        each.min(0.5)
    }

    pub(super) fn bits(&self) -> f64 {
        self.main.m as f64 + self.parts as f64 * self.cross.m as f64
    }

    pub(super) fn check(&self) -> Result<()> {
        if !(1..=MAX_PARTS).contains(&self.parts) {
            return Err(Error::parameter(format!("{} parts: 1 to {MAX_PARTS}", self.parts)));
        }
        let cross = std::iter::repeat_n(self.cross, self.parts as usize);
        check_parts(std::iter::once(self.main).chain(cross)).map(drop)
    }
}
