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
//! **Use it** when the filter is larger than the cache and speed counts. **Don't** for rates below
//! 10⁻⁵, where crowded blocks cost more bits than the misses are worth.

mod atomic;

pub use super::patterns::fpr_patterns;
use super::patterns::{Patterns, TABLE_BITS, distinct};
use crate::cells::Pairing;
use crate::cells::{Bits, has_mask, set_bit, set_mask};
use crate::error::agree;
use crate::hash::{Batch, Digests, Given, Keys};
use crate::parts::parallel;
use crate::plan::MAX_CELLS;
use crate::probe::lanes;
use crate::probe::{Blocked, Inside, LANES as LANES_PER_BLOCK, round_word};
use crate::state::{Decoder, Encoder, State};
use crate::theory::{blocked as theory, bloom};
use crate::variant::prelude::*;
pub use atomic::AtomicBlocked;

/// A set in blocks of bits, all probes of a key in one of them.
///
/// ```
/// let mut seen = everbloom::membership::BlockedBloom::with_rate(1_000_000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BlockedBloom {
    head: Head,
    probe: Blocked,
    patterns: Option<Box<Patterns>>,
    bits: Bits,
}

/// Of the patterns only their number is stored: the table follows from it.
impl State for BlockedBloom {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.head.save("head", out);
            self.probe.save("probe", out);
            out.u64("patterns", self.patterns.as_deref().map_or(0, Patterns::count));
            self.bits.save("bits", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let head = Head::load("head", src)?;
            let probe = Blocked::load("probe", src)?;
            let patterns = match src.u64("patterns")? {
                0 => None,
                count => Some(count),
            };
            let bits = Bits::load("bits", src)?;
            let form = match (probe.inside(), patterns) {
                (Inside::Lanes | Inside::Fields, None) => LANES,
                (Inside::Anywhere, None) => MIXED,
                (Inside::Anywhere, Some(_)) => PATTERNS,
                (Inside::Lanes | Inside::Fields, Some(_)) => "",
            };
            if bits.len() != probe.m() || head.form != form {
                return Err(src.corrupt("form, blocks, patterns and bits do not fit each other"));
            }
            let shape = Shape::new(form, probe.blocks(), probe.block(), probe.k(), patterns)?;
            Ok(Self { head, patterns: shape.table(), probe, bits })
        })
    }
}

impl BlockedBloom {
    /// A filter of `lines` lines of 512 bits, each key having `rounds` bits (1 or 2) in each of a line's
    /// eight words.
    pub fn in_lanes(lines: u64, rounds: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape::new(LANES, lines, LINE, rounds.saturating_mul(8), None)?;
        Self::empty(&shape, Head::new(hasher, LANES))
    }

    /// A filter of `blocks` blocks of `block` bits and `k` probes per key, anywhere in the block; with a
    /// number of `patterns` its bits come from a table of so many masks.
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

