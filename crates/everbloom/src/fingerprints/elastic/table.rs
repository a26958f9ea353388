//! The buckets: linear hashing over fingerprints that give their lowest bit to the address when their bucket is
//! split, and take it back when two are joined.

use crate::cells::Buckets;
use crate::error::{Error, Kind, Result};
use crate::filter::{Answer, Counted, Fact, Part, Rates, Touched, fact, real};
use crate::hash::Digest;
use crate::state::{Decoder, Encoder, Inline, State};

/// Salts the digest for address and fingerprint.
const HASH: u64 = 0x53;
/// Buckets that are stored together: what is moved when one of them outgrows its place.
const CHUNK: u64 = 4096;
pub(super) const MAX_BUCKETS: u64 = 1 << 48;
pub(super) const MAX_LOAD: u64 = 64;
pub(super) const MAX_LENGTH: u32 = 56;
/// Bits of a slot.
const MAX_SLOT: u32 = 64;

/// What never changes: buckets at first, keys per bucket, initial bits of a fingerprint, and whether later ones
/// are longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    pub(super) first: u64,
    pub(super) load: u64,
    pub(super) length: u32,
    pub(super) widening: bool,
}

impl Shape {
    pub(super) fn is_possible(&self) -> bool {
        (1..=MAX_BUCKETS).contains(&self.first)
            && (1..=MAX_LOAD).contains(&self.load)
            && (1..=MAX_LENGTH).contains(&self.length)
            && self.first.ilog2() + 1 + self.length <= 64
    }

    /// The length of a new fingerprint with `buckets` buckets: F, and ⌈2·log₂(g + 1)⌉ more after g doublings.
    pub(super) fn fresh(&self, buckets: u64) -> u32 {
        let doublings = (buckets / self.first).max(1).ilog2();
        let more = u64::from(doublings + 1).pow(2).next_power_of_two().ilog2();
        let length = if self.widening { self.length + more } else { self.length };
        // Address and fingerprint are bits of one word.
        length.min(64 - buckets.ilog2() - 1)
    }

    /// Buckets that `items` keys need.
    pub(super) fn buckets_for(&self, items: u64) -> u64 {
        items.div_ceil(self.load).max(self.first)
    }
}

/// Buckets of fingerprints of different lengths.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) shape: Shape,
    /// Chunks of buckets, of slots of the longest length and one bit more.
    chunks: Vec<Buckets>,
}

impl Inline for Table {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        let Shape { first, load, length, widening } = self.shape;
        out.u64("first", first);
        out.u64("load", load);
        out.u64("length", length.into());
        out.u64("widening", widening.into());
        self.chunks.save("chunks", out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let (first, load) = (src.u64("first")?, src.u64("load")?);
        let length = u32::load("length", src)?;
        let widening = src.u64("widening")? != 0;
        let shape = Shape { first, load, length, widening };
        let table = Self { shape, chunks: Vec::load("chunks", src)? };
        table.check()?;
        Ok(table)
    }
}

/// A key's bucket, and the bits of its word above the address.
#[derive(Clone, Copy, Debug)]
struct Place {
    bucket: u64,
    bits: u64,
}

/// The length of a stored fingerprint: a one marks where its bits end.
#[inline]
fn length(slot: u64) -> u32 {
    slot.max(1).ilog2()
}

/// Whether the lowest bits of a word are the fingerprint in a slot.
#[inline]
fn matches(slot: u64, bits: u64) -> bool {
    let mark = 1 << length(slot);
    bits & (mark - 1) == slot ^ mark
}

impl Table {
    pub(super) fn new(shape: Shape) -> Result<Self> {
        let mut table = Self { shape, chunks: Vec::new() };
        let width = shape.length + 1;
        while table.buckets() < shape.first {
            let len = (shape.first - table.buckets()).min(CHUNK);
            table.chunks.push(Buckets::with_room(len, CHUNK, width)?);
        }
        Ok(table)
    }

    /// N.
    pub(super) fn buckets(&self) -> u64 {
        let full = self.chunks.len().saturating_sub(1) as u64 * CHUNK;
        full + self.chunks.last().map_or(0, Buckets::len)
    }

    /// Fingerprints, copies of those without a bit included.
    pub(super) fn entries(&self) -> u64 {
        self.chunks.iter().map(Buckets::values).sum()
    }

    /// The longest length that a slot holds.
    fn longest(&self) -> u32 {
        self.chunks.first().map_or(self.shape.length, |chunk| chunk.width().saturating_sub(1))
    }

