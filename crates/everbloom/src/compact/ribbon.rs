//! The ribbon filter (Dillinger, Walzer 2021; bumped: Dillinger, Hübschle-Schneider, Sanders, Walzer 2022;
//! catalogue B4; S0 ref. 6, 33, 34): a fixed set within a percent of the fewest bits possible.
//!
//! Every key is an equation: of 64 neighboring slots, those its coefficients name must add up, by
//! exclusive or, to its fingerprint φ of r bits. The slots are a solution of all members' equations; a
//! stranger's is satisfied by chance, in 2^−r of all cases:
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
//! | `homogeneous` | 1.12·r | all results are 0, which the slots can always satisfy, and seldom for a stranger |
//!
//! A bumped layer has *fewer* slots than keys, so that hardly one stays free. Two bits a bucket say which of
//! its keys are not there: those with an offset below 0, 25, 49 or 128. They are one in twenty, and have a
//! layer of their own.
//!
//! Bits of a slot are apart (see [`Band::solve`]): the first bits of 64 slots in a word, then their second
//! bits; a bit of a sum is the parity of two words, and most strangers fail within the first four.
//!
//! **Use it** where a set never changes and bits are what counts. **Don't** where time is: `binary-fuse` takes
//! an eighth more bits, and a fifth of the time.

use crate::cells::{Bits, Packed};
use crate::hash::{Generator, fold, mix64};
use crate::memory::{Words, prefetch};
use crate::plan::MAX_CELLS;
use crate::probe::multiply_shift;
use crate::solve::{Band, Row, WIDTH, sorted_hashes};
use crate::variant::many;
use crate::variant::prelude::*;

use super::perfect_hash::fingerprint_bits_for;

/// A fixed set as the solution of a banded system.
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

/// Slots, and which keys are theirs.
#[derive(Clone, Debug, PartialEq)]
struct Layer {
    seed: u64,
    /// Slots where an equation may start.
    starts: u64,
    /// For each bucket the index of its threshold; none where every key is in this layer.
    thresholds: Packed,
    slots: Bits,
}

state!(Layer { seed, starts, thresholds, slots });

/// Starts of a bucket.
const BUCKET: u64 = 128;
/// Keys with an offset below are in the next layer.
const THRESHOLDS: [u64; 4] = [0, 25, 49, BUCKET];
const THRESHOLD_BITS: u32 = 2;
/// Layers that bump keys, at most.
const MAX_BUMPING: usize = 3;
/// So many keys are not worth a bumping layer.
const FEW: u64 = 2000;
/// The golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// The hash of a digest under a seed; a layer hashes the hash of the one before. The digest is random
/// already, so one folded multiplication is enough to make another seed another system.
#[inline]
fn reseeded(digest: u64, seed: u64) -> u64 {
    fold(digest ^ seed, MIX)
}

/// The coefficients of a hash, the first of them 1.
#[inline]
fn coefficients(hash: u64) -> u64 {
    mix64(hash ^ 1) | 1
}

/// 32 bits of which a fingerprint takes the lowest, independent of start and coefficients.
#[inline]
fn fingerprint(hash: u64) -> u32 {
    mix64(hash ^ 2) as u32
}

/// Slots of a standard ribbon for `n` keys, at least n + 63: for 19 of 20 seeds there is a solution. The
/// slope, 0.0083 per doubling, is that of RocksDB for a width of 64.
pub fn standard_slots(n: u64) -> u64 {
    let per_key = 1.072 + 0.0083 * libm::log2(n as f64 / 16_384.0);
    at_least(n, per_key)
}

/// Slots of a homogeneous ribbon for `n` keys, ⌈1.12·n⌉ + 63.
pub fn homogeneous_slots(n: u64) -> u64 {
    let more = n.saturating_mul(12).div_ceil(100);
    n.saturating_add(more).saturating_add(WIDTH - 1)
}

/// Slots for the few keys that no bumping layer took.
fn last_slots(n: u64) -> u64 {
    at_least(n, 1.15)
}

fn at_least(n: u64, per_key: f64) -> u64 {
    ((n as f64 * per_key).ceil() as u64).max(n.saturating_add(WIDTH - 1))
}

/// Buckets of a bumping layer for `n` keys, `overload` keys to a start.
fn buckets(n: u64, overload: f64) -> u64 {
    (n as f64 / (overload * BUCKET as f64)).ceil() as u64
}

/// Whole blocks of 64 slots, and where equations may start in them.
fn blocks(slots: u64) -> u64 {
    slots.div_ceil(64)
}

