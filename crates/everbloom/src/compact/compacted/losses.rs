//! What compaction does to the bits of a filter, on average.

use crate::theory::tail::binomial_pmf;

/// Whether `ones` of `blocks` bits are written as all of them.
///
/// S3 says "more than half" and, for the last rule, "less than half". Half is taken for more here: that way
/// no one is lost.
pub(super) fn majority(ones: u32, blocks: u32) -> bool {
    ones > 1 && 2 * ones >= blocks
}

/// What compaction does to an array with a share `fill` of ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Share of ones that become zeros, L = E[(c − 1)·1{1 < c < k0/2}]/(k0·p) (catalogue I9).
    pub lost: f64,
    /// Share of zeros that become ones, R = E[(k0 − c)·1{c ≥ max(2, k0/2)}]/(k0·(1 − p)).
    pub raised: f64,
}

impl Losses {
    /// Of columns of `blocks` bits, each of them one with probability `fill`.
    pub fn of(blocks: u32, fill: f64) -> Self {
        let columns = |value: &dyn Fn(u32) -> u32| mean(blocks, fill, |c| f64::from(value(c)));
        let lost = columns(&|c| if c > 1 && !majority(c, blocks) { c - 1 } else { 0 });
        let raised = columns(&|c| if majority(c, blocks) { blocks - c } else { 0 });
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let all = f64::from(blocks);
        Self { lost: share(lost, all * fill), raised: share(raised, all * (1.0 - fill)) }
    }

    /// P(a member is missed), 1 − (1 − L)^k.
    pub fn fnr(&self, k: u32) -> f64 {
        -libm::expm1(f64::from(k) * libm::log1p(-self.lost))
    }
}

/// E[value(c)] for c of `blocks` bits being one.
fn mean(blocks: u32, fill: f64, value: impl Fn(u32) -> f64) -> f64 {
    (0..=blocks).map(|c| binomial_pmf(blocks.into(), fill, c.into()) * value(c)).sum()
}

/// Bits that read as one in a column with `c` ones.
fn read(c: u32, blocks: u32) -> f64 {
    match c {
        0 => 0.0,
        _ if majority(c, blocks) => blocks.into(),
        _ => 1.0,
    }
}

/// Share of bits that read as one after compaction.
pub fn fill_after(blocks: u32, fill: f64) -> f64 {
    mean(blocks, fill, |c| read(c, blocks)) / f64::from(blocks)
}

/// Standard deviation of [`fill_after`] among filters of `columns` columns, whose bits were thrown at
/// `thrown` times each on average, which left a share `fill` of ones.
///
/// The columns would be independent but for the number of throws, which is given: what they have in common
/// with it does not vary. A one was thrown at thrown/fill times on average.
pub(super) fn fill_sd(blocks: u32, fill: f64, thrown: f64, columns: f64) -> f64 {
    if thrown <= 0.0 {
        return 0.0;
    }
    let all = f64::from(blocks);
    let after = all * fill_after(blocks, fill);
    let square = mean(blocks, fill, |c| read(c, blocks) * read(c, blocks));
    let shared = mean(blocks, fill, |c| read(c, blocks) * f64::from(c));
    let common = shared * thrown / fill - after * all * thrown;
    let variance = square - after * after - common * common / (all * thrown);
    (variance.max(0.0) / columns).sqrt() / all
}

/// The largest share of ones before compaction that keeps rate `p` and false negatives `fnr` after it,
/// with `k` probes.
pub(super) fn fullest(blocks: u32, k: u32, p: f64, fnr: f64) -> f64 {
    // The rate grows with the fill. The losses fall again where majorities take over, but they are zero
    // at zero, so that bisection ends where they are small enough.
    let good = |fill: f64| {
        libm::pow(fill_after(blocks, fill), k.into()) <= p && Losses::of(blocks, fill).fnr(k) <= fnr
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if good(middle) { low = middle } else { high = middle }
    }
    low
}