    /// Inserts a key.
    // Always: a call takes as long as the insertion, and keeps it from overlapping with the next one.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest_usually(HASH, key);
        let (probe, words) = (self.probe, self.bits.words_mut());
        let new = if probe.is_one_word() {
            lanes::line_set(lanes::line_mut(words.as_chunks_mut().0, digest), low(digest.h2))
        } else {
            set_otherwise(probe, self.patterns.as_deref(), words, digest)
        };
        self.head.count_one();
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Whether the key may be a member.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest_usually(HASH, key);
        let (probe, words) = (self.probe, self.bits.words());
        if probe.is_one_word() {
            lanes::line_has(lanes::line(words.as_chunks().0, digest), low(digest.h2))
        } else {
            has_otherwise(probe, self.patterns.as_deref(), words, digest)
        }
    }

    /// Inserts many keys, of a slice or an iterator: several times as fast as one by one where the filter is
    /// larger than the cache.
    pub fn insert_many<I>(&mut self, keys: I)
    where
        I: IntoIterator<Item: Key>,
    {
        let hasher = self.head.hasher.clone();
        let count = self.set_all(HashedKeys::new(&hasher, keys.into_iter()));
        self.head.count(count);
    }

    /// Whether each of many keys may be a member, in their order: several times as fast as one by one
    /// where the filter is larger than the cache.
    ///
    /// ```
    /// let mut seen = everbloom::membership::BlockedBloom::with_rate(1_000_000, 0.01)?;
    /// seen.insert_many(&["apple", "plum"]);
    /// assert_eq!(seen.contains_many(&["plum", "pear", "apple"]), [true, false, true]);
    /// # Ok::<(), everbloom::error::Error>(())
    /// ```
    pub fn contains_many<I>(&self, keys: I) -> Vec<bool>
    where
        I: IntoIterator<Item: Key, IntoIter: ExactSizeIterator>,
    {
        let keys = keys.into_iter();
        let mut found = vec![false; keys.len()];
        self.have(HashedKeys::new(&self.head.hasher, keys), &mut found);
        found
    }

    /// Inserts a slice of keys: the fastest way, if they are integers of 64 bits.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) {
        let hasher = self.head.hasher.clone();
        self.set_all(HashedBatch::new(&hasher, keys));
        self.head.count(keys.len() as u64);
    }

    /// Writes whether each of a slice of keys may be a member, for as many as there is room in `found`: the
    /// fastest way, if they are integers of 64 bits.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        self.have(HashedBatch::new(&self.head.hasher, keys), found);
    }

    /// Inserts many keys on all cores: each fills a filter of its own, and their union is exact. Takes the
    /// memory of as many filters as there are cores.
    pub fn insert_many_parallel<K: Key + Sync>(&mut self, keys: &[K]) {
        let (head, probe, patterns) = (&self.head, &self.probe, &self.patterns);
        parallel::on_all_cores(&mut self.bits, keys, |keys, bits| {
            let mut part =
                Self { head: head.clone(), probe: *probe, patterns: patterns.clone(), bits };
            part.insert_batch(keys);
            part.bits
        });
        self.head.count(keys.len() as u64);
    }

    /// Sets the bits of every digest; says how many there were.
    #[inline]
    fn set_all(&mut self, digests: impl Digests) -> u64 {
        let (probe, words) = (self.probe, self.bits.words_mut());
        if is_for_lanes(probe) {
            return lanes::lines_set(words.as_chunks_mut().0, rounds(probe), digests);
        }
        digests.for_each(|_, digest| {
            set_otherwise(probe, self.patterns.as_deref(), words, digest);
        })
    }

    /// Writes for each digest whether all its bits are set.
    #[inline]
    fn have(&self, digests: impl Digests, found: &mut [bool]) {
        let (probe, words) = (self.probe, self.bits.words());
        if is_for_lanes(probe) {
            return lanes::lines_have(words.as_chunks().0, rounds(probe), digests, found);
        }
        digests.for_each(|i, digest| {
            if let Some(found) = found.get_mut(i as usize) {
                *found = has_otherwise(probe, self.patterns.as_deref(), words, digest);
            }
        });
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.bits.clear();
        self.head.items = 0;
    }

    /// Number of bits in all blocks.
    pub fn m(&self) -> u64 {
        self.bits.len()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.probe.k()
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.probe.blocks()
    }

    /// Bits per block.
    pub fn block(&self) -> u64 {
        self.probe.block()
    }

    /// The bits, block after block; each starts on a multiple of its own size, up to 64 bytes.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    /// Makes this the filter of the union of both sets, exactly. Items are then estimated from the
    /// zeros, since nobody knows how many keys the sets share.
    pub fn union(&mut self, other: &BlockedBloom) -> Result<()> {
        self.agree(other)?;
        self.bits.union(&other.bits);
        self.head.count(other.head.items);
        if let Some(n) = self.cardinality() {
            self.head.items = n.round() as u64;
        }
        Ok(())
    }

    /// Keeps what both filters hold: every common key passes, and a few others that the filter of the
    /// true intersection would not let pass.
    pub fn intersect(&mut self, other: &BlockedBloom) -> Result<()> {
        let both = self.intersection_size(other)?;
        self.bits.intersect(&other.bits);
        let most = self.head.items.min(other.head.items);
        self.head.items = both.map_or(most, |n| n.max(0.0).round() as u64).min(most);
        Ok(())
    }

    /// The number of distinct keys in both filters: |A| + |B| − |A ∪ B|, each estimated block by block;
    /// `None` where a block has no zero left.
    pub fn intersection_size(&self, other: &BlockedBloom) -> Result<Option<f64>> {
        let mut union = self.clone();
        union.union(other)?;
        let sizes = (self.cardinality(), other.cardinality(), union.cardinality());
        let (Some(a), Some(b), Some(union)) = sizes else { return Ok(None) };
        Ok(Some(a + b - union))
    }

    fn agree(&self, other: &BlockedBloom) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("number of blocks", self.blocks(), other.blocks())?;
        agree("block size", self.block(), other.block())?;
        agree("k", self.k(), other.k())?;
        agree("probe scheme", self.probe.scheme().name(), other.probe.scheme().name())?;
        let count = |f: &BlockedBloom| f.patterns.as_deref().map_or(0, Patterns::count);
        agree("number of patterns", count(self), count(other))
    }

    /// Halves the number of blocks: same keys, half the bits, a higher rate. Blocks keep their size,
    /// since inside one every index has its own hash bits.
    pub fn fold(&self) -> Result<BlockedBloom> {
        let (head, patterns) = (self.head.clone(), self.patterns.clone());
        let probe = self.probe.fold()?;
        let bits = self.bits.fold(Pairing::Neighbors(self.block()));
        Ok(BlockedBloom { head, probe, patterns, bits })
    }

    /// The number of distinct keys: an estimate from the zeros of each block, summed up. `None` if a
    /// block has no zero left.
    pub fn cardinality(&self) -> Option<f64> {
        let distinct = |masks: f64| match &self.patterns {
            None => masks,
            // i keys leave P(1 − (1 − 1/P)^i) different masks.
            Some(p) => p.count() as f64 * -libm::log1p(-(masks / p.count() as f64).min(0.999)),
        };
        self.ones_by_block().map(|ones| self.masks_in(ones).map(distinct)).sum()
    }

    /// How many masks of k bits make a block with this many ones.
    fn masks_in(&self, ones: u64) -> Option<f64> {
        let zeros = self.block() - ones;
        match self.probe.inside() {
            Inside::Anywhere => bloom::cardinality(zeros, self.block(), self.k()),
            // A lane gets a bit of every key: E[zeros] = B·(1 − 1/64)^{rounds·i}.
            Inside::Lanes | Inside::Fields => (zeros > 0).then(|| {
                let rounds = self.k() as f64 / LANES_PER_BLOCK as f64;
                libm::log(zeros as f64 / self.block() as f64) / (rounds * libm::log1p(-1.0 / 64.0))
            }),
        }
    }

    fn ones_by_block(&self) -> impl Iterator<Item = u64> {
        let blocks = self.bits.words().chunks_exact((self.block() / 64) as usize);
        blocks.map(|block| block.iter().map(|w| u64::from(w.count_ones())).sum())
    }

    /// The same filter for many threads at once, of form lanes.
    pub fn into_atomic(self) -> Result<AtomicBlocked> {
        if self.probe.inside() != Inside::Lanes {
            let form = self.head.form;
            return Err(Error::parameter(format!(
                "form {form} has no twin for many threads: build a filter of form {LANES} anew"
            )));
        }
        Ok(AtomicBlocked::new(self.head, self.probe, self.bits))
    }
}

