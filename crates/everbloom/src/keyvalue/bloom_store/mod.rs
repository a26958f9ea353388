//! BloomStore, a key–value store of filters and pages (Lu, Nam, Du 2012; catalogue §16; S3 §VI-D).
//!
//! Pairs are written a page at a time and never changed in place, as flash memory wants it. Each page has a filter
//! of its keys, and a lookup reads only the pages whose filters claim the key:
//!
//! ```text
//!   put ──▶ buffer, in memory ──full──▶ page 7
//!   get ──▶ buffer? ──▶ filter 7? page 7 · filter 6? – · filter 5? page 5 …   newest first, the first match wins
//!
//!   filters, column by column:   bit 0 of all   1 0 0 1 0 1 1 0       one read a position tells all pages:
//!                                bit 1 of all   0 1 0 1 1 0 0 1       the AND of a key's k columns are those
//!                                    ⋮                                that may hold it
//! ```
//!
//! The newest value wins; a deletion is a tombstone, which ends the search, so that no older value comes back.
//! Answers are exact: a filter only decides whether its page is read. With c pages at rate f, 1 − (1 − f)^c of all
//! lookups of absent keys read a page in vain, c·f pages on average; one of a key that is there, half of that.
//! So keys are divided by hash into ranges with a chain of pages each.
//!
//! [`compact`](BloomStore::compact) rewrites live pairs and leaves behind what newer values and tombstones hide.
//! On disk ([`BloomStore`]) pages have checksums, a bounded number of them is in memory, and a commit is there whole
//! or not at all: a crash at any byte loses nothing that was committed. [`BloomStoreImage`] has all pages in memory.
//! (The paper's filter of the buffer is not needed: the buffer is a map. S3's table says that nothing can be
//! deleted, its text that deletion is logical; both are true.)
//!
//! **Slow:** a pair is written to a page, and read by going through the page that holds it, newest pages first.
//!
//! **Use it** for many small pairs that do not fit in memory and are written far more often than read. **Don't**
//! for sets without values (`forest`), or for values that never change (`bloomier`).

mod chains;
mod page;
mod store;

pub use chains::Shape;
pub use store::BloomStore;

use std::path::Path;

use chains::{BLOCK, Chains, MAX_PAGE_BYTES, MAX_PAIRS, MAX_RANGES, PageSet};
use page::Pairs;

use crate::filter::paged;
use crate::memory::Words;
use crate::pages::Pages;
use crate::parts::labels::label_of;
use crate::parts::several::flat_for;
use crate::plan::check_cells;
use crate::state::{Decoder, Encoder, Role, State};
use crate::variant::prelude::*;

/// A store with all its pages in memory: what files hold, and folders are made from.
///
/// ```
/// let mut store = everbloom::keyvalue::BloomStoreImage::with_rate(1000, 0.01)?;
/// store.put("apple", b"fruit")?;
/// store.put("apple", b"company")?;
/// assert_eq!(store.get("apple"), Some(b"company".to_vec()));
/// store.delete("apple")?;
/// assert_eq!(store.get("apple"), None);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BloomStoreImage {
    head: Head,
    chains: Chains,
    blocks: Vec<Block>,
}

state!(BloomStoreImage { head, chains, blocks });

/// Data pages, and the columns of their filters.
#[derive(Clone, Debug, PartialEq)]
struct Block {
    data: Words,
    columns: Words,
}

impl State for Block {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            let (data, columns) = (self.data.len() as u64, self.columns.len() as u64);
            out.array("data", Role::Auxiliary, data, &self.data);
            out.array("columns", Role::Cells { bits: 64 * columns }, columns, &self.columns);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (data_len, data) = src.array("data")?;
            let (columns_len, columns) = src.array("columns")?;
            if (data_len, columns_len) == (data.len() as u64, columns.len() as u64) {
                return Ok(Self { data, columns });
            }
            Err(src.corrupt("pages of other lengths than they say"))
        })
    }
}

/// The pages of blocks in memory, which are as long as the shape says.
struct InMemory<'a>(&'a [Block], Shape);

