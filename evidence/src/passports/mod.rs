//! Passports: every filter of the list measured alike, from what the list says of it. A new variant gets one without
//! code.
//!
//! The default form is built with the default hash from sample records, at several sizes and rates, and asked for all
//! of its members and for others. False positives and undecided answers are held to the rates that the filter itself
//! gives for its fill, fill and bits to what was predicted before it was built, and false negatives to the form's
//! promise.

pub mod page;

use everbloom::Result;
use everbloom::catalog::VARIANTS;
use everbloom::internals::filter::{EntryKind, FalseNegatives, Rates, Verdict};
use everbloom::internals::plan::{Expect, Goal, Load};
use everbloom::internals::sample::{self, Sample, Style};
use everbloom::internals::variant::Variant;

use crate::{Axis, Bound, Chart, Lab, Report, Rows, Series, bound};

/// Keys that filters are planned for, as far as a variant's reach goes, and rates.
const SIZES: [u64; 2] = [1000, 10_000];
const RATES: [f64; 3] = [0.1, 0.01, 0.001];

/// Non-members asked, at quick effort.
const QUERIES: u64 = 10_000;

/// How far beyond the members the non-members begin.
const APART: u64 = 1_000_000;

/// Every filter of the list.
pub fn filters() -> impl Iterator<Item = &'static Variant> {
    VARIANTS.iter().copied().filter(|v| v.kind == EntryKind::Filter && !v.forms.is_empty())
}

/// What a filter planned for `items` at `rate` did.
struct Seen {
    items: u64,
    rate: f64,
    queries: u64,
    expect: Option<Expect>,
    now: Rates,
    missed: u64,
    present: u64,
    undecided: u64,
    fill: Option<f64>,
    bits: u64,
    bits_sd: f64,
    /// Cells looked at for a member and for a non-member, on average, where the filter tells them.
    cells: [f64; 2],
}

/// Predicted and measured rates, fill and bits of one variant's default form, over sizes and rates.
pub fn passport(variant: &'static Variant, lab: &Lab) -> Result<Report> {
    let mut sizes = SIZES.map(|items| items.min(variant.reach)).to_vec();
    sizes.dedup();
    let plans: Vec<(u64, f64)> =
        sizes.iter().flat_map(|items| RATES.map(|rate| (*items, rate))).collect();
    let all = lab.over(&plans, |&(items, rate)| Ok(look(variant, items, rate, lab)))?;
    let mut report = Report::default();
    let mut seen = Vec::new();
    for ((items, rate), outcome) in plans.iter().zip(all) {
        match outcome {
            Ok(one) => seen.push(one),
            // Some sizes and rates are beyond what a variant is for; it says so.
            Err(error) => {
                report = report.note(format!("Not built for {items} keys at {rate}: {error}."));
            }
        }
    }
    Ok(report.chart(rates(&sizes, &seen)).rows(checks(variant, &seen)).rows(costs(&seen)))
}

fn look(variant: &'static Variant, items: u64, rate: f64, lab: &Lab) -> Result<Seen> {
    let goal = Goal::new(items, rate).seed(lab.seed());
    let style = Style::Random;
    let members = Sample::new(&variant.input, style, 0..items);
    let members = members.records();
    let filter = sample::build(variant, &goal, &members)?;
    let mut missed = 0;
    for record in &members {
        missed += u64::from(filter.query(*record)?.verdict == Verdict::Absent);
    }
    let queries = lab.scaled(QUERIES);
    let others = Sample::new(&variant.input, style, APART..APART + queries);
    let others = others.records();
    let (mut present, mut undecided) = (0, 0);
    for record in &others {
        match filter.query(*record)?.verdict {
            Verdict::Present => present += 1,
            Verdict::Undecided => undecided += 1,
            Verdict::Absent => {}
        }
    }
    let traced = |records: &[everbloom::Record<'_>]| {
        let few = &records[..records.len().min(500)];
        few.iter().map(|r| filter.trace(r.key).len()).sum::<usize>() as f64 / few.len() as f64
    };
    Ok(Seen {
        items,
        rate,
        queries,
        expect: variant.expect(&goal, &Load::items(items))?,
        now: filter.now(),
        missed,
        present,
        undecided,
        fill: filter.fill(),
        bits: filter.memory().cells,
        bits_sd: filter.bits_sd(),
        cells: [traced(&members), traced(&others)],
    })
}

