//! DCSO's `bloom` (Go, and `flor` in Python), little-endian.
//!
//! ```text
//!   u64 version (1) · u64 n · f64 p · u64 k · u64 m · u64 N · u64 × ⌈m/64⌉ · data of the user's, to the end
//! ```
//!
//! n and p are what the filter was planned for, N how many keys were new. A key's FNV-1 hash is taken mod the prime
//! P = 2⁶⁴ − 59 and then multiplied by G mod P again and again; the product wraps at 2⁶⁴ before it is reduced.

use everbloom::internals::filter::fact;
use everbloom::{Fact, Result};

use crate::bits::{Bits, Order};
use crate::foreign::{Flat, Scheme, best_bits, best_probes, rate};
use crate::format::{Hints, Part};
use crate::read::{Reader, unsupported};
use crate::{Foreign, Format, Key, KeyAs, hashes};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "dcso",
    writer: "DCSO bloom (Go) and flor (Python)",
    versions: "1",
    recognized: "version 1, a rate between 0 and 1, and as many words as the length says",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "fnv1-64",
    limits: "files packed by gzip have to be unpacked first",
    open,
    create: Some(create),
    ..Format::USUAL
};

const P: u64 = 18_446_744_073_709_551_557;
const G: u64 = 18_446_744_073_709_550_147;

/// What stands around the bits.
#[derive(Clone, Debug)]
struct Head {
    capacity: u64,
    fpr: f64,
    items: u64,
    data: Vec<u8>,
}

impl Scheme for Head {
    #[inline]
    fn all(&self, key: &Key<'_>, m: u64, k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        let mut h = key.little(hashes::fnv1_64) % P;
        (0..k).all(|_| {
            h = h.wrapping_mul(G) % P;
            probe(h % m)
        })
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let fpr = self.fpr.to_bits();
        for word in [1, self.capacity, fpr, k.into(), bits.m(), self.items] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        bits.push(Order::Little, &mut out);
        out.extend_from_slice(&self.data);
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("items", self.items),
            fact("capacity", self.capacity),
            rate("planned_fpr", self.fpr),
            fact("user_data", self.data.len() as u64),
        ]
    }

    fn inserted(&mut self, new: bool) {
        self.items = self.items.saturating_add(new.into());
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let version = src.u64_le()?;
    if version != 1 {
        return Err(unsupported(format!("version {version} is not known")));
    }
    let (capacity, fpr) = (src.u64_le()?, src.f64_le()?);
    if !(fpr > 0.0 && fpr < 1.0) {
        return Err(src.corrupt(format!("a rate of {fpr}")));
    }
    let (k, m, items) = (src.u64_le()?, src.u64_le()?, src.u64_le()?);
    let bits = Bits::words(&mut src, m.div_ceil(64), Order::Little)?.cut(m)?;
    let head = Head { capacity, fpr, items, data: src.rest().to_vec() };
    Ok(vec![Foreign::new(&FORMAT, Flat::new(head, k, bits)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr).floor().max(1.0) as u64;
    let k = best_probes(m, items).ceil();
    let head = Head { capacity: items, fpr, items: 0, data: Vec::new() };
    Ok(Foreign::new(&FORMAT, Flat::new(head, k as u64, Bits::zeros(m, 8)?)?))
}
