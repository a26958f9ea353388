//! The binary fuse filter (Graf, Lemire 2022; catalogue B4; S0 ref. 6, 33, 34): a fixed set in 9 bits a key
//! for a rate of 1/256, and three bytes to look at.
//!
//! Every key names three cells, and the cells are chosen such that for each member their exclusive or is
//! the key's fingerprint φ, r bits. A stranger's three cells give something unrelated, so 2^−r of the
//! strangers pass, and no member fails:
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
//! (form `four`) 1.075. It also works on a small part of the cells at a time, which is why it is fast.
//!
//! **Use it** where a set is known beforehand, never changes, and is asked often. **Don't** where keys come
//! later (`blocked`), or where the last tenth of the bits matters more than the time (`ribbon`).

mod geometry;
mod peeling;

use crate::cells::{Fields, Packed, View};
use crate::hash::{Generator, fold};
use crate::memory::prefetch;
use crate::plan::MAX_CELLS;
use crate::threads::Cores;
use crate::variant::many;
use crate::variant::prelude::*;

use super::perfect_hash::fingerprint_bits_for;
pub use geometry::Geometry;
use geometry::{COUNT, HASH_BITS};

/// A fixed set as cells whose exclusive or is a fingerprint.
#[derive(Clone, Debug, PartialEq)]
pub struct BinaryFuse {
    head: Head,
    geometry: Geometry,
    /// Under which the keys peel.
    seed: u64,
    /// How many seeds were tried.
    attempts: u64,
    cells: Packed,
}

state!(BinaryFuse { head, geometry, seed, attempts, cells });

/// The golden ratio, for hashes, and the fraction bits of √7, for fingerprints.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
const FINGERPRINT: u64 = 0xA54F_F53A_5F1D_36F1;

/// The hash of a digest under a seed. The digest is random already: the first seed, 0, takes it as it is,
/// and to make another seed another hypergraph one folded multiplication is enough.
#[inline]
fn reseeded(digest: u64, seed: u64) -> u64 {
    let hash = if seed == 0 { digest } else { fold(digest ^ seed, MIX) };
    hash & !COUNT
}

/// The fingerprint of a hash, `r` bits: the leading ones of a product, on which all bits of the hash have
/// a say, whereas cells depend on certain bits each.
#[inline]
fn fingerprint(hash: u64, r: u32) -> u64 {
    hash.wrapping_mul(FINGERPRINT) >> (64 - r)
}

/// The rate of `n` keys with fingerprints of `r` bits: 2^−r, and the share of strangers whose hash is a
/// member's, which matters for the longest fingerprints alone.
pub fn false_positives(r: u32, n: u64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    libm::exp2(-f64::from(r)) + n as f64 * libm::exp2(-f64::from(HASH_BITS))
}

/// The cells under a seed, if the keys peel.
fn solved<const A: usize>(
    geometry: &Geometry,
    r: u32,
    digests: &[u64],
    seed: u64,
    cores: Cores,
) -> Option<Packed> {
    let order = peeling::peel::<A>(geometry, digests, |digest| reseeded(digest, seed), cores)?;
    let mut cells = Packed::new(geometry.cells(), r);
    peeling::settle::<A>(geometry, &order, |hash| fingerprint(hash, r), &mut cells, cores);
    Some(cells)
}

/// Whether the cells of a hash add up to its fingerprint. The empty filter has no cells, so nothing does.
#[inline]
fn agree<const A: usize>(
    cells: &(impl Fields + ?Sized),
    around: [usize; A],
    hash: u64,
    r: u32,
) -> bool {
    let mut sum = fingerprint(hash, r);
    for cell in around {
        let Some(value) = cells.at(cell) else { return false };
        sum ^= value;
    }
    sum == 0
}

