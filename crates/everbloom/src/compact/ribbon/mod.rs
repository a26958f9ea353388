//! The ribbon filter (Dillinger, Walzer 2021; bumped: Dillinger, Hübschle-Schneider, Sanders, Walzer 2022;
//! catalogue B4; S0 ref. 6, 33, 34): a fixed set within a percent of the fewest bits possible.
//!
//! Every key is an equation: of 64 neighboring slots, those its coefficients name must add up, by
//! exclusive or, to its fingerprint φ of r bits. The slots are a solution of all members' equations; that of
//! a non-member is satisfied by chance, in 2^−r of all cases:
//!
//! ```text
//!   slots, r bits each  ┌─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┐
//!                       └─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┘
//!   key x                   1 0 1 1 0 … 1 0        the sum of four slots is φ(x)
//!   key y                       1 1 0 0 1 … 1      equations sorted by start form a ribbon, solved in
//!   key z                         1 0 1 … 0 1      one pass (solve::Band)
//! ```
//!
//! | form | bits per key | how it copes with equations that have no common solution |
//! |---|---|---|
//! | `bumped` | 1.003·r and a few for small sets | a bucket of 128 starts sends its lowest keys to the next layer |
//! | `standard` | 1.05·r to 1.12·r, growing with n | more slots than keys, and another seed |
//! | `homogeneous` | 1.12·r | all results are 0, which the slots can always satisfy, and seldom do for a non-member |
//!
//! A bumped layer has *fewer* slots than keys, so that hardly one stays free. Two bits a bucket say which of
//! its keys are not there: those with an offset below 0, 25, 49 or 128. They are one in twenty, and have a
//! layer of their own. One bucket in 4096 sends all its keys there: the stretches between are apart, and each is filled and solved
//! by a core of its own.
//!
//! Bits of a slot are apart (see `solve::Band`): the first bits of 64 slots in a word, then their second
//! bits; a bit of a sum is the parity of two words, and most non-members fail within the first four.
//!
//! **Use it** for a set that never changes, if space matters most. **Don't** if time matters most: `binary-fuse`
//! takes an eighth more bits and a fifth of the time.

mod layer;
mod shape;

use crate::cells::ones::{self, Ones, Portable};
use crate::hash::{Generator, fold};
use crate::memory::prefetch;
use crate::parts::static_set::{self, StaticSet, static_set};
use crate::plan::fingerprint::{Fingerprints, MAX_BITS, MEANING, PARAM_BITS};
use crate::probe::multiply_shift;
use crate::solve::{ATTEMPTS, WIDTH, retry, sorted_hashes};
use crate::theory::fingerprint::false_positives;
use crate::threads::Cores;
use crate::variant::prelude::*;

use layer::{Layer, THRESHOLD_BITS, coefficients, fingerprint};
use shape::{FEW, MAX_BUMPING, OVERLOAD, Sizes, Sizing, blocks};
pub use shape::{bumped_keys, homogeneous_slots, standard_slots};

/// A fixed set as the solution of a banded system.
///
/// ```
/// use everbloom::Ribbon;
///
/// let filter = Ribbon::from_keys(["apple", "pear", "apple"], 0.000001)?;
/// assert!(filter.contains("pear"));
/// assert!(!filter.contains("plum"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ribbon {
    head: Head,
    /// Fingerprint bits, r.
    bits: u32,
    /// How many seeds were tried.
    attempts: u64,
    /// The share of foreign equations that follow from the members', as the build measured it: other than
    /// zero only if all results are.
    spanned: f64,
    layers: Vec<Layer>,
}

state!(Ribbon { head, bits, attempts, spanned, layers });

/// The golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// The hash of a digest under a seed; a layer hashes the hash of the one before. The digest is random
/// already, so one folded multiplication is enough to make another seed another system.
#[inline]
fn reseeded(digest: u64, seed: u64) -> u64 {
    fold(digest ^ seed, MIX)
}

impl Ribbon {
    /// The bumped ribbon of these keys, with fingerprints of `bits` bits, 1 to 32.
    pub fn with_bits<I>(keys: I, bits: u32, hasher: Hasher) -> Result<Self>
    where
        I: IntoIterator<Item: Key>,
    {
        let sizing = Sizing::Bumped { overload: OVERLOAD };
        let shape = Shape { sizing, bits: Fingerprints::of(bits, MAX_BITS) };
        static_set::shaped(&shape, BUMPED, hasher, keys)
    }

    #[inline]
    fn homogeneous(&self) -> bool {
        self.head.form == HOMOGENEOUS
    }

