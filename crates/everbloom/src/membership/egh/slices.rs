//! The slices of an EGH filter: one for each of the first primes, as many as it takes.

use std::sync::LazyLock;

use crate::error::{Error, Result};
use crate::state::{Decoder, Encoder, State};

pub(super) const MAX_UNIVERSE: u64 = 1 << 62;
/// The 8,192nd prime: enough for 3,700 members of 2³².
const LAST_PRIME: usize = 84_017;
const MAX_PRIMES: usize = 8192;

/// The first primes, one per slice: as many as multiply to |U|^n_t.
#[derive(Clone, Debug, PartialEq)]
pub struct Slices {
    pub(super) universe: u64,
    pub(super) zone: u64,
    /// These follow from the two above.
    pub(super) primes: Vec<u64>,
    pub(super) starts: Vec<u64>,
    m: u64,
}

impl Slices {
    /// The slices for up to `zone` ≥ 1 members of `universe` ≥ 2 integers.
    pub fn new(universe: u64, zone: u64) -> Result<Self> {
        let mut slices = Self { universe, zone, primes: vec![], starts: vec![], m: 0 };
        let wanted = zone as f64 * libm::log(universe as f64);
        let mut reached = 0.0;
        let mut primes = PRIMES.iter().copied();
        let range = (2..=MAX_UNIVERSE).contains(&universe) && zone > 0;
        while range && !slices.enough(reached, wanted) {
            let Some(prime) = primes.next() else { break };
            slices.starts.push(slices.m);
            slices.primes.push(prime);
            slices.m += prime;
            reached += libm::log(prime as f64);
        }
        if range && slices.enough(reached, wanted) {
            return Ok(slices);
        }
        Err(Error::parameter(format!(
            "{zone} members of a universe of {universe} integers need more than the first \
             {MAX_PRIMES} primes: fewer members, or a smaller universe (2 to {MAX_UNIVERSE})"
        )))
    }

    /// Π p ≥ |U|^n_t: by logarithms where they are clear, by long multiplication where not.
    fn enough(&self, reached: f64, wanted: f64) -> bool {
        let margin = 1e-9 * (1.0 + wanted);
        if (reached - wanted).abs() > margin {
            return reached > wanted;
        }
        let product = |factors: &mut dyn Iterator<Item = u64>| {
            let mut limbs = vec![1u64];
            for factor in factors {
                let mut carry = 0u128;
                for limb in &mut limbs {
                    carry += u128::from(*limb) * u128::from(factor);
                    *limb = carry as u64;
                    carry >>= 64;
                }
                if carry > 0 {
                    limbs.push(carry as u64);
                }
            }
            limbs.reverse();
            (limbs.len(), limbs)
        };
        let power = product(&mut (0..self.zone).map(|_| self.universe));
        product(&mut self.primes.iter().copied()) >= power
    }

    /// Number of cells: the sum of the primes.
    pub fn m(&self) -> u64 {
        self.m
    }

    /// The primes.
    pub fn primes(&self) -> &[u64] {
        &self.primes
    }

    /// One cell per slice, the largest slice first: the smallest are always full and tell nothing.
    #[inline]
    pub(super) fn cells(&self, x: u64) -> impl Iterator<Item = u64> {
        self.primes.iter().zip(&self.starts).rev().map(move |(p, start)| start + x % p)
    }
}

/// The first [`MAX_PRIMES`] primes, by Eratosthenes' sieve.
static PRIMES: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut composite = vec![false; LAST_PRIME + 1];
    let mut primes = Vec::with_capacity(MAX_PRIMES);
    for p in 2..=LAST_PRIME {
        if !composite[p] {
            primes.push(p as u64);
            (p * p..=LAST_PRIME).step_by(p).for_each(|i| composite[i] = true);
        }
    }
    primes
});

impl State for Slices {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("universe", self.universe);
            out.u64("zone", self.zone);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (universe, zone) = (src.u64("universe")?, src.u64("zone")?);
            Self::new(universe, zone).map_err(|e| src.corrupt(e.to_string()))
        })
    }
}
