//! Bloomjoin (catalogue A3; S0 §II-B, S1 §3.2): the tool [`everbloom_tools::join`], tried.

use std::collections::{HashMap, HashSet};

use everbloom::exchange::join::{Left, Right};
use everbloom::exchange::{Limits, Party, Session as _, Traffic};
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Error, Hasher, Kind, Result};
use everbloom_tools::join::{Survey, Surveyed, Surveyor};

use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows, bound};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A3",
    form: Form::Tool("join --estimate"),
    uses: &["bloom", "blocked"],
    oracle: "a hash map of the left rows",
    data: "two tables of 16-byte rows, a tenth of whose keys are shared",
    experiment: Experiment {
        name: "bloomjoin",
        source: "S0 §II-B, S1 §3.2",
        title: "Bloomjoin: only rows that can match travel",
        shows: "The join is exact. The filter and the rows that pass are 58 571 bytes where the left keys are 160 000. \
                Filters alone tell the size of the join within a tenth.",
        run,
    },
};

const LEFT: u64 = 10_000;
const RIGHT: u64 = 50_000;
const SHARED: u64 = 2_000;
const ROW: usize = 16;

fn row(seed: u64, key: u64) -> Vec<u8> {
    let mix = everbloom::internals::hash::mix64;
    [mix(seed ^ key).to_le_bytes(), key.to_le_bytes()].concat()
}

fn key_of(row: &[u8]) -> Result<&[u8]> {
    row.get(..8).ok_or_else(|| Error::new(Kind::BadRecord, "a short row"))
}

struct Seen {
    /// Pairs that differ from the hash map's.
    wrong: u64,
    in_vain: u64,
    rows_bytes: u64,
    estimate: f64,
}

fn try_one(seed: u64, fpr: f64) -> Result<Seen> {
    let mut left = Left::new(fpr);
    let mut map: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    for i in 0..LEFT {
        let row = row(seed, i);
        left.insert(&row[..8], &row);
        map.insert(row[..8].to_vec(), row);
    }
    let right: Vec<Vec<u8>> =
        (LEFT - SHARED..LEFT - SHARED + RIGHT).map(|i| row(seed, i)).collect();
    let survey = surveyed(left.keys().map(<[u8]>::to_vec).collect(), &right)?;
    let mut left = Party::new(left, Limits::LOCAL);
    let mut there = Party::new(Right::new(), Limits::LOCAL);
    let mut traffic = Traffic::default();
    traffic.carry(&mut left, &mut there)?;
    for row in &right {
        there.role.row(&row[..8], row)?;
    }
    there.role.end();
    traffic.carry(&mut left, &mut there)?;
    let mut pairs = HashSet::new();
    let gather = |l: &[u8], r: &[u8]| {
        pairs.insert((l.to_vec(), r.to_vec()));
        Ok(())
    };
    left.role.pairs(|row| key_of(row).map(Into::into), gather)?;
    left.closed()?;
    let expected: HashSet<_> =
        right.iter().filter_map(|r| Some((map.get(&r[..8])?.clone(), r.clone()))).collect();
    Ok(Seen {
        wrong: pairs.symmetric_difference(&expected).count() as u64,
        in_vain: left.role.in_vain(),
        rows_bytes: traffic.b_to_a,
        estimate: survey.shared.unwrap_or(f64::NAN),
    })
}

