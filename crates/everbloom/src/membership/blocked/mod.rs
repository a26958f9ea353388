//! The blocked Bloom filter (Putze, Sanders, Singler 2007; catalogue I6; S0 §III-X).
//!
//! Many small Bloom filters, each as large as a cache line. The first hash picks the block, and all k
//! bits of the key lie in it, so a query costs one cache miss whatever k is:
//!
//! ```text
//!              block 0            block 1            block 2            block 3
//!          ┌────────────────┬────────────────┬────────────────┬────────────────┐
//!          │                │  1   1  1    1 │                │                │   512 bits each
//!          └────────────────┴────────────────┴────────────────┴────────────────┘
//!   x ── first hash ─────────▶ 1     ↑ k bits from the second
//! ```
//!
//! Blocks do not get equally many keys, and the crowded ones pay more than the empty ones save:
//! f = Σ_i Poisson(B/c; i)·f_in(B, i, k) at c bits per key, 18 % above the standard filter at c = 10 and
//! twice it at c = 16. f_in is the exact rate of a small filter (Bose et al.): the classic one is 0.6
//! to 5 % too low here. The best k is smaller than (m/n)·ln 2, and planning knows.
//!
//! Three forms. `lanes`, the default, has eight bits, or sixteen for low rates, one or two in each of a
//! line's eight words: vector instructions test or set them at once, and an even spread makes up for
//! most of what the fixed k costs (10.1 bits per key at a rate of 1 %, 15.7 at 0.1 %). `mixed` draws any
//! number of bits anywhere in the block. `patterns` draws one of P ready-made masks, so
//! that an insertion is one OR and a query one comparison of whole words. Two keys of one block then
//! have the same mask with probability 1/P, and that puts a floor of about B/(cP) under the rate. The
//! 15,360 lines that 960 KiB hold cost 8 % more bits at a rate of 1 %, and twice as many at 0.1 %; blocks
//! of a word have room for masks enough, but crowd more.
//!
//! **Use it** when the filter is larger than the cache and speed matters. **Don't** for rates below 10⁻⁵, where
//! crowded blocks cost more bits than the cache misses are worth.

mod atomic;
mod blocks;
mod patterns;
mod shape;

pub use atomic::AtomicBlocked;
use blocks::{Blocks, has_otherwise, low, set_otherwise};
use patterns::TABLE_BITS;
pub use shape::Shape;
use shape::{LANES, MIXED, MOST_K, PATTERNS};

use crate::cells::Bits;
use crate::parts::probed_bits::ProbedBits;
use crate::parts::{batched, methods, owns, recount, sets};
use crate::plan::lanes::LINE;
use crate::probe::{Blocked, Inside, Scheme, lanes};
use crate::variant::many;
use crate::variant::prelude::*;

/// A set in blocks of bits, all probes of a key in one of them.
///
/// ```
/// let mut seen = everbloom::BlockedBloom::with_rate(1_000_000, 0.01)?;
/// seen.insert("apple");
/// seen.insert_many(&["plum", "quince"]);
/// assert!(seen.contains("apple"));
/// assert_eq!(seen.contains_many(&["plum", "pear", "apple"]), [true, false, true]);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BlockedBloom {
    head: Head,
    blocks: ProbedBits<Blocks>,
}

state!(BlockedBloom { head, ..blocks });

impl BlockedBloom {
    /// A filter of `lines` lines of 512 bits, each key having `rounds` bits (1 or 2) in each of a line's
    /// eight words.
    pub fn in_lanes(lines: u64, rounds: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape::new(LANES, lines, LINE, rounds.saturating_mul(8), None)?;
        Self::empty(&shape, Head::new(hasher, LANES))
    }

    /// A filter of `blocks` blocks of `block` bits and `k` probes per key, anywhere in the block; with a number of
    /// `patterns` its bits come from a table of that many masks.
    pub fn with_shape(
        blocks: u64,
        block: u64,
        k: u32,
        patterns: Option<u64>,
        hasher: Hasher,
    ) -> Result<Self> {
        let form = if patterns.is_some() { PATTERNS } else { MIXED };
        let shape = Shape::new(form, blocks, block, k, patterns)?;
        let hasher = hasher.or(Self::hash(&shape));
        Self::empty(&shape, Head::new(hasher, form))
    }

