//! The generalized Bloom filter, which sets bits and resets others (catalogue R10, S2).
//!
//! An insertion sets the bits of k1 hashes and then resets those of k0. A foreign key passes
//! only if k0 bits are 0 *and* k1 bits are 1, so no fill, not even one an attacker chose,
//! lets everyone pass. The price: later insertions overwrite the bits of earlier ones.
//!
//! [`Shape`] has the expressions as derived (S2 eq. 5–12), [`Hashes`] the simplified ones for
//! m ≫ k0, k1 (eq. 16–23), in which m and n appear as m/n alone. Everywhere `zeros` is a share
//! of zero bits, and k0, k1 are real numbers ≥ 0 (not both 0) since S2 solves for them.

use super::bloom;
use super::search::least_real;
use core::num::NonZeroU64;

/// `x^by` in logarithms, with `x = 1 − lost`: keeps the digits of tiny losses.
fn ln_kept(lost: f64, by: f64) -> f64 {
    // Nothing to lose: also where the logarithm is of zero.
    if by == 0.0 { 0.0 } else { by * libm::log1p(-lost) }
}

/// A filter of `m` ≥ 1 bits with `k0` resetting and `k1` setting hashes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Bits.
    pub m: f64,
    /// Hashes that reset.
    pub k0: f64,
    /// Hashes that set.
    pub k1: f64,
}

impl Shape {
    /// q0, the chance that one insertion resets a given bit (eq. 5).
    pub fn resets(&self) -> f64 {
        bloom::fill(self.m, self.k0)
    }

    /// q1, the chance that one insertion sets a given bit: reset wins over set (eq. 6).
    pub fn sets(&self) -> f64 {
        bloom::fill(self.m, self.k1) * (1.0 - self.resets())
    }

    /// 1 − q0 − q1, the chance that one insertion leaves a given bit alone (eq. 7).
    pub fn untouched(&self) -> f64 {
        1.0 - self.touched_by(1.0)
    }

    /// 1 − (1 − q0 − q1)^inserts, the chance that a bit is written at all.
    fn touched_by(&self, inserts: f64) -> f64 {
        bloom::fill(self.m, (self.k0 + self.k1) * inserts)
    }

    /// b0 = m·q0, the mean number of bits one insertion resets.
    pub fn bits_reset(&self) -> f64 {
        self.m * self.resets()
    }

    /// b1 = m·q1, the mean number of bits one insertion sets; k1 for m ≫ k1 (eq. 13).
    pub fn bits_set(&self) -> f64 {
        self.m * self.sets()
    }

    /// q0/(q0+q1), the share of zeros that insertions drive the filter to.
    fn steady_zeros(&self) -> f64 {
        self.resets() / (self.resets() + self.sets())
    }

    /// p, the share of zeros after `n` insertions into a filter with `initial_zeros` (eq. 8).
    pub fn zeros_after(&self, initial_zeros: f64, n: f64) -> f64 {
        let touched = self.touched_by(n);
        initial_zeros * (1.0 - touched) + self.steady_zeros() * touched
    }

    /// f_p, the false-positive rate at a share of `zeros` (eq. 9).
    ///
    /// For the query that asks every bit; see [`Self::fpr_excess_of_skipping`].
    pub fn fpr(&self, zeros: f64) -> f64 {
        libm::pow(zeros, self.bits_reset()) * libm::pow(1.0 - zeros, self.bits_set())
    }

    /// What a query adds to [`Self::fpr`] that skips the set bits its own resets overwrite,
    /// about `(k0 k1 / m) p^k0 (1−p)^(k1−1)` (catalogue R10).
    ///
    /// Skipping is what makes the last inserted item certain to be found. Where ones are
    /// scarce it matters: with k0 = k1 = 2, m = 1280 and 10 items it adds a fifth.
    pub fn fpr_excess_of_skipping(&self, zeros: f64) -> f64 {
        if self.k1 == 0.0 {
            return 0.0;
        }
        let collisions = self.k0 * self.k1 / self.m;
        collisions * libm::pow(zeros, self.k0) * libm::pow(1.0 - zeros, self.k1 - 1.0)
    }

