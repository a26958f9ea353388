//! Errors from which a wrong rate or share follows.

use everbloom::Result;
use everbloom::compact::compressed::{Compressed, rate_limit, sent_per_key};
use everbloom::counting::fingerprint_counting;
use everbloom::counting::fingerprint_counting::FingerprintCounting;
use everbloom::growing::scalable;
use everbloom::growing::scalable::layer_fpr;
use everbloom::internals::filter::Record;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::Goal;
use everbloom::internals::probe::Double;
use everbloom::internals::theory::{bloom, counting};
use everbloom::structured::DistanceSensitive;

use super::Finding;
use crate::{Bound, Grade, Lab, Said, bound};

/// Queries per filter where a rate is measured.
const QUERIES: u64 = 10_000;

/// The share of non-members that pass, over filters built by `build`.
fn rate<F>(
    lab: &Lab,
    runs: u64,
    build: impl Fn(u64) -> Result<F> + Sync,
    passes: impl Fn(&F, u64) -> bool + Sync,
) -> Result<f64> {
    let rates = lab.runs(runs, |seed| {
        let filter = build(seed)?;
        let mut keys = Generator::new(!seed);
        let passed = (0..QUERIES).filter(|_| passes(&filter, keys.next_u64())).count();
        Ok(passed as f64 / QUERIES as f64)
    })?;
    Ok(rates.iter().sum::<f64>() / runs as f64)
}

pub fn fingerprints(lab: &Lab) -> Result<Finding> {
    let (m, n, k, a) = (3000, 1000, 3, 1);
    let runs = lab.scaled(40);
    let build = |seed: u64| {
        let mut filter = FingerprintCounting::with_shape(m, k, 4, a, Hasher::seeded(seed))
            .expect("a shape that can be");
        let mut keys = Generator::new(seed);
        (0..n).for_each(|_| {
            filter.insert(&keys.next_u64());
        });
        Ok(filter)
    };
    let measured = rate(lab, runs, build, |f: &FingerprintCounting, key| f.contains(&key))?;
    let predicted = fingerprint_counting::fpr(m, n, k, a);
    let [none, single] = [0, 1].map(|j| counting::cell_pmf(m, n, k, j));
    // 2^a + 1 fingerprints: one that is taken for another's is as rare as 1 in 3.
    let of_range = 1.0 - none - single * (1.0 - 1.0 / 3.0);
    let cell = predicted.powf(1.0 / f64::from(k));
    let sd = f64::from(k) * cell.powi(2) * (cell * (1.0 - cell) / m as f64).sqrt();
    Ok(Finding {
        place: "S3 §IV-E, FP-CBF",
        grade: Grade::Misprint,
        label: "FP-CBF: rate with 1-bit fingerprints",
        says: "“map element x into the range [0, 2^a]”",
        truth: "in [0, 2^a - 1]: with one bit, one in two agrees, not one in three",
        said: Said::Follows(of_range.powi(k as i32)),
        predicted,
        measured,
        bound: bound::rate(predicted, sd, runs, QUERIES),
    })
}

pub fn less_hashing(lab: &Lab) -> Finding {
    let (m, k) = (1000u64, 7);
    let (probe, hasher) = (Double::new(m, k), Hasher::seeded(lab.seed()));
    let keys = lab.scaled(20_000);
    let (mut printed, mut measured) = (0, 0);
    for key in 0..keys {
        let digest = hasher.digest(&key);
        let (h1, h2) = (digest.h1 % m, digest.h2 % m);
        printed += (0..u64::from(k)).filter(|i| h1 + i * h2 >= m).count();
        measured += probe.indices(digest).filter(|i| *i >= m).count();
    }
    let share = |count: usize| count as f64 / (keys * u64::from(k)) as f64;
    Finding {
        place: "S3 §V-A, less hashing",
        grade: Grade::Misprint,
        label: "less hashing: indices beyond the array",
        says: "“g_i(x) = h_1(x) + i × h_2(x) mod m”",
        truth: "g_i = (h1 + i × h2) mod m: the remainder is that of the sum",
        said: Said::Follows(share(printed)),
        predicted: 0.0,
        measured: share(measured),
        bound: Bound::exactly(0.0, 0.0),
    }
}