/// The only picture: what was asked for, predicted before the build and from the fill, and measured.
fn rates(sizes: &[u64], seen: &[Seen]) -> Chart {
    let mut series = Vec::new();
    for items in sizes {
        let mut one = Series { name: format!("{items} keys"), ..Series::default() };
        for s in seen.iter().filter(|s| s.items == *items) {
            one.curve.extend(s.expect.map(|expect| (s.rate, expect.fpr)));
            let measured = s.present as f64 / s.queries as f64;
            match s.now.fpr {
                Some(now) => one.point(s.rate, now, measured, bound::share(now, s.queries)),
                // Without a formula nothing is judged: what was measured is shown.
                None => one.point(s.rate, s.rate, measured, Bound { low: None, high: None }),
            }
        }
        series.push(one);
    }
    Chart::new(
        "",
        "False-positive rate over the rate asked for",
        [Axis::log("rate asked for"), Axis::log("false-positive rate")],
        series,
    )
}

/// False negatives, undecided answers, fill and bits against promise and prediction.
fn checks(variant: &Variant, seen: &[Seen]) -> Rows {
    let mut rows = Rows::new("checks", "Promises and predictions", Axis::linear("share"));
    let promised = !matches!(variant.forms[0].false_negatives, FalseNegatives::Possible(_));
    for s in seen {
        let at = format!("{} keys at {}", s.items, s.rate);
        let missed = s.missed as f64 / s.items as f64;
        match s.now.fnr {
            _ if promised => {
                rows.row(format!("false negatives, {at}"), 0.0, missed, Bound::exactly(0.0, 0.0));
            }
            Some(fnr) => {
                let bound = bound::share(fnr, s.items).widened(fnr, ROUGH);
                rows.row(format!("false negatives, {at}"), fnr, missed, bound);
            }
            None => {
                let open = Bound { low: None, high: None };
                rows.row(format!("false negatives, {at}"), missed, missed, open);
            }
        }
        let share = s.undecided as f64 / s.queries as f64;
        let predicted = s.now.undecided.unwrap_or(0.0);
        if s.undecided > 0 || predicted > 0.0 {
            let bound = bound::share(predicted, s.queries);
            rows.row(format!("undecided, {at}"), predicted, share, bound);
        }
        if let (Some(Expect { fill: Some((mean, sd)), .. }), Some(fill)) = (s.expect, s.fill) {
            let bound = Bound::exactly(mean, SIGMAS * sd + 1e-9);
            rows.row(format!("fill, {at}"), mean, fill, bound);
        }
    }
    rows
}

/// A false-negative rate is an average over members that were overwritten in different measure: good to this share.
const ROUGH: f64 = 0.5;

/// The fill of one filter, as far off as happens once in a hundred million.
const SIGMAS: f64 = 6.0;

/// Bits per key and cells looked at.
fn costs(seen: &[Seen]) -> Rows {
    let mut rows = Rows::new("costs", "Costs", Axis::log("bits per key, cells per query"));
    let open = Bound { low: None, high: None };
    for s in seen {
        let at = format!("{} keys at {}", s.items, s.rate);
        let per_key = |bits: f64| bits / s.items as f64;
        let bits = per_key(s.bits as f64);
        let expected = s.expect.map(|expect| per_key(expect.bits as f64));
        // Where the content decides, the prediction is what it hardly ever exceeds.
        let bound = |most: f64| Bound::at_most(most + SIGMAS * per_key(s.bits_sd) + 1e-9);
        rows.row(
            format!("bits per key, {at}"),
            expected.unwrap_or(bits),
            bits,
            expected.map_or(open, bound),
        );
        for (cells, who) in s.cells.into_iter().zip(["member", "non-member"]) {
            if cells > 0.0 {
                rows.row(format!("cells looked at for a {who}, {at}"), cells, cells, open);
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effort;

    #[test]
    fn a_passport_judges_every_size_and_rate() {
        let lab = Lab::new(Effort::Quick, 1, &|_, _| ());
        for slug in ["bloom", "blocked", "stable", "ternary"] {
            let variant = everbloom::catalog::by_slug(slug).expect(slug);
            let report = passport(variant, &lab).expect(slug);
            let lines = report.lines();
            let red: Vec<String> =
                lines.iter().filter(|l| !l.verdict.pass).map(|l| l.complaint()).collect();
            assert!(red.is_empty(), "{slug}: {red:#?}");
            assert!(lines.len() >= 3 * SIZES.len() * RATES.len(), "{slug}: {}", lines.len());
        }
    }

    #[test]
    fn every_filter_has_one() {
        assert!(filters().count() > 90);
    }
}
