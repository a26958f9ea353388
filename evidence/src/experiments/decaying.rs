//! Filters that forget, side by side: equal memory, one stream, what is denied by age, and what is wrongly found.

use std::collections::HashSet;

use everbloom::Result;
use everbloom::internals::filter::{FactValue, Filter, Record, Time};
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::Goal;
use everbloom::internals::theory::tail;

use crate::apparatus::generalized::steps;
use crate::apparatus::streams::{Ranks, key_of, zipf_shares};
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "decaying",
    source: "S3 §VII-B and S0 §III-H, §III-I, §III-L; catalogue §27–§33 and B18",
    title: "Filters that forget: one Zipf stream, equal memory",
    shows: "Eight filters are to remember a thousand arrivals in 24,000 bits. Most deny nothing within that window; they \
            differ in how long they remember beyond it, in false positives, and in the cells that a query reads. \
            Stable forgets a few early; forgetful counts from a key's first arrival, not from its last.",
    run,
};

/// What is to be remembered: the last arrivals, or the last distinct keys.
const WINDOW: u64 = 1000;
const BITS: u64 = 24 * WINDOW;

/// The stream: draws from Zipf's law over so many keys.
const ARRIVALS: u64 = 8 * WINDOW;
const KEYS: u64 = 50_000;
const SKEW: f64 = 0.8;

/// Ages in arrivals: the ends of the classes that keys are counted in. Each has the window on one side.
const AGES: [u64; 12] = [0, 250, 500, 750, 1000, 1250, 1500, 2000, 2500, 3000, 3500, 4000];
const CLASSES: usize = AGES.len() - 1;

/// Non-members asked of each filter.
const QUERIES: u64 = 20_000;

/// How a filter measures the age of a key.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Arrivals,
    /// Distinct keys that came since.
    Keys,
}

/// A filter, and between which ages it forgets.
struct Candidate {
    name: &'static str,
    slug: &'static str,
    settings: &'static [(&'static str, &'static str)],
    /// What the plan is given as items.
    items: u64,
    unit: Unit,
    /// Ages below the first are surely found, and below the second unless the key came before; ages from the third on
    /// are found by mistake only.
    life: (u64, u64, u64),
    /// Cells that a query for a non-member looks at, beside the filter's k.
    reads: fn(&dyn Filter) -> u64,
}

/// Decayed weights reach 1/(1 − λ) at most, which is 145 here: 7.2 half-lives more than a single arrival has.
const WEIGHTED_LIFE: u64 = WINDOW * 172 / 100;

const CANDIDATES: [Candidate; 8] = [
    Candidate {
        name: "stable",
        slug: "stable",
        settings: &[],
        items: WINDOW,
        unit: Unit::Arrivals,
        life: (0, 0, u64::MAX),
        reads: |filter| number(filter, "k"),
    },
    Candidate {
        name: "temporal counting",
        slug: "temporal-counting",
        settings: &[("initial", "1000"), ("cap", "1000")],
        items: WINDOW,
        unit: Unit::Arrivals,
        life: (WINDOW, WINDOW, WINDOW),
        reads: |filter| number(filter, "k"),
    },
    Candidate {
        name: "decaying, in blocks",
        slug: "decaying",
        settings: &[("blocks", "500")],
        items: WINDOW,
        unit: Unit::Arrivals,
        // V = 3 in 500 blocks.
        life: (WINDOW, WINDOW, 3 * 500),
        reads: |filter| number(filter, "k"),
    },
    Candidate {
        name: "time-decaying",
        slug: "time-decaying",
        settings: &[("half-life", "100"), ("least", "0.0009765625")],
        items: WINDOW,
        unit: Unit::Arrivals,
        life: (WINDOW, WINDOW, WEIGHTED_LIFE),
        reads: |filter| number(filter, "k"),
    },
    Candidate {
        name: "windowed (cuckoo)",
        slug: "windowed",
        settings: &[("ttl", "1000")],
        items: WINDOW,
        unit: Unit::Arrivals,
        // Epochs of four arrivals.
        life: (WINDOW, WINDOW, WINDOW + 4),
        reads: |_| 8,
    },
    Candidate {
        name: "double buffer",
        slug: "double-buffer",
        settings: &[],
        items: WINDOW,
        unit: Unit::Keys,
        life: (WINDOW, WINDOW, 2 * WINDOW),
        reads: |filter| number(filter, "k"),
    },
    Candidate {
        name: "A²",
        slug: "active-active",
        settings: &[],
        items: WINDOW,
        unit: Unit::Keys,
        life: (WINDOW, WINDOW, 2 * WINDOW),
        reads: |filter| 2 * number(filter, "k"),
    },
    Candidate {
        name: "forgetful",
        slug: "forgetful",
        settings: &[("past", "3")],
        // Three past epochs and the present one.
        items: WINDOW.div_ceil(3),
        unit: Unit::Keys,
        // A key that is found is not inserted again, so that its life may end right after it came.
        life: (0, WINDOW, 4 * WINDOW.div_ceil(3)),
        reads: |filter| 5 * number(filter, "k"),
    },
];

