//! The standard Bloom filter (Bloom 1970; catalogue F1; S0 §II, S1 §2.1, S3 §II).
//!
//! A set in m bits. Inserting a key sets the k bits its digest points at; a key all of whose bits are
//! set may be a member, one with a zero among them is not:
//!
//! ```text
//!   insert x          insert y             z? a zero: no        w? all ones: yes, wrongly
//!   ↓   ↓     ↓         ↓ ↓   ↓              ↓  ↓    ↓             ↓  ↓    ↓
//!   1 0 1 0 0 1 0 0   1 0 1 1 0 1 1 0    1 0 1 1 0 1 1 0       1 0 1 1 0 1 1 0
//! ```
//!
//! With n keys inside, f = (1 − e^{−kn/m})^k of all other keys pass; the best k leaves half of the bits
//! zero, and then f = 2^{−k} at 1.44·log2(1/f) bits a key, 44 % above the lower bound.
//!
//! **Use it** when keys are only inserted, their number is roughly known, and filters have to be merged,
//! intersected, folded or compared. **Don't** when keys must be removed (`counting`), when their number is unknown
//! (`scalable`), when every nanosecond counts (`blocked`), or when the set never changes and space is scarce
//! (`ribbon`).

use crate::cells::{AtomicBits, Bits};
use crate::parts::flat_bits::FlatBits;
use crate::parts::{KeyPart, methods, owns, recount, sets};
use crate::probe::{Probe, Scheme, bulk, scattered};
use crate::variant::many;
use crate::variant::prelude::*;

/// A set in m bits with k probes per key.
///
/// ```
/// let mut seen = everbloom::Bloom::with_rate(1_000_000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bloom {
    head: Head,
    flat: FlatBits,
}

state!(plain Bloom { head, ..flat });

