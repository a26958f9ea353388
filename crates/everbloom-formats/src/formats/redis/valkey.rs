//! valkey-bloom's filters, as `DUMP` gives them, and the Rust crate `bloomfilter`, whose bytes are inside.
//!
//! ```text
//!   a dump:    layers · growth · f64 rate · f64 tightening · whether the seed is random;
//!              per layer: buffer · capacity · (the last one only) items
//!   a buffer:  u8 version (1) · u64 bytes · u32 k · 32 bytes of two keys · bits               (little-endian)
//! ```
//!
//! SipHash-1-3 of the key's length (u64, little-endian) and its bytes, under each of the two keys, gives h0 and h1;
//! they are the first two indices mod m, and index i from 2 on is (h0 + i·h1) mod (2⁶⁴ − 59), mod m.

use std::hash::Hasher;

use everbloom::internals::filter::{fact, real, text};
use everbloom::{Error, Fact, Kind, Result};
use siphasher::sip::SipHasher13;

use super::dump::{Dump, Values, module_id};
use crate::bits::Bits;
use crate::format::foreign::{Flat, Layout, Scheme, best_bits, best_probes};
use crate::format::{Hints, Part};
use crate::read::{Reader, corrupt, unsupported};
use crate::{Fit, Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "valkey-bloom",
    writer: "valkey-bloom, DUMP; the Rust crate bloomfilter, to_bytes",
    versions: "module encoding 1; version 1 of the crate's bytes",
    recognized: "the module type of a dump; version 1 and as many bytes as stated",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "siphash-1-3, twice, with keys stored in the file",
    limits: "no dumps compressed by LZF; for the crate, only keys hashed as byte slices",
    fit: Some(|bytes| match read(bytes) {
        Ok(Layers { around: Some(_), .. }) => Fit::Magic,
        Ok(_) => Fit::Fields,
        Err(_) => Fit::No,
    }),
    open: |bytes, _: &Hints| Ok(vec![Part::from(Foreign::new(&FORMAT, read(bytes)?))]),
    create: Some(create),
    ..Format::USUAL
};

const MODULE: u64 = module_id(b"bloomfltr", 1);
const P: u64 = 0xffff_ffff_ffff_ffc5;
const HEAD: u64 = 45;

/// The two keys.
struct Sip {
    keys: [[u8; 16]; 2],
}

impl Scheme for Sip {
    fn all(&self, key: &Key<'_>, m: u64, k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        let [h0, h1] = key.little(|bytes| {
            self.keys.map(|secret| {
                let mut sip = SipHasher13::new_with_key(&secret);
                sip.write(&(bytes.len() as u64).to_le_bytes());
                sip.write(bytes);
                sip.finish()
            })
        });
        (0..u64::from(k)).all(|i| {
            probe(match i {
                0 => h0 % m,
                1 => h1 % m,
                _ => h0.wrapping_add(i.wrapping_mul(h1)) % P % m,
            })
        })
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = vec![1];
        out.extend_from_slice(&(bits.bytes().len() as u64).to_le_bytes());
        out.extend_from_slice(&k.to_le_bytes());
        out.extend_from_slice(&self.keys.concat());
        out.extend_from_slice(bits.bytes());
        Some(out)
    }
}

/// The filter in a buffer.
fn buffer(bytes: &[u8]) -> Result<Flat<Sip>> {
    let mut src = Reader::new(bytes);
    let version = src.u8()?;
    if version != 1 {
        return Err(unsupported(format!("version {version} is not known")));
    }
    let (len, k) = (src.u64_le()?, src.u32_le()?);
    let keys = [src.array()?, src.array()?];
    if len != bytes.len() as u64 - HEAD {
        return Err(src.corrupt(format!("{len} bytes of bits, and {} there", src.len())));
    }
    Flat::new(Sip { keys }, k.into(), Bits::new(src.take(len)?, len.saturating_mul(8))?)
}

/// What a dump says around the buffers.
struct Around {
    version: u16,
    growth: u64,
    fpr: f64,
    tightening: f64,
    random: u64,
    capacities: Vec<u64>,
    items: u64,
}

/// One buffer, or those of a dump.
struct Layers {
    around: Option<Around>,
    layers: Vec<Flat<Sip>>,
}

fn read(bytes: &[u8]) -> Result<Layers> {
    if let Ok(values) = Values::new(bytes) {
        return dumped(values);
    }
    Ok(Layers { around: None, layers: vec![buffer(bytes)?] })
}

