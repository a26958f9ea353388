//! RedisBloom's `BF` filters: one layer, or several that grow.
//!
//! ```text
//!   the chunks of BF.SCANDUMP, one after the other, little-endian:
//!   u64 items · u32 layers · u32 options · u32 growth
//!   per layer: u64 bytes · u64 bits · u64 items · f64 error · f64 bits per item · u32 k · u64 capacity · u8 log2
//!   the bytes of the layers
//! ```
//!
//! `DUMP` gives the same numbers as the values of a module. a is MurmurHash64A of the key under the seed
//! 0xc6a4a7935bd1e995, b the same under the seed a, and index i = 0 … k − 1 is (a + i·b) mod the bits.

use everbloom::internals::filter::{fact, text};
use everbloom::internals::probe::Scheme as Probes;
use everbloom::{Bloom, Error, Fact, Filter, HashId, Hasher, Kind, Result};

use super::dump::{Dump, Values, module_id};
use crate::bits::{Bits, Order};
use crate::format::foreign::{
    Layout, adopted, cardinality, checked_k, other_probes, probing, to_bloom, words_of,
};
use crate::format::{Hints, Part};
use crate::read::{Reader, corrupt, unsupported};
use crate::{Fit, Foreign, Format, Key, KeyAs, hashes};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "redisbloom",
    writer: "RedisBloom, BF.SCANDUMP (concatenated chunks) and DUMP",
    versions: "the layout of 2.x and later; module encoding 4",
    recognized: "layers that match the length; a dump by its module type",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "murmur2-64a, twice",
    limits: "no 32-bit hashes of versions before 2, and no dumps compressed by LZF; a full layer takes no keys, \
             where Redis adds a layer; filters with several layers are not converted",
    fit: Some(fit),
    open: |bytes, _: &Hints| Ok(vec![Part::from(Foreign::new(&FORMAT, Chain::read(bytes)?))]),
    create: Some(create),
    adopt: Some(adopt),
    ..Format::USUAL
};

const MODULE: u64 = module_id(b"MBbloom--", 4);
const SEED: u64 = 0xc6a4_a793_5bd1_e995;
/// Sizes are not rounded up to a power of two.
const NO_ROUND: u32 = 1;
/// Hashes have 64 bits.
const FORCE_64: u32 = 4;
/// No layer is added.
const NO_SCALING: u32 = 8;

/// How the filter came, and goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Scan,
    Dump { version: u16 },
}

struct Chain {
    form: Form,
    items: u64,
    options: u32,
    growth: u32,
    layers: Vec<Layer>,
}

struct Layer {
    bits: Bits,
    items: u64,
    error: f64,
    per_item: f64,
    k: u32,
    capacity: u64,
    log2: u8,
}

fn fit(bytes: &[u8]) -> Fit {
    match Chain::read(bytes) {
        Ok(Chain { form: Form::Dump { .. }, .. }) => Fit::Magic,
        Ok(_) => Fit::Fields,
        Err(_) => Fit::No,
    }
}

impl Chain {
    fn read(bytes: &[u8]) -> Result<Self> {
        // The first byte of a chunk is the lowest of a number of items, and may be 7, too.
        let chain = match Values::new(bytes) {
            Ok(values) => Self::dumped(values)?,
            Err(_) => Self::scanned(bytes)?,
        };
        if chain.options & FORCE_64 == 0 {
            return Err(unsupported("a filter of 32-bit hashes, of a version before 2"));
        }
        if chain.layers.is_empty() { Err(corrupt("a filter without layers")) } else { Ok(chain) }
    }

