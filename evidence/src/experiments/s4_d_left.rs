//! The d-left counting filter beside the counting Bloom filter: space at equal rates, and where it ends.

use everbloom::Result;
use everbloom::counting::{Counting, DLeft, d_left};
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;
use everbloom_report::number::short_text;

use crate::apparatus::classic::{Rate, Shape, elements};
use crate::apparatus::generalized::steps;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s4-d-left",
    source: "S4, d-left counting Bloom filters",
    title: "The d-left counting filter: space at the same rate as a counting Bloom filter",
    shows: "With each further bit of the fingerprint the rate halves, which takes a counting Bloom filter \
            four times as much. From rates of 2 % on down, the d-left filter takes less than half.",
    run,
};

/// Four tables of 256 buckets, six keys to the bucket of eight cells.
const BUCKETS: u64 = 256;
const ITEMS: u64 = 24 * BUCKETS;

/// Queries per filter.
const QUERIES: u64 = 50_000;

/// Bits of a counter beside.
const WIDTH: u32 = 4;

/// Remainders that are tried.
const REMAINDERS: [u32; 6] = [6, 8, 10, 11, 12, 14];

/// The rate of a d-left filter of this many bits per key at a load of six: 4(r + 2)/3 bits, and of the
/// 24·2^−r fingerprints that are taken in a place some coincide, f = 1 − e^{−24·2^−r}.
fn d_left_rate(bits: f64) -> f64 {
    -(-24.0 * 2f64.powf(2.0 - 0.75 * bits)).exp_m1()
}

/// Bits per key of a d-left filter at this rate, the other way round.
fn d_left_bits(rate: f64) -> f64 {
    4.0 / 3.0 * ((-24.0 / (-rate).ln_1p()).log2() + 2.0)
}

/// Bits per key of a counting Bloom filter at this rate.
fn counting_bits(rate: f64) -> f64 {
    f64::from(WIDTH) * bloom::bits(1.0, rate)
}

/// One size of either filter: bits per key, and its rate.
struct Size {
    bits: f64,
    rate: Rate,
}

impl Size {
    /// By how much ln(rate) may be off by chance.
    fn slack(&self) -> f64 {
        let (low, high) = (self.rate.bound.low.unwrap_or(0.0), self.rate.bound.high.unwrap_or(1.0));
        (high - low) / 2.0 / self.rate.predicted
    }
}

fn run(lab: &Lab) -> Result<Report> {
    let mut d_left = Series::new("d-left, load 6", steps(10.0, 24.0), d_left_rate);
    let mut counting = Series::new("counting, 4 bits", steps(10.0, 60.0), |bits| {
        bloom::fpr_best(bits / f64::from(WIDTH))
    });
    let range = (0..=100).map(|i| 0.35 * 10f64.powf(-4.0 * f64::from(i) / 100.0));
    let ratio = |rate: f64| counting_bits(rate) / d_left_bits(rate);
    let mut factor = Series::new("counting over d-left", range, ratio);
    for remainder in REMAINDERS {
        let small = measure_d_left(lab, remainder)?;
        d_left.point(small.bits, small.rate.predicted, small.rate.measured, small.rate.bound);
        let large = measure_counting(lab, small.rate.predicted)?;
        counting.point(large.bits, large.rate.predicted, large.rate.measured, large.rate.bound);
        let [predicted, measured] = [
            equal_bits(&large, large.rate.predicted, small.rate.predicted),
            equal_bits(&large, large.rate.measured, small.rate.measured),
        ]
        .map(|bits| bits / small.bits);
        // What a rate that is off by chance does to the bits that go with it.
        let slack = small.slack().hypot(large.slack()) * BITS_PER_LN / small.bits;
        factor.point(small.rate.predicted, predicted, measured, Bound::exactly(predicted, slack));
    }
    d_left.follows(d_left_rate, 0.01);
    // A whole k is up to 3 % worse than the best real one.
    counting.follows(|bits| bloom::fpr_best(bits / f64::from(WIDTH)), 0.03);
    factor.follows(ratio, 0.02);
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            "False-positive rate over the bits per key",
            [Axis::linear("bits per key"), Axis::log("false-positive rate")],
            [d_left, counting],
        ))
        .chart(Chart::new(
            "b",
            "Space of a counting filter at the same rate",
            [Axis::log("false-positive rate"), Axis::linear("bits, as a multiple of d-left's")],
            [factor],
        ))
        .rows(claims()?)
        .rows(magnitudes(lab)?)
        .rows(ends(lab)?)
        .note(
            "S4 gives no parameters. As in the original paper there are four tables of buckets with \
             eight cells, six in use on average, and counts of two bits; here 6144 keys. The counting \
             filter has four bits a counter and the best k. Bits are those the filters report.",
        )
        .note(
            "(e): S3 §VIII-B has “two magnitude reduction of false positive rate with same space scale”: true from \
             about 23 bits per key on, and six times at 16.",
        )
        .note(
            "(b): the counting filter is planned for the rate of the d-left filter; where the measured \
             rates differ, its bits are corrected along its own curve, 0.6185^(m/n).",
        ))
}

