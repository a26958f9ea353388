//! The Rust crate and Python package `fastbloom-rs`, little-endian words.
//!
//! ```text
//!   u64 × m/64                          `get_u8_array`: k is not in the file
//!   u32 k, big-endian · u64 × m/64      `save_to_file_with_hashes`
//! ```
//!
//! XXH3-64 of the key under the seeds 0 and 32, each mod m; index i = 0 … k − 1 is (h1 + i·h2) mod m.

use everbloom::internals::probe::Scheme as Probes;
use everbloom::{Error, HashId, Hasher, Kind, Result};

use crate::bits::{Bits, Order};
use crate::format::foreign::{Flat, Scheme, adopt, best_bits, best_probes, checked_k, probing};
use crate::format::{Hints, Part};
use crate::read::Reader;
use crate::{Fit, Foreign, Format, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "fastbloom-rs",
    writer: "fastbloom-rs (Rust and Python), get_u8_array and save_to_file_with_hashes",
    versions: "0.5",
    recognized: "no magic; whole words, optionally after four bytes with k",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "xxh3-64, seeds 0 and 32",
    limits: "k must be given if the file does not store it",
    fit: Some(fit),
    open,
    create: Some(create),
    adopt: Some(|filter| adopt(&FORMAT, filter, [Words { with_k: true }])),
    ..Format::USUAL
};

/// Whether k stands before the words.
#[derive(Clone, Copy, Debug)]
struct Words {
    with_k: bool,
}

impl Scheme for Words {
    fn probes(&self, _: KeyAs) -> Option<(Probes, Hasher)> {
        probing(Probes::Reduced, HashId::Xxh3Pair, 0)
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = if self.with_k { k.to_be_bytes().to_vec() } else { Vec::new() };
        bits.push(Order::Little, &mut out);
        Some(out)
    }
}

fn fit(bytes: &[u8]) -> Fit {
    let k = bytes.first_chunk().map(|k| u32::from_be_bytes(*k));
    let fits = match bytes.len() % 8 {
        0 => !bytes.is_empty(),
        4 => bytes.len() > 4 && k.is_some_and(|k| checked_k(k.into()).is_ok()),
        _ => false,
    };
    Fit::Length.when(fits)
}

fn open(bytes: &[u8], hints: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let with_k = bytes.len() % 8 == 4;
    let k = if with_k { Some(src.u32_be()?) } else { hints.k };
    let k = k.ok_or_else(|| {
        let message = "the file does not state the number of probes: give {probes}";
        Error::new(Kind::BadParameter, message)
    })?;
    let words = (src.len() / 8) as u64;
    let bits = Bits::words(&mut src, words, Order::Little)?;
    src.finish()?;
    Ok(vec![Foreign::new(&FORMAT, Flat::new(Words { with_k }, k.into(), bits)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr).ceil().max(1.0) as u64;
    let k = best_probes(m, items).round().max(1.0);
    let bits = Bits::zeros(m.next_multiple_of(64), 8)?;
    Ok(Foreign::new(&FORMAT, Flat::new(Words { with_k: true }, k as u64, bits)?))
}
