//! Squid's cache digest, big-endian.
//!
//! ```text
//!   u16 version (5) · u16 least version (3) · i32 capacity · i32 count · i32 deleted · i32 bytes of the mask
//!   u8 bits per entry · u8 hashes (4) · zeros up to 128 bytes · mask
//! ```
//!
//! A key is an HTTP method and a URL: MD5 of the method's number (GET is 1) and the URL, cut into four 32-bit
//! big-endian words, each mod the bits of the mask. Queries here are of GET.

use everbloom::internals::filter::fact;
use everbloom::{Fact, Result};
use md5::{Digest, Md5};

use crate::bits::Bits;
use crate::format::foreign::{Flat, Scheme};
use crate::format::{Hints, Part};
use crate::read::{Reader, unsupported};
use crate::{Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "squid",
    writer: "Squid, store_digest",
    versions: "5, readable since 3",
    recognized: "versions 5 and 3, four hashes, and a mask of the stated length",
    keys: &[KeyAs::String],
    hash: "md5 of the method and the URL",
    limits: "keys are URLs fetched by GET",
    open,
    create: Some(create),
    ..Format::USUAL
};

const HASHES: u8 = 4;
const GET: u8 = 1;

#[derive(Clone, Copy, Debug)]
struct Head {
    capacity: u32,
    count: u32,
    deleted: u32,
    bits_per_entry: u8,
}

impl Scheme for Head {
    fn all(&self, key: &Key<'_>, m: u64, _k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        let digest: [u8; 16] =
            key.little(|url| Md5::new().chain_update([GET]).chain_update(url).finalize()).into();
        digest.as_chunks::<4>().0.iter().all(|word| probe(u64::from(u32::from_be_bytes(*word)) % m))
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = vec![0, 5, 0, 3];
        let mask = (bits.m() / 8) as u32;
        for word in [self.capacity, self.count, self.deleted, mask] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(&[self.bits_per_entry, k as u8]);
        out.resize(128, 0);
        out.extend_from_slice(bits.bytes());
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("items", self.count),
            fact("capacity", self.capacity),
            fact("deleted", self.deleted),
        ]
    }

    fn inserted(&mut self, _new: bool) {
        self.count = self.count.saturating_add(1);
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let versions = (src.u16_be()?, src.u16_be()?);
    if versions != (5, 3) {
        return Err(unsupported(format!("versions {versions:?} are not known")));
    }
    let (capacity, count, deleted) = (src.u32_be()?, src.u32_be()?, src.u32_be()?);
    let (mask, bits_per_entry, k) = (src.count_be()?, src.u8()?, src.u8()?);
    if k != HASHES || src.take(128 - 22)?.iter().any(|byte| *byte != 0) {
        return Err(src.corrupt("other than four hashes, or a header that goes on"));
    }
    let bits = Bits::new(src.take(mask)?, 8 * mask)?;
    src.finish()?;
    let head = Head { capacity, count, deleted, bits_per_entry };
    Ok(vec![Foreign::new(&FORMAT, Flat::new(head, k.into(), bits)?).into()])
}

/// Squid's own rule: bits per entry, 5 unless configured otherwise. Here as many as the rate needs with four hashes.
fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let fill = fpr.powf(1.0 / f64::from(HASHES));
    let per_entry = (-f64::from(HASHES) / (-fill).ln_1p()).ceil().clamp(1.0, 255.0);
    let m = (items.saturating_mul(per_entry as u64)).next_multiple_of(8);
    let capacity = items.min(i32::MAX as u64) as u32;
    let head = Head { capacity, count: 0, deleted: 0, bits_per_entry: per_entry as u8 };
    Ok(Foreign::new(&FORMAT, Flat::new(head, HASHES.into(), Bits::zeros(m, 1)?)?))
}
