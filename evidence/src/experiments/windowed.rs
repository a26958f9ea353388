//! Windowed filters: slices that a run of hits must cross, and keys that are found as long as they live.

use everbloom::Result;
use everbloom::decaying::Windowed;
use everbloom::decaying::windowed::slices_rate;
use everbloom::internals::filter::Filter as _;
use everbloom::internals::hash::{Generator, Hasher, mix64};

use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "windowed",
    source: "S3 §VII-B and A. Shtul et al., Age-partitioned Bloom filters, 2020; catalogue B18",
    title: "Windowed filters: the rate of slices, and lives that end on time",
    shows: "A key passes where k slices in a row have it. Each further slice is one more chance for a non-member, and another g keys \
            that are remembered: the rate grows with their number, and falls by half with each further hash. Keys with a time to \
            live are found until it ends and no longer than an epoch beyond.",
    run,
};

/// Keys between two fresh slices.
const TURN: u64 = 200;
const HASHES: [u32; 3] = [4, 6, 8];
const MORE: [u32; 4] = [2, 4, 8, 16];
const QUERIES: u64 = 20_000;

/// The rate just before a fresh slice comes, where it is highest. The keys of the last `more` turns are members.
fn rate(lab: &Lab, k: u32, more: u32, seed: u64) -> Result<f64> {
    let mut filter = Windowed::with_slices(k, more, TURN, Hasher::seeded(seed))?;
    let key = |i: u64| mix64(seed ^ mix64(i));
    let keys = u64::from(2 * k + more) * TURN - 1;
    for i in 0..keys {
        filter.insert_for(&key(i), 1, 0)?;
    }
    let sure = u64::from(more) * TURN;
    lab.ask_members((keys - sure..keys).map(key), |key| filter.contains(key));
    let mut others = Generator::new(!seed);
    let hits = (0..QUERIES).filter(|_| filter.contains(&others.next_u64())).count();
    Ok(hits as f64 / QUERIES as f64)
}

fn slices(lab: &Lab) -> Result<Chart> {
    let runs = lab.scaled(5);
    let mut series = Vec::new();
    for k in HASHES {
        let formula = |more: u32| slices_rate(k, more);
        let curve = (1..=20).map(|more| (f64::from(more), formula(more))).collect();
        let mut one = Series { name: format!("k = {k}"), curve, ..Series::default() };
        for more in MORE {
            let seen = lab.runs(runs, |seed| rate(lab, k, more, seed))?;
            let measured = seen.iter().sum::<f64>() / runs as f64;
            let expected = formula(more);
            // A slice's fill spreads by 1/√m, and k of them are in a row.
            let m = f64::from(k) * TURN as f64 / std::f64::consts::LN_2;
            let sd = expected * (f64::from(k) / m).sqrt();
            let bound = bound::rate(expected, sd, runs, QUERIES).widened(expected, 0.02);
            one.point(f64::from(more), expected, measured, bound);
        }
        let points = one.points.clone();
        one.follows_points(&points, |more| formula(more as u32), 0.02);
        series.push(one);
    }
    Ok(Chart::new(
        "a",
        format!("Rate of k + l slices, a fresh one every {TURN} keys"),
        [Axis::linear("l, slices in addition to the k youngest"), Axis::log("false-positive rate")],
        series,
    ))
}

/// Lives of keys that arrive one per unit of time, each with a time to live of its own.
const LONGEST: u64 = 500;

/// Keys denied within their life, keys found an epoch or more after it, those asked, and the rate predicted.
fn lives(form: &str, seed: u64) -> Result<[f64; 4]> {
    let builder = Windowed::builder().items(LONGEST).rate(0.002).form(form);
    let mut filter: Windowed = builder.set("ttl", LONGEST).seed(seed).build()?;
    let key = |i: u64| mix64(seed ^ mix64(i));
    let life = |i: u64| 1 + mix64(key(i)) % LONGEST;
    // The last key comes as an epoch begins: a life that was cut off at its epoch's start ends there.
    let now = 4 * LONGEST;
    let keys = now + 1;
    for i in 0..keys {
        filter.insert_for(&key(i), life(i), i)?;
    }
    let epoch = if form == "ring" { LONGEST.div_ceil(8) } else { LONGEST.div_ceil(253) };
    let mut seen = [0.0; 4];
    for i in 0..keys {
        let (end, found) = (i + life(i), filter.contains(&key(i)));
        if end > now {
            seen[0] += f64::from(u8::from(!found));
        } else if end + epoch < now {
            seen[1] += f64::from(u8::from(found));
            seen[2] += 1.0;
        }
    }
    seen[3] = filter.now().fpr.unwrap_or(f64::NAN);
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(8);
    let mut early = Rows::new("b", "Keys denied within their time to live", Axis::linear("keys"));
    let mut late = Rows::new("c", "Keys found an epoch after it", Axis::log("share of keys"));
    for form in ["cuckoo", "multiset", "ring"] {
        let seen = lab.runs(runs, |seed| lives(form, seed))?;
        let sum = |i: usize| seen.iter().map(|run| run[i]).sum::<f64>();
        early.row(form, 0.0, sum(0), Bound::exactly(0.0, 0.0));
        let expected = sum(3) / runs as f64;
        late.row(form, expected, sum(1) / sum(2), bound::share(expected, sum(2) as u64));
    }
    Ok(Report::default().chart(slices(lab)?).rows(early).rows(late).note(
        "Slices are half full when they have taken all their keys. Expired keys are found at the rate of non-members, which the filter \
         predicts from its own entries.",
    ))
}