/// [`agree`] for three cells, without asking at each whether it is there.
#[inline]
#[allow(unsafe_code)]
fn agree_on_three<T: Copy + Into<u64>>(
    geometry: &Geometry,
    cells: &[T],
    hash: u64,
    r: u32,
) -> bool {
    // Asked once per loop over keys.
    if !geometry.is_within(cells.len()) {
        return false;
    }
    let hash = scalar(hash);
    // SAFETY: `is_within`.
    let cell = |at: usize| -> u64 { unsafe { *cells.get_unchecked(at) }.into() };
    let [a, b, c] = geometry.around::<3>(hash);
    fingerprint(hash, r) ^ cell(a) ^ cell(b) == cell(c)
}

/// The same word, of which the compiler knows nothing: it would do loops over keys by vector instructions, of
/// which there are none for most of the work, and spend a third of the time on moving words there and back.
#[inline(always)]
#[allow(unsafe_code)]
#[allow(unused_mut)]
fn scalar(mut word: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: no instruction at all.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    word
}

/// Compiles the code for every width of cells and number of them to a key, both constants where possible.
macro_rules! with_cells {
    ($arity:expr, $view:expr, |$cells:ident, $r:ident, $a:ident| $code:expr) => {
        match ($arity, $view) {
            (3, View::Bytes($cells)) => with_cells!($cells, $r = 8, $a = 3, $code),
            (3, View::Shorts($cells)) => with_cells!($cells, $r = 16, $a = 3, $code),
            (3, View::Any($cells)) => with_cells!($cells, $r = $cells.width(), $a = 3, $code),
            (_, View::Bytes($cells)) => with_cells!($cells, $r = 8, $a = 4, $code),
            (_, View::Shorts($cells)) => with_cells!($cells, $r = 16, $a = 4, $code),
            (_, View::Any($cells)) => with_cells!($cells, $r = $cells.width(), $a = 4, $code),
        }
    };
    ($cells:ident, $r:ident = $bits:expr, $a:ident = $arity:literal, $code:expr) => {{
        const $a: usize = $arity;
        let $r = $bits;
        $code
    }};
}

