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
//! **Use it** when keys only come, the number of them is known roughly, and filters have to be united,
//! intersected, folded or compared. **Don't** when keys must be removed (`counting`), when their number
//! is unknown (`scalable`), when every nanosecond counts (`blocked`), or when the set never changes and
//! space is dear.

use crate::cells::{AtomicBits, Bits, set_bit};
use crate::parts::parallel;
use crate::probe::bulk;
use crate::probe::scattered;
use crate::probe::{Coincide, Probe, Scheme};
use crate::theory::bloom as theory;
use crate::variant::many;
use crate::variant::prelude::*;

/// A set in m bits with k probes per key.
///
/// ```
/// let mut seen = everbloom::membership::Bloom::with_rate(1_000_000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bloom {
    head: Head,
    probe: Probe,
    bits: Bits,
}

state!(Bloom { head, probe, bits });

impl Bloom {
    /// A filter of `m` bits and `k` probes; both at least 1.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape { probe: Probe::over(m.max(1), k.max(1)) };
        let hasher = hasher.or(Self::hash(&shape));
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// Inserts a key.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest_usually(HashId::Quick64, key);
        let words = self.bits.words_mut();
        let new = match self.probe {
            // The scheme of large filters is inlined into loops over keys, the others are a call away.
            Probe::Ring(ring) => scattered::set_all(words, ring, digest),
            probe => set_otherwise(probe, words, digest),
        };
        self.head.count_one();
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Whether the key may be a member.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest_usually(HashId::Quick64, key);
        match &self.probe {
            Probe::Ring(ring) => scattered::all_set(self.bits.words(), ring, digest),
            _ => self.has_otherwise(digest),
        }
    }

    #[cold]
    #[inline(never)]
    fn has_otherwise(&self, digest: Digest) -> bool {
        self.probe.all(digest, |i| self.bits.get(i))
    }

    /// Inserts many keys, of a slice or an iterator: several times as fast as one by one where the filter is
    /// larger than the cache.
    pub fn insert_many<I>(&mut self, keys: I)
    where
        I: IntoIterator<Item: Key>,
    {
        if bulk::worth_it(&self.bits) {
            return many::insert_many(self, keys.into_iter());
        }
        keys.into_iter().for_each(|key| {
            self.insert(&key);
        });
    }

    /// Inserts a slice of keys.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) {
        self.insert_many(keys);
    }

    /// Writes whether each of a slice of keys may be a member, for as many as there is room in `found`.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        if bulk::worth_it(&self.bits) {
            return many::contains_into(self, keys.iter(), found);
        }
        for (key, found) in keys.iter().zip(found) {
            *found = self.contains(key);
        }
    }

    /// Inserts many keys on all cores: each fills a filter of its own, and their union is exact. Takes the
    /// memory of as many filters as there are cores.
    pub fn insert_many_parallel<K: Key + Sync>(&mut self, keys: &[K]) {
        let (head, probe) = (&self.head, &self.probe);
        parallel::on_all_cores(&mut self.bits, keys, |keys, bits| {
            let mut part = Self { head: head.clone(), probe: *probe, bits };
            part.insert_batch(keys);
            part.bits
        });
        self.head.count(keys.len() as u64);
    }

    /// Whether each of many keys may be a member, in their order: several times as fast as one by one
    /// where the filter is larger than the cache.
    pub fn contains_many<I>(&self, keys: I) -> Vec<bool>
    where
        I: IntoIterator<Item: Key, IntoIter: ExactSizeIterator>,
    {
        if bulk::worth_it(&self.bits) {
            return many::contains_many(self, keys.into_iter());
        }
        keys.into_iter().map(|key| self.contains(&key)).collect()
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.bits.clear();
        self.head.items = 0;
    }

    /// Number of bits.
    pub fn m(&self) -> u64 {
        self.bits.len()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.probe.k()
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    /// Makes this the filter of the union of both sets, exactly (S1 §2.4).
    ///
    /// Items are then estimated from the zeros: the two counts cannot be added, since nobody knows how
    /// many keys the sets share.
    pub fn union(&mut self, other: &Bloom) -> Result<()> {
        self.agree(other)?;
        self.bits.union(&other.bits);
        self.head.count(other.head.items);
        self.recount();
        Ok(())
    }

    /// Keeps what both filters hold: every common key passes, and a few others that the filter of the
    /// true intersection would not let pass (S0 theorem 2).
    pub fn intersect(&mut self, other: &Bloom) -> Result<()> {
        self.agree(other)?;
        let both = self.intersection_size(other)?;
        self.bits.intersect(&other.bits);
        let most = self.head.items.min(other.head.items);
        self.head.items = both.map_or(most, |n| n.max(0.0).round() as u64).min(most);
        Ok(())
    }

    /// Halves the filter: same keys, half the bits, a higher rate (S1 §2.4).
    pub fn fold(&self) -> Result<Bloom> {
        let (probe, pairing) = self.probe.fold()?;
        Ok(Bloom { head: self.head.clone(), probe, bits: self.bits.fold(pairing) })
    }

    /// The number of distinct keys, estimated from the zeros; `None` for a filter without zeros.
    pub fn cardinality(&self) -> Option<f64> {
        theory::cardinality(self.bits.zeros(), self.m(), self.k())
    }

    /// The number of distinct keys in both filters, estimated from their zeros (S1 §2.4); `None` where
    /// one is too full to tell.
    pub fn intersection_size(&self, other: &Bloom) -> Result<Option<f64>> {
        self.agree(other)?;
        let (a, b) = (self.bits.zeros(), other.bits.zeros());
        let both = self.m() - self.bits.ones_in_both(&other.bits);
        Ok(theory::intersection_size(a, b, both, self.m(), self.k()))
    }

    /// The same filter for many threads at once.
    pub fn into_atomic(self) -> AtomicBloom {
        AtomicBloom { head: self.head, probe: self.probe, bits: self.bits.into_atomic() }
    }

    fn agree(&self, other: &Bloom) -> Result<()> {
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)
    }

    /// Items from the zeros, where there are any left to count.
    fn recount(&mut self) {
        if let Some(n) = self.cardinality() {
            self.head.items = n.round() as u64;
        }
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.bits.len())
    }
}

