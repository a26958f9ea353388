//! How many words of which make hold so many keys at a rate.

use crate::cells::LEVEL_WIDTHS;
use crate::error::{Error, Result};
use crate::plan::MAX_CELLS;
use crate::theory::{blocked as theory, tail};

pub(super) const MAX_PROBES: u32 = 512;
pub(super) const MAX_G: u32 = 8;

/// Words, bits per word and in level 1, probes, and words per key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) l: u64,
    pub(super) w: u64,
    pub(super) b1: u64,
    pub(super) k: u32,
    pub(super) g: u32,
}

impl Shape {
    /// `l` words of `w` bits with `b1` in level 1, for keys of `k` probes over `g` words.
    pub fn new(l: u64, w: u64, b1: u64, k: u32, g: u32) -> Result<Self> {
        let fits = LEVEL_WIDTHS.contains(&w)
            && (1..=w).contains(&b1)
            && l.checked_mul(w).is_some_and(|bits| (1..=MAX_CELLS).contains(&bits))
            && (1..=MAX_PROBES).contains(&k)
            && (1..=MAX_G).contains(&g)
            && k.is_multiple_of(g);
        if fits {
            return Ok(Self { l, w, b1, k, g });
        }
        Err(Error::parameter(format!(
            "{l} words of {w} bits, {b1} of them in level 1, with {k} probes over {g} words: w is a \
             power of two from 16 to 512, k a multiple of g up to {MAX_PROBES}, and level 1 not empty"
        )))
    }

    /// Bits in level 1.
    pub fn b1(&self) -> u64 {
        self.b1
    }

    /// Number of words.
    pub fn l(&self) -> u64 {
        self.l
    }

    /// The shape for `n` keys in `l` words: b1 = w − (k/g)·n_max. `None` if no bit is left for level 1.
    pub fn for_items(l: u64, w: u64, n: u64, k: u32, g: u32, overflow: f64) -> Option<Self> {
        let most = n_max(n.checked_mul(g.into())?, l, overflow);
        let b1 = w.checked_sub(u64::from(k / g).checked_mul(most)?)?;
        Self::new(l, w, b1, k, g).ok()
    }

    /// f = Σ_j P(j keys in a word)·f_in(b1, j, k) (catalogue R17), with the exact rate of a small filter
    /// inside the word (Bose et al.) and P Poisson: blocks of b1 bits. Over g words: g such factors.
    pub fn fpr(&self, n: u64) -> f64 {
        self.rate(n, theory::fpr)
    }

    /// The same with the classic rate (1 − (1 − 1/b1)^{jk})^k inside the word, as papers print it.
    pub fn fpr_classic(&self, n: u64) -> f64 {
        self.rate(n, theory::fpr_classic)
    }

    fn rate(&self, n: u64, in_blocks: impl Fn(u64, f64, u32) -> f64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        let bits_per_item = (self.l * self.b1) as f64 / (n as f64 * f64::from(self.g));
        libm::pow(in_blocks(self.b1, bits_per_item, self.k / self.g), f64::from(self.g))
    }

    /// The fewest words for `n` keys at rate `p`, with the given k or the best.
    pub(super) fn sized(
        w: u64,
        n: u64,
        p: f64,
        k: Option<u32>,
        g: u32,
        overflow: f64,
    ) -> Option<Self> {
        let mut best: Option<Self> = None;
        for k in probes(k, g) {
            let good =
                |l: u64| Self::for_items(l, w, n, k, g, overflow).filter(|shape| shape.fpr(n) <= p);
            // Only fewer words than the best so far are of interest.
            let limit = best.map_or(MAX_CELLS / w, |b| b.l - 1);
            let mut high = (n / w).clamp(1, limit.max(1));
            while high < limit && good(high).is_none() {
                high = high.saturating_mul(2).min(limit);
            }
            let Some(mut shape) = good(high).filter(|shape| shape.l <= limit) else { continue };
            let (mut low, mut high) = (high / 2, high);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                match good(middle) {
                    Some(fewer) => (shape, high) = (fewer, middle),
                    None => low = middle,
                }
            }
            best = Some(shape);
        }
        best
    }
}

/// The numbers of probes to look at: more than sixteen a word are never best, since each costs a bit
/// of level 1 for every key that the fullest word may get.
pub(super) fn probes(k: Option<u32>, g: u32) -> impl Iterator<Item = u32> {
    k.map_or(1..=16 * g, |k| k..=k).filter(move |k| k.is_multiple_of(g))
}

/// The least j such that fewer than `overflow` of `l` words are expected to get more than j of `n` keys.
/// With 1 that is the paper's rule, P(Bin(n, 1/l) > j) < 1/l.
pub fn n_max(n: u64, l: u64, overflow: f64) -> u64 {
    let enough = |j: u64| {
        tail::binomial_at_least(n, 1.0 / l as f64, j.saturating_add(1)) * (l as f64) < overflow
    };
    let (mut low, mut step) = (n / l, 1);
    if low > 0 && enough(low - 1) {
        low = 0;
    }
    let mut high = low;
    while high < n && !enough(high) {
        (low, high) = (high + 1, high.saturating_add(step).min(n));
        step *= 2;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    high
}