impl BinaryFuse {
    /// The filter of these keys with three cells each, and fingerprints of `bits` bits, 1 to 32; 8 and 16
    /// are the fastest. A key that comes twice is there once.
    ///
    /// ```
    /// use everbloom::compact::BinaryFuse;
    /// use everbloom::hash::{HashId, Hasher};
    ///
    /// let words = ["apple", "pear", "apple"];
    /// let filter = BinaryFuse::from_keys(words, 16, Hasher::with_id(HashId::Quick64, 0)?)?;
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
        Self::assemble(&Shape::three(bits), Head::new(hasher, THREE), digests, Cores::One)
    }

    /// [`BinaryFuse::from_keys`] on two cores: the same filter, bit for bit.
    pub fn from_keys_parallel<K: Key + Sync>(
        keys: &[K],
        bits: u32,
        hasher: Hasher,
    ) -> Result<Self> {
        let hasher = hasher.or(Self::HASH);
        let cores = Cores::for_keys(keys.len());
        let (one, other) = keys.split_at(keys.len() / 2);
        let digest = |key: &K| hasher.digest_usually(HashId::Quick64, key).h1;
        let hashed = |keys: &[K]| keys.iter().map(digest).collect();
        let (mut digests, mut more): (Vec<u64>, _) = cores.both(|| hashed(one), || hashed(other));
        digests.append(&mut more);
        Self::assemble(&Shape::three(bits), Head::new(hasher, THREE), digests, cores)
    }

    fn assemble(shape: &Shape, head: Head, mut digests: Vec<u64>, cores: Cores) -> Result<Self> {
        let attempt = |settled, digests: &[u64], seed, attempts| {
            Self::attempt(shape, settled, &head, digests, seed, attempts, cores)
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
        let mut seeds = Generator::new(0);
        let mut seed = 0;
        for attempts in 1..=ATTEMPTS {
            if let Some(filter) = attempt(settled, &digests, seed, attempts) {
                return Ok(filter);
            }
            seed = seeds.next_u64();
        }
        Err(Error::new(
            Kind::BadRecord,
            format!(
                "the {} keys did not peel under any of {ATTEMPTS} seeds, which random digests always \
                 do: build under another hash seed",
                digests.len()
            ),
        ))
    }

    /// The filter under a seed, if the keys peel.
    fn attempt(
        shape: &Shape,
        (r, geometry): (u32, Geometry),
        head: &Head,
        digests: &[u64],
        seed: u64,
        attempts: u64,
        cores: Cores,
    ) -> Option<Self> {
        let geometry = if attempts.is_multiple_of(2) { geometry.recut() } else { geometry };
        let cells = match geometry.arity() {
            3 => solved::<3>(&geometry, r, digests, seed, cores),
            _ => solved::<4>(&geometry, r, digests, seed, cores),
        }?;
        let items = digests.len() as u64;
        let rate = shape.rate.unwrap_or_else(|| false_positives(r, items));
        let head = Head { items, fpr: Some(rate), ..head.clone() };
        Some(Self { head, geometry, seed, attempts, cells })
    }

    /// Whether the key may be a member.
    ///
    /// The common cases, fingerprints of 8 and 16 bits that peeled at once, are one condition each and
    /// inlined, so that a loop over keys asks for it once; the others are a call away.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let (hasher, geometry, width) = (&self.head.hasher, &self.geometry, self.cells.width());
        let unusual = u64::from(geometry.arity ^ 3) | self.seed;
        let unusual = unusual | u64::from(hasher.id() as u16 ^ HashId::Quick64 as u16);
        let hash = || reseeded(hasher.digest_by(HashId::Quick64, key).h1, 0);
        match self.cells.view() {
            View::Bytes(cells) if unusual | u64::from(width ^ 8) == 0 => {
                agree_on_three(geometry, cells, hash(), 8)
            }
            View::Shorts(cells) if unusual | u64::from(width ^ 16) == 0 => {
                agree_on_three(geometry, cells, hash(), 16)
            }
            _ => self.has_otherwise(hasher.digest(key)),
        }
    }

    /// Whether each of many keys may be a member, in their order: several times as fast as one by one
    /// where the filter is larger than the cache.
    pub fn contains_many<I>(&self, keys: I) -> Vec<bool>
    where
        I: IntoIterator<Item: Key, IntoIter: ExactSizeIterator>,
    {
        if self.cells.words().len() >= FETCH_FROM {
            return many::contains_many(self, keys.into_iter());
        }
        // One by one, but what the cells are is asked once.
        let (hasher, geometry, seed) = (&self.head.hasher, self.geometry, self.seed);
        with_cells!(geometry.arity, self.cells.view(), |cells, r, A| {
            let has = |key: I::Item| {
                let hash = reseeded(hasher.digest_usually(HashId::Quick64, &key).h1, seed);
                agree(cells, geometry.around::<A>(hash), hash, r)
            };
            keys.into_iter().map(has).collect()
        })
    }

    #[cold]
    #[inline(never)]
    fn has_otherwise(&self, digest: Digest) -> bool {
        let (geometry, hash) = (&self.geometry, reseeded(digest.h1, self.seed));
        with_cells!(geometry.arity, self.cells.view(), |cells, r, A| {
            agree(cells, geometry.around::<A>(hash), hash, r)
        })
    }

    /// [`BinaryFuse::has`] for many digests. In an array that the near caches do not hold, all cells of
    /// some keys are asked for before the first is looked at.
    fn have<const A: usize>(
        &self,
        cells: &(impl Fields + ?Sized),
        r: u32,
        digests: &[Digest],
        found: &mut [bool],
    ) {
        let words = self.cells.words();
        let (geometry, seed) = (self.geometry, self.seed);
        if words.len() < FETCH_FROM {
            for (digest, found) in digests.iter().zip(found) {
                let hash = reseeded(digest.h1, seed);
                *found = agree(cells, geometry.around::<A>(hash), hash, r);
            }
            return;
        }
        let start = words.as_ptr().cast::<u8>();
        let mut asked = [([0; A], 0); AHEAD];
        for (digests, found) in digests.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            for ((around, hash), digest) in asked.iter_mut().zip(digests) {
                *hash = reseeded(digest.h1, seed);
                *around = geometry.around::<A>(*hash);
                for cell in around {
                    prefetch(start.wrapping_add(*cell * r as usize / 8));
                }
            }
            for (found, (around, hash)) in found.iter_mut().zip(asked) {
                *found = agree(cells, around, hash, r);
            }
        }
    }

    /// Where cells lie.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Seeds that were tried until the keys peeled.
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// The cells.
    pub fn cells(&self) -> &Packed {
        &self.cells
    }

    fn check(&self) -> Result<()> {
        let (cells, items) = (self.cells.len(), self.head.items);
        let good = arity_of(self.head.form) == self.geometry.arity
            && cells == self.geometry.cells()
            && (cells == 0) == (items == 0)
            && items <= cells
            && self.cells.width() <= MAX_BITS
            && (1..=ATTEMPTS).contains(&self.attempts);
        if good {
            return Ok(());
        }
        Err(Error::corrupt(0, format!("corrupt filter: {cells} cells do not fit their geometry")))
    }
}

