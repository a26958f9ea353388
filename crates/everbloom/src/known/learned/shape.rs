//! How many bits stand before the model and behind it, and where its threshold lies.

use crate::error::{Error, Result};
use crate::parts::several::flat_for;
use crate::plan::Flat;

/// ln α = −(ln 2)²: what a bit for each key is worth to a filter at its best.
const LN_ALPHA: f64 = -core::f64::consts::LN_2 * core::f64::consts::LN_2;

/// F_p + (1 − F_p)·f_B: what passes the model or the backup behind it.
pub fn rate_at(mistakes: f64, backup: f64) -> f64 {
    mistakes + (1.0 - mistakes) * backup
}

/// Bits a key before the model and behind it, of `b` in all: the best for a model that misses a share `misses` of
/// the members and takes a share `mistakes` of the queries for members.
pub fn best_split(b: f64, misses: f64, mistakes: f64) -> (f64, f64) {
    let behind = misses * libm::log(best_backup(misses, mistakes)) / LN_ALPHA;
    let behind = behind.clamp(0.0, b);
    (b - behind, behind)
}

/// The backup's rate that is best behind a front filter, at most 1.
fn best_backup(misses: f64, mistakes: f64) -> f64 {
    // Nothing missed needs no backup, no mistakes no front.
    let odds = mistakes / (1.0 - mistakes) * misses / (1.0 - misses);
    if odds.is_nan() { 1.0 } else { odds.clamp(1e-300, 1.0) }
}

/// What is asked for: a rate, bits, or both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub(super) rate: Option<f64>,
    pub(super) room: Option<u64>,
    /// Bits of a model.
    pub(super) model: u64,
    pub(super) sandwich: bool,
}

/// Both filters, and the rate that they were sized for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) front: Option<Flat>,
    pub(super) backup: Flat,
    pub(super) rate: f64,
    /// Bits in all, those of the model included.
    pub(super) bits: f64,
}

/// A model's shares: F_n and F_p.
pub(super) type Shares = Option<(f64, f64)>;

/// The filters of `n` keys at rate `p` around a model with these shares, or without one; `None` if that cannot be.
fn at_rate(goal: &Goal, n: u64, shares: Shares, p: f64) -> Option<Sizes> {
    let Some((misses, mistakes)) = shares else {
        let backup = flat_for(n, p);
        return Some(Sizes { front: None, backup, rate: p, bits: backup.m as f64 });
    };
    // A backup of no keys lets nothing pass; it has room for a few that come later.
    let (best, behind) = if misses == 0.0 {
        (0.01, mistakes)
    } else {
        let best = best_backup(misses, mistakes);
        (best, rate_at(mistakes, best))
    };
    // With bits for less than the best backup, all of them go there.
    let (front, backup) = if goal.sandwich && p < behind {
        (Some(p / behind), best)
    } else {
        (None, (p - mistakes) / (1.0 - mistakes))
    };
    if backup <= 0.0 {
        return None;
    }
    let front = front.map(|rate| flat_for(n, rate));
    let missed = ((misses * n as f64).ceil() as u64).max(1);
    let backup = flat_for(missed, backup.min(0.999_999));
    let bits = front.map_or(0, |flat| flat.m) as f64 + backup.m as f64 + goal.model as f64;
    Some(Sizes { front, backup, rate: p, bits })
}

/// The filters that the goal asks for, around a model or without one.
pub(super) fn sizes(goal: &Goal, n: u64, shares: Shares) -> Result<Sizes> {
    let impossible = || {
        Error::parameter(format!(
            "{n} keys do not fit: give more {{memory}}, a higher {{rate}}, or omit the {{threshold}}"
        ))
    };
    let room = goal.room.unwrap_or(u64::MAX) as f64;
    if let Some(p) = goal.rate {
        return at_rate(goal, n, shares, p).filter(|s| s.bits <= room).ok_or_else(impossible);
    }
    // Bisect on ln p: rates span hundreds of orders of magnitude.
    let fits = |x: f64| at_rate(goal, n, shares, libm::exp(x)).filter(|s| s.bits <= room);
    let (mut low, mut high) = (-690.0f64, -1e-6f64);
    let mut best = fits(high).ok_or_else(impossible)?;
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match fits(middle) {
            Some(sizes) => (best, high) = (sizes, middle),
            None => low = middle,
        }
    }
    Ok(best)
}

