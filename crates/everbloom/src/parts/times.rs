//! Counts beside keys.

use crate::error::{Error, Result};
use crate::filter::{Record, Value};

/// How often a record counts: as often as it says, once if it says nothing.
pub(crate) fn times_of(record: &Record<'_>) -> Result<u64> {
    match record.value {
        None => Ok(1),
        Some(Value::Count(0)) => {
            Err(Error::record("a count of 0 changes nothing: omit the record"))
        }
        Some(Value::Count(times)) => Ok(times),
        Some(_) => Err(Error::record("the value of the key must be a count")),
    }
}
