//! The chains of a store: buffers, which pages each key range has, and the filters of those pages.
//!
//! The filters of 64 pages stand column by column in the pages behind them: word i has bit i of all 64, the oldest in
//! the lowest bit. The AND of a key's k words is the set of pages that may hold it. Pages are in memory
//! ([`BloomStoreImage`](super::BloomStoreImage)) or on disk ([`BloomStore`](super::BloomStore)).

use super::page::{self, Latest, MAX_LENGTH, Pairs};
use crate::error::{Error, Kind, Result};
use crate::filter::{Fact, fact};
use crate::hash::{Digest, Hasher};
use crate::parts::labels::shown;
use crate::probe::{MAX_K, Mixed, Probe, multiply_shift};
use crate::state::state;

/// The salt of the key range: beyond the probes.
const RANGE: u64 = 1 << 32;
/// Data pages of a block: the bits of a word.
pub(super) const BLOCK: u64 = 64;

pub(super) const MAX_PAGE_BYTES: u64 = 1 << 16;
pub(super) const MAX_PAIRS: u64 = 1 << 16;
pub(super) const MAX_RANGES: u64 = 1 << 12;
const MAX_M: u64 = 1 << 20;

/// What pages and filters look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Words per page.
    pub(super) words: u64,
    /// Most pairs of a page.
    pub(super) pairs: u64,
    /// Bits and probes of a page's filter.
    pub(super) m: u64,
    pub(super) k: u32,
    /// Key ranges.
    pub(super) ranges: u64,
}

state!(Shape { words, pairs, m, k, ranges });

impl Shape {
    /// Pages of a block: data, and the columns of their filters.
    pub(super) fn stride(&self) -> u64 {
        BLOCK + self.m.div_ceil(self.words)
    }

    pub(super) fn check(&self) -> Result<()> {
        let ok = (2..=MAX_PAGE_BYTES / 8).contains(&self.words)
            && (1..=MAX_PAIRS).contains(&self.pairs)
            && (1..=MAX_M).contains(&self.m)
            && (1..=MAX_K).contains(&self.k)
            && (1..=MAX_RANGES).contains(&self.ranges);
        if ok { Ok(()) } else { Err(Error::corrupt(0, "corrupt store: impossible pages")) }
    }
}

/// Where pages are.
pub(super) trait PageSet {
    /// What `look` finds in a page.
    fn look<R>(&self, page: u64, look: impl FnOnce(&[u64]) -> R) -> Result<R>;

    /// Lets `change` write to a page.
    fn change(&mut self, page: u64, change: impl FnOnce(&mut [u64])) -> Result<()>;

    /// Adds a block of zero pages.
    fn grow(&mut self, shape: &Shape) -> Result<()>;
}

/// The pages of a key range, oldest first, and the pairs that are not in one yet.
#[derive(Clone, Debug, Default, PartialEq)]
struct Chain {
    buffer: Pairs,
    blocks: Vec<u64>,
    /// Pages of the last block.
    filled: u64,
}

state!(plain Chain { buffer, blocks, filled });

impl Chain {
    /// Blocks with the number of their pages, newest first.
    fn newest_first(&self) -> impl Iterator<Item = (u64, u64)> {
        let last = self.blocks.len().wrapping_sub(1);
        let pages = move |i: usize| if i == last { self.filled } else { BLOCK };
        self.blocks.iter().enumerate().rev().map(move |(i, block)| (*block, pages(i)))
    }

    fn pages(&self) -> u64 {
        (self.blocks.len() as u64).saturating_sub(1) * BLOCK + self.filled
    }
}

/// Every chain of a store.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chains {
    pub(super) shape: Shape,
    chains: Vec<Chain>,
    /// Blocks of the store: those of all chains, and the free ones.
    blocks: u64,
    /// Blocks that compaction freed.
    free: Vec<u64>,
}

state!(Chains { shape, chains, blocks, free });

/// What became of a lookup.
pub(super) struct Lookup {
    /// The key's newest value; none if there is none, or it was deleted.
    pub(super) value: Latest,
    /// Pages that were read.
    pub(super) reads: u64,
    /// The page that has it; none for the buffer, or if nothing was found.
    page: Option<u64>,
}

impl Chains {
    pub(super) fn new(shape: Shape) -> Self {
        let chains = vec![Chain::default(); shape.ranges as usize];
        Self { shape, chains, blocks: 0, free: Vec::new() }
    }

    /// Always of one scheme: stores rely on it.
    fn probe(&self) -> Probe {
        Probe::Mixed(Mixed::new(self.shape.m, self.shape.k))
    }

    fn range(&self, digest: Digest) -> usize {
        multiply_shift(digest.word(RANGE), self.shape.ranges) as usize
    }

