//! Counters of four bits: how they are distributed, how much of them is used, and where they end.

use everbloom::Result;
use everbloom::counting::Counting;
use everbloom::internals::cells::Code;
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::tail::binomial_at_least;

use crate::apparatus::classic::elements;
use crate::apparatus::counters::{Shape, digits};
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s4-counting",
    source: "S4, counting Bloom filters",
    title: "Counters of a counting Bloom filter: how large they get and what they take",
    shows: "Counters follow Poisson's law, so nearly all are below 8 and four bits are a safe choice: they \
            hold 1.6 bits of information. A key that comes twenty times still overflows them.",
    run,
};

/// λ = 0.693 with 990 keys: as good as the best load, ln 2.
const BEST: Shape = Shape { m: 10_000, n: 990, k: 7 };

/// Bits of a counter.
const WIDTH: u32 = 4;

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(1500);
    let mut series = Vec::new();
    for n in [BEST.n / 2, BEST.n, 2 * BEST.n] {
        let shape = Shape { n, ..BEST };
        let counts = histogram(lab, shape, runs)?;
        let trials = runs * shape.m;
        // Counters that are expected a few times only would be missing now and then.
        let shown = (0..16).take_while(|j| shape.pmf(*j) * trials as f64 >= 20.0);
        let values: Vec<u64> = shown.collect();
        let name = format!("{n} keys, load {:.3}", shape.load());
        let mut one = Series::new(name, values.iter().map(|j| *j as f64), |j| shape.pmf(j as u64));
        for j in values {
            let share = counts[j as usize] as f64 / trials as f64;
            // The number of counters at j varies less than that of independent ones.
            one.point(j as f64, shape.pmf(j), share, bound::share(shape.pmf(j), trials));
        }
        one.follows(|j| shape.pmf(j as u64), 0.0);
        series.push(one);
    }
    let counts = histogram(lab, BEST, runs)?;
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            "Share of counters at each value",
            [Axis::linear("value of the counter"), Axis::log("share of counters")],
            series,
        ))
        .rows(sizes(&counts, runs))
        .rows(overflows(&counts, runs))
        .rows(ends()?)
        .note(
            "S4 gives no parameters: m = 10,000 and k = 7 are chosen, at half, once and twice the best \
             load ln 2. The curves are binomial, C(nk, j) m^−j (1 − 1/m)^{nk−j}, all but Poisson's.",
        )
        .note(
            "That a counter reaches 16 (at the best load 7·10^−17) is not to be seen by trying; the \
             smaller widths (c) show that the tail is as computed.",
        ))
}

/// How many counters stand at 0, 1, 2, … in all runs together, with keys once each.
fn histogram(lab: &Lab, shape: Shape, runs: u64) -> Result<Vec<u64>> {
    let all = lab.runs(runs, |seed| {
        let mut filter = Counting::with_shape(shape.m, shape.k, WIDTH, Hasher::seeded(seed))
            .expect("a shape that can be");
        let mut keys = Generator::new(seed);
        for _ in 0..shape.n {
            filter.insert(&keys.next_u64());
        }
        lab.ask_members(elements(shape.n, seed), |key| filter.contains(key));
        let mut counts = vec![0u64; 1 << WIDTH];
        filter.counters().iter().for_each(|c| counts[c as usize] += 1);
        Ok(counts)
    })?;
    Ok((0..1 << WIDTH).map(|j| all.iter().map(|run| run[j]).sum()).collect())
}

/// What a counter takes, in bits: in four bits, in codes, and at least.
fn sizes(counts: &[u64], runs: u64) -> Rows {
    let mut rows =
        Rows::new("b", "Bits per counter at the best load", Axis::linear("bits per counter"));
    let total = (runs * BEST.m) as f64;
    let mut row = |name: &str, bits: &dyn Fn(u64) -> f64| {
        let (mean, bound) = BEST.mean_bound(bits, runs);
        let measured = (0..).zip(counts).map(|(j, c)| *c as f64 * bits(j)).sum::<f64>() / total;
        rows.row(name, mean, measured, bound);
    };
    row("Elias' δ code", &|c| Code::Delta.bits(c + 1) as f64);
    row("Elias' γ code", &|c| Code::Gamma.bits(c + 1) as f64);
    row("c ones and a zero", &|c| (c + 1) as f64);
    row("digits in use", &|c| digits(c) as f64);
    let plain = Counting::with_shape(BEST.m, BEST.k, WIDTH, Hasher::default())
        .expect("a shape that can be")
        .memory()
        .cells;
    let four = f64::from(WIDTH);
    rows.row("four bits each", four, plain as f64 / BEST.m as f64, Bound::exactly(four, 0.0));
    let (entropy, bound) = BEST.mean_bound(|c| -BEST.pmf(c).log2(), runs);
    let seen = counts.iter().map(|c| *c as f64 / total).filter(|p| *p > 0.0);
    rows.row("entropy", entropy, seen.map(|p| -p * p.log2()).sum(), bound);
    rows
}

/// The share of counters that narrower counters could not hold.
fn overflows(counts: &[u64], runs: u64) -> Rows {
    let title = "Share of counters that need more bits";
    let mut rows = Rows::new("c", title, Axis::log("share of counters"));
    let trials = runs * BEST.m;
    for width in 1..WIDTH {
        let least = 1u64 << width;
        let more: u64 = counts[least as usize..].iter().sum();
        let throws = BEST.n * u64::from(BEST.k);
        let predicted = binomial_at_least(throws, 1.0 / BEST.m as f64, least);
        let bound = bound::share(predicted, trials);
        rows.row(
            format!("more than {width} of 4 bits"),
            predicted,
            more as f64 / trials as f64,
            bound,
        );
    }
    rows
}

/// A set fits; a key that comes twenty times does not, and its count is lost for good.
fn ends() -> Result<Rows> {
    let mut rows = Rows::new("d", "Where four bits end", Axis::linear("count"));
    let mut row = |name: &str, count: u64, measured: u64| {
        rows.row(name, count as f64, measured as f64, Bound::exactly(count as f64, 0.0));
    };
    let mut filter = Counting::with_shape(BEST.m, BEST.k, WIDTH, Hasher::seeded(1))
        .expect("a shape that can be");
    (0..BEST.n).for_each(|key| {
        filter.insert(&key);
    });
    row("990 keys once: full counters", 0, filter.counters().saturated());
    // Twenty more of a key that is there.
    (0..20).for_each(|_| {
        filter.insert(&0u64);
    });
    row("one 20 times more: its count", filter.counters().max(), filter.count(&0u64));
    for _ in 0..21 {
        filter.remove(&0u64)?;
    }
    row("removed again: its count", filter.counters().max(), filter.count(&0u64));
    Ok(rows)
}
