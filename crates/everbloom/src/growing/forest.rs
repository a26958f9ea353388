//! The forest-structured Bloom filter, FBF (Lu, Debnath, Du 2011; catalogue I13; S3 §V-C).
//!
//! A filter larger than memory, on pages of a flash disk. Every page is a small Bloom filter with room for
//! so many keys; δ pages make a block, λ blocks the first layer. Hashes choose a key's block and its page.
//! When that page is full the key goes to the same page of a child of the block, which is chosen among ς by
//! a further hash, and is allocated when it is first needed:
//!
//! ```text
//!   layer 1     [ 1 ]      [ 2 ]          [ 3 ]      [ 4 ]        λ = 4 blocks
//!                          ╱ │ ╲ ╲
//!   layer 2             [9][10] ·  ·                              ς = 4 children each, 5 to 20
//!                           │                                     x: block 2, page 10; page full?
//!   layer 3               · · · ·                                 then page 10 of block 10
//! ```
//!
//! Blocks are numbered from 1 through all layers, so that child c of block b is λ + (b − 1)·ς + c. A query
//! walks down until a page says yes or there is no further child: at most l pages of one read each, and
//! f = 1 − Π(1 − f_j) over them, 1 − (1 − f_r)^l if all are full.
//!
//! Two faces of one structure: [`Forest`] holds all pages in memory and is saved as one file; a
//! [`ForestStore`](super::ForestStore) is a folder of pages (`pages`) of which a bounded number
//! is in memory. Changed pages wait there and are written block by block. Both answer alike, bit for bit.
//!
//! A key that seems to be there is not inserted again; otherwise it would be stored at two layers once its
//! first page is full.
//!
//! **Use it** where the filter does not fit in memory and grows. **Don't** where it fits (`scalable`, whose
//! overall rate has a limit), or when keys must be removed.

use std::path::Path;

use super::directory::{
    Directory, MAX_BLOCK_PAGES, MAX_BLOCKS, MAX_CHILDREN, MAX_PAGE_BYTES, OVERFLOW, PageSet,
};
pub use super::directory::{Shape, child_id, rate_of_layers};
use crate::cells::Bits;
use crate::filter::paged;
use crate::memory::check_room;
use crate::pages::{Manifest, Pages};
use crate::probe::{Indices, MAX_K};
use crate::theory::search::least_integer;
use crate::theory::{blocked, bloom as theory};
use crate::variant::prelude::*;

/// A forest in memory.
///
/// ```
/// let mut seen = everbloom::growing::Forest::with_rate(1000, 0.01)?;
/// seen.insert("apple")?;
/// assert!(seen.contains("apple") && !seen.contains("pear"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    head: Head,
    directory: Directory,
    pages: Vec<Bits>,
}

state!(Forest { head, directory, pages });

impl PageSet for Vec<Bits> {
    fn has(&self, page: u64, bits: &Indices) -> Result<bool> {
        let page = &self[page as usize];
        Ok(bits.iter().all(|i| page.get(*i)))
    }

    fn set(&mut self, page: u64, bits: &Indices) -> Result<()> {
        let page = &mut self[page as usize];
        bits.iter().for_each(|i| {
            page.set(*i);
        });
        Ok(())
    }

    fn grow(&mut self, shape: &Shape) -> Result<()> {
        let block = (0..shape.pages).map(|_| Bits::try_new(shape.page_bits));
        self.extend(block.collect::<Result<Vec<_>>>()?);
        Ok(())
    }
}

impl Forest {
    /// An empty forest of a shape made by hand.
    pub fn with_shape(shape: Shape, hasher: Hasher) -> Result<Self> {
        check_room(shape.first_layer() * shape.page_bits)?;
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// Inserts a key, unless it seems to be there.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let seen = self.directory.insert(self.head.hasher.digest(key), &mut self.pages)?;
        if seen == Seen::New {
            self.head.count(1);
        }
        Ok(seen)
    }