    /// The slots of a bucket.
    pub(super) fn bucket(&self, bucket: u64) -> impl Iterator<Item = u64> + '_ {
        self.chunks[(bucket / CHUNK) as usize].bucket(bucket % CHUNK)
    }

    /// Bits of the address of a bucket, if there are `buckets`: one more where it was split in this round.
    fn address_bits(buckets: u64, bucket: u64) -> u32 {
        let level = buckets.ilog2();
        let (half, split) = (1 << level, buckets - (1 << level));
        level + u32::from(bucket < split || bucket >= half)
    }

    #[inline]
    fn place(&self, digest: Digest) -> Place {
        let (word, buckets) = (digest.word(HASH), self.buckets());
        let level = buckets.ilog2();
        let low = word & ((1 << level) - 1);
        let bits = Self::address_bits(buckets, low);
        let bucket = word & ((1 << bits) - 1);
        Place { bucket, bits: word.checked_shr(bits).unwrap_or(0) }
    }

    #[inline]
    pub(super) fn contains(&self, digest: Digest) -> bool {
        let Place { bucket, bits } = self.place(digest);
        self.bucket(bucket).any(|slot| matches(slot, bits))
    }

    /// Fingerprints that match: too many if another key's do.
    pub(super) fn count(&self, digest: Digest) -> Counted {
        let Place { bucket, bits } = self.place(digest);
        Counted::about(self.bucket(bucket).filter(|slot| matches(*slot, bits)).count() as u64)
    }

    /// Appends a fingerprint of the length that is due; true if no other matched.
    pub(super) fn insert(&mut self, digest: Digest) -> Result<bool> {
        let fresh = self.shape.fresh(self.buckets());
        if fresh > self.longest() {
            self.widen(fresh)?;
        }
        let Place { bucket, bits } = self.place(digest);
        let mark = 1 << fresh;
        let (mut load, mut new) = (0, true);
        for slot in self.bucket(bucket) {
            (load, new) = (load + 1, new && !matches(slot, bits));
        }
        let chunk = &mut self.chunks[(bucket / CHUNK) as usize];
        chunk.insert(bucket % CHUNK, load, bits & (mark - 1) | mark);
        Ok(new)
    }

    /// Takes out the longest fingerprint that matches: a shorter one may be all that is left of another key, and
    /// matches both.
    pub(super) fn remove(&mut self, digest: Digest) -> Result<()> {
        let Place { bucket, bits } = self.place(digest);
        let matching = (0..).zip(self.bucket(bucket)).filter(|(_, slot)| matches(*slot, bits));
        let longest = matching.max_by_key(|(_, slot)| length(*slot));
        let (at, _) = longest.ok_or_else(|| {
            let message = "the key is not in the filter: its bucket does not hold its fingerprint";
            Error::new(Kind::NotDeletable, message)
        })?;
        self.chunks[(bucket / CHUNK) as usize].remove(bucket % CHUNK, at);
        Ok(())
    }

    fn replace(&mut self, bucket: u64, slots: &[u64]) {
        self.chunks[(bucket / CHUNK) as usize].replace(bucket % CHUNK, slots);
    }

    /// One more bucket, with what belongs there of the one that is next in turn.
    pub(super) fn split(&mut self) -> Result<()> {
        let buckets = self.buckets();
        let from = buckets - (1 << buckets.ilog2());
        let (mut stay, mut go) = (Vec::new(), Vec::new());
        for slot in self.bucket(from) {
            match slot {
                // A fingerprint without a bit may be of either.
                0 | 1 => {
                    stay.push(slot);
                    go.push(slot);
                }
                _ if slot & 1 == 0 => stay.push(slot >> 1),
                _ => go.push(slot >> 1),
            }
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            let width = self.longest() + 1;
            self.chunks.push(Buckets::with_room(0, CHUNK, width)?);
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push();
        }
        self.replace(from, &stay);
        self.replace(buckets, &go);
        Ok(())
    }

    /// One bucket fewer: the last joins the one that it was split from.
    pub(super) fn join(&mut self) {
        let last = self.buckets() - 1;
        let Some(level) = last.checked_ilog2() else { return };
        let to = last - (1 << level);
        // The newest fingerprints regain a bit, too. Without the room for it they lose their highest one, which only
        // lets more non-members pass.
        let longest = (self.shape.fresh(self.buckets()) + 1).min(MAX_SLOT - 1);
        if longest > self.longest() {
            self.widen(longest).ok();
        }
        let most = (1 << self.longest()) - 1;
        let regained = |slot: u64, bit: u64| {
            let (mark, bits) = (1 << length(slot), slot << 1 | bit);
            // The longest ones keep their length and lose their highest bit.
            if mark > most { bits & most | mark } else { bits }
        };
        let joined: Vec<u64> = self
            .bucket(to)
            .map(|slot| regained(slot, 0))
            .chain(self.bucket(last).map(|slot| regained(slot, 1)))
            .collect();
        self.replace(last, &[]);
        self.replace(to, &joined);
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.pop();
        }
        if self.chunks.len() > 1 {
            self.chunks.pop_if(|chunk| chunk.is_empty());
        }
    }

    /// Room for longer fingerprints.
    fn widen(&mut self, longest: u32) -> Result<()> {
        let wider = |chunk: &Buckets| {
            let mut wider = Buckets::with_room(chunk.len(), CHUNK, longest + 1)?;
            for bucket in 0..chunk.len() {
                (0..)
                    .zip(chunk.bucket(bucket))
                    .for_each(|(at, slot)| wider.insert(bucket, at, slot));
            }
            Ok(wider)
        };
        self.chunks = self.chunks.iter().map(wider).collect::<Result<_>>()?;
        Ok(())
    }

    /// Fingerprints without a bit, which match every key of their bucket.
    pub(super) fn voids(&self) -> u64 {
        (0..self.buckets()).map(|b| self.bucket(b).filter(|slot| *slot == 1).count() as u64).sum()
    }

    /// Bits of a fingerprint on average.
    pub(super) fn mean_length(&self) -> f64 {
        let bucket = |b| self.bucket(b).map(|slot| u64::from(length(slot))).sum::<u64>();
        let sum: u64 = (0..self.buckets()).map(bucket).sum();
        sum as f64 / self.entries().max(1) as f64
    }

    /// The share of a bucket's keys that match one of its fingerprints. Of two that match one key, the shorter
    /// covers the longer, so that shares of those which no other covers add up.
    fn share(&self, bucket: u64) -> f64 {
        let mut slots: Vec<u64> = self.bucket(bucket).collect();
        slots.sort_unstable();
        slots.dedup();
        let mut covering: Vec<u64> = Vec::new();
        for slot in slots {
            let bits = slot ^ 1 << length(slot);
            if !covering.iter().any(|shorter| matches(*shorter, bits)) {
                covering.push(slot);
            }
        }
        covering.iter().map(|slot| libm::exp2(-f64::from(length(*slot)))).sum()
    }

    /// Chunks are full but for the last, and slots hold fingerprints that a word has bits for.
    fn check(&self) -> Result<()> {
        let width = self.longest() + 1;
        let wide = (2..=MAX_SLOT).contains(&width);
        let chunk = |(i, chunk): (usize, &Buckets)| {
            let full = chunk.len() == CHUNK || i + 1 == self.chunks.len() && !chunk.is_empty();
            full && chunk.room() == CHUNK && chunk.width() == width
        };
        let sound = self.shape.is_possible()
            && wide
            && !self.chunks.is_empty()
            && self.chunks.iter().enumerate().all(chunk)
            && self.buckets() <= 2 * MAX_BUCKETS;
        let held = |bucket: u64| {
            let most = 64 - Self::address_bits(self.buckets(), bucket);
            self.bucket(bucket).all(|slot| slot > 0 && length(slot) <= most)
        };
        if sound && (0..self.buckets()).all(held) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: buckets of fingerprints that cannot be"))
    }
}

