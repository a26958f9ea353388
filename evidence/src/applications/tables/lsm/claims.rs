//! What the store costs and survives.

use std::collections::BTreeMap;
use std::path::Path;

use everbloom::Result;
use everbloom::internals::hash::{Generator, mix64};
use everbloom::internals::theory::bloom as theory;

use super::{Options, Store, log};
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A38",
    form: Form::Component,
    uses: &["bloom"],
    oracle: "a BTreeMap of the same cells",
    data: "rows with random names; puts, deletions, look-ups, and crashes in the middle of writes",
    experiment: Experiment {
        name: "lsm",
        source: "S0 §IV-A [64]",
        title: "A store of sorted files that reads few of them",
        shows: "Answers are those of a BTreeMap, also after a crash. An absent key costs 20·f = 0.164 block reads \
                over 20 files, not 20; a present one 1 + 9.5·f. A damaged filter costs reads, never an answer.",
        run,
    },
};

const FILES: u64 = 20;
const ROWS: u64 = 500;

fn name(i: u64) -> [u8; 8] {
    mix64(i).to_be_bytes()
}

fn options(bits_per_key: f64) -> Options {
    Options { bits_per_key, merges: false, block_bytes: 512, ..Options::default() }
}

/// Twenty files of rows with one column each.
fn filled(folder: &Path, bits_per_key: f64, seed: u64) -> Result<Store> {
    let mut store = Store::open(folder, options(bits_per_key))?;
    for file in 0..FILES {
        for i in 0..ROWS {
            store.put(&name(seed ^ (file * ROWS + i)), b"c", &i.to_le_bytes())?;
        }
        store.flush()?;
    }
    Ok(store)
}

/// Block reads for one look-up of an absent and of a present key, and wrong answers.
fn reads(bits_per_key: f64, seed: u64, lookups: u64) -> Result<[f64; 3]> {
    let folder = tempfile::tempdir()?;
    let store = filled(folder.path(), bits_per_key, seed)?;
    let mut random = Generator::new(seed);
    let mut wrong = 0;
    for i in 0..lookups {
        wrong += u64::from(store.get(&name(seed ^ (1 << 40) ^ i), b"c")?.is_some());
    }
    let absent = store.block_reads();
    for _ in 0..lookups {
        let i = random.below(FILES * ROWS);
        let found = store.get(&name(seed ^ i), b"c")?;
        wrong += u64::from(found != Some((i % ROWS).to_le_bytes().to_vec()));
    }
    let present = store.block_reads() - absent;
    Ok([absent as f64 / lookups as f64, present as f64 / lookups as f64, wrong as f64])
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, lookups) = (lab.scaled(2), 8_000);
    let mut oracle = Oracle::default();
    let [x, y] =
        [Axis::linear("bits of filter for each key"), Axis::log("block reads for a look-up")];
    let keys = 2.0 * ROWS as f64;
    let rate = |bits: f64| theory::fpr_classic(bits * keys, keys, k(bits));
    let xs = || (16..=64).map(|i| f64::from(i) / 4.0);
    let mut absent = Series::new("absent key, 20 files: 20·f", xs(), |b| 20.0 * rate(b));
    let mut present = Series::new("present key: 1 + 9.5·f", xs(), |b| 1.0 + 9.5 * rate(b));
    for bits in [10.0, 12.0] {
        let seen = lab.runs(runs, |seed| reads(bits, seed, lookups))?;
        let mean = |i: usize| seen.iter().map(|s| s[i]).sum::<f64>() / runs as f64;
        let f = rate(bits);
        // The rates of the files' filters differ as their fills do.
        let sd = f * k(bits) * theory::fill_sd(bits * keys, k(bits) * keys) / 0.5;
        let around = |files: f64| bound::rate(files * f, files.sqrt() * sd, runs, lookups);
        absent.point(bits, 20.0 * f, mean(0), around(20.0));
        let high = |b: Bound| Bound { low: b.low.map(|l| 1.0 + l), high: b.high.map(|h| 1.0 + h) };
        present.point(bits, 1.0 + 9.5 * f, mean(1), high(around(9.5)));
        oracle.none(
            &format!("look-ups at {bits} bits a key"),
            seen.iter().map(|s| s[2] as u64).sum(),
        );
    }
    let title = "Block reads for a look-up over 20 files";
    let chart = Chart::new("reads", title, [x, y], [absent, present]);
    crashes(lab, &mut oracle)?;
    let rows = damaged(lab, &mut oracle)?;
    Ok(oracle.report().chart(chart).rows(rows))
}

/// The best whole number of probes.
fn k(bits: f64) -> f64 {
    f64::from(everbloom::internals::theory::bloom::best_k((bits * 1000.0) as u64, 1000))
}

type Model = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

