//! The blocks of a forest: which there are, which way a key takes through them, and how full their pages
//! are. Pages themselves are in memory ([`Forest`](super::Forest)) or on disk
//! ([`ForestStore`](super::ForestStore)).

use std::collections::BTreeMap;

use crate::error::{Error, Kind, Result};
use crate::filter::Seen;
use crate::hash::Digest;
use crate::plan::MAX_CELLS;
use crate::probe::{Coincide, Indices, MAX_K, Probe, multiply_shift};
use crate::state::{Decoder, Encoder, State, state};
use crate::theory::tail;

/// Salts beyond those of the probes: block, page, and the child taken below layer i.
const BLOCK: u64 = 1 << 32;
const PAGE: u64 = BLOCK + 1;
const CHILD: u64 = BLOCK + 2;
/// Chance that planned pages overflow anyway.
pub(super) const OVERFLOW: f64 = 1e-9;

/// Page, keys per page, and the shape of the forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits per page.
    pub(super) page_bits: u64,
    /// Probes per key, in one page.
    pub(super) k: u32,
    /// Keys that a page takes.
    pub(super) capacity: u32,
    /// λ, blocks in the first layer.
    pub(super) blocks: u64,
    /// δ, pages per block.
    pub(super) pages: u64,
    /// ς, children per block.
    pub(super) children: u64,
}

state!(Shape { page_bits, k, capacity, blocks, pages, children });

pub(super) const MAX_PAGE_BYTES: u64 = 1 << 20;
pub(super) const MAX_BLOCKS: u64 = 1 << 32;
pub(super) const MAX_BLOCK_PAGES: u64 = 1 << 16;
pub(super) const MAX_CHILDREN: u64 = 64;

/// The rate of a walk through `layers` pages of rate `page`, 1 − (1 − f_r)^l.
pub fn rate_of_layers(page: f64, layers: u32) -> f64 {
    -libm::expm1(f64::from(layers) * libm::log1p(-page))
}

/// The number of child `child` (1 to ς) of block `block`, in global numbering from 1:
/// λ + (b − 1)·ς + c. `None` beyond 64 bits.
pub fn child_id(blocks: u64, children: u64, block: u64, child: u64) -> Option<u64> {
    block.checked_sub(1)?.checked_mul(children)?.checked_add(blocks)?.checked_add(child)
}

impl Shape {
    /// A forest by hand; `page_bytes` is a multiple of 8.
    pub fn new(
        page_bytes: u64,
        k: u32,
        capacity: u32,
        blocks: u64,
        pages: u64,
        children: u64,
    ) -> Result<Self> {
        let page_bits = page_bytes.saturating_mul(8);
        let shape = Self { page_bits, k, capacity, blocks, pages, children };
        shape.check().map_err(|_| {
            Error::parameter(format!(
                "{blocks} blocks of {pages} pages of {page_bytes} bytes, {children} children, {k} probes, \
                 {capacity} keys a page: pages have a multiple of 8 bytes up to {MAX_PAGE_BYTES}, blocks up \
                 to {MAX_BLOCK_PAGES} pages and 2 to {MAX_CHILDREN} children, and the first layer up to \
                 {MAX_CELLS} bits"
            ))
        })?;
        Ok(shape)
    }

    fn check(&self) -> Result<()> {
        let Self { page_bits, k, capacity, blocks, pages, children } = *self;
        let bits = page_bits.checked_mul(pages).and_then(|block| block.checked_mul(blocks));
        let ok = page_bits.is_multiple_of(64)
            && (64..=8 * MAX_PAGE_BYTES).contains(&page_bits)
            && (1..=MAX_K).contains(&k)
            && capacity > 0
            && (1..=MAX_BLOCKS).contains(&blocks)
            && (1..=MAX_BLOCK_PAGES).contains(&pages)
            && (2..=MAX_CHILDREN).contains(&children)
            && bits.is_some_and(|bits| bits <= MAX_CELLS);
        if ok { Ok(()) } else { Err(Error::corrupt(0, "corrupt filter: an impossible forest")) }
    }

    fn probe(&self) -> Probe {
        Probe::over(self.page_bits, self.k)
    }

    /// Pages of the first layer.
    pub(super) fn first_layer(&self) -> u64 {
        self.blocks * self.pages
    }

    /// The union bound on the chance that one of so many pages overflows with `n` keys.
    pub(super) fn overflow(pages: u64, capacity: u32, n: u64) -> f64 {
        let one = tail::binomial_at_least(n, 1.0 / pages as f64, u64::from(capacity) + 1);
        pages as f64 * one
    }
}

/// Which blocks there are, and how many keys each of their pages holds: what stays in memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Directory {
    pub(super) shape: Shape,
    /// In order of allocation, the first layer first; block i owns the pages from i·δ on.
    pub(super) blocks: Vec<Block>,
    /// The place of a block among them, by its number.
    pub(super) places: BTreeMap<u64, usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    id: u64,
    pub(super) counts: Vec<u32>,
}

state!(plain Block { id, counts });

/// Where the pages are.
pub(super) trait PageSet {
    /// Whether all those bits of a page are ones.
    fn has(&self, page: u64, bits: &Indices) -> Result<bool>;

    /// Sets those bits of a page.
    fn set(&mut self, page: u64, bits: &Indices) -> Result<()>;

    /// Adds a block of zero pages.
    fn grow(&mut self, shape: &Shape) -> Result<()>;
}

impl Directory {
    pub(super) fn new(shape: Shape) -> Self {
        let mut directory = Self { shape, blocks: Vec::new(), places: BTreeMap::new() };
        (1..=shape.blocks).for_each(|id| directory.add(id));
        directory
    }

