//! Which filter? Bits per key against the rate of what people choose between, by what may happen to their keys.

use everbloom::Result;
use everbloom::internals::filter::Record;
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::bound::times_bound;
use everbloom::internals::variant::Variant;

use crate::apparatus::classic::elements;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "which-filter",
    source: "S1 §2.2; catalogue F1, F3, B4, B7, B12, §2",
    title: "Which filter? Bits per key and rate, beside the lower bound",
    shows: "Keys that never change: ribbon and binary fuse come closest to the least that any filter takes. Keys that are \
            added: a Bloom filter takes 1.44 times the least, a blocked one buys speed with bits at low rates. Keys \
            that are deleted, too: cuckoo and quotient filters take a fourth of what counters take.",
    run,
};

/// 95 % of 4·2^12 slots, where tables whose size is a power of two are at their best.
const ITEMS: u64 = 15_500;
const QUERIES: u64 = 400_000;
/// Non-members are asked down to this rate.
const MEASURED_TO: f64 = 1e-4;
const RATES: [f64; 13] =
    [0.1, 0.03, 0.01, 0.004, 1e-3, 4e-4, 1e-4, 4e-5, 1e-5, 4e-6, 1e-6, 4e-7, 1e-7];

/// Bits per key that the picture shows: counters need more below one percent.
const WIDEST: f64 = 40.0;

/// What may happen to the keys of each.
const FILTERS: [(&str, &str); 8] = [
    ("ribbon", "never change"),
    ("binary-fuse", "never change"),
    ("bloom", "added"),
    ("blocked", "added"),
    ("cuckoo", "added, deleted"),
    ("quotient", "added, deleted"),
    ("d-left", "added, deleted"),
    ("counting", "added, deleted"),
];

/// Bits per key of a built filter and the share of non-members that passed.
struct Seen {
    bits: f64,
    predicted: f64,
    measured: f64,
}

fn look(lab: &Lab, variant: &'static Variant, rate: f64) -> Result<Seen> {
    let keys: Vec<[u8; 8]> = elements(ITEMS, lab.seed()).map(u64::to_le_bytes).collect();
    let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key)).collect();
    let filter = variant.build_from(&Goal::new(ITEMS, rate).seed(lab.seed()), &records)?;
    lab.ask_members(&keys, |key| filter.contains(*key));
    let queries = lab.scaled(QUERIES);
    let mut others = Generator::new(!lab.seed());
    let hits = (0..queries).filter(|_| filter.contains(&others.next_u64().to_le_bytes())).count();
    Ok(Seen {
        bits: filter.memory().cells as f64 / ITEMS as f64,
        predicted: filter.now().fpr.unwrap_or(f64::NAN),
        measured: hits as f64 / queries as f64,
    })
}

fn series(lab: &Lab, slug: &str, keys: &str) -> Result<(Series, Vec<Seen>)> {
    let variant = everbloom::catalog::by_slug(slug).expect("in the list");
    let mut one = Series { name: format!("{slug} ({keys})"), ..Series::default() };
    for rate in RATES {
        if let Some(expect) = variant.expect(&Goal::new(ITEMS, rate), &Load::items(ITEMS))? {
            one.curve.push((expect.bits as f64 / ITEMS as f64, expect.fpr));
            one.curve.retain(|point| point.0 <= WIDEST);
        }
    }
    let rates: Vec<f64> = RATES.into_iter().filter(|rate| *rate >= MEASURED_TO).collect();
    let seen = lab.over(&rates, |rate| look(lab, variant, *rate))?;
    for s in seen.iter().filter(|s| s.bits <= WIDEST) {
        // The rate is that of filters of this fill; fingerprints of one of them repeat more or less often.
        let bound = bound::share(s.predicted, lab.scaled(QUERIES)).widened(s.predicted, 0.02);
        one.point(s.bits, s.predicted, s.measured, bound);
    }
    // What was planned before there were keys holds for these, too, as far as fills differ.
    let planned = one.curve.clone();
    let nearest = |bits: f64| {
        let off = |point: &&(f64, f64)| (point.0 - bits).abs();
        let near = planned.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        near.map_or(f64::NAN, |point| point.1)
    };
    one.follows(nearest, 0.05);
    Ok((one, seen))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut chart = Chart::new(
        "",
        "False-positive rate over bits per key",
        [Axis::linear("bits per key"), Axis::log("false-positive rate")],
        [Series::new("the least that is possible", [0.0, 23.25], |bits| (-bits).exp2())],
    );
    let mut rows =
        Rows::new("least", "Bits over n·log2(1/ε), ε measured", Axis::linear("times the least"));
    let (mut at_a_thousandth, mut least_of_all) = (Vec::new(), f64::INFINITY);
    for (slug, keys) in FILTERS {
        let (one, seen) = series(lab, slug, keys)?;
        // Measured rates are off by a few percent at the low end: a hundredth of the bits.
        let times = |s: &Seen| times_bound(s.bits, 1.0, s.measured).unwrap_or(f64::INFINITY);
        let least = seen.iter().map(times).fold(f64::INFINITY, f64::min);
        rows.row(format!("{slug}: at least the bound"), 1.0, least, Bound::at_least(0.99));
        least_of_all = least_of_all.min(least);
        at_a_thousandth.push(times(&seen[4]));
        chart.series.push(one);
    }
    chart.series[0].claim(
        "bits of the best over the least",
        1.0,
        least_of_all,
        Bound::at_least(0.99),
    );
    // The order that the picture shows, as ratios at a rate of 0.001.
    let [ribbon, fuse, bloom, blocked, cuckoo, quotient, _, counting] = at_a_thousandth[..] else {
        unreachable!("one for each filter")
    };
    for (label, ratio, most) in [
        ("ribbon over binary-fuse", ribbon / fuse, 1.0),
        ("binary-fuse over bloom", fuse / bloom, 0.9),
        ("bloom over blocked", bloom / blocked, 1.0),
        ("cuckoo over counting", cuckoo / counting, 0.3),
        ("quotient over counting", quotient / counting, 0.3),
    ] {
        rows.row(format!("{label} at 0.001"), most, ratio, Bound::at_most(most));
    }
    Ok(Report::default().chart(chart).rows(rows).note(format!(
        "Every filter as the command builds it by default, for {ITEMS} keys. Tables of cuckoo and quotient filters have a \
         power of two of slots: at an unlucky size they take up to twice the bits. Fingerprints are whole bits, so that \
         binary-fuse has steps of a factor of two, or 256 where cells are bytes."
    )))
}
