//! Bitcoin's compact block filters (BIP 158): a Golomb-coded set.
//!
//! ```text
//!   compact size N · the differences of N sorted values, each ⌊d/2¹⁹⌋ ones, a zero, 19 bits; highest bit first
//! ```
//!
//! A key's value is SipHash-2-4 under the first 16 bytes of the block's hash, mapped to 0 … N·M − 1 by the high half
//! of a product, M = 784,931. The key is not in the file: it has to be given. A query goes through all values, since
//! an index of them would need more memory than the file has bytes.

use everbloom::internals::filter::fact;
use everbloom::{Error, Fact, Kind, Result};
use siphasher::sip::SipHasher24;

use super::bip37::{compact_size, push_compact_size};
use crate::format::Part;
use crate::format::foreign::Layout;
use crate::read::{Reader, corrupt};
use crate::{Fit, Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "bip158",
    writer: "Bitcoin Core and other nodes, basic block filters (BIP 158)",
    versions: "basic filters: P = 19, M = 784931",
    recognized: "no magic; N values that end in the last byte",
    keys: &[KeyAs::Hex, KeyAs::String],
    hash: "siphash-2-4, keyed with the first 16 bytes of the block's hash",
    limits: "the hash of the block must be given; the time of a query is proportional to N",
    fit: Some(|bytes| Fit::Fields.when(bytes.len() > 1 && Set::new(bytes, None).is_ok())),
    open: |bytes, hints| Ok(vec![Part::from(Foreign::new(&FORMAT, Set::new(bytes, hints.key)?))]),
    ..Format::USUAL
};

const P: u32 = 19;
const M: u64 = 784_931;

/// The filter of a block's elements under the first 16 bytes of the block's hash, as nodes serve it. Elements that
/// occur twice count once; no elements at all are a single zero byte.
///
/// ```
/// use everbloom::Limits;
/// use everbloom_formats::{Format, Hints, block_filter};
///
/// let bytes = block_filter([7; 16], [&b"script"[..], b"another"]);
/// let mut hints = Hints::new(Limits::NETWORK);
/// hints.key = Some([7; 16]);
/// let parts = Format::named("bip158")?.open_with(&bytes, &hints)?;
/// assert!(parts[0].filter.contains("script")?);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub fn block_filter<'a>(key: [u8; 16], elements: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut elements: Vec<&[u8]> = elements.into_iter().collect();
    elements.sort_unstable();
    elements.dedup();
    let n = elements.len() as u64;
    let mut values: Vec<u64> =
        elements.into_iter().map(|element| value(&key, element, n)).collect();
    values.sort_unstable();
    let mut bytes = Vec::new();
    push_compact_size(n, &mut bytes);
    let (mut bits, mut last) = (Writer::default(), 0);
    for value in values {
        let difference = value - last;
        last = value;
        (0..difference >> P).for_each(|_| bits.push(true));
        bits.push(false);
        (0..P).rev().for_each(|i| bits.push(difference >> i & 1 == 1));
    }
    bytes.extend(bits.bytes);
    bytes
}

/// Where an element lies among the n·M values of a filter of n.
fn value(key: &[u8; 16], element: &[u8], n: u64) -> u64 {
    let hash = SipHasher24::new_with_key(key).hash(element);
    ((u128::from(hash) * u128::from(n * M)) >> 64) as u64
}

/// Bits, the highest of each byte first.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    used: u32,
}

impl Writer {
    fn push(&mut self, bit: bool) {
        if self.used.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (7 - self.used % 8);
        }
        self.used += 1;
    }
}

struct Set {
    bytes: Vec<u8>,
    /// Where the coded values start.
    start: usize,
    n: u64,
    key: Option<[u8; 16]>,
}

impl Set {
    /// The set in `bytes`, all of whose values were gone through once.
    fn new(bytes: &[u8], key: Option<[u8; 16]>) -> Result<Self> {
        let mut src = Reader::new(bytes);
        let n = compact_size(&mut src)?;
        let start = bytes.len() - src.len();
        // Each value has 20 bits at least.
        if n.saturating_mul(u64::from(P) + 1) > 8 * src.len() as u64 || n.checked_mul(M).is_none() {
            return Err(src.corrupt(format!("{n} values in {} bytes", src.len())));
        }
        let set = Self { bytes: bytes.to_vec(), start, n, key };
        let mut stream = Stream::new(&set.bytes[start..]);
        for _ in 0..n {
            stream.difference().ok_or_else(|| corrupt("the values end too early"))?;
        }
        if stream.at.div_ceil(8) != src.len() as u64 || stream.rest_is_set() {
            return Err(corrupt("bits after the last value"));
        }
        Ok(set)
    }
}

/// Bits, the highest of each byte first.
struct Stream<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> Stream<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn bit(&mut self) -> Option<u64> {
        let byte = self.bytes.get((self.at / 8) as usize)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit.into())
    }

    fn difference(&mut self) -> Option<u64> {
        let mut quotient = 0;
        while self.bit()? == 1 {
            quotient += 1;
        }
        let mut low = 0;
        for _ in 0..P {
            low = low << 1 | self.bit()?;
        }
        Some(quotient << P | low)
    }

    fn rest_is_set(&mut self) -> bool {
        std::iter::from_fn(|| self.bit()).any(|bit| bit == 1)
    }
}

impl Layout for Set {
    fn contains(&self, key: &Key<'_>) -> Result<bool> {
        let secret = self.key.ok_or_else(|| {
            let message = "a query needs the first 16 bytes of the block's hash as its {key}";
            Error::new(Kind::KeyMissing, message)
        })?;
        let wanted = key.little(|bytes| value(&secret, bytes, self.n));
        let mut stream = Stream::new(&self.bytes[self.start..]);
        let mut at = 0u64;
        for _ in 0..self.n {
            at = at.saturating_add(stream.difference().unwrap_or(0));
            if at >= wanted {
                break;
            }
        }
        Ok(at == wanted && self.n > 0)
    }

    fn write(&self) -> Option<Vec<u8>> {
        Some(self.bytes.clone())
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("items", self.n), fact("P", P), fact("M", M)]
    }

    /// All of its bits are in use.
    fn fill(&self) -> f64 {
        1.0
    }

    fn fpr(&self) -> f64 {
        if self.n == 0 { 0.0 } else { 1.0 / M as f64 }
    }

    fn cardinality(&self) -> Option<f64> {
        Some(self.n as f64)
    }

    fn bits(&self) -> u64 {
        8 * (self.bytes.len() - self.start) as u64
    }
}
