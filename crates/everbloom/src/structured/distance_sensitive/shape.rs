//! How many arrays of which size tell near keys from far ones.

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::plan::{MAX_CELLS, Request};
use crate::theory::tail;

pub(super) const MAX_SAMPLES: u32 = 1024;
pub(super) const MAX_ARRAYS: u32 = 4096;

/// p_H: the chance that a key at distance `near` from a member finds its bit set in one array, other
/// members aside.
pub fn near_hit(near: f64, samples: u32) -> f64 {
    libm::pow(1.0 - near, f64::from(samples))
}

/// p_F: the chance, at most, that a key at distance `far` or more from `n` members finds its bit set in
/// one array of `slice` bits.
pub fn far_hit(far: f64, samples: u32, slice: f64, n: f64) -> f64 {
    let agrees = libm::pow(1.0 - far, f64::from(samples));
    -libm::expm1(n * libm::log1p(-(agrees + (1.0 - agrees) / slice)))
}

/// Samples, arrays and their size, threshold, length if it is known, and the bounds on both rates.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) samples: u32,
    pub(super) arrays: u32,
    pub(super) slice: u64,
    pub(super) threshold: u32,
    pub(super) length: u64,
    pub(super) fpr: Option<f64>,
    pub(super) fnr: Option<f64>,
}

impl Shape {
    pub(super) fn check(&self) -> Result<()> {
        let Shape { samples, arrays, slice, threshold, .. } = *self;
        let ok = (1..=MAX_SAMPLES).contains(&samples)
            && (1..=MAX_ARRAYS).contains(&arrays)
            && (1..=arrays).contains(&threshold)
            && (1..=MAX_CELLS / u64::from(arrays)).contains(&slice);
        if ok {
            return Ok(());
        }
        Err(Error::parameter(format!(
            "{samples} samples, {arrays} arrays of {slice} bits, threshold {threshold}: at most \
             {MAX_SAMPLES} samples, {MAX_ARRAYS} arrays and {MAX_CELLS} bits, a threshold not above \
             the arrays, and none of them 0"
        )))
    }
}

/// What the goal leaves to choose.
struct Planner {
    near: f64,
    far: f64,
    samples: Option<u32>,
    arrays: Option<u32>,
    slice: Option<u64>,
    threshold: Option<u32>,
    /// Rate of near keys missed; as that of far keys taken for close, if not set.
    fnr: Option<f64>,
}

/// The shape that a request leads to.
pub(super) fn plan(request: &Request<'_>) -> Result<Shape> {
    let number = |name| request.integer(name).map(|v| v as u32);
    let planner = Planner {
        near: request.number("near"),
        far: request.number("far"),
        samples: number("samples"),
        arrays: number("arrays"),
        slice: request.integer("slice"),
        threshold: number("threshold"),
        fnr: request.real("fnr"),
    };
    if planner.near >= planner.far {
        let message = format!("must be below {{far}}, which is {}", planner.far);
        return Err(Error::setting("near", planner.near, message));
    }
    let shape = match (planner.arrays, planner.slice) {
        (Some(arrays), Some(slice)) => {
            let n = request
                .goal_items()
                .ok_or_else(|| Error::parameter("give {items}: the threshold depends on it"))?;
            planner.by_hand(n, arrays, slice)?
        }
        _ => {
            let bits = |shape: Shape| shape.slice as f64 * f64::from(shape.arrays);
            let (n, p) = request
                .items_and_rate(|n, p| planner.smallest(n, p).map_or(f64::INFINITY, bits))?;
            let slice = planner.slice.map_or(f64::INFINITY, |slice| slice as f64);
            planner.smallest(n, p).ok_or_else(|| planner.unusable(n, slice))?
        }
    };
    shape.check()?;
    Ok(Shape { length: request.integer("length").unwrap_or(0), ..shape })
}

