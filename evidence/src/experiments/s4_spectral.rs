//! The spectral filter: how often counts are wrong, thresholds, and counters as long as they need to be.

use everbloom::Result;
use everbloom::counting::Spectral;
use everbloom::internals::cells::Code;
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::Goal;
use everbloom::internals::theory::bloom;

use crate::apparatus::classic::elements;
use crate::apparatus::counters::{Shape, digits};
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, Verdict, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s4-spectral",
    source: "S4, spectral Bloom filters",
    title: "The spectral Bloom filter: errors of its counts, and the bits they take",
    shows: "A count is wrong as rarely as a standard filter errs, and never too low; raising only the \
            least counters makes it rarer still. Counters in Elias' codes grow with the logarithm of \
            what they hold, and none overflows.",
    run,
};

const KEYS: u64 = 1000;
const K: u32 = 5;

fn empty(form: &str, code: Code, m: u64, seed: u64) -> Result<Spectral> {
    let goal = Goal::default().set("form", form).set("code", code.name());
    Spectral::planned(&goal.set("m", m).set("k", u64::from(K)).seed(seed))
}

fn run(lab: &Lab) -> Result<Report> {
    Ok(Report::default()
        .chart(errors(lab)?)
        .rows(spectrum(lab)?)
        .chart(sizes(lab)?)
        .rows(whole(lab)?)
        .rows(often(lab)?)
        .note(
            "S4 gives no parameters: 1000 distinct keys and k = 5 are chosen; (b) to (e) have 7143 \
             counters, a load of 0.7.",
        )
        .note(
            "(a): keys come 10 times each on average, in random order. Only minimum selection has a \
             formula; the two others are judged against it: three quarters of its wrong counts at most. No count of \
             minimum selection is too low: whoever came T times passes the threshold T (b).",
        )
        .note(
            "S4 concludes from the word spectral that overflow is not prevented conclusively. What a \
             threshold filters are answers; counters take as many bits as they need, and a key that \
             comes a million times is counted to the last (e).",
        )
        .note("Time and processing load, of which S4 also speaks, are not judged here."))
}

/// A stream of keys, each ten times on average.
fn stream(seed: u64) -> (Vec<u64>, Vec<u64>) {
    let mut random = Generator::new(!seed);
    let stream: Vec<u64> = (0..10 * KEYS).map(|_| random.below(KEYS)).collect();
    let mut truth = vec![0; KEYS as usize];
    stream.iter().for_each(|key| truth[*key as usize] += 1);
    (stream, truth)
}

/// Keys that are counted wrong, in `runs` filters of m counters.
fn wrong(lab: &Lab, form: &str, m: u64, runs: u64) -> Result<u64> {
    let wrong = lab.runs(runs, |seed| {
        let mut filter = empty(form, Code::Delta, m, seed)?;
        let (stream, truth) = stream(seed);
        if form == SELECTION {
            // Sums do not depend on the order, so that all of a key can go in at once.
            for (key, times) in (0u64..).zip(&truth).filter(|(_, times)| **times > 0) {
                filter.insert_times(&key, *times);
            }
        } else {
            stream.iter().for_each(|key| {
                filter.insert(key);
            });
        }
        let right = (0u64..).zip(&truth).filter(|(key, times)| filter.count(key) == **times);
        Ok(KEYS - right.count() as u64)
    })?;
    Ok(wrong.iter().sum())
}

const SELECTION: &str = "minimum-selection";

/// Of minimum selection's wrong counts the two better rules leave 0.44 to 0.7, by the load.
const MOST_LEFT: f64 = 0.75;