/// The twin of [`Bloom`] whose inserts take `&self`: same bits, same file.
///
/// ```
/// use everbloom::membership::Bloom;
///
/// let shared = Bloom::with_rate(1000, 0.01)?.into_atomic();
/// std::thread::scope(|s| {
///     s.spawn(|| shared.insert("left"));
///     s.spawn(|| shared.insert("right"));
/// });
/// let filter = shared.into_bloom();
/// assert!(filter.contains("left") && filter.contains("right"));
/// # Ok::<(), everbloom::error::Error>(())
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
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.probe.all(self.head.hasher.digest_usually(HashId::Quick64, key), |i| self.bits.get(i))
    }

    /// The filter for one owner again. Items come from the fill: counting them would make every insert
    /// write to one shared cache line.
    pub fn into_bloom(self) -> Bloom {
        let mut bloom = Bloom { head: self.head, probe: self.probe, bits: self.bits.into_plain() };
        bloom.recount();
        bloom
    }
}

/// Sets the cells of a key anyhow; true if one was zero. Takes the filter in parts: were it lent whole, the
/// compiler would have to assume that the call changes it, and loops over keys would load its shape again
/// with every key.
#[cold]
#[inline(never)]
fn set_otherwise(probe: Probe, words: &mut [u64], digest: Digest) -> bool {
    let mut new = false;
    probe.each(digest, |i| new |= set_bit(words, i));
    new
}

/// The planned probe: m, k and the scheme.
#[derive(Clone, Debug)]
pub struct Shape {
    probe: Probe,
}

impl Plan for Bloom {
    type Shape = Shape;

    const HASH: HashId = HashId::Quick64;

    /// Reduction by mod takes the low bits as well, which the quickest hash does not promise.
    fn hash(shape: &Shape) -> HashId {
        match shape.probe.scheme() {
            Scheme::Ring | Scheme::Mixed => Self::HASH,
            _ => HashId::Fold64,
        }
    }

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let Flat { m, k } = Flat::plan(request, 1)?;
        let probe = match request.choice("scheme").and_then(Scheme::named) {
            Some(scheme) => Probe::flat(scheme, m, k)?,
            None => Probe::over(m, k),
        };
        Ok(Shape { probe })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let flat = Flat { m: shape.probe.m(), k: shape.probe.k() };
        let n = load.distinct;
        Some(Expect::one_sided(flat.fpr(n), flat.m, Some(flat.fill(n))))
    }
}

impl Stream for Bloom {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, probe: shape.probe, bits: Bits::new(shape.probe.m()) })
    }
}

face!(Bloom: Insert, Merge, Estimate, Intersect, Fold, Bulk, BulkInsert);
planned!(Bloom);

impl Filter for Bloom {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.ones() as f64 / self.m() as f64)
    }

    fn now(&self) -> Rates {
        let fill = self.bits.ones() as f64 / self.m() as f64;
        Rates::one_sided(libm::pow(fill, f64::from(self.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("m", self.m()), fact("k", self.k()), text("scheme", self.probe.scheme().name())]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self
            .probe
            .collect(self.head.hasher.digest_usually(HashId::Quick64, key), Coincide::PerHash);
        touched(&indices, |i| self.bits.get(i).into())
    }
}

keyed!(Bloom: Insert, Union);

impl BulkInsert for Bloom {
    fn insert_digests(&mut self, digests: &[Digest]) {
        bulk::set_all(&mut self.bits, &self.probe, digests);
        self.head.count(digests.len() as u64);
    }
}

impl Bulk for Bloom {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        bulk::test_all(&self.bits, &self.probe, digests, found);
    }
}

keyed!(Bloom: Estimate, Intersect, Fold);

const FORM: &str = "standard";

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 1,
        slug: "bloom",
        entry: "F1",
        name: "Standard Bloom filter",
        paper: "B. H. Bloom, Space/time trade-offs in hash coding with allowable errors, CACM 13(7), 1970",
        family: "membership",
        needs: &["membership", "merge", "estimate", "fold", "concurrent"],
        forms: &[Form::exact(
            FORM,
            &[
                Ability::Insert,
                Ability::Merge,
                Ability::Intersect,
                Ability::Fold,
                Ability::Estimate,
            ],
        )],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "scheme",
                range: Range::Choice(&["double", "enhanced", "ring", "mixed"]),
                default: Preset::Planned,
                help: "how probes derive from the digest",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<Bloom>(),
};
