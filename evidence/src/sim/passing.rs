//! How often a header of n tags lets another one pass: exactly, since headers are small and their fill varies.

/// Tags of k ones, or of k probes, in m bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throws {
    pub(super) m: u64,
    pub(super) k: u32,
    /// Whether the k ones of a tag differ for certain.
    pub(super) distinct: bool,
}

/// The chance that another tag passes: its mean over headers, and how much it differs from header to header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passing {
    /// The mean, C(ones, k)/C(m, k) or (ones/m)^k.
    pub mean: f64,
    /// Its standard deviation from header to header.
    pub sd: f64,
    /// The mean of fill^k, which is the mean above for probes that may meet.
    pub fill_to_k: f64,
}

impl Throws {
    /// The chance that a tag passes a header with so many ones.
    pub(super) fn chance(self, ones: u64) -> f64 {
        let step = |i: u64| match self.distinct {
            true => ones.saturating_sub(i) as f64 / (self.m - i) as f64,
            false => ones as f64 / self.m as f64,
        };
        (0..u64::from(self.k).min(self.m)).map(step).product()
    }

    /// Of a header of `n` tags, the emptiest of `tables`.
    pub(super) fn passing(self, n: u64, tables: u64) -> Passing {
        let ones = self.ones(n);
        let mut above = vec![0.0; ones.len() + 1];
        for i in (0..ones.len()).rev() {
            above[i] = above[i + 1] + ones[i];
        }
        // The emptiest has `i` ones with P(all have ≥ i) − P(all have ≥ i + 1).
        let all = |i: usize| libm::pow(f64::min(above[i], 1.0), tables as f64);
        let mean = |f: &dyn Fn(u64) -> f64| {
            (0..ones.len()).map(|i| (all(i) - all(i + 1)) * f(i as u64)).sum::<f64>()
        };
        let fill = |i: u64| libm::pow(i as f64 / self.m as f64, self.k.into());
        let rate = mean(&|i| self.chance(i));
        let square = mean(&|i| self.chance(i) * self.chance(i));
        Passing { mean: rate, sd: (square - rate * rate).max(0.0).sqrt(), fill_to_k: mean(&fill) }
    }

    /// The distribution of the number of ones after `n` tags, followed throw by throw: a throw that must differ
    /// from the tag's j before it falls on m − j cells, of which the header's ones less those j are taken.
    fn ones(self, n: u64) -> Vec<f64> {
        let m = self.m as usize;
        let mut ones = vec![0.0; m + 1];
        ones[0] = 1.0;
        for _ in 0..n {
            for j in 0..self.k as usize {
                let avoided = if self.distinct { j.min(m - 1) } else { 0 };
                let mut next = vec![0.0; m + 1];
                for (i, p) in ones.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                    // After j throws of this tag, its j cells are ones of the header.
                    let taken = i.saturating_sub(avoided) as f64 / (m - avoided) as f64;
                    next[i] += p * taken;
                    if i < m {
                        next[i + 1] += p * (1.0 - taken);
                    }
                }
                ones = next;
            }
        }
        ones
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_distinct_ones_pass_less_often() {
        let [distinct, thrown] = [true, false].map(|distinct| Throws { m: 256, k: 5, distinct });
        assert!((distinct.ones(20).iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(distinct.passing(20, 1).mean < thrown.passing(20, 1).mean * 1.05);
        // One tag has k ones for certain.
        assert!((distinct.ones(1)[5] - 1.0).abs() < 1e-12);
        // For probes that may meet, the formula of the library.
        let exact = everbloom::internals::theory::bloom::fpr_exact(256, 20, 5);
        assert!((thrown.passing(20, 1).mean / exact - 1.0).abs() < 1e-6);
        assert_eq!(distinct.chance(256), 1.0);
        assert_eq!(distinct.chance(4), 0.0);
    }
}
