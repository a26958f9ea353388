//! Values of the Redis server: `HYLL`, an encoding, a cached count, and the registers, dense or run-length coded.

use super::registers::Registers;
use super::{DEFAULT_P, HyperLogLog, REDIS, WIDTH};
use crate::cells::Packed;
use crate::error::{Error, Kind, Result};

const HEADER: usize = 16;
const REGISTERS: u64 = 1 << DEFAULT_P;
/// Six bits for each of 16,384 registers.
const DENSE: usize = 12_288;

impl HyperLogLog {
    /// The sketch as a dense value of the Redis server, of the `redis` form with 2^14 registers.
    pub fn to_redis(&self) -> Result<Vec<u8>> {
        if self.head.form != REDIS || u64::from(self.p()) != DEFAULT_P {
            let message = "the Redis server reads only sketches of form redis with p = 14";
            return Err(Error::unsupported(message));
        }
        let mut value = b"HYLL\0\0\0\0".to_vec();
        value.extend_from_slice(&self.count().to_le_bytes());
        // Register i at bit 6i, least significant bit first, is how packed fields lie in memory.
        value.extend(self.registers().words().iter().flat_map(|word| word.to_le_bytes()));
        Ok(value)
    }

    /// The sketch that a value of the Redis server holds, dense or sparse.
    pub fn from_redis(value: &[u8]) -> Result<Self> {
        let mut sketch = Self::builder().form(REDIS).build()?;
        let Some((header, body)) =
            value.split_at_checked(HEADER).filter(|v| v.0.starts_with(b"HYLL"))
        else {
            return Err(Error::new(
                Kind::NotOurs,
                "this is not a HyperLogLog value of the Redis server",
            ));
        };
        match header[4] {
            0 if body.len() == DENSE => {
                let mut registers = Packed::try_new(REGISTERS, WIDTH)?;
                for i in 0..REGISTERS {
                    let (byte, shift) = ((i * 6 / 8) as usize, i * 6 % 8);
                    let next = body.get(byte + 1).copied().unwrap_or(0);
                    let pair = u16::from(body[byte]) | u16::from(next) << 8;
                    registers.set(i, u64::from(pair >> shift & 63));
                }
                sketch.registers = Registers::of(registers);
            }
            1 => sketch.read_sparse(body)?,
            _ => return Err(Error::new(Kind::NotOurs, "a HyperLogLog value of unknown encoding")),
        }
        sketch.check()?;
        Ok(sketch)
    }

    /// Runs: `00`+6 bits for up to 64 zeros, `01`+14 bits for up to 16,384, `1`+5 bits of a rank+2 bits for up to 4 of it.
    fn read_sparse(&mut self, body: &[u8]) -> Result<()> {
        let mut at = 0;
        let mut bytes = body.iter().map(|byte| u64::from(*byte));
        let wrong =
            || Error::corrupt(HEADER as u64, "the runs of the sketch are not 16384 registers");
        while let Some(byte) = bytes.next() {
            let (rank, run) = match byte >> 6 {
                0 => (0, (byte & 63) + 1),
                1 => (0, ((byte & 63) << 8 | bytes.next().ok_or_else(wrong)?) + 1),
                _ => ((byte >> 2 & 31) + 1, (byte & 3) + 1),
            };
            if at + run > REGISTERS {
                return Err(wrong());
            }
            (at..at + run).for_each(|i| _ = self.registers.raise(i, rank));
            at += run;
        }
        if at == REGISTERS { Ok(()) } else { Err(wrong()) }
    }
}
