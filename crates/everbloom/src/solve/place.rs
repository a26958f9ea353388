//! Placement: of the buckets an item may go to, the one with the least in it.
//!
//! ```text
//!   d choices   one table, d hashes into it         d-left   d tables, one hash into each
//!   ▂ ▅ ▂ ▇ ▂ ▅   least loaded of ↑ ↑,              ▂▅▂│▅▂▅   least loaded of ↑ │ ↑,
//!     ↑   ↑       of equals any                      ↑  │ ↑    of equals the leftmost
//! ```
//!
//! Choosing lowers the fullest of n buckets from ln n/ln ln n items to ln ln n/ln d (Azar et al. 1994),
//! and always choosing the left of two equals, which looks like no choice at all, lowers it further
//! (Vöcking 1999). [`theory::choice`](crate::theory::choice) has the formulas.

use crate::error::{Error, Result};
use crate::hash::{Digest, Generator};
use crate::probe::{Indices, multiply_shift};

/// Which of the buckets with these loads takes an item: the least loaded, of equals the leftmost.
pub fn least_loaded(loads: impl IntoIterator<Item = u64>) -> Option<usize> {
    let numbered = loads.into_iter().enumerate();
    numbered.min_by_key(|(_, load)| *load).map(|(i, _)| i)
}

/// Which of the buckets with these loads takes an item: the least loaded, of equals any.
pub fn least_loaded_at_random(
    loads: impl IntoIterator<Item = u64>,
    random: &mut Generator,
) -> Option<usize> {
    let (mut least, mut chosen, mut equals) = (u64::MAX, None, 0);
    for (i, load) in loads.into_iter().enumerate() {
        if chosen.is_none() || load < least {
            (least, chosen, equals) = (load, Some(i), 1);
        } else if load == least {
            // The i-th of equals takes over with a chance of 1/i, so that each has the same.
            equals += 1;
            if random.below(equals) == 0 {
                chosen = Some(i);
            }
        }
    }
    chosen
}

/// Where the candidates of an item lie, and which of equals takes it: the two belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// d hashes into one table, ties at random (Azar et al.).
    Anywhere,
    /// One hash into each of d tables, ties to the left (Vöcking).
    Left,
}

/// The candidate buckets of items: the numbers of buckets and choices, and the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    buckets: u64,
    d: u32,
    rule: Rule,
}

impl Choices {
    /// `d` choices among `buckets` buckets; under [`Rule::Left`] they are d tables of equal size.
    pub fn new(buckets: u64, d: u32, rule: Rule) -> Result<Self> {
        let even = rule == Rule::Anywhere || buckets.is_multiple_of(u64::from(d.max(1)));
        if buckets == 0 || d == 0 || u64::from(d) > buckets || !even {
            return Err(Error::parameter(format!(
                "{d} choices among {buckets} buckets: there must be at least one choice, at least one bucket for \
                each, and for d-left a number of buckets divisible by d"
            )));
        }
        Ok(Self { buckets, d, rule })
    }

    /// Number of buckets.
    pub fn buckets(&self) -> u64 {
        self.buckets
    }

    /// The rule.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The d candidates of a key, in order of the hashes, which is that of the tables.
    pub fn candidates(&self, digest: Digest) -> Indices {
        let candidate = |i: u64| match self.rule {
            Rule::Anywhere => multiply_shift(digest.word(i), self.buckets),
            Rule::Left => {
                let table = self.buckets / u64::from(self.d);
                i * table + multiply_shift(digest.word(i), table)
            }
        };
        (0..u64::from(self.d)).map(candidate).collect()
    }

    /// The candidate that takes the key, given the load of every bucket.
    pub fn place(&self, digest: Digest, load: impl Fn(u64) -> u64, random: &mut Generator) -> u64 {
        let candidates = self.candidates(digest);
        let loads = candidates.iter().map(|&bucket| load(bucket));
        let chosen = match self.rule {
            Rule::Anywhere => least_loaded_at_random(loads, random),
            Rule::Left => least_loaded(loads),
        };
        candidates[chosen.unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hasher;

    #[test]
    fn the_least_loaded_wins_and_ties_go_left_or_anywhere() {
        assert_eq!(least_loaded([3, 1, 2, 1]), Some(1));
        assert_eq!(least_loaded([]), None);
        let mut random = Generator::new(1);
        assert_eq!(least_loaded_at_random([], &mut random), None);
        assert_eq!(least_loaded_at_random([u64::MAX], &mut random), Some(0));
        let mut wins = [0u32; 5];
        for _ in 0..30_000 {
            let chosen = least_loaded_at_random([7, 2, 3, 2, 2], &mut random);
            wins[chosen.expect("there are some")] += 1;
        }
        // 10,000 each, standard deviation 82.
        assert_eq!((wins[0], wins[2]), (0, 0));
        assert!([wins[1], wins[3], wins[4]].iter().all(|w| w.abs_diff(10_000) < 400), "{wins:?}");
    }

    #[test]
    fn d_left_has_one_candidate_in_each_table() {
        let hasher = Hasher::default();
        let left = Choices::new(400, 4, Rule::Left).unwrap();
        let any = Choices::new(400, 4, Rule::Anywhere).unwrap();
        let (mut seen, mut elsewhere) = (vec![false; 400], 0);
        for key in 0..4000u64 {
            let tables: Vec<u64> =
                left.candidates(hasher.digest(&key)).iter().map(|b| b / 100).collect();
            assert_eq!(tables, [0, 1, 2, 3]);
            let flat = any.candidates(hasher.digest(&key));
            assert_eq!(flat.len(), 4);
            elsewhere += u64::from(flat[0] >= 100);
            flat.iter().for_each(|&b| seen[b as usize] = true);
        }
        assert!(seen.iter().all(|s| *s), "the one table is used whole");
        assert!(elsewhere.abs_diff(3000) < 150, "by every hash: {elsewhere}");
    }

    #[test]
    fn tables_that_cannot_be_are_refused() {
        for (buckets, d, rule) in [
            (0, 1, Rule::Anywhere),
            (10, 0, Rule::Anywhere),
            (10, 0, Rule::Left),
            (3, 4, Rule::Anywhere),
            (10, 4, Rule::Left),
        ] {
            assert!(Choices::new(buckets, d, rule).is_err(), "{buckets} {d} {rule:?}");
        }
    }
}