impl Part for Table {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::counted(self.count(digest))
    }

    /// Fingerprints for each that there is room for.
    fn fill(&self) -> f64 {
        self.entries() as f64 / (self.buckets() as f64 * self.shape.load as f64)
    }

    fn rates(&self) -> Rates {
        let buckets = self.buckets();
        let weight = |b: u64| libm::exp2(-f64::from(Self::address_bits(buckets, b)));
        Rates::one_sided((0..buckets).map(|b| weight(b) * self.share(b)).sum())
    }

    fn describe(&self) -> Vec<Fact> {
        let voids = self.voids();
        vec![
            fact("buckets", self.buckets()),
            fact("first buckets", self.shape.first),
            fact("load", self.shape.load),
            fact("fresh length", self.shape.fresh(self.buckets())),
            real("mean length", self.mean_length()),
            fact("voids", voids),
            real("voids share", voids as f64 / self.entries().max(1) as f64),
        ]
    }

    /// The fingerprints of the key's bucket, each with a one above its bits.
    fn trace(&self, digest: Digest) -> Vec<Touched> {
        let Place { bucket, bits } = self.place(digest);
        let slot = |value| Touched { index: bucket, value, agrees: matches(value, bits) };
        self.bucket(bucket).map(slot).collect()
    }
}
