//! The Bloom paradox: of all that a filter says yes to, how much is not there.

use everbloom::Result;
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::{bloom, tail};
use everbloom::membership::Bloom;
use everbloom::weighted::bloom_paradox::{Paradox, false_share, threshold};

use crate::bound::ALPHA;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s3-eq4",
    source: "S3 equation 4, §IV-A",
    title: "The Bloom paradox: when a yes is more likely wrong than right",
    shows: "The rarer the members among all that is asked for, the less a yes means: below a prior of \
            about f, most are wrong. There it costs less to deny without looking.",
    run,
};

/// Keys in the cache.
const CACHED: u64 = 1000;

/// Rates of the filters in the first picture.
const RATES: [f64; 3] = [0.1, 0.01, 0.001];

/// Members per key asked for.
const PRIORS: [f64; 5] = [0.5, 0.1, 0.01, 0.001, 0.0002];

/// The filter of the second picture.
const RATE: f64 = 0.01;

fn cache(fpr: f64, seed: u64) -> Bloom {
    let m = bloom::bits_for(CACHED, fpr);
    let mut filter = Bloom::with_shape(m, bloom::best_k(m, CACHED), Hasher::seeded(seed))
        .expect("a shape that can be");
    (0..CACHED).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn own_rate(filter: &Bloom) -> f64 {
    filter.now().fpr.unwrap_or(f64::NAN)
}

/// How many of `count` non-members pass, asked on all cores.
fn passing(lab: &Lab, filter: &Bloom, count: u64) -> Result<u64> {
    let step = 50_000;
    let starts: Vec<u64> = (0..count).step_by(step as usize).collect();
    let passed = lab.over(&starts, |&start| {
        let keys = CACHED + start..CACHED + count.min(start + step);
        Ok(keys.filter(|key| filter.contains(key)).count() as u64)
    })?;
    Ok(passed.iter().sum())
}

/// Equation 4: the share of wrong answers among the yeses, over the prior.
fn wrong_yeses(lab: &Lab) -> Result<Chart> {
    let cached = CACHED as f64;
    let mut series = Vec::new();
    for fpr in RATES {
        let priors = (0..=60).map(|i| 10f64.powf(-f64::from(i) / 10.0));
        let mut one = Series::new(format!("f = {fpr}"), priors, |p| false_share(1.0, p, fpr));
        let filter = cache(fpr, lab.seed());
        lab.ask_members(0..CACHED, |key| filter.contains(key));
        for prior in PRIORS {
            let universe = (cached / prior).round();
            let non_members = (universe - cached) as u64;
            let passed = passing(lab, &filter, non_members)?;
            let predicted = false_share(universe, cached, own_rate(&filter));
            // All members pass, so that the share is that of a binomial number of non-members.
            let (low, high) = tail::binomial_bounds(non_members, own_rate(&filter), ALPHA);
            let share = |wrong: u64| wrong as f64 / (cached + wrong as f64);
            one.point(prior, predicted, share(passed), Bound::between(share(low), share(high)));
        }
        // The filter's own rate differs from the planned one by its fill: 4 % of it, k times.
        one.follows(|prior| false_share(1.0, prior, fpr), 0.2);
        series.push(one);
    }
    Ok(Chart::new(
        "a",
        "Share of wrong answers among the yeses",
        [Axis::log("prior of membership |C|/|M|"), Axis::linear("P(not there | yes)")],
        series,
    ))
}

/// What believing, denying and choosing between the two cost, over the prior.
fn policies(lab: &Lab) -> Result<Chart> {
    let filter = cache(RATE, lab.seed());
    let paradox = Paradox::of(&filter, 1.0)?;
    let fpr = own_rate(&filter);
    let xs = || (0..=60).map(|i| 10f64.powf(-4.0 + f64::from(i) / 20.0));
    let believed = move |p: f64| (1.0 - p) * fpr;
    let chosen = move |p: f64| p.min(believed(p));
    let mut choose = Series::new("deny below the threshold", xs(), chosen);
    let mut believe = Series::new("believe every yes", xs(), believed);
    let mut deny = Series::new("deny without looking", xs(), |p| p);
    let queries = lab.scaled(400_000);
    for prior in [0.0002, 0.001, 0.005, 0.02, 0.1] {
        let errors = lab.runs(8, |seed| {
            let mut coins = Generator::new(seed);
            let (mut wrong, mut non_members) = ([0u64; 3], CACHED + (seed >> 16));
            for _ in 0..queries / 8 {
                let member = coins.unit() < prior;
                let key = if member { coins.below(CACHED) } else { non_members };
                non_members += 1;
                let yes = filter.contains(&key);
                let answers = [paradox.ask(prior, || yes)?, yes, false];
                wrong.iter_mut().zip(answers).for_each(|(w, a)| *w += u64::from(a != member));
            }
            Ok(wrong)
        })?;
        let all =
            [(&mut choose, chosen(prior)), (&mut believe, believed(prior)), (&mut deny, prior)];
        for (i, (series, predicted)) in all.into_iter().enumerate() {
            let wrong: u64 = errors.iter().map(|e| e[i]).sum();
            let share = wrong as f64 / queries as f64;
            series.point(prior, predicted, share, bound::share(predicted, queries));
        }
    }
    choose.follows(chosen, 0.0);
    believe.follows(believed, 0.0);
    deny.follows(|prior| prior, 0.0);
    Ok(Chart::new(
        "b",
        format!("Wrong answers per query at f = {RATE}, by policy"),
        [Axis::log("prior of membership"), Axis::log("wrong answers per query")],
        [choose, believe, deny],
    ))
}

/// The cache S3 quotes, with the rate measured, and the priors from which a yes is to be believed.
fn quoted(lab: &Lab) -> Result<Rows> {
    let mut rows = Rows::new("c", "S3's cache of 10^4 among 10^10", Axis::log("probability"));
    let filter = cache(1e-3, lab.seed_of(1));
    let non_members = lab.scaled(1_000_000);
    let seen = passing(lab, &filter, non_members)? as f64 / non_members as f64;
    let (low, high) = tail::binomial_bounds(non_members, own_rate(&filter), ALPHA);
    // The fill, and with it f, differs by 4 % from filter to filter; five times that in 10^-3.
    let share = false_share(1e10, 1e4, seen);
    let almost = 1.0 - 1e-3;
    rows.row(
        "P(not there | yes), \"almost 1 - 10^-3\"",
        almost,
        share,
        Bound::exactly(almost, 2e-4),
    );
    for alpha in [1.0, 10.0] {
        let bound = Bound::between(
            threshold(low as f64 / non_members as f64, alpha),
            threshold(high as f64 / non_members as f64, alpha),
        );
        let predicted = threshold(own_rate(&filter), alpha);
        let label = format!("least prior worth a look, a miss costs {alpha}");
        rows.row(label, predicted, threshold(seen, alpha), bound);
    }
    Ok(rows)
}

fn run(lab: &Lab) -> Result<Report> {
    Ok(Report::default().chart(wrong_yeses(lab)?).chart(policies(lab)?).rows(quoted(lab)?).note(
        "S3 writes f_p, a proportion of the queries made, where the rate f is meant. Curves take f \
             as planned; points are judged by the rate that follows from their filter's own fill. \
             10^10 keys are not asked: the quoted share is equation 4 with the rate measured.",
    ))
}