/// A number that the filter tells of its shape.
fn number(filter: &dyn Filter, name: &str) -> u64 {
    let facts = filter.describe();
    let value = facts.iter().find(|fact| fact.name == name).map(|fact| &fact.value);
    if let Some(FactValue::Integer(value)) = value { *value } else { 0 }
}

/// The last arrival of every key: its age in arrivals and in distinct keys, youngest first.
fn ages(stream: &[u64]) -> Vec<(u64, u64, u64)> {
    let mut seen = HashSet::new();
    let mut last = Vec::new();
    for (age, key) in (0..).zip(stream.iter().rev()) {
        if seen.insert(*key) {
            last.push((*key, age, last.len() as u64));
        }
    }
    last
}

/// What one filter did: for each class of ages how many keys there were, how many were denied, how many must be, how
/// many may be; then the rates that its fill predicts and that were measured, and the cells read.
struct Outcome {
    classes: [Class; CLASSES],
    predicted: f64,
    measured: f64,
    reads: (f64, f64),
    shape: Option<Stable>,
}

#[derive(Clone, Copy, Default)]
struct Class {
    keys: f64,
    denied: f64,
    must: f64,
    likely: f64,
    may: f64,
}

fn watch(lab: &Lab, candidate: &Candidate, seed: u64) -> Result<Outcome> {
    let mut ranks = Ranks::new(&zipf_shares(KEYS, SKEW), seed);
    // Streams end anywhere between two turns of a filter.
    let arrivals = ARRIVALS + Generator::new(seed).below(2 * WINDOW);
    let stream: Vec<u64> = (0..arrivals).map(|_| key_of(ranks.draw(), seed)).collect();
    let filter = fed(candidate, &stream, seed)?;
    let contains = |key: u64| filter.contains(&key.to_le_bytes());
    let mut classes = [Class::default(); CLASSES];
    let (surely, usually, gone) = candidate.life;
    for (key, age, distance) in ages(&stream) {
        let own = if candidate.unit == Unit::Arrivals { age } else { distance };
        if own < surely {
            lab.ask_members([key], |key| contains(*key));
        }
        let Some(class) = AGES[1..].iter().position(|end| age < *end) else { continue };
        let class = &mut classes[class];
        class.keys += 1.0;
        class.denied += f64::from(u8::from(!contains(key)));
        class.must += f64::from(u8::from(own >= gone));
        class.likely += f64::from(u8::from(own >= usually));
        class.may += f64::from(u8::from(own >= surely));
    }
    let mut others = Generator::new(!seed);
    let hits = (0..QUERIES).filter(|_| contains(others.next_u64())).count();
    let read = filter.trace(&others.next_u64().to_le_bytes()).len();
    Ok(Outcome {
        classes,
        predicted: filter.now().fpr.unwrap_or(f64::NAN),
        measured: hits as f64 / QUERIES as f64,
        reads: ((candidate.reads)(&*filter) as f64, read as f64),
        shape: (candidate.slug == "stable").then(|| Stable::of(&*filter)),
    })
}