fn errors(lab: &Lab) -> Result<Chart> {
    let rate = |load: f64| bloom::fpr_asymptotic(f64::from(K) / load, 1.0, f64::from(K));
    let loads = || (0..=100).map(|i| 0.3 + 0.9 * f64::from(i) / 100.0);
    let mut series = Vec::new();
    for (form, runs) in [(SELECTION, 40), ("minimum-increase", 8), ("recurring-minimum", 8)] {
        let runs = lab.scaled(runs);
        let name = form.replace('-', " ");
        let mut one = match form {
            SELECTION => Series::new(name, loads(), rate),
            _ => Series::new(name, [], rate),
        };
        for load in [0.4, 0.6, 0.8, 1.0, 1.2] {
            let m = (f64::from(K) * KEYS as f64 / load) as u64;
            // All k counters of a key are shared with some of the others.
            let predicted = bloom::fpr_classic(m as f64, (KEYS - 1) as f64, f64::from(K));
            // Keys that share cells err together, but their increments are given in number: between
            // filters the errors vary as independent ones do, or less.
            let bound = bound::share(predicted, runs * KEYS);
            let bound = match form {
                SELECTION => bound,
                _ => Bound { low: None, ..bound::share(MOST_LEFT * predicted, runs * KEYS) },
            };
            let measured = wrong(lab, form, m, runs)? as f64 / (runs * KEYS) as f64;
            one.point(load, predicted, measured, bound);
        }
        if form == SELECTION {
            one.follows(rate, 0.02);
        } else {
            let sum =
                |f: fn(&Verdict) -> f64| one.points.iter().map(|p| f(&p.verdict)).sum::<f64>();
            let left = sum(|v| v.measured) / sum(|v| v.predicted);
            let allowed = Bound::between(0.4, MOST_LEFT);
            one.claim("wrong counts, as a share of minimum selection's", 0.6, left, allowed);
        }
        series.push(one);
    }
    Ok(Chart::new(
        "a",
        "Share of keys that are counted wrong, k = 5",
        [Axis::linear("load nk/m"), Axis::log("probability of a wrong count")],
        series,
    ))
}

/// 7143 counters for 1000 keys.
const SHAPE: Shape = Shape { m: 7143, n: KEYS, k: K };

/// Who came at least T times? Nobody who did is missed, and few others pass.
fn spectrum(lab: &Lab) -> Result<Rows> {
    let mut rows = Rows::new("b", "Filtering by a threshold T", Axis::linear("share of keys"));
    let runs = lab.scaled(30);
    let rate = bloom::fpr_classic(SHAPE.m as f64, (KEYS - 1) as f64, f64::from(K));
    for threshold in [10, 50, 90] {
        let shares = lab.runs(runs, |seed| {
            let mut filter = empty(SELECTION, Code::Delta, SHAPE.m, seed)?;
            // From 1 to 100 times.
            (0..KEYS).for_each(|key| {
                filter.insert_times(&key, 1 + key % 100);
            });
            let pass = |often: bool| {
                let keys = (0..KEYS).filter(|key| (1 + key % 100 >= threshold) == often);
                keys.filter(|key| filter.at_least(key, threshold)).count() as f64
            };
            Ok([pass(true), pass(false)])
        })?;
        let often = KEYS as f64 * (101 - threshold) as f64 / 100.0;
        let total = |i: usize| shares.iter().map(|s| s[i]).sum::<f64>() / runs as f64;
        let name = format!("T = {threshold}: of those who came as often");
        rows.row(name, 1.0, total(0) / often, Bound::exactly(1.0, 0.0));
        // Whose count is wrong passes only if it is wrong by enough.
        let rare = KEYS as f64 - often;
        let bound = bound::share(rate, runs * rare as u64);
        let name = format!("T = {threshold}: of the others, at most");
        rows.row(name, rate, total(1) / rare, Bound { low: None, ..bound });
    }
    Ok(rows)
}

