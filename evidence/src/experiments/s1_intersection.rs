//! The size of an intersection, estimated from the bits of two filters.

use everbloom::Result;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;
use everbloom::membership::Bloom;

use crate::apparatus::classic::elements;
use crate::{Axis, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s1-intersection",
    source: "S1 §2.4",
    title: "The size of the intersection of two sets, from their filters",
    shows: "The ones that two filters share tell how many elements the sets share, though half of those \
            ones are chance.",
    run,
};

/// The sizes for which the catalogue has numbers.
const M: u64 = 10_000;
const K: u32 = 4;
const A: u64 = 1000;
const B: u64 = 800;
const BOTH: [u64; 9] = [0, 100, 200, 300, 400, 500, 600, 700, 800];

/// The inner product, and the estimate.
type Seen = (f64, f64);

fn look(lab: &Lab, both: u64, seed: u64) -> Result<Seen> {
    let mut keys = Generator::new(seed);
    let mut filters = [(); 2]
        .map(|()| Bloom::with_shape(M, K, Hasher::seeded(seed)).expect("a shape that can be"));
    for _ in 0..both {
        let key = keys.next_u64();
        filters.iter_mut().for_each(|filter| {
            filter.insert(&key);
        });
    }
    for (filter, size) in filters.iter_mut().zip([A, B]) {
        (both..size).for_each(|_| {
            filter.insert(&keys.next_u64());
        });
    }
    let [a, b] = &filters;
    lab.ask_members(elements(both, seed), |key| a.contains(key) && b.contains(key));
    let estimate = a.intersection_size(b)?.unwrap_or(f64::NAN);
    Ok((a.bits().ones_in_both(b.bits()) as f64, estimate))
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(200);
    let (m, k) = (M as f64, f64::from(K));
    let all = || (0..=80).map(|i| 10.0 * f64::from(i));
    let product_of = |both: f64| bloom::inner_product(m, k, A as f64, B as f64, both);
    let mut products = Series::new("expected", all(), product_of);
    let mut sizes = Series::new("truth", all(), |both| both);
    for both in BOTH {
        let seen = lab.runs(runs, |seed| look(lab, both, seed))?;
        let mean = |f: fn(&Seen) -> f64| seen.iter().map(f).sum::<f64>() / runs as f64;
        let x = both as f64;
        // Bits compete for the hashes, so their number varies less than that of independent ones.
        let expected = product_of(x);
        let sd = (expected * (1.0 - expected / m)).sqrt();
        products.point(x, expected, mean(|s| s.0), bound::mean(expected, sd, runs));
        sizes.point(x, x, mean(|s| s.1), bound::mean(x, estimate_sd(x), runs));
    }
    products.follows(product_of, 0.0);
    sizes.follows(|both| both, 0.0);
    let chart = |id: &str, title: &str, y: &str, series| {
        Chart::new(
            id,
            title,
            [Axis::linear("elements in both sets, |S1 ∩ S2|"), Axis::linear(y)],
            [series],
        )
    };
    Ok(Report::default()
        .chart(chart("a", "Ones that the filters share", "inner product", products))
        .chart(chart("b", "The estimate from the zeros", "estimated elements in both", sizes))
        .note(format!(
            "m = {M}, k = {K}, |S1| = {A}, |S2| = {B}. The estimate, solved for |S1 ∩ S2|, is that of the two \
             sizes less that of the union's, each from the zeros alone; its standard deviation at 300 \
             common elements is {:.1}.",
            estimate_sd(300.0)
        )))
}

/// Standard deviation of the estimate n̂(A) + n̂(B) − n̂(A ∪ B), to first order in that of the zeros.
///
/// n̂ = −ln(Z/m)/(k·ln(m/(m−1))), so a zero more in a filter with Z of them changes it by m/(kZ).
fn estimate_sd(both: f64) -> f64 {
    let (m, k) = (M as f64, f64::from(K));
    let (a, b) = (A as f64 - both, B as f64 - both);
    // Each filter by the parts (only A, both, only B) of the sets that are in it.
    let filters: [([f64; 3], f64); 3] =
        [([1.0, 1.0, 0.0], 1.0), ([0.0, 1.0, 1.0], 1.0), ([1.0, 1.0, 1.0], -1.0)];
    let parts = [a, both, b];
    // P(a bit is zero in the first filter and another bit in the second): a part in both filters must
    // miss both bits, a part in one must miss one.
    let miss = |bits: f64, throws: f64| (throws * (-bits / m).ln_1p()).exp();
    let zero = |x: &[f64; 3]| -> f64 { (0..3).map(|i| miss(x[i], k * parts[i])).product() };
    let mut variance = 0.0;
    for (x, sign_x) in &filters {
        for (y, sign_y) in &filters {
            let either = [0, 1, 2].map(|i| f64::max(x[i], y[i]));
            let sum = [0, 1, 2].map(|i| x[i] + y[i]);
            let (zx, zy) = (zero(x), zero(y));
            let covariance = m * zero(&either) + m * (m - 1.0) * zero(&sum) - m * m * zx * zy;
            variance += sign_x * sign_y * covariance / (k * k * zx * zy);
        }
    }
    variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_what_the_catalogue_simulated() {
        assert!((estimate_sd(300.0) - 7.4).abs() < 0.3, "{}", estimate_sd(300.0));
    }
}