/// The hash of lanes.
const HASH: HashId = HashId::Lane64;

/// Keys for it.
type HashedKeys<'a, I> = Keys<'a, I, { HASH as u16 }>;
type HashedBatch<'a, K> = Batch<'a, K, { HASH as u16 }>;

/// Whether many keys at once are a matter for vector instructions.
fn is_for_lanes(probe: Blocked) -> bool {
    probe.inside() == Inside::Lanes && probe.blocks() <= lanes::MOST_LINES
}

/// What lanes take of H2. Said so that the compiler knows, too: the rest need not be computed then.
#[inline(always)]
fn low(h2: u64) -> u64 {
    u64::from(h2 as u32)
}

/// Indices in each lane.
fn rounds(probe: Blocked) -> u32 {
    probe.k() / LANES_PER_BLOCK as u32
}

/// Sets the bits of a key anyhow; true if one was zero. Takes the filter in parts: were it lent whole, the
/// compiler would have to assume that the call changes it, and loops over keys would load its shape again
/// with every key.
#[cold]
#[inline(never)]
fn set_otherwise(
    probe: Blocked,
    patterns: Option<&Patterns>,
    words: &mut [u64],
    digest: Digest,
) -> bool {
    if probe.inside() == Inside::Lanes {
        let line = lanes::line_mut(words.as_chunks_mut().0, digest);
        let set = |new, round| new | lanes::line_set(line, round_word(digest.h2, round));
        return (0..rounds(probe)).fold(false, set);
    }
    if let Some(patterns) = patterns {
        let at = probe.block_of(digest) * probe.block() / 64;
        return set_mask(words, at, patterns.of(digest));
    }
    probe.indices(digest).fold(false, |new, i| new | set_bit(words, i))
}