impl Bloom {
    /// A filter of `m` bits and `k` probes.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let Flat { m, k } = Flat { m, k }.checked()?;
        let probe = Probe::over(m, k);
        let hasher = hasher.or(Self::hash(&probe));
        Self::empty(&probe, Head::new(hasher, FORM))
    }

    /// The filter whose bits are these, such as those of a counting filter with the same `k` and `hasher`
    /// ([`Counting::to_bits`](crate::counting::Counting::to_bits)): what a control plane that counts hands to the
    /// data plane. `items` is how many keys are in it.
    ///
    /// ```
    /// use everbloom::{Bloom, Counting, Hasher};
    /// let mut control = Counting::with_shape(1000, 7, 4, Hasher::seeded(1))?;
    /// control.insert("route");
    /// let data = Bloom::from_bits(control.to_bits(), 7, Hasher::seeded(1), 1)?;
    /// assert!(data.contains("route") && !data.contains("another"));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn from_bits(bits: Bits, k: u32, hasher: Hasher, items: u64) -> Result<Self> {
        let Flat { m, k } = Flat { m: bits.len(), k }.checked()?;
        let hasher = hasher.or(HashId::Xxh3_128);
        let mut head = Head::new(hasher, FORM);
        head.items = items;
        Ok(Self { head, flat: FlatBits { probe: Probe::over(m, k), bits } })
    }

    /// The filter whose first `m` bits these are, the lowest bit of a byte first, with `k` probes by `scheme` under
    /// `hasher`: what other software wrote. How many keys are inside is estimated from the bits.
    pub fn from_foreign(
        bytes: &[u8],
        m: u64,
        k: u32,
        scheme: Scheme,
        hasher: Hasher,
    ) -> Result<Self> {
        let Flat { m, k } = Flat { m, k }.checked()?;
        let probe = Probe::flat(scheme, m, k)?;
        let bits = Bits::from_bytes(bytes, m)?;
        let (mut head, flat) = (Head::new(hasher, FORM), FlatBits { probe, bits });
        recount(&mut head, &flat);
        Ok(Self { head, flat })
    }

    /// The same filter with the number of keys and the planned rate that other software stored with its bits.
    #[must_use]
    pub fn as_planned(mut self, items: Option<u64>, fpr: Option<f64>) -> Self {
        if let Some(items) = items {
            self.head.items = 0;
            self.head.count(items);
        }
        self.head.fpr = fpr.filter(|fpr| *fpr > 0.0 && *fpr < 1.0);
        self
    }

    /// How probes follow from a digest.
    pub fn scheme(&self) -> Scheme {
        self.flat.probe.scheme()
    }

    /// Inserts a key.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let (hasher, words) = (&self.head.hasher, self.flat.bits.words_mut());
        let new = match self.flat.probe {
            // The scheme of large filters is inlined into loops over keys.
            Probe::Ring(ring) if hasher.id() == HASH => {
                scattered::set_all(words, ring, hasher.digest_by(HASH, key))
            }
            probe => set_otherwise(probe, words, hasher.digest(key)),
        };
        self.head.count_one();
        Seen::new_if(new)
    }

    /// Whether the key may be a member.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let hasher = &self.head.hasher;
        match &self.flat.probe {
            Probe::Ring(ring) if hasher.id() == HASH => {
                scattered::all_set(self.flat.bits.words(), ring, hasher.digest_by(HASH, key))
            }
            _ => self.has_otherwise(hasher.digest(key)),
        }
    }

    /// The slow path for the other probe schemes.
    #[cold]
    #[inline(never)]
    fn has_otherwise(&self, digest: Digest) -> bool {
        self.flat.contains(digest)
    }

    /// Inserts a slice of keys: several times as fast as one by one where the filter is larger than the cache.
    /// Keys of an iterator are taken by `extend`.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) {
        let FlatBits { probe, bits } = &self.flat;
        if bulk::worth_it(bits) || scattered::gains_by_many(bits.words(), probe) {
            return many::insert_many(self, keys.iter());
        }
        self.extend(keys);
    }

    /// Whether each of a slice of keys may be a member, in their order.
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut found = vec![false; keys.len()];
        self.contains_many_into(keys, &mut found);
        found
    }

    /// [`Bloom::contains_many`] into memory of the caller's, for as many keys as there is room.
    pub fn contains_many_into<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        if scattered::NATIVE && !bulk::worth_it(&self.flat.bits) {
            return found.iter_mut().zip(keys).for_each(|(found, key)| *found = self.contains(key));
        }
        many::contains_into(self, keys.iter(), found);
    }

    /// Whether each key of an iterator may be a member, in their order. Keys are taken 1024 at a time, so that a loop
    /// runs at the speed of [`Bloom::contains_many`].
    ///
    /// ```
    /// let mut seen = everbloom::Bloom::with_rate(2, 0.001)?;
    /// seen.extend(["fig", "plum"]);
    /// let asked = ["plum", "pear"];
    /// let known = asked.iter().zip(seen.contains_iter(asked)).filter(|(_, found)| *found);
    /// assert_eq!(known.map(|(key, _)| *key).collect::<Vec<_>>(), ["plum"]);
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn contains_iter<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> impl Iterator<Item = bool> {
        many::asked(keys.into_iter(), |keys, found| many::contains_next(self, keys, found))
    }

    /// Number of bits in memory.
    pub fn m(&self) -> u64 {
        self.flat.m()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.flat.k()
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.flat.bits
    }

    /// The same filter for many threads at once.
    pub fn into_atomic(self) -> AtomicBloom {
        let FlatBits { probe, bits } = self.flat;
        AtomicBloom { head: self.head, probe, bits: bits.into_atomic() }
    }
}

/// The twin of [`Bloom`] whose inserts take `&self`: same bits, same file.
///
/// ```
/// use everbloom::Bloom;
///
/// let shared = Bloom::with_rate(1000, 0.01)?.into_atomic();
/// std::thread::scope(|s| {
///     s.spawn(|| shared.insert("left"));
///     s.spawn(|| shared.insert("right"));
/// });
/// let filter = shared.into_bloom();
/// assert!(filter.contains("left") && filter.contains("right"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicBloom {
    head: Head,
    probe: Probe,
    bits: AtomicBits,
}

