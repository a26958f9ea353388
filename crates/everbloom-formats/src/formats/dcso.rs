//! DCSO's `bloom` (Go, and `flor` in Python), little-endian.
//!
//! ```text
//!   u64 version (1) · u64 n · f64 p · u64 k · u64 m · u64 N · u64 × ⌈m/64⌉ · data of the user's, to the end
//! ```
//!
//! n and p are what the filter was planned for, N how many keys were new. A key's FNV-1 hash is taken mod the prime
//! P = 2⁶⁴ − 59 and then multiplied by G mod P again and again; the product wraps at 2⁶⁴ before it is reduced.

use everbloom::internals::filter::fact;
use everbloom::internals::probe::Scheme as Probes;
use everbloom::{Bloom, Fact, Filter, HashId, Hasher, Result};

use crate::bits::{Bits, Order};
use crate::format::foreign::{Flat, Scheme, adopt, adopted, best_bits, best_probes, probing, rate};
use crate::format::{Hints, Part};
use crate::read::{Reader, unsupported};
use crate::{Foreign, Format, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "dcso",
    writer: "DCSO bloom (Go) and flor (Python)",
    versions: "1",
    recognized: "version 1, a rate between 0 and 1, and as many words as stated",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "fnv1-64",
    limits: "gzip files must be decompressed first; user data is not converted",
    open,
    create: Some(create),
    adopt: Some(|filter| adopt(&FORMAT, filter, [Head::of(filter)?])),
    ..Format::USUAL
};

/// What stands around the bits.
#[derive(Clone, Debug)]
struct Head {
    capacity: u64,
    fpr: f64,
    items: u64,
    data: Vec<u8>,
}

impl Scheme for Head {
    const WHOLE: u64 = 1;

    fn probes(&self, _: KeyAs) -> Option<(Probes, Hasher)> {
        probing(Probes::Powers, HashId::Fnv1, 0)
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

    fn plan(&self) -> (Option<u64>, Option<f64>) {
        (Some(self.items), Some(self.fpr))
    }
}

impl Head {
    /// What a filter of the library says; the capacity is that for which so many bits are planned.
    fn of(filter: &dyn Filter) -> Result<Self> {
        let m = adopted::<Bloom>(&FORMAT, filter)?.m();
        let (items, fpr) = (filter.len(), filter.head().fpr.or(filter.now().fpr));
        let fpr = fpr.unwrap_or(0.01).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
        let capacity = (m as f64 / best_bits(1, fpr)).ceil() as u64;
        Ok(Head { capacity, fpr, items, data: Vec::new() })
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
