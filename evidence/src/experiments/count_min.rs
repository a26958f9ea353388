//! Count-min and conservative update on skewed traffic: how much counts are too high.

use everbloom::Result;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::sketches::{Conservative, CountMin};

use crate::apparatus::streams::{Ranks, key_of, zipf_shares};
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "count-min",
    source: "S3 §VI-A and G. Cormode, S. Muthukrishnan, Count-min sketch, 2005; catalogue §6 and §7",
    title: "Count-min and conservative update: error over width on Zipf traffic",
    shows: "One row is too high by N/w on average. The least of four rows is far closer, and raising only what must be raised \
            halves the error again. No count is ever too low.",
    run,
};

const KEYS: u64 = 2000;
const UPDATES: u64 = 20_000;
const ROWS: usize = 4;
const WIDTHS: [u64; 5] = [125, 250, 500, 1000, 2000];

/// Mean excess over all keys: one row, the least of four, and conservative update; then keys whose count is too low.
type Excess = [f64; 4];

fn mean_excess(truth: &[u64], count: impl Fn(usize) -> u64) -> (f64, f64) {
    let (mut sum, mut low) = (0.0, 0.0);
    for (key, true_count) in truth.iter().enumerate() {
        sum += count(key).saturating_sub(*true_count) as f64;
        low += f64::from(u8::from(count(key) < *true_count));
    }
    (sum / truth.len() as f64, low)
}

fn stream(seed: u64) -> (Vec<u64>, Vec<u64>) {
    let mut ranks = Ranks::new(&zipf_shares(KEYS, 1.0), seed);
    let stream: Vec<u64> = (0..UPDATES).map(|_| ranks.draw()).collect();
    let mut truth = vec![0; KEYS as usize];
    stream.iter().for_each(|rank| truth[*rank as usize] += 1);
    (stream, truth)
}

fn sketched(w: u64, seed: u64) -> Result<Excess> {
    let (stream, truth) = stream(seed);
    let hasher = || Hasher::seeded(seed);
    let mut single = CountMin::with_shape(w, 1, hasher())?;
    let mut plain = CountMin::with_shape(w, ROWS as u32, hasher())?;
    let mut conservative = Conservative::with_stages(w, ROWS as u32, hasher())?;
    for rank in stream {
        let key = key_of(rank, seed);
        single.insert(&key)?;
        plain.insert(&key)?;
        conservative.insert(&key);
    }
    let key = |rank: usize| key_of(rank as u64, seed);
    let (one, low) = mean_excess(&truth, |rank| single.count(&key(rank)));
    let (four, lower) = mean_excess(&truth, |rank| plain.count(&key(rank)));
    let (least, lowest) = mean_excess(&truth, |rank| conservative.count(&key(rank)));
    Ok([one, four, least, low + lower + lowest])
}

/// The same with cells drawn by lot and counters in plain arrays: what an ideal hash gives.
fn ideal(w: u64, seed: u64) -> Excess {
    let (stream, truth) = stream(seed);
    let mut lots = Generator::new(!seed);
    let places: Vec<[usize; ROWS]> = (0..KEYS)
        .map(|_| std::array::from_fn(|row| row * w as usize + lots.below(w) as usize))
        .collect();
    let [mut plain, mut raised] = [(); 2].map(|()| vec![0u64; ROWS * w as usize]);
    let least =
        |cells: &[u64], rank: usize| places[rank].iter().map(|i| cells[*i]).min().unwrap_or(0);
    for rank in stream {
        let rank = rank as usize;
        let value = least(&raised, rank) + 1;
        for &i in &places[rank] {
            plain[i] += 1;
            raised[i] = raised[i].max(value);
        }
    }
    let excess = |count: &dyn Fn(usize) -> u64| mean_excess(&truth, count).0;
    let first_row = excess(&|rank| plain[places[rank][0]]);
    [first_row, excess(&|rank| least(&plain, rank)), excess(&|rank| least(&raised, rank)), 0.0]
}

/// What one row adds to a count on average: all other updates, spread over w counters.
fn one_row(w: f64) -> f64 {
    (UPDATES as f64 - UPDATES as f64 / KEYS as f64) / w
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(20);
    let mut single =
        Series::new("1 row", (0..=60).map(|i| 100.0 * 22f64.powf(f64::from(i) / 60.0)), one_row);
    let [mut plain, mut conservative] = ["4 rows", "4 rows, conservative update"]
        .map(|name| Series { name: name.into(), ..Series::default() });
    let mut too_low = 0.0;
    let squares: f64 = zipf_shares(KEYS, 1.0).iter().map(|s| (s * UPDATES as f64).powi(2)).sum();
    for w in WIDTHS {
        let seen = lab.runs(runs, |seed| sketched(w, seed))?;
        let lots = lab.runs(runs, |seed| Ok(ideal(w, seed)))?;
        let mean = |of: &[Excess], i: usize| of.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
        too_low += mean(&seen, 3);
        let x = w as f64;
        // A frequent key adds its count to all that share its counter, whose number is binomial.
        let sd = (squares / (x * KEYS as f64)).sqrt();
        single.point(x, one_row(x), mean(&seen, 0), bound::mean(one_row(x), sd, runs));
        for (series, i) in [(&mut plain, 1), (&mut conservative, 2)] {
            let expected = mean(&lots, i);
            // Both sides are measured; the spread of the least falls with its mean, at least.
            let spread = 2.0 * sd * expected / one_row(x);
            series.point(
                x,
                expected,
                mean(&seen, i),
                bound::mean(expected, spread, runs).widened(expected, 0.02),
            );
        }
        let ratio = mean(&seen, 2) / mean(&seen, 1);
        let expected = mean(&lots, 2) / mean(&lots, 1);
        conservative.claim(
            format!("over plain, w = {w}"),
            expected,
            ratio,
            Bound::between(0.9 * expected, (1.1 * expected).min(0.7)),
        );
    }
    single.follows(one_row, 0.0);
    plain.claim("counts that are too low", 0.0, too_low, Bound::exactly(0.0, 0.0));
    Ok(Report::default()
        .chart(Chart::new(
            "",
            format!("Mean excess of a count, {UPDATES} updates of {KEYS} keys"),
            [Axis::log("counters per row"), Axis::log("excess, counts")],
            [single, plain, conservative],
        ))
        .note(
            "For one row the expectation is exact. For the least of four there is no closed form on such traffic: predicted is what \
             counters give whose places are drawn by lot.",
        ))
}
