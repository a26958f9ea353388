//! Sleeping devices woken by a filter in the frame (catalogue A48; S0 §IV-F \[122\]).
//!
//! ```text
//!   frame   0 1 1 0 1 1 0 1 0 0 1 1 …    the ids that are wanted, in m bits
//!   mask    0 1 0 0 1 0 0 1 0 0 0 0 …    a device keeps the bits of its own id: it compares, it never hashes
//!           frame AND mask = mask ──▶ wake up
//! ```
//!
//! Every wanted device wakes. Of the others each wakes with f = (1 − e^{−kn/m})^k: 0.0022 for 10 wanted ids in 128
//! bits with k = 8, 0.2 devices a frame among 100, where a broadcast wakes 90 in vain. The sender may try a few seeds
//! and send the frame with the fewest ones (best of N); a device then keeps a mask for each seed. A frame with more
//! ones than any honest one is ignored: all ones would wake everybody.

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::membership::best_of_n::best_fill;
use everbloom::{Bloom, Hasher, Result};

use crate::sim::Rate;
use crate::{Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series};

/// The shape of frames, on which senders and devices agree.
#[derive(Clone, Copy, Debug)]
pub struct Radio {
    /// Bits of a frame.
    pub m: u64,
    /// Bits of an id's mask.
    pub k: u32,
    /// Seeds that a sender tries.
    pub seeds: u64,
    /// The most ones of a frame that is obeyed.
    pub most_ones: u64,
}

/// What is sent: the number of a seed, and the bits.
pub struct Frame {
    seed: u64,
    bits: Bits,
}

/// A device: its mask under each seed.
///
/// ```
/// use everbloom_lab::applications::wireless::wake_up::Radio;
/// let radio = Radio::new(128, 8, 4, 10);
/// let devices: Vec<_> = (0..100).map(|id| radio.device(id)).collect::<Result<_, _>>()?;
/// let frame = radio.frame(&[3, 14, 15])?;
/// assert!(devices[3].wakes(&frame) && devices[14].wakes(&frame));
/// assert!(devices.iter().filter(|device| device.wakes(&frame)).count() < 10);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Device {
    masks: Vec<Bits>,
    most_ones: u64,
}

impl Radio {
    /// Frames of `m` bits with `k` for an id, the best of `seeds`, for up to `wanted` ids: a frame with more ones
    /// than those set, and 6 standard deviations, is ignored.
    pub fn new(m: u64, k: u32, seeds: u64, wanted: u64) -> Self {
        let (cells, throws) = (m as f64, wanted as f64 * f64::from(k));
        let most = theory::fill(cells, throws) + 6.0 * theory::fill_sd(cells, throws);
        Self { m, k, seeds: seeds.max(1), most_ones: (cells * most) as u64 }
    }

    fn filter(&self, seed: u64, ids: &[u64]) -> Result<Bits> {
        let mut filter = Bloom::with_shape(self.m, self.k, Hasher::seeded(seed))?;
        filter.extend(ids);
        Ok(filter.bits().clone())
    }

    /// The frame that wakes these devices, with the fewest ones that a seed gives.
    pub fn frame(&self, ids: &[u64]) -> Result<Frame> {
        let mut best = Frame { seed: 0, bits: self.filter(0, ids)? };
        for seed in 1..self.seeds {
            let bits = self.filter(seed, ids)?;
            if bits.ones() < best.bits.ones() {
                best = Frame { seed, bits };
            }
        }
        Ok(best)
    }

    /// The device of this id.
    pub fn device(&self, id: u64) -> Result<Device> {
        let masks = (0..self.seeds).map(|seed| self.filter(seed, &[id]));
        Ok(Device { masks: masks.collect::<Result<_>>()?, most_ones: self.most_ones })
    }
}