/// How many of `n` keys a layer bumps, on average: those for which there is no slot, and as many as slots
/// stay free, 50 at the end and a share of 0.0113·e^{−50(λ−1)} elsewhere, λ keys to a start.
///
/// The share is fitted to layers of 3,000 to 200,000 keys and λ from 0.995 to 1.1, within 0.1 % of n.
pub fn bumped_keys(n: f64, buckets: f64) -> f64 {
    let starts = buckets * BUCKET as f64;
    let share = 0.0113 * libm::exp(-50.0 * (n / starts - 1.0));
    (n - starts - (WIDTH - 1) as f64 + 50.0 + share * n).max(0.0)
}

/// Standard deviation of the keys that a layer of n keys bumps, over √n, at most: the same measurements.
const BUMPED_SD: f64 = 0.36;

/// Mean and standard deviation of the slots of a bumped ribbon, and its number of thresholds.
fn bumped_slots(n: u64, overload: f64) -> (f64, f64, f64) {
    let (mut slots, mut thresholds, mut left) = (0.0, 0.0, n as f64);
    for _ in 0..MAX_BUMPING {
        if left <= FEW as f64 {
            break;
        }
        let buckets = buckets(left as u64, overload) as f64;
        slots += buckets * BUCKET as f64 + 64.0;
        thresholds += buckets;
        left = bumped_keys(left, buckets);
    }
    let left = left.round() as u64;
    slots += if left == 0 { 0.0 } else { 64.0 * blocks(last_slots(left)) as f64 };
    // A bumped key more is about a slot more; blocks and buckets are whole.
    let sd = if n <= FEW { 0.0 } else { (BUMPED_SD * BUMPED_SD * n as f64 + 10_000.0).sqrt() };
    (slots, sd, thresholds)
}

impl Layer {
    /// A layer of so many starts, solved; what has no row is what `free` says.
    fn solved(
        seed: u64,
        starts: u64,
        thresholds: Packed,
        band: &Band,
        r: u32,
        free: impl FnMut() -> u32,
    ) -> Self {
        let words = Words::from(&band.solve(r, free)[..]);
        let slots = Bits::from_words(64 * words.len() as u64, words);
        Self { seed, starts, thresholds, slots }
    }

    /// Whether the keys of this layer do not include one that starts there.
    #[inline]
    fn bumps(&self, start: u64) -> bool {
        !self.thresholds.is_empty()
            && start % BUCKET < THRESHOLDS[self.thresholds.get(start / BUCKET) as usize % 4]
    }

    /// Whether the slots add up to `result`, in each of their bits.
    #[inline]
    fn agrees(&self, start: u64, coefficients: u64, mut result: u32, r: usize) -> bool {
        let (at, shift) = ((start / 64) as usize * r, start % 64);
        let words = self.slots.words();
        let Some(here) = words.get(at..at + r) else { return false };
        // Behind the last block nothing is asked for.
        let next = words.get(at + r..at + 2 * r).unwrap_or(here);
        let (low, high) = (coefficients << shift, coefficients >> 1 >> (63 - shift));
        // Four bits at a time, without a branch: of strangers, 15 in 16 go after the first four.
        for (here, next) in here.chunks(4).zip(next.chunks(4)) {
            let mut wrong = 0;
            for (here, next) in here.iter().zip(next) {
                wrong |= (here & low ^ next & high).count_ones() ^ result;
                result >>= 1;
            }
            if wrong & 1 != 0 {
                return false;
            }
        }
        true
    }

    fn check(&self) -> Result<()> {
        let buckets = self.thresholds.len();
        let good = (1..=MAX_CELLS).contains(&self.starts)
            && (buckets == 0 || buckets.checked_mul(BUCKET) == Some(self.starts))
            && self.thresholds.width() == THRESHOLD_BITS;
        if good { Ok(()) } else { Err(Error::corrupt(0, "corrupt filter: starts of a layer")) }
    }
}

/// What of the keys goes into a layer: the starts, the band, the thresholds, and who is bumped.
struct Bumping {
    starts: u64,
    band: Band,
    thresholds: Packed,
    bumped: Vec<u64>,
}

