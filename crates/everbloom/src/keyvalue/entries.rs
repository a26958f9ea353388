//! From records to keys with values, each once.

use crate::error::{Error, Result};
use crate::hash::{Digest, Hasher};
use crate::keyvalue::labels::{Dictionary, Labels};
use crate::parts::labels::{label_of, shown};
use crate::threads::Cores;
use crate::variant::Inputs;

/// A key on its way into the cells.
pub(super) struct Entry {
    pub(super) digest: Digest,
    pub(super) value: u64,
    /// Where it came from, counted from 1.
    pub(super) record: u64,
}

/// Bits that hold `value`, at least 1.
pub(super) fn bits_of(value: u64) -> u32 {
    (u64::BITS - value.leading_zeros()).max(1)
}

/// The keys of all records, each once, with their values and what those stand for.
pub(super) fn read(hasher: &Hasher, inputs: &mut Inputs<'_>) -> Result<(Vec<Entry>, Dictionary)> {
    let (mut entries, mut labels): (Vec<Entry>, _) = (Vec::new(), Labels::default());
    inputs.records.batches(&mut |batch| {
        for record in batch {
            let line = entries.len() as u64 + 1;
            let value = label_of(record)
                .and_then(|label| labels.value(label, entries.iter_mut().map(|e| &mut e.value)));
            let value = value.map_err(|e| e.context(format!("record {line}")))?;
            let digest = hasher.digest(record.key);
            entries.push(Entry { digest, value, record: line });
        }
        Ok(())
    })?;
    collapse(&mut entries).map_err(|(first, second)| conflict(inputs, first, second))?;
    let names = labels.sorted(entries.iter_mut().map(|e| &mut e.value));
    Ok((entries, names))
}

/// Leaves one entry for each key, in order of the digests; or the records that give one key, or two keys
/// of one digest, different values. Equal digests would never peel.
pub(super) fn collapse(entries: &mut Vec<Entry>) -> std::result::Result<(), (u64, u64)> {
    let cores = Cores::for_keys(entries.len());
    cores.sort(entries, |e| (e.digest.h1, e.digest.h2, e.record));
    let clash =
        |pair: &&[Entry]| pair[0].digest == pair[1].digest && pair[0].value != pair[1].value;
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
            "records {first} and {second}: the key {key} has the labels {a} and {b}, \
             but a key has one value: leave one of the records out"
        )),
        (Ok(()), [key, other], _) => Error::record(format!(
            "records {first} and {second}: the keys {key} and {other} have one digest: \
             build with another {{seed}}"
        )),
        (Err(e), ..) => e,
        _ => Error::record(format!("records {first} and {second} give one key two labels")),
    }
}
