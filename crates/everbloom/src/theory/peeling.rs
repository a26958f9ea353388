//! Peeling cells that hold sums of keys, k cells a key, one in each of k segments (§18, §20, §37).

/// Cells per id below which peeling gets stuck for large sets, for k = 3 to 7: the least
/// x/((1 − e^{−x})^{k−1}·k) over x > 0, inverted (catalogue §18).
pub const THRESHOLDS: [f64; 5] = [1.2218, 1.2949, 1.4249, 1.5697, 1.7189];

/// Cells in `k` segments (3 to 7) so that a difference of `d` ids fails to decode with probability at
/// most `p`.
///
/// Two things go wrong, and the larger demand decides:
///
/// - Two ids share all their cells: d(d−1)/2 · (k/m)^k of all differences. That rules small ones, and
///   small p; it may take two thirds of p.
/// - Peeling gets stuck in a core. That happens around m = c·d ([`THRESHOLDS`]), in a window of order
///   √d that is shifted by order d^{1/3} (the finite-size scaling of peeling: Amraoui, Montanari,
///   Richardson, Urbanke 2009): m = c·d + a·z·√d + b·d^{1/3}. The bound Q(z) ≤ e^{−z²/2}/2 gives z from
///   p, and leaves the other third. a and b are fitted from above to simulated sizes, k = 3 to 7,
///   d = 1 to 10⁴, p = 0.1 to 0.001; evidence holds the failures against p.
pub fn cells_for(d: u64, p: f64, k: u32) -> f64 {
    let (n, probes) = (d as f64, f64::from(k));
    let pairs = probes * libm::pow(0.5 * n * (n - 1.0).max(0.0) / (0.65 * p), 1.0 / probes);
    let threshold = THRESHOLDS[(k.clamp(3, 7) - 3) as usize];
    let z = libm::sqrt(2.0 * libm::log(0.5 / p).max(0.0));
    let (spread, shift) = (0.6 + 0.05 * probes, 1.6 + 0.15 * probes);
    let core = threshold * n + spread * z * libm::sqrt(n) + shift * libm::cbrt(n);
    // A single id always decodes.
    if d <= 1 { probes } else { pairs.max(core) }
}
