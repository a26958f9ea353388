//! Compressed filters: what is really sent, and the rate that it buys.

use everbloom::Result;
use everbloom::compact::Compressed;
use everbloom::compact::compressed::{Design, entropy, rate_limit};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;
use everbloom::{Opener, to_bytes};

use crate::apparatus::classic::{Shape, elements};
use crate::{Axis, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s1-table1",
    source: "S1 Table 1, §2.6",
    title: "Compressed Bloom filters: bits sent per element and the rate",
    shows: "A larger and emptier filter is sent in the same sixteen bits per element, and errs half as \
            often.",
    run,
};

const ITEMS: u64 = 10_000;
const QUERIES: u64 = 200_000;

/// Bits in memory per element, hashes, and what is printed: bits sent and rate. The first three are the
/// columns of the table, the others the catalogue's (I8).
const COLUMNS: [(u64, u32, f64, f64); 6] = [
    (16, 11, 16.0, 0.000_459),
    (28, 4, 15.846, 0.000_314),
    (48, 3, 15.829, 0.000_222),
    (8, 6, 7.982, 0.021_577),
    (14, 2, 7.923, 0.017_721),
    (92, 2, 13.782, 0.000_462),
];

/// Means over filters of one column: bits sent per element and rate.
struct Seen {
    sent: f64,
    rate: f64,
}

fn measure(lab: &Lab, per_key: u64, k: u32, runs: u64) -> Result<Seen> {
    let (m, n) = (per_key * ITEMS, ITEMS);
    let seen = lab.runs(runs, |seed| {
        let mut filter =
            Compressed::with_shape(m, k, Hasher::seeded(seed)).expect("a shape that can be");
        let mut keys = Generator::new(seed);
        (0..n).for_each(|_| {
            filter.insert(&keys.next_u64());
        });
        // What comes out of the wire is what is asked.
        let received: Compressed = Opener::new().decode_as(&to_bytes(&filter))?;
        lab.ask_members(elements(n, seed), |key| received.contains(key));
        let hits = (0..QUERIES).filter(|_| received.contains(&keys.next_u64())).count();
        Ok((filter.bits().code_bits() as f64 / n as f64, hits as f64 / QUERIES as f64))
    })?;
    Ok(Seen {
        sent: seen.iter().map(|s| s.0).sum::<f64>() / runs as f64,
        rate: seen.iter().map(|s| s.1).sum::<f64>() / runs as f64,
    })
}

/// Standard deviation of the bits sent per element, m·H(ρ)/n, by that of the fill.
fn sent_sd(Shape { m, n, k }: Shape) -> f64 {
    let (m, throws) = (m as f64, n as f64 * f64::from(k));
    let (fill, sd) = (bloom::fill(m, throws), bloom::fill_sd(m, throws));
    (entropy(fill + sd) - entropy(fill)).abs() * m / n as f64
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(40);
    let mut sent = Rows::new("a", "Bits sent per element", Axis::linear("bits per element"));
    let mut rate = Rows::new("b", "False-positive rate", Axis::log("rate f"));
    // Memory from the standard filter's on, as much as the sixteen bits allow or anybody has.
    let memory = (64..=400).map(|i| f64::from(i) / 4.0);
    let mut curve =
        Series::new("best k", memory.clone(), |most| Design::for_sent(16.0, most).rate());
    for (per_key, k, printed_sent, printed_rate) in COLUMNS {
        let seen = measure(lab, per_key, k, runs)?;
        let shape = Shape { m: per_key * ITEMS, n: ITEMS, k };
        let label = format!("m/n = {per_key}, k = {k}");
        // The coder models the bits in adaptive steps, which costs up to a thousandth; printed rates are
        // rounded by as much.
        let bound = bound::mean(printed_sent, sent_sd(shape), runs).widened(printed_sent, 0.001);
        sent.row(label.clone(), printed_sent, seen.sent, bound);
        let bound = bound::rate(printed_rate, shape.fpr_sd(), runs, QUERIES);
        let bound = bound.widened(printed_rate, 0.002);
        rate.row(label, printed_rate, seen.rate, bound);
        let design = Design::for_sent(16.0, per_key as f64);
        if per_key >= 16 && design.k == k {
            curve.point(per_key as f64, design.rate(), seen.rate, bound);
        }
    }
    curve.follows(|most| Design::for_sent(16.0, most).rate(), 0.002);
    let mut limit = Series::new("limit 2^-16, never reached", memory, |_| rate_limit(16.0));
    let last = &curve.points[curve.points.len() - 1].verdict;
    limit.factor(
        "at the most memory measured, over the rate measured",
        (-16f64).exp2() / last.predicted,
        rate_limit(16.0),
        last,
    );
    Ok(Report::default()
        .rows(sent)
        .rows(rate)
        .chart(Chart::new(
            "c",
            "The rate at 16 bits sent per element",
            [Axis::linear("bits in memory per element m/n"), Axis::log("false-positive rate f")],
            [curve, limit],
        ))
        .note(format!(
            "n = {ITEMS}, which S1 leaves open. Bits sent are those of the real code of real filters; the \
             receiver's filter, decoded from them, is the one that is asked."
        ))
        .note(
            "The first three rows are the columns of Table 1, the others further pairs at about 8 and 14 \
             bits sent.",
        ))
}
