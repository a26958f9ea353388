//! How often did a key come, if θ of its groups match? The number under which that is likeliest (§1).

/// One resolution: the share of insertions it samples, and the chance that a group matches by accident.
#[derive(Clone, Copy, Debug)]
pub struct Resolution {
    /// P(an insertion is sampled).
    pub p: f64,
    /// P(a group that was never used matches), ρ^k.
    pub q: f64,
}

/// Logarithms that far below the best will not come back: likelihoods have one peak.
const BEHIND: f64 = 40.0;

/// The count f ≤ `cap` that maximizes Π_j L_j(θ_j | f), for `l` groups: `matches` has one θ per resolution.
///
/// The number D of distinct groups that f insertions used follows a recurrence,
/// P_{f+1}(j) = P_f(j)·(1 − p(l−j)/l) + P_f(j−1)·p(l−j+1)/l, all of whose terms are positive; the closed form
/// cancels from l = 32 on. Then L(θ | f) = Σ_{j≤θ} P_f(j)·C(l−j, θ−j)·q^{θ−j}·(1−q)^{l−θ}.
pub fn most_likely(l: u32, resolutions: &[Resolution], matches: &[u32], cap: u64) -> u64 {
    let mut levels: Vec<Level> =
        resolutions.iter().zip(matches).map(|(r, theta)| Level::new(l, *r, *theta)).collect();
    let mut best = (0, f64::NEG_INFINITY);
    for f in 0..=cap {
        let log: f64 = levels.iter().map(Level::log_likelihood).sum();
        if log > best.1 {
            best = (f, log);
        } else if log < best.1 - BEHIND {
            break;
        }
        levels.iter_mut().for_each(Level::step);
    }
    best.0
}

/// The paper's simpler estimate for q = 0: l·Σ_{i=l−θ+1}^{l} 1/i, how many insertions θ groups take.
pub fn mean_value(l: u32, theta: u32) -> f64 {
    f64::from(l) * (l - theta.min(l) + 1..=l).map(|i| 1.0 / f64::from(i)).sum::<f64>()
}

struct Level {
    l: f64,
    p: f64,
    /// P_f(j), for j = 0..=θ: those above do not matter.
    used: Vec<f64>,
    /// What each D = j is worth.
    weights: Vec<f64>,
}

impl Level {
    fn new(l: u32, Resolution { p, q }: Resolution, theta: u32) -> Self {
        let (theta, none) = (theta.min(l), libm::pow(1.0 - q, f64::from(l - theta.min(l))));
        // C(l−j, θ−j)·q^{θ−j}, from j = θ down.
        let mut weights = vec![none; theta as usize + 1];
        for j in (0..theta).rev() {
            let (above, missing) = (weights[j as usize + 1], f64::from(theta - j));
            weights[j as usize] = above * q * f64::from(l - j) / missing;
        }
        let mut used = vec![0.0; theta as usize + 1];
        used[0] = 1.0;
        Self { l: l.into(), p, used, weights }
    }

    fn step(&mut self) {
        for j in (0..self.used.len()).rev() {
            let free = (self.l - j as f64) / self.l;
            let new = if j > 0 { self.used[j - 1] * self.p * (free + 1.0 / self.l) } else { 0.0 };
            self.used[j] = self.used[j] * (1.0 - self.p * free) + new;
        }
    }

    fn log_likelihood(&self) -> f64 {
        libm::log(self.used.iter().zip(&self.weights).map(|(p, w)| p * w).sum())
    }
}

/// The expected number of distinct groups that `f` insertions use.
pub fn mean_groups(l: u32, f: f64) -> f64 {
    let l = f64::from(l);
    -l * libm::expm1(f * libm::log1p(-1.0 / l))
}