    /// Blocks of the store.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The pages of a block that may hold a key, as a mask.
    fn candidates(
        &self,
        store: &impl PageSet,
        block: u64,
        pages: u64,
        digest: Digest,
    ) -> Result<u64> {
        let first = block * self.shape.stride() + BLOCK;
        let mut mask = u64::MAX >> (64 - pages.clamp(1, 64));
        let mut failed = None;
        self.probe().all(digest, |i| {
            let word = |words: &[u64]| words[(i % self.shape.words) as usize];
            match store.look(first + i / self.shape.words, word) {
                Ok(column) => mask &= column,
                Err(e) => failed = Some(e),
            }
            mask != 0 && failed.is_none()
        });
        failed.map_or(Ok(if pages == 0 { 0 } else { mask }), Err)
    }

    /// A key's newest value: the buffer's, else that of the newest page that has the key. A tombstone ends the search.
    pub(super) fn get(&self, store: &impl PageSet, hasher: &Hasher, key: &[u8]) -> Result<Lookup> {
        let digest = hasher.digest(key);
        let chain = &self.chains[self.range(digest)];
        let mut reads = 0;
        if let Some(latest) = chain.buffer.pairs.get(key) {
            return Ok(Lookup { value: latest.clone(), reads, page: None });
        }
        for (block, pages) in chain.newest_first() {
            let mut mask = self.candidates(store, block, pages, digest)?;
            while mask != 0 {
                let newest = 63 - u64::from(mask.leading_zeros());
                let page = block * self.shape.stride() + newest;
                reads += 1;
                if let Some(value) = store.look(page, |words| page::find(words, key))?? {
                    return Ok(Lookup { value, reads, page: Some(page) });
                }
                mask ^= 1 << newest;
            }
        }
        Ok(Lookup { value: None, reads, page: None })
    }