/// The same to be changed.
struct InMemoryMut<'a>(&'a mut Vec<Block>, Shape);

/// The words of a page in its block, and whether they are columns.
fn span(shape: &Shape, page: u64) -> (usize, bool, std::ops::Range<usize>) {
    let (block, inside) = (page / shape.stride(), page % shape.stride());
    let (columns, words) = (inside >= BLOCK, shape.words as usize);
    let at = (if columns { inside - BLOCK } else { inside }) as usize * words;
    (block as usize, columns, at..at + words)
}

impl InMemory<'_> {
    fn page(&self, page: u64) -> Result<&[u64]> {
        let (block, columns, range) = span(&self.1, page);
        let block = self.0.get(block).map(|b| if columns { &b.columns } else { &b.data });
        block.and_then(|words| words.get(range)).ok_or_else(|| no_page(page))
    }
}

fn no_page(page: u64) -> Error {
    Error::corrupt(0, format!("corrupt store: there is no page {page}"))
}

impl PageSet for InMemory<'_> {
    fn look<R>(&self, page: u64, look: impl FnOnce(&[u64]) -> R) -> Result<R> {
        self.page(page).map(look)
    }

    fn change(&mut self, page: u64, _: impl FnOnce(&mut [u64])) -> Result<()> {
        Err(no_page(page))
    }

    fn grow(&mut self, _: &Shape) -> Result<()> {
        Err(Error::unsupported("these pages are read-only"))
    }
}

impl PageSet for InMemoryMut<'_> {
    fn look<R>(&self, page: u64, look: impl FnOnce(&[u64]) -> R) -> Result<R> {
        InMemory(self.0, self.1).page(page).map(look)
    }

    fn change(&mut self, page: u64, change: impl FnOnce(&mut [u64])) -> Result<()> {
        let (block, columns, range) = span(&self.1, page);
        let block = self.0.get_mut(block).ok_or_else(|| no_page(page))?;
        let words = if columns { block.columns.make_mut() } else { block.data.make_mut() };
        words.get_mut(range).map(change).ok_or_else(|| no_page(page))
    }

    fn grow(&mut self, shape: &Shape) -> Result<()> {
        let zeros = |pages: u64| Words::try_zeroed((pages * shape.words) as usize);
        self.0.push(Block { data: zeros(BLOCK)?, columns: zeros(shape.stride() - BLOCK)? });
        Ok(())
    }
}