/// A filter of the common size that has seen the stream; where it takes times, an arrival is a unit of time.
fn fed(candidate: &Candidate, stream: &[u64], seed: u64) -> Result<Box<dyn Filter>> {
    let variant = everbloom::catalog::by_slug(candidate.slug).expect("in the list");
    let goal = Goal { items: Some(candidate.items), ..Goal::default() }.bits(BITS).seed(seed);
    let set = |goal: Goal, setting: &(&str, &str)| goal.set(setting.0, setting.1);
    let goal = candidate.settings.iter().fold(goal, set);
    let keys: Vec<[u8; 8]> = stream.iter().map(|key| key.to_le_bytes()).collect();
    let timed = variant.input.time != Time::No;
    let records: Vec<Record<'_>> = (0..)
        .zip(&keys)
        .map(|(time, key)| if timed { Record::key(key).at(time) } else { Record::key(key) })
        .collect();
    variant.build_from(&goal, &records)
}

/// The shape of a stable filter, by which it is predicted when its keys are forgotten.
#[derive(Clone, Copy)]
struct Stable {
    m: f64,
    k: f64,
    max: u64,
    decrements: f64,
}

/// Cells drawn to average over, and the ranks that each of them meets or does not.
const CELLS: u64 = 1000;
const FREQUENT: usize = 300;

impl Stable {
    fn of(filter: &dyn Filter) -> Self {
        let of = |name| number(filter, name);
        Self {
            m: of("m") as f64,
            k: of("k") as f64,
            max: of("max"),
            decrements: of("decrements") as f64,
        }
    }

    /// How often an arrival sets a cell, for cells drawn at random: whoever shares a cell with a frequent key is set
    /// by it again and again, all others by rare keys only.
    fn sets(&self) -> Vec<f64> {
        let hit = 1.0 - (1.0 - 1.0 / self.m).powf(self.k);
        let shares = zipf_shares(KEYS, SKEW);
        let (frequent, rare) = shares.split_at(FREQUENT);
        let rest = hit * rare.iter().sum::<f64>();
        let mut coins = Generator::new(1);
        let cell = |_| rest + frequent.iter().filter(|_| coins.unit() < hit).sum::<f64>();
        (0..CELLS).map(cell).collect()
    }

    /// The share of keys that are denied so many arrivals after they came: one of their cells is zero. A cell is if
    /// it was touched `max` times at least and the last of these touches all were decrements.
    fn denied(&self, sets: &[f64], age: u64) -> f64 {
        let zero = |set: &f64| {
            let decrement = self.decrements / self.m * (1.0 - set);
            let touched = set + decrement;
            let only = (decrement / touched).powf(self.max as f64);
            only * tail::binomial_at_least(age, touched, self.max)
        };
        let zero = sets.iter().map(zero).sum::<f64>() / sets.len() as f64;
        1.0 - (1.0 - zero).powf(self.k)
    }
}

/// Of keys whose ages are spread evenly between both ends of a life, so many are denied at this age.
fn ramp(age: f64, (_, usually, gone): (u64, u64, u64)) -> f64 {
    let (usually, gone) = (usually as f64, gone as f64);
    if age >= gone { 1.0 } else { ((age - usually) / (gone - usually)).clamp(0.0, 1.0) }
}

/// Distinct keys among so many arrivals, on average.
fn distinct(shares: &[f64], arrivals: f64) -> f64 {
    shares.iter().map(|share| -(arrivals * (-share).ln_1p()).exp_m1()).sum()
}

fn middle(class: usize) -> f64 {
    (AGES[class] + AGES[class + 1]) as f64 / 2.0
}

/// Filters that count their keys do not count those that they take for members: their turns come later, by the rate,
/// and a few keys are found beyond their life.
const LATER: f64 = 0.005;

