//! Locality-sensitive hashing by random lines (catalogue §35 and §36).

use core::f64::consts::{FRAC_1_SQRT_2, PI};

/// P(two vectors at distance `c` > 0 share a bucket of width `w`):
/// `1 − 2Φ(−w/c) − (2c/(√(2π)·w))·(1 − e^{−w²/2c²})`.
pub fn collision(w: f64, c: f64) -> f64 {
    let x = w / c;
    let tail = libm::erfc(x * FRAC_1_SQRT_2);
    1.0 - tail - 2.0 / ((2.0 * PI).sqrt() * x) * -libm::expm1(-x * x / 2.0)
}

/// P(some of `groups` groups of `k` functions each agree in all of them), at a collision rate of `p`.
pub fn and_or(p: f64, k: u32, groups: u32) -> f64 {
    -libm::expm1(f64::from(groups) * libm::log1p(-libm::pow(p, f64::from(k))))
}

/// P(a vector far from all members passes `lines` lines and the filter of tuples). A tuple takes the own bucket of each
/// line, or on up to `shifts` of them one beside it. It is tried if the bits of all its buckets are set, each with
/// `fill`, and passes with `tuple`. Tuples are tried together or not at all: most share the bits of most lines, so that
/// their expected number times `tuple` is too much, by half at a rate of 0.1.
pub fn some_tuple(lines: u32, shifts: u32, fill: f64, tuple: f64) -> f64 {
    let empty = 1.0 - fill;
    let (none, one, both) = (empty * empty, 2.0 * fill * empty, fill * fill);
    let mut passes = 0.0;
    // Lines whose own bit is empty must be shifted: one way, or two.
    for (ones, twos) in pairs(shifts.min(lines)) {
        let (rest, left) = (lines - ones - twos, shifts - ones - twos);
        let shifted = ways(lines, ones) * ways(lines - ones, twos);
        let shifted = shifted * power(empty * one, ones) * power(empty * both, twos);
        // Others may be: those with a set bit beside their own, and those with two.
        for (a, b) in pairs(rest) {
            let likely = ways(rest, a) * ways(rest - a, b) * power(fill * one, a);
            let likely = likely * power(fill * both, b) * power(fill * none, rest - a - b);
            let tried = power(2.0, twos) * tuples(a, b, left);
            passes -= shifted * likely * libm::expm1(tried * libm::log1p(-tuple));
        }
    }
    passes.clamp(0.0, 1.0)
}

/// The tuples that [`some_tuple`] tries where every bit is set: Σ_{j ≤ shifts} C(lines, j)·2^j.
pub fn all_tuples(lines: u32, shifts: u32) -> f64 {
    tuples(0, lines, shifts)
}

/// The share of set bits where keys land. Members that lie close together throw all their bits into a part of the array,
/// which is fuller than the whole: `set` bits after `throws` tell how large that part is, R(1 − e^{−throws/R}) = set,
/// at most all `cells`.
pub fn crowding(throws: f64, set: u64, cells: u64) -> f64 {
    let (set, cells) = (set as f64, cells as f64);
    let filled = |part: f64| -part * libm::expm1(-throws / part);
    // What chance and an estimated number of throws explain is no crowd.
    if set == 0.0 || set >= 0.97 * filled(cells) {
        return set / cells;
    }
    let (mut low, mut high) = (set, cells);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if filled(middle) < set { low = middle } else { high = middle }
    }
    set / high
}

/// Ways to shift up to `shifts` of `a` lines with one bucket to go to and `b` lines with two.
fn tuples(a: u32, b: u32, shifts: u32) -> f64 {
    let both = |i: u32, j: u32| ways(a, i) * ways(b, j) * power(2.0, j);
    pairs(shifts).map(|(i, j)| both(i, j)).sum()
}

/// All pairs of numbers whose sum is at most `most`.
fn pairs(most: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..=most).flat_map(move |a| (0..=most - a).map(move |b| (a, b)))
}

/// C(n, k).
fn ways(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n.saturating_sub(i)) / f64::from(i + 1)).product()
}

fn power(base: f64, exponent: u32) -> f64 {
    libm::pow(base, f64::from(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bits of the lines, one by one.
    fn by_hand(lines: u32, shifts: u32, fill: f64, tuple: f64) -> f64 {
        let bits = 3 * lines;
        let passes = |set: u32| {
            let probability =
                power(fill, set.count_ones()) * power(1.0 - fill, bits - set.count_ones());
            let tried = (0..3u32.pow(lines)).filter(|choice| {
                let choices = (0..lines).map(|line| choice / 3u32.pow(line) % 3);
                let shifted = choices.clone().filter(|choice| *choice != 1).count() as u32;
                shifted <= shifts
                    && choices.zip(0..).all(|(choice, line)| set >> (3 * line + choice) & 1 == 1)
            });
            probability * (1.0 - power(1.0 - tuple, tried.count() as u32))
        };
        (0..1 << bits).map(passes).sum()
    }

    #[test]
    fn s35_tuples_that_are_tried_together() {
        for (lines, shifts) in [(1, 0), (1, 1), (2, 1), (3, 0), (3, 2), (4, 3), (3, 3)] {
            for (fill, tuple) in [(0.5, 0.1), (0.2, 0.9), (1.0, 0.01), (0.7, 1.0), (0.0, 0.5)] {
                let (got, want) =
                    (some_tuple(lines, shifts, fill, tuple), by_hand(lines, shifts, fill, tuple));
                assert!(
                    (got - want).abs() < 1e-12,
                    "{lines} {shifts} {fill} {tuple}: {got} {want}"
                );
            }
        }
        // The default with half of the bits set, and with all.
        assert!((some_tuple(6, 2, 0.5, 0.0877) - 0.0669).abs() < 1e-4);
        assert_eq!(all_tuples(6, 2), 73.0);
        assert!((some_tuple(6, 2, 1.0, 1e-4) - (1.0 - 0.9999f64.powi(73))).abs() < 1e-12);
    }

    #[test]
    fn s35_crowded_members_fill_a_part_of_the_bits() {
        let filled =
            |part: f64, throws: f64| (part * (1.0 - (-throws / part).exp())).round() as u64;
        for (part, throws) in [(1000.0f64, 500.0f64), (1000.0, 2000.0), (50_000.0, 30_000.0)] {
            let want = 1.0 - (-throws / part).exp();
            let got = crowding(throws, filled(part, throws), 100_000);
            assert!((got - want).abs() < 0.01, "{part} {throws}: {got} {want}");
        }
        assert_eq!(crowding(0.0, 0, 10), 0.0);
        assert_eq!(crowding(5.0, 5, 10), 0.5, "more than chance: nobody crowds");
        assert!(crowding(1e9, 7, 10) > 0.999);
    }
}