impl Planner {
    /// The largest threshold with P(Bin(k, p_H) < t) ≤ fnr, or 0: the one that keeps out most far keys.
    fn threshold(&self, arrays: u32, p_near: f64, fnr: f64) -> u32 {
        let finds = |t: u32| tail::binomial_below(arrays.into(), p_near, t.into()) <= fnr;
        let (mut low, mut high) = (0, arrays);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if finds(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }

    /// The least k, with its t, that keeps far keys to `p` and missed near keys to `fnr`.
    fn arrays(&self, p_near: f64, p_far: f64, p: f64) -> Option<(u32, u32)> {
        let fnr = self.fnr.unwrap_or(p);
        let with = |k: u32| {
            let t = self.threshold.unwrap_or_else(|| self.threshold(k, p_near, fnr));
            let keeps = (1..=k).contains(&t)
                && tail::binomial_at_least(k.into(), p_far, t.into()) <= p
                && tail::binomial_below(k.into(), p_near, t.into()) <= fnr;
            keeps.then_some((k, t))
        };
        if p_far >= p_near {
            return None;
        }
        if let Some(k) = self.arrays {
            return with(k);
        }
        if let Some(t) = self.threshold {
            // More arrays find more near keys, and more far ones: the least that finds enough, or none.
            let (mut low, mut high) = (t, MAX_ARRAYS);
            while low < high {
                let middle = (low + high) / 2;
                let enough = tail::binomial_below(middle.into(), p_near, t.into()) <= fnr;
                if enough { high = middle } else { low = middle + 1 }
            }
            return with(low);
        }
        let (mut low, mut high) = (1, with(MAX_ARRAYS).map(|_| MAX_ARRAYS)?);
        while low < high {
            let middle = (low + high) / 2;
            if with(middle).is_some() { high = middle } else { low = middle + 1 }
        }
        with(high)
    }

    /// The shape with the fewest bits: every s for which far keys stay apart, and arrays of every load
    /// from n/m' = 0.01 to 1.3.
    fn smallest(&self, n: u64, p: f64) -> Option<Shape> {
        let n = n as f64;
        let fnr = self.fnr.unwrap_or(p);
        let mut best: Option<Shape> = None;
        let range = self.samples.map_or(1..=MAX_SAMPLES, |s| s..=s);
        for samples in range {
            let p_near = near_hit(self.near, samples);
            let agreeing = far_hit(self.far, samples, f64::INFINITY, n);
            if agreeing >= p_near && self.samples.is_none() {
                continue;
            }
            let loads = (0..16).map(|i| 0.01 * libm::pow(1.38, f64::from(i)));
            let slices = loads.map(|load| (n / load).ceil().max(2.0));
            let slices: SmallVec<[f64; 16]> = match self.slice {
                Some(slice) => SmallVec::from_slice(&[slice as f64]),
                None => slices.collect(),
            };
            for slice in slices {
                let p_far = far_hit(self.far, samples, slice, n);
                let Some((arrays, threshold)) = self.arrays(p_near, p_far, p) else { continue };
                let bits = |shape: &Shape| shape.slice as f64 * f64::from(shape.arrays);
                if best.as_ref().is_none_or(|best| slice * f64::from(arrays) < bits(best)) {
                    let (fpr, fnr) = (Some(p), Some(fnr));
                    let slice = slice as u64;
                    best = Some(Shape { samples, arrays, slice, threshold, length: 0, fpr, fnr });
                }
            }
            // Where far keys hardly agree any more, further samples only part near keys.
            if agreeing < 1e-3 * p_near {
                break;
            }
        }
        best.map(|shape| self.trimmed(shape, n, p))
    }

    /// The shape with its arrays, which came in coarse steps, as small as its threshold lets them be.
    fn trimmed(&self, shape: Shape, n: f64, p: f64) -> Shape {
        let keeps = |slice: u64| {
            let p_far = far_hit(self.far, shape.samples, slice as f64, n);
            tail::binomial_at_least(shape.arrays.into(), p_far, shape.threshold.into()) <= p
        };
        let (mut low, mut high) = (1, shape.slice);
        while low < high && self.slice.is_none() {
            let middle = low + (high - low) / 2;
            if keeps(middle) { high = middle } else { low = middle + 1 }
        }
        Shape { slice: high, ..shape }
    }

    /// Arrays and slices set by hand: the s, if not set, and the t that tell near and far apart best.
    fn by_hand(&self, n: u64, arrays: u32, slice: u64) -> Result<Shape> {
        let mut best: Option<(f64, Shape)> = None;
        for samples in self.samples.map_or(1..=256, |s| s..=s) {
            let p_near = near_hit(self.near, samples);
            let p_far = far_hit(self.far, samples, slice as f64, n as f64);
            if p_far >= p_near {
                continue;
            }
            let fpr = |t: u32| tail::binomial_at_least(arrays.into(), p_far, t.into());
            let fnr = |t: u32| tail::binomial_below(arrays.into(), p_near, t.into());
            // One rate falls with t and the other rises: the best is where they cross, or just before.
            let (mut low, mut high) = (1, arrays);
            while low < high {
                let middle = (low + high) / 2;
                if fpr(middle) <= fnr(middle) { high = middle } else { low = middle + 1 }
            }
            for t in self.threshold.map_or([low.max(2) - 1, low], |t| [t, t]) {
                let error = fpr(t) + fnr(t);
                if best.is_none_or(|(least, _)| error < least) {
                    let (fpr, fnr) = (Some(fpr(t)), Some(fnr(t)));
                    let shape = Shape { samples, arrays, slice, threshold: t, length: 0, fpr, fnr };
                    best = Some((error, shape));
                }
            }
        }
        best.map(|(_, shape)| shape).ok_or_else(|| self.unusable(n, slice as f64))
    }

    /// Why no threshold works, with the numbers.
    fn unusable(&self, n: u64, slice: f64) -> Error {
        let Planner { near, far, .. } = *self;
        let Some(samples) = self.samples else {
            return Error::parameter(format!(
                "no number of samples separates keys within {near} from keys {far} apart, with {n} keys in this size \
                at these rates: set {{near}} and {{far}} further apart, fewer {{items}}, or more bits"
            ));
        };
        let p_near = near_hit(near, samples);
        let p_far = far_hit(far, samples, slice, n as f64);
        let remedy = if p_far < p_near {
            "set more arrays, or allow higher rates"
        } else if far_hit(far, samples, f64::INFINITY, n as f64) >= p_near {
            "set more samples, so that far keys agree less often"
        } else {
            "set larger slices or fewer samples"
        };
        Error::parameter(format!(
            "{samples} samples: in one array a far key finds its bit set with p_F = {p_far:.4}, a near \
             one with p_H = {p_near:.4}, which no threshold separates at these rates; {remedy}"
        ))
    }
}
