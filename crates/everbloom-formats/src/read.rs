//! Reading bytes of unknown origin: every length is checked before it is used.

use everbloom::{Error, Kind, Result};

/// What is left of some bytes, and how far in it starts.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    offset: u64,
}

macro_rules! numbers {
    ($($name:ident: $type:ty = $from:ident;)+) => {
        $(
            #[doc = concat!("The next `", stringify!($type), "`.")]
            pub(crate) fn $name(&mut self) -> Result<$type> {
                self.array().map(<$type>::$from)
            }
        )+
    };
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, offset: 0 }
    }

    numbers! {
        u16_le: u16 = from_le_bytes;
        u16_be: u16 = from_be_bytes;
        u32_le: u32 = from_le_bytes;
        u32_be: u32 = from_be_bytes;
        u64_le: u64 = from_le_bytes;
        u64_be: u64 = from_be_bytes;
        f64_le: f64 = from_le_bytes;
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N as u64)?.try_into().unwrap_or([0; N]))
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    /// A number of 7 bits a byte, the lowest first.
    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.corrupt("a number of more than 64 bits"))
    }

    /// A count that is stored as a signed 32-bit number, and is not below zero.
    pub(crate) fn count_be(&mut self) -> Result<u64> {
        let value = self.u32_be()?;
        if value > i32::MAX as u32 {
            return Err(self.corrupt("a length below zero"));
        }
        Ok(value.into())
    }

    /// The next `len` bytes, if there are as many.
    pub(crate) fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let split = usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len));
        let Some((taken, rest)) = split else {
            let message = format!(
                "the file ends too early: {len} bytes expected at offset {}, {} there",
                self.offset,
                self.rest.len()
            );
            return Err(Error::new(Kind::Truncated, message));
        };
        self.rest = rest;
        self.offset += len;
        Ok(taken)
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = std::mem::take(&mut self.rest);
        self.offset += rest.len() as u64;
        rest
    }

    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    /// Refuses bytes after the end.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.corrupt(format!("{} bytes after the end of the filter", self.rest.len())))
    }

    /// The file contradicts itself here.
    pub(crate) fn corrupt(&self, message: impl Into<String>) -> Error {
        corrupt_at(self.offset, message)
    }
}

/// The file contradicts itself at `offset`.
pub(crate) fn corrupt_at(offset: u64, message: impl Into<String>) -> Error {
    Error::new(Kind::Corrupt { offset }, format!("corrupt: {}", message.into()))
}

/// The file contradicts itself.
pub(crate) fn corrupt(message: impl Into<String>) -> Error {
    corrupt_at(0, message)
}

/// What this format can hold, and this crate cannot read.
pub(crate) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(Kind::UnsupportedFeature, message)
}

/// Writes a number as [`Reader::varint`] reads it.
pub(crate) fn push_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