/// Bits per counter where every key comes equally often.
fn sizes(lab: &Lab) -> Result<Chart> {
    let runs = lab.scaled(10);
    let bits = |code: Code, repeats: u64| move |c: u64| code.bits(c * repeats + 1) as f64;
    let all = || (0..=100).map(|i| 4096f64.powf(f64::from(i) / 100.0));
    // The fewest bits that hold all counters, but in one filter of a thousand.
    let fixed = |repeats: f64| {
        let beyond = |width: u32| {
            let least = (2f64.powi(width as i32) / repeats).ceil() as u64;
            1.0 - (0..least).map(|j| SHAPE.pmf(j)).sum::<f64>() > 1e-3 / SHAPE.m as f64
        };
        (1..64).find(|width| !beyond(*width)).map_or(f64::NAN, f64::from)
    };
    let mut width = Series::new("same width for all", all(), fixed);
    for repeats in [1, 64, 4096] {
        let highest = lab.runs(runs, |seed| {
            let mut filter = empty(SELECTION, Code::Delta, SHAPE.m, seed)?;
            elements(KEYS, seed).for_each(|key| {
                filter.insert_times(&key, repeats);
            });
            lab.ask_members(elements(KEYS, seed), |key| filter.count(key) >= repeats);
            let counters = filter.counters();
            Ok((0..counters.len()).map(|i| counters.get(i)).max().unwrap_or(0))
        })?;
        let most = highest.into_iter().map(digits).max().unwrap_or(0) as f64;
        let fits = fixed(repeats as f64);
        let what = format!("digits of the highest counter, {repeats} insertions");
        width.claim(what, fits, most, Bound::between(fits - 1.0, fits));
    }
    let mut series = vec![width];
    for (name, code) in [("Elias' γ code", Code::Gamma), ("Elias' δ code", Code::Delta)] {
        let mean = |repeats: f64| SHAPE.moments(bits(code, repeats as u64)).0;
        let mut one = Series::new(name, all(), mean);
        for repeats in [1, 4, 16, 64, 256, 1024, 4096] {
            let sizes = lab.runs(runs, |seed| {
                let mut filter = empty(SELECTION, code, SHAPE.m, seed)?;
                let mut keys = Generator::new(seed);
                for _ in 0..KEYS {
                    filter.insert_times(&keys.next_u64(), repeats);
                }
                Ok(filter.counters().bits())
            })?;
            let measured = sizes.iter().sum::<u64>() as f64 / (runs * SHAPE.m) as f64;
            let (predicted, bound) = SHAPE.mean_bound(bits(code, repeats), runs);
            one.point(repeats as f64, predicted, measured, bound);
        }
        one.follows(mean, 0.0);
        series.push(one);
    }
    Ok(Chart::new(
        "c",
        "Bits per counter, load 0.7",
        [Axis::log("insertions of each key"), Axis::linear("bits per counter")],
        series,
    ))
}

/// A filter of `SHAPE` with all its keys, in the shorter code of small numbers.
fn filled(seed: u64) -> Result<Spectral> {
    let mut filter = empty(SELECTION, Code::Gamma, SHAPE.m, seed)?;
    (0..KEYS).for_each(|key| {
        filter.insert(&key);
    });
    Ok(filter)
}

/// With all that is needed to find and change the codes.
fn whole(lab: &Lab) -> Result<Rows> {
    let title = "Whole filters against four bits a counter";
    let mut rows = Rows::new("d", title, Axis::linear("bits per counter"));
    let mut filter = filled(lab.seed())?;
    let per_counter = |bits: u64| bits as f64 / SHAPE.m as f64;
    let (mean, sd) = SHAPE.moments(|c| Code::Gamma.bits(c + 1) as f64);
    let bound = |mean: f64| bound::mean(mean, sd, SHAPE.m);
    rows.row("γ codes alone", mean, per_counter(filter.memory().cells), bound(mean));
    let total = per_counter(filter.memory().total());
    rows.row("with index and spare words: below 4", 4.0, total, Bound::between(mean, 4.0));
    filter.insert_times(&0u64, MILLION);
    // k counters of 39 bits, 2⌊log₂ 10⁶⌋ + 1.
    let hot = mean + f64::from(K) * (Code::Gamma.bits(MILLION) as f64 - mean) / SHAPE.m as f64;
    let more = per_counter(filter.memory().cells);
    rows.row("γ codes, one key 10^6 times more", hot, more, bound(hot));
    Ok(rows)
}

const MILLION: u64 = 1_000_000;

/// No counter is too small for a key that comes very often.
fn often(lab: &Lab) -> Result<Rows> {
    let mut rows = Rows::new("e", "A key that comes very often", Axis::log("count"));
    let mut filter = filled(lab.seed())?;
    for times in [100, 10_000, MILLION] {
        let before = filter.count(&0u64);
        filter.insert_times(&0u64, times);
        let more = (filter.count(&0u64) - before) as f64;
        let exact = Bound::exactly(times as f64, 0.0);
        rows.row(format!("inserted {times} times more"), times as f64, more, exact);
    }
    Ok(rows)
}
