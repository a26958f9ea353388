//! Copied passages among files (catalogue A33; S3 §V-C \[103\]): the tool [`everbloom_tools::similar`], tried.

use std::collections::HashSet;

use everbloom::grouping::Matrix;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Hasher, Result};
use everbloom_tools::chunks::Cut;
use everbloom_tools::similar::Similar;

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A33",
    form: Form::Tool("similar"),
    uses: &["matrix"],
    oracle: "a hash set of each file's chunks",
    data: "random texts of which some hold passages of others",
    experiment: Experiment {
        name: "similar",
        source: "S3 §V-C [103]",
        title: "Copied passages among files",
        shows: "1371 ones in a row of 500 chunks, 229 common ones of unrelated rows and 774 where half of the chunks \
                are shared; the inverted estimate tells 250 of them. A fixed threshold below the chance level flags \
                every pair, and blocks of a fixed length lose all copies to one inserted letter.",
        run,
    },
};

/// Ones of a row, common ones, and the estimate of common chunks, of two rows of 500 with `shared` in common.
fn rows_of(seed: u64, shared: u64) -> Result<[f64; 3]> {
    let mut matrix = Matrix::with_shape(8192, 3, Hasher::seeded(seed))?;
    matrix.add_document(b"a", 0..500u64)?;
    matrix.add_document(b"b", 500 - shared..1000 - shared)?;
    let ones = matrix.bits(b"a").map_or(0, |bits| bits.ones()) as f64;
    let alike = matrix.similarity(b"a", b"b");
    let (common, shared) = alike.map_or((0, None), |alike| (alike.common, alike.shared));
    Ok([ones, common as f64, shared.unwrap_or(f64::NAN)])
}

fn text(random: &mut Generator, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| b"etaoin shrdlu.\n"[random.below(15) as usize]).collect()
}

fn chunk_set(bytes: &[u8], cut: Cut) -> Result<HashSet<Vec<u8>>> {
    let mut all = HashSet::new();
    cut.each(bytes, |chunk| {
        all.insert(chunk.to_vec());
        Ok(())
    })?;
    Ok(all)
}

/// For all pairs of files whether they are flagged, and whether they should be; the errors of the estimates for the
/// flagged ones.
type Compared = (Vec<(bool, bool)>, Vec<f64>);

fn compare(seed: u64) -> Result<Compared> {
    let mut random = Generator::new(seed);
    let mut texts: Vec<Vec<u8>> = (0..8).map(|_| text(&mut random, 40_000)).collect();
    for i in 0..4 {
        // Three quarters of a text, moved by a few letters, under a new beginning.
        let copied = texts[i][10_000..].to_vec();
        let head = text(&mut random, 3_001);
        texts.push([head, copied].concat());
    }
    let mut files = Similar::new(16 * 160, Cut::Content)?;
    for (i, text) in texts.iter().enumerate() {
        files.add(&[i as u8], &text[..])?;
    }
    let found = files.pairs(0.3, |name| Ok(&texts[usize::from(name[0])][..]))?;
    let candidates = files.candidates(0.3);
    let sets: Vec<HashSet<Vec<u8>>> =
        texts.iter().map(|text| chunk_set(text, Cut::Content)).collect::<Result<_>>()?;
    let (mut flags, mut errors) = (Vec::new(), Vec::new());
    for a in 0..sets.len() {
        for b in a + 1..sets.len() {
            let truth = sets[a].intersection(&sets[b]).count() as f64;
            let smaller = sets[a].len().min(sets[b].len()) as f64;
            let pair = found.iter().find(|pair| pair.a == [a as u8] && pair.b == [b as u8]);
            flags.push((pair.is_some(), truth / smaller >= 0.3));
            let estimate = candidates.iter().find(|(x, y, _)| *x == [a as u8] && *y == [b as u8]);
            let estimate = estimate.and_then(|(.., alike)| alike.shared).filter(|_| pair.is_some());
            errors.extend(estimate.map(|shared| shared / truth.max(1.0) - 1.0));
        }
    }
    Ok((flags, errors))
}