/// Whether all bits of a key are set, anyhow.
#[cold]
#[inline(never)]
fn has_otherwise(
    probe: Blocked,
    patterns: Option<&Patterns>,
    words: &[u64],
    digest: Digest,
) -> bool {
    if probe.inside() == Inside::Lanes {
        let line = lanes::line(words.as_chunks().0, digest);
        return (0..rounds(probe)).all(|round| lanes::line_has(line, round_word(digest.h2, round)));
    }
    if let Some(patterns) = patterns {
        return has_mask(words, probe.block_of(digest) * probe.block() / 64, patterns.of(digest));
    }
    probe.indices(digest).all(|i| words[(i / 64) as usize] >> (i % 64) & 1 != 0)
}

/// Most probes: no plan wants more than 38 in a cache line, at a thousand bits per key.
const MOST_K: u32 = 64;

/// Most bits per key that planning spends.
const MOST_BITS: f64 = 1000.0;

/// Number and size of the blocks, probes, and size of the table of patterns if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    form: &'static str,
    blocks: u64,
    block: u64,
    k: u32,
    patterns: Option<u64>,
}

impl Shape {
    fn new(
        form: &'static str,
        blocks: u64,
        block: u64,
        k: u32,
        patterns: Option<u64>,
    ) -> Result<Self> {
        if form == LANES && (block != LINE || !ROUNDS.contains(&(k / 8)) || !k.is_multiple_of(8)) {
            return Err(Error::parameter(format!(
                "k = {k} in blocks of {block} bits: form lanes has 8 or 16 bits in blocks of {LINE}; \
                 others go with --set form=mixed"
            )));
        }
        if !block.is_power_of_two() || !(64..=4096).contains(&block) {
            return Err(Error::parameter(format!(
                "a block of {block} bits: it must be a power of two from 64 to 4096"
            )));
        }
        if !(1..=MOST_K).contains(&k) {
            return Err(Error::parameter(format!("k = {k}: it must be from 1 to {MOST_K}")));
        }
        if blocks == 0 || blocks > MAX_CELLS / block {
            return Err(Error::parameter(format!(
                "{blocks} blocks of {block} bits: there must be one at least, and no more than \
                 {MAX_CELLS} bits; change the items, the rate or the memory"
            )));
        }
        let most = TABLE_BITS / block;
        if patterns.is_some_and(|p| p == 0 || p > most) {
            return Err(Error::parameter(format!(
                "{} patterns of {block} bits: there must be 1 to {most}, so that the table stays \
                 within 960 KiB; smaller blocks allow more",
                patterns.unwrap_or(0)
            )));
        }
        Ok(Self { form, blocks, block, k, patterns })
    }

    fn inside(&self) -> Inside {
        if self.form == LANES { Inside::Lanes } else { Inside::Anywhere }
    }

    /// Bits per lane and key.
    fn rounds(&self) -> u32 {
        self.k / LANES_PER_BLOCK as u32
    }

