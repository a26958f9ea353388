//! The Python package `pybloom-live`, `BloomFilter.tofile`, little-endian: a slice of bits per hash.
//!
//! ```text
//!   f64 p · u64 slices k · u64 bits per slice s · u64 capacity · u64 items · ⌈k·s/8⌉ bytes
//! ```
//!
//! A long digest of the key, cut into k integers of 2, 4 or 8 bytes (as s needs), gives one bit in each slice. Which
//! function depends on how many bits that takes: SHA-512 above 384, SHA-384 above 256, SHA-256 above 160, SHA-1 above
//! 128, else XXH3-128 (MD5 before version 4). Digest number j is of the salt H(u32 j) followed by the key.

use everbloom::internals::filter::fact;
use everbloom::{Fact, Result};
use sha2::Digest;

use crate::bits::Bits;
use crate::format::foreign::{Flat, Scheme, rate};
use crate::format::{Hints, Part};
use crate::read::Reader;
use crate::{Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "pybloom-live",
    writer: "the Python package pybloom-live, BloomFilter.tofile",
    versions: "4; 2 and 3 if they do not use MD5",
    recognized: "a rate between 0 and 1, and as many bytes as follow from the slices and their bits",
    keys: &[KeyAs::String],
    hash: "sha-512, sha-384, sha-256, sha-1 or xxh3-128, depending on the shape",
    limits: "no scalable filters; filters with up to eight short slices that versions before 4 hashed by MD5 look \
             the same, but give wrong answers",
    open,
    create: Some(create),
    ..Format::USUAL
};

#[derive(Clone, Copy, Debug)]
struct Head {
    fpr: f64,
    slice: u64,
    capacity: u64,
    items: u64,
}

/// The functions, as the lengths of digests in bytes.
fn digest_len(k: u32, width: usize) -> usize {
    match 8 * k as usize * width {
        385.. => 64,
        257.. => 48,
        161.. => 32,
        129.. => 20,
        _ => 16,
    }
}

fn digest(len: usize, parts: [&[u8]; 2]) -> Vec<u8> {
    fn by<D: Digest>(parts: [&[u8]; 2]) -> Vec<u8> {
        parts.iter().fold(D::new(), |hash, part| hash.chain_update(part)).finalize().to_vec()
    }
    match len {
        64 => by::<sha2::Sha512>(parts),
        48 => by::<sha2::Sha384>(parts),
        32 => by::<sha2::Sha256>(parts),
        20 => by::<sha1::Sha1>(parts),
        _ => xxhash_rust::xxh3::xxh3_128(&parts.concat()).to_be_bytes().to_vec(),
    }
}

/// Bytes of an index into a slice.
fn width(slice: u64) -> usize {
    match slice {
        0x8000_0000.. => 8,
        0x8000.. => 4,
        _ => 2,
    }
}

impl Scheme for Head {
    fn all(&self, key: &Key<'_>, _m: u64, k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        let (len, width) = (digest_len(k, width(self.slice)), width(self.slice));
        let per_digest = (len / width) as u32;
        key.little(|key| {
            let mut current = Vec::new();
            (0..k).all(|i| {
                if i % per_digest == 0 {
                    let salt = digest(len, [&(i / per_digest).to_le_bytes(), b""]);
                    current = digest(len, [&salt, key]);
                }
                let at = (i % per_digest) as usize * width;
                let mut number = [0; 8];
                number[..width].copy_from_slice(&current[at..at + width]);
                probe(u64::from(i) * self.slice + u64::from_le_bytes(number) % self.slice)
            })
        })
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = self.fpr.to_le_bytes().to_vec();
        for word in [k.into(), self.slice, self.capacity, self.items] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(bits.bytes());
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("bits_per_slice", self.slice),
            fact("items", self.items),
            fact("capacity", self.capacity),
            rate("planned_fpr", self.fpr),
        ]
    }

    fn inserted(&mut self, new: bool) {
        self.items = self.items.saturating_add(new.into());
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let (fpr, k, slice) = (src.f64_le()?, src.u64_le()?, src.u64_le()?);
    let (capacity, items) = (src.u64_le()?, src.u64_le()?);
    let m = k.checked_mul(slice).filter(|_| fpr > 0.0 && fpr < 1.0);
    let m = m.ok_or_else(|| src.corrupt(format!("{k} slices of {slice} bits at rate {fpr}")))?;
    let bits = Bits::new(src.take(m.div_ceil(8))?, m)?;
    src.finish()?;
    let head = Head { fpr, slice, capacity, items };
    Ok(vec![Foreign::new(&FORMAT, Flat::new(head, k, bits)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let k = (1.0 / fpr).log2().ceil().max(1.0);
    let ln2 = std::f64::consts::LN_2;
    let slice = (items as f64 * fpr.ln().abs() / (k * ln2 * ln2)).ceil().max(1.0) as u64;
    let head = Head { fpr, slice, capacity: items, items: 0 };
    let bits = Bits::zeros(slice.saturating_mul(k as u64), 1)?;
    Ok(Foreign::new(&FORMAT, Flat::new(head, k as u64, bits)?))
}