    /// p00, the chance that a bit an item reset is still 0 after `later` insertions (eq. 10).
    pub fn stays_zero(&self, later: f64) -> f64 {
        1.0 - (1.0 - self.steady_zeros()) * self.touched_by(later)
    }

    /// p11, the chance that a bit an item set is still 1 after `later` insertions (eq. 11).
    pub fn stays_one(&self, later: f64) -> f64 {
        1.0 - self.steady_zeros() * self.touched_by(later)
    }

    /// f_n, the false-negative rate of an item followed by `later` others (eq. 12).
    pub fn fnr(&self, later: f64) -> f64 {
        let zeros_kept = ln_kept(1.0 - self.stays_zero(later), self.bits_reset());
        let ones_kept = ln_kept(1.0 - self.stays_one(later), self.bits_set());
        -libm::expm1(zeros_kept + ones_kept)
    }
}

/// `k0` resetting and `k1` setting hashes in a filter far larger than either.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hashes {
    /// Hashes that reset.
    pub k0: f64,
    /// Hashes that set.
    pub k1: f64,
}

impl Hashes {
    /// 1 − E with `E = e^{−(k0+k1)n/m}`, the share of bits that n insertions write.
    fn touched(&self, bits_per_item: f64) -> f64 {
        -libm::expm1(-(self.k0 + self.k1) / bits_per_item)
    }

    /// k0/(k0+k1): the share of zeros that insertions drive the filter to, the one with the
    /// most false positives (eq. 18), and so the worst to start from (eq. 23).
    pub fn worst_zeros(&self) -> f64 {
        self.k0 / (self.k0 + self.k1)
    }

    /// p, the share of zeros once a filter with `initial_zeros` has had an item per
    /// `bits_per_item` bits (eq. 16).
    pub fn zeros_after(&self, initial_zeros: f64, bits_per_item: f64) -> f64 {
        let touched = self.touched(bits_per_item);
        initial_zeros * (1.0 - touched) + self.worst_zeros() * touched
    }

    /// f_p, the false-positive rate at a share of `zeros` (eq. 17).
    pub fn fpr(&self, zeros: f64) -> f64 {
        libm::pow(zeros, self.k0) * libm::pow(1.0 - zeros, self.k1)
    }

    /// F_p, the bound on the false-positive rate for any state of the bits (eq. 19).
    pub fn max_fpr(&self) -> f64 {
        self.fpr(self.worst_zeros())
    }

    /// p00(0), the chance that a zero outlives all items of the set (eq. 20).
    pub fn stays_zero(&self, bits_per_item: f64) -> f64 {
        1.0 - (1.0 - self.worst_zeros()) * self.touched(bits_per_item)
    }

    /// p11(0), the chance that a one outlives all items of the set (eq. 21).
    pub fn stays_one(&self, bits_per_item: f64) -> f64 {
        1.0 - self.worst_zeros() * self.touched(bits_per_item)
    }

    /// F_n, the bound on the false-negative rate of every item: that of an item inserted
    /// before the whole set (eq. 22).
    pub fn max_fnr(&self, bits_per_item: f64) -> f64 {
        let touched = self.touched(bits_per_item);
        let zeros_kept = ln_kept((1.0 - self.worst_zeros()) * touched, self.k0);
        let ones_kept = ln_kept(self.worst_zeros() * touched, self.k1);
        -libm::expm1(zeros_kept + ones_kept)
    }

    /// F_n/F_p: 1 on the balanced set of eq. 24, near 1/3 on the weighted set of eq. 25.
    pub fn fnr_per_fpr(&self, bits_per_item: f64) -> f64 {
        self.max_fnr(bits_per_item) / self.max_fpr()
    }
}

/// Most hashes of a kind that are looked at: 64 of each bring F_p to 2^−128, below what keys
/// hashed to 128 bits can show.
pub const MOST_HASHES: u32 = 64;

/// The real k = k0 = k1 at which F_n is `share` of F_p (eq. 24 for a share of 1), up to 64.
pub fn balanced_k(bits_per_item: f64, share: f64) -> f64 {
    let at = |k: f64| Hashes { k0: k, k1: k };
    least_real(0.0, f64::from(MOST_HASHES), |k| {
        k > 0.0 && at(k).fnr_per_fpr(bits_per_item) >= share
    })
}

