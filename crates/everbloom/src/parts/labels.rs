//! Labels beside keys: groups, stages, values.

use crate::error::{Error, Result};
use crate::filter::{Record, Value};

/// Bytes of all labels together: they are held in memory and stand in the file's header.
pub(crate) const MAX_LABEL_BYTES: usize = 64 << 20;

/// The number whose canonical decimal spelling this is.
pub(crate) fn number(label: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(label).ok()?;
    let canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| canonical)
}

/// Bytes for people: lossy, quoted, and not too long.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

/// The label beside a key.
pub(crate) fn label_of<'a>(record: &Record<'a>) -> Result<&'a [u8]> {
    match record.value {
        Some(Value::Label(label) | Value::Bytes(label)) => Ok(label),
        _ => Err(Error::record("the key has no label: write KEY, a TAB and the label")),
    }
}