    /// Fingerprint bits.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Seeds that were tried for the last layer.
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Slots of each layer, rounded up to blocks of 64.
    pub fn slots(&self) -> impl Iterator<Item = u64> + '_ {
        self.layers.iter().map(|layer| layer.slots.len() / u64::from(self.bits))
    }

    #[inline]
    fn has_by(&self, by: impl Ones, digest: Digest) -> bool {
        let mut hash = digest.h1;
        for layer in &self.layers {
            hash = reseeded(hash, layer.seed);
            let start = multiply_shift(hash, layer.starts);
            if !layer.bumps(start) {
                let result = if self.homogeneous() { 0 } else { fingerprint(hash) };
                return layer.agrees(by, start, coefficients(hash), result, self.bits as usize);
            }
        }
        false
    }

    fn have_by(&self, by: impl Ones, digests: &[Digest], found: &mut [bool]) {
        let first = self.layers.first().filter(|layer| layer.slots.words().len() >= FETCH_FROM);
        for (digests, found) in digests.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            // Hardly any key goes beyond the first layer.
            if let Some(layer) = first {
                let words = layer.slots.words().as_ptr();
                let r = self.bits as usize;
                for digest in digests {
                    let hash = reseeded(digest.h1, layer.seed);
                    let block = multiply_shift(hash, layer.starts) as usize / 64;
                    prefetch(words.wrapping_add(block * r).cast());
                    prefetch(words.wrapping_add((block + 1) * r).cast());
                }
            }
            for (digest, found) in digests.iter().zip(found) {
                *found = self.has_by(by, *digest);
            }
        }
    }

    fn check(&self) -> Result<()> {
        let r = u64::from(self.bits);
        let bad = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        if !(1..=u64::from(MAX_BITS)).contains(&r) || !(1..=ATTEMPTS).contains(&self.attempts) {
            return bad("fingerprint bits or attempts of a ribbon");
        }
        if !(0.0..=1.0).contains(&self.spanned) || self.layers.len() > MAX_BUMPING + 1 {
            return bad("layers of a ribbon");
        }
        for layer in &self.layers {
            if Some(layer.slots.len()) != (64 * r).checked_mul(blocks(layer.starts + WIDTH - 1)) {
                return bad("slots of a ribbon's layer");
            }
        }
        let bumps = self.layers.iter().any(|layer| !layer.thresholds.is_empty());
        if bumps && self.head.form != BUMPED || self.layers.is_empty() != (self.head.items == 0) {
            return bad("a ribbon whose layers do not fit its form");
        }
        Ok(())
    }
}

impl StaticSet for Ribbon {
    type Word = u64;

    fn assemble(shape: &Shape, head: Head, mut keys: Vec<u64>, cores: Cores) -> Result<Self> {
        let mut seeds = Generator::new(0);
        let mut seed = seeds.next_u64();
        // Equal digests have equal equations. Two keys of one digest share one, and both are found.
        let mut hashes = sorted_hashes(&keys, |digest| reseeded(digest, seed), cores);
        let items = hashes.len() as u64;
        let (r, _) = shape.settle(items)?;
        let head = shape.bits.head(head, items, false_positives(r));
        let mut layers = Vec::new();
        if let Sizing::Bumped { overload } = shape.sizing {
            while layers.len() < MAX_BUMPING && hashes.len() as u64 > FEW {
                let (layer, bumped) = Layer::bumping(seed, &hashes, r, overload, cores);
                layers.push(layer);
                seed = seeds.next_u64();
                hashes = sorted_hashes(&bumped, |hash| reseeded(hash, seed), cores);
                keys = bumped;
            }
        }
        if hashes.is_empty() {
            return Ok(Self { head, bits: r, attempts: 1, spanned: 0.0, layers });
        }
        let last = retry(seed, &mut seeds, |seed, number, seeds| {
            if number > 1 {
                hashes = sorted_hashes(&keys, |key| reseeded(key, seed), cores);
            }
            let slots = shape.sizing.slots(hashes.len() as u64);
            let (layer, spanned) = match shape.sizing {
                Sizing::Homogeneous { .. } => Layer::homogeneous(seed, &hashes, slots, r, seeds)?,
                _ => (Layer::standard(seed, &hashes, slots, r)?, 0.0),
            };
            Some((number, layer, spanned))
        });
        let (attempts, layer, spanned) = last.ok_or_else(|| {
            Error::record(format!(
                "no solution for {} keys in {} slots under any of {ATTEMPTS} seeds: \
                 give more {{slots}}, or use form bumped",
                hashes.len(),
                shape.sizing.slots(hashes.len() as u64)
            ))
        })?;
        layers.push(layer);
        Ok(Self { head, bits: r, attempts, spanned, layers })
    }

    #[inline]
    fn has(&self, digest: Digest) -> bool {
        match ones::instructions() {
            Some(by) => self.has_by(by, digest),
            None => self.has_by(Portable, digest),
        }
    }

    fn have(&self, digests: &[Digest], found: &mut [bool]) {
        match ones::instructions() {
            Some(by) => self.have_by(by, digests, found),
            None => self.have_by(Portable, digests, found),
        }
    }
}

/// Keys whose slots are prefetched together.
const AHEAD: usize = 32;

/// Arrays of fewer words, 1 MiB, stay in the L1 and L2 caches, where prefetching costs more than it saves.
const FETCH_FROM: usize = 1 << 17;

/// What the goal says of the slots; their number comes with the records.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    sizing: Sizing,
    bits: Fingerprints,
}

