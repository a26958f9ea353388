//! Keys whose chance of being a member is known, and the probes that each should have (catalogue R1).

/// Beyond this C every key has the most probes or the fewest: twice as many as a shape may have.
pub const MOST_CONSTANT: f64 = 8192.0;

/// log2((1−p)/p): what an unlikely key has more in probes than one with a prior of 1/2.
fn surprise(prior: f64) -> f64 {
    libm::log2((1.0 - prior) / prior)
}

/// k = log2((1−p)/p) + C, rounded, from 1 to `most`; none for a prior of 1, which always passes.
pub fn probes(prior: f64, constant: f64, most: u32) -> u32 {
    if prior >= 1.0 {
        return 0;
    }
    (surprise(prior) + constant).round().clamp(1.0, f64::from(most)) as u32
}

/// The best C for a universe of classes, each (number of keys, prior):
/// C = (m·ln 2 − Σ p·log2((1−p)/p)) / Σ p (catalogue R1), for priors between 0 and 1.
pub fn constant(m: f64, classes: &[(f64, f64)]) -> f64 {
    let sum = |f: &dyn Fn(f64) -> f64| classes.iter().map(|(n, p)| n * p * f(*p)).sum::<f64>();
    (m * core::f64::consts::LN_2 - sum(&surprise)) / sum(&|_| 1.0)
}

/// The C at which members of these priors set m·ln 2 bits in all: [`constant`] for the universe that they
/// are a sample of, and still half full where numbers of probes are clamped.
pub fn constant_for(m: f64, priors: impl Iterator<Item = f64> + Clone, most: u32) -> f64 {
    let most = f64::from(most);
    let wanted = m * core::f64::consts::LN_2;
    let throws = |constant: f64| -> f64 {
        let unsure = priors.clone().filter(|p| *p < 1.0);
        unsure.map(|p| (surprise(p) + constant).clamp(1.0, most)).sum()
    };
    let (mut low, mut high) = (-MOST_CONSTANT, MOST_CONSTANT);
    for _ in 0..48 {
        let middle = 0.5 * (low + high);
        if throws(middle) < wanted { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The expected number of false positives, Σ n(1−p)·ρ^k over classes (number of keys, prior, probes), at
/// the mean load ρ = 1 − exp(−Σ npk/m) (catalogue R1).
pub fn expected_false_positives(m: f64, classes: &[(f64, f64, u32)]) -> f64 {
    let throws: f64 = classes.iter().map(|(n, p, k)| n * p * f64::from(*k)).sum();
    let fill = -libm::expm1(-throws / m);
    classes.iter().map(|(n, p, k)| n * (1.0 - p) * libm::pow(fill, f64::from(*k))).sum()
}
