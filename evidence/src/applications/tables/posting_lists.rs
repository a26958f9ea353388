//! The intersection of two posting lists on two machines (catalogue A9; S1 §5.3 [Reynolds, Vahdat]).
//!
//! The node with the shorter list sends a filter of it, the other answers with what passes, and the first drops the
//! false positives. Of b bits a key in the filter there is a best number: more bits for the filter are fewer false
//! positives. |A|·b + (|B| − J)·0.6185^b·L + J·L bits travel ([`best_rate`]).

use std::collections::HashSet;

use everbloom::exchange::join::{Left, Right};
use everbloom::exchange::{Limits, Party, Session as _, Traffic};
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Hasher, Result};
use everbloom_tools::join::best_rate;

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A9",
    form: Form::Tool("join --keys"),
    uses: &["bloom", "blocked"],
    oracle: "the intersection of two hash sets",
    data: "two lists of 16-byte document ids that share a hundred",
    experiment: Experiment {
        name: "posting-lists",
        source: "S1 §5.3",
        title: "Documents with two words, whose lists are on two machines",
        shows: "The intersection is exact. With lists of 10 000 and 100 000 ids of 128 bits that share 100, 13 bits a key \
                are best: 167 585 bits, 13.1 % of sending the shorter list.",
        run,
    },
};

const A: u64 = 10_000;
const B: u64 = 100_000;
const J: u64 = 100;
const L: f64 = 128.0;

/// Bits that travel at `b` bits a key.
fn bits(b: f64) -> f64 {
    A as f64 * b + (B - J) as f64 * theory::fpr_best(b) * L + J as f64 * L
}

fn id(seed: u64, i: u64) -> [u8; 16] {
    let mix = everbloom::internals::hash::mix64;
    (u128::from(mix(seed ^ i)) << 64 | u128::from(i)).to_be_bytes()
}

/// Bits that travel with a plain filter of b bits a key, and the false ids among them.
fn plain(seed: u64, b: u64) -> Result<(f64, u64)> {
    let mut filter = Bloom::with_shape(A * b, theory::best_k(A * b, A), Hasher::seeded(seed))?;
    (0..A).for_each(|i| _ = filter.insert(&id(seed, i)[..]));
    let others = A..A + B - J;
    let wrong = others.filter(|i| filter.contains(&id(seed, *i)[..])).count() as u64;
    Ok(((A * b) as f64 + (wrong + J) as f64 * L, wrong))
}

/// The exchange itself: ids that differ from the exact intersection.
fn exchange(seed: u64) -> Result<u64> {
    let mut left = Left::new(best_rate(A, B, L));
    let shorter: HashSet<[u8; 16]> = (0..A).map(|i| id(seed, i)).collect();
    shorter.iter().for_each(|id| left.insert(id, id));
    let mut left = Party::new(left, Limits::LOCAL);
    let mut right = Party::new(Right::new(), Limits::LOCAL);
    let mut traffic = Traffic::default();
    traffic.carry(&mut left, &mut right)?;
    let longer: Vec<[u8; 16]> = (A - J..A - J + B).map(|i| id(seed, i)).collect();
    for id in &longer {
        right.role.row(id, id)?;
    }
    right.role.end();
    traffic.carry(&mut left, &mut right)?;
    let mut got = HashSet::new();
    let gather = |id: &[u8], _: &[u8]| {
        got.insert(id.to_vec());
        Ok(())
    };
    left.role.pairs(|id| Ok(id.into()), gather)?;
    left.closed()?;
    let expected: HashSet<Vec<u8>> =
        longer.iter().filter(|id| shorter.contains(*id)).map(|id| id.to_vec()).collect();
    Ok(got.symmetric_difference(&expected).count() as u64)
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    oracle.none("ids of the intersection", lab.runs(2, exchange)?.iter().sum());
    let xs = (20..=100).map(|i| f64::from(i) / 4.0);
    let mut series = Series::new("|A|b + (|B| − J)·0.6185^b·L + J·L", xs, bits);
    let runs = lab.scaled(2);
    let mut measured = Vec::new();
    for b in [7u64, 10, 13, 16, 20] {
        let seen = lab.runs(runs, |seed| plain(seed, b))?;
        let mean = seen.iter().map(|s| s.0).sum::<f64>() / runs as f64;
        let f = theory::fpr_best(b as f64);
        // A whole number of probes costs a few percent of the rate.
        let share = bound::share(f, runs * (B - J)).widened(f, 0.06);
        let of = |share: f64| (A * b) as f64 + (share * (B - J) as f64 + J as f64) * L;
        let bound = Bound::between(of(share.low.unwrap_or(0.0)), of(share.high.unwrap_or(1.0)));
        series.point(b as f64, bits(b as f64), mean, bound);
        measured.push((b, mean));
    }
    let best = measured.iter().min_by(|x, y| x.1.total_cmp(&y.1)).map_or(0, |(b, _)| *b);
    let mut rows = Rows::new("best", "The best filter", Axis::linear("bits a key"));
    rows.row("best of those measured", 13.0, best as f64, Bound::exactly(13.0, 0.0));
    let chosen = libm::log(best_rate(A, B, L)) / libm::log(theory::fpr_best(1.0));
    rows.row(
        "bits a key that are chosen, for 13.36 without rounding",
        13.36,
        chosen,
        Bound::exactly(13.36, 0.05),
    );
    let share =
        measured.iter().find(|(b, _)| *b == 13).map_or(0.0, |(_, bits)| bits / (A as f64 * L));
    let mut shares = Rows::new("share", "Against sending the shorter list", Axis::linear("share"));
    shares.row("at 13 bits a key", 0.131, share, Bound::exactly(0.131, 0.004));
    let chart = Chart::new(
        "bits",
        "Bits that travel, lists of 10 000 and 100 000 ids",
        [Axis::linear("bits of filter for each key"), Axis::log("bits")],
        [series],
    );
    Ok(oracle.report().chart(chart).rows(rows).rows(shares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a9_best_bits() {
        let whole = (1..30).min_by(|x, y| bits(f64::from(*x)).total_cmp(&bits(f64::from(*y))));
        assert_eq!(whole, Some(13));
        assert!((bits(13.0) - 167_585.0).abs() < 150.0, "{}", bits(13.0));
        assert!((bits(13.0) / 1_280_000.0 - 0.131).abs() < 5e-4);
    }
}