    fn add(&mut self, id: u64) {
        self.places.insert(id, self.blocks.len());
        self.blocks.push(Block { id, counts: vec![0; self.shape.pages as usize] });
    }

    /// The blocks on a key's way down, by number, as far as numbers go; most are not allocated.
    fn way(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let Shape { blocks, children, .. } = self.shape;
        let first = 1 + multiply_shift(digest.word(BLOCK), blocks);
        let mut layer = 0;
        std::iter::successors(Some(first), move |block| {
            let child = 1 + multiply_shift(digest.word(CHILD + layer), children);
            layer += 1;
            child_id(blocks, children, *block, child)
        })
    }

    /// The allocated part of a key's way: places of blocks, and the page in each.
    pub(super) fn walk(&self, digest: Digest) -> impl Iterator<Item = (usize, u64)> {
        let page = multiply_shift(digest.word(PAGE), self.shape.pages);
        let places = self.way(digest).map_while(|id| self.places.get(&id).copied());
        places.map(move |place| (place, page))
    }

    /// The bits of a key in its page at a layer; each layer has hash functions of its own.
    pub(super) fn bits(&self, digest: Digest, layer: usize) -> Indices {
        self.shape.probe().collect(digest.salted(layer as u64), Coincide::PerHash)
    }

    pub(super) fn number(&self, place: usize, page: u64) -> u64 {
        place as u64 * self.shape.pages + page
    }

    pub(super) fn contains(&self, digest: Digest, pages: &impl PageSet) -> Result<bool> {
        for (layer, (place, page)) in self.walk(digest).enumerate() {
            if pages.has(self.number(place, page), &self.bits(digest, layer))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Inserts a key that is not there into the first page on its way that has room, in a new block if
    /// none has.
    pub(super) fn insert(&mut self, digest: Digest, pages: &mut impl PageSet) -> Result<Seen> {
        if self.contains(digest, pages)? {
            return Ok(Seen::Maybe);
        }
        let room = |&(_, (place, page)): &(usize, (usize, u64))| {
            self.blocks[place].counts[page as usize] < self.shape.capacity
        };
        let found = self.walk(digest).enumerate().find(room);
        let (layer, (place, page)) = match found {
            Some(found) => found,
            None => {
                let layers = self.walk(digest).count();
                let child = self.way(digest).nth(layers).ok_or_else(|| {
                    Error::new(
                        Kind::CapacityExceeded,
                        "the forest cannot grow: the numbers of its blocks are used up; start a new \
                         one with more blocks in the first layer",
                    )
                })?;
                pages.grow(&self.shape)?;
                self.add(child);
                (
                    layers,
                    (self.blocks.len() - 1, multiply_shift(digest.word(PAGE), self.shape.pages)),
                )
            }
        };
        pages.set(self.number(place, page), &self.bits(digest, layer))?;
        self.blocks[place].counts[page as usize] += 1;
        Ok(Seen::New)
    }

    /// The layer of a block, from 1.
    fn layer(&self, mut id: u64) -> u32 {
        let mut layer = 1;
        while id > self.shape.blocks {
            id = (id - self.shape.blocks - 1) / self.shape.children + 1;
            layer += 1;
        }
        layer
    }

    pub(super) fn layers(&self) -> u32 {
        self.places.last_key_value().map_or(0, |(id, _)| self.layer(*id))
    }

    /// P(a non-member passes), 1 − Π(1 − f_j) along its way, averaged over all ways; `rate(page)` is a page's.
    pub(super) fn rate(&self, rate: impl Fn(u64) -> f64) -> f64 {
        let Shape { blocks, pages, children, .. } = self.shape;
        let mut absent: Vec<Vec<f64>> = vec![Vec::new(); self.blocks.len()];
        // Children have larger numbers than their parents.
        for (&id, &place) in self.places.iter().rev() {
            let below: Vec<usize> = (1..=children)
                .filter_map(|c| self.places.get(&child_id(blocks, children, id, c)?).copied())
                .collect();
            let missing = children as f64 - below.len() as f64;
            let page = |page: u64| {
                let down: f64 = below.iter().map(|child| absent[*child][page as usize]).sum();
                (1.0 - rate(self.number(place, page))) * (missing + down) / children as f64
            };
            absent[place] = (0..pages).map(page).collect();
        }
        let first = self.places.range(..=blocks).flat_map(|(_, place)| &absent[*place]);
        1.0 - first.sum::<f64>() / self.shape.first_layer() as f64
    }
}

impl State for Directory {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.shape.save("shape", out);
            self.blocks.save("blocks", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let shape = Shape::load("shape", src)?;
            let blocks: Vec<Block> = Vec::load("blocks", src)?;
            let places: BTreeMap<u64, usize> = blocks.iter().map(|b| b.id).zip(0..).collect();
            let first = |(place, block): (usize, &Block)| {
                let parent = |id: u64| (id - shape.blocks - 1) / shape.children + 1;
                // The first layer is whole and in order, and every other block hangs on one before it.
                if (place as u64) < shape.blocks {
                    block.id == place as u64 + 1
                } else {
                    block.id > shape.blocks
                        && places.get(&parent(block.id)).is_some_and(|up| *up < place)
                }
            };
            let counted = |block: &Block| {
                block.counts.len() as u64 == shape.pages
                    && block.counts.iter().all(|count| *count <= shape.capacity)
            };
            let fits = blocks.len() as u64 >= shape.blocks
                && places.len() == blocks.len()
                && blocks.iter().enumerate().all(first)
                && blocks.iter().all(counted);
            if fits {
                Ok(Self { shape, blocks, places })
            } else {
                Err(src.corrupt("the blocks are not those of a forest"))
            }
        })
    }
}
