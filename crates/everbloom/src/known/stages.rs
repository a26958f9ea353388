//! Records that are links, each labeled with the number of its stage.

use crate::parts::labels::{label_of, number, shown};
use crate::variant::prelude::*;

/// The stage a record names.
pub(super) fn stage_of(record: &Record<'_>) -> Result<u64> {
    let label = label_of(record)
        .map_err(|_| Error::record("the link has no stage: write LINK, a TAB and its number"))?;
    number(label).ok_or_else(|| {
        Error::record(format!("{} is not a stage: stages are whole numbers", shown(label)))
    })
}

/// Calls `f` with stage and digest of every record.
pub(super) fn read(
    records: &mut dyn Source,
    what: &str,
    hasher: &Hasher,
    mut f: impl FnMut(u64, Digest),
) -> Result<()> {
    let mut line = 0;
    records.batches(&mut |batch| {
        for record in batch {
            line += 1;
            let stage = stage_of(record).map_err(|e| e.context(format!("{what} {line}")))?;
            f(stage, hasher.digest(record.key));
        }
        Ok(())
    })
}