impl AtomicBloom {
    /// Inserts a key. An insertion is visible to other threads bit by bit; a thread that learns of it
    /// by synchronizing with this one finds the key.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Seen {
        let mut new = false;
        self.probe.each(self.head.hasher.digest_usually(HashId::Quick64, key), |i| {
            new |= self.bits.set(i)
        });
        Seen::new_if(new)
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.probe.all(self.head.hasher.digest_usually(HashId::Quick64, key), |i| self.bits.get(i))
    }

    /// The filter for one owner again. Items come from the fill: counting them would make every insert
    /// write to one shared cache line.
    pub fn into_bloom(self) -> Bloom {
        let (mut head, bits) = (self.head, self.bits.into_plain());
        let flat = FlatBits { probe: self.probe, bits };
        recount(&mut head, &flat);
        Bloom { head, flat }
    }
}

/// Slow path for the other probe schemes; true if a cell was zero. Takes the filter in parts: were it lent whole, the
/// compiler would have to assume that the call changes it, and loops over keys would load its shape again
/// with every key.
#[cold]
#[inline(never)]
fn set_otherwise(probe: Probe, words: &mut [u64], digest: Digest) -> bool {
    scattered::set(words, &probe, digest)
}

/// The hash that filters are built with.
const HASH: HashId = HashId::Quick64;

impl Plan for Bloom {
    /// The planned probe: m, k and the scheme.
    type Shape = Probe;

    const HASH: HashId = HASH;

    /// The quickest one, unless the scheme needs independent words or the rate that k promises needs more than
    /// 64 bits: n·2⁻⁶⁴ ≤ p/100, at n = (m/k)·ln 2 keys.
    fn hash(probe: &Probe) -> HashId {
        let (m, k) = (probe.m() as f64, f64::from(probe.k()));
        let narrow = 100.0 * core::f64::consts::LN_2 * m / k * libm::exp2(k - 64.0) <= 1.0;
        if narrow && probe.scheme().takes(Self::HASH) { Self::HASH } else { HashId::Xxh3_128 }
    }

    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let Flat { m, k } = Flat::plan(request, 1)?;
        let probe = match request.choice("scheme").and_then(Scheme::named) {
            Some(scheme) => Probe::flat(scheme, m, k)?,
            None => Probe::over(m, k),
        };
        if let Some(hash) = request.named_hash().filter(|hash| !probe.scheme().takes(*hash)) {
            let message = format!(
                "the {} scheme needs two independent words, as from xxh3-128",
                probe.scheme().name()
            );
            return Err(Error::setting("hash", hash, message));
        }
        Ok(probe)
    }

    fn expect(probe: &Probe, load: &Load) -> Option<Expect> {
        let flat = Flat { m: probe.m(), k: probe.k() };
        let (n, fill) = (load.distinct, flat.fill(load.distinct));
        let floor = probe.floor(n as f64, fill.0);
        Some(Expect::one_sided((flat.fpr(n) + floor).min(1.0), flat.m, Some(fill)).probing(flat.k))
    }
}

impl Stream for Bloom {
    fn empty(probe: &Probe, head: Head) -> Result<Self> {
        Ok(Self { head, flat: FlatBits::probed(*probe)? })
    }
}

face!(Bloom: Insert, Merge, Estimate, Intersect, Fold, Bulk, BulkInsert);
planned!(Bloom);

owns!(Bloom { flat: FlatBits });
methods!(Bloom: insert_many_parallel, clear);
keyed!(Bloom: Insert);
sets!(Bloom: flat);

by_part!(Bloom: flat);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Bloom>(Facts {
    id: 1,
    slug: "bloom",
    entry: "F1",
    question: "Is this key in the set?",
    name: "Standard Bloom filter",
    paper: "B. H. Bloom, Space/time trade-offs in hash coding with allowable errors, CACM 13(7), 1970",
    family: "membership",
    needs: &["membership", "merge", "estimate", "fold", "concurrent", "hostile"],
    forms: &[Form::exact(FORM, Ability::OF_SETS)],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::choice(
            "scheme",
            &["double", "enhanced", "ring", "mixed"],
            "how probes derive from the digest",
        ),
    ],
    ..Facts::FILTER
});