    fn table(&self) -> Option<Box<Patterns>> {
        self.patterns.map(|count| Box::new(Patterns::new(count, self.block, self.k)))
    }

    /// The same with `blocks` blocks, and the best k for `n` keys unless one is set.
    fn sized(self, blocks: u64, n: Option<u64>, k: Option<u32>) -> Result<Self> {
        let k = match (k, n) {
            (Some(k), _) => k,
            (None, Some(n)) => self.best_k((blocks * self.block) as f64 / n as f64),
            (None, None) => {
                return Err(Error::parameter("--set m without k needs -n, to choose the best k"));
            }
        };
        Self::new(self.form, blocks, self.block, k, self.patterns)
    }

    fn rate(&self, bits_per_item: f64, k: u32) -> f64 {
        match self.patterns {
            None if self.form == LANES => theory::fpr_lanes(64, bits_per_item, k / 8),
            None => theory::fpr(self.block, bits_per_item, k),
            Some(patterns) => fpr_patterns(self.block, bits_per_item, k, patterns),
        }
    }

    fn best_k(&self, bits_per_item: f64) -> u32 {
        if self.form == LANES {
            let rate = |rounds: &u32| theory::fpr_lanes(64, bits_per_item, *rounds);
            let best = ROUNDS.min_by(|a, b| rate(a).total_cmp(&rate(b)));
            return 8 * best.unwrap_or(1);
        }
        // That two keys have the same mask does not depend on k; what is left is a blocked filter.
        let block = self.block as f64;
        let lighter = self.patterns.map(|p| block / distinct(p as f64, block / bits_per_item));
        theory::best_k(self.block, lighter.unwrap_or(bits_per_item))
    }

    /// Least bits per key, and their k, that reach `p`; `None` if no reasonable number does.
    fn bits_per_item(&self, p: f64, k: Option<u32>) -> Option<(f64, u32)> {
        if self.form == LANES {
            let rounds = ROUNDS.filter(|rounds| k.is_none_or(|k| k == 8 * rounds));
            let sizes =
                rounds.filter_map(|r| Some((theory::bits_per_item_for_lanes(64, r, p)?, 8 * r)));
            return sizes.min_by(|a, b| a.0.total_cmp(&b.0));
        }
        if self.patterns.is_none() && k.is_none() {
            return theory::bits_per_item_for(self.block, p);
        }
        let k_at = |c: f64| k.unwrap_or_else(|| self.best_k(c));
        let enough = |c: f64| self.rate(c, k_at(c)) <= p;
        let (mut low, mut high) = (0.125, MOST_BITS);
        if !enough(high) {
            return None;
        }
        while high / low > 1.0 + 1e-9 {
            let middle = libm::sqrt(low * high);
            if enough(middle) { high = middle } else { low = middle }
        }
        Some((high, k_at(high)))
    }

    /// The share of ones after `n` distinct keys, and its standard deviation from filter to filter.
    fn fill(&self, n: u64) -> (f64, f64) {
        let [n, blocks, block, k] =
            [n as f64, self.blocks as f64, self.block as f64, f64::from(self.k)];
        let (mean, mut variance) = match self.inside() {
            Inside::Anywhere => theory::fill(blocks, block, k, n),
            Inside::Lanes | Inside::Fields => {
                theory::fill_lanes(blocks, 64.0, f64::from(self.rounds()), n)
            }
        };
        let Some(table) = self.table().filter(|_| n > 0.0) else {
            return (mean, variance.sqrt());
        };
        let (one, m) = (1.0 - mean, blocks * block);
        let missed = |hit: f64| libm::exp(n * libm::log1p(-hit / blocks));
        // The table is the same in every filter, so it is not averaged over: the load of a cell
        // follows from the masks that cover it. How many keys repeat a mask of their block varies like
        // a Poisson number, and each leaves as many ones fewer as a fresh mask would have added.
        let zeros: f64 = table.coverage().into_iter().map(missed).sum();
        let repeats = n - blocks * distinct(table.count() as f64, n / blocks);
        variance += repeats * (k * one / m) * (k * one / m);
        (1.0 - zeros / block, variance.max(0.0).sqrt())
    }
}