/// A store after random work, its twin, and the log's records since the last file.
fn worked(folder: &Path, seed: u64, writes: u64) -> Result<(Model, Vec<Model>)> {
    let mut store = Store::open(folder, Options { merges: true, ..options(10.0) })?;
    let mut random = Generator::new(seed);
    let (mut model, mut since) = (Model::new(), vec![Model::new()]);
    for i in 0..writes {
        let row = name(random.below(60)).to_vec();
        let column = vec![random.below(3) as u8];
        if random.below(4) == 0 {
            store.delete(&row, &column)?;
            model.remove(&(row, column));
        } else {
            let value = vec![i as u8; random.below(40) as usize];
            store.put(&row, &column, &value)?;
            model.insert((row, column), value);
        }
        since.push(model.clone());
        if i % 100 == 99 && i + 60 < writes {
            store.flush()?;
            since = vec![model.clone()];
        }
    }
    store.sync()?;
    Ok((model, since))
}

fn contents(store: &Store) -> Result<Model> {
    store.scan(..).map(|found| found.map(|(row, column, value)| ((row, column), value))).collect()
}

/// The log cut at every byte: what is left is what was written before, to the last whole write.
fn crashes(lab: &Lab, oracle: &mut Oracle) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (model, since) = worked(folder.path(), lab.seed(), 750)?;
    let store = Store::open(folder.path(), options(10.0))?;
    oracle.equal("cells after a restart", [(contents(&store)?, model)]);
    let rows = (0..70).map(|i| {
        let row = name(i);
        let all = since.last().into_iter().flatten().filter(|((r, _), _)| r[..] == row);
        let twin: Vec<_> =
            all.map(|((_, column), value)| (column.clone(), value.clone())).collect();
        Ok((store.row(&row)?, twin))
    });
    oracle.equal("rows", rows.collect::<Result<Vec<_>>>()?);
    let path = super::log_path(folder.path(), store.log_number);
    drop(store);
    let bytes = std::fs::read(&path)?;
    // Where whole records end, from their parts.
    let ends: Vec<usize> = log::replay(&bytes)
        .0
        .iter()
        .scan(0, |end, entry| {
            let mut record = Vec::new();
            entry.write(&mut record);
            *end += record.len() + 8;
            Some(*end)
        })
        .collect();
    let whole = |cut: usize| ends.partition_point(|end| *end <= cut);
    let cuts = (0..=bytes.len()).map(|cut| {
        let mut left = since[0].clone();
        for entry in log::replay(&bytes[..cut]).0 {
            match entry.value {
                Some(value) => left.insert(entry.cell, value),
                None => left.remove(&entry.cell),
            };
        }
        (left, since[whole(cut)].clone())
    });
    oracle.equal("cells of a log cut at every byte", cuts);
    let mut reopened = Vec::new();
    for cut in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
        std::fs::write(&path, &bytes[..cut])?;
        let store = Store::open(folder.path(), options(10.0))?;
        reopened.push((contents(&store)?, since[whole(cut)].clone()));
    }
    oracle.equal("cells of stores opened with a cut log", reopened);
    Ok(())
}

/// Filters with a flipped bit: every file is read, no answer changes.
fn damaged(lab: &Lab, oracle: &mut Oracle) -> Result<Rows> {
    let folder = tempfile::tempdir()?;
    drop(filled(folder.path(), 10.0, lab.seed())?);
    for found in std::fs::read_dir(folder.path())? {
        let path = found?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("file-")) {
            let mut bytes = std::fs::read(&path)?;
            let footer = bytes.len() - 44;
            let [filter, index] = [0, 8].map(|at| super::u64_at(&bytes, footer + at) as usize);
            bytes[filter + (index - filter) / 2] ^= 1;
            std::fs::write(&path, bytes)?;
        }
    }
    let store = Store::open(folder.path(), options(10.0))?;
    let mut rows = Rows::new("damage", "With a bit of every filter flipped", Axis::linear("count"));
    rows.row("filters found damaged", 20.0, store.filters_lost() as f64, Bound::exactly(20.0, 0.0));
    let (mut wrong, lookups) = (0, 200);
    for i in 0..lookups {
        wrong += u64::from(store.get(&name(lab.seed() ^ (1 << 40) ^ i), b"c")?.is_some());
    }
    // A name before a file's first one needs no read: two ends of 500 names in each file.
    let each = store.block_reads() as f64 / lookups as f64;
    rows.row("block reads for an absent key", 20.0, each, Bound::between(19.5, 20.0));
    for i in 0..lookups {
        let found = store.get(&name(lab.seed() ^ i), b"c")?;
        wrong += u64::from(found != Some((i % ROWS).to_le_bytes().to_vec()));
    }
    oracle.none("look-ups without filters", wrong);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a38_expected_reads() {
        let f = theory::fpr_asymptotic(10.0, 1.0, 7.0);
        assert!((20.0 * f - 0.164).abs() < 5e-4 && (1.0 + 9.5 * f - 1.078).abs() < 5e-4);
        let f = theory::fpr_asymptotic(12.0, 1.0, 8.0);
        assert!((f - 0.00314).abs() < 5e-6 && (20.0 * f - 0.063).abs() < 5e-4);
    }
}