/// What the goal says of the cells; their number comes with the records.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    arity: u32,
    /// Fingerprint bits by hand or from the rate; else as many as there is room for.
    bits: Option<u32>,
    room: u64,
    rate: Option<f64>,
}

impl Shape {
    /// Three cells, and fingerprints of so many bits.
    fn three(bits: u32) -> Self {
        Self { arity: 3, bits: Some(bits), room: MAX_CELLS, rate: None }
    }

    /// Fingerprint bits and geometry for `n` keys, if they fit.
    fn settle(&self, n: u64) -> Result<(u32, Geometry)> {
        let geometry = Geometry::of(self.arity, n);
        let cells = geometry.cells();
        let r = self
            .bits
            .unwrap_or_else(|| (self.room / cells.max(1)).clamp(1, MAX_BITS.into()) as u32);
        if !(1..=MAX_BITS).contains(&r) {
            return Err(Error::parameter(format!(
                "fingerprints of {r} bits: they have 1 to {MAX_BITS}, for rates down to {:e}",
                libm::exp2(-f64::from(MAX_BITS))
            )));
        }
        if cells.saturating_mul(r.into()) > self.room {
            return Err(Error::parameter(format!(
                "{n} keys with fingerprints of {r} bits need {} bytes, more than {}: \
                 give more --memory or a higher rate",
                cells.saturating_mul(r.into()) / 8,
                self.room / 8
            )));
        }
        Ok((r, geometry))
    }
}

impl Plan for BinaryFuse {
    type Shape = Shape;

    const HASH: HashId = HashId::Quick64;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let by_hand = request.integer(PARAM_BITS.name).map(|r| r as u32);
        let (rate, room) = (request.goal_fpr(), request.goal_bits());
        // Memory without a rate buys the best rate; nothing at all, the default one.
        let rate = rate.or((room.is_none() && by_hand.is_none()).then(|| request.fpr()));
        let shape = Shape {
            arity: arity_of(request.form()),
            bits: by_hand.or(rate.map(fingerprint_bits_for)),
            room: room.unwrap_or(MAX_CELLS).min(MAX_CELLS),
            rate,
        };
        // What does not fit the keys that are announced does not wait for them to be refused.
        shape.settle(request.goal_items().unwrap_or(0))?;
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (r, geometry) = shape.settle(load.distinct).ok()?;
        let bits = geometry.cells() * u64::from(r);
        Some(Expect::one_sided(false_positives(r, load.distinct), bits, None))
    }
}

