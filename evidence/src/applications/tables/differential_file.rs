//! A differential file: yesterday's records, and today's changes beside them (catalogue A4; S1 §3.2, S0 §IV-F \[127\]).
//!
//! ```text
//!   read 4711 ──▶ filter of changed ids: no ───▶ master file
//!             └─▶ maybe ──▶ differential file: there, the newest record
//!                                              not there (a false positive) ──▶ master file
//! ```
//!
//! The master file is written rarely; changes of the day go to a small file, and at night both become one and the
//! filter is empty again. The filter spares most readers the look into the differential file: with a share c of
//! records changed and a rate f they read it c + f·(1 − c) times, 0.109 at c = 10 % and f = 1 %. A record that was
//! deleted is a change, too. The filter must never forget one, or readers get yesterday's record: bits are
//! never cleared before the merge.

use std::cell::Cell;
use std::collections::BTreeMap;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Key, Result};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// A master file and the changes since it was written.
///
/// ```
/// use everbloom_lab::applications::tables::differential_file::DifferentialFile;
///
/// let mut file = DifferentialFile::new([(1, "old one"), (2, "old two")], 100, 0.01)?;
/// file.change(2, "new two");
/// assert_eq!((file.read(&1), file.read(&2)), (Some(&"old one"), Some(&"new two")));
/// file.merge()?;
/// assert_eq!(file.read(&2), Some(&"new two"));
/// assert_eq!(file.changes(), 0);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct DifferentialFile<K, V> {
    master: BTreeMap<K, V>,
    /// None is a record that was deleted.
    changed: BTreeMap<K, Option<V>>,
    filter: Bloom,
    capacity: u64,
    rate: f64,
    reads: Cell<Reads>,
}

/// How often the files were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Records read.
    pub records: u64,
    /// Of them, those for which the differential file was read.
    pub differential: u64,
}

impl<K: Key + Ord, V> DifferentialFile<K, V> {
    /// A master file, with room for so many changes until the merge. More make more readers look in vain, and
    /// [`DifferentialFile::is_full`] says so; no reader gets an old record.
    pub fn new(records: impl IntoIterator<Item = (K, V)>, changes: u64, rate: f64) -> Result<Self> {
        Ok(Self {
            master: records.into_iter().collect(),
            changed: BTreeMap::new(),
            filter: Bloom::with_rate(changes, rate)?,
            capacity: changes,
            rate,
            reads: Cell::default(),
        })
    }

    /// Changes a record, or adds one.
    pub fn change(&mut self, id: K, record: V) {
        self.note(id, Some(record));
    }

    /// Deletes a record.
    pub fn delete(&mut self, id: K) {
        self.note(id, None);
    }

    fn note(&mut self, id: K, record: Option<V>) {
        self.filter.insert(&id);
        self.changed.insert(id, record);
    }

    /// The current record.
    pub fn read(&self, id: &K) -> Option<&V> {
        let mut reads = self.reads.get();
        reads.records += 1;
        let mut found = None;
        if self.filter.contains(id) {
            reads.differential += 1;
            found = self.changed.get(id);
        }
        self.reads.set(reads);
        found.map_or_else(|| self.master.get(id), Option::as_ref)
    }

    /// Puts all changes into the master file; the filter is empty afterwards.
    pub fn merge(&mut self) -> Result<()> {
        let filter = Bloom::with_rate(self.capacity, self.rate)?;
        for (id, record) in std::mem::take(&mut self.changed) {
            match record {
                Some(record) => self.master.insert(id, record),
                None => self.master.remove(&id),
            };
        }
        self.filter = filter;
        Ok(())
    }

    /// Records changed since the last merge.
    pub fn changes(&self) -> u64 {
        self.changed.len() as u64
    }

    /// Whether it is time to merge: more changes make the filter err more often than planned.
    pub fn is_full(&self) -> bool {
        self.changes() >= self.capacity
    }

