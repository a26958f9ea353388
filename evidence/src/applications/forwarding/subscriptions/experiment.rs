//! What subscriptions claim, tried on publications that are made up.

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;

use super::{Broker, Event, Subscription, Test, Value};
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A45",
    form: Form::Component,
    uses: &["bloom", "counting"],
    oracle: "all subscriptions of every neighbor, one by one",
    data: "subscriptions of 1 to 5 predicates, some of them ranges, and events of 6 attributes",
    experiment: Experiment {
        name: "subscriptions",
        source: "S0 §IV-C6 [92]–[94]",
        title: "Content-based publish and subscribe with summaries of subscriptions",
        shows: "No neighbor with a match is missed. Another gets an event of 6 attributes with 1 − (1−f)^41: 0.286 at \
                10 bits a subscription, 0.0041 at f = 10⁻⁴, 0.01 at 17.3 bits.",
        run,
    },
};

const SUBSCRIPTIONS: u64 = 500;
const NEIGHBORS: usize = 8;
const ATTRIBUTES: [&str; 6] = ["author", "city", "kind", "price", "size", "topic"];
/// Attributes that are numbers.
const NUMBERS: [&str; 2] = ["price", "size"];
const SUBSETS: f64 = 41.0;

fn text(random: &mut Generator, values: u64) -> String {
    format!("v{}", random.below(values))
}

/// A subscription of one to five predicates. Values are many, so that few events match.
fn subscription(random: &mut Generator) -> Subscription {
    let mut attributes = ATTRIBUTES;
    crate::sim::shuffle(&mut attributes, random);
    let count = 1 + random.below(5) as usize;
    let test = |attribute: &str, random: &mut Generator| {
        if NUMBERS.contains(&attribute) {
            let low = random.unit() * 9_000.0;
            return Test::Within(low..low + 15.0);
        }
        Test::Is(text(random, 5_000))
    };
    let chosen = attributes[..count].iter();
    chosen.map(|a| ((*a).to_owned(), test(a, random))).collect()
}

pub(super) fn event(random: &mut Generator, values: u64) -> Event {
    let value = |attribute: &str, random: &mut Generator| match NUMBERS.contains(&attribute) {
        true => Value::Number(random.unit() * 9_000.0),
        false => Value::Text(text(random, values)),
    };
    ATTRIBUTES.iter().map(|a| ((*a).to_owned(), value(a, random))).collect()
}

/// An event that a subscription matches.
fn aimed(subscription: &Subscription, random: &mut Generator) -> Event {
    let mut event = event(random, 5_000);
    for (attribute, test) in subscription {
        let value = match test {
            Test::Is(value) => Value::Text(value.clone()),
            Test::Within(range) => {
                Value::Number(range.start + random.unit() * (range.end - range.start))
            }
        };
        event.insert(attribute.clone(), value);
    }
    event
}

/// Neighbors missed by events that match something; counts how many were tried.
fn exactness(seed: u64) -> Result<(u64, u64)> {
    let mut random = Generator::new(seed);
    let mut broker = Broker::new(NEIGHBORS, 2 * SUBSCRIPTIONS, 12.0, 10.0)?;
    for neighbor in 0..NEIGHBORS {
        (0..SUBSCRIPTIONS)
            .try_for_each(|id| broker.subscribe(neighbor, id, subscription(&mut random)))?;
    }
    // A fifth is taken back.
    let mut back = Vec::new();
    for neighbor in 0..NEIGHBORS {
        for id in (0..SUBSCRIPTIONS).step_by(5) {
            back.push(broker.unsubscribe(neighbor, id)?);
        }
    }
    let kept: Vec<Subscription> = broker
        .neighbors
        .iter()
        .flat_map(|n| {
            n.subscriptions.values().step_by(9).map(|(subscription, _)| subscription.clone())
        })
        .collect();
    let (mut missed, mut tried) = (0, 0);
    for wanted in kept.iter().chain(back.iter().step_by(20)) {
        let event = aimed(wanted, &mut random);
        let forwarded = broker.forward(&event)?;
        let exact = (0..NEIGHBORS).filter(|&n| !broker.matching(n, &event).is_empty());
        for neighbor in exact {
            tried += 1;
            missed += u64::from(!forwarded.contains(&neighbor));
        }
    }
    Ok((missed, tried))
}