    /// The filter whose lines of 64 bytes these are, the lowest bit of a byte first, with `k` probes as RocksDB draws
    /// them from its own hash. How many keys are inside is estimated from the bits.
    pub fn from_foreign(bytes: &[u8], k: u32) -> Result<Self> {
        let Shape { blocks, .. } = Shape::new(MIXED, bytes.len() as u64 / 64, LINE, k, None)?;
        let probe = Blocks { probe: Blocked::by_products(blocks, k)?, patterns: None };
        let bits = Bits::from_bytes(bytes, blocks * LINE)?;
        let hasher = Hasher::with_id(HashId::Xxh3Preview, 0)?;
        let (mut head, blocks) = (Head::new(hasher, MIXED), ProbedBits { probe, bits });
        recount(&mut head, &blocks);
        Ok(Self { head, blocks })
    }

    /// How probes follow from a digest.
    pub fn scheme(&self) -> Scheme {
        self.blocks.probe.probe.scheme()
    }

    /// Inserts a key.
    // Always: a call takes as long as the insertion, and keeps it from overlapping with the next one.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let (hasher, ProbedBits { probe: Blocks { probe, patterns }, bits }) =
            (&self.head.hasher, &mut self.blocks);
        let words = bits.words_mut();
        // Not copied before it is known to be needed whole: loops over keys would copy it anew, through memory, with every key.
        let new = if probe.is_one_word() && hasher.id() == HASH {
            let digest = hasher.digest_by(HASH, key);
            lanes::line_set(lanes::line_mut(words.as_chunks_mut().0, digest), low(digest.h2))
        } else {
            set_otherwise(*probe, patterns.as_deref(), words, hasher.digest(key))
        };
        self.head.count_one();
        Seen::new_if(new)
    }

    /// Whether the key may be a member.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let (hasher, ProbedBits { probe: Blocks { probe, patterns }, bits }) =
            (&self.head.hasher, &self.blocks);
        let words = bits.words();
        // Asked before the key is hashed: of its digest only what this path takes is then computed.
        if probe.is_one_word() && hasher.id() == HASH {
            let digest = hasher.digest_by(HASH, key);
            lanes::line_has(lanes::line(words.as_chunks().0, digest), low(digest.h2))
        } else {
            has_otherwise(*probe, patterns.as_deref(), words, hasher.digest(key))
        }
    }

    /// Inserts a slice of keys: several times as fast as one by one if the filter is larger than the cache, and fastest
    /// if the keys are integers of 64 bits. For keys of an iterator use `extend`.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) {
        batched::insert_many::<USUAL, _, _>(self, keys, |filter, key| _ = filter.insert(key));
    }

    /// Whether each of a slice of keys may be a member, in their order.
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut found = vec![false; keys.len()];
        self.contains_many_into(keys, &mut found);
        found
    }

    /// [`Self::contains_many`] into the caller's memory, for as many keys as fit.
    pub fn contains_many_into<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        batched::contains_into::<USUAL, _, _>(self, keys, found, Self::contains);
    }

    /// Whether each key of an iterator may be a member, in their order. Keys are taken 1024 at a time, so that a loop
    /// runs at the speed of [`Self::contains_many`].
    pub fn contains_iter<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> impl Iterator<Item = bool> {
        let next =
            |keys, found: &mut [bool]| batched::contains_next::<USUAL, _, _>(self, keys, found);
        many::asked(keys.into_iter(), next)
    }

    /// Number of bits in all blocks.
    pub fn m(&self) -> u64 {
        self.blocks.m()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.blocks.probe.probe.k()
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks.probe.probe.blocks()
    }

    /// Bits per block.
    pub fn block(&self) -> u64 {
        self.blocks.probe.probe.block()
    }

    /// The bits, block after block; each starts on a multiple of its own size, up to 64 bytes.
    pub fn bits(&self) -> &Bits {
        &self.blocks.bits
    }

    /// The same filter for many threads at once, of form lanes.
    pub fn into_atomic(self) -> Result<AtomicBlocked> {
        let ProbedBits { probe: Blocks { probe, .. }, bits } = self.blocks;
        if probe.inside() != Inside::Lanes {
            let form = self.head.form;
            return Err(Error::parameter(format!(
                "form {form} has no concurrent twin: build a filter of form {LANES}"
            )));
        }
        Ok(AtomicBlocked::new(self.head, probe, bits))
    }

    fn check(&self) -> Result<()> {
        if self.head.form == self.blocks.probe.form() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: the blocks are not those of its form"))
    }
}