/// Fills a bumping layer with the keys of these hashes, in ascending order.
///
/// Bucket by bucket, the highest offset first: the first equation in conflict, at an offset o, rules out
/// all thresholds up to o. The next one is taken, and keys below it are taken back, as if it had been
/// tried from the start: rows do not depend on those that came later.
fn bump(hashes: &[u64], r: u32, overload: f64) -> Bumping {
    let buckets = buckets(hashes.len() as u64, overload);
    let starts = buckets * BUCKET;
    let mut band = Band::new((starts + WIDTH) as usize);
    let mut thresholds = Packed::new(buckets, THRESHOLD_BITS);
    let mut bumped = Vec::new();
    let start_of = |hash: u64| multiply_shift(hash, starts);
    let mut stored: Vec<(u64, usize)> = Vec::new();
    let groups = hashes.chunk_by(|a, b| start_of(*a) / BUCKET == start_of(*b) / BUCKET);
    for group in groups {
        stored.clear();
        let mut index = 0;
        for &hash in group.iter().rev() {
            let start = start_of(hash);
            let offset = start % BUCKET;
            match band.insert(start as usize, coefficients(hash), low_bits(fingerprint(hash), r)) {
                Row::Stored(at) => stored.push((offset, at)),
                Row::Redundant => {}
                Row::Conflict => {
                    index = THRESHOLDS.partition_point(|threshold| *threshold <= offset);
                    break;
                }
            }
        }
        let threshold = THRESHOLDS[index];
        for (_, at) in stored.iter().filter(|(offset, _)| *offset < threshold) {
            band.remove(*at);
        }
        bumped.extend(group.iter().filter(|hash| start_of(**hash) % BUCKET < threshold));
        thresholds.set(start_of(group[0]) / BUCKET, index as u64);
    }
    Bumping { starts, band, thresholds, bumped }
}

/// The lowest `r` bits, 1 to 32.
fn low_bits(word: u32, r: u32) -> u32 {
    word & (u32::MAX >> (32 - r))
}

/// No thresholds: all keys are in the layer.
fn unbumped() -> Packed {
    Packed::new(0, THRESHOLD_BITS)
}

/// The band of these keys in at least `slots` slots, and the number of starts, unless two are in conflict.
fn band_of(hashes: &[u64], slots: u64, result: impl Fn(u64) -> u32) -> Option<(Band, u64)> {
    let slots = 64 * blocks(slots);
    let starts = slots - (WIDTH - 1);
    let mut band = Band::new(slots as usize);
    for &hash in hashes {
        let start = multiply_shift(hash, starts) as usize;
        if band.insert(start, coefficients(hash), result(hash)) == Row::Conflict {
            return None;
        }
    }
    Some((band, starts))
}

/// The share of random equations that follow from those of the band, among 40·2^r, at most a million
/// (catalogue B4 (c)).
fn spanned_share(band: &Band, starts: u64, r: u32, coins: &mut Generator) -> f64 {
    let tries = (40u64 << r).min(1_000_000);
    let mut random = || band.spans(coins.below(starts) as usize, coins.next_u64() | 1);
    (0..tries).filter(|_| random()).count() as f64 / tries as f64
}

impl Ribbon {
    /// The bumped ribbon of these keys, with fingerprints of `bits` bits, 1 to 32. A key that comes twice is
    /// there once.
    ///
    /// ```
    /// use everbloom::compact::Ribbon;
    /// use everbloom::hash::{HashId, Hasher};
    ///
    /// let words = ["apple", "pear", "apple"];
    /// let filter = Ribbon::from_keys(words, 20, Hasher::with_id(HashId::Fold64, 0)?)?;
    /// assert!(filter.contains("pear"));
    /// assert!(!filter.contains("plum"));
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn from_keys<K: Key>(
        keys: impl IntoIterator<Item = K>,
        bits: u32,
        hasher: Hasher,
    ) -> Result<Self> {
        let hasher = hasher.or(Self::HASH);
        let digest = |key| hasher.digest_usually(Self::HASH, &key).h1;
        let digests = keys.into_iter().map(digest).collect();
        let plan = Sizing::Bumped { overload: OVERLOAD };
        let shape = Shape { plan, bits: Some(bits), room: MAX_CELLS, rate: None };
        Self::assemble(&shape, Head::new(hasher, BUMPED), digests)
    }

