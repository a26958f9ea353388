//! Cross-checking filters: how many false positives of a main filter two others expose.

use everbloom::Result;
use everbloom::internals::hash::{Hasher, mix64};
use everbloom::internals::plan::Flat;
use everbloom::internals::theory::bloom;
use everbloom::known::CrossChecking;
use everbloom::known::cross_checking::fpr_any;
use everbloom::membership::Bloom;

use crate::{Axis, Bound, Chart, Experiment, Grade, Lab, Report, Said, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s3-eq5",
    source: "S3 equation 5 and Fig. 5, §IV-B",
    title: "False positives left by two cross-checking filters",
    shows: "Two filters of half the set each expose most false positives of the main one. Equation 5 \
            as printed counts members of the other half among them: it is too high by a sixth at 2 bits per \
            element and 3.4 times too high at 12.",
    run,
};

/// The universe, and the set whose halves are A and B: its even and its odd keys.
const UNIVERSE: u64 = 20_000;
const MEMBERS: u64 = 2_000;

/// Probes of all three filters, and the bits per element of each filter's own set.
const K: u32 = 2;
const RATIOS: [u64; 5] = [2, 4, 6, 8, 12];

/// The ratio at which the printed equation is evaluated set by set.
const EXAMPLE: u64 = 4;

/// Main and cross filters at c bits per element.
fn shapes(c: u64) -> (Flat, Flat) {
    (Flat { m: c * MEMBERS, k: K }, Flat { m: c * MEMBERS / 2, k: K })
}

fn rate(c: f64) -> f64 {
    bloom::fpr_classic(c * MEMBERS as f64, MEMBERS as f64, f64::from(K))
}

/// |T(S) − S|/|U|.
fn alone(c: f64) -> f64 {
    (UNIVERSE - MEMBERS) as f64 * rate(c) / UNIVERSE as f64
}

/// |((T(A) ∪ T(B)) ∩ T(S)) − S|/|U|.
fn checked(c: f64) -> f64 {
    (UNIVERSE - MEMBERS) as f64 * fpr_any(rate(c), rate(c), 2) / UNIVERSE as f64
}

/// Equation 5 as printed: all members of S pass the main filter, and those of one half pass the
/// other's cross filter at its rate.
fn printed(c: f64) -> f64 {
    checked(c) + MEMBERS as f64 * rate(c) / UNIVERSE as f64
}

/// Shares of the universe that wrongly pass, without and with the cross-checks.
fn measured(lab: &Lab, c: u64, seed: u64) -> Result<[f64; 2]> {
    let (main, cross) = shapes(c);
    let mut filter = CrossChecking::with_shape(main, cross, 2, Hasher::seeded(seed))?;
    let mut single =
        Bloom::with_shape(main.m, main.k, Hasher::seeded(seed)).expect("a shape that can be");
    // Keys of their own for every seed.
    let key = |i: u64| mix64(seed ^ i);
    for i in 0..MEMBERS {
        filter.insert_into((i % 2) as usize, &key(i))?;
        single.insert(&key(i));
    }
    let non_members = || (MEMBERS..UNIVERSE).map(key);
    lab.ask_members((0..MEMBERS).map(key), |x| filter.contains(x) && single.contains(x));
    let passing = non_members().filter(|x| filter.contains(x)).count();
    let alone = non_members().filter(|x| single.contains(x)).count();
    Ok([alone, passing].map(|count| count as f64 / UNIVERSE as f64))
}

/// The numerator that S3 prints, set by set: T(A), T(B) and T(S) are those of three filters with
/// hashes of their own.
fn as_printed(c: u64, seed: u64) -> f64 {
    let (main, cross) = shapes(c);
    let filter = |shape: Flat, salt: u64, holds: &dyn Fn(u64) -> bool| {
        let mut filter = Bloom::with_shape(shape.m, shape.k, Hasher::seeded(mix64(seed ^ salt)))
            .expect("a shape that can be");
        (0..MEMBERS).filter(|x| holds(*x)).for_each(|x| {
            filter.insert(&x);
        });
        filter
    };
    let in_a = |x: u64| x < MEMBERS && x.is_multiple_of(2);
    let in_b = |x: u64| x < MEMBERS && !x.is_multiple_of(2);
    let (a, b, s) = (filter(cross, 1, &in_a), filter(cross, 2, &in_b), filter(main, 3, &|_| true));
    let counted = |x: &u64| {
        let of_a = a.contains(x) && !in_a(*x) && s.contains(x);
        let of_b = b.contains(x) && !in_b(*x) && s.contains(x);
        of_a || of_b
    };
    (0..UNIVERSE).filter(counted).count() as f64 / UNIVERSE as f64
}

