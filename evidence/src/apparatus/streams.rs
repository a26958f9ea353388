//! Streams in which a few keys come often and many come once.

use everbloom::internals::hash::{Generator, mix64};

/// The share of each of `keys` ranks, the first of which is the most frequent: 1/rank^s, normalized.
pub fn zipf_shares(keys: u64, s: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=keys).map(|rank| (rank as f64).powf(-s)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Ranks drawn by their shares.
pub struct Ranks {
    /// The shares of all ranks up to each.
    sums: Vec<f64>,
    random: Generator,
}

impl Ranks {
    pub fn new(shares: &[f64], seed: u64) -> Self {
        let sums = shares.iter().scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        });
        Self { sums: sums.collect(), random: Generator::new(seed) }
    }

    /// The next rank, from 0 on.
    pub fn draw(&mut self) -> u64 {
        let x = self.random.unit();
        let rank = self.sums.partition_point(|sum| *sum <= x);
        rank.min(self.sums.len() - 1) as u64
    }
}

/// The key of a rank in the stream of `seed`: unlike in every stream.
pub fn key_of(rank: u64, seed: u64) -> u64 {
    mix64(seed ^ mix64(rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_by_their_shares() {
        let shares = zipf_shares(3, 1.0);
        let expected = [6.0 / 11.0, 3.0 / 11.0, 2.0 / 11.0];
        assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
        let mut ranks = Ranks::new(&shares, 1);
        let mut seen = [0.0; 3];
        (0..100_000).for_each(|_| seen[ranks.draw() as usize] += 1e-5);
        assert!(seen.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01), "{seen:?}");
    }
}
