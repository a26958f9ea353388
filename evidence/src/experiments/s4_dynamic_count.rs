//! The dynamic count filter: when it is rebuilt, that it never overflows, and the bits nobody uses.

use everbloom::Result;
use everbloom::counting::{DynamicCount, Spectral};
use everbloom::internals::cells::Code;
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::Goal;

use crate::apparatus::counters::{Shape, digits};
use crate::{Axis, Bound, Chart, Experiment, Grade, Lab, Report, Rows, Said, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s4-dynamic-count",
    source: "S4, dynamic count filters",
    title: "The dynamic count filter: rebuilds, and bits that are not used",
    shows: "The overflow vector is rebuilt when it needs another bit, which happens ever more rarely, and \
            not at each update. One hot key makes all counters wider, where spectral counters stay small.",
    run,
};

/// A filter for 1000 keys near the best load.
const SHAPE: Shape = Shape { m: 10_000, n: 1000, k: 7 };

/// Bits of a counter's first part.
const X: u32 = 2;

/// Width of the overflow vector, once the largest counter has reached `count`.
fn width(count: u64) -> u64 {
    digits(count >> X)
}

fn run(lab: &Lab) -> Result<Report> {
    let updates = lab.scaled(100_000);
    let (rebuilds, series) = rebuilds(updates);
    let bits = hot_keys(lab)?;
    let mut turns = turns(updates)?;
    let (predicted, measured, bound) = set(lab)?;
    turns.row(
        format!("rebuilds while {} keys come once each", SHAPE.n),
        predicted,
        measured,
        bound,
    );
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            "Rebuilds while one key is inserted",
            [Axis::log("insertions of the key"), Axis::linear("rebuilds of the overflow vector")],
            [series],
        ))
        .chart(bits)
        .rows(turns)
        .note(format!(
            "S4 gives no parameters: m = 10,000, k = 7, x = {X} bits before the overflow and 1000 keys \
             are chosen. (a) is exact: one key alone, in cells of its own."
        ))
        .note(
            "(b): 1000 keys once each, and one of them many times more. Spectral counters are in Elias' \
             δ code, without index and spare words; digits in use are those of the numbers themselves.",
        )
        .graded(
            Grade::Disproved,
            "S4, dynamic count filters",
            [
                "“for each update, a structure rebuilding is required”",
                "Only when the width of the overflow vector changes: once for each bit of its largest \
                 counter. Rebuilds while one key is inserted again and again",
            ],
            Said::Follows(updates as f64),
            [width(updates) as f64, rebuilds as f64],
            Bound::exactly(width(updates) as f64, 0.0),
        ))
}

/// Counts up to `end` for a curve of stairs, which rises at powers of two only.
fn stairs(end: f64) -> impl Iterator<Item = f64> {
    let powers = (0..63).map(|i| 2f64.powi(i)).take_while(move |power| *power < end);
    powers.flat_map(|power| [power, 2.0 * power - 1e-6]).map(move |count| count.min(end))
}

/// Rebuilds so far, at each count of 3·2^i, and at the end.
fn rebuilds(updates: u64) -> (u64, Series) {
    let marks: Vec<u64> = (0..).map(|i| 3 << i).take_while(|mark| *mark < updates).collect();
    let mut series =
        Series::new("one key, x = 2", stairs(updates as f64), |count| width(count as u64) as f64);
    let mut filter =
        DynamicCount::with_shape(SHAPE.m, 1, X, Hasher::default()).expect("a shape that can be");
    for count in 1..=updates {
        filter.insert("hot");
        if marks.contains(&count) {
            let (predicted, measured) = (width(count) as f64, filter.counters().rebuilds() as f64);
            series.point(count as f64, predicted, measured, Bound::exactly(predicted, 0.0));
        }
    }
    series.follows(|count| width(count as u64) as f64, 0.0);
    (filter.counters().rebuilds(), series)
}

/// Rebuilds of a filter whose keys come once each: predicted, measured, and the bound.
fn set(lab: &Lab) -> Result<(f64, f64, Bound)> {
    let runs = lab.scaled(400);
    let rebuilds = lab.runs(runs, |seed| {
        let mut filter = DynamicCount::with_shape(SHAPE.m, SHAPE.k, X, Hasher::seeded(seed))
            .expect("a shape that can be");
        let mut keys = Generator::new(seed);
        for _ in 0..SHAPE.n {
            filter.insert(&keys.next_u64());
        }
        Ok(filter.counters().rebuilds())
    })?;
    // Some counter reaches 4 for certain (56 are expected to), and 8 in one filter of a hundred; 16 in
    // none. So there is one rebuild or, in that share of filters, one more.
    let twice = SHAPE.m as f64 * (8..64).map(|j| SHAPE.pmf(j)).sum::<f64>();
    let measured = rebuilds.iter().sum::<u64>() as f64 / runs as f64;
    Ok((1.0 + twice, measured, at_times_one_more(1.0, twice, runs)))
}