impl Plan for BlockedBloom {
    type Shape = Shape;

    const HASH: HashId = HASH;

    /// Lanes take the low half of the second word to multiply it, the other forms take it as it is.
    fn hash(shape: &Shape) -> HashId {
        if shape.form == LANES { Self::HASH } else { HashId::Fold64 }
    }

    /// The least number of blocks with the best k or the given one, so that the rate stays below p;
    /// even, so that the filter folds.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let block = request.integer("block").unwrap_or(512);
        let patterns = match (request.form(), request.integer("patterns")) {
            (PATTERNS, count) => Some(count.unwrap_or(TABLE_BITS / block)),
            (_, None) => None,
            _ => return Err(Error::parameter("--set patterns goes with --set form=patterns")),
        };
        let k = request.integer("k").map(|k| k as u32);
        let one = Shape::new(request.form(), 1, block, k.unwrap_or(8), patterns)?;
        if let Some(m) = request.integer(PARAM_M.name) {
            return one.sized(m / block, request.goal_items(), k);
        }
        let even = |blocks: u64| if blocks > 1 { blocks & !1 } else { blocks };
        if let (Some(room), Some(n), None) =
            (request.goal_bits(), request.goal_items(), request.goal_fpr())
        {
            return one.sized(even(room / block), Some(n), k);
        }
        let p = request.fpr();
        let (c, k) = one.bits_per_item(p, k).ok_or_else(|| {
            Error::parameter(format!(
                "a rate of {p} is out of reach of {} in blocks of {block} bits: {}",
                k.map_or("any k".to_owned(), |k| format!("k = {k}")),
                match request.form() {
                    PATTERNS => "take smaller blocks and more patterns, or --set form=mixed",
                    MIXED => "take larger blocks with --set block, or --kind bloom",
                    _ => "take --set form=mixed with larger blocks, or --kind bloom",
                }
            ))
        })?;
        let blocks = |n: u64| (n as f64 * c / block as f64).ceil().max(1.0);
        let (n, _) = request.items_and_rate(|n, _| blocks(n) * block as f64)?;
        let least = blocks(n);
        if least * block as f64 > MAX_CELLS as f64 {
            return Err(Error::parameter(format!(
                "{n} items at a rate of {p} need {least:e} blocks of {block} bits, more than \
                 {MAX_CELLS} bits: ask for fewer items or a higher rate"
            )));
        }
        let least = least as u64;
        let room = request.goal_bits().map_or(MAX_CELLS / block, |room| room / block);
        let blocks = least.next_multiple_of(2).min(room.max(1));
        Shape::new(request.form(), blocks, block, k, patterns)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (n, m) = (load.distinct, shape.blocks * shape.block);
        let fpr = if n == 0 { 0.0 } else { shape.rate(m as f64 / n as f64, shape.k) };
        Some(Expect::one_sided(fpr, m, Some(shape.fill(n))))
    }
}

impl Stream for BlockedBloom {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let probe = match shape.inside() {
            Inside::Anywhere => Blocked::new(shape.blocks, shape.block, shape.k)?,
            Inside::Lanes | Inside::Fields => Blocked::in_lanes(shape.blocks, shape.rounds())?,
        };
        Ok(Self { head, patterns: shape.table(), bits: Bits::new(probe.m()), probe })
    }
}

face!(BlockedBloom: Insert, Merge, Estimate, Intersect, Fold, Bulk, BulkInsert);
planned!(BlockedBloom);

