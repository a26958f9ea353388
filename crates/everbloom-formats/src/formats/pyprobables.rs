//! The Python package `pyprobables` (and its C relative, barrust/bloom), `BloomFilter.export`, little-endian.
//!
//! ```text
//!   ⌈m/8⌉ bytes · u64 planned items n · u64 items · f32 p
//! ```
//!
//! m = ⌈−n·ln p / 0.4804530139182⌉ and k = round(0.6931471805599453·m/n) follow from n and p; hash i is FNV-1a, 64
//! bits, from the basis + 31·i on, mod m. Strings are hashed character by character, so those that are not ASCII
//! agree with their bytes only if they were inserted as bytes.

use everbloom::internals::filter::fact;
use everbloom::{Fact, Result};

use crate::bits::Bits;
use crate::format::foreign::{Flat, Scheme, rate};
use crate::format::{Hints, Part};
use crate::read::{Reader, corrupt};
use crate::{Foreign, Format, Key, KeyAs, hashes};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "pyprobables",
    writer: "the Python package pyprobables, BloomFilter.export",
    versions: "0.5 to 0.7",
    recognized: "as many bytes as follow from the items and the rate at the end",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "fnv1a-64, with a basis per probe",
    limits: "only the default hash; non-ASCII strings must be inserted as bytes",
    open,
    create: Some(create),
    ..Format::USUAL
};

#[derive(Clone, Copy, Debug)]
struct Footer {
    capacity: u64,
    items: u64,
    fpr: f32,
}

impl Footer {
    /// m and k.
    fn shape(&self) -> Option<(u64, u64)> {
        let (n, p) = (self.capacity as f64, f64::from(self.fpr));
        if !(self.capacity > 0 && p > 0.0 && p < 1.0) {
            return None;
        }
        let m = (-n * p.ln() / 0.480_453_013_918_2).ceil();
        let k = (std::f64::consts::LN_2 * m / n).round_ties_even();
        Some((m as u64, k as u64))
    }
}

impl Scheme for Footer {
    fn all(&self, key: &Key<'_>, m: u64, k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        key.little(|bytes| {
            (0..u64::from(k)).all(|i| {
                let basis = hashes::FNV_BASIS.wrapping_add(31 * i);
                probe(hashes::fnv1a_64(bytes, basis) % m)
            })
        })
    }

    fn write(&self, _k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = bits.bytes().to_vec();
        out.extend_from_slice(&self.capacity.to_le_bytes());
        out.extend_from_slice(&self.items.to_le_bytes());
        out.extend_from_slice(&self.fpr.to_le_bytes());
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        let fpr = f64::from(self.fpr);
        vec![fact("items", self.items), fact("capacity", self.capacity), rate("planned_fpr", fpr)]
    }

    fn inserted(&mut self, _new: bool) {
        self.items = self.items.saturating_add(1);
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let Some((bits, footer)) = bytes.split_last_chunk::<20>() else {
        return Err(corrupt("shorter than its last fields"));
    };
    let mut src = Reader::new(footer);
    let (capacity, items) = (src.u64_le()?, src.u64_le()?);
    let footer = Footer { capacity, items, fpr: f32::from_le_bytes(src.array()?) };
    let shape = footer.shape().filter(|(m, _)| m.div_ceil(8) == bits.len() as u64);
    let (m, k) = shape.ok_or_else(|| corrupt("the length is not what items and rate lead to"))?;
    Ok(vec![Foreign::new(&FORMAT, Flat::new(footer, k, Bits::new(bits, m)?)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let footer = Footer { capacity: items, items: 0, fpr: fpr as f32 };
    let (m, k) = footer.shape().ok_or_else(|| corrupt("no filter is like that"))?;
    Ok(Foreign::new(&FORMAT, Flat::new(footer, k, Bits::zeros(m, 1)?)?))
}
