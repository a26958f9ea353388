//! Mozilla's filter cascade, the "mlbf" of add-on blocklists and CRLite, little-endian.
//!
//! ```text
//!   version 1:  u16 1 · layers                   version 2:  u16 2 · u8 inverted · u8 length · salt · layers
//!   a layer:    u8 hash · u32 m · u32 k · u8 level, from 1 · ⌈m/8⌉ bytes
//! ```
//!
//! The first layer holds the members, the second what non-members pass the first, and so on: a key is a member if an
//! odd number of layers pass before the first that does not. Hash 1 is MurmurHash3 x86 32 with the seed
//! (i << 16) + level, hash 2 the first four bytes of SHA-256(salt · u32 i · u8 level · key), hash 3 bytes of a
//! stream of SHA-256(u32 counter · salt · key) that goes on from layer to layer.
//!
//! The answer is exact for the keys that the cascade was built from; the predicted rate is that of other keys.
//! [`cascade`] builds one from two sets, as filtercascade does: the first layer at a rate of r·√½/s for r members and
//! s non-members, all others at ½.

use everbloom::internals::filter::fact;
use everbloom::{Error, Fact, Kind, Result};
use sha2::{Digest, Sha256};

use crate::bits::Bits;
use crate::format::foreign::{Layout, best_bits, checked_k};
use crate::format::{Hints, Part};
use crate::read::{Reader, unsupported};
use crate::{Foreign, Format, Key, KeyAs, hashes};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "mlbf",
    writer: "Mozilla's filtercascade (Python) and rust-cascade",
    versions: "1 and 2; hashes 1, 2 and 3",
    recognized: "version 1 or 2, and layers that end at the end of the file",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "murmur3-x86-32 or sha-256",
    limits: "built from members and non-members (`everbloom revoked build`), not from members alone",
    open,
    ..Format::USUAL
};

struct Cascade {
    /// What stands before the layers.
    head: Vec<u8>,
    inverted: bool,
    salt: Vec<u8>,
    layers: Vec<Layer>,
}

struct Layer {
    hash: u8,
    k: u32,
    level: u8,
    bits: Bits,
}

/// The bytes of hash 3, and how many were taken.
#[derive(Default)]
struct Stream {
    block: [u8; 32],
    left: usize,
    counter: u32,
}

impl Stream {
    fn byte(&mut self, salt: &[u8], key: &[u8]) -> u8 {
        if self.left == 0 {
            let hash = Sha256::new().chain_update(self.counter.to_le_bytes());
            self.block = hash.chain_update(salt).chain_update(key).finalize().into();
            (self.left, self.counter) = (32, self.counter.wrapping_add(1));
        }
        self.left -= 1;
        self.block[31 - self.left]
    }

    /// A number of as few bytes as the range needs.
    fn number(&mut self, range: u32, salt: &[u8], key: &[u8]) -> u32 {
        let width = range.checked_next_power_of_two().map_or(32, u32::trailing_zeros);
        let mut bytes = [0; 4];
        for byte in bytes.iter_mut().take(width.div_ceil(8) as usize) {
            *byte = self.byte(salt, key);
        }
        u32::from_le_bytes(bytes)
    }
}

impl Layer {
    fn has(&self, key: &[u8], salt: &[u8], stream: &mut Stream) -> bool {
        let m = self.bits.m() as u32;
        // All indices are taken, so that the next layer finds the stream where the writer left it.
        let mut all = true;
        for i in 0..self.k {
            let hash = match self.hash {
                1 => hashes::murmur3_x86_32(key, (i << 16).wrapping_add(self.level.into())),
                2 => self.probe(i, key, salt),
                _ => stream.number(m, salt, key),
            };
            all &= self.bits.get(u64::from(hash % m));
            if !all {
                return false;
            }
        }
        all
    }

    fn fpr(&self) -> f64 {
        self.bits.fill().powi(self.k as i32)
    }
}

impl Layout for Cascade {
    fn contains(&self, key: &Key<'_>) -> Result<bool> {
        let mut stream = Stream::default();
        let passed = key.little(|key| {
            self.layers.iter().take_while(|layer| layer.has(key, &self.salt, &mut stream)).count()
        });
        Ok((passed % 2 == 1) != self.inverted)
    }

    fn write(&self) -> Option<Vec<u8>> {
        let mut out = self.head.clone();
        for layer in &self.layers {
            out.push(layer.hash);
            out.extend_from_slice(&(layer.bits.m() as u32).to_le_bytes());
            out.extend_from_slice(&layer.k.to_le_bytes());
            out.push(layer.level);
            out.extend_from_slice(layer.bits.bytes());
        }
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("layers", self.layers.len() as u64),
            fact("inverted", u64::from(self.inverted)),
            fact("salt", self.salt.len() as u64),
        ]
    }

    fn fill(&self) -> f64 {
        self.layers.first().map_or(0.0, |layer| layer.bits.fill())
    }

    /// P(an odd number of layers pass, and the next does not).
    fn fpr(&self) -> f64 {
        let (mut reached, mut odd) = (1.0, 0.0);
        for (i, layer) in self.layers.iter().enumerate() {
            odd += if i % 2 == 1 { reached * (1.0 - layer.fpr()) } else { 0.0 };
            reached *= layer.fpr();
        }
        odd += if self.layers.len() % 2 == 1 { reached } else { 0.0 };
        if self.inverted { 1.0 - odd } else { odd }
    }

    fn bits(&self) -> u64 {
        self.layers.iter().map(|layer| layer.bits.m()).sum()
    }
}

