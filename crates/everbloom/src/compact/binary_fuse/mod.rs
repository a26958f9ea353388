//! The binary fuse filter (Graf, Lemire 2022; catalogue B4; S0 ref. 6, 33, 34): a fixed set in 9 bits a key
//! for a rate of 1/256, and three bytes to look at.
//!
//! Every key names three cells, and the cells are chosen such that for each member their exclusive or is
//! the key's fingerprint φ, r bits. The three cells of a non-member give something unrelated, so 2^−r of
//! the non-members pass, and no member fails:
//!
//! ```text
//!   segments      │   0    │   1    │   2    │   3    │   4    │  of L cells
//!                          │   ▣    │    ▣   │ ▣      │             Z[▣] ⊕ Z[▣] ⊕ Z[▣] = φ(x)
//!   a key's cells lie in three neighboring segments, one in each
//! ```
//!
//! The cells are found by peeling: a cell that only one key names is that key's own, to be settled last;
//! without that key others have cells of their own. With cells anywhere, 1.22 per key are needed before
//! that comes to an end with no key left. In neighboring segments peeling starts at the two ends, where
//! fewer keys overlap, and eats its way to the middle: 1.125 per key are enough, and with four segments
//! (form `four`) 1.075. It also works on a small part of the cells at a time, which is why it is fast. From 2^22 keys on
//! the cells are in parts, each with two ends, and every core solves for some.
//!
//! **Use it** for a set that is known in advance, never changes and is queried often. **Don't** if keys are added
//! later (`blocked`), or if the last tenth of the bits matters more than time (`ribbon`).

mod lookup;
mod peeling;
mod shape;
mod table;

use crate::cells::{Fields, Packed, View};
use crate::hash::{Generator, fold};
use crate::parts::static_set::{self, StaticSet, static_set};
use crate::plan::fingerprint::{Fingerprints, MAX_BITS, MEANING, PARAM_BITS};
use crate::solve::{ATTEMPTS, retry};
use crate::threads::Cores;
use crate::variant::many;
use crate::variant::prelude::*;

use lookup::{agree, agree_all, fingerprint, with_cells, worth_fetching};
use peeling::solve;
pub use shape::Geometry;
use shape::{COUNT, HASH_BITS};
use table::Table;

/// A fixed set as cells whose exclusive or is a fingerprint.
///
/// ```
/// use everbloom::BinaryFuse;
///
/// let filter = BinaryFuse::from_keys(["apple", "pear", "apple"], 0.0001)?;
/// assert!(filter.contains("pear"));
/// assert!(!filter.contains("plum"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BinaryFuse {
    head: Head,
    table: Table,
}

state!(BinaryFuse { head, ..table });

/// The golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// The hash of a digest under a seed. The digest is random already: the first seed, 0, takes it as it is,
/// and to make another seed another hypergraph one folded multiplication is enough.
#[inline]
fn reseeded(digest: u64, seed: u64) -> u64 {
    let hash = if seed == 0 { digest } else { fold(digest ^ seed, MIX) };
    hash & !COUNT
}

/// The rate of `n` keys with fingerprints of `r` bits: 2^−r, and the share of non-members whose hash is a
/// member's, which matters for the longest fingerprints alone.
pub fn false_positives(r: u32, n: u64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    libm::exp2(-f64::from(r)) + n as f64 * libm::exp2(-f64::from(HASH_BITS))
}

impl BinaryFuse {
    /// The filter of these keys with three cells each, and fingerprints of `bits` bits, 1 to 32; 8 and 16
    /// are the fastest.
    pub fn with_bits<I>(keys: I, bits: u32, hasher: Hasher) -> Result<Self>
    where
        I: IntoIterator<Item: Key>,
    {
        static_set::shaped(&Shape::three(bits), THREE, hasher, keys)
    }

