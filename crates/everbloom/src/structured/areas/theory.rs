//! How often points are read as in areas they are not in (catalogue §22).

use crate::theory::bloom as theory;

/// P(a cell's number is that of area i), for each i, after n_i grid cells of each area.
pub fn shares(m: f64, k: u32, sizes: &[u64]) -> Vec<f64> {
    let throws = |n: u64| f64::from(k) * n as f64;
    let above = |i: usize| sizes[i + 1..].iter().sum::<u64>();
    let share = |i| theory::fill(m, throws(sizes[i])) * (1.0 - theory::fill(m, throws(above(i))));
    (0..sizes.len()).map(share).collect()
}

/// P(a point in no area is read as in area i), for each i, from the shares of the areas among all numbers.
pub fn by_label(shares: &[f64], k: u32) -> Vec<f64> {
    let at_least = |i: usize| libm::pow(shares[i..].iter().sum(), f64::from(k));
    (0..shares.len()).map(|i| at_least(i) - at_least(i + 1)).collect()
}

/// P(a member of area i is read as in a higher one), for each i.
pub fn read_higher(m: f64, k: u32, sizes: &[u64]) -> Vec<f64> {
    let above = |i: usize| sizes[i + 1..].iter().sum::<u64>() as f64;
    (0..sizes.len()).map(|i| theory::fpr_classic(m, above(i), f64::from(k))).collect()
}