/// What the mean of `runs` values must lie within that are `least`, or one more with a chance of `more`.
fn at_times_one_more(least: f64, more: f64, runs: u64) -> Bound {
    let Bound { low, high } = bound::share(more, runs);
    Bound { low: low.map(|share| least + share), high: high.map(|share| least + share) }
}

/// Bits per counter where one of the keys is hot.
fn hot_keys(lab: &Lab) -> Result<Chart> {
    let k = f64::from(SHAPE.k);
    // k of m counters hold the hot key's count besides what the others have.
    let hot_share = k / SHAPE.m as f64;
    let mean = |hot: u64, bits: &dyn Fn(u64) -> f64| {
        let ((plain, sd), (more, _)) = (SHAPE.moments(bits), SHAPE.moments(|c| bits(c + hot)));
        (plain + hot_share * (more - plain), sd)
    };
    let delta = |c: u64| Code::Delta.bits(c + 1) as f64;
    let used = |c: u64| digits(c) as f64;
    let hots = || stairs(65_536.0);
    let mut series = [
        Series::new("dynamic count, x + y", hots(), |h| (u64::from(X) + width(h as u64)) as f64),
        Series::new("spectral, δ code", hots(), |h| mean(h as u64, &delta).0),
        Series::new("digits in use", hots(), |h| mean(h as u64, &used).0),
    ];
    let runs = lab.scaled(30);
    // Two hashes of the hot key in one cell count twice there: a bit more.
    let doubled = k * (k - 1.0) / 2.0 / SHAPE.m as f64;
    for exponent in [4, 6, 8, 10, 12, 14] {
        // In the middle between powers of two, so that the few others in its cells change no width: a
        // cell would have to hold sixteen of them.
        let hot = 3u64 << exponent;
        let sizes = lab.runs(runs, |seed| sizes(seed, hot))?;
        let average = |i: usize| sizes.iter().map(|s| s[i]).sum::<f64>() / runs as f64;
        let dynamic = (u64::from(X) + width(hot)) as f64;
        let bound = at_times_one_more(dynamic, doubled, runs);
        series[0].point(hot as f64, dynamic + doubled, average(0), bound);
        for (i, bits) in [(1, &delta as &dyn Fn(u64) -> f64), (2, &used)] {
            let (predicted, sd) = mean(hot, bits);
            let bound = bound::mean(predicted, sd, runs * SHAPE.m);
            series[i].point(hot as f64, predicted, average(i), bound);
        }
    }
    // Two hashes in one cell are left out of the curve.
    series[0].follows(|h| (u64::from(X) + width(h as u64)) as f64, doubled);
    series[1].follows(|h| mean(h as u64, &delta).0, 0.0);
    series[2].follows(|h| mean(h as u64, &used).0, 0.0);
    Ok(Chart::new(
        "b",
        "Bits per counter with one hot key",
        [Axis::log("insertions of the hot key"), Axis::linear("bits per counter")],
        series,
    ))
}

/// Bits per counter of the dynamic and of the spectral filter, and the digits of their counters.
fn sizes(seed: u64, hot: u64) -> Result<[f64; 3]> {
    let Shape { m, n, k } = SHAPE;
    let mut dynamic =
        DynamicCount::with_shape(m, k, X, Hasher::seeded(seed)).expect("a shape that can be");
    let goal = Goal::default().set("m", m).set("k", u64::from(k)).seed(seed);
    let mut spectral = Spectral::planned(&goal)?;
    let mut keys = Generator::new(seed);
    let first = keys.next_u64();
    (0..hot).for_each(|_| {
        dynamic.insert(&first);
    });
    spectral.insert_times(&first, hot);
    for _ in 0..n {
        let key = keys.next_u64();
        dynamic.insert(&key);
        spectral.insert(&key);
    }
    let used: u64 = dynamic.counters().iter().map(digits).sum();
    let bits = [dynamic.memory().cells, spectral.counters().bits(), used];
    Ok(bits.map(|bits| bits as f64 / m as f64))
}

/// Nothing saturates on the way up, and all is as before on the way down.
fn turns(updates: u64) -> Result<Rows> {
    let mut rows = Rows::new("c", "One key up and down again", Axis::linear("count"));
    let mut filter = DynamicCount::with_shape(SHAPE.m, SHAPE.k, X, Hasher::default())
        .expect("a shape that can be");
    (0..updates).for_each(|_| {
        filter.insert("hot");
    });
    let mut row = |name: String, predicted: u64, measured: u64| {
        rows.row(name, predicted as f64, measured as f64, Bound::exactly(predicted as f64, 0.0));
    };
    row(format!("inserted {updates} times: its count"), updates, filter.count("hot"));
    for _ in 0..updates {
        filter.remove("hot")?;
    }
    row("removed as often: its count".into(), 0, filter.count("hot"));
    row("and the overflow vector's width".into(), 0, filter.counters().y().into());
    Ok(rows)
}