impl BloomStoreImage {
    fn in_memory(&self) -> InMemory<'_> {
        InMemory(&self.blocks, self.chains.shape)
    }

    fn look_up(&self, key: &[u8]) -> Result<chains::Lookup> {
        self.chains.get(&self.in_memory(), &self.head.hasher, key)
    }

    fn put_bytes(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let mut pages = InMemoryMut(&mut self.blocks, self.chains.shape);
        self.chains.put(&mut pages, &self.head.hasher, key, value)
    }

    /// Puts a pair; the newest value of a key is the one that counts.
    pub fn put<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<Seen> {
        key.with_bytes(|key| {
            let new = self.look_up(key)?.value.is_none();
            self.put_bytes(key, Some(value))?;
            self.head.count(new.into());
            Ok(Seen::new_if(new))
        })
    }

    /// The newest value of a key, unless it was deleted.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Option<Vec<u8>> {
        // Pages in memory were checked when they were read.
        key.with_bytes(|key| self.look_up(key).ok().and_then(|found| found.value))
    }

    /// Deletes a key by putting a tombstone; refused if it is not there.
    pub fn delete<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        key.with_bytes(|key| {
            if self.look_up(key)?.value.is_none() {
                return Err(Error::new(Kind::NotDeletable, "the key is not in the store"));
            }
            self.put_bytes(key, None)?;
            self.head.count_off();
            Ok(())
        })
    }

    /// Rewrites live pairs and leaves older values and deleted keys behind; says how many pages that saves.
    pub fn compact(&mut self) -> Result<u64> {
        let mut pages = InMemoryMut(&mut self.blocks, self.chains.shape);
        self.chains.compact(&mut pages, &self.head.hasher)
    }

    /// The data pages that a lookup of the key reads.
    pub fn pages_read<K: Key + ?Sized>(&self, key: &K) -> u64 {
        key.with_bytes(|key| self.look_up(key).map_or(0, |found| found.reads))
    }

    /// Data pages of all chains.
    pub fn data_pages(&self) -> u64 {
        self.chains.pages()
    }

    /// All pages of a store.
    fn read(head: Head, chains: Chains, store: &Pages) -> Result<Self> {
        let mut blocks = Vec::new();
        let shape = chains.shape;
        for _ in 0..chains.blocks() {
            InMemoryMut(&mut blocks, shape).grow(&shape)?;
        }
        for page in 0..store.len() {
            let mut pages = InMemoryMut(&mut blocks, shape);
            store.look(page, |words| pages.change(page, |to| to.copy_from_slice(words)))??;
        }
        let this = Self { head, chains, blocks };
        this.check()?;
        Ok(this)
    }

    /// Writes the store as a folder of pages.
    pub fn save_pages(&self, folder: &Path) -> Result<()> {
        let shape = self.chains.shape;
        let (memory, block) = (self.in_memory(), shape.stride());
        let count = self.blocks.len() as u64 * block;
        let page = |number: u64| memory.page(number);
        let parts = (&VARIANT.facts, &self.head, &self.chains);
        paged::save(folder, [shape.words, block, count], page, parts)
    }

    fn check(&self) -> Result<()> {
        let shape = self.chains.shape;
        let data = (BLOCK * shape.words) as usize;
        let columns = ((shape.stride() - BLOCK) * shape.words) as usize;
        let fits = |b: &Block| (b.data.len(), b.columns.len()) == (data, columns);
        let all = self.chains.blocks() == self.blocks.len() as u64;
        if !all || !self.blocks.iter().all(fits) {
            return Err(self.chains.wrong_pages());
        }
        for page in self.chains.page_numbers() {
            Pairs::decoded(&page::bytes_of(self.in_memory().page(page)?))?;
        }
        Ok(())
    }
}

/// Nothing is predicted: how many pages there are depends on how long the pairs are.
impl Plan for BloomStoreImage {
    type Shape = Shape;

    /// The filters of all pages fit the memory; ranges are so many that a chain has about [`BLOCK`] pages.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let page = request.whole("page");
        let words = page.div_ceil(8).max(2);
        let pairs = request.integer("pairs").unwrap_or((page / PAIR_BYTES).max(1));
        let ranges_for = |n: u64| {
            let planned = n.div_ceil(pairs).div_ceil(BLOCK).clamp(1, MAX_RANGES);
            request.integer("ranges").unwrap_or(planned)
        };
        // A block of columns is made of whole pages.
        let columns = |p: f64| flat_for(pairs, p).m.div_ceil(words) * words;
        let bits = |n: u64, p: f64| {
            let ranges = ranges_for(n);
            let blocks = n.div_ceil(ranges).div_ceil(pairs).div_ceil(BLOCK).max(1) * ranges;
            // Ranges fill unevenly: some take a block more.
            let blocks = if ranges > 1 { 2 * blocks } else { blocks };
            blocks as f64 * (columns(p) * BLOCK) as f64
        };
        let (n, p) = request.items_and_rate(bits)?;
        check_cells(n, p, bits(n, p))?;
        let Flat { m, k } = flat_for(pairs, p);
        let shape = Shape { words, pairs, m, k, ranges: ranges_for(n) };
        shape.check().map_err(|_| {
            Error::parameter(format!(
                "filters of {m} bits and {k} probes for pages of {page} bytes and {pairs} pairs: use a higher \
                {{rate}}, or for fewer {{pairs}} in a page"
            ))
        })?;
        Ok(shape)
    }
}

impl Stream for BloomStoreImage {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, chains: Chains::new(*shape), blocks: Vec::new() })
    }
}

