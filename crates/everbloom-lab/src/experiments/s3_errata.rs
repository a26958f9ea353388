//! Errors in S3's prose that running code can show, besides those of its equations and tables.

use everbloom::cells::Bits;
use everbloom::compact::compacted;
use everbloom::compact::compressed::{Compressed, rate_limit, sent_per_key};
use everbloom::counting::fingerprint_counting::{self, FingerprintCounting};
use everbloom::counting::spectral::Spectral;
use everbloom::counting::variable_increment::Sequence;
use everbloom::error::Result;
use everbloom::filter::{Filter, Record};
use everbloom::grouping::LoadBalanced;
use everbloom::growing::scalable::{self, layer_fpr};
use everbloom::hash::{Generator, Hasher};
use everbloom::membership::Egh;
use everbloom::plan::Goal;
use everbloom::probe::Double;
use everbloom::similarity::DistanceSensitive;
use everbloom::theory::{bloom, counting, prime};

use crate::{Axis, Bound, Experiment, Lab, Report, Rows};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s3-errata",
    source: "S3 §IV-D, §IV-E, §V-A, §V-C, §VI-A, §VI-B, §VII-C, §VIII-A",
    title: "What S3's prose gets wrong, by measurement",
    shows: "Each row is what a filter does; the list of errors says what S3's sentence would have it do.",
    run,
};

/// One error: the sentence, the number that follows from it, and what is true and was seen.
struct Finding {
    place: &'static str,
    label: &'static str,
    says: &'static str,
    truth: &'static str,
    printed: f64,
    predicted: f64,
    measured: f64,
    bound: Bound,
}

/// Queries per filter where a rate is measured.
const QUERIES: u64 = 10_000;

/// The share of strangers that pass, over filters built by `build`.
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

/// S3's own example: 20 of 562 elements, k = 34 and m = 2127.
const UNIVERSE: u64 = 562;
const ZONE: u64 = 20;

fn primes() -> Result<Finding> {
    let enough = (ZONE as f64).ln() * UNIVERSE as f64;
    let mut product = 0.0;
    let needed = (2..).filter(|p| prime::is_prime(*p)).take_while(|p| {
        let short = product < enough;
        product += (*p as f64).ln();
        short
    });
    Ok(Finding {
        place: "S3 §IV-D, EGH",
        label: "EGH: primes for 20 of 562 elements",
        says: "n_t^|U| is below the product of the first k primes",
        truth: "|U|^n_t is: 34 primes for 20 of 562 elements, as S3's example has it",
        printed: needed.count() as f64,
        predicted: 34.0,
        measured: Egh::new(UNIVERSE, ZONE)?.slices().primes().len() as f64,
        bound: Bound::exactly(34.0, 0.0),
    })
}

/// The share of wrong answers about the whole universe with those primes.
fn zone(lab: &Lab) -> Result<f64> {
    let wrong = lab.runs(lab.scaled(200), |seed| {
        let mut filter = Egh::new(UNIVERSE, ZONE)?;
        let mut coins = Generator::new(seed);
        let mut members = vec![false; UNIVERSE as usize];
        for _ in 0..ZONE {
            let x = coins.below(UNIVERSE);
            members[x as usize] = true;
            filter.insert(x)?;
        }
        Ok((0..UNIVERSE).filter(|x| filter.contains(*x) != members[*x as usize]).count() as u64)
    })?;
    Ok(wrong.iter().sum::<u64>() as f64 / (wrong.len() as u64 * UNIVERSE) as f64)
}

fn variable_increment() -> Finding {
    let order = (1..=4).rev().find(|order| Sequence::new(&[1, 4, 8, 13], *order).is_ok());
    Finding {
        place: "S3 §IV-E, VI-CBF",
        label: "VI-CBF: elements told apart in a cell",
        says: "sums tell their increments for no more than u = |D| elements: 4 for {1, 4, 8, 13}",
        truth: "for no more than the order of the sequence, 3: 1+1+1+13 and 4+4+4+4 are both 16",
        printed: 4.0,
        predicted: 3.0,
        measured: order.map_or(0.0, f64::from),
        bound: Bound::exactly(3.0, 0.0),
    }
}

fn fingerprints(lab: &Lab) -> Result<Finding> {
    let (m, n, k, a) = (3000, 1000, 3, 1);
    let runs = lab.scaled(40);
    let build = |seed: u64| {
        let mut filter = FingerprintCounting::with_shape(m, k, 4, a, Hasher::seeded(seed));
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
        label: "FP-CBF: rate with 1-bit fingerprints",
        says: "fingerprints of a bits lie in [0, 2^a]",
        truth: "in [0, 2^a - 1]: with one bit, one in two agrees, not one in three",
        printed: of_range.powi(k as i32),
        predicted,
        measured,
        bound: Bound::rate(predicted, sd, runs, QUERIES),
    })
}

fn less_hashing(lab: &Lab) -> Finding {
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
        label: "less hashing: indices beyond the array",
        says: "g_i = h1 + i × h2 mod m",
        truth: "g_i = (h1 + i × h2) mod m: the remainder is that of the sum",
        printed: share(printed),
        predicted: 0.0,
        measured: share(measured),
        bound: Bound::exactly(0.0, 0.0),
    }
}

fn compressed(lab: &Lab) -> Result<Finding> {
    let (n, c, k) = (2000u64, 14u64, 2);
    let runs = lab.scaled(20);
    let build = |seed: u64| {
        let mut filter = Compressed::with_shape(c * n, k, Hasher::seeded(seed));
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
        label: "compressed: rate at 7.9 bits sent per key",
        says: "with z bits sent the rate is 0.5^(z/n)",
        truth: "that is the limit of ever longer arrays: m/n = 14 and k = 2 send as much",
        printed: rate_limit(sent_per_key(c as f64, k)),
        predicted,
        measured,
        bound: Bound::rate(predicted, sd, runs, QUERIES),
    })
}

