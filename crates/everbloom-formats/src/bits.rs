//! Bits as every reader here keeps them: bit i is bit i mod 8, from the lowest, of byte i / 8.

use everbloom::Result;

use crate::read::{Reader, corrupt};

/// Bits, some at the end of the last byte or word perhaps unused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    bytes: Vec<u8>,
    /// How many bits keys can be sent to.
    m: u64,
}

impl Bits {
    /// The first `m` bits of `bytes`.
    pub(crate) fn new(bytes: &[u8], m: u64) -> Result<Self> {
        if m == 0 {
            return Err(corrupt("a filter of no bits"));
        }
        if m.div_ceil(8) > bytes.len() as u64 {
            return Err(corrupt(format!("{m} bits in {} bytes", bytes.len())));
        }
        Ok(Self { bytes: bytes.to_vec(), m })
    }

    /// All the bits of `words` little-endian or big-endian 64-bit words.
    pub(crate) fn words(src: &mut Reader<'_>, words: u64, order: Order) -> Result<Self> {
        let len = words.checked_mul(8).ok_or_else(|| src.corrupt("too many words"))?;
        let mut bits = Self::new(src.take(len)?, words.saturating_mul(64))?;
        bits.swap(order);
        Ok(bits)
    }

    /// As many zeros, in whole words of `word` bytes.
    pub(crate) fn zeros(m: u64, word: u64) -> Result<Self> {
        let bytes = m.div_ceil(8 * word) * word;
        let mut zeros = Vec::new();
        let room = usize::try_from(bytes).ok().and_then(|n| zeros.try_reserve_exact(n).ok());
        if room.is_none() {
            let message = format!("{bytes} bytes of memory are not there");
            return Err(everbloom::Error::new(everbloom::Kind::CapacityExceeded, message));
        }
        zeros.resize(bytes as usize, 0);
        if m == 0 { Err(corrupt("a filter of no bits")) } else { Ok(Self { bytes: zeros, m }) }
    }

    /// The same words, of which keys are sent to the first `m` bits only.
    pub(crate) fn cut(self, m: u64) -> Result<Self> {
        if (1..=self.m).contains(&m) {
            return Ok(Self { m, ..self });
        }
        Err(corrupt(format!("{m} bits in {} bytes", self.bytes.len())))
    }

    fn swap(&mut self, order: Order) {
        if order == Order::Big {
            self.bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse);
        }
    }

    /// Writes all words.
    pub(crate) fn push(&self, order: Order, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        if order == Order::Big {
            out[start..].chunks_exact_mut(8).for_each(<[u8]>::reverse);
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of bits that keys can be sent to.
    pub(crate) fn m(&self) -> u64 {
        self.m
    }

    /// The bit at `i`; none is set beyond the end.
    #[inline]
    pub(crate) fn get(&self, i: u64) -> bool {
        self.bytes.get((i >> 3) as usize).is_some_and(|byte| byte >> (i & 7) & 1 == 1)
    }

    /// Sets the bit at `i`; true if it was zero.
    #[inline]
    pub(crate) fn set(&mut self, i: u64) -> bool {
        let Some(byte) = self.bytes.get_mut((i >> 3) as usize) else { return false };
        let old = std::mem::replace(byte, *byte | 1 << (i & 7));
        old != *byte
    }

    pub(crate) fn ones(&self) -> u64 {
        self.bytes.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }

    pub(crate) fn fill(&self) -> f64 {
        (self.ones() as f64 / self.m as f64).min(1.0)
    }
}

/// The order of the bytes in a 64-bit word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}
