//! The adaptive cuckoo filter: how fast repeated queries stop passing.

use everbloom::Result;
use everbloom::fingerprints::AdaptiveCuckoo;
use everbloom::internals::hash::{Generator, Hasher, mix64};

use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "adaptive-cuckoo",
    source: "S3 §VIII and M. Mitzenmacher et al., Adaptive cuckoo filters, ALENEX 2018; catalogue B9",
    title: "The adaptive cuckoo filter: the rate per round of repeated queries",
    shows: "Each false positive that is found out changes the fingerprint that let it pass. Queries that come again and \
            again pass ever less: with two selector bits by a factor of e per round, with one bit down to those few \
            that undo each other's repairs. Without selectors nothing changes.",
    run,
};

/// Four tables of 2048 slots at a load of 0.95, fingerprints of eight bits.
const SLOTS: u64 = 2048;
const KEYS: u64 = 7782;
const FINGERPRINT: u32 = 8;

/// Non-members, drawn anew for every query; a round has as many queries.
const OTHERS: u64 = 25_000;
const ROUNDS: usize = 5;

/// The share of queries that pass in each round, by the number of states a slot can take.
///
/// To each state of a slot belong a Poisson number of non-members that pass by it. Whichever of them is queried first
/// moves the slot to its next state; a slot whose states all let somebody pass goes on for ever.
fn predicted(states: usize) -> [f64; ROUNDS] {
    let compared = OTHERS as f64 * 4.0 * KEYS as f64 / (4 * SLOTS) as f64;
    let matches = compared / f64::from(1u32 << FINGERPRINT) / KEYS as f64;
    let chance = [(-matches).exp(), matches * (-matches).exp()];
    let chances = [chance[0], chance[1], 1.0 - chance[0] - chance[1]];
    const STEPS: usize = 200;
    let mut rounds = [0.0; ROUNDS];
    for combination in 0..3usize.pow(states as u32) {
        let passing: Vec<usize> =
            (0..states).map(|s| combination / 3usize.pow(s as u32) % 3).collect();
        let likely: f64 = passing.iter().map(|count| chances[*count]).product();
        let mut at = vec![0.0; states];
        at[0] = 1.0;
        for round in &mut rounds {
            for _ in 0..STEPS {
                let moved: Vec<f64> = at
                    .iter()
                    .zip(&passing)
                    .map(|(share, count)| share * -(-(*count as f64) / STEPS as f64).exp_m1())
                    .collect();
                for (s, moved) in moved.iter().enumerate() {
                    at[s] -= moved;
                    at[(s + 1) % states] += moved;
                    *round += likely * moved * KEYS as f64 / OTHERS as f64;
                }
            }
        }
    }
    rounds
}

fn rounds(lab: &Lab, selector: u32, seed: u64) -> Result<[f64; ROUNDS]> {
    let mut filter =
        AdaptiveCuckoo::with_shape(SLOTS, selector, FINGERPRINT, Hasher::seeded(seed))?;
    let key = |i: u64| mix64(seed ^ mix64(i));
    for i in 0..KEYS {
        filter.insert(&key(i))?;
    }
    let mut random = Generator::new(!seed);
    let rates = std::array::from_fn(|_| {
        let before = filter.repairs();
        (0..OTHERS).for_each(|_| _ = filter.look_up(&key(KEYS + random.below(OTHERS))));
        (filter.repairs() - before) as f64 / OTHERS as f64
    });
    lab.ask_members((0..KEYS).map(key), |key| filter.contains(key));
    Ok(rates)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(10);
    let mut series = Vec::new();
    for (selector, name) in [(0, "no selector"), (1, "1 selector bit"), (2, "2 selector bits")] {
        let predicted = predicted(1 << selector);
        let seen = lab.runs(runs, |seed| rounds(lab, selector, seed))?;
        let mut one = Series {
            name: name.into(),
            curve: (1..).map(f64::from).zip(predicted).collect(),
            ..Series::default()
        };
        for (i, rate) in predicted.into_iter().enumerate() {
            let measured = seen.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
            // Few slots repeat the same mistakes: repairs of a run are counted as those that happen in pairs, and all
            // mistakes of a filter that cannot repair come from a Poisson number of non-members.
            let events = OTHERS as f64 / if selector == 0 { 2.0 } else { 1.5 };
            let sd = (rate / events).sqrt();
            let bound = bound::mean(rate, sd, runs).widened(rate, 0.03);
            one.point((i + 1) as f64, rate, measured, bound);
        }
        let points = one.points.clone();
        one.follows_points(&points, |x| predicted[x as usize - 1], 0.03);
        let fall = points[ROUNDS - 1].verdict.measured / points[0].verdict.measured;
        let most = [(0.85, 1.15), (0.0, 0.2), (0.0, 0.05)][selector as usize];
        let expected = predicted[ROUNDS - 1] / predicted[0];
        one.claim("fifth round over the first", expected, fall, Bound::between(most.0, most.1));
        series.push(one);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "",
            "Share of queries that pass, round by round",
            [Axis::linear("round"), Axis::log("share of queries")],
            series,
        ))
        .note(format!(
            "{KEYS} members in four tables of {SLOTS} slots; a round draws {OTHERS} queries from {OTHERS} non-members. \
             The prediction follows each slot through its states: those in which somebody passes are left at the first \
             query of one of them."
        )))
}