fn compaction(lab: &Lab) -> Finding {
    let (n, blocks, width) = (1000u64, 6u32, 3);
    let mut bits = Bits::new(12 * n);
    let mut coins = Generator::new(lab.seed());
    (0..2 * n).for_each(|_| {
        let bit = coins.below(bits.len());
        bits.set(bit);
    });
    let (indices, _) = compacted::compact(&bits, blocks, width, lab.seed());
    let b = (bits.len() / u64::from(blocks)) as f64;
    Finding {
        place: "S3 §V-C, compacted",
        label: "compacted: indices of 12,000 bits, 6 blocks",
        says: "the array becomes n indices, n the elements: 1,000",
        truth: "b indices, b the bits of a block: 2,000",
        printed: n as f64,
        predicted: b,
        measured: indices.len() as f64,
        bound: Bound::exactly(b, 0.0),
    }
}

/// x comes three times, y twice, they share a counter, and y is removed.
fn spectral(lab: &Lab) -> Result<Finding> {
    let counts = lab.runs(lab.scaled(200), |seed| {
        let goal = Goal::new(10, 0.1).set("m", 16).set("k", 3).seed(seed);
        let mut filter = Spectral::planned(&goal)?;
        let cells = |key: u64| filter.trace(&key.to_le_bytes()).into_iter().map(|t| t.index);
        let of_x: Vec<u64> = cells(0).collect();
        let y = (1..).find(|y| cells(*y).any(|cell| of_x.contains(&cell))).unwrap_or(1);
        filter.insert_times(&0u64, 3);
        filter.insert_times(&y, 2);
        filter.remove(&y)?;
        filter.remove(&y)?;
        Ok(filter.count(&0u64) as f64)
    })?;
    Ok(Finding {
        place: "S3 §VI-A, spectral",
        label: "spectral: count of x after y is removed",
        says: "removing y, which came twice, drops x from 3 to 1 where they share a counter",
        truth: "x stays at 3: the shared counter held 5. Only minimum increase, which does not add \
                to it, would lose counts",
        printed: 1.0,
        predicted: 3.0,
        measured: counts.iter().sum::<f64>() / counts.len() as f64,
        bound: Bound::exactly(3.0, 0.0),
    })
}

fn layers(lab: &Lab) -> Result<Finding> {
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
        label: "scalable: rate of six full layers, planned 0.1",
        says: "the rates of successive layers increase geometrically",
        truth: "they decrease, so that their sum stays below what was planned",
        printed: passes(|i| 0.85f64.powi(-(i as i32))),
        predicted,
        measured,
        // The small layers' fills differ by about 5 % of their rate; whole slices round k.
        bound: Bound::rate(predicted, 0.05 * predicted, runs, QUERIES).widened(predicted, 0.01),
    })
}

fn distance(lab: &Lab) -> Result<Finding> {
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
        label: "distance-sensitive: members called close",
        says: "x is far from all elements if more than t arrays know it, else close",
        truth: "close if at least t do: a member is known by all of them",
        printed: 0.0,
        predicted: 1.0,
        measured: close as f64 / members as f64,
        bound: Bound::exactly(1.0, 0.0),
    })
}

fn load_balanced(lab: &Lab) -> Result<Finding> {
    let (m, k) = (7000, 7);
    let mut filter = LoadBalanced::with_shape(m, k, Hasher::seeded(lab.seed()))?;
    for key in 0..100u64 {
        filter.insert(&key, b"24")?;
    }
    let used = filter.banks().filter(|fill| *fill > 0.0).count();
    Ok(Finding {
        place: "S3 §VIII-A, DLB-BF",
        label: "DLB-BF: filters that prefixes of one length use",
        says: "prefixes of one length have a filter of their own",
        truth: "all lengths share the k filters; only the hash functions are theirs, as §V-A says",
        printed: 1.0,
        predicted: f64::from(k),
        measured: used as f64,
        bound: Bound::exactly(f64::from(k), 0.0),
    })
}

fn run(lab: &Lab) -> Result<Report> {
    let shares =
        [fingerprints(lab)?, less_hashing(lab), compressed(lab)?, layers(lab)?, distance(lab)?];
    let numbers =
        [primes()?, variable_increment(), compaction(lab), spectral(lab)?, load_balanced(lab)?];
    let mut report = Report::default();
    for (id, title, axis, findings) in [
        ("a", "Rates and shares, as they are", Axis::linear("share"), &shares[..]),
        ("b", "Numbers, as they are", Axis::log("number"), &numbers[..]),
    ] {
        let mut rows = Rows::new(id, title, axis);
        if id == "a" {
            let exact = Bound::exactly(0.0, 0.0);
            rows.row("EGH: wrong answers with 34 primes", 0.0, zone(lab)?, exact);
        }
        for f in findings {
            rows.row(f.label, f.predicted, f.measured, f.bound);
            let numbers = [f.predicted, f.measured];
            report = report.erratum(f.place, [f.says, f.truth], f.printed, numbers, f.bound);
        }
        report = report.rows(rows);
    }
    Ok(report.note(
        "Errors of the equations stand with them (s3-eq1, s3-eq5, s3-eq6, s3-table3), those of Table IV \
         with s3-table4. Not shown: misprints that no number follows from.",
    ))
}
