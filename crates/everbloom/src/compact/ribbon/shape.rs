//! How many slots a ribbon has, by the number of its keys.

use crate::solve::WIDTH;

/// Starts of a bucket.
pub(super) const BUCKET: u64 = 128;
/// Layers that bump keys, at most.
pub(super) const MAX_BUMPING: usize = 3;
/// So many keys are not worth a bumping layer.
pub(super) const FEW: u64 = 2000;
/// Keys to a start of a bumping layer.
pub(super) const OVERLOAD: f64 = 1.05;

/// Slots of a standard ribbon for `n` keys, at least n + 63: for 19 of 20 seeds there is a solution. The
/// slope, 0.0083 per doubling, is that of RocksDB for a width of 64.
pub fn standard_slots(n: u64) -> u64 {
    let per_key = 1.072 + 0.0083 * libm::log2(n as f64 / 16_384.0);
    at_least(n, per_key)
}

/// Slots of a homogeneous ribbon for `n` keys, ⌈1.12·n⌉ + 63.
pub fn homogeneous_slots(n: u64) -> u64 {
    let more = n.saturating_mul(12).div_ceil(100);
    n.saturating_add(more).saturating_add(WIDTH - 1)
}

/// Slots for the few keys that no bumping layer took.
fn last_slots(n: u64) -> u64 {
    at_least(n, 1.15)
}

fn at_least(n: u64, per_key: f64) -> u64 {
    ((n as f64 * per_key).ceil() as u64).max(n.saturating_add(WIDTH - 1))
}

/// Buckets of a bumping layer for `n` keys, `overload` keys to a start.
pub(super) fn buckets(n: u64, overload: f64) -> u64 {
    (n as f64 / (overload * BUCKET as f64)).ceil() as u64
}

/// Buckets of a stretch, which one core fills: so many that the one between two of them costs a slot in four thousand.
pub(super) const STRETCH: u64 = 1 << 12;

/// Whether a bucket is between two stretches, and has no keys of its layer.
pub(super) fn is_seam(bucket: u64) -> bool {
    bucket > 0 && bucket.is_multiple_of(STRETCH)
}

/// Whole blocks of 64 slots, and where equations may start in them.
pub(super) fn blocks(slots: u64) -> u64 {
    slots.div_ceil(64)
}

/// How many of `n` keys a layer bumps, on average: those for which there is no slot, and as many as slots
/// stay free, 50 at the end of each stretch, the others between two of them, and a share of 0.0113·e^{−50(λ−1)} elsewhere,
/// λ keys to a start.
///
/// The share is fitted to layers of 3,000 to 200,000 keys and λ from 0.995 to 1.1, within 0.1 % of n.
pub fn bumped_keys(n: f64, buckets: f64) -> f64 {
    let starts = buckets * BUCKET as f64;
    let share = 0.0113 * libm::exp(-50.0 * (n / starts - 1.0));
    let seams = ((buckets - 1.0) / STRETCH as f64).floor();
    let ends = (seams + 1.0) * ((WIDTH - 1) as f64 - 50.0);
    (n - starts + seams * BUCKET as f64 - ends + share * n).max(0.0)
}

/// Standard deviation of the keys that a layer of n keys bumps, over √n, at most: the same measurements.
const BUMPED_SD: f64 = 0.36;

/// Slots, and what else depends on the number of keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Slots on average.
    pub(super) slots: f64,
    /// Their standard deviation.
    pub(super) sd: f64,
    /// Buckets that have a threshold.
    pub(super) thresholds: f64,
}

/// Those of a bumped ribbon.
fn bumped_slots(n: u64, overload: f64) -> Sizes {
    let (mut slots, mut thresholds, mut left) = (0.0, 0.0, n as f64);
    for _ in 0..MAX_BUMPING {
        if left <= FEW as f64 {
            break;
        }
        let buckets = buckets(left as u64, overload) as f64;
        slots += buckets * BUCKET as f64 + 64.0;
        thresholds += buckets;
        left = bumped_keys(left, buckets);
    }
    let left = left.round() as u64;
    slots += if left == 0 { 0.0 } else { 64.0 * blocks(last_slots(left)) as f64 };
    // A bumped key more is about a slot more; blocks and buckets are whole.
    let sd = if n <= FEW { 0.0 } else { (BUMPED_SD * BUMPED_SD * n as f64 + 10_000.0).sqrt() };
    Sizes { slots, sd, thresholds }
}

/// How many slots there are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sizing {
    Bumped { overload: f64 },
    Standard { per_key: Option<f64> },
    Homogeneous { per_key: Option<f64> },
}

impl Sizing {
    /// Slots of all layers for `n` keys.
    pub(super) fn sizes(&self, n: u64) -> Sizes {
        match *self {
            _ if n == 0 => Sizes::default(),
            Sizing::Bumped { overload } => bumped_slots(n, overload),
            plan => Sizes { slots: 64.0 * blocks(plan.slots(n)) as f64, ..Sizes::default() },
        }
    }

    /// Slots of the layer that bumps nobody, for `n` keys.
    pub(super) fn slots(&self, n: u64) -> u64 {
        let by_hand = |per_key: f64| (per_key * n as f64).ceil().max(WIDTH as f64) as u64;
        match *self {
            Sizing::Bumped { .. } => last_slots(n),
            Sizing::Standard { per_key } => per_key.map_or_else(|| standard_slots(n), by_hand),
            Sizing::Homogeneous { per_key } => {
                per_key.map_or_else(|| homogeneous_slots(n), by_hand)
            }
        }
    }
}
