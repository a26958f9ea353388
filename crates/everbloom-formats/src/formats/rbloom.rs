//! The Python package `rbloom`, `Bloom.save`, little-endian.
//!
//! ```text
//!   u64 k · bytes to the end, m = 8 · their number
//! ```
//!
//! The hash is a function of the caller's that gives a 128-bit signed integer. The one that rbloom's documentation
//! recommends for files is taken here: the first 16 bytes of SHA-256, big-endian. Each index is (x >> 32) mod m, in
//! 64 bits, of a linear congruential generator on 128 bits.

use everbloom::Result;
use sha2::{Digest, Sha256};

use crate::bits::Bits;
use crate::format::foreign::{Flat, Scheme, best_bits};
use crate::format::{Hints, Part};
use crate::read::Reader;
use crate::{Fit, Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "rbloom",
    writer: "the Python package rbloom, Bloom.save",
    versions: "1",
    recognized: "no magic; up to 255 probes, and bytes",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "the first 16 bytes of sha-256, big-endian",
    limits: "filters with another hash function can be opened, but not queried usefully",
    fit: Some(fit),
    open,
    create: Some(create),
    ..Format::USUAL
};

#[derive(Clone, Copy, Debug)]
struct Generator;

impl Scheme for Generator {
    fn all(&self, key: &Key<'_>, m: u64, k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        let digest: [u8; 32] = key.little(|bytes| Sha256::digest(bytes)).into();
        let mut state = u128::from_be_bytes(digest[..16].try_into().unwrap_or_default());
        (0..k).all(|_| {
            state = state.wrapping_mul(47_026_247_687_942_121_848_144_207_491_837_418_733);
            state = state.wrapping_add(1);
            probe((state >> 32) as u64 % m)
        })
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = u64::from(k).to_le_bytes().to_vec();
        out.extend_from_slice(bits.bytes());
        Some(out)
    }
}

fn fit(bytes: &[u8]) -> Fit {
    let Some((k, bits)) = bytes.split_first_chunk() else { return Fit::No };
    Fit::Length.when((1..256).contains(&u64::from_le_bytes(*k)) && !bits.is_empty())
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let k = src.u64_le()?;
    let bits = src.rest();
    let bits = Bits::new(bits, 8 * bits.len() as u64)?;
    Ok(vec![Foreign::new(&FORMAT, Flat::new(Generator, k, bits)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr).max(1.0);
    let m = (m as u64).next_multiple_of(8);
    let k = (m as f64 / items as f64 * std::f64::consts::LN_2).max(1.0);
    Ok(Foreign::new(&FORMAT, Flat::new(Generator, k as u64, Bits::zeros(m, 1)?)?))
}
