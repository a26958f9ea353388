//! Errors from which a wrong number follows.

use everbloom::Result;
use everbloom::compact::compacted;
use everbloom::counting::spectral::Spectral;
use everbloom::counting::variable_increment::Sequence;
use everbloom::grouping::LoadBalanced;
use everbloom::internals::cells::Bits;
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::Goal;
use everbloom::internals::theory::prime;
use everbloom::membership::Egh;

use super::Finding;
use crate::{Bound, Grade, Lab, Said};

/// S3's own example: 20 of 562 elements, k = 34 and m = 2127.
const UNIVERSE: u64 = 562;
const ZONE: u64 = 20;

pub fn primes() -> Result<Finding> {
    let enough = (ZONE as f64).ln() * UNIVERSE as f64;
    let mut product = 0.0;
    let needed = (2..).filter(|p| prime::is_prime(*p)).take_while(|p| {
        let short = product < enough;
        product += (*p as f64).ln();
        short
    });
    Ok(Finding {
        place: "S3 §IV-D, EGH",
        grade: Grade::Misprint,
        label: "EGH: primes for 20 of 562 elements",
        says: "“n_t^|U| should be less than the product result of the first k prime numbers”",
        truth: "|U|^n_t is: 34 primes for 20 of 562 elements, as S3's example has it",
        said: Said::Follows(needed.count() as f64),
        predicted: 34.0,
        measured: Egh::new(UNIVERSE, ZONE)?.slices().primes().len() as f64,
        bound: Bound::exactly(34.0, 0.0),
    })
}

/// The share of wrong answers about the whole universe with those primes.
pub fn zone(lab: &Lab) -> Result<f64> {
    let wrong = lab.runs(lab.scaled(200), |seed| {
        let mut filter = Egh::new(UNIVERSE, ZONE)?;
        let mut coins = Generator::new(seed);
        let mut members = vec![false; UNIVERSE as usize];
        for _ in 0..ZONE {
            let x = coins.below(UNIVERSE);
            members[x as usize] = true;
            filter.insert(x)?;
        }
        Ok((0..UNIVERSE).filter(|x| filter.contains(*x) != members[*x as usize]).count() as u64)
    })?;
    Ok(wrong.iter().sum::<u64>() as f64 / (wrong.len() as u64 * UNIVERSE) as f64)
}

pub fn variable_increment() -> Finding {
    let order = (1..=4).rev().find(|order| Sequence::new(&[1, 4, 8, 13], *order).is_ok());
    Finding {
        place: "S3 §IV-E, VI-CBF",
        grade: Grade::Disputed,
        label: "VI-CBF: elements told apart in a cell",
        says: "“no more than u elements were hashed into these cells. Thereafter, VI-CBF can deduce the employed increments”: 4 for the four increments {1, 4, 8, 13}",
        truth: "for no more than the order of the sequence, 3: 1+1+1+13 and 4+4+4+4 are both 16",
        said: Said::Follows(4.0),
        predicted: 3.0,
        measured: order.map_or(0.0, f64::from),
        bound: Bound::exactly(3.0, 0.0),
    }
}

pub fn compaction(lab: &Lab) -> Finding {
    let (n, blocks, width) = (1000u64, 6u32, 3);
    let mut bits = Bits::new(12 * n);
    let mut coins = Generator::new(lab.seed());
    (0..2 * n).for_each(|_| {
        let bit = coins.below(bits.len());
        bits.set(bit);
    });
    let (indices, _) = compacted::compact(&bits, blocks, width, lab.seed());
    let b = (bits.len() / u64::from(blocks)) as f64;
    Finding {
        place: "S3 §V-C, compacted",
        grade: Grade::Misprint,
        label: "compacted: indices of 12,000 bits, 6 blocks",
        says: "“the original bit vector is translated as an array of n indices”, n the elements: 1,000",
        truth: "b indices, b the bits of a block: 2,000",
        said: Said::Follows(n as f64),
        predicted: b,
        measured: indices.len() as f64,
        bound: Bound::exactly(b, 0.0),
    }
}

/// x comes three times, y twice, they share a counter, and y is removed.
pub fn spectral(lab: &Lab) -> Result<Finding> {
    let counts = lab.runs(lab.scaled(200), |seed| {
        let goal = Goal::new(10, 0.1).set("m", 16).set("k", 3).seed(seed);
        let mut filter = Spectral::planned(&goal)?;
        let cells = |key: u64| filter.trace(&key.to_le_bytes()).into_iter().map(|t| t.index);
        let of_x: Vec<u64> = cells(0).collect();
        let y = (1..).find(|y| cells(*y).any(|cell| of_x.contains(&cell))).unwrap_or(1);
        filter.insert_times(&0u64, 3);
        filter.insert_times(&y, 2);
        filter.remove(&y)?;
        filter.remove(&y)?;
        Ok(filter.count(&0u64) as f64)
    })?;
    Ok(Finding {
        place: "S3 §VI-A, spectral",
        grade: Grade::Disproved,
        label: "spectral: count of x after y is removed",
        says: "“the deletion of y will decrease the minimum counter of x from 3 to 1”, where x came thrice, y twice, and they share a counter",
        truth: "x stays at 3: the shared counter held 5. Only minimum increase, which does not add \
                to it, would lose counts",
        said: Said::Printed(1.0),
        predicted: 3.0,
        measured: counts.iter().sum::<f64>() / counts.len() as f64,
        bound: Bound::exactly(3.0, 0.0),
    })
}

pub fn load_balanced(lab: &Lab) -> Result<Finding> {
    let (m, k) = (7000, 7);
    let mut filter = LoadBalanced::with_shape(m, k, Hasher::seeded(lab.seed()))?;
    for key in 0..100u64 {
        filter.insert(&key, b"24")?;
    }
    let used = filter.banks().filter(|fill| *fill > 0.0).count();
    Ok(Finding {
        place: "S3 §VIII-A, DLB-BF",
        grade: Grade::Contradiction,
        label: "DLB-BF: filters that prefixes of one length use",
        says: "“they configure a BF for each group of elements”",
        truth: "all lengths share the k filters; only the hash functions are theirs, as §V-A says",
        said: Said::Follows(1.0),
        predicted: f64::from(k),
        measured: used as f64,
        bound: Bound::exactly(f64::from(k), 0.0),
    })
}