fn surveyed(keys: Vec<Vec<u8>>, right: &[Vec<u8>]) -> Result<Survey> {
    let mut surveyor = Party::new(Surveyor::new(Some(keys)), Limits::LOCAL);
    let bytes = right.iter().map(|row| row.len() as u64 + 1).sum();
    let mut surveyed = Party::new(
        Surveyed::new(right.len() as u64, bytes, |filter| {
            right.iter().for_each(|row| _ = filter.insert(&row[..8]));
            Ok(())
        }),
        Limits::LOCAL,
    );
    everbloom::exchange::run(&mut surveyor, &mut surveyed)?;
    Ok(surveyor.role.survey().clone())
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(3);
    // 8 bits a key, as the entry computes: the blocked filter that travels errs a little more often at that size.
    let fpr = theory::fpr_best(8.0);
    let seen = lab.runs(runs, |seed| try_one(seed, fpr))?;
    let mut oracle = Oracle::default();
    oracle.none("joined pairs", seen.iter().map(|s| s.wrong).sum());
    let others = RIGHT - SHARED;
    let mut rows = Rows::new("bytes", "What travels", Axis::log("bytes"));
    let in_vain = seen.iter().map(|s| s.in_vain).sum::<u64>() as f64 / (runs * others) as f64;
    let predicted = (SHARED as f64 + fpr * others as f64) * ROW as f64;
    let travelled = seen.iter().map(|s| s.rows_bytes).sum::<u64>() as f64 / runs as f64;
    // A length before each row and the frames around them.
    let framed = predicted * 17.0 / 16.0;
    let bound = bound::share(fpr, runs * others).widened(fpr, 0.15);
    let high = bound.high.unwrap_or(fpr) * others as f64 * 17.0 + SHARED as f64 * 17.0 + 200.0;
    rows.row(
        "rows that pass the filter",
        framed,
        travelled,
        Bound::between(SHARED as f64 * 17.0, high),
    );
    let all = LEFT as f64 + travelled;
    rows.row(
        "filter of 8 bits a key and rows, against the left keys",
        58_571.0,
        all,
        Bound::at_most(160_000.0 / 2.0),
    );
    let mut rates = Rows::new("in-vain", "Rows sent in vain", Axis::linear("share"));
    rates.row("of those without a partner", fpr, in_vain, bound);
    let mut sizes =
        Rows::new("estimate", "The size of the join, from filters alone", Axis::linear("keys"));
    let estimates: Vec<f64> = seen.iter().map(|s| s.estimate).collect();
    let (mean, _) = bound::mean_and_sd(&estimates);
    sizes.row(
        "of 10 000 and 50 000 keys, 2000 shared",
        2000.0,
        mean,
        Bound::between(1800.0, 2200.0),
    );
    let (inner, recovered) = equal_filters(lab.seed())?;
    let expected = theory::inner_product(80_000.0, 6.0, 1e4, 1e4, 2e3);
    sizes.row(
        "ones in common, two of 10 000 keys in 80 000 bits",
        25_161.0,
        inner,
        Bound::exactly(expected, 700.0),
    );
    sizes.row("shared keys recovered", 2000.0, recovered, Bound::between(1800.0, 2200.0));
    Ok(oracle.report().rows(rows).rows(rates).rows(sizes))
}

/// The entry's own shape: ones in common, and the shared keys that follow from the zeros.
fn equal_filters(seed: u64) -> Result<(f64, f64)> {
    let filter = |first: u64| -> Result<Bloom> {
        let mut filter = Bloom::with_shape(80_000, 6, Hasher::default())?;
        (first..first + 10_000).for_each(|i| _ = filter.insert(&row(seed, i)[..8]));
        Ok(filter)
    };
    let (a, b) = (filter(0)?, filter(8_000)?);
    let inner = a.bits().ones_in_both(b.bits());
    let zeros = [a.bits().zeros(), b.bits().zeros(), a.m() - inner];
    let size = theory::intersection_size(zeros[0], zeros[1], zeros[2], 80_000, 6);
    Ok((inner as f64, size.unwrap_or(f64::NAN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a3_bytes_of_the_join() {
        let f = theory::fpr_classic(80_000.0, 1e4, 6.0);
        assert!((f - 0.02158).abs() < 1e-5, "{f}");
        let rows: f64 = (2000.0 + 0.02158 * 48_000.0) * 16.0;
        assert!((rows - 48_571.0).abs() < 5.0, "{rows}");
        assert!((theory::inner_product(80_000.0, 6.0, 1e4, 1e4, 2e3) - 25_161.0).abs() < 1.0);
    }
}