    /// Puts a pair, or a tombstone. Refused, with nothing changed, if it does not fit a page.
    pub(super) fn put(
        &mut self,
        store: &mut impl PageSet,
        hasher: &Hasher,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<()> {
        let (room, most) = (page::payload(self.shape.words), self.shape.pairs);
        let long = key.len().max(value.map_or(0, <[u8]>::len)) > MAX_LENGTH;
        if long || page::size(key, value) > room {
            return Err(Error::record(format!(
                "{} and its value take {} bytes, more than the {room} of a page: build with a larger {{page}}",
                shown(key),
                page::size(key, value)
            )));
        }
        let range = self.range(hasher.digest(key));
        if !self.chains[range].buffer.fits(key, value, room, most) {
            self.flush(store, hasher, range)?;
        }
        self.chains[range].buffer.put(key, value);
        Ok(())
    }

    /// Makes a page of a chain's buffer. Only when all of it is written does it count.
    fn flush(&mut self, store: &mut impl PageSet, hasher: &Hasher, range: usize) -> Result<()> {
        let Shape { words, .. } = self.shape;
        let (stride, probe) = (self.shape.stride(), self.probe());
        let chain = &self.chains[range];
        let room = !chain.blocks.is_empty() && chain.filled < BLOCK;
        let (block, place) = match chain.blocks.last() {
            Some(last) if room => (*last, chain.filled),
            _ => (self.blank_block(store)?, 0),
        };
        let result = (|| {
            let chain = &self.chains[range];
            let mut bytes = chain.buffer.encoded();
            bytes.resize(8 * words as usize, 0);
            store.change(block * stride + place, |page| {
                let words = bytes.chunks_exact(8).map(|word| crate::state::u64_at(word, 0));
                page.iter_mut().zip(words).for_each(|(to, word)| *to = word);
            })?;
            for key in chain.buffer.pairs.keys() {
                let mut failed = Ok(());
                probe.all(hasher.digest(&key[..]), |i| {
                    let page = block * stride + BLOCK + i / words;
                    failed =
                        store.change(page, |column| column[(i % words) as usize] |= 1 << place);
                    failed.is_ok()
                });
                failed?;
            }
            Ok(())
        })();
        if let Err(e) = result {
            if !room {
                self.free.push(block);
            }
            return Err(e);
        }
        let chain = &mut self.chains[range];
        if !room {
            chain.blocks.push(block);
        }
        chain.filled = place + 1;
        chain.buffer = Pairs::default();
        Ok(())
    }

    /// A block whose filters are empty: a free one, or one more.
    fn blank_block(&mut self, store: &mut impl PageSet) -> Result<u64> {
        let Some(&block) = self.free.last() else {
            store.grow(&self.shape)?;
            self.blocks += 1;
            return Ok(self.blocks - 1);
        };
        let stride = self.shape.stride();
        for page in BLOCK..stride {
            store.change(block * stride + page, |words| words.fill(0))?;
        }
        self.free.pop();
        Ok(block)
    }

    /// Rewrites the live pairs of every chain: older values and deleted keys are left behind. Says how many pages that
    /// saves; their blocks are used again.
    pub(super) fn compact(&mut self, store: &mut impl PageSet, hasher: &Hasher) -> Result<u64> {
        let before = self.pages();
        for range in 0..self.chains.len() {
            self.compact_chain(store, hasher, range)?;
        }
        Ok(before.saturating_sub(self.pages()))
    }

    /// A chain is written anew beside the old one, which answers all questions until it is done, and stays if it fails.
    fn compact_chain(
        &mut self,
        store: &mut impl PageSet,
        hasher: &Hasher,
        range: usize,
    ) -> Result<()> {
        let mut next = self.clone();
        next.chains[range] = Chain::default();
        let written = self.rewrite(store, hasher, range, &mut next);
        if written.is_ok() {
            next.free.extend(&self.chains[range].blocks);
            *self = next;
        } else {
            // Blocks that were added are there, and nobody's.
            self.free.extend(self.blocks..next.blocks);
            self.blocks = next.blocks;
        }
        written
    }

    /// Puts the live pairs of a chain into that of `next`.
    fn rewrite(
        &self,
        store: &mut impl PageSet,
        hasher: &Hasher,
        range: usize,
        next: &mut Self,
    ) -> Result<()> {
        let stride = self.shape.stride();
        let mut oldest_first: Vec<(u64, u64)> = self.chains[range].newest_first().collect();
        oldest_first.reverse();
        for (block, pages) in oldest_first {
            for page in block * stride..block * stride + pages {
                let pairs = store.look(page, |words| Pairs::decoded(&page::bytes_of(words)))??;
                for (key, value) in pairs.pairs {
                    let Some(value) = value else { continue };
                    if self.get(store, hasher, &key)?.page == Some(page) {
                        next.put(store, hasher, &key, Some(&value))?;
                    }
                }
            }
        }
        // The buffer is newer than any page; its tombstones have nothing left to hide.
        for (key, value) in &self.chains[range].buffer.pairs {
            if let Some(value) = value {
                next.put(store, hasher, key, Some(value))?;
            }
        }
        Ok(())
    }

    /// Data pages of all chains.
    pub(super) fn pages(&self) -> u64 {
        self.chains.iter().map(Chain::pages).sum()
    }

    /// Data pages of the longest chain.
    pub(super) fn longest(&self) -> u64 {
        self.chains.iter().map(Chain::pages).max().unwrap_or(0)
    }

    /// The number of every data page in use.
    pub(super) fn page_numbers(&self) -> impl Iterator<Item = u64> {
        let stride = self.shape.stride();
        let blocks = self.chains.iter().flat_map(Chain::newest_first);
        blocks.flat_map(move |(block, pages)| block * stride..block * stride + pages)
    }

    pub(super) fn describe(&self) -> Vec<Fact> {
        let Shape { words, pairs, m, k, ranges } = self.shape;
        let waiting = self.chains.iter().map(|chain| chain.buffer.pairs.len() as u64).sum::<u64>();
        vec![
            fact("bytes per page", 8 * words),
            fact("pairs per page", pairs),
            fact("m", m),
            fact("k", k),
            fact("ranges", ranges),
            fact("pages", self.pages()),
            fact("longest chain", self.longest()),
            fact("buffered pairs", waiting),
            fact("free blocks", self.free.len() as u64),
        ]
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt store: {what}")));
        let Shape { words, pairs, ranges, .. } = self.shape;
        if self.chains.len() as u64 != ranges {
            return wrong("not a chain for each key range");
        }
        let mut blocks = self.free.clone();
        for chain in &self.chains {
            blocks.extend(&chain.blocks);
            let empty = chain.blocks.is_empty();
            if chain.filled > BLOCK || empty != (chain.filled == 0) {
                return wrong("a block of more pages than it has, or of none");
            }
            let Pairs { pairs: waiting, bytes } = &chain.buffer;
            if waiting.len() as u64 > pairs || *bytes > page::payload(words) {
                return wrong("a buffer larger than a page");
            }
        }
        blocks.sort_unstable();
        if !blocks.iter().copied().eq(0..self.blocks) {
            return wrong("blocks that are missing, or in two chains");
        }
        Ok(())
    }

    /// A store that holds other blocks than these.
    pub(super) fn wrong_pages(&self) -> Error {
        Error::new(
            Kind::Corrupt { offset: 0 },
            "corrupt store: its pages are not those of its chains",
        )
    }
}
