//! An index of K-mers over many samples (catalogue A71; S3 §VI-E \[131\]): the tool [`everbloom_tools::kmer`], tried on
//! random sequences.

use std::collections::HashSet;
use std::path::Path;

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::tail;
use everbloom_tools::kmer::{Group, Index, New, Shape, each_kmer};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A71",
    form: Form::Tool("kmer"),
    uses: &["bloom", "hyperloglog"],
    oracle: "a hash set of each sample's K-mers",
    data: "random sequences; pieces of them and other random ones as reads",
    experiment: Experiment {
        name: "kmer",
        source: "S3 §VI-E [131]",
        title: "An index of K-mers over many sequencing samples",
        shows: "No sample that holds a read is missed. Others are reported as often as P(Bin(ℓ, f) ≥ θ·ℓ) says, \
                3.6e-4 at θ = 0.5 with filters that err for three K-mers in ten. A query reads k·ℓ rows, however \
                many samples there are.",
        run,
    },
};

/// Letters of a read, of which 70 K-mers of 31 letters can be cut.
const READ: usize = 100;
const LENGTH: u8 = 31;
const RATE: f64 = 0.3;
/// 2.80 bits for each of these.
const KMERS: u64 = 2000;

fn letters(random: &mut Generator, count: usize) -> Vec<u8> {
    (0..count).map(|_| b"ACGT"[random.below(4) as usize]).collect()
}

fn fasta(sequence: &[u8]) -> Vec<u8> {
    let lines = sequence.chunks(70).flat_map(|line| [line, b"\n"].concat());
    b">sample\n".iter().copied().chain(lines).collect()
}

fn new<'a>(number: usize, text: &'a [u8]) -> New<'a> {
    New { name: format!("sample {number}"), open: Box::new(move || Ok(Box::new(text))) }
}

/// The K-mers of a sequence, as the exact twin holds them.
fn exact(sequence: &[u8]) -> HashSet<u64> {
    let mut all = HashSet::new();
    each_kmer(sequence, LENGTH, |kmer| _ = all.insert(kmer));
    all
}

/// The size that 2.80 bits for a K-mer give: m = −n/ln(1 − f).
fn rows_for(kmers: u64) -> u64 {
    (kmers as f64 / -libm::log1p(-RATE)).ceil() as u64
}

struct Tried {
    pairs: Vec<(u64, u64)>,
    missed: u64,
    /// Of all pairs of a random read and a sample: how many K-mers the sample seemed to have.
    found: Vec<u64>,
    /// Rows read for a query, with few and with all samples.
    rows: [u64; 2],
}

fn try_one(lab: &Lab, samples: usize, queries: usize, folder: &Path) -> Result<Tried> {
    let mut random = Generator::new(lab.seed());
    let size = KMERS as usize + usize::from(LENGTH) - 1;
    let sequences: Vec<Vec<u8>> = (0..samples).map(|_| letters(&mut random, size)).collect();
    let texts: Vec<Vec<u8>> = sequences.iter().map(|sequence| fasta(sequence)).collect();
    let all: Vec<New<'_>> = texts.iter().enumerate().map(|(i, text)| new(i, text)).collect();
    let (path, shape) = (folder.join("samples.evk"), Shape::new(LENGTH, RATE)?);
    let mut rows = [0; 2];
    // Half at first, the others later: the columns must stay where they are.
    let first = samples / 2;
    Index::build_sized(&path, shape, &all[..first], rows_for(KMERS))?;
    rows[0] = Index::open(&path)?.query(&sequences[0][..READ], 1.0)?.rows;
    Index::add_sized(&path, &all[first..], rows_for(KMERS))?;
    let mut index = Index::open(&path)?;
    let mut tried = Tried { pairs: Vec::new(), missed: 0, found: Vec::new(), rows };
    for (i, sequence) in sequences.iter().enumerate() {
        let at = random.below((sequence.len() - READ) as u64) as usize;
        let found = index.query(&sequence[at..at + READ], 1.0)?;
        let name = format!("sample {i}");
        tried.missed += u64::from(!found.hits.iter().any(|hit| hit.sample == name));
        tried.pairs.push((found.kmers, 70));
        tried.rows[1] = found.rows;
    }
    let twins: Vec<HashSet<u64>> = sequences.iter().map(|sequence| exact(sequence)).collect();
    for _ in 0..queries {
        let read = letters(&mut random, READ);
        let kmers: Vec<u64> = exact(&read).into_iter().collect();
        let (counts, _) = index.count(0, &kmers)?;
        for (twin, count) in twins.iter().zip(counts) {
            let truth = kmers.iter().filter(|kmer| twin.contains(kmer)).count() as u64;
            tried.missed += u64::from(count < truth);
            tried.found.push(count);
        }
    }
    Ok(tried)
}