pub fn compressed(lab: &Lab) -> Result<Finding> {
    let (n, c, k) = (2000u64, 14u64, 2);
    let runs = lab.scaled(20);
    let build = |seed: u64| {
        let mut filter =
            Compressed::with_shape(c * n, k, Hasher::seeded(seed)).expect("a shape that can be");
        let mut keys = Generator::new(seed);
        (0..n).for_each(|_| {
            filter.insert(&keys.next_u64());
        });
        Ok(filter)
    };
    let measured = rate(lab, runs, build, |f: &Compressed, key| f.contains(&key))?;
    let (m, throws) = ((c * n) as f64, f64::from(k) * n as f64);
    let predicted = bloom::fpr_classic(m, n as f64, f64::from(k));
    let sd = f64::from(k) * bloom::fill(m, throws) * bloom::fill_sd(m, throws);
    Ok(Finding {
        place: "S3 §V-C, compressed",
        grade: Grade::Disproved,
        label: "compressed: rate at 7.9 bits sent per key",
        says: "“the false positive rate is reduced as 0.5^{z/n}”, z the bits sent",
        truth: "that is the limit of ever longer arrays: m/n = 14 and k = 2 send as much",
        said: Said::Follows(rate_limit(sent_per_key(c as f64, k))),
        predicted,
        measured,
        bound: bound::rate(predicted, sd, runs, QUERIES),
    })
}

pub fn layers(lab: &Lab) -> Result<Finding> {
    let (first, fpr, tightening, layers) = (100u64, 0.1, 0.85, 6usize);
    let runs = lab.scaled(40);
    // Layers double, each filled to the brim.
    let capacity = first * ((1 << layers) - 1);
    let build = |seed: u64| {
        let goal = Goal::new(first, fpr).set("growth", 2).set("tightening", tightening);
        let mut filter = scalable::VARIANT.build_from(&goal.seed(seed), &[])?;
        let mut keys = Generator::new(seed);
        while filter.head().items < capacity {
            let key = keys.next_u64().to_le_bytes();
            if let Some(insert) = filter.as_insert() {
                insert.insert(Record::key(&key))?;
            }
        }
        Ok(filter)
    };
    let measured = rate(lab, runs, build, |f, key| f.contains(&key.to_le_bytes()))?;
    let passes = |layer: fn(usize) -> f64| {
        1.0 - (0..layers).map(|i| 1.0 - layer_fpr(fpr, tightening, 0) * layer(i)).product::<f64>()
    };
    let predicted = passes(|i| 0.85f64.powi(i as i32));
    Ok(Finding {
        place: "S3 §VI-B, scalable",
        grade: Grade::Misprint,
        label: "scalable: rate of six full layers, planned 0.1",
        says: "“the designed false positive rate of the successive sub-BFs are increased geometrically”",
        truth: "they decrease, so that their sum stays below what was planned",
        said: Said::Follows(passes(|i| 0.85f64.powi(-(i as i32)))),
        predicted,
        measured,
        // The small layers' fills differ by about 5 % of their rate; whole slices round k.
        bound: bound::rate(predicted, 0.05 * predicted, runs, QUERIES).widened(predicted, 0.01),
    })
}

pub fn distance(lab: &Lab) -> Result<Finding> {
    let members = 100;
    let mut filter = DistanceSensitive::with_rate(members, 0.01)?;
    let mut coins = Generator::new(lab.seed());
    let vectors: Vec<Vec<u8>> =
        (0..members).map(|_| (0..256).map(|_| b'0' + coins.below(2) as u8).collect()).collect();
    for vector in &vectors {
        filter.insert(&vector[..])?;
    }
    let mut close = 0;
    for vector in &vectors {
        close += u64::from(filter.contains(&vector[..])?);
    }
    Ok(Finding {
        place: "S3 §VII-C, distance-sensitive",
        grade: Grade::Misprint,
        label: "distance-sensitive: members called close",
        says: "“If B(x) is larger than a predefined threshold t, x is far away from all elements in S”",
        truth: "close if at least t do: a member is known by all of them",
        said: Said::Follows(0.0),
        predicted: 1.0,
        measured: close as f64 / members as f64,
        bound: Bound::exactly(1.0, 0.0),
    })
}