fn dumped(mut src: Values<'_>) -> Result<Layers> {
    if src.id != MODULE {
        return Err(unsupported("the dump of another module's value, or of another version"));
    }
    let (count, growth) = (src.unsigned()?, src.unsigned()?);
    let (fpr, tightening, random) = (src.double()?, src.double()?, src.unsigned()?);
    let (mut layers, mut capacities) = (Vec::new(), Vec::new());
    for _ in 0..count {
        layers.push(buffer(src.string()?)?);
        capacities.push(src.unsigned()?);
    }
    if layers.is_empty() {
        return Err(corrupt("a filter without layers"));
    }
    let (items, version) = (src.unsigned()?, src.version);
    src.finish()?;
    let around = Around { version, growth, fpr, tightening, random, capacities, items };
    Ok(Layers { around: Some(around), layers })
}

impl Around {
    fn write(&self, layers: &[Flat<Sip>]) -> Option<Vec<u8>> {
        let mut out = Dump::new(MODULE);
        out.unsigned(layers.len() as u64);
        out.unsigned(self.growth);
        out.double(self.fpr);
        out.double(self.tightening);
        out.unsigned(self.random);
        for (layer, capacity) in layers.iter().zip(&self.capacities) {
            out.string(&layer.write()?);
            out.unsigned(*capacity);
        }
        out.unsigned(self.items);
        Some(out.finish(self.version))
    }
}

impl Layout for Layers {
    fn contains(&self, key: &Key<'_>) -> Result<bool> {
        Ok(self.layers.iter().any(|layer| layer.has(key)))
    }

    fn insert(&mut self, key: &Key<'_>) -> Option<Result<bool>> {
        if self.layers.iter().any(|layer| layer.has(key)) {
            return Some(Ok(false));
        }
        if let Some(around) = &mut self.around {
            if Some(&around.items) >= around.capacities.last() {
                let message = format!(
                    "the last layer already has the {} keys it is planned for",
                    around.items
                );
                return Some(Err(Error::new(Kind::CapacityExceeded, message)));
            }
            around.items += 1;
        }
        self.layers.last_mut()?.insert(key)
    }

    fn write(&self) -> Option<Vec<u8>> {
        match &self.around {
            Some(around) => around.write(&self.layers),
            None => self.layers.first()?.write(),
        }
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = vec![fact("layers", self.layers.len() as u64)];
        if let Some(around) = &self.around {
            facts.push(fact("items", around.items));
            facts.push(fact("growth", around.growth));
            facts.push(real("planned_fpr", around.fpr));
            facts.push(text("seed", if around.random == 1 { "random" } else { "fixed" }));
        }
        facts
    }

    fn fill(&self) -> f64 {
        let ones: u64 = self.layers.iter().map(|layer| layer.bits.ones()).sum();
        ones as f64 / self.bits() as f64
    }

    fn fpr(&self) -> f64 {
        1.0 - self.layers.iter().map(|layer| 1.0 - layer.fpr()).product::<f64>()
    }

    fn cardinality(&self) -> Option<f64> {
        self.layers.iter().map(Layout::cardinality).sum()
    }

    fn bits(&self) -> u64 {
        self.layers.iter().map(|layer| layer.bits.m()).sum()
    }
}

/// A buffer, under keys of zeros.
fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr).ceil().max(1.0) as u64;
    let k = best_probes(m, items).round().max(1.0);
    let bits = Bits::zeros(m.next_multiple_of(8), 1)?;
    let layers = vec![Flat::new(Sip { keys: [[0; 16]; 2] }, k as u64, bits)?];
    Ok(Foreign::new(&FORMAT, Layers { around: None, layers }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use everbloom::Limits;

    #[test]
    fn a_dump_holds_what_the_crate_wrote() {
        let mut filter: bloomfilter::Bloom<[u8]> =
            bloomfilter::Bloom::new_for_fp_rate_with_seed(1000, 0.01, &[7; 32]).unwrap();
        (0..1000).for_each(|i| filter.set(format!("item-{i}").as_bytes()));
        let mut dump = Dump::new(MODULE);
        dump.unsigned(1);
        dump.unsigned(2);
        dump.double(0.01);
        dump.double(0.5);
        dump.unsigned(1);
        dump.string(filter.as_slice());
        dump.unsigned(1000);
        dump.unsigned(1000);
        let dump = dump.finish(11);
        for bytes in [filter.to_bytes(), dump] {
            let opened = FORMAT.open_one(&bytes, Limits::NETWORK).unwrap();
            let theirs = |key: &str| filter.check(key.as_bytes());
            for i in 0..1000 {
                assert!(opened.contains(&*format!("item-{i}")).unwrap());
            }
            for i in 0..10_000 {
                let key = format!("absent-{i}");
                assert_eq!(opened.contains(&*key).unwrap(), theirs(&key), "{key}");
            }
            assert!(opened.write().unwrap() == bytes);
            assert_eq!(Format::detect(&bytes)[0].name, "valkey-bloom");
        }
    }
}