/// Bits per key that a counting filter takes for each factor of e in the rate.
const BITS_PER_LN: f64 = WIDTH as f64 / (std::f64::consts::LN_2 * std::f64::consts::LN_2);

/// Bits of a counting filter of `size` whose rate is not `own` but `wanted`.
fn equal_bits(size: &Size, own: f64, wanted: f64) -> f64 {
    size.bits + (own / wanted).ln() * BITS_PER_LN
}

/// A d-left filter with random keys, and how many of them found no room.
fn filled_d_left(remainder: u32, items: u64, seed: u64) -> Result<(DLeft, u64)> {
    let mut filter = DLeft::with_shape(BUCKETS, remainder, Hasher::seeded(seed))?;
    let mut keys = Generator::new(seed);
    let refused = (0..items).filter(|_| filter.insert(&keys.next_u64()).is_err()).count();
    Ok((filter, refused as u64))
}

fn measure_d_left(lab: &Lab, remainder: u32) -> Result<Size> {
    let runs = lab.scaled(30);
    let seen = lab.runs(runs, |seed| {
        let (filter, refused) = filled_d_left(remainder, ITEMS, seed)?;
        if refused == 0 {
            lab.ask_members(elements(ITEMS, seed), |key| filter.contains(key));
        }
        let mut keys = Generator::new(!seed);
        let hits = (0..QUERIES).filter(|_| filter.contains(&keys.next_u64())).count();
        Ok((hits as f64 / QUERIES as f64, filter.memory().cells))
    })?;
    let predicted = d_left::fpr(BUCKETS << remainder, ITEMS);
    // Distinct fingerprints vary between filters as the ones of a bitmap do.
    let sd = bloom::fill_sd((BUCKETS << remainder) as f64, ITEMS as f64);
    let measured = seen.iter().map(|(rate, _)| rate).sum::<f64>() / runs as f64;
    let rate = Rate { predicted, measured, bound: bound::rate(predicted, sd, runs, QUERIES) };
    Ok(Size { bits: seen[0].1 as f64 / ITEMS as f64, rate })
}

fn measure_counting(lab: &Lab, rate: f64) -> Result<Size> {
    let m = bloom::bits_for(ITEMS, rate);
    measure_shape(lab, Shape { m, n: ITEMS, k: bloom::best_k(m, ITEMS) })
}

fn measure_shape(lab: &Lab, shape: Shape) -> Result<Size> {
    let (m, runs) = (shape.m, lab.scaled(30));
    let seen = lab.runs(runs, |seed| {
        let mut filter = Counting::with_shape(m, shape.k, WIDTH, Hasher::seeded(seed))
            .expect("a shape that can be");
        let mut keys = Generator::new(seed);
        for _ in 0..ITEMS {
            filter.insert(&keys.next_u64());
        }
        lab.ask_members(elements(ITEMS, seed), |key| filter.contains(key));
        let mut keys = Generator::new(!seed);
        let hits = (0..QUERIES).filter(|_| filter.contains(&keys.next_u64())).count();
        Ok((hits as f64 / QUERIES as f64, filter.memory().cells))
    })?;
    let predicted = shape.fpr();
    let measured = seen.iter().map(|(rate, _)| rate).sum::<f64>() / runs as f64;
    let bound = bound::rate(predicted, shape.fpr_sd(), runs, QUERIES);
    let bits = seen[0].1 as f64 / ITEMS as f64;
    Ok(Size { bits, rate: Rate { predicted, measured, bound } })
}

