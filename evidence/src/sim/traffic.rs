//! Who sends how much, and when.

use everbloom::internals::hash::Generator;

/// Ranks from 0, the most frequent: rank r has weight 1/(r+1)^exponent.
///
/// ```
/// use everbloom::internals::hash::Generator;
/// use everbloom_lab::sim::Zipf;
/// let mut random = Generator::new(1);
/// let zipf = Zipf::new(100, 1.0);
/// let draws: Vec<usize> = (0..10_000).map(|_| zipf.draw(&mut random)).collect();
/// // The first has 1/H(100) = 0.193 of all.
/// let first = draws.iter().filter(|&&rank| rank == 0).count();
/// assert!((1800..2060).contains(&first));
/// ```
pub struct Zipf {
    /// The share of the ranks up to each.
    shares: Vec<f64>,
}

impl Zipf {
    /// `ranks` ranks; exponent 0 makes them equally frequent.
    pub fn new(ranks: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let mut shares: Vec<f64> = (1..=ranks)
            .map(|rank| {
                sum += libm::pow(rank as f64, -exponent);
                sum
            })
            .collect();
        for share in &mut shares {
            *share /= sum;
        }
        Self { shares }
    }

    /// A rank.
    pub fn draw(&self, random: &mut Generator) -> usize {
        let u = random.unit();
        self.shares.partition_point(|&share| share <= u).min(self.shares.len().saturating_sub(1))
    }

    /// How frequent a rank is.
    pub fn share(&self, rank: usize) -> f64 {
        self.shares[rank] - rank.checked_sub(1).map_or(0.0, |before| self.shares[before])
    }
}

/// The time to the next arrival, of `rate` arrivals in a unit of time on average.
pub fn poisson_gap(rate: f64, random: &mut Generator) -> f64 {
    -libm::log(1.0 - random.unit()) / rate
}

/// A size with a heavy tail: at least `least`, above x with probability (least/x)^shape.
pub fn pareto(least: f64, shape: f64, random: &mut Generator) -> f64 {
    least * libm::pow(1.0 - random.unit(), -1.0 / shape)
}

/// Puts items in random order.
pub fn shuffle<T>(items: &mut [T], random: &mut Generator) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// A set whose members come and go: of a fixed size, and in every step a share of it is new.
pub struct Churn {
    members: Vec<u64>,
    next: u64,
    share: f64,
}

impl Churn {
    /// Members 0 to `size`; a step replaces `share` of them by numbers never used before.
    pub fn new(size: u64, share: f64) -> Self {
        Self { members: (0..size).collect(), next: size, share }
    }

    /// Who is there now.
    pub fn members(&self) -> &[u64] {
        &self.members
    }

    /// One step: who left and who came, in pairs.
    pub fn step(&mut self, random: &mut Generator) -> Vec<(u64, u64)> {
        let gone = (self.members.len() as f64 * self.share).round() as usize;
        shuffle(&mut self.members, random);
        let came = self.members.iter_mut().take(gone).map(|member| {
            let left = std::mem::replace(member, self.next);
            self.next += 1;
            (left, *member)
        });
        came.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_their_means() {
        let mut random = Generator::new(3);
        let n = 100_000;
        let mean = |sum: f64| sum / f64::from(n);
        let gaps = mean((0..n).map(|_| poisson_gap(4.0, &mut random)).sum());
        assert!((gaps - 0.25).abs() < 0.005, "{gaps}");
        // Shape 3: the mean is least·3/2.
        let sizes = mean((0..n).map(|_| pareto(2.0, 3.0, &mut random)).sum());
        assert!((sizes - 3.0).abs() < 0.05, "{sizes}");
        let even = Zipf::new(4, 0.0);
        assert!((even.share(3) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn churn_keeps_the_size_and_never_uses_a_number_twice() {
        let mut random = Generator::new(1);
        let mut churn = Churn::new(100, 0.1);
        let mut seen: std::collections::HashSet<u64> = churn.members().iter().copied().collect();
        for _ in 0..20 {
            let changed = churn.step(&mut random);
            assert_eq!(changed.len(), 10);
            assert!(changed.iter().all(|(left, came)| seen.contains(left) && seen.insert(*came)));
            assert_eq!(churn.members().len(), 100);
        }
    }
}
