//! How many different keys left these registers behind? The improved estimator of HyperLogLog (Ertl 2017; B17).

/// The number of distinct keys, where `counts[j]` registers hold the rank j, for j = 0..=q+1, and hashes have q bits
/// beyond the index.
///
/// Without bias from no key at all to 2^64: the classical estimator with linear counting is off between 2.5 and 5
/// times the number of registers.
pub fn from_ranks(counts: &[u64]) -> f64 {
    let m: f64 = counts.iter().map(|c| *c as f64).sum();
    let (Some((none, ranks)), Some(last)) = (counts.split_first(), counts.last()) else {
        return 0.0;
    };
    let mut z = m * tau(1.0 - *last as f64 / m);
    for count in ranks[..ranks.len().saturating_sub(1)].iter().rev() {
        z = 0.5 * (z + *count as f64);
    }
    z += m * sigma(*none as f64 / m);
    m * m / (2.0 * core::f64::consts::LN_2 * z)
}

/// σ(x) = x + Σ_k x^{2^k}·2^{k−1}: registers that are empty; infinite where all are.
fn sigma(x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut x, mut y, mut z) = (x, 1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

/// τ(x) = (1 − x − Σ_k (1 − x^{2^−k})²·2^{−k})/3: registers at the highest rank.
fn tau(x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut x, mut y, mut z) = (x, 1.0, 1.0 - x);
    loop {
        x = libm::sqrt(x);
        y *= 0.5;
        let before = z;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}