    fn assemble(shape: &Shape, head: Head, mut keys: Vec<u64>) -> Result<Self> {
        let mut seeds = Generator::new(0);
        let mut layers = Vec::new();
        // Equal digests have equal equations. Two keys of one digest share one, and both are found.
        let mut seed = seeds.next_u64();
        let mut hashes = sorted_hashes(&keys, |digest| reseeded(digest, seed));
        let items = hashes.len() as u64;
        let r = shape.settle(items)?.bits;
        if let Sizing::Bumped { overload } = shape.plan {
            while layers.len() < MAX_BUMPING && hashes.len() as u64 > FEW {
                let Bumping { starts, band, thresholds, bumped } = bump(&hashes, r, overload);
                layers.push(Layer::solved(seed, starts, thresholds, &band, r, || 0));
                seed = seeds.next_u64();
                hashes = sorted_hashes(&bumped, |hash| reseeded(hash, seed));
                keys = bumped;
            }
        }
        let rate = shape.rate.unwrap_or_else(|| libm::exp2(-f64::from(r)));
        let head = Head { items, fpr: Some(rate), ..head };
        let mut attempts = 1;
        let mut spanned = 0.0;
        while !hashes.is_empty() {
            let slots = shape.plan.slots(hashes.len() as u64);
            if matches!(shape.plan, Sizing::Homogeneous { .. }) {
                let solved = band_of(&hashes, slots, |_| 0);
                if let Some((band, starts)) = solved {
                    spanned = spanned_share(&band, starts, r, &mut seeds);
                    if spanned <= libm::exp2(-f64::from(r)) / 4.0 {
                        // Zeros everywhere would be a solution too, for members and all others alike.
                        let mut coins = Generator::new(seed);
                        let free = || coins.next_u64() as u32;
                        layers.push(Layer::solved(seed, starts, unbumped(), &band, r, free));
                        break;
                    }
                }
            } else {
                let result = |hash| low_bits(fingerprint(hash), r);
                if let Some((band, starts)) = band_of(&hashes, slots, result) {
                    layers.push(Layer::solved(seed, starts, unbumped(), &band, r, || 0));
                    break;
                }
            }
            if attempts == ATTEMPTS {
                return Err(Error::new(
                    Kind::BadRecord,
                    format!(
                        "no solution for {} keys in {slots} slots under any of {ATTEMPTS} seeds: \
                         give more --set slots, or take the form bumped",
                        hashes.len()
                    ),
                ));
            }
            attempts += 1;
            seed = seeds.next_u64();
            hashes = sorted_hashes(&keys, |key| reseeded(key, seed));
        }
        Ok(Self { head, bits: r, attempts, spanned, layers })
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.has(self.head.hasher.digest_usually(HashId::Fold64, key).h1)
    }

    /// Whether each of many keys may be a member, in their order: faster than one by one where the filter
    /// is larger than the cache.
    pub fn contains_many<I>(&self, keys: I) -> Vec<bool>
    where
        I: IntoIterator<Item: Key, IntoIter: ExactSizeIterator>,
    {
        many::contains_many(self, keys.into_iter())
    }

    #[inline]
    fn has(&self, mut hash: u64) -> bool {
        for layer in &self.layers {
            hash = reseeded(hash, layer.seed);
            let start = multiply_shift(hash, layer.starts);
            if !layer.bumps(start) {
                let result = if self.homogeneous() { 0 } else { fingerprint(hash) };
                return layer.agrees(start, coefficients(hash), result, self.bits as usize);
            }
        }
        false
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

/// How many slots there are.
#[derive(Clone, Copy, Debug)]
enum Sizing {
    Bumped { overload: f64 },
    Standard { per_key: Option<f64> },
    Homogeneous { per_key: Option<f64> },
}

impl Sizing {
    /// Slots of the layer that bumps nobody, for `n` keys.
    fn slots(&self, n: u64) -> u64 {
        let by_hand = |per_key: f64| (per_key * n as f64).ceil().max(WIDTH as f64) as u64;
        match *self {
            Sizing::Bumped { .. } => last_slots(n),
            Sizing::Standard { per_key } => per_key.map_or_else(|| standard_slots(n), by_hand),
            Sizing::Homogeneous { per_key } => {
                per_key.map_or_else(|| homogeneous_slots(n), by_hand)
            }
        }
    }
}

/// What the goal says of the slots; their number comes with the records.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    plan: Sizing,
    /// Fingerprint bits by hand or from the rate; else as many as there is room for.
    bits: Option<u32>,
    room: u64,
    rate: Option<f64>,
}

/// What a shape comes to for a number of keys.
struct Settled {
    bits: u32,
    /// Bits of slots and thresholds, on average.
    cells: f64,
}

impl Shape {
    /// Slots on average, their standard deviation, and thresholds for `n` keys.
    fn sizes(&self, n: u64) -> (f64, f64, f64) {
        match self.plan {
            _ if n == 0 => (0.0, 0.0, 0.0),
            Sizing::Bumped { overload } => bumped_slots(n, overload),
            plan => (64.0 * blocks(plan.slots(n)) as f64, 0.0, 0.0),
        }
    }

