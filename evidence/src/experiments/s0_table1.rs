//! What more hashes, more bits and more elements do to a filter.

use everbloom::Result;
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::membership::Bloom;

use crate::apparatus::classic::{self, Rate, Shape};
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s0-table1",
    source: "S0 Table I",
    title: "Key parameters of a Bloom filter and what increasing them does",
    shows: "More bits lower the rate, more elements raise it; more hashes lower it up to the best \
            number and raise it beyond.",
    run,
};

/// S0 leaves the sizes open: ten bits per element, whose best k is 6.93.
const BASE: Shape = Shape { m: 4000, n: 400, k: 7 };

/// One row of the table: a parameter, its values, and whether each step is to raise the rate.
struct Parameter {
    id: &'static str,
    name: &'static str,
    others: &'static str,
    values: &'static [u64],
    shape: fn(u64) -> Shape,
    raises: fn(u64) -> bool,
}

const PARAMETERS: [Parameter; 3] = [
    Parameter {
        id: "a",
        name: "number of hashes k",
        others: "m = 4000, n = 400",
        values: &[1, 2, 3, 4, 7, 11, 15, 20],
        shape: |k| Shape { k: k as u32, ..BASE },
        raises: |k| k > 7,
    },
    Parameter {
        id: "b",
        name: "size m",
        others: "bits; n = 400, k = 7",
        values: &[1200, 1600, 2400, 3200, 4000, 4800, 6000],
        shape: |m| Shape { m, ..BASE },
        raises: |_| false,
    },
    Parameter {
        id: "c",
        name: "number of elements n",
        others: "m = 4000, k = 7",
        values: &[200, 300, 400, 600, 800, 1200, 1600],
        shape: |n| Shape { n, ..BASE },
        raises: |_| true,
    },
];

fn chart(parameter: &Parameter, rates: &[Rate]) -> Chart {
    let Parameter { values, shape, .. } = parameter;
    let (first, last) = (values[0], values[values.len() - 1]);
    let step = ((last - first) / 100).max(1) as usize;
    let xs = (first..=last).step_by(step).map(|x| x as f64);
    let classic = |x: f64| {
        let Shape { m, n, k } = shape(x as u64);
        bloom::fpr_classic(m as f64, n as f64, f64::from(k))
    };
    let mut series = Series::new("rate", xs, classic);
    for (x, rate) in values.iter().zip(rates) {
        series.point(*x as f64, rate.predicted, rate.measured, rate.bound);
    }
    series.follows(classic, 0.01);
    Chart::new(
        parameter.id,
        format!("Rate over the {}", parameter.name),
        [
            Axis::linear(format!("{} ({})", parameter.name, parameter.others)),
            Axis::log("false-positive rate"),
        ],
        [series],
    )
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(20);
    let mut report = Report::default();
    let mut rows = Rows::new(
        "d",
        "Table I, sentence by sentence",
        Axis::linear("share of the steps, or factor"),
    );
    let all = Bound::exactly(1.0, 0.0);
    for parameter in &PARAMETERS {
        let Parameter { values, shape, raises, .. } = *parameter;
        let shapes: Vec<Shape> = values.iter().map(|v| shape(*v)).collect();
        let rates = classic::rates(lab, &shapes, runs)?;
        // A step as wide as these changes the rate by many times its spread.
        let steps: Vec<(u64, bool)> = values[1..]
            .iter()
            .zip(rates.windows(2))
            .map(|(value, pair)| (*value, pair[1].measured > pair[0].measured))
            .collect();
        for (up, does) in [(false, "lowers"), (true, "raises")] {
            let (mut right, mut tried) = (0, 0);
            for (_, rose) in steps.iter().filter(|(value, _)| raises(*value) == up) {
                tried += 1;
                right += u32::from(*rose == up);
            }
            if tried > 0 {
                let beyond = match (parameter.id, up) {
                    ("a", false) => ", up to the best,",
                    ("a", true) => ", beyond the best,",
                    _ => "",
                };
                let label = format!("{}{beyond} {does} the rate", parameter.name);
                rows.row(label, 1.0, f64::from(right) / f64::from(tried), all);
            }
        }
        report = report.chart(chart(parameter, &rates));
    }
    // "More computation" and "more space": a member is looked up in k bits, of m.
    let larger = [Shape { k: 14, ..BASE }, Shape { m: 8000, ..BASE }];
    let grown = larger.map(|shape| {
        let [base, more] = [BASE, shape].map(|s| s.filled(lab.seed()));
        let member = Generator::new(lab.seed()).next_u64().to_le_bytes();
        let probes = |f: &Bloom| f.trace(&member).len() as f64;
        let bits = |f: &Bloom| f.memory().cells as f64;
        [probes(&more) / probes(&base), bits(&more) / bits(&base)]
    });
    let twice = Bound::exactly(2.0, 0.0);
    rows.row("twice the hashes: computation", 2.0, grown[0][0], twice);
    rows.row("twice the size: space", 2.0, grown[1][1], twice);
    Ok(report.rows(rows).note(
        "Table I names directions only. Up to 4,096 bits, rates are judged against the exact formula (S3 eq. 3); \
         computation is counted in bits looked at for a member, space in bits of cells.",
    ))
}
