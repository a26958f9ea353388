//! Reading the members back: remainders put together again by the Chinese remainder theorem.

use super::Egh;
use crate::error::{Error, Kind, Result};

/// Candidates that listing looks at before it gives up.
const MOST_WORK: u64 = 1 << 28;

impl Egh {
    /// The members in ascending order; refused beyond the zone, where non-members would be among them.
    ///
    /// Testing every x of the universe is the definition. This is faster: remainders by the largest
    /// primes are put together by the Chinese remainder theorem, until the numbers of the universe that
    /// have one of the combinations are few enough to be tested.
    pub fn list(&self) -> Result<Vec<u64>> {
        let refuse = |why: &str| Err(Error::new(Kind::Undecodable, format!("no list: {why}")));
        if !self.exact() {
            return refuse("more members than the filter was planned for");
        }
        let universe = u128::from(self.slices.universe);
        let (mut found, mut modulus) = (vec![0u128], 1u128);
        for j in (0..self.slices.primes.len()).rev() {
            let (prime, remainders) = (self.slices.primes[j], self.remainders(j));
            if remainders.is_empty() {
                return Ok(Vec::new());
            }
            if remainders.len() as u64 > self.slices.zone {
                return refuse("a slice holds more remainders than there can be members");
            }
            let left = universe.div_ceil(modulus);
            if left <= remainders.len() as u128 {
                break;
            }
            if (found.len() as u64).saturating_mul(remainders.len() as u64) > MOST_WORK {
                return refuse("combining so many remainders would take too long");
            }
            let step = (modulus % u128::from(prime)) as u64;
            let inverse = power(step, prime - 2, prime);
            found = found
                .iter()
                .flat_map(|&x| remainders.iter().map(move |&r| (x, r)))
                .map(|(x, r)| {
                    let here = (x % u128::from(prime)) as u64;
                    let times = (r + prime - here) % prime * inverse % prime;
                    x + u128::from(times) * modulus
                })
                .filter(|x| *x < universe)
                .collect();
            modulus *= u128::from(prime);
        }
        let left = universe.div_ceil(modulus) as u64;
        if (found.len() as u64).saturating_mul(left) > MOST_WORK {
            return refuse("testing that many candidates would take too long");
        }
        let all = found.iter().flat_map(|&x| (0..left).map(move |t| x + u128::from(t) * modulus));
        let inside = all.filter(|x| *x < universe).map(|x| x as u64);
        let mut members: Vec<u64> = inside.filter(|x| self.contains(*x)).collect();
        members.sort_unstable();
        members.dedup();
        Ok(members)
    }

    /// The remainders in use in slice `j`.
    fn remainders(&self, j: usize) -> Vec<u64> {
        let start = self.slices.starts[j];
        (0..self.slices.primes[j]).filter(|r| self.cells.get(start + r) != 0).collect()
    }
}

/// x^n mod p, for p below 2³².
fn power(mut x: u64, mut n: u64, p: u64) -> u64 {
    let mut result = 1 % p;
    while n > 0 {
        if n % 2 == 1 {
            result = result * x % p;
        }
        x = x * x % p;
        n /= 2;
    }
    result
}