    /// Whether the key may be a member.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        // Pages in memory are always there.
        self.directory.contains(self.head.hasher.digest(key), &self.pages).unwrap_or(true)
    }

    /// The pages that a query for the key reads.
    pub fn pages_read<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let digest = self.head.hasher.digest(key);
        let full = |&(layer, (place, page)): &(usize, (usize, u64))| {
            let number = self.directory.number(place, page);
            self.pages.has(number, &self.directory.bits(digest, layer)).unwrap_or(false)
        };
        let mut walk = self.directory.walk(digest).enumerate();
        let all = self.directory.walk(digest).count() as u64;
        walk.find(full).map_or(all, |(layer, _)| layer as u64 + 1)
    }

    /// Number of layers.
    pub fn layers(&self) -> u32 {
        self.directory.layers()
    }

    /// The numbers of the blocks there are, in order.
    pub fn blocks(&self) -> impl Iterator<Item = u64> {
        self.directory.places.keys().copied()
    }

    /// Keys in every page of a block, by the block's number.
    pub fn page_items(&self, block: u64) -> Option<&[u32]> {
        let place = self.directory.places.get(&block)?;
        Some(&self.directory.blocks[*place].counts)
    }

    /// The bits of a page of a block, by the block's number.
    pub fn page(&self, block: u64, page: u64) -> Option<&Bits> {
        let place = self.directory.places.get(&block)?;
        self.pages.get(self.directory.number(*place, page) as usize)
    }

    /// All pages of a store.
    pub(super) fn read(head: Head, directory: Directory, store: &Pages) -> Result<Self> {
        let mut pages = Vec::new();
        for number in 0..store.len() {
            let mut bits = Bits::new(directory.shape.page_bits);
            store.look(number, |words| bits.set_mask(0, words))?;
            pages.push(bits);
        }
        Ok(Self { head, directory, pages })
    }

    /// Writes the forest as a page store.
    pub fn save_pages(&self, folder: &Path) -> Result<()> {
        let Shape { page_bits, pages: block, .. } = self.directory.shape;
        let shape = [page_bits / 64, block, self.pages.len() as u64];
        let page = |number: u64| Ok(self.pages[number as usize].words());
        paged::save(folder, shape, page, (&VARIANT.facts, &self.head, &self.directory))
    }

    fn check(&self) -> Result<()> {
        let Shape { page_bits, pages, .. } = self.directory.shape;
        let wanted = (self.directory.blocks.len() as u64).checked_mul(pages);
        let all = self.pages.iter().all(|page| page.len() == page_bits);
        if wanted == Some(self.pages.len() as u64) && all {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: the pages are not those of its blocks"))
        }
    }
}

impl Plan for Forest {
    type Shape = Shape;

    /// A page of the size of the disk's takes as many keys as keep it at the rate asked for. The first layer
    /// has so many pages that all keys fit, though hashes fill them unevenly: it is the rate of the whole
    /// then. Blocks have 16 pages, or fewer if that is all there are.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let page_bytes = request.whole("page");
        let page_bits = page_bytes * 8;
        let children = request.whole("children");
        let [blocks, pages] = ["blocks", "pages"].map(|name| request.integer(name));
        // Keys a page takes, with the k that makes them most.
        let room = |p: f64| {
            let best = (-libm::log2(p)).floor().clamp(1.0, f64::from(MAX_K - 1)) as u32;
            let ks = request.integer(PARAM_K.name).map_or(best..=best + 1, |k| k as u32..=k as u32);
            let rooms = ks.map(|k| (theory::capacity(page_bits as f64, k.into(), p) as u32, k));
            rooms.max_by_key(|(capacity, k)| (*capacity, std::cmp::Reverse(*k))).unwrap_or((0, 1))
        };
        let sized = |n: u64, p: f64| {
            let (room, k) = room(p);
            let capacity = request.integer("capacity").map_or(room, |c| c as u32);
            if capacity == 0 {
                return None;
            }
            let fewest = n.div_ceil(capacity.into()).max(1);
            let enough = |pages: u64| Shape::overflow(pages, capacity, n) <= OVERFLOW;
            // Small pages fill so unevenly that some overflow is cheaper than none.
            let wanted = least_integer(fewest, fewest.saturating_mul(2), enough);
            let blocks = blocks.unwrap_or_else(|| wanted.div_ceil(pages.unwrap_or(16)));
            let pages = pages.unwrap_or_else(|| wanted.div_ceil(blocks).min(MAX_BLOCK_PAGES));
            Some(Shape { page_bits, k, capacity, blocks, pages, children })
        };
        let bits = |shape: Option<Shape>| {
            shape.map_or(f64::INFINITY, |s| s.blocks as f64 * s.pages as f64 * page_bits as f64)
        };
        let (n, p) = request.items_and_rate(|n, p| bits(sized(n, p)))?;
        let shape = sized(n, p).ok_or_else(|| {
            Error::parameter(format!(
                "a page of {page_bytes} bytes holds not even one key at a rate of {p}: set a larger {{page}} or a \
                higher {{rate}}"
            ))
        })?;
        Shape::new(page_bytes, shape.k, shape.capacity, shape.blocks, shape.pages, children)
    }

    /// While the first layer is enough. Beyond that, how many blocks there are is a matter of chance.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (pages, n) = (shape.first_layer(), load.distinct);
        if Shape::overflow(pages, shape.capacity, n) > OVERFLOW {
            return None;
        }
        let Shape { page_bits, k, .. } = *shape;
        let fill = blocked::fill(pages as f64, page_bits as f64, k.into(), n as f64);
        let fpr = blocked::fpr_rows(pages, page_bits, n, k);
        Some(Expect::one_sided(fpr, pages * page_bits, Some((fill.0, fill.1.sqrt()))).probing(k))
    }
}