    /// Whether the key may be a member.
    ///
    /// The common cases are a condition or two each and inlined; the others are cold functions.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let hasher = &self.head.hasher;
        let digest = || hasher.digest_by(HashId::Quick64, key).h1;
        match self.table.usually_has(hasher.id() == HashId::Quick64, digest) {
            Some(has) => has,
            None => self.has_otherwise(hasher.digest(key)),
        }
    }

    #[cold]
    #[inline(never)]
    fn has_otherwise(&self, digest: Digest) -> bool {
        self.has(digest)
    }

    /// Whether each of a slice of keys may be a member, in their order: several times as fast as one by one
    /// where the filter is larger than the cache.
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut found = vec![false; keys.len()];
        self.contains_many_into(keys, &mut found);
        found
    }

    /// [`BinaryFuse::contains_many`] into memory of the caller's, for as many keys as there is room.
    pub fn contains_many_into<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        self.asked(keys.iter(), found);
    }

    /// Whether each of the next keys may be a member, for as many as there is room; says how many there were.
    #[inline]
    fn asked(&self, keys: impl Iterator<Item: Key>, found: &mut [bool]) -> usize {
        if worth_fetching(self.table.geometry(), self.table.cells()) {
            return many::contains_into(self, keys, found);
        }
        // One by one, but the kind of cells is looked at once.
        let (hasher, geometry, seed) =
            (&self.head.hasher, self.table.geometry(), self.table.seed());
        let mut count = 0;
        with_cells!(geometry.arity, self.table.cells().view(), |cells, r, A| {
            for (found, key) in found.iter_mut().zip(keys) {
                let hash = reseeded(hasher.digest_usually(HashId::Quick64, &key).h1, seed);
                *found = agree(cells, geometry.around_from::<A>(0, hash), hash, r);
                count += 1;
            }
        });
        count
    }

    /// Whether each key of an iterator may be a member, in their order, at the speed of [`BinaryFuse::contains_many`].
    pub fn contains_iter<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> impl Iterator<Item = bool> {
        many::asked(keys.into_iter(), |mut keys, found| {
            let count = self.asked(keys.by_ref(), found);
            (Some(keys), count)
        })
    }

    /// Where cells lie.
    pub fn geometry(&self) -> &Geometry {
        self.table.geometry()
    }

    /// Seeds that were tried until the keys peeled.
    pub fn attempts(&self) -> u64 {
        self.table.attempts()
    }

    /// The cells.
    pub fn cells(&self) -> &Packed {
        self.table.cells()
    }

    fn check(&self) -> Result<()> {
        let (cells, items) = (self.table.cells().len(), self.head.items);
        let good = arity_of(self.head.form) == self.table.geometry().arity
            && cells == self.table.geometry().cells()
            && (cells == 0) == (items == 0)
            && items <= cells
            && self.table.cells().width() <= MAX_BITS
            && (1..=ATTEMPTS).contains(&self.table.attempts());
        if good {
            return Ok(());
        }
        Err(Error::corrupt(0, format!("corrupt filter: {cells} cells do not fit their geometry")))
    }
}

impl StaticSet for BinaryFuse {
    type Word = u64;

    fn assemble(shape: &Shape, head: Head, mut digests: Vec<u64>, cores: Cores) -> Result<Self> {
        let attempt = |(r, geometry): (u32, Geometry), digests: &[u64], seed, attempts: u64| {
            // Where there are too few segments, shorter ones help.
            let geometry = if attempts.is_multiple_of(2) { geometry.recut() } else { geometry };
            let (hash, of) = (|digest| reseeded(digest, seed), |hash| fingerprint(hash, r));
            let cells = match geometry.arity() {
                3 => solve::<3>(&geometry, r, digests, hash, of, cores),
                _ => solve::<4>(&geometry, r, digests, hash, of, cores),
            }?;
            let items = digests.len() as u64;
            let head = shape.bits.head(head.clone(), items, false_positives(r, items));
            Some(Self { head, table: Table::new(geometry, seed, attempts, cells) })
        };
        // Equal digests never peel, which looks like bad luck. So what peels has none, and they need not be
        // looked for before something does not.
        let settled = shape.settle(digests.len() as u64);
        let once = settled.ok().and_then(|settled| attempt(settled, &digests, 0, 1));
        if let Some(filter) = once {
            return Ok(filter);
        }
        // Two keys of one digest share a fingerprint, and both are found.
        digests.sort_unstable();
        digests.dedup();
        let settled = shape.settle(digests.len() as u64)?;
        let attempt = |seed, number, _: &mut _| attempt(settled, &digests, seed, number);
        retry(0, &mut Generator::new(0), attempt).ok_or_else(|| {
            Error::record(format!(
                "the {} keys did not peel under any of {ATTEMPTS} seeds, which random digests always do: build with \
                another hash seed",
                digests.len()
            ))
        })
    }