/// The share of chunks that are still there after a letter was inserted in front.
fn shifted(seed: u64, cut: Cut) -> Result<f64> {
    let before = text(&mut Generator::new(seed), 50_000);
    let after = [&b"x"[..], &before].concat();
    let [before, after] = [chunk_set(&before, cut)?, chunk_set(&after, cut)?];
    Ok(before.intersection(&after).count() as f64 / before.len() as f64)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(40);
    let compared = lab.runs(lab.scaled(3), compare)?;
    let mut oracle = Oracle::default();
    oracle.equal("pairs that share a third", compared.iter().flat_map(|(flags, _)| flags.clone()));

    let [m, k, n] = [8192.0, 3.0, 500.0];
    let expected = |shared: f64| theory::inner_product(m, k, n, n, shared);
    let xs = (0..=20).map(|i| f64::from(i) * 25.0);
    let mut series = Series::new("m(1 − 2q^{kn} + q^{k(2n − s)})", xs, expected);
    let mut rows =
        Rows::new("row", "Rows of 8192 bits, 500 chunks each", Axis::linear("ones or chunks"));
    for shared in [0, 250, 500] {
        let seen = lab.runs(runs, |seed| rows_of(seed, shared))?;
        let mean = |i: usize| seen.iter().map(|s| s[i]).sum::<f64>() / runs as f64;
        let predicted = expected(shared as f64);
        // Each of m cells is one in both rows or not, and fewer come if many came: at most the binomial's spread.
        let spread = |value: f64| (value * (1.0 - value / m)).sqrt();
        series.point(
            shared as f64,
            predicted,
            mean(1),
            bound::mean(predicted, spread(predicted), runs),
        );
        match shared {
            0 => rows.row(
                "ones of a row",
                1371.0,
                mean(0),
                bound::mean(1371.0, theory::fill_sd(m, k * n) * m, runs).widened(1371.0, 5e-4),
            ),
            250 => {
                // The common ones rise by 2.2 for each common chunk.
                let slope = (expected(251.0) - expected(249.0)) / 2.0;
                let around =
                    bound::mean(250.0, spread(predicted) / slope, runs).widened(250.0, 0.01);
                rows.row("common chunks, inverted from the ones", 250.0, mean(2), around);
            }
            _ => {}
        }
    }
    let errors: Vec<f64> = compared.into_iter().flat_map(|(_, errors)| errors).collect();
    let worst = errors.iter().fold(0.0, |worst: f64, error| worst.max(error.abs()));
    rows.row("largest error of estimated common chunks of files", 0.0, worst, Bound::at_most(0.25));
    let chart = Chart::new(
        "common",
        "Ones that two rows have in common",
        [Axis::linear("chunks that both files have, of 500"), Axis::linear("common ones")],
        [series],
    );
    Ok(oracle.report().chart(chart).rows(rows).rows(traps(lab)?))
}

fn traps(lab: &Lab) -> Result<Rows> {
    let mut rows = Rows::new("traps", "What one must not do", Axis::linear("share"));
    // 1000 chunks in 10,000 bits with k = 4: 1087 common ones by chance.
    let flagged = lab.runs(20, |seed| {
        let mut matrix = Matrix::with_shape(10_000, 4, Hasher::seeded(seed))?;
        matrix.add_document(b"a", 0..1000u64)?;
        matrix.add_document(b"b", 1000..2000u64)?;
        Ok(matrix.similarity(b"a", b"b").is_some_and(|alike| alike.common >= 950))
    })?;
    let share = flagged.iter().filter(|flag| **flag).count() as f64 / flagged.len() as f64;
    let label = "trap: unrelated pairs flagged by a fixed threshold of 950 ones";
    rows.row(label, 1.0, share, Bound::exactly(1.0, 0.0));
    let kept =
        |cut: Cut| lab.runs(4, |seed| shifted(seed, cut)).map(|all| all.iter().sum::<f64>() / 4.0);
    let label = "chunks kept after a letter in front, ends by content";
    rows.row(label, 0.98, kept(Cut::Content)?, Bound::at_least(0.95));
    let label = "trap: the same with blocks of 256 bytes";
    rows.row(label, 0.0, kept(Cut::Fixed(256))?, Bound::exactly(0.0, 0.0));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a33_expected_ones() {
        let ones = 8192.0 * theory::fill(8192.0, 1500.0);
        assert!((ones - 1371.0).abs() < 0.6, "{ones}");
        for (shared, common) in [(0.0, 229.0), (250.0, 774.0)] {
            let expected = theory::inner_product(8192.0, 3.0, 500.0, 500.0, shared);
            assert!((expected - common).abs() < 0.6, "{expected}");
        }
        let chance = theory::inner_product(10_000.0, 4.0, 1000.0, 1000.0, 0.0);
        assert!((chance - 1086.98).abs() < 0.01, "{chance}");
    }
}