impl Stream for Forest {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let mut pages = Vec::new();
        (0..shape.blocks).try_for_each(|_| pages.grow(shape))?;
        Ok(Self { head, directory: Directory::new(*shape), pages })
    }
}

face!(Forest: Insert);
planned!(Forest);

impl Filter for Forest {
    fn save_pages(&self, folder: &Path) -> Result<()> {
        Self::save_pages(self, folder)
    }

    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        let ones: u64 = self.pages.iter().map(Bits::ones).sum();
        Some(ones as f64 / (self.pages.len() as f64 * self.directory.shape.page_bits as f64))
    }

    fn now(&self) -> Rates {
        let k = self.directory.shape.k;
        let rate = |page: u64| libm::pow(self.pages[page as usize].fill(), k.into());
        Rates::one_sided(self.directory.rate(rate))
    }

    fn describe(&self) -> Vec<Fact> {
        let Shape { page_bits, k, capacity, blocks, pages, children } = self.directory.shape;
        vec![
            fact("bytes per page", page_bits / 8),
            fact("k", k),
            fact("keys per page", capacity),
            fact("blocks in the first layer", blocks),
            fact("pages per block", pages),
            fact("children", children),
            fact("blocks", self.directory.blocks.len() as u64),
            fact("layers", self.layers()),
        ]
    }

    /// The cells of the pages on the key's way.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let mut cells = Vec::new();
        for (layer, (place, page)) in self.directory.walk(digest).enumerate() {
            let number = self.directory.number(place, page);
            let bits = &self.pages[number as usize];
            cells.extend(self.directory.bits(digest, layer).iter().map(|i| {
                let value = u64::from(bits.get(*i));
                let index = number * bits.len() + i;
                Touched { index, value, agrees: value != 0 }
            }));
        }
        cells
    }
}

impl Insert for Forest {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        Forest::insert(self, record.key)
    }
}

/// Head and directory of a store, which its pages must fit.
pub(super) fn committed(
    pages: &Pages,
    manifest: &Manifest,
    head: Head,
) -> Result<(Head, Directory)> {
    let (head, directory): (Head, Directory) = paged::committed(manifest, &VARIANT.facts, head)?;
    let Shape { page_bits, pages: per_block, .. } = directory.shape;
    let wanted = (directory.blocks.len() as u64).checked_mul(per_block);
    let fits = wanted == Some(pages.len())
        && pages.words() as u64 * 64 == page_bits
        && pages.block() == per_block;
    if fits {
        Ok((head, directory))
    } else {
        Err(Error::corrupt(0, "corrupt manifest: the pages are not those of its blocks"))
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::paged::<Forest>(
    Facts {
        id: 41,
        slug: "forest",
        entry: "I13",
        question: "Is it in the set, in a filter larger than memory?",
        name: "Forest-structured Bloom filter",
        paper: "G. Lu, B. Debnath, D. H. C. Du, A forest-structured Bloom filter with flash memory, MSST 2011",
        family: "growing",
        needs: &["membership", "grow"],
        meaning: "items are the keys of the first layer, memory is its memory; the rate is that of a full page; it \
                  holds while one layer is enough, and is 1 − (1 − p)^l with l layers",
        forms: &[Form::exact(FORM, &[Ability::Insert])],
        params: &[
            Param::integer("page", 8, MAX_PAGE_BYTES, "bytes per page, a multiple of 8")
                .or(Preset::Integer(4096)),
            PARAM_K,
            Param::integer(
                "capacity",
                1,
                1 << 24,
                "keys per page; by default as many as the rate allows",
            ),
            Param::integer(
                "blocks",
                1,
                MAX_BLOCKS,
                "blocks in the first layer; by default enough for all items",
            ),
            Param::integer("pages", 1, MAX_BLOCK_PAGES, "pages per block; by default up to 16"),
            Param::integer("children", 2, MAX_CHILDREN, "children of a block in the next layer")
                .or(Preset::Integer(4)),
        ],
        ..Facts::FILTER
    },
    |pages, manifest, head| {
        let (head, directory) = committed(pages, manifest, head)?;
        Ok(Box::new(Forest::read(head, directory, pages)?))
    },
);