    fn scanned(bytes: &[u8]) -> Result<Self> {
        let mut src = Reader::new(bytes);
        let (items, count) = (src.u64_le()?, src.u32_le()?);
        let (options, growth) = (src.u32_le()?, src.u32_le()?);
        let mut heads = Reader::new(src.take(53 * u64::from(count))?);
        let mut layers = Vec::new();
        for _ in 0..count {
            let (bytes, m, items) = (heads.u64_le()?, heads.u64_le()?, heads.u64_le()?);
            let (error, per_item) = (heads.f64_le()?, heads.f64_le()?);
            let k = checked_k(heads.u32_le()?.into())?;
            let (capacity, log2) = (heads.u64_le()?, heads.u8()?);
            let bits = Bits::new(src.take(bytes)?, m)?;
            layers.push(Layer { bits, items, error, per_item, k, capacity, log2 });
        }
        src.finish()?;
        Ok(Self { form: Form::Scan, items, options, growth, layers })
    }

    fn dumped(mut src: Values<'_>) -> Result<Self> {
        if src.id != MODULE {
            return Err(unsupported("the dump of another module's value, or of another version"));
        }
        let narrow = |value: u64| u32::try_from(value).map_err(|_| corrupt("a number too large"));
        let (items, count) = (src.unsigned()?, src.unsigned()?);
        let (options, growth) = (narrow(src.unsigned()?)?, narrow(src.unsigned()?)?);
        let mut layers = Vec::new();
        for _ in 0..count {
            let (capacity, error) = (src.unsigned()?, src.double()?);
            let (k, per_item) = (checked_k(src.unsigned()?)?, src.double()?);
            let (m, log2) = (src.unsigned()?, narrow(src.unsigned()?)? as u8);
            let bits = Bits::new(src.string()?, m)?;
            let items = src.unsigned()?;
            layers.push(Layer { bits, items, error, per_item, k, capacity, log2 });
        }
        let form = Form::Dump { version: src.version };
        src.finish()?;
        Ok(Self { form, items, options, growth, layers })
    }

    fn scan(&self) -> Vec<u8> {
        let mut out = self.items.to_le_bytes().to_vec();
        for number in [self.layers.len() as u32, self.options, self.growth] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for layer in &self.layers {
            for number in [layer.bits.bytes().len() as u64, layer.bits.m(), layer.items] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            out.extend_from_slice(&layer.error.to_le_bytes());
            out.extend_from_slice(&layer.per_item.to_le_bytes());
            out.extend_from_slice(&layer.k.to_le_bytes());
            out.extend_from_slice(&layer.capacity.to_le_bytes());
            out.push(layer.log2);
        }
        self.layers.iter().for_each(|layer| layer.bits.push(Order::Little, &mut out));
        out
    }

    fn dump(&self, version: u16) -> Vec<u8> {
        let mut out = Dump::new(MODULE);
        out.unsigned(self.items);
        for number in [self.layers.len() as u64, self.options.into(), self.growth.into()] {
            out.unsigned(number);
        }
        for layer in &self.layers {
            out.unsigned(layer.capacity);
            out.double(layer.error);
            out.unsigned(layer.k.into());
            out.double(layer.per_item);
            out.unsigned(layer.bits.m());
            out.unsigned(layer.log2.into());
            out.string(layer.bits.bytes());
            out.unsigned(layer.items);
        }
        out.finish(version)
    }
}

fn hash(key: &Key<'_>) -> (u64, u64) {
    key.little(|bytes| {
        let a = hashes::murmur2_64a(bytes, SEED);
        (a, hashes::murmur2_64a(bytes, a))
    })
}

/// The probes and the hash of a layer in the library's words.
fn probes() -> Option<(Probes, Hasher)> {
    probing(Probes::Wrapped, HashId::Murmur64ATwice, SEED)
}

impl Layer {
    fn all(&self, (a, b): (u64, u64)) -> impl Iterator<Item = u64> + use<> {
        let m = self.bits.m();
        (0..u64::from(self.k)).map(move |i| a.wrapping_add(i.wrapping_mul(b)) % m)
    }

    fn has(&self, hash: (u64, u64)) -> bool {
        self.all(hash).all(|i| self.bits.get(i))
    }
}

impl Layout for Chain {
    fn contains(&self, key: &Key<'_>) -> Result<bool> {
        let hash = hash(key);
        Ok(self.layers.iter().rev().any(|layer| layer.has(hash)))
    }