    /// How often the files were read.
    pub fn reads(&self) -> Reads {
        self.reads.get()
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A4",
    form: Form::Component,
    uses: &["bloom"],
    oracle: "one map that is changed in place",
    data: "20,000 numbered records of which a share is changed or deleted, read at random, over three nights",
    experiment: Experiment {
        name: "differential-file",
        source: "S1 §3.2, S0 §IV-F [127]",
        title: "A differential file that is read only where a record may have changed",
        shows: "Every record read is the newest. Of c changed records and a rate f, readers look into the differential \
                file c + f·(1 − c) times: 0.109 at 10 % and 1 %, so that 89.1 % of the reads are saved.",
        run,
    },
};

const RECORDS: u64 = 20_000;
const RATE: f64 = 0.01;

struct Night {
    pairs: Vec<(Option<u64>, Option<u64>)>,
    reads: Reads,
    /// Reads of the differential file for records that had not changed, of how many.
    vain: (u64, u64),
    after: Reads,
    rate: f64,
}

fn nights(seed: u64, share: f64) -> Result<Vec<Night>> {
    let mut random = Generator::new(seed);
    let changes = (RECORDS as f64 * share) as u64;
    let mut twin: BTreeMap<u64, u64> = (0..RECORDS).map(|id| (id, id)).collect();
    let mut file = DifferentialFile::new(twin.clone(), changes, RATE)?;
    let mut all = Vec::new();
    for night in 1..=3 {
        // Every id is a record at the start of the day, so that the share of changed ones is exact.
        let mut ids: Vec<u64> = (0..RECORDS).collect();
        crate::sim::shuffle(&mut ids, &mut random);
        for (i, &id) in ids[..changes as usize].iter().enumerate() {
            if i % 10 == 0 {
                file.delete(id);
                twin.remove(&id);
            } else {
                file.change(id, night << 32 | id);
                twin.insert(id, night << 32 | id);
            }
        }
        let before = file.reads();
        let read = |file: &DifferentialFile<u64, u64>, ids: &[u64]| -> Vec<_> {
            ids.iter().map(|id| (file.read(id).copied(), twin.get(id).copied())).collect()
        };
        let mut pairs = read(&file, &ids[..changes as usize]);
        let middle = file.reads();
        pairs.extend(read(&file, &ids[changes as usize..]));
        let now = file.reads();
        let vain = (now.differential - middle.differential, now.records - middle.records);
        let reads = Reads {
            records: now.records - before.records,
            differential: now.differential - before.differential,
        };
        let rate = everbloom::Filter::now(&file.filter).fpr.unwrap_or(0.0);
        file.merge()?;
        pairs.extend(read(&file, &ids));
        let later = file.reads();
        let after = Reads {
            records: later.records - now.records,
            differential: later.differential - now.differential,
        };
        all.push(Night { pairs, reads, vain, after, rate });
    }
    Ok(all)
}

/// Reads of the differential file for each record read.
fn looked(share: f64, f: f64) -> f64 {
    share + f * (1.0 - share)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(2);
    let mut oracle = Oracle::default();
    let [x, y] = [
        Axis::linear("share of changed records"),
        Axis::linear("looks into the differential file"),
    ];
    let xs = (0..=50).map(|i| f64::from(i) / 100.0);
    let mut series = Series::new("c + f·(1 − c), f = 0.01", xs, |c| looked(c, RATE));
    let mut rows = Rows::new("vain", "What a reader pays", Axis::linear("share of reads"));
    for share in [0.02, 0.1, 0.3] {
        let all: Vec<Night> =
            lab.runs(runs, |seed| nights(seed, share))?.into_iter().flatten().collect();
        let sum = |of: fn(&Night) -> u64| all.iter().map(of).sum::<u64>();
        let reads = sum(|n| n.reads.records);
        let measured = sum(|n| n.reads.differential) as f64 / reads as f64;
        let changes = RECORDS as f64 * share;
        let sd = RATE * 7.0 * theory::fill_sd(changes * 9.585, changes * 6.644) / 0.5;
        let vain = sum(|n| n.vain.1);
        let around =
            bound::rate(RATE, sd, all.len() as u64, vain / all.len() as u64).widened(RATE, 0.03);
        let moved = |f: Option<f64>| f.map(|f| looked(share, f));
        let high = Bound { low: moved(around.low), high: moved(around.high) };
        series.point(share, looked(share, RATE), measured, high);
        let rate = sum(|n| n.vain.0) as f64 / vain as f64;
        let own = all.iter().map(|n| n.rate).sum::<f64>() / all.len() as f64;
        rows.row(format!("{share} changed: looks in vain"), own, rate, bound::share(own, vain));
        let after = sum(|n| n.after.differential) as f64;
        rows.row(
            format!("{share} changed: looks after the merge"),
            0.0,
            after,
            Bound::exactly(0.0, 0.0),
        );
        if share == 0.1 {
            let saved = 1.0 - measured;
            rows.row(
                "0.1 changed: looks saved",
                0.891,
                saved,
                Bound::exactly(0.891, 0.0005 + (high.high.unwrap_or(1.0) - looked(0.1, RATE))),
            );
        }
        oracle
            .equal(&format!("records with {share} changed"), all.into_iter().flat_map(|n| n.pairs));
    }
    let title = "Looks into the differential file for each record read";
    let chart = Chart::new("looks", title, [x, y], [series]);
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a4_looks_and_savings() {
        assert!((looked(0.1, 0.01) - 0.109).abs() < 1e-12);
        assert!((1.0 - looked(0.1, 0.01) - 0.891).abs() < 1e-12);
    }

    #[test]
    fn too_many_changes_cost_looks_and_no_answer() {
        let mut file = DifferentialFile::new((0..1000u64).map(|i| (i, 0)), 10, 0.01).unwrap();
        (0..500).for_each(|i| file.change(i, 1));
        assert!(file.is_full());
        assert!((0..1000).all(|i| file.read(&i) == Some(&i32::from(i < 500))));
        assert!(file.reads().differential > 900);
        file.delete(3);
        assert_eq!(file.read(&3), None);
        file.merge().unwrap();
        assert_eq!((file.read(&3), file.read(&4)), (None, Some(&1)));
    }
}
