//! How likely it is that some counter of a counting filter reaches j, and what the bounds are worth.

use everbloom::Result;
use everbloom::internals::theory::counting as theory;
use everbloom::internals::theory::tail;

use crate::apparatus::highest::{self, K, PER_KEY};
use crate::{Axis, Bound, Chart, Experiment, Grade, Lab, Report, Rows, Said, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s0-fig5",
    source: "S0 Fig. 5, equations 13–17",
    title: "Probability that any counter of a counting filter reaches j",
    shows: "Four bits are enough: each further step up is far less likely than the one before, and the \
            bound that the survey draws lies twelve times above the truth at j = 6 and 22 to 26 times at j = 16.",
    run,
};

/// log2 of the number of counters, and filters at quick effort.
const SIZES: [(u32, u64); 3] = [(10, 2000), (14, 200), (17, 60)];
/// The last j that is drawn: where four bits overflow.
const LAST: u64 = 16;
/// Fewer expected events than this tell nothing.
const EVENTS: f64 = 10.0;

/// What the filters of one size had: how many of them reached each j, and how many counters did.
struct Seen {
    m: u64,
    runs: u64,
    filters: [u64; 17],
    counters: [u64; 17],
}

fn look(lab: &Lab, log_m: u32, runs: u64) -> Result<Seen> {
    let m = 1 << log_m;
    let tails = lab.runs(runs, |seed| {
        let mut reached = [0u64; 17];
        for count in highest::filled(m, seed).counters().iter() {
            reached[count as usize] += 1;
        }
        // From how many hold j to how many hold at least j.
        (0..LAST as usize).rev().for_each(|j| reached[j] += reached[j + 1]);
        Ok(reached)
    })?;
    let sum = |f: &dyn Fn(u64) -> u64| {
        std::array::from_fn(|j| tails.iter().map(|reached| f(reached[j])).sum())
    };
    Ok(Seen { m, runs, filters: sum(&|n| n.min(1)), counters: sum(&|n| n) })
}

fn run(lab: &Lab) -> Result<Report> {
    let seen = SIZES
        .iter()
        .map(|&(log_m, quick)| look(lab, log_m, lab.scaled(quick)))
        .collect::<Result<Vec<Seen>>>()?;
    let few = few_counters(lab)?;
    let report = Report::default()
        .chart(any_counter(&seen))
        .chart(one_counter(&seen[2]))
        .rows(constants(&seen))
        .note(format!(
            "S0 leaves m, n and k open. Here n = m/{PER_KEY} and k = {K}, just below the best k of \
             (m/n) ln 2, up to which equation 15 holds."
        ))
        .note(
            "Nobody meets a counter of 16: what can be measured is the small j, where the exact tail of \
             equation 13 is confirmed; the rest of the curves, and the constants, are computed from it.",
        )
        .note(
            "S0 quotes Pr(max > 15) < 1.51e-16. The exact tail of one counter at load ln 2 is 7.07e-17, \
             so that a filter of three counters exceeds it already: a factor m is missing.",
        );
    Ok(errata(report, &seen[0], few))
}

fn any_counter(seen: &[Seen]) -> Chart {
    let (mut series, mut bounds) = (Vec::new(), Vec::new());
    for (one, (log_m, _)) in seen.iter().zip(SIZES) {
        let all = || (1..=LAST).map(|j| j as f64);
        let mut exact = Series::new(format!("exact, m = 2^{log_m}"), all(), |j| {
            highest::some_reaches(one.m, j as u64)
        });
        for j in 1..LAST {
            let predicted = highest::some_reaches(one.m, j);
            if predicted * one.runs as f64 >= EVENTS {
                let measured = one.filters[j as usize] as f64 / one.runs as f64;
                exact.point(j as f64, predicted, measured, bound::share(predicted, one.runs));
            }
        }
        exact.follows(|j| highest::some_reaches(one.m, j as u64), 0.0);
        let mut bound = Series::new(format!("bound (15), m = 2^{log_m}"), all(), |j| {
            theory::max_at_least_bound_optimal(one.m, j as u64).min(1.0)
        });
        // Judged where it says something and enough was seen: at the last j but one that was measured.
        let seen = &exact.points[exact.points.len() - 2];
        let j = seen.x as u64;
        bound.factor(
            format!("at j = {j}, over the share measured"),
            one.m as f64 * equation_15(j) / seen.verdict.predicted,
            theory::max_at_least_bound_optimal(one.m, j),
            &seen.verdict,
        );
        // Computed: no counter of 16 is ever met.
        let above =
            theory::max_at_least_bound_optimal(one.m, 16) / highest::some_reaches(one.m, 16);
        bound.claim("at j = 16, over the exact tail", 24.0, above, Bound::between(21.5, 26.5));
        series.push(exact);
        bounds.push(bound);
    }
    series.extend(bounds);
    Chart::new(
        "a",
        "Some counter reaches j",
        [Axis::linear("counter value j"), Axis::log("probability")],
        series,
    )
}