impl Create for BinaryFuse {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let mut words = Vec::new();
        inputs.records.digests(&head.hasher, &mut |digests| {
            words.extend(digests.iter().map(|digest| digest.h1));
        })?;
        let cores = Cores::for_keys(words.len());
        Self::assemble(shape, head, words, cores)
    }
}

face!(BinaryFuse: Bulk);

impl Filter for BinaryFuse {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    /// Cells hold sums, which are in use whatever they are.
    fn fill(&self) -> Option<f64> {
        None
    }

    fn now(&self) -> Rates {
        Rates::one_sided(false_positives(self.cells.width(), self.head.items))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("cells", self.cells.len()),
            fact("k", self.geometry.arity),
            fact("fingerprint bits", self.cells.width()),
            fact("segment length", self.geometry.segment_length()),
            fact("start segments", self.geometry.start_segments()),
            real("cells per key", self.cells.len() as f64 / self.head.items.max(1) as f64),
            fact("attempts", self.attempts),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let hash = reseeded(self.head.hasher.digest_usually(HashId::Quick64, key).h1, self.seed);
        let agrees = self.contains(key);
        let cell = |at: usize| {
            let value = self.cells.at(at)?;
            Some(Touched { index: at as u64, value, agrees })
        };
        match self.geometry.arity() {
            3 => self.geometry.around::<3>(hash).into_iter().filter_map(cell).collect(),
            _ => self.geometry.around::<4>(hash).into_iter().filter_map(cell).collect(),
        }
    }
}

impl Bulk for BinaryFuse {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        with_cells!(self.geometry.arity, self.cells.view(), |cells, r, A| {
            self.have::<A>(cells, r, digests, found);
        });
    }
}

/// Keys whose cells are under way at once.
const AHEAD: usize = 32;

/// Arrays of fewer words, 2 MiB, live in the first two caches, where asking ahead costs more than it saves.
const FETCH_FROM: usize = 1 << 18;

/// With four cells and four keys 57 of 100 seeds work, and where there are fewer, every other attempt has
/// shorter segments: that all of 100 fail, good keys never see.
const ATTEMPTS: u64 = 100;

const THREE: &str = "three";
const FOUR: &str = "four";
const MAX_BITS: u32 = 32;

fn arity_of(form: &str) -> u32 {
    if form == FOUR { 4 } else { 3 }
}