    fn insert(&mut self, key: &Key<'_>) -> Option<Result<bool>> {
        let hash = hash(key);
        if self.layers.iter().any(|layer| layer.has(hash)) {
            return Some(Ok(false));
        }
        let last = self.layers.last_mut()?;
        if last.items >= last.capacity {
            let message =
                format!("the last layer already has the {} keys it is planned for", last.capacity);
            return Some(Err(Error::new(Kind::CapacityExceeded, message)));
        }
        last.all(hash).for_each(|i| {
            last.bits.set(i);
        });
        (last.items, self.items) = (last.items + 1, self.items.saturating_add(1));
        Some(Ok(true))
    }

    fn write(&self) -> Option<Vec<u8>> {
        Some(match self.form {
            Form::Scan => self.scan(),
            Form::Dump { version } => self.dump(version),
        })
    }

    fn describe(&self) -> Vec<Fact> {
        let grows = self.options & NO_SCALING == 0;
        vec![
            fact("layers", self.layers.len() as u64),
            fact("items", self.items),
            fact("growth", self.growth),
            text("scaling", if grows { "yes" } else { "no" }),
        ]
    }

    fn fill(&self) -> f64 {
        let ones: u64 = self.layers.iter().map(|layer| layer.bits.ones()).sum();
        (ones as f64 / self.bits() as f64).min(1.0)
    }

    fn fpr(&self) -> f64 {
        let passes = |layer: &Layer| layer.bits.fill().powi(layer.k as i32);
        1.0 - self.layers.iter().map(|layer| 1.0 - passes(layer)).product::<f64>()
    }

    fn cardinality(&self) -> Option<f64> {
        let layers = self.layers.iter();
        layers.map(|layer| cardinality(layer.bits.m(), layer.k, layer.bits.ones())).sum()
    }

    fn bits(&self) -> u64 {
        self.layers.iter().map(|layer| layer.bits.m()).fold(0, u64::saturating_add)
    }

    fn to_filter(&self, _: KeyAs) -> Option<Result<Box<dyn Filter>>> {
        let [layer] = &self.layers[..] else {
            let message = "no variant has layers with such probes: only filters with one layer can be imported";
            return Some(Err(Error::new(Kind::Unsupported, message)));
        };
        Some(to_bloom(&layer.bits, layer.k, probes()?, (None, None)))
    }
}

/// One layer that takes no further keys: what it was made for is not known.
fn adopt(filter: &dyn Filter) -> Result<Foreign> {
    let bloom: &Bloom = adopted(&FORMAT, filter)?;
    if probes() != Some((bloom.scheme(), filter.head().hasher.clone())) {
        return Err(other_probes(&FORMAT, filter));
    }
    let bits = words_of(&FORMAT, bloom, 64)?;
    let (k, items) = (bloom.k(), filter.len());
    let (error, capacity) = (bits.fill().powi(k as i32), items.max(1));
    let per_item = bits.m() as f64 / capacity as f64;
    Ok(single(Layer { bits, items, error, per_item, k, capacity, log2: 0 }))
}

/// One layer, as `BF.RESERVE … NONSCALING` makes it.
fn create(items: u64, error: f64) -> Result<Foreign> {
    // Redis's own digits of ln² 2.
    let per_item = -(error.ln() / 0.480_453_013_918_201);
    let k = checked_k((std::f64::consts::LN_2 * per_item).ceil().max(1.0) as u64)?;
    let m = ((items as f64 * per_item) as u64).max(1).next_multiple_of(64);
    let bits = Bits::zeros(m, 8)?;
    Ok(single(Layer { bits, items: 0, error, per_item, k, capacity: items, log2: 0 }))
}

/// A filter of one layer that never gets another one.
fn single(layer: Layer) -> Foreign {
    let (items, options) = (layer.items, NO_ROUND | FORCE_64 | NO_SCALING);
    let chain = Chain { form: Form::Scan, items, options, growth: 2, layers: vec![layer] };
    Foreign::new(&FORMAT, chain)
}