fn one_counter(seen: &Seen) -> Chart {
    let (m, n) = (seen.m, seen.m / PER_KEY);
    let all = || (1..=LAST).map(|j| j as f64);
    let mut exact = Series::new("exact (13)", all(), |j| highest::counter_reaches(m, j as u64));
    // Counters of one filter compete for its throws, so their number varies less than that of
    // independent trials.
    let trials = seen.runs * m;
    for j in 1..LAST {
        let predicted = highest::counter_reaches(m, j);
        if predicted * trials as f64 >= EVENTS {
            let measured = seen.counters[j as usize] as f64 / trials as f64;
            exact.point(j as f64, predicted, measured, bound::share(predicted, trials));
        }
    }
    exact.follows(|j| highest::counter_reaches(m, j as u64), 0.0);
    let per_counter = |bound: f64| bound / m as f64;
    let by_14 = |j: f64| per_counter(theory::max_at_least_bound(m, n, K, j as u64));
    let by_15 = |j: f64| per_counter(theory::max_at_least_bound_optimal(m, j as u64));
    let mut bound14 = Series::new("bound (14)", all(), by_14);
    let mut bound15 = Series::new("bound (15)", all(), by_15);
    for j in [2, 4, 6] {
        let seen = &exact.points[j as usize - 1].verdict;
        let (what, x) = (format!("at j = {j}, over the share measured"), j as f64);
        bound14.factor(what.clone(), above_14(j), by_14(x), seen);
        bound15.factor(what, equation_15(j) / seen.predicted, by_15(x), seen);
    }
    Chart::new(
        "b",
        "A given counter reaches j (m = 2^17)",
        [Axis::linear("counter value j"), Axis::log("probability")],
        [exact, bound14, bound15],
    )
}

/// Equation 15 per counter, written out: (e ln 2/j)^j.
fn equation_15(j: u64) -> f64 {
    (std::f64::consts::E * std::f64::consts::LN_2 / j as f64).powi(j as i32)
}

/// By how much equation 14 exceeds the tail that it bounds: with the load λ = nk/m it has λ^j/j! where the tail is
/// e^−λ (λ^j/j! + λ^(j+1)/(j+1)! + …).
fn above_14(j: u64) -> f64 {
    let load = f64::from(K) / PER_KEY as f64;
    let mut term = 1.0;
    let terms = (1..30).map(|i| {
        term *= load / (j + i) as f64;
        term
    });
    load.exp() / (1.0 + terms.sum::<f64>())
}

/// The bounds where they are below one and something was seen, and the quoted constants.
fn constants(seen: &[Seen]) -> Rows {
    let mut rows =
        Rows::new("c", "Bounds kept, and the quoted constants", Axis::log("probability"));
    for (one, (log_m, _)) in seen.iter().zip(SIZES) {
        for j in 1..LAST {
            let bound = theory::max_at_least_bound_optimal(one.m, j);
            let expected = highest::some_reaches(one.m, j) * one.runs as f64;
            if bound < 1.0 && expected >= EVENTS {
                let measured = one.filters[j as usize] as f64 / one.runs as f64;
                let label = format!("some of 2^{log_m} reaches {j}: at most");
                rows.row(label, bound, measured, Bound::at_most(bound));
            }
        }
    }
    let bound = theory::max_at_least_bound_optimal(1, 16);
    rows.row("(16) per counter, computed", 1.37e-15, bound, Bound::exactly(1.37e-15, 0.005e-15));
    let truth = tail::poisson_tail(std::f64::consts::LN_2, 16);
    rows.row("exact, load ln 2, computed", 7.07e-17, truth, Bound::exactly(7.07e-17, 0.005e-17));
    rows
}

/// Filters with few counters, where the two bounds under equation 13 can be told apart.
const FEW: u64 = 64;
const FEW_J: u64 = 5;

/// The share of filters of [`FEW`] counters in which one reaches [`FEW_J`], and their number.
fn few_counters(lab: &Lab) -> Result<(f64, u64)> {
    const BATCH: u64 = 1000;
    let batches = lab.scaled(150);
    let reached = lab.runs(batches, |seed| {
        let high = |i: &u64| {
            let filter = highest::filled(FEW, seed.wrapping_add(*i));
            filter.counters().iter().any(|count| count >= FEW_J)
        };
        Ok((0..BATCH).filter(high).count())
    })?;
    let filters = batches * BATCH;
    Ok((reached.iter().sum::<usize>() as f64 / filters as f64, filters))
}

fn errata(report: Report, small: &Seen, (few, filters): (f64, u64)) -> Report {
    let (n, truth) = (FEW / PER_KEY, highest::some_reaches(FEW, FEW_J));
    let printed = FEW as f64 * theory::cell_pmf(FEW, n, K, FEW_J);
    let report = report.graded(
        Grade::Misprint,
        "S0 under eq. 13",
        [
            "“The probability that any counter is at least j is bounded above by mP(c(i) = j)”",
            "it is at most m·P(c ≥ j), as S1 has it: in 64 counters 5 is reached more often than m·P(c = 5)",
        ],
        Said::Follows(printed),
        [truth, few],
        bound::share(truth, filters),
    );
    let reaches = |j| highest::some_reaches(small.m, j);
    report.graded(
        Grade::Disputed,
        "S0 eq. 17",
        [
            "“Pr(max(c) > j) < Pr(max(c) = j − 1)”, for any j",
            "true of the far tail only, where it is no news; with 1024 counters and j = 3 the right side is \
             almost zero and the left almost one",
        ],
        Said::Follows(reaches(2) - reaches(3)),
        [reaches(4), small.filters[4] as f64 / small.runs as f64],
        bound::share(reaches(4), small.runs),
    )
}