/// False negatives by age.
fn forgotten(candidate: &Candidate, outcomes: &[Outcome]) -> Series {
    let runs = outcomes.len() as f64;
    let fpr = outcomes.iter().map(|o| o.predicted).sum::<f64>() / runs;
    let total = |class: usize, of: fn(&Class) -> f64| -> f64 {
        outcomes.iter().map(|outcome| of(&outcome.classes[class])).sum()
    };
    let denied = |class: usize| total(class, |c| c.denied) / total(class, |c| c.keys);
    let bound_of = |class: usize, low: f64, high: f64| {
        let keys = total(class, |c| c.keys) as u64;
        let (low, high) = (bound::share(low, keys).low, bound::share(high, keys).high);
        Bound { low, high }
    };
    if let Some(shape) = outcomes[0].shape {
        let sets = shape.sets();
        let formula = |age: f64| shape.denied(&sets, age as u64);
        let mut series = Series::new(candidate.name, steps(0.0, 4000.0), formula);
        for class in 0..CLASSES {
            let age = middle(class);
            // Cells are averaged over by drawing, and ages of a class are taken for their middle.
            let bound = bound_of(class, formula(age), formula(age)).widened(formula(age), 0.05);
            series.point(age, formula(age), denied(class), bound);
        }
        // In the youngest class the curve bends too much for its middle to stand for it.
        let judged = series.points[1..].to_vec();
        series.follows_points(&judged, formula, 0.05);
        return series;
    }
    let shares = zipf_shares(KEYS, SKEW);
    let own = |age: f64| match candidate.unit {
        Unit::Arrivals => age,
        Unit::Keys => distinct(&shares, age),
    };
    let formula = |age: f64| ramp(own(age), candidate.life) * (1.0 - fpr);
    let mut series = Series::new(candidate.name, steps(0.0, 4000.0), formula);
    let (mut early, mut late) = (0.0, (0.0, 0.0));
    for class in 0..CLASSES {
        let keys = total(class, |c| c.keys);
        let [must, likely, may] = [
            total(class, |c| c.must) / keys,
            total(class, |c| c.likely) / keys,
            total(class, |c| c.may) / keys,
        ];
        let predicted = (must + likely) / 2.0 * (1.0 - fpr);
        series.point(
            middle(class),
            predicted,
            denied(class),
            bound_of(class, must * (1.0 - fpr), may).widened(1.0, LATER),
        );
        if may == 0.0 {
            early += total(class, |c| c.denied);
        }
        if must == 1.0 {
            late = (late.0 + total(class, |c| c.denied), late.1 + keys);
        }
    }
    series.claim("denied within the window", 0.0, early, Bound::exactly(0.0, 0.0));
    let bound = bound::share(1.0 - fpr, late.1 as u64).widened(1.0, LATER);
    series.claim("denied beyond its life", 1.0 - fpr, late.0 / late.1, bound);
    series
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(8);
    let mut rates =
        Rows::new("c", "False positives at equal memory", Axis::log("false-positive rate"));
    let mut reads = Rows::new("d", "Cells that a query reads", Axis::linear("cells per query"));
    let (mut by_arrivals, mut by_keys) = (Vec::new(), Vec::new());
    for candidate in &CANDIDATES {
        let outcomes = lab.runs(runs, |seed| watch(lab, candidate, seed))?;
        let series = forgotten(candidate, &outcomes);
        match candidate.unit {
            Unit::Arrivals => by_arrivals.push(series),
            Unit::Keys => by_keys.push(series),
        }
        let mean = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>() / runs as f64;
        let predicted = mean(|o| o.predicted);
        let bound = bound::share(predicted, runs * QUERIES);
        rates.row(candidate.name, predicted, mean(|o| o.measured), bound);
        let (expected, read) = (mean(|o| o.reads.0), mean(|o| o.reads.1));
        // Both buckets of a key are the same one now and then.
        reads.row(candidate.name, expected, read, Bound::between(0.98 * expected, expected + 1e-9));
    }
    let chart = |id: &str, what: &str, series| {
        Chart::new(
            id,
            format!("Keys denied, by age: {what}"),
            [Axis::linear("arrivals since the key came last"), Axis::linear("share denied")],
            series,
        )
    };
    Ok(Report::default()
        .chart(chart("a", "windows of arrivals", by_arrivals))
        .chart(chart("b", "windows of distinct keys", by_keys))
        .rows(rates)
        .rows(reads)
        .note(format!(
            "{ARRIVALS} arrivals and more of {KEYS} keys, Zipf with s = {SKEW}; each filter has {BITS} bits for a window of \
             {WINDOW}, and an arrival is a tick where ticks are told. Lines draw lives that end anywhere between the \
             two ages that a filter names, with equal chance; points are judged by those ages themselves, key by key."
        ))
        .note(
            "Stable: a cell's chance to be set differs with the frequent keys that share it, so the formula is averaged \
             over cells. Time-decaying holds a real number in each cell: few cells, and most non-members pass.",
        ))
}