/// The real k1 that goes with `k0` > 0 on the curve F_n = `share`·F_p (eq. 24), up to 64.
pub fn balanced_k1(k0: f64, bits_per_item: f64, share: f64) -> f64 {
    let at = |k1: f64| Hashes { k0, k1 };
    least_real(0.0, f64::from(MOST_HASHES), |k1| at(k1).fnr_per_fpr(bits_per_item) >= share)
}

/// The whole pairs (k0, k1) for which F_n is near `share` of F_p, off by no more than a factor
/// of `within` ≥ 1 either way, nearest first (eq. 25).
pub fn weighted_pairs(bits_per_item: f64, share: f64, within: f64) -> Vec<(u32, u32)> {
    let off = |&(k0, k1): &(u32, u32)| {
        let hashes = Hashes { k0: f64::from(k0), k1: f64::from(k1) };
        libm::log(hashes.fnr_per_fpr(bits_per_item) / share).abs()
    };
    let all = (1..=MOST_HASHES).flat_map(|k0| (1..=MOST_HASHES).map(move |k1| (k0, k1)));
    let mut near: Vec<_> = all.filter(|pair| off(pair) <= libm::log(within)).collect();
    near.sort_by(|a, b| off(a).total_cmp(&off(b)));
    near
}

/// Hashes and size that keep both bounds; see [`design`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// Hashes that reset.
    pub k0: u32,
    /// Hashes that set.
    pub k1: u32,
    /// Bits per item, m/n.
    pub bits_per_item: f64,
}

/// The smallest filter with F_p ≤ `fp_bound` and F_n ≤ `fn_bound`, of 1 to 64 hashes each way.
///
/// The order of S2 §IV-B: hashes for the false positives, then m/n for the false negatives.
/// Of mirrored pairs, which are equally good, the one with k0 < k1. `None` where a bound is
/// not above zero or F_p would have to be below 2^−128.
pub fn design(fp_bound: f64, fn_bound: f64) -> Option<Design> {
    let mut best: Option<Design> = None;
    for k0 in 1..=MOST_HASHES {
        let at = |k1: u32| Hashes { k0: f64::from(k0), k1: f64::from(k1) };
        // F_p falls and F_n rises with k1: more than enough is only larger.
        let Some(k1) = (1..=MOST_HASHES).find(|&k1| at(k1).max_fpr() <= fp_bound) else {
            continue;
        };
        let Some(bits_per_item) = bits_per_item_for(at(k1), fn_bound) else {
            continue;
        };
        // A mirrored pair may differ in the last bits; that is not better.
        if best.is_none_or(|best| bits_per_item < best.bits_per_item * (1.0 - 1e-9)) {
            best = Some(Design { k0, k1, bits_per_item });
        }
    }
    best
}

/// Least m/n with F_n ≤ `fn_bound`; `None` where the bound is not above zero.
pub fn bits_per_item_for(hashes: Hashes, fn_bound: f64) -> Option<f64> {
    let enough = |bits_per_item: f64| hashes.max_fnr(bits_per_item) <= fn_bound;
    // Each of k0 zeros is lost with a chance below k1·n/m, each of k1 ones below k0·n/m; so
    // F_n < 2·k0·k1·n/m, and at twice that m/n there is certainly room.
    let most = 4.0 * hashes.k0 * hashes.k1 / fn_bound;
    // A thousandth of a bit per item has lost all there is to lose.
    (most.is_finite() && enough(most)).then(|| least_real(1e-3, most, enough))
}

/// The hash family of S2's simulations, `((c·x + d) mod z) mod m` (eq. 14–15).
///
/// Universal for a prime z above every key and 0 < c < z, 0 ≤ d < z chosen at random.
pub fn universal_hash(x: u64, c: u64, d: u64, z: NonZeroU64, m: NonZeroU64) -> u64 {
    let line = u128::from(c) * u128::from(x) + u128::from(d);
    let in_field = line % u128::from(z.get());
    (in_field % u128::from(m.get())) as u64
}

#[cfg(test)]
mod tests;