impl Shape {
    /// Fingerprint bits, and bits of slots and thresholds on average, for `n` keys, if they fit.
    fn settle(&self, n: u64) -> Result<(u32, f64)> {
        let Sizes { slots, sd, thresholds } = self.sizing.sizes(n);
        let thresholds = thresholds * f64::from(THRESHOLD_BITS);
        // Six sigmas, since a set that needs more bits than its room is of no use.
        let bits = self.bits.settle(n, slots + 6.0 * sd, thresholds)?;
        Ok((bits, slots * f64::from(bits) + thresholds))
    }
}

impl Plan for Ribbon {
    type Shape = Shape;

    const HASH: HashId = HashId::Fold64;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let per_key = request.real("slots");
        let (sizing, margin) = match request.form() {
            STANDARD => (Sizing::Standard { per_key }, 1.0),
            // It may let a quarter more pass, which is within the rate all the same.
            HOMOGENEOUS => (Sizing::Homogeneous { per_key }, 1.25),
            _ => {
                let overload = request.number("overload");
                (Sizing::Bumped { overload }, 1.0)
            }
        };
        let bits = Fingerprints::plan(request, &PARAM_BITS, MAX_BITS, margin);
        let shape = Shape { sizing, bits };
        // What does not fit the keys that are announced is refused before they are read.
        shape.settle(request.goal_items().unwrap_or(0))?;
        Ok(shape)
    }

    /// The rate is 2^−r. A homogeneous ribbon lets the share of other equations pass, too, that follow from the
    /// members': hardly any at its default size, and the build takes another seed where they would be more
    /// than 2^−r/4, so that the planned rate is kept.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (bits, cells) = shape.settle(load.distinct).ok()?;
        Some(Expect::one_sided(rate(bits, 0.0, load.distinct), cells.round() as u64, None))
    }
}

/// The rate of `n` keys if a share `spanned` of other equations follow from the members'.
fn rate(bits: u32, spanned: f64, n: u64) -> f64 {
    let members = if n == 0 { 0.0 } else { 1.0 };
    members * (spanned + (1.0 - spanned) * false_positives(bits))
}

face!(Ribbon: Bulk);
static_set!(Ribbon);

impl Filter for Ribbon {
    fn now(&self) -> Rates {
        Rates::one_sided(rate(self.bits, self.spanned, self.head.items))
    }

    fn describe(&self) -> Vec<Fact> {
        let slots: u64 = self.slots().sum();
        let thresholds: u64 = self.layers.iter().map(|layer| layer.thresholds.len()).sum();
        vec![
            fact("slots", slots),
            fact("fingerprint bits", self.bits),
            fact("layers", self.layers.len() as u64),
            fact("buckets", thresholds),
            real("slots per key", slots as f64 / self.head.items.max(1) as f64),
            real("spanned", self.spanned),
            fact("attempts", self.attempts),
        ]
    }

    fn bits_sd(&self) -> f64 {
        if self.head.form != BUMPED {
            return 0.0;
        }
        let sizing = Sizing::Bumped { overload: OVERLOAD };
        sizing.sizes(self.head.items).sd * f64::from(self.bits)
    }

    /// Where the key's row starts in each layer until one has it, and whether its sum is the fingerprint.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let (mut cells, mut first, mut hash) = (Vec::new(), 0, digest.h1);
        for layer in &self.layers {
            hash = reseeded(hash, layer.seed);
            let start = multiply_shift(hash, layer.starts);
            let here = !layer.bumps(start);
            let agrees = here && self.has(digest);
            cells.push(Touched { index: first + start, value: agrees.into(), agrees });
            first += layer.starts;
            if here {
                break;
            }
        }
        cells
    }
}

const BUMPED: &str = "bumped";
const STANDARD: &str = "standard";
const HOMOGENEOUS: &str = "homogeneous";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Ribbon>(Facts {
    id: 56,
    slug: "ribbon",
    entry: "B4",
    question: "Is it in a fixed set, in nearly the fewest bits?",
    name: "Ribbon filter",
    paper: "P. C. Dillinger, S. Walzer, Ribbon filter: practically smaller than Bloom and xor, 2021; \
            P. C. Dillinger, L. Hübschle-Schneider, P. Sanders, S. Walzer, Fast succinct retrieval and \
            approximate membership using ribbon, SEA 2022; E. Porat, An optimal Bloom filter replacement \
            based on matrix solving, CSR 2009",
    family: "compact",
    needs: &["membership", "static", "compact", "accurate"],
    meaning: MEANING,
    forms: &[Form::exact(BUMPED, &[]), Form::exact(STANDARD, &[]), Form::exact(HOMOGENEOUS, &[])],
    params: &[
        PARAM_BITS,
        Param::real("overload", 1.0, 1.1, "keys per slot of a layer, in form bumped")
            .or(Preset::Real(OVERLOAD)),
        Param::real("slots", 1.0, 4.0, "slots per key, in the forms standard and homogeneous"),
    ],
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests;
