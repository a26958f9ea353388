//! The payload of `DUMP`, as far as a module's value is one.
//!
//! ```text
//!   u8 7 (a module's value) · id of the module's type · opcodes and values · 0 · u16 version, u64 CRC-64, LE
//!   opcode:   2 an unsigned integer · 4 a double · 5 a string (length · bytes)
//!   integers: 00xxxxxx · 01xxxxxx xxxxxxxx · 0x80 u32 BE · 0x81 u64 BE
//! ```

use everbloom::Result;

use crate::read::{Reader, corrupt, unsupported};

const MODULE: u8 = 7;
const UNSIGNED: u64 = 2;
const DOUBLE: u64 = 4;
const STRING: u64 = 5;
const END: u64 = 0;

/// A module's type and version as a number: nine characters of 6 bits, then 10 bits.
pub(super) const fn module_id(name: &[u8; 9], version: u64) -> u64 {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut id, mut i) = (0u64, 0);
    while i < name.len() {
        let mut digit = 0;
        while alphabet[digit] != name[i] {
            digit += 1;
        }
        id = id << 6 | digit as u64;
        i += 1;
    }
    id << 10 | version
}

/// The values of a dump, one after the other.
pub(super) struct Values<'a> {
    src: Reader<'a>,
    pub(super) id: u64,
    /// The version of the database's format, which stands at the end.
    pub(super) version: u16,
}

impl<'a> Values<'a> {
    /// The values in `bytes`, whose checksum is right.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self> {
        let end = bytes.len().checked_sub(10);
        let end = end.filter(|end| *end > 0 && bytes.first() == Some(&MODULE));
        let end = end.ok_or_else(|| corrupt("not the dump of a module's value"))?;
        let mut last = Reader::new(&bytes[end..]);
        let (version, sum) = (last.u16_le()?, last.u64_le()?);
        // Zero says that checksums are turned off.
        if sum != 0 && sum != crc64(&bytes[..end + 2]) {
            return Err(corrupt("the checksum of the dump is wrong"));
        }
        let mut src = Reader::new(&bytes[1..end]);
        let id = length(&mut src)?;
        Ok(Self { src, id, version })
    }

    fn expect(&mut self, opcode: u64) -> Result<()> {
        let found = length(&mut self.src)?;
        if found == opcode {
            return Ok(());
        }
        Err(self.src.corrupt(format!("a value of kind {found} instead of {opcode}")))
    }

    pub(super) fn unsigned(&mut self) -> Result<u64> {
        self.expect(UNSIGNED)?;
        length(&mut self.src)
    }

    pub(super) fn double(&mut self) -> Result<f64> {
        self.expect(DOUBLE)?;
        self.src.f64_le()
    }

    pub(super) fn string(&mut self) -> Result<&'a [u8]> {
        self.expect(STRING)?;
        let len = length(&mut self.src)?;
        self.src.take(len)
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.expect(END)?;
        self.src.finish()
    }
}

fn length(src: &mut Reader<'_>) -> Result<u64> {
    match src.u8()? {
        head @ 0..=0x3f => Ok(head.into()),
        head @ 0x40..=0x7f => Ok(u64::from(head & 0x3f) << 8 | u64::from(src.u8()?)),
        0x80 => Ok(src.u32_be()?.into()),
        0x81 => src.u64_be(),
        0xc3 => Err(unsupported("a string compressed by LZF: turn rdbcompression off")),
        head => Err(src.corrupt(format!("a length that starts with {head:#x}"))),
    }
}

/// Writes a dump.
pub(super) struct Dump {
    out: Vec<u8>,
}

impl Dump {
    pub(super) fn new(id: u64) -> Self {
        let mut dump = Self { out: vec![MODULE] };
        dump.length(id);
        dump
    }

    fn length(&mut self, value: u64) {
        match value {
            0..=0x3f => self.out.push(value as u8),
            0x40..=0x3fff => self.out.extend_from_slice(&(0x4000 | value as u16).to_be_bytes()),
            0x4000..=0xffff_ffff => {
                self.out.push(0x80);
                self.out.extend_from_slice(&(value as u32).to_be_bytes());
            }
            _ => {
                self.out.push(0x81);
                self.out.extend_from_slice(&value.to_be_bytes());
            }
        }
    }

    pub(super) fn unsigned(&mut self, value: u64) {
        self.length(UNSIGNED);
        self.length(value);
    }

    pub(super) fn double(&mut self, value: f64) {
        self.length(DOUBLE);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn string(&mut self, bytes: &[u8]) {
        self.length(STRING);
        self.length(bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }

    /// The payload, for a database whose format has this version.
    pub(super) fn finish(mut self, version: u16) -> Vec<u8> {
        self.length(END);
        self.out.extend_from_slice(&version.to_le_bytes());
        let sum = crc64(&self.out);
        self.out.extend_from_slice(&sum.to_le_bytes());
        self.out
    }
}

/// CRC-64 by Jones's polynomial, reflected, from zero.
fn crc64(bytes: &[u8]) -> u64 {
    const TABLE: [u64; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let (mut crc, mut bit) = (i as u64, 0);
            while bit < 8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0x95ac_9329_ac4b_c9b5 } else { crc >> 1 };
                bit += 1;
            }
            table[i] = crc;
            i += 1;
        }
        table
    };
    bytes.iter().fold(0, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_redis_own() {
        assert_eq!(super::crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    /// Fuzzing found it: version and checksum alone, which is zero, so that the first byte is theirs.
    #[test]
    fn a_dump_of_nothing_but_its_end_is_refused() {
        for length in 0..12 {
            let mut bytes = vec![0; length];
            bytes.iter_mut().take(1).for_each(|first| *first = super::MODULE);
            assert!(super::Values::new(&bytes).is_err(), "{length} bytes");
        }
    }
}
