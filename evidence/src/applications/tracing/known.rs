//! Which files, and which parts of files, are known (catalogue A51; S0 §IV-E \[109\]): the tool [`everbloom_tools::known`],
//! tried on files that are made up.

use std::collections::HashSet;

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom_tools::chunks::Cut;
use everbloom_tools::known::{Known, Md5Blocks};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A51",
    form: Form::Tool("known"),
    uses: &["bloom"],
    oracle: "a hash set of all blocks of the reference files",
    data: "random files; versions of them with parts replaced",
    experiment: Experiment {
        name: "known",
        source: "S0 §IV-E [109]",
        title: "Which files, and which parts of files, are known",
        shows: "Every known part is found. Two filters of 512 blocks in 8192 bits share 401 ones by chance, 721 with \
                128 common blocks, 1062 with 256; the estimate of common blocks is within a tenth.",
        run,
    },
};

const BITS: u64 = 8192;
const BLOCKS: u64 = 512;

/// Ones, common ones and estimated common blocks of two filters with `shared` blocks in common.
fn versions(seed: u64, shared: u64) -> Result<[f64; 3]> {
    let filter = |range: std::ops::Range<u64>| -> Result<Md5Blocks> {
        let mut filter = Md5Blocks::new(BITS)?;
        range.for_each(|i| filter.insert(&[seed.to_le_bytes(), i.to_le_bytes()].concat()));
        Ok(filter)
    };
    let (old, new) = (filter(0..BLOCKS)?, filter(BLOCKS - shared..2 * BLOCKS - shared)?);
    let (ones, both) = old.common_ones(&new)?;
    Ok([ones as f64, both as f64, old.common(&new)?.unwrap_or(f64::NAN)])
}

struct Seen {
    missed: u64,
    /// Unknown chunks that seem known, and all unknown chunks.
    wrong: u64,
    unknown: u64,
}

fn search(seed: u64) -> Result<Seen> {
    let mut random = Generator::new(seed);
    let mut bytes =
        |count: usize| -> Vec<u8> { (0..count).map(|_| random.next_u64() as u8).collect() };
    let reference = bytes(200_000);
    let target = [&bytes(60_000)[..], &reference[20_000..120_000], &bytes(60_000)[..]].concat();
    let mut known = Known::new(800, 0.01, Cut::Content)?;
    known.add(&reference[..])?;
    let mut twin: HashSet<Vec<u8>> = HashSet::new();
    Cut::Content.each(&reference[..], |chunk| {
        twin.insert(chunk.to_vec());
        Ok(())
    })?;
    let mut seen = Seen { missed: 0, wrong: 0, unknown: 0 };
    for file in [&reference, &target] {
        Cut::Content.each(&file[..], |chunk| {
            let (found, truth) = (known.contains(chunk), twin.contains(chunk));
            seen.missed += u64::from(truth && !found);
            seen.wrong += u64::from(found && !truth);
            seen.unknown += u64::from(!truth);
            Ok(())
        })?;
    }
    let whole = known.parts(&reference[..])?;
    seen.missed += whole.chunks - whole.known_chunks;
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let runs = lab.scaled(5);
    let seen = lab.runs(runs, search)?;
    oracle.none("known chunks that were missed", seen.iter().map(|s| s.missed).sum());
    let (wrong, unknown) = seen.iter().fold((0, 0), |(w, u), s| (w + s.wrong, u + s.unknown));

    let runs = lab.scaled(60);
    let [m, k, n] = [BITS as f64, 4.0, BLOCKS as f64];
    let expected = |shared: f64| theory::inner_product(m, k, n, n, shared);
    let xs = (0..=16).map(|i| f64::from(i) * 32.0);
    let mut series = Series::new("m(1 − 2q^{kn} + q^{k(2n − s)})", xs, expected);
    let mut rows =
        Rows::new("estimates", "Common blocks, inverted from the ones", Axis::linear("blocks"));
    for shared in [0, 128, 256, 512] {
        let seen = lab.runs(runs, |seed| versions(seed, shared))?;
        let mean = |i: usize| seen.iter().map(|s| s[i]).sum::<f64>() / runs as f64;
        let predicted = expected(shared as f64);
        let spread = (predicted * (1.0 - predicted / m)).sqrt();
        series.point(shared as f64, predicted, mean(1), bound::mean(predicted, spread, runs));
        if shared >= 128 {
            let truth = shared as f64;
            let within = seen.iter().filter(|s| (s[2] / truth - 1.0).abs() <= 0.1).count();
            rows.row(
                format!("{shared} common blocks"),
                truth,
                mean(2),
                Bound::exactly(truth, 0.02 * truth),
            );
            let label = format!("share of estimates within a tenth of {shared}");
            rows.row(
                label,
                1.0,
                within as f64 / runs as f64,
                Bound::at_least(if shared == 128 { 0.8 } else { 0.97 }),
            );
        }
    }
    let chart = Chart::new(
        "versions",
        "Ones that filters of two versions have in common",
        [Axis::linear("common blocks of 512"), Axis::linear("common ones")],
        [series],
    );
    let mut wrongly = Rows::new("wrong", "Unknown chunks that seem known", Axis::linear("share"));
    let share = bound::share(0.01, unknown);
    let most = Bound { low: None, ..share };
    wrongly.row("at a rate of 0.01", 0.01, wrong as f64 / unknown as f64, most);
    Ok(oracle.report().chart(chart).rows(rows).rows(wrongly))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a51_expected_ones() {
        let ones = 8192.0 * theory::fill(8192.0, 2048.0);
        assert!((ones - 1812.0).abs() < 0.6, "{ones}");
        for (shared, common) in [(0.0, 401.0), (128.0, 721.0), (256.0, 1062.0), (512.0, 1812.0)] {
            let expected = theory::inner_product(8192.0, 4.0, 512.0, 512.0, shared);
            assert!((expected - common).abs() < 0.6, "{shared}: {expected}");
        }
    }
}