    fn settle(&self, n: u64) -> Result<Settled> {
        let (slots, sd, thresholds) = self.sizes(n);
        let thresholds = thresholds * f64::from(THRESHOLD_BITS);
        // Six sigmas, since a set that needs more bits than its room is of no use.
        let most = slots + 6.0 * sd;
        let bits = self.bits.unwrap_or_else(|| {
            let fit = (self.room as f64 - thresholds) / most.max(1.0);
            fit.clamp(1.0, f64::from(MAX_BITS)) as u32
        });
        if !(1..=MAX_BITS).contains(&bits) {
            return Err(Error::parameter(format!(
                "fingerprints of {bits} bits: they have 1 to {MAX_BITS}, for rates down to {:e}",
                libm::exp2(-f64::from(MAX_BITS))
            )));
        }
        let needed = most * f64::from(bits) + thresholds;
        if needed > self.room as f64 {
            return Err(Error::parameter(format!(
                "{n} keys with fingerprints of {bits} bits need {:.0} bytes, more than {}: \
                 give more --memory or a higher rate",
                (needed / 8.0).ceil(),
                self.room / 8
            )));
        }
        Ok(Settled { bits, cells: slots * f64::from(bits) + thresholds })
    }
}

impl Plan for Ribbon {
    type Shape = Shape;

    const HASH: HashId = HashId::Fold64;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let by_hand = request.integer("bits").map(|r| r as u32);
        let (rate, room) = (request.goal_fpr(), request.goal_bits());
        // Memory without a rate buys the best rate; nothing at all, the default one.
        let rate = rate.or((room.is_none() && by_hand.is_none()).then(|| request.fpr()));
        let per_key = request.real("slots");
        let plan = match request.form() {
            STANDARD => Sizing::Standard { per_key },
            HOMOGENEOUS => Sizing::Homogeneous { per_key },
            _ => Sizing::Bumped { overload: request.real("overload").unwrap_or(OVERLOAD) },
        };
        // A homogeneous ribbon may let a quarter more pass, which is within the rate all the same.
        let margin = if request.form() == HOMOGENEOUS { 1.25 } else { 1.0 };
        let shape = Shape {
            plan,
            bits: by_hand.or(rate.map(|p| fingerprint_bits_for(p / margin))),
            room: room.unwrap_or(MAX_CELLS).min(MAX_CELLS),
            rate,
        };
        // What does not fit the keys that are announced does not wait for them to be refused.
        shape.settle(request.goal_items().unwrap_or(0))?;
        Ok(shape)
    }

    /// The rate is 2^−r; for a homogeneous ribbon at most e + (1 − e)·2^−r with e = 2^−r/4, beyond which
    /// the build takes another seed.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Settled { bits, cells } = shape.settle(load.distinct).ok()?;
        let rate = libm::exp2(-f64::from(bits));
        let spanned =
            if matches!(shape.plan, Sizing::Homogeneous { .. }) { rate / 4.0 } else { 0.0 };
        let members = if load.distinct == 0 { 0.0 } else { 1.0 };
        let fpr = members * (spanned + (1.0 - spanned) * rate);
        Some(Expect::one_sided(fpr, cells.round() as u64, None))
    }
}

impl Create for Ribbon {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let mut words = Vec::new();
        inputs.records.digests(&head.hasher, &mut |digests| {
            words.extend(digests.iter().map(|digest| digest.h1));
        })?;
        Self::assemble(shape, head, words)
    }
}

face!(Ribbon: Bulk);

impl Filter for Ribbon {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    /// Slots hold sums, which are in use whatever they are.
    fn fill(&self) -> Option<f64> {
        None
    }

    fn now(&self) -> Rates {
        let members = if self.head.items == 0 { 0.0 } else { 1.0 };
        let chance = libm::exp2(-f64::from(self.bits));
        Rates::one_sided(members * (self.spanned + (1.0 - self.spanned) * chance))
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
        bumped_slots(self.head.items, OVERLOAD).1 * f64::from(self.bits)
    }
}

impl Bulk for Ribbon {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        let first = self.layers.first().filter(|layer| layer.slots.words().len() >= FETCH_FROM);
        for (digests, found) in digests.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            // Hardly anybody goes beyond the first layer.
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
                *found = self.has(digest.h1);
            }
        }
    }
}