const EVENTS: u64 = 4_000;

/// The share of events that go to a neighbor of `n` subscriptions of other topics.
fn in_vain(seed: u64, bits: f64) -> Result<f64> {
    let mut random = Generator::new(seed);
    let mut broker = Broker::new(1, SUBSCRIPTIONS, bits, 10.0)?;
    for id in 0..SUBSCRIPTIONS {
        let value = |i: u64| Test::Is(format!("other{seed}-{i}-{id}"));
        let attributes = 1 + id as usize % 3;
        let predicates =
            ATTRIBUTES[..attributes].iter().zip(0..).map(|(a, i)| ((*a).to_owned(), value(i)));
        broker.subscribe(0, id, predicates.collect())?;
    }
    let mut sent = 0;
    for _ in 0..EVENTS {
        sent += broker.forward(&event(&mut random, u64::MAX))?.len();
    }
    Ok(sent as f64 / EVENTS as f64)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(6);
    let mut oracle = Oracle::default();
    let seen = lab.runs(2, exactness)?;
    oracle.none("neighbors with a match that are missed", seen.iter().map(|s| s.0).sum());
    let false_forward = |f: f64| 1.0 - libm::pow(1.0 - f, SUBSETS);
    let xs = (24..=96).map(|i| f64::from(i) / 4.0);
    let mut series =
        Series::new("1 − (1−f)^41", xs, |bits| false_forward(bloom::fpr_best(bits)));
    for bits in [10.0, 14.0, 17.3] {
        let shares = lab.runs(runs, |seed| in_vain(seed, bits))?;
        let mean = shares.iter().sum::<f64>() / runs as f64;
        let m = (SUBSCRIPTIONS as f64 * bits).ceil() as u64;
        let k = bloom::best_k(m, SUBSCRIPTIONS);
        let f = bloom::fpr_exact(m, SUBSCRIPTIONS, k);
        let throws = f64::from(k) * SUBSCRIPTIONS as f64;
        let spread =
            f64::from(k) * bloom::fill_sd(m as f64, throws) / bloom::fill(m as f64, throws);
        let expected = false_forward(f);
        series.point(bits, expected, mean, bound::rate(expected, expected * spread, runs, EVENTS));
    }
    let chart = Chart::new(
        "vain",
        "Events of 6 attributes forwarded to a neighbor that wants none of them",
        [Axis::linear("bits of filter for each subscription"), Axis::log("share of events")],
        [series],
    );
    let mut rows = Rows::new("summary", "What else holds", Axis::linear("as the row says"));
    let matched = seen.iter().map(|s| s.1).sum::<u64>() as f64;
    rows.row("matching neighbors tried", 500.0, matched, Bound::at_least(500.0));
    rows.row(
        "keys of neighbors missing in their united summary",
        0.0,
        united(lab)?,
        Bound::exactly(0.0, 0.0),
    );
    Ok(oracle.report().chart(chart).rows(rows))
}

/// Keys that the OR of all filters does not have.
fn united(lab: &Lab) -> Result<f64> {
    let mut random = Generator::new(lab.seed());
    let mut broker = Broker::new(4, SUBSCRIPTIONS, 12.0, 10.0)?;
    for neighbor in 0..4 {
        (0..50).try_for_each(|id| broker.subscribe(neighbor, id, subscription(&mut random)))?;
    }
    let Some(summary) = broker.summary()? else { return Ok(f64::NAN) };
    let keys = broker.neighbors.iter().flat_map(|n| n.keys.keys());
    Ok(keys.filter(|key| !summary.contains(*key)).count() as f64)
}