impl Device {
    /// Whether the device wakes up.
    pub fn wakes(&self, frame: &Frame) -> bool {
        let Some(mask) = usize::try_from(frame.seed).ok().and_then(|s| self.masks.get(s)) else {
            return false;
        };
        let fits = frame.bits.len() == mask.len() && frame.bits.ones() <= self.most_ones;
        fits && frame.bits.ones_in_both(mask) == mask.ones()
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A48",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "the list of wanted ids",
    data: "100 devices with random ids, of which each frame wants some",
    experiment: Experiment {
        name: "wake-up",
        source: "S0 §IV-F [122]",
        title: "Sleeping devices woken by a filter in the frame",
        shows: "All wanted devices wake. For 10 wanted of 100 in 128 bits, 0.2 others wake with each frame, fewer \
                with the best of 8 seeds; a broadcast wakes 90. A frame of ones wakes nobody.",
        run,
    },
};

struct Seen {
    missed: u64,
    wrong: u64,
    refused: u64,
}

const DEVICES: usize = 100;
const M: u64 = 128;
const K: u32 = 8;

fn frames(seed: u64, wanted: usize, seeds: u64, count: usize) -> Result<Seen> {
    let mut random = Generator::new(seed);
    let radio = Radio::new(M, K, seeds, wanted as u64);
    let ids: Vec<u64> = (0..DEVICES * count).map(|_| random.next_u64()).collect();
    let mut seen = Seen { missed: 0, wrong: 0, refused: 0 };
    // New devices for every frame, so that frames are independent; the wanted ones are the first.
    for ids in ids.chunks(DEVICES) {
        let frame = radio.frame(&ids[..wanted])?;
        seen.refused += u64::from(frame.bits.ones() > radio.most_ones);
        for (i, &id) in ids.iter().enumerate() {
            match (radio.device(id)?.wakes(&frame), i < wanted) {
                (false, true) => seen.missed += 1,
                (true, false) => seen.wrong += 1,
                _ => (),
            }
        }
    }
    Ok(seen)
}

/// The rate of the best of `seeds` frames, and how much it varies: the fill's mean and spread, to second order.
fn best_rate(wanted: usize, seeds: u64) -> Rate {
    if seeds == 1 {
        return Rate::of(M, wanted as u64, K);
    }
    let k = f64::from(K);
    let (fill, sd) = best_fill(M as f64, wanted as f64 * k, seeds);
    let mean = libm::pow(fill, k) * (1.0 + k * (k - 1.0) / 2.0 * (sd / fill) * (sd / fill));
    Rate { mean, sd: mean * k * sd / fill }
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, count) = (lab.scaled(6), 40);
    let mut oracle = Oracle::default();
    let mut rows =
        Rows::new("source", "The source's numbers", Axis::linear("false wake-ups a frame"));
    let mut series = Vec::new();
    for seeds in [1, 8] {
        let others = |wanted: f64| DEVICES as f64 - wanted;
        let name =
            if seeds == 1 { "one seed".to_owned() } else { format!("best of {seeds} seeds") };
        let mut one = Series::new(name, (2..=30).map(f64::from), |wanted| {
            others(wanted) * best_rate(wanted as usize, seeds).mean
        });
        for wanted in [5, 10, 20, 30] {
            let seen = lab.runs(runs, |seed| frames(seed, wanted, seeds, count))?;
            oracle.none(
                &format!("{wanted} wanted, {seeds} seeds: wanted but asleep"),
                seen.iter().map(|s| s.missed).sum(),
            );
            oracle.none(
                &format!("{wanted} wanted, {seeds} seeds: honest frames ignored"),
                seen.iter().map(|s| s.refused).sum(),
            );
            let sleepers = DEVICES as f64 - wanted as f64;
            let frames = runs * count as u64;
            let mean = seen.iter().map(|s| s.wrong).sum::<u64>() as f64 / frames as f64;
            let rate = best_rate(wanted, seeds);
            let share = rate
                .bound(frames, sleepers as u64)
                .widened(rate.mean, if seeds == 1 { 0.0 } else { 0.05 });
            let fits = Bound {
                low: share.low.map(|l| l * sleepers),
                high: share.high.map(|h| h * sleepers),
            };
            one.point(wanted as f64, rate.mean * sleepers, mean, fits);
            if (wanted, seeds) == (10, 1) {
                // The formula of large filters says 0.196; 128 bits are few.
                rows.row("10 wanted of 100 in 128 bits", 0.196, mean, fits);
                rows.row("… and by a broadcast", 90.0, sleepers, Bound::exactly(90.0, 0.0));
            }
        }
        series.push(one);
    }
    let radio = Radio::new(M, K, 1, 10);
    let mut ones = Frame { seed: 0, bits: Bits::new(M) };
    for i in 0..M {
        ones.bits.set(i);
    }
    let open = Radio { most_ones: M, ..radio };
    for (label, radio, expected) in [
        ("woken by a frame of ones", radio, 0.0),
        ("… without the limit on ones (the trap)", open, 100.0),
    ] {
        let mut awake = 0.0;
        for id in 0..DEVICES as u64 {
            awake += f64::from(u8::from(radio.device(id)?.wakes(&ones)));
        }
        rows.row(label, expected, awake, Bound::exactly(expected, 0.0));
    }
    series.push(Series::new("broadcast", [2.0, 30.0], |wanted| DEVICES as f64 - wanted));
    let chart = Chart::new(
        "wakes",
        "Devices that wake in vain, of 100, in frames of 128 bits with k = 8",
        [Axis::linear("wanted devices"), Axis::log("false wake-ups a frame")],
        series,
    );
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a48_false_wake_ups() {
        let f = theory::fpr_asymptotic(128.0, 10.0, 8.0);
        assert!((f - 0.00218).abs() < 5e-6 && (90.0 * f - 0.196).abs() < 5e-4);
    }
}
