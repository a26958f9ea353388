//! From records to keys with values, each once.

use crate::error::{Error, Result};
use crate::filter::Record;
use crate::hash::{Digest, Hasher};
use crate::keyvalue::labels::{Dictionary, Labels};
use crate::parts::labels::{label_of, number, shown};
use crate::threads::Cores;
use crate::variant::{Inputs, mapped};

/// A key on its way into the cells.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) digest: Digest,
    pub(super) value: u64,
    /// Where it came from, counted from 1.
    pub(super) record: u64,
}

/// Keys of a batch and what stands beside them, read on any core.
#[derive(Default)]
struct Batch {
    keys: Vec<(Digest, Beside)>,
    /// The labels that are no numbers, one behind the other.
    text: Vec<u8>,
    /// Of the record after these keys.
    failed: Option<Error>,
}

enum Beside {
    Number(u64),
    /// A label, by where it ends in the text.
    Label(usize),
}

impl Batch {
    fn read(hasher: &Hasher, records: &[Record<'_>]) -> Self {
        let mut this = Self::default();
        for record in records {
            match label_of(record) {
                Ok(label) => this.push(hasher.digest(record.key), label),
                Err(e) => {
                    this.failed = Some(e);
                    break;
                }
            }
        }
        this
    }

    fn push(&mut self, digest: Digest, label: &[u8]) {
        let beside = number(label).map(Beside::Number).unwrap_or_else(|| {
            self.text.extend_from_slice(label);
            Beside::Label(self.text.len())
        });
        self.keys.push((digest, beside));
    }
}

/// The keys of all records, each once, with their values and what those stand for.
pub(super) fn read(hasher: &Hasher, inputs: &mut Inputs<'_>) -> Result<(Vec<Entry>, Dictionary)> {
    let (mut entries, mut labels): (Vec<Entry>, _) = (Vec::new(), Labels::default());
    let work = |records: &[Record<'_>]| Batch::read(hasher, records);
    mapped(inputs.records, work, |batch| {
        let (mut start, text) = (0, &batch.text);
        for (digest, beside) in batch.keys {
            let record = entries.len() as u64 + 1;
            let so_far = entries.iter_mut().map(|e| &mut e.value);
            let value = match beside {
                Beside::Number(number) => labels.of_number(number),
                Beside::Label(end) => {
                    labels.of_label(&text[std::mem::replace(&mut start, end)..end], so_far)
                }
            };
            let value = value.map_err(|e| e.context(format!("record {record}")))?;
            entries.push(Entry { digest, value, record });
        }
        let failed = batch.failed.map(|e| e.context(format!("record {}", entries.len() + 1)));
        failed.map_or(Ok(()), Err)
    })?;
    collapse(&mut entries).map_err(|(first, second)| conflict(inputs, first, second))?;
    let names = labels.sorted(entries.iter_mut().map(|e| &mut e.value));
    Ok((entries, names))
}

/// Leaves one entry for each key, in order of the digests; or the records that give one key, or two keys
/// of one digest, different values. Equal digests would never peel.
pub(super) fn collapse(entries: &mut Vec<Entry>) -> std::result::Result<(), (u64, u64)> {
    let cores = Cores::for_keys(entries.len());
    cores.sort(entries, |e| e.digest.h1, |e| (e.digest.h1, e.digest.h2, e.record));
    let same = |pair: &[Entry]| pair[0].digest == pair[1].digest;
    let share = entries.len().div_ceil(cores.count()).max(1);
    // Each with the first one of the next.
    let shares = (0..entries.len()).step_by(share);
    let shares = shares.map(|start| &entries[start..entries.len().min(start + share + 1)]);
    if !cores.map(shares, |entries| entries.windows(2).any(same)).contains(&true) {
        return Ok(());
    }
    let clash = |pair: &&[Entry]| same(pair) && pair[0].value != pair[1].value;
    if let Some(pair) = entries.windows(2).find(clash) {
        return Err((pair[0].record, pair[1].record));
    }
    entries.dedup_by_key(|e| e.digest);
    Ok(())
}

/// Names the two records that contradict each other; they are read once more, since only digests are kept.
fn conflict(inputs: &mut Inputs<'_>, first: u64, second: u64) -> Error {
    let (mut line, mut keys, mut labels) = (0, Vec::new(), Vec::new());
    let read = inputs.records.batches(&mut |batch| {
        for record in batch {
            line += 1;
            if line == first || line == second {
                keys.push(shown(record.key));
                labels.push(label_of(record).map(shown)?);
            }
        }
        Ok(())
    });
    match (read, &keys[..], &labels[..]) {
        (Ok(()), [key, same], [a, b]) if key == same => Error::record(format!(
            "records {first} and {second}: the key {key} has the labels {a} and {b}, but a key has only one: omit \
            one of the records"
        )),
        (Ok(()), [key, other], _) => Error::record(format!(
            "records {first} and {second}: the keys {key} and {other} have the same digest: build with another {{seed}}"
        )),
        (Err(e), ..) => e,
        _ => Error::record(format!("records {first} and {second} give the same key two labels")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever a key comes twice, also where the share of one core ends and that of another begins.
    #[test]
    fn neighbors_of_one_digest_collapse() {
        let n = 200_000u64;
        for cores in 1..=8 {
            let end = n.div_ceil(cores);
            for twice in [end - 2, end - 1, end].into_iter().filter(|at| at + 1 < n) {
                let digest = |i: u64| Digest { h1: (i - u64::from(i > twice)) << 46, h2: 1 };
                let entry = |i| Entry { digest: digest(i), value: 7, record: n - i };
                let mut entries: Vec<Entry> = (0..n).rev().map(entry).collect();
                let mut clashing = entries.clone();
                assert_eq!(collapse(&mut entries), Ok(()));
                assert_eq!(entries.len() as u64, n - 1, "{cores} {twice}");
                assert!(entries.iter().all(|e| e.record != n - twice), "the first one stays");
                clashing[(n - 1 - twice) as usize].value = 8;
                assert_eq!(collapse(&mut clashing), Err((n - twice - 1, n - twice)));
            }
        }
    }
}