impl Filter for BlockedBloom {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.ones() as f64 / self.m() as f64)
    }

    /// The mean over the blocks of (ones/B)^k: the mean fill would hide the crowded ones. Lanes count
    /// each for itself. With patterns, those that are in the block pass for certain, and all others as
    /// random masks do.
    fn now(&self) -> Rates {
        if self.probe.inside().is_even() {
            let rounds = rounds(self.probe);
            let lane = |word: &u64| (f64::from(word.count_ones()) / 64.0).powi(rounds as i32);
            let lines = self.bits.blocks::<8>().iter();
            let sum: f64 = lines.map(|line| line.iter().map(lane).product::<f64>()).sum();
            return Rates::one_sided(sum / self.blocks() as f64);
        }
        let covered = |ones: u64| {
            let random = libm::pow(ones as f64 / self.block() as f64, f64::from(self.k()));
            let Some(patterns) = &self.patterns else {
                return random;
            };
            let count = patterns.count() as f64;
            let inside = self.masks_in(ones).map_or(1.0, |masks| (masks / count).min(1.0));
            inside + (1.0 - inside) * random
        };
        let sum: f64 = self.ones_by_block().map(covered).sum();
        Rates::one_sided(sum / self.blocks() as f64)
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = vec![
            fact("m", self.m()),
            fact("k", self.k()),
            fact("blocks", self.blocks()),
            fact("block", self.block()),
        ];
        facts.extend(self.patterns.as_ref().map(|p| fact("patterns", p.count())));
        facts
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest_usually(HASH, key);
        let indices: Vec<u64> = match &self.patterns {
            None => self.probe.indices(digest).collect(),
            Some(patterns) => {
                let start = self.probe.block_of(digest) * self.block();
                let mask = patterns.of(digest);
                let inside = |i: &u64| mask[(i / 64) as usize] >> (i % 64) & 1 != 0;
                (0..self.block()).filter(inside).map(|i| start + i).collect()
            }
        };
        touched(&indices, |i| self.bits.get(i).into())
    }
}

keyed!(BlockedBloom: Insert, Union);

impl BulkInsert for BlockedBloom {
    fn insert_digests(&mut self, digests: &[Digest]) {
        self.set_all(Given(digests));
        self.head.count(digests.len() as u64);
    }
}

impl Bulk for BlockedBloom {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        self.have(Given(digests), found);
    }
}

keyed!(BlockedBloom: Estimate, Intersect, Fold);

/// Bits of a line.
const LINE: u64 = 512;
/// Bits per lane that form `lanes` may have: three pay below a rate of 10⁻⁷ only.
const ROUNDS: std::ops::RangeInclusive<u32> = 1..=2;

const LANES: &str = "lanes";
const MIXED: &str = "mixed";
const PATTERNS: &str = "patterns";