/// The hash of lanes.
const HASH: HashId = HashId::Lane64;
/// Its number.
const USUAL: u16 = HASH as u16;

impl Plan for BlockedBloom {
    type Shape = Shape;

    const HASH: HashId = HASH;

    /// Lanes take the low half of the second word to multiply it, the other forms take it as it is.
    fn hash(shape: &Shape) -> HashId {
        if shape.form == LANES { Self::HASH } else { HashId::Fold64 }
    }

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        Some(shape.expect(load))
    }
}

impl Stream for BlockedBloom {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, blocks: ProbedBits::probed(Blocks::new(shape)?)? })
    }
}

face!(BlockedBloom: Insert, Merge, Estimate, Intersect, Fold, Bulk, BulkInsert);
planned!(BlockedBloom);
owns!(BlockedBloom { blocks: ProbedBits<Blocks> });
methods!(BlockedBloom: insert_many_parallel, clear);
keyed!(BlockedBloom: InsertOne);
sets!(BlockedBloom: blocks);

by_part!(BlockedBloom: blocks);

impl<K: Key> Extend<K> for BlockedBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        batched::extend::<USUAL, _>(self, keys.into_iter());
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<BlockedBloom>(Facts {
    id: 3,
    slug: "blocked",
    entry: "I6",
    question: "Is it in the set, as fast as possible: one cache line per key?",
    name: "Blocked Bloom filter",
    paper: "F. Putze, P. Sanders, J. Singler, Cache-, hash- and space-efficient Bloom filters, \
            WEA 2007 and ACM JEA 14, 2009",
    family: "membership",
    needs: &["membership", "merge", "fold", "fast", "estimate", "concurrent", "hostile"],
    forms: &[
        Form::exact(LANES, Ability::OF_SETS),
        Form::exact(MIXED, Ability::OF_SETS),
        Form::exact(PATTERNS, Ability::OF_SETS),
    ],
    params: &[
        PARAM_M,
        Param::integer("k", 1, MOST_K as u64, "number of probes per key; 8 or 16 in form lanes"),
        Param::integer("block", 64, 4096, "bits per block, a power of two; 512 in form lanes")
            .or(Preset::Integer(512)),
        Param::integer(
            "patterns",
            1,
            TABLE_BITS / 64,
            "masks in the table of form patterns; by default as many as fit 960 KiB",
        ),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn a_file_says_only_how_many_patterns_there_are() {
        let make = |patterns| {
            let mut filter =
                BlockedBloom::with_shape(4, 512, 7, patterns, Hasher::default()).unwrap();
            filter.insert("a");
            filter
        };
        let filter = make(Some(15_360));
        let bytes = to_bytes(&filter);
        assert!(bytes.len() < 2000);
        assert_eq!(Opener::new().decode_as::<BlockedBloom>(&bytes).unwrap(), filter);
        // Form and table must agree, and so must cells and probe.
        let mut liar = make(None);
        liar.head.form = PATTERNS;
        assert!(Opener::new().decode(&to_bytes(&liar)).is_err());
        liar = make(Some(64));
        liar.head.form = MIXED;
        assert!(Opener::new().decode(&to_bytes(&liar)).is_err());
        liar = make(None);
        liar.blocks.bits = Bits::new(1024);
        assert!(Opener::new().decode(&to_bytes(&liar)).is_err());
        liar = make(None);
        liar.blocks.probe.probe = Blocked::new(4, 512, 65).unwrap();
        assert!(Opener::new().decode(&to_bytes(&liar)).is_err());
        liar = make(None);
        liar.blocks.probe.probe = Blocked::new(256, 8, 3).unwrap();
        assert!(Opener::new().decode(&to_bytes(&liar)).is_err());
    }
}