/// The bound for a share of the universe that non-members make up at a rate with this derivative by
/// the fill, averaged over runs: their number is binomial, and the rate differs with the fills.
fn bound(predicted: f64, slope: f64, c: u64, runs: u64) -> Bound {
    let (main, _) = shapes(c);
    let non_members = (UNIVERSE - MEMBERS) as f64;
    let share = non_members / UNIVERSE as f64;
    let p = predicted / share;
    let fill_sd = bloom::fill_sd(main.m as f64, MEMBERS as f64 * f64::from(K));
    let variance = p * (1.0 - p) / non_members + slope * slope * fill_sd * fill_sd;
    // Second order of the fill's spread in rate^2: below 1 % at these sizes.
    bound::mean(predicted, share * variance.sqrt(), runs).widened(predicted, 0.01)
}

fn run(lab: &Lab) -> Result<Report> {
    let xs = || (0..=50).map(|i| 2.0 + f64::from(i) / 5.0);
    let mut main = Series::new("main filter alone", xs(), alone);
    let mut both = Series::new("with two cross-checks", xs(), checked);
    let runs = lab.scaled(40);
    let mut example = (0.0, 0.0, Bound::exactly(0.0, 0.0));
    for c in RATIOS {
        let shares = lab.runs(runs, |seed| measured(lab, c, seed))?;
        let mean = |i: usize| shares.iter().map(|s| s[i]).sum::<f64>() / runs as f64;
        let x = c as f64;
        let fill = rate(x).powf(1.0 / f64::from(K));
        // d(rho^k) by one fill; the checked rate, rho^k (1 - (1 - rho^k)^2), has three fills, of
        // which the cross filters have half the bits: twice the derivative covers them all.
        let slope = f64::from(K) * fill.powi(K as i32 - 1);
        main.point(x, alone(x), mean(0), bound(alone(x), slope, c, runs));
        let b = bound(checked(x), 4.0 * slope * rate(x), c, runs);
        both.point(x, checked(x), mean(1), b);
        if c == EXAMPLE {
            example = (checked(x), mean(1), b);
        }
    }
    let mut counted = Series::new("eq. 5 as printed", xs(), printed);
    for c in RATIOS {
        let shares = lab.runs(runs, |seed| Ok(as_printed(c, seed)))?;
        let (x, share) = (c as f64, shares.iter().sum::<f64>() / runs as f64);
        let slope = f64::from(K) * rate(x).sqrt();
        // Members add a tenth of the rate of one filter, with its spread.
        counted.point(
            x,
            printed(x),
            share,
            bound(printed(x), 4.0 * slope * rate(x) + slope, c, runs),
        );
    }
    main.follows(alone, 0.01);
    both.follows(checked, 0.01);
    counted.follows(printed, 0.01);
    for (c, over) in [(0, 1.1737), (4, 3.385)] {
        let what = format!("at {} bits, over what is measured", RATIOS[c]);
        counted.factor(what, over, printed(RATIOS[c] as f64), &both.points[c].verdict);
    }
    let as_printed = counted.points[1].verdict.measured;
    let (predicted, seen, bound) = example;
    Ok(Report::default()
        .chart(Chart::new(
            "",
            format!("False positives, {MEMBERS} members of {UNIVERSE} keys, k = {K}"),
            [
                Axis::linear("bits per element of each filter's set"),
                Axis::log("false positives / |U|"),
            ],
            [main, both, counted],
        ))
        .graded(
            Grade::Disproved,
            "S3 eq. 5",
            [
                "“|((T(A) − A) ∩ T(S)) ∪ ((T(B) − B) ∩ T(S))|/|U|”: members of B that pass A's filter count",
                "subtract S from the union of the two: |((T(A) ∪ T(B)) ∩ T(S)) - S|/|U|",
            ],
            Said::Follows(as_printed),
            [predicted, seen],
            bound,
        )
        .note(
            "S3 gives no sizes: a tenth of the universe are members, and each of the three filters has \
             as many bits per element as the others. The printed numerator is counted set by set with \
             three filters of their own hashes.",
        ))
}
