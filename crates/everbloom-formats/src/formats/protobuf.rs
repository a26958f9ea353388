//! As much of Protocol Buffers as ORC's footers and HBase's trailers need.

use everbloom::Result;

use crate::read::Reader;

/// A field's value.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) fn number(self) -> u64 {
        if let Value::Number(value) = self { value } else { 0 }
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        if let Value::Bytes(bytes) = self { bytes } else { &[] }
    }
}

/// Calls `f` with the number and value of every field of a message.
pub(super) fn fields<'a>(
    message: &'a [u8],
    mut f: impl FnMut(u64, Value<'a>) -> Result<()>,
) -> Result<()> {
    let mut src = Reader::new(message);
    while src.len() > 0 {
        let key = src.varint()?;
        let value = match key & 7 {
            0 => Value::Number(src.varint()?),
            1 => Value::Number(src.u64_le()?),
            2 => {
                let len = src.varint()?;
                Value::Bytes(src.take(len)?)
            }
            5 => Value::Number(src.u32_le()?.into()),
            kind => return Err(src.corrupt(format!("a field of kind {kind}"))),
        };
        f(key >> 3, value)?;
    }
    Ok(())
}

/// The numbers of a packed field, or the one of another.
pub(super) fn numbers(value: Value<'_>) -> Result<Vec<u64>> {
    let bytes = match value {
        Value::Number(value) => return Ok(vec![value]),
        Value::Bytes(bytes) => bytes,
    };
    let mut src = Reader::new(bytes);
    let mut out = Vec::new();
    while src.len() > 0 {
        out.push(src.varint()?);
    }
    Ok(out)
}