/// Keys whose slots are under way at once.
const AHEAD: usize = 32;

/// Arrays of fewer words, 1 MiB, live in the first two caches, where asking ahead costs more than it saves.
const FETCH_FROM: usize = 1 << 17;

/// 19 of 20 seeds work.
const ATTEMPTS: u64 = 100;

const BUMPED: &str = "bumped";
const STANDARD: &str = "standard";
const HOMOGENEOUS: &str = "homogeneous";
const MAX_BITS: u32 = 32;
/// Keys to a start of a bumping layer.
const OVERLOAD: f64 = 1.05;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 56,
        slug: "ribbon",
        entry: "B4",
        name: "Ribbon filter",
        paper: "P. C. Dillinger, S. Walzer, Ribbon filter: practically smaller than Bloom and xor, 2021; \
                P. C. Dillinger, L. Hübschle-Schneider, P. Sanders, S. Walzer, Fast succinct retrieval and \
                approximate membership using ribbon, SEA 2022; E. Porat, An optimal Bloom filter replacement \
                based on matrix solving, CSR 2009",
        family: "compact",
        needs: &["membership", "static", "compact", "accurate"],
        meaning: "items are the different keys read, whatever was planned; the rate is that of false \
                  positives, rounded down to a power of two",
        forms: &[
            Form { name: BUMPED, abilities: &[], false_negatives: FalseNegatives::Never },
            Form { name: STANDARD, abilities: &[], false_negatives: FalseNegatives::Never },
            Form { name: HOMOGENEOUS, abilities: &[], false_negatives: FalseNegatives::Never },
        ],
        params: &[
            Param {
                name: "bits",
                range: Range::Integer(1, MAX_BITS as u64),
                default: Preset::Planned,
                help: "bits per fingerprint, r for a rate of 2^-r",
            },
            Param {
                name: "overload",
                range: Range::Real(1.0, 1.1),
                default: Preset::Real(OVERLOAD),
                help: "keys to a slot of a layer, in the form bumped",
            },
            Param {
                name: "slots",
                range: Range::Real(1.0, 4.0),
                default: Preset::Planned,
                help: "slots per key, in the forms standard and homogeneous",
            },
        ],
        build: Build::Collected,
        ..Facts::FILTER
    },
    ops: Ops::of::<Ribbon>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    fn filter(n: u64, bits: u32) -> Ribbon {
        Ribbon::from_keys(0..n, bits, Hasher::default()).unwrap()
    }

    #[test]
    fn many_at_once_equal_one_by_one() {
        for (n, bits) in [(0, 8), (1, 1), (1000, 8), (1_200_000, 8), (400_000, 32)] {
            let filter = filter(n, bits);
            let keys: Vec<u64> = (0..2 * n + 100).step_by(7).collect();
            let one_by_one: Vec<bool> = keys.iter().map(|key| filter.contains(key)).collect();
            assert_eq!(filter.contains_many(&keys), one_by_one, "{n} {bits}");
        }
    }

    #[test]
    fn files_whose_parts_differ_are_refused() {
        let good = filter(5000, 9);
        assert_eq!(Opener::new().decode_as::<Ribbon>(&to_bytes(&good)).unwrap(), good);
        let refused = |liar: Ribbon| Opener::new().decode(&to_bytes(&liar)).is_err();
        let with = |change: fn(&mut Layer)| {
            let mut liar = good.clone();
            change(&mut liar.layers[0]);
            liar
        };
        assert!(refused(with(|layer| layer.starts += 1)));
        assert!(refused(with(|layer| layer.starts = 0)));
        assert!(refused(with(|layer| layer.slots = Bits::new(layer.slots.len() - 64))));
        assert!(refused(with(|layer| layer.thresholds = Packed::new(1, 2))));
        assert!(refused(with(|layer| layer.thresholds = Packed::new(0, 3))));
        assert!(refused(Ribbon { bits: 8, ..good.clone() }));
        assert!(refused(Ribbon { bits: 0, ..good.clone() }));
        assert!(refused(Ribbon { spanned: f64::NAN, ..good.clone() }));
        assert!(refused(Ribbon { attempts: 0, ..good.clone() }));
        assert!(refused(Ribbon { layers: Vec::new(), ..good.clone() }));
        let head = Head { form: STANDARD, ..good.head.clone() };
        assert!(refused(Ribbon { head, ..good }));
    }
}