/// Builds a cascade that says "member" for all of `members`, and for none of `others`, which must not share a key.
/// Keys are hashed by SHA-256 under a salt of up to 255 bytes.
///
/// ```
/// let revoked = ["a", "b"].map(str::as_bytes);
/// let valid: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
/// let filter = everbloom_formats::cascade(&revoked, || valid.iter().map(String::as_bytes), b"salt")?;
/// assert!(filter.contains("a")? && !filter.contains("7")?);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub fn cascade<'a, I: Iterator<Item = &'a [u8]>>(
    members: &[&'a [u8]],
    others: impl Fn() -> I,
    salt: &[u8],
) -> Result<Foreign> {
    let length = u8::try_from(salt.len())
        .map_err(|_| Error::new(Kind::BadParameter, "a salt has 255 bytes at the most"))?;
    let head = [&[2, 0, 0, length][..], salt].concat();
    let mut built = Cascade { head, inverted: false, salt: salt.to_vec(), layers: Vec::new() };
    let first = members.len() as f64 * 0.5f64.sqrt() / others().count().max(1) as f64;
    let mut rate = first.clamp(1e-9, 0.5);
    // A layer holds `inside`; those of `outside` that pass it are the next one's.
    let (mut inside, mut outside) = (members.to_vec(), None);
    for level in 1..=MAX_LAYERS {
        let layer = Layer::of(&inside, rate, level, salt)?;
        let passes = |key: &&[u8]| layer.has(key, salt, &mut Stream::default());
        let passed: Vec<&[u8]> = match outside {
            None => others().filter(passes).collect(),
            Some(keys) => Vec::into_iter(keys).filter(passes).collect(),
        };
        built.layers.push(layer);
        if passed.is_empty() {
            return Ok(Foreign::new(&FORMAT, built));
        }
        (outside, inside, rate) = (Some(inside), passed, 0.5);
    }
    let message = "no layer ends the cascade: a key is in both sets";
    Err(Error::new(Kind::BadRecord, message))
}

/// A layer holds about half of the one before the last.
const MAX_LAYERS: u8 = 200;

impl Layer {
    /// A layer of the keys, sized as filtercascade does, hashed by SHA-256.
    fn of(keys: &[&[u8]], rate: f64, level: u8, salt: &[u8]) -> Result<Self> {
        let k = (1.0 / rate).log2().ceil().max(1.0) as u32;
        // Whole bytes, as the other software has them.
        let m = (best_bits(keys.len().max(1) as u64, rate) / 8.0).ceil().max(1.0) * 8.0;
        if m > f64::from(u32::MAX) {
            return Err(Error::new(Kind::CapacityExceeded, "more bits than a layer can have"));
        }
        let mut layer = Layer { hash: 2, k, level, bits: Bits::zeros(m as u64, 1)? };
        for key in keys {
            for i in 0..k {
                let hash = layer.probe(i, key, salt);
                layer.bits.set(u64::from(hash % m as u32));
            }
        }
        Ok(layer)
    }

    /// The i-th hash by SHA-256.
    fn probe(&self, i: u32, key: &[u8], salt: &[u8]) -> u32 {
        let hash = Sha256::new().chain_update(salt).chain_update(i.to_le_bytes());
        let digest = hash.chain_update([self.level]).chain_update(key).finalize();
        u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let (inverted, salt) = match src.u16_le()? {
        1 => (false, &[][..]),
        2 => {
            let (inverted, len) = (src.u8()?, src.u8()?);
            if inverted > 1 {
                return Err(src.corrupt("inverted is neither 0 nor 1"));
            }
            (inverted == 1, src.take(len.into())?)
        }
        other => return Err(unsupported(format!("version {other} is not known"))),
    };
    let head = bytes[..bytes.len() - src.len()].to_vec();
    let mut layers: Vec<Layer> = Vec::new();
    while src.len() > 0 {
        let (hash, m, k, level) = (src.u8()?, src.u32_le()?, src.u32_le()?, src.u8()?);
        let known = layers.first().map_or(1..=3, |first| first.hash..=first.hash);
        if !known.contains(&hash) {
            return Err(unsupported(format!(
                "hash {hash} is not known, or not that of all layers"
            )));
        }
        if usize::from(level) != layers.len() + 1 {
            return Err(src.corrupt(format!("layer {level} as number {}", layers.len() + 1)));
        }
        let bits = Bits::new(src.take(u64::from(m).div_ceil(8))?, m.into())?;
        layers.push(Layer { hash, k: checked_k(k.into())?, level, bits });
    }
    if layers.is_empty() {
        return Err(src.corrupt("a cascade without layers"));
    }
    let cascade = Cascade { head, inverted, salt: salt.to_vec(), layers };
    Ok(vec![Foreign::new(&FORMAT, cascade).into()])
}