/// `--set bits=`, r.
const PARAM_BITS: Param = Param {
    name: "bits",
    range: Range::Integer(1, MAX_BITS as u64),
    default: Preset::Planned,
    help: "bits per fingerprint, r for a rate of 2^-r",
};

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 55,
        slug: "binary-fuse",
        entry: "B4",
        name: "Binary fuse filter",
        paper: "T. M. Graf, D. Lemire, Binary fuse filters: fast and smaller than xor filters, ACM JEA 27, \
                2022; E. Porat, An optimal Bloom filter replacement based on matrix solving, CSR 2009; \
                M. Dietzfelbinger, R. Pagh, Succinct data structures for retrieval and approximate \
                membership, ICALP 2008; D. Charles, K. Chellapilla, Bloomier filters: a second look, ESA 2008",
        family: "compact",
        needs: &["membership", "static", "compact", "fast"],
        meaning: "items are the different keys read, whatever was planned; the rate is that of false \
                  positives, rounded down to a power of two",
        forms: &[
            Form { name: THREE, abilities: &[], false_negatives: FalseNegatives::Never },
            Form { name: FOUR, abilities: &[], false_negatives: FalseNegatives::Never },
        ],
        params: &[PARAM_BITS],
        build: Build::Collected,
        ..Facts::FILTER
    },
    ops: Ops::of::<BinaryFuse>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    fn filter(n: u64, bits: u32) -> BinaryFuse {
        BinaryFuse::from_keys(0..n, bits, Hasher::default()).unwrap()
    }

    #[test]
    fn cells_are_looked_at_unchecked_only_where_they_all_are() {
        let mut random = Generator::new(1);
        for n in [1, 2, 10, 1000, 12_350, 1_000_000] {
            let geometry = Geometry::of(3, n);
            for geometry in [geometry, geometry.recut()] {
                let cells = geometry.cells() as usize;
                assert!(geometry.is_within(cells) && geometry.is_within(cells + 1), "{n}");
                assert!(!geometry.is_within(cells - 1), "{n}");
                for hash in [0, u64::MAX].into_iter().chain((0..1000).map(|_| random.next_u64())) {
                    assert!(geometry.around::<3>(hash).into_iter().all(|cell| cell < cells), "{n}");
                }
            }
            let uneven = Geometry { starts: geometry.starts + 1, segment: 4, ..geometry };
            assert!(!uneven.is_within(usize::MAX), "{n}");
        }
        assert!(!Geometry::of(3, 0).is_within(usize::MAX));
        assert!(!filter(0, 8).contains(&1u64));
    }

    #[test]
    fn two_cores_make_the_same_filter() {
        for (n, bits) in [(0, 8), (1, 8), (100, 9), (12_350, 16), (150_000, 8), (300_000, 11)] {
            let keys: Vec<u64> = (0..n).collect();
            for (arity, form) in [(3, THREE), (4, FOUR)] {
                let build = |cores| {
                    let hasher = Hasher::with_id(HashId::Quick64, 0).unwrap();
                    let digests = keys.iter().map(|key| hasher.digest(key).h1).collect();
                    let shape = Shape { arity, ..Shape::three(bits) };
                    BinaryFuse::assemble(&shape, Head::new(hasher, form), digests, cores).unwrap()
                };
                let filter = build(Cores::One);
                assert_eq!(build(Cores::Two), filter, "{n} {bits} {arity}");
                assert!(keys.iter().all(|key| filter.contains(key)), "{n} {bits} {arity}");
            }
            let hasher = Hasher::default();
            let parallel = BinaryFuse::from_keys_parallel(&keys, bits, hasher).unwrap();
            assert_eq!(parallel, filter(n, bits));
        }
    }

    #[test]
    fn many_at_once_equal_one_by_one() {
        for (n, bits) in [(0, 8), (1000, 8), (2_000_000, 8), (1_000_000, 16), (500_000, 32)] {
            let filter = filter(n, bits);
            let keys: Vec<u64> = (0..2 * n + 100).step_by(7).collect();
            let one_by_one: Vec<bool> = keys.iter().map(|key| filter.contains(key)).collect();
            assert_eq!(filter.contains_many(&keys), one_by_one, "{n} {bits}");
        }
    }

    #[test]
    fn files_whose_parts_differ_are_refused() {
        let good = filter(100, 9);
        assert_eq!(Opener::new().decode_as::<BinaryFuse>(&to_bytes(&good)).unwrap(), good);
        let refused = |liar: BinaryFuse| Opener::new().decode(&to_bytes(&liar)).is_err();
        let geometry = |segment, starts| Geometry { segment, starts, ..good.geometry };
        let Geometry { segment, starts, .. } = good.geometry;
        for liar in [geometry(2 * segment, starts), geometry(segment, 2 * starts), geometry(3, 3)] {
            assert!(refused(BinaryFuse { geometry: liar, ..good.clone() }));
        }
        assert!(refused(BinaryFuse { cells: Packed::new(99, 9), ..good.clone() }));
        assert!(refused(BinaryFuse { cells: Packed::new(good.cells.len(), 33), ..good.clone() }));
        assert!(refused(BinaryFuse { attempts: 0, ..good.clone() }));
        let head = Head { items: 0, ..good.head.clone() };
        assert!(refused(BinaryFuse { head, ..good.clone() }));
        let head = Head { form: FOUR, ..good.head.clone() };
        assert!(refused(BinaryFuse { head, ..good }));
    }
}
