//! What other software does with hash values, for filters that it made: most of it is double hashing, and all of it
//! differs in where sums wrap and what becomes of a sign.

use super::{Scheme, half};
use crate::error::{Error, Result};
use crate::hash::{Digest, city_128_to_64};

/// Schemes 9 to 18.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    scheme: Scheme,
    m: u64,
    k: u32,
}

impl Foreign {
    /// `k` indices into `0..m`, m > 0, by one of [`Scheme::FOREIGN`].
    pub fn new(scheme: Scheme, m: u64, k: u32) -> Result<Self> {
        if scheme == Scheme::Seeded && k as usize > SEEDS.len() {
            let message = format!("{k} probes: this scheme has {} seeds", SEEDS.len());
            return Err(Error::setting("scheme", scheme.name(), message));
        }
        Ok(Self { scheme, m, k })
    }

    /// Number of cells.
    pub fn m(&self) -> u64 {
        self.m
    }

    /// Number of indices per key.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// The permanent number of the scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Half the cells: what is taken mod m can be taken mod m/2.
    pub(super) fn fold(&self) -> Result<Self> {
        Ok(Self { m: half(self.m, "m")?, ..*self })
    }

    /// The key's indices.
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let Self { scheme, m, k } = *self;
        let (mut h1, mut h2) = (digest.h1, digest.h2);
        if scheme == Scheme::Reduced {
            (h1, h2) = (h1 % m, h2 % m);
        }
        let (a, b) = (h1 as i32, (h1 >> 32) as i32);
        let spread = i64::from(a).wrapping_mul(i64::from(i32::MAX));
        let mut power = h1 % PRIME;
        // Schemes that count from 1 take the number after this one.
        (0..u64::from(k)).map(move |i| {
            let along = h1.wrapping_add(i.wrapping_mul(h2));
            let number = match scheme {
                Scheme::Signed32 => {
                    let sum = a.wrapping_add((i as i32 + 1).wrapping_mul(b));
                    (sum ^ (sum >> 31)) as u64
                }
                Scheme::Signed64 => {
                    let sum = spread.wrapping_add((i as i64 + 1).wrapping_mul(b.into()));
                    (sum ^ (sum >> 63)) as u64
                }
                Scheme::Positive => along & i64::MAX as u64,
                Scheme::Absolute => (along as i64).unsigned_abs(),
                Scheme::Absolute32 => {
                    a.wrapping_add((i as i32).wrapping_mul(b)).unsigned_abs().into()
                }
                Scheme::Halved => along.wrapping_add(h2) >> 1,
                Scheme::Powers => {
                    power = power.wrapping_mul(GENERATOR) % PRIME;
                    power
                }
                Scheme::Seeded => city_128_to_64(h1, SEEDS[i as usize]),
                _ => along,
            };
            number % m
        })
    }
}

/// The largest prime below 2⁶⁴, and the number whose powers DCSO takes; its products wrap at 2⁶⁴ before they are
/// reduced.
const PRIME: u64 = 18_446_744_073_709_551_557;
const GENERATOR: u64 = 18_446_744_073_709_550_147;

/// ClickHouse's numbers.
const SEEDS: [u64; 15] = [
    13_635_471_485_423_070_496,
    10_336_109_063_487_487_899,
    17_779_957_404_565_211_594,
    8_988_612_159_822_229_247,
    4_954_614_162_757_618_085,
    12_980_113_590_177_089_081,
    9_263_883_436_177_860_930,
    3_656_772_712_723_269_762,
    10_362_091_744_962_961_274,
    7_582_936_617_938_287_249,
    15_033_938_188_484_401_405,
    18_286_745_649_494_826_751,
    6_852_245_486_148_412_312,
    8_886_056_245_089_344_681,
    10_151_472_371_158_292_780,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scheme: Scheme, m: u64, k: u32, h1: u64, h2: u64) -> Vec<u64> {
        Foreign::new(scheme, m, k).unwrap().indices(Digest { h1, h2 }).collect()
    }

    /// By hand: a = −5, b = 3, so that sums change their sign.
    #[test]
    fn signs_and_wraps_are_those_of_the_scheme() {
        let h1 = 3 << 32 | u64::from((-5i32) as u32);
        let of = |scheme| of(scheme, 1000, 3, h1, u64::MAX);
        assert_eq!(of(Scheme::Signed32), [1, 1, 4]);
        let flipped = |sum: i64| (!sum as u64) % 1000;
        let first = -5 * i64::from(i32::MAX) + 3;
        assert_eq!(of(Scheme::Signed64), [flipped(first), flipped(first + 3), flipped(first + 6)]);
        assert_eq!(of(Scheme::Wrapped), [h1 % 1000, (h1 - 1) % 1000, (h1 - 2) % 1000]);
        assert_eq!(of(Scheme::Absolute32), [5, 2, 1]);
        assert_eq!(of(Scheme::Halved), [1, 2, 3].map(|i| (h1 - i) / 2 % 1000));
        let high = 1 << 63;
        assert_eq!(super::tests::of(Scheme::Positive, 1000, 2, high | 7, high), [7, 7]);
    }

    /// By hand, too: −3, −1 and 1 as signed numbers; sums of remainders; the powers of the generator by 128-bit products.
    #[test]
    fn remainders_and_powers_are_those_of_the_scheme() {
        assert_eq!(of(Scheme::Absolute, 1000, 3, 3u64.wrapping_neg(), 2), [3, 1, 1]);
        assert_eq!(of(Scheme::Absolute, 1000, 1, 1 << 63, 0), [(1 << 63) % 1000]);
        assert_eq!(of(Scheme::Reduced, 1000, 3, u64::MAX, u64::MAX), [615, 230, 845]);
        let step = |h: u64| (u128::from(h) * u128::from(GENERATOR)) as u64 % PRIME;
        let (one, two) = (step(7), step(step(7)));
        assert_eq!(of(Scheme::Powers, 1000, 2, 7, 0), [one % 1000, two % 1000]);
        assert_eq!(of(Scheme::Powers, 1000, 2, PRIME + 7, 0), [one % 1000, two % 1000]);
    }

    #[test]
    fn there_are_as_many_probes_as_seeds() {
        let all = of(Scheme::Seeded, u64::MAX, 15, 42, 0);
        assert_eq!(all[14], city_128_to_64(42, SEEDS[14]) % u64::MAX);
        assert!(Foreign::new(Scheme::Seeded, 1000, 16).is_err());
    }
}
