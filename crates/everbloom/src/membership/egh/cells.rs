//! The cells of an EGH filter: bits or counters.

use super::{BITS, COUNTERS};
use crate::cells::{Bits, Counters};
use crate::error::{Error, Result};
use crate::memory::check_room;
use crate::state::{Decoder, Encoder, State};

/// The cells of either form.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cells {
    Bits(Bits),
    Counters(Counters),
}

impl Cells {
    /// `m` zero bits, or counters of so many bits each.
    pub(super) fn new(m: u64, width: Option<u32>) -> Result<Self> {
        Ok(match width {
            None => Cells::Bits(Bits::try_new(m)?),
            Some(width) => {
                check_room(m.saturating_mul(width.into()))?;
                Cells::Counters(Counters::new(m, width))
            }
        })
    }

    pub(super) fn form(&self) -> &'static str {
        match self {
            Cells::Bits(_) => BITS,
            Cells::Counters(_) => COUNTERS,
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Cells::Bits(bits) => bits.len(),
            Cells::Counters(counters) => counters.len(),
        }
    }

    #[inline]
    pub(super) fn get(&self, i: u64) -> u64 {
        match self {
            Cells::Bits(bits) => bits.get(i).into(),
            Cells::Counters(counters) => counters.get(i),
        }
    }

    pub(super) fn put(&mut self, i: u64) {
        match self {
            Cells::Bits(bits) => {
                bits.set(i);
            }
            Cells::Counters(counters) => counters.increment(i),
        }
    }
}

impl State for Cells {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| match self {
            Cells::Bits(bits) => {
                out.u64("counting", 0);
                bits.save("bits", out);
            }
            Cells::Counters(counters) => {
                out.u64("counting", 1);
                counters.save("counters", out);
            }
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| match src.u64("counting")? {
            0 => Bits::load("bits", src).map(Cells::Bits),
            1 => Counters::load("counters", src).map(Cells::Counters),
            other => Err(src.corrupt(format!("{name}: counting is {other}"))),
        })
    }
}

/// Bits per counter such that n_t members in one cell do not reach the maximum, at which it sticks.
pub(super) fn width_for(zone: u64) -> Result<u32> {
    let width = u64::BITS - zone.saturating_add(1).leading_zeros();
    if width <= 16 {
        return Ok(width);
    }
    Err(Error::parameter(format!("{zone} members overflow counters of 16 bits: use {{form=bits}}")))
}