/// The claim itself, at rates of practical interest: filters planned by the library for the same rate.
fn claims() -> Result<Rows> {
    let mut rows = Rows::new("c", "A factor of two or more", Axis::linear("factor of space"));
    for rate in [0.01, 0.001, 0.0001, 1e-6] {
        let few = DLeft::with_rate(ITEMS, rate)?.memory().cells as f64;
        let many = Counting::with_rate(ITEMS, rate)?.memory().cells as f64;
        let predicted = counting_bits(rate) / d_left_bits(rate);
        rows.row(
            format!("planned for a rate of {rate:e}"),
            predicted,
            many / few,
            Bound::at_least(2.0),
        );
    }
    Ok(rows)
}

/// S3's claim: “two magnitude reduction of false positive rate with same space scale”.
fn magnitudes(lab: &Lab) -> Result<Rows> {
    let mut rows = Rows::new("e", "Rate at the same space, times lower", Axis::log("times lower"));
    for remainder in [8, 12, 14] {
        let small = measure_d_left(lab, remainder)?;
        // A counting filter of as many bits.
        let m = (small.bits * ITEMS as f64 / f64::from(WIDTH)).round() as u64;
        let shape = Shape { m, n: ITEMS, k: bloom::best_k(m, ITEMS) };
        let large = measure_shape(lab, shape)?;
        let [predicted, measured] = [
            large.rate.predicted / small.rate.predicted,
            large.rate.measured / small.rate.measured,
        ];
        let slack = small.slack().hypot(large.slack());
        let bound = Bound::between(predicted * (-slack).exp(), predicted * slack.exp());
        rows.row(format!("at {} bits per key", short_text(small.bits)), predicted, measured, bound);
    }
    // From here on two magnitudes, by the formulas that the rows above confirm.
    let least = (10..300)
        .map(|i| f64::from(i) / 10.0)
        .find(|bits| bloom::fpr_best(bits / f64::from(WIDTH)) >= 100.0 * d_left_rate(*bits));
    let least = least.unwrap_or(f64::NAN);
    rows.row(
        "bits per key from which it is a hundred times",
        23.0,
        least,
        Bound::exactly(23.0, 0.3),
    );
    Ok(rows)
}

/// What S4 calls its limits: cells that run out, and counts that do.
fn ends(lab: &Lab) -> Result<Rows> {
    let mut rows = Rows::new("d", "Where it overflows", Axis::linear("count"));
    let exactly = |count: f64| Bound::exactly(count, 0.0);
    let runs = lab.scaled(20);
    let refused = |items: u64| -> Result<f64> {
        let refused = lab.runs(runs, |seed| Ok(filled_d_left(14, items, seed)?.1))?;
        Ok(refused.iter().sum::<u64>() as f64 / runs as f64)
    };
    rows.row("keys refused at load 6 of 8", 0.0, refused(ITEMS)?, exactly(0.0));
    // One key more than there are cells cannot all be taken, whatever the hashes.
    let over = 32 * BUCKETS + 1;
    rows.row("refused beyond load 8, at least", 1.0, refused(over)?, Bound::at_least(1.0));
    let mut filter = DLeft::with_shape(BUCKETS, 14, Hasher::seeded(lab.seed()))?;
    for _ in 0..5 {
        filter.insert("x")?;
    }
    rows.row("a key 5 times: its count", 3.0, filter.count("x") as f64, exactly(3.0));
    for _ in 0..5 {
        filter.remove("x")?;
    }
    rows.row("removed as often: it sticks", 3.0, filter.count("x") as f64, exactly(3.0));
    Ok(rows)
}