    #[inline]
    fn has(&self, digest: Digest) -> bool {
        let (geometry, hash) = (self.table.geometry(), reseeded(digest.h1, self.table.seed()));
        with_cells!(geometry.arity, self.table.cells().view(), |cells, r, A| {
            agree(cells, geometry.around::<A>(hash), hash, r)
        })
    }

    fn have(&self, digests: &[Digest], found: &mut [bool]) {
        let seed = self.table.seed();
        let hash = |digest: Digest| reseeded(digest.h1, seed);
        agree_all(self.table.geometry(), self.table.cells(), hash, digests, found);
    }
}

/// What the goal says of the cells; their number comes with the records.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    arity: u32,
    bits: Fingerprints,
}

impl Shape {
    /// Three cells, and fingerprints of so many bits.
    fn three(bits: u32) -> Self {
        Self { arity: 3, bits: Fingerprints::of(bits, MAX_BITS) }
    }

    /// Fingerprint bits and geometry for `n` keys, if they fit.
    fn settle(&self, n: u64) -> Result<(u32, Geometry)> {
        let geometry = Geometry::of(self.arity, n);
        Ok((self.bits.settle(n, geometry.cells() as f64, 0.0)?, geometry))
    }
}

impl Plan for BinaryFuse {
    type Shape = Shape;

    const HASH: HashId = HashId::Quick64;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let bits = Fingerprints::plan(request, &PARAM_BITS, MAX_BITS, 1.0);
        let shape = Shape { arity: arity_of(request.form()), bits };
        // What does not fit the keys that are announced is refused before they are read.
        shape.settle(request.goal_items().unwrap_or(0))?;
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (r, geometry) = shape.settle(load.distinct).ok()?;
        let bits = geometry.cells() * u64::from(r);
        Some(
            Expect::one_sided(false_positives(r, load.distinct), bits, None)
                .probing(geometry.arity),
        )
    }
}

face!(BinaryFuse: Bulk);
static_set!(@built BinaryFuse);

impl Filter for BinaryFuse {
    fn now(&self) -> Rates {
        Rates::one_sided(false_positives(self.table.cells().width(), self.head.items))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("cells", self.table.cells().len()),
            fact("k", self.table.geometry().arity),
            fact("fingerprint bits", self.table.cells().width()),
            fact("segment length", self.table.geometry().segment_length()),
            fact("start segments", self.table.geometry().start_segments()),
            real("cells per key", self.table.cells().len() as f64 / self.head.items.max(1) as f64),
            fact("attempts", self.table.attempts()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let hash = reseeded(self.head.hasher.digest(key).h1, self.table.seed());
        let agrees = self.contains(key);
        let cell = |at: usize| {
            let value = self.table.cells().at(at)?;
            Some(Touched { index: at as u64, value, agrees })
        };
        match self.table.geometry().arity() {
            3 => self.table.geometry().around::<3>(hash).into_iter().filter_map(cell).collect(),
            _ => self.table.geometry().around::<4>(hash).into_iter().filter_map(cell).collect(),
        }
    }
}

const THREE: &str = "three";
const FOUR: &str = "four";

fn arity_of(form: &str) -> u32 {
    if form == FOUR { 4 } else { 3 }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<BinaryFuse>(Facts {
    id: 55,
    slug: "binary-fuse",
    entry: "B4",
    question: "Is it in a fixed set, fast and in 9 bits a key at 0.4 %?",
    name: "Binary fuse filter",
    paper: "T. M. Graf, D. Lemire, Binary fuse filters: fast and smaller than xor filters, ACM JEA 27, \
            2022; E. Porat, An optimal Bloom filter replacement based on matrix solving, CSR 2009; \
            M. Dietzfelbinger, R. Pagh, Succinct data structures for retrieval and approximate \
            membership, ICALP 2008; D. Charles, K. Chellapilla, Bloomier filters: a second look, ESA 2008",
    family: "compact",
    needs: &["membership", "static", "compact", "fast"],
    meaning: MEANING,
    forms: &[Form::exact(THREE, &[]), Form::exact(FOUR, &[])],
    params: &[PARAM_BITS],
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests;