fn run(lab: &Lab) -> Result<Report> {
    let folder = tempfile::tempdir()?;
    let (samples, queries) = (100, lab.scaled(400) as usize);
    let tried = try_one(lab, samples, queries, folder.path())?;
    let mut oracle = Oracle::default();
    oracle.none("samples that were missed", tried.missed);
    oracle.equal("K-mers of reads", tried.pairs);

    let chance = |theta: f64| tail::binomial_at_least(70, RATE, (theta * 70.0).ceil() as u64);
    let xs = (20..=80).map(|i| f64::from(i) / 100.0);
    let mut series = Series::new("P(Bin(70, 0.3) ≥ 70·θ)", xs, chance);
    for theta in [0.3, 0.4, 0.45, 0.5] {
        let least = (theta * 70.0f64).ceil() as u64;
        let trials = tried.found.len() as u64;
        let share = tried.found.iter().filter(|count| **count >= least).count() as f64;
        // Columns differ by their ones: σ of f is 0.01, which the tail takes to a power.
        let [low, high] = [-1.0, 1.0].map(|sign| {
            let f = RATE + sign * 5.0 * 0.0098 / (samples as f64).sqrt();
            tail::binomial_at_least(70, f, least)
        });
        let spread = Bound {
            low: bound::share(low, trials).low.map(|l| l * 0.95),
            high: bound::share(high, trials).high.map(|h| h * 1.25),
        };
        series.point(theta, chance(theta), share / trials as f64, spread);
    }
    let chart = Chart::new(
        "false-samples",
        "Samples reported that do not hold a read of 70 K-mers, at f = 0.3",
        [Axis::linear("threshold θ"), Axis::log("share of samples")],
        [series],
    );
    let mut rows = Rows::new("rows", "Rows read for a read of 70 K-mers", Axis::linear("rows"));
    rows.row("50 samples", 70.0, tried.rows[0] as f64, Bound::exactly(70.0, 0.0));
    rows.row("100 samples", 70.0, tried.rows[1] as f64, Bound::exactly(70.0, 0.0));
    Ok(oracle.report().chart(chart).rows(rows).rows(traps(lab, folder.path())?))
}

/// A sample ten times as large in the rows of the others, and in a group of its own; a read with one letter changed.
fn traps(lab: &Lab, folder: &Path) -> Result<Rows> {
    let mut random = Generator::new(!lab.seed());
    let large = letters(&mut random, 10 * KMERS as usize + 30);
    let small = letters(&mut random, KMERS as usize + 30);
    let (large_text, small_text) = (fasta(&large), fasta(&small));
    let samples = [new(0, &large_text), new(1, &small_text)];
    let shape = Shape::new(LENGTH, RATE)?;
    let mut rows = Rows::new("traps", "What one must not do", Axis::linear("share or K-mers"));
    let path = folder.join("traps.evk");
    let reads: Vec<Vec<u8>> = (0..200).map(|_| letters(&mut random, READ)).collect();
    for (label, size) in [
        ("trap: 10 times the K-mers in the same rows", Some(rows_for(KMERS))),
        ("in a group of its own", None),
    ] {
        match size {
            Some(rows) => Index::build_sized(&path, shape, &samples, rows)?,
            None => Index::build(&path, shape, &samples)?,
        }
        let mut index = Index::open(&path)?;
        let held = |group: &Group| {
            group.samples.iter().find(|s| s.name == "sample 0").map(|s| group.rate(s, 1))
        };
        let f = index.groups().iter().find_map(held).unwrap_or(1.0);
        let mut wrong = 0u64;
        for read in &reads {
            let found = index.query(read, 0.8)?;
            wrong += u64::from(found.hits.iter().any(|hit| hit.sample == "sample 0"));
        }
        let expected = tail::binomial_at_least(70, f, 56);
        let share = wrong as f64 / reads.len() as f64;
        rows.row(label, expected, share, bound::share(expected, reads.len() as u64));
    }
    let mut index = Index::open(&path)?;
    let mut read = small[500..500 + READ].to_vec();
    read[50] = if read[50] == b'A' { b'C' } else { b'A' };
    let found = index.query(&read, 0.01)?;
    let count = found.hits.iter().find(|hit| hit.sample == "sample 1").map_or(0, |hit| hit.found);
    // 31 of the 70 K-mers hold the changed letter; a share f of them is found by mistake.
    let bounds = tail::binomial_bounds(31, RATE, bound::ALPHA);
    let around = Bound::between(39.0, 39.0 + bounds.1 as f64);
    rows.row("K-mers found of 70, one letter changed", 39.0 + 31.0 * RATE, count as f64, around);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a71_false_samples() {
        let chance = |theta: f64| tail::binomial_at_least(70, 0.3, (theta * 70.0f64).ceil() as u64);
        assert!((chance(0.8) / 7.7e-18 - 1.0).abs() < 0.01, "{}", chance(0.8));
        assert!((chance(0.5) - 3.6e-4).abs() < 5e-6, "{}", chance(0.5));
        let bits = rows_for(1_000_000) as f64 / 1e6;
        assert!((bits - 2.80).abs() < 0.005, "{bits}");
        assert_eq!(Shape::new(31, 0.3).unwrap().probes, 1);
    }
}