face!(BloomStoreImage: Insert, Remove, Lookup, Assign);
planned!(BloomStoreImage: "An empty store for `items` pairs whose pages have filters of rate `fpr`.");

impl Filter for BloomStoreImage {
    fn save_pages(&self, folder: &Path) -> Result<()> {
        Self::save_pages(self, folder)
    }

    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let value = self.look_up(record.key)?.value;
        Ok(value.map_or(Answer::of(false), |v| Answer::of(true).with(Detail::Value(v))))
    }

    /// Keys are compared on their page: no answer is wrong.
    fn now(&self) -> Rates {
        Rates::one_sided(0.0)
    }

    fn describe(&self) -> Vec<Fact> {
        self.chains.describe()
    }
}

impl Insert for BloomStoreImage {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let value = label_of(&record)
            .map_err(|_| Error::record("the key has no value: write KEY, a TAB and the value"))?;
        self.put(record.key, value)
    }
}

impl Remove for BloomStoreImage {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        self.delete(record.key)
    }
}

impl Lookup for BloomStoreImage {
    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        BloomStoreImage::get(self, key)
    }
}

impl Assign for BloomStoreImage {
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put(key, value).map(drop)
    }
}

/// The share of lookups of absent keys that read a page unnecessarily, 1 − (1 − f)^c with `pages` pages, and the
/// pages that
/// they read, c·f.
pub fn useless_reads(pages: u64, f: f64) -> (f64, f64) {
    (-libm::expm1(pages as f64 * libm::log1p(-f)), pages as f64 * f)
}

/// Bytes of a pair, where nothing is said.
const PAIR_BYTES: u64 = 32;

/// The list entry.
pub static VARIANT: Variant = Variant::paged::<BloomStoreImage>(
    Facts {
        id: 72,
        slug: "bloom-store",
        entry: "§16",
        question: "What value does this key have, in a store larger than memory?",
        name: "BloomStore",
        paper: "G. Lu, Y. J. Nam, D. H. C. Du, BloomStore: Bloom filter based memory-efficient key-value store for indexing of data deduplication on flash, MSST 2012",
        family: "keyvalue",
        needs: &["values", "delete", "grow", "groups"],
        input: Input::valued(ValueKind::Bytes),
        meaning: "items are keys with a value; the rate is that of lookups that the filter of a page sends to the \
                  wrong page; answers are exact; memory is that of the filters",
        forms: &[Form::exact("standard", &[Ability::Insert, Ability::Remove, Ability::Lookup])],
        operations: &[change!(
            BloomStoreImage,
            "compact",
            "Rewrite the live pairs; older values and deleted keys are left out.",
            [],
            [],
            |store, _| Ok(store.compact()? > 0)
        )],
        params: &[
            Param::integer("page", 64, MAX_PAGE_BYTES, "bytes per page").or(Preset::Integer(4096)),
            Param::integer(
                "pairs",
                1,
                MAX_PAIRS,
                "maximum number of pairs per page; by default one per 32 bytes",
            ),
            Param::integer(
                "ranges",
                1,
                MAX_RANGES,
                "key ranges, with a chain of pages each; by default one for 64 pages",
            ),
        ],
        reach: 1_000_000,
        ..Facts::FILTER
    },
    |pages, manifest, head| {
        let (head, chains) = store::committed(pages, manifest, head)?;
        Ok(Box::new(BloomStoreImage::read(head, chains, pages)?))
    },
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_whose_pages_do_not_fit_are_refused() {
        let mut store =
            BloomStoreImage::builder().items(100).set("page", 64).set("pairs", 2).build().unwrap();
        (0..50u64).for_each(|key| _ = store.put(&key, b"value").unwrap());
        let lies: [fn(&mut BloomStoreImage); 5] = [
            |s| s.blocks.clear(),
            |s| s.chains.shape.words = 16,
            |s| s.chains.shape.ranges = 2,
            |s| s.blocks[0].data.make_mut()[0] = 99,
            |s| s.blocks[0].columns = Words::zeroed(3),
        ];
        lies_are_refused(&store, lies);
    }
}