/// A threshold, if a model is worth its bits, and the filters around it.
pub(super) struct Chosen {
    pub(super) threshold: Option<i64>,
    pub(super) sizes: Sizes,
}

/// How many of the scores, in order, are at least `threshold`.
pub(super) fn at_least(scores: &[i64], threshold: i64) -> u64 {
    (scores.len() - scores.partition_point(|score| *score < threshold)) as u64
}

/// Thresholds that are tried.
const TRIED: usize = 200;

/// The threshold that needs the fewest bits, or leaves the lowest rate in the bits there are; the one that is set, if
/// one is. Scores are in order.
pub(super) fn choose(
    goal: &Goal,
    n: u64,
    members: &[i64],
    others: &[i64],
    set: Option<i64>,
) -> Result<Chosen> {
    // A share of few mistakes is uncertain: a threshold that was lucky must not be chosen for it.
    let shares = |threshold: i64, careful: bool| {
        let missed = members.len() as u64 - at_least(members, threshold);
        let wrong = at_least(others, threshold) as f64;
        let doubt = if careful { 3.0 * (wrong + 1.0).sqrt() } else { 0.0 };
        let share = |count: f64, all: usize| (count / all.max(1) as f64).min(1.0);
        Some((share(missed as f64, members.len()), share(wrong + doubt, others.len())))
    };
    if let Some(threshold) = set {
        let sizes = sizes(goal, n, shares(threshold, false))?;
        return Ok(Chosen { threshold: Some(threshold), sizes });
    }
    let plain = sizes(goal, n, None);
    let mut best = plain.ok().map(|sizes| Chosen { threshold: None, sizes });
    let steps = members.len().min(TRIED);
    let mut candidates: Vec<i64> = (0..steps).map(|i| members[i * members.len() / steps]).collect();
    candidates.dedup();
    for threshold in candidates {
        let Ok(careful) = sizes(goal, n, shares(threshold, true)) else { continue };
        let better = |than: &Chosen| match goal.rate {
            Some(_) => careful.bits < than.sizes.bits,
            None => careful.rate < than.sizes.rate,
        };
        if best.as_ref().is_none_or(better) {
            best = Some(Chosen { threshold: Some(threshold), sizes: careful });
        }
    }
    best.map_or_else(|| sizes(goal, n, None).map(|sizes| Chosen { threshold: None, sizes }), Ok)
}

/// The rate of a standard filter with `b` bits a key, at its best.
#[cfg(test)]
fn alpha(b: f64) -> f64 {
    crate::theory::bloom::fpr_best(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a goal gets around a model is what the formulas say, but for whole numbers of probes.
    #[test]
    fn bits_are_split_as_the_formula_says() {
        let (n, misses, mistakes) = (1_000_000u64, 0.15764, 0.002782);
        let goal = Goal { rate: None, room: Some(8 * n), model: 0, sandwich: true };
        let found = sizes(&goal, n, Some((misses, mistakes))).unwrap();
        let (before, behind) = best_split(8.0, misses, mistakes);
        let per_key = |flat: Flat| flat.m as f64 / n as f64;
        assert!((per_key(found.front.unwrap()) - before).abs() < 0.02);
        assert!((per_key(found.backup) - behind).abs() < 0.02);
        let rate = alpha(before) * rate_at(mistakes, alpha(behind / misses));
        assert!((found.rate / rate - 1.0).abs() < 0.02, "{}, not {rate}", found.rate);
        let alone = Goal { sandwich: false, ..goal };
        let found = sizes(&alone, n, Some((misses, mistakes))).unwrap();
        assert!(found.front.is_none() && (found.rate / mistakes - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_model_that_knows_nothing_is_left_out() {
        let scores: Vec<i64> = (0..10_000).collect();
        let goal = Goal { rate: Some(0.01), room: None, model: 8000, sandwich: true };
        assert!(choose(&goal, 10_000, &scores, &scores, None).unwrap().threshold.is_none());
        // Three quarters of the members score above all others.
        let others: Vec<i64> = (0..10_000).map(|i| i / 4).collect();
        let chosen = choose(&goal, 10_000, &scores, &others, None).unwrap();
        assert!(chosen.threshold.is_some_and(|t| (2300..2700).contains(&t)));
    }
}