const fn form(name: &'static str) -> Form {
    Form {
        name,
        abilities: &[
            Ability::Insert,
            Ability::Merge,
            Ability::Intersect,
            Ability::Fold,
            Ability::Estimate,
        ],
        false_negatives: FalseNegatives::Never,
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 3,
        slug: "blocked",
        entry: "I6",
        name: "Blocked Bloom filter",
        paper: "F. Putze, P. Sanders, J. Singler, Cache-, hash- and space-efficient Bloom filters, \
                WEA 2007 and ACM JEA 14, 2009",
        family: "membership",
        needs: &["membership", "merge", "fold", "fast", "estimate", "concurrent"],
        forms: &[form(LANES), form(MIXED), form(PATTERNS)],
        params: &[
            PARAM_M,
            Param {
                name: "k",
                range: Range::Integer(1, MOST_K as u64),
                default: Preset::Planned,
                help: "number of probes per key; 8 or 16 in form lanes",
            },
            Param {
                name: "block",
                range: Range::Integer(64, 4096),
                default: Preset::Integer(512),
                help: "bits per block, a power of two; 512 in form lanes",
            },
            Param {
                name: "patterns",
                range: Range::Integer(1, TABLE_BITS / 64),
                default: Preset::Planned,
                help: "masks in the table of form patterns, by default as many as 960 KiB hold",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<BlockedBloom>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::{Opener, to_bytes};

    fn plan(goal: &Goal) -> Result<Shape> {
        BlockedBloom::plan(&Request::new(&VARIANT, goal)?)
    }

    fn fpr(goal: &Goal, n: u64) -> f64 {
        BlockedBloom::expect(&plan(goal).unwrap(), &Load::items(n)).unwrap().fpr
    }

    #[test]
    fn planned_blocks_meet_the_rate_and_fold() {
        let n = 1_000_000;
        for p in [0.1, 0.01, 1e-3, 1e-5] {
            let rate = fpr(&Goal::new(n, p), n);
            assert!(rate <= p && rate > 0.995 * p, "lanes {p}: {rate}");
        }
        for (form, block, p) in [
            (MIXED, 64, 0.1),
            (MIXED, 512, 0.01),
            (MIXED, 512, 1e-4),
            (MIXED, 4096, 1e-3),
            (PATTERNS, 64, 1e-3),
            (PATTERNS, 512, 0.01),
        ] {
            let goal = Goal::new(n, p).set("form", form).set("block", block);
            let Shape { blocks, .. } = plan(&goal).unwrap();
            assert!(blocks.is_multiple_of(2));
            let rate = fpr(&goal, n);
            assert!(rate <= p && rate > 0.995 * p, "{form} {block} {p}: {rate}");
            let rate = fpr(&goal.set("k", 4), n);
            assert!(rate <= p && rate > 0.995 * p, "{form} {block} {p} k = 4: {rate}");
        }
        // The patterns of a cache line cost bits, those of a word hardly any.
        let bits = |goal: Goal| plan(&goal).map(|s| s.blocks * s.block).unwrap();
        let line = Goal::new(n, 0.01).set("form", MIXED);
        let (with, without) = (bits(line.clone().set("form", PATTERNS)), bits(line.clone()));
        assert!((1.05..1.1).contains(&(with as f64 / without as f64)), "{with} {without}");
        let word = line.set("block", 64);
        assert!(bits(word.clone().set("form", PATTERNS)) < bits(word) / 100 * 101);
    }

    #[test]
    fn memory_is_kept() {
        for form in [LANES, MIXED, PATTERNS] {
            for bytes in [64u64, 100, 192, 12_345, 1 << 20] {
                let room = Some(8 * bytes);
                let any = Goal { bits: room, ..Goal::default() }.set("form", form);
                for (items, fpr) in [(Some(10), None), (None, Some(0.02)), (Some(10), Some(0.3))] {
                    let shape = plan(&Goal { items, fpr, ..any.clone() }).unwrap();
                    assert!(shape.blocks * 512 <= 8 * bytes, "{form} {bytes} {items:?} {fpr:?}");
                }
            }
        }
        let one = plan(&Goal { bits: Some(8 << 20), ..Goal::new(1, 0.1) }).unwrap();
        assert_eq!(one.blocks, 2);
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        let goal = || Goal::new(1000, 0.01);
        for bad in [
            goal().set("block", 500),
            goal().set("block", 256),
            goal().set("k", 7),
            goal().set("patterns", 100),
            goal().set("form", PATTERNS).set("patterns", 15_361),
            goal().set("form", PATTERNS).set("patterns", 10),
            goal().set("m", 511),
            Goal::default().set("m", 5120),
            Goal::new(1000, 1e-12).set("block", 64).set("form", MIXED),
            Goal::new(1000, 1e-300),
            Goal::new(u64::MAX, 0.01),
            Goal { bits: Some(8 * 63), ..Goal { fpr: None, ..goal() } },
        ] {
            let error = plan(&bad).unwrap_err();
            assert_eq!(error.kind(), Kind::BadParameter, "{error}");
        }
        assert!(Shape::new(MIXED, 1 << 60, 64, 1, None).is_err());
        assert!(Shape::new(MIXED, 0, 64, 1, None).is_err());
        assert!(Shape::new(MIXED, 1, 64, 65, None).is_err());
    }

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
        liar.bits = Bits::new(1024);
        assert!(Opener::new().decode(&to_bytes(&liar)).is_err());
        liar = make(None);
        liar.probe = Blocked::new(4, 512, 65).unwrap();
        assert!(Opener::new().decode(&to_bytes(&liar)).is_err());
        liar = make(None);
        liar.probe = Blocked::new(256, 8, 3).unwrap();
        assert!(Opener::new().decode(&to_bytes(&liar)).is_err());
    }
}
