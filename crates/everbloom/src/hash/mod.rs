//! Key bytes → digest.
//!
//! A key is bytes, and its 128-bit [`Digest`] is computed once. Everything downstream (probe
//! schemes, fingerprints, checks, layers) derives from the digest, salting it where two parts must
//! be independent, and never hashes the key again.
//!
//! Hash ids are permanent and append-only: they stand in files.

mod city;
mod fold;
mod foreign;
mod generator;
mod key;
mod many;
mod murmur;
mod murmur3;
mod secret;
#[cfg(target_arch = "x86_64")]
pub(crate) mod vector;
mod xxh3;
mod xxh3_preview;
mod xxh64;

pub use city::{city_64, city_128_to_64};
pub(crate) use fold::fold;
pub use generator::Generator;
pub use key::{Element, HashKey, Key};
#[cfg(target_arch = "x86_64")]
pub(crate) use many::Words;
pub(crate) use many::{Batch, CHUNK, Digests, Given, Keys};
pub use murmur::{murmur_32, murmur_32_hadoop, murmur_32_hbase, murmur_64a};
pub use murmur3::{
    murmur3_cassandra, murmur3_hive, murmur3_last_32, murmur3_last_64, murmur3_round,
    murmur3_scramble, murmur3_spark, murmur3_x64_128,
};
pub use secret::SecretKey;
#[cfg(feature = "secure")]
pub(crate) use secret::from_hex;
pub(crate) use xxh3::TEXT;

use std::fmt;

use crate::error::{Error, Kind, Result};
use crate::names::named;

/// The seed used when the caller names none, so that filters of two machines merge.
pub const DEFAULT_SEED: u64 = 0;

named! {
    /// Which function turns key bytes into a digest. The numbers are stored in files and never change.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u16)]
    #[non_exhaustive]
    pub enum HashId {
        /// XXH3-128 with a 64-bit seed: the default, for trusted input.
        Xxh3_128 = 1 => "xxh3-128",
        /// XXH3-64 with a 64-bit seed, widened by [`mix64`]. Only where n·2⁻⁶⁴ ≤ p/100.
        Xxh3_64 = 2 => "xxh3-64",
        /// XXH64 with a 64-bit seed, widened by [`mix64`]: for layouts defined elsewhere.
        Xxh64 = 3 => "xxh64",
        /// SipHash-2-4-128 under a secret key: for keys chosen by an adversary.
        SipHash24_128 = 4 => "siphash-2-4-128",
        /// Folded multiplications for 8-byte keys, XXH3-64 for others, with a 64-bit seed: where nanoseconds
        /// count. Only where n·2⁻⁶⁴ ≤ p/100.
        Fold64 = 5 => "fold-64",
        /// One folded multiplication for 8-byte keys, XXH3-64 for others, with a 64-bit seed: the fastest, for
        /// schemes that take the high bits of the digest's words. Only where n·2⁻⁶⁴ ≤ p/100.
        Quick64 = 6 => "quick-64",
        /// One folded multiplication for 8-byte keys, XXH3-64 for others, with a 64-bit seed: as `quick-64`, for
        /// schemes that take the high bits of H1 and the low half of H2. Only where n·2⁻⁶⁴ ≤ p/100.
        Lane64 = 7 => "lane-64",
        /// MurmurHash64A with a 64-bit seed, widened by [`mix64`]: for layouts defined elsewhere. Only where
        /// n·2⁻⁶⁴ ≤ p/100.
        Murmur64A = 8 => "murmur-64a",
        /// MurmurHash3 x64 128 with a 64-bit seed: Guava's.
        Murmur3_128 = 9 => "murmur3-128",
        /// Spark's MurmurHash3 x86 32 with a 32-bit seed, and again with the first hash as its seed, widened by
        /// [`mix64`].
        SparkMurmur3 = 10 => "murmur3-spark",
        /// MurmurHash64A with a 64-bit seed, and again with the first hash as its seed: RedisBloom's.
        Murmur64ATwice = 11 => "murmur-64a-twice",
        /// Cassandra's MurmurHash3 x64 128 with a 64-bit seed: the second word, then the first.
        CassandraMurmur3 = 12 => "murmur3-cassandra",
        /// Hive's 64-bit MurmurHash3 with a 64-bit seed, widened by [`mix64`]: ORC's, for bytes.
        HiveMurmur3 = 13 => "murmur3-hive",
        /// Thomas Wang's mix of an integer, widened by [`mix64`]: ORC's, for numbers of eight bytes.
        Wang64 = 14 => "wang-64",
        /// Hadoop's MurmurHash2 with a 32-bit seed, and again with the first hash as its seed, widened by [`mix64`]:
        /// stream-lib's.
        HadoopMurmur = 15 => "murmur-hadoop",
        /// XXH64 with a 64-bit seed, and again with the first hash as its seed: DataSketches'.
        Xxh64Twice = 16 => "xxh64-twice",
        /// XXH3-64 with a 64-bit seed, and with 32 added to it: fastbloom-rs's.
        Xxh3Pair = 17 => "xxh3-64-pair",
        /// FNV-1 of 64 bits, widened by [`mix64`]: DCSO's.
        Fnv1 = 18 => "fnv1-64",
        /// CityHash64 1.0.2, widened by [`mix64`]: ClickHouse's, for bytes.
        City64 = 19 => "cityhash-64",
        /// The last step of MurmurHash3, widened by [`mix64`]: ClickHouse's, for numbers of eight bytes.
        Murmur3Last = 20 => "murmur3-last",
        /// A preview of XXH3-64, seed 0: its low half, as the high half of a word, then its high half. RocksDB's.
        Xxh3Preview = 21 => "xxh3-preview",
    }
}

impl HashId {
    /// Every id that filters are built with, in order.
    pub const ALL: [HashId; 8] = [
        HashId::Xxh3_128,
        HashId::Xxh3_64,
        HashId::Xxh64,
        HashId::SipHash24_128,
        HashId::Fold64,
        HashId::Quick64,
        HashId::Lane64,
        HashId::Murmur64A,
    ];

    /// The one of these called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.name() == name)
    }

    /// Those of filters that other software made, which no filter is built with here.
    pub const FOREIGN: [HashId; 13] = [
        HashId::Murmur3_128,
        HashId::SparkMurmur3,
        HashId::Murmur64ATwice,
        HashId::CassandraMurmur3,
        HashId::HiveMurmur3,
        HashId::Wang64,
        HashId::HadoopMurmur,
        HashId::Xxh64Twice,
        HashId::Xxh3Pair,
        HashId::Fnv1,
        HashId::City64,
        HashId::Murmur3Last,
        HashId::Xxh3Preview,
    ];

    /// Whether digests have 64 bits of their own: two keys then have the same one with probability 2⁻⁶⁴.
    pub const fn is_narrow(self) -> bool {
        !matches!(
            self,
            HashId::Xxh3_128
                | HashId::SipHash24_128
                | HashId::Murmur3_128
                | HashId::Murmur64ATwice
                | HashId::CassandraMurmur3
                | HashId::Xxh64Twice
                | HashId::Xxh3Pair
        )
    }

    /// The id stored in a file as `number`, if this build knows it.
    pub const fn from_number(number: u16) -> Option<Self> {
        const fn among(ids: &[HashId], number: u16) -> Option<HashId> {
            let mut at = 0;
            while at < ids.len() {
                if ids[at] as u16 == number {
                    return Some(ids[at]);
                }
                at += 1;
            }
            None
        }
        match among(&Self::ALL, number) {
            None => among(&Self::FOREIGN, number),
            known => known,
        }
    }
}

impl fmt::Display for HashId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The 128-bit digest of a key, as the two words every probe scheme starts from: in memory, too, where several are
/// loaded at once.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    /// H1.
    pub h1: u64,
    /// H2.
    pub h2: u64,
}

impl Digest {
    /// A digest of the same key that is independent of this one, for layers, checks and groups.
    ///
    /// Salting replaces re-hashing the key: both words pass through a full mix, so that probes
    /// under two salts agree no more often than those of two keys.
    #[inline]
    #[must_use]
    pub fn salted(self, salt: u64) -> Self {
        let s = mix64(salt ^ 0x5851_F42D_4C95_7F2D);
        Self {
            h1: mix64(self.h1 ^ s),
            h2: mix64(self.h2.wrapping_add(s) ^ self.h1.rotate_left(32)),
        }
    }

    /// One 64-bit word that depends on all 128 bits and on `salt`: fingerprints, masks, checks.
    #[inline]
    pub fn word(self, salt: u64) -> u64 {
        mix64(self.h1 ^ mix64(self.h2.wrapping_add(salt)))
    }
}

/// One SplitMix64 step: the pinned 64-bit mixer of the whole system.
#[inline]
pub const fn mix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// `hash` spread over `0..n` as ⌊hash·n / 2⁶⁴⌋. The bias is below n·2⁻⁶⁴; `n` = 0 gives 0.
#[inline]
pub fn multiply_shift(hash: u64, n: u64) -> u64 {
    ((u128::from(hash) * u128::from(n)) >> 64) as u64
}

/// A hash function with its seed or key: what two filters must share to be compared.
#[derive(Clone)]
pub struct Hasher {
    id: HashId,
    /// The seed, or the key's public id when the hash is keyed.
    seed: u64,
    /// The seed as the hash of a word wants it, computed once.
    start: u64,
    key: Option<Box<SecretKey>>,
    /// Whether the caller chose the function, so that a variant's own choice yields.
    named: bool,
}

impl Hasher {
    fn new(id: HashId, seed: u64, key: Option<SecretKey>) -> Self {
        let start = if id == HashId::Xxh3_128 { xxh3::start(seed) } else { fold::start(seed) };
        Self { id, seed, start, key: key.map(Box::new), named: true }
    }

    /// The default hash under `seed`: XXH3-128, unless the filter it is given to has a hash of its own, as the
    /// fastest ones do. [`Hasher::with_id`] is taken as named.
    pub fn seeded(seed: u64) -> Self {
        Self { named: false, ..Self::new(HashId::Xxh3_128, seed, None) }
    }

    /// A quick hash under a seed drawn at random, for tables in memory: nobody can choose keys that meet there.
    pub(crate) fn drawn() -> Self {
        use std::hash::{BuildHasher, RandomState};
        Self::new(HashId::Fold64, RandomState::new().hash_one(0), None)
    }

    /// Whether the function was named, so that no filter prefers its own.
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// This hasher if it was named, else `own` under the same seed.
    pub(crate) fn or(&self, own: HashId) -> Self {
        if self.named { self.clone() } else { Self::new(own, self.seed, None) }
    }

    /// Another unkeyed hash under `seed`; the keyed one needs [`Hasher::keyed`].
    pub fn with_id(id: HashId, seed: u64) -> Result<Self> {
        if id == HashId::SipHash24_128 {
            return Err(Error::new(
                Kind::KeyMissing,
                "siphash-2-4-128 is a keyed hash: give a {key} instead of a {seed}",
            ));
        }
        Ok(Self::new(id, seed, None))
    }

    /// SipHash-2-4-128 under a secret key. Only the key's id is ever stored.
    pub fn keyed(key: SecretKey) -> Self {
        Self::new(HashId::SipHash24_128, key.id(), Some(key))
    }

    /// The hasher a file asks for, given the key the caller holds, if any.
    pub(crate) fn restore(id: HashId, seed: u64, key: Option<&SecretKey>) -> Result<Self> {
        if id != HashId::SipHash24_128 {
            return Ok(Self::new(id, seed, None));
        }
        match key {
            Some(key) if key.id() == seed => Ok(Self::keyed(key.clone())),
            Some(key) => Err(Error::new(
                Kind::KeyMissing,
                format!(
                    "the filter was built with key {seed:016x}, not with the given key {:016x}: give the {{key}} it \
                    was built with",
                    key.id()
                ),
            )),
            None => Err(Error::new(
                Kind::KeyMissing,
                format!("the filter is keyed (key {seed:016x}): give its {{key}}"),
            )),
        }
    }

    /// A hasher that describes a keyed filter whose key is not at hand; it never meets a key.
    pub(crate) fn locked(seed: u64) -> Self {
        Self::new(HashId::SipHash24_128, seed, None)
    }

    /// The permanent id of the function.
    pub fn id(&self) -> HashId {
        self.id
    }

    /// The seed, or the public id of the key.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether the hash is keyed, so that [`Hasher::seed`] is a key id.
    pub fn is_keyed(&self) -> bool {
        self.id == HashId::SipHash24_128
    }

    /// The digest of a key.
    #[inline]
    pub fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        let (kind, secret) = ((self.id, self.seed, self.start), self.key.as_deref());
        key.with_bytes(move |bytes| digest_bytes(kind, secret, bytes))
    }

    /// The digest of a key, fastest if this hasher is of the `usual` kind and the key has eight bytes, or 17 to 32:
    /// those cases are inlined, so that they cost a few instructions and a loop over keys has room to overlap them.
    /// The others are functions.
    #[inline(always)]
    pub(crate) fn digest_usually<K: Key + ?Sized>(&self, usual: HashId, key: &K) -> Digest {
        if self.id == usual {
            return self.digest_by(usual, key);
        }
        rarely();
        self.digest(key)
    }

    /// The digest of a key, for callers that have made sure that this hasher is of kind `id`.
    #[inline(always)]
    pub(crate) fn digest_by<K: Key + ?Sized>(&self, id: HashId, key: &K) -> Digest {
        debug_assert_eq!(self.id, id);
        let (seed, start, secret) = (self.seed, self.start, self.key.as_deref());
        key.with_bytes(
            #[inline(always)]
            move |bytes| match (id, <[u8; 8]>::try_from(bytes).map(u64::from_le_bytes)) {
                (HashId::Quick64, Ok(word)) => fold::quick_word(word, start),
                (HashId::Lane64, Ok(word)) => fold::lane_word(word, start),
                (HashId::Fold64, Ok(word)) => fold::digest_word(word, start),
                (HashId::Xxh64, Ok(word)) => widen(xxh64::of_word(word, seed)),
                (HashId::Xxh3_128, Ok(word)) => xxh3::of_word(word, start),
                (HashId::Quick64, Err(_)) => fold::quick_of(xxh3::of(bytes, seed)),
                (HashId::Lane64, Err(_)) => fold::lane_of(xxh3::of(bytes, seed)),
                (HashId::Fold64, Err(_)) => fold::digest_of(xxh3::of(bytes, seed)),
                (HashId::Xxh3_128, Err(_)) => xxh3::of_128(bytes, seed),
                _ => {
                    rarely();
                    digest_bytes((id, seed, start), secret, bytes)
                }
            },
        )
    }

    /// Refuses hashers that would send one key to different digests.
    pub(crate) fn agree(&self, other: &Hasher) -> Result<()> {
        crate::error::agree("hash", self.id, other.id)?;
        let what = if self.is_keyed() { "key" } else { "seed" };
        crate::error::agree(what, format!("{:016x}", self.seed), format!("{:016x}", other.seed))
    }
}

/// What a locked hasher returns. No answer is ever given from it: the codec hands out a filter
/// without its key only inside an [`Inspection`](crate::state::Inspection), which cannot be asked.
const LOCKED: Digest = Digest { h1: 0, h2: 0 };

impl Default for Hasher {
    fn default() -> Self {
        Self::seeded(DEFAULT_SEED)
    }
}

impl PartialEq for Hasher {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.seed == other.seed
    }
}

impl fmt::Debug for Hasher {
    /// Never prints the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:016x}", self.id, self.seed)
    }
}

/// The digest of a key that has no shorter way.
///
/// A hasher comes in parts, by value: were it lent, the compiler would have to assume that whatever
/// surrounds it is read and written here, and loops over inserted keys would load their filter's shape again
/// with every key.
#[inline(never)]
fn digest_bytes(
    (id, seed, start): (HashId, u64, u64),
    key: Option<&SecretKey>,
    bytes: &[u8],
) -> Digest {
    let word = <[u8; 8]>::try_from(bytes).map(u64::from_le_bytes);
    match (id, word) {
        (HashId::Fold64, Ok(word)) => fold::digest_word(word, start),
        (HashId::Quick64, Ok(word)) => fold::quick_word(word, start),
        (HashId::Lane64, Ok(word)) => fold::lane_word(word, start),
        (HashId::Fold64, Err(_)) => fold::digest_of(xxh3::of(bytes, seed)),
        (HashId::Quick64, Err(_)) => fold::quick_of(xxh3::of(bytes, seed)),
        (HashId::Lane64, Err(_)) => fold::lane_of(xxh3::of(bytes, seed)),
        (HashId::Xxh3_128, _) => xxh3::of_128(bytes, seed),
        (HashId::Xxh3_64, _) => widen(xxh3::of(bytes, seed)),
        (HashId::Xxh64, _) => widen(xxhash_rust::xxh64::xxh64(bytes, seed)),
        (HashId::Murmur64A, _) => widen(murmur_64a(bytes, seed)),
        (HashId::SipHash24_128, _) => key.map_or(LOCKED, |key| key.digest(bytes)),
        (HashId::Murmur3_128, _) => foreign::both(murmur3_x64_128(bytes, seed)),
        (HashId::SparkMurmur3, _) => foreign::halves(murmur3_spark, bytes, seed),
        (HashId::Murmur64ATwice, _) => foreign::twice(murmur_64a, bytes, seed),
        (HashId::CassandraMurmur3, _) => {
            let [first, second] = murmur3_cassandra(bytes, seed);
            foreign::both([second, first])
        }
        (HashId::HiveMurmur3, _) => widen(murmur3_hive(bytes, seed)),
        (HashId::Wang64, _) => widen(foreign::wang_64(foreign::first_word(bytes))),
        (HashId::HadoopMurmur, _) => foreign::halves(murmur_32_hadoop, bytes, seed),
        (HashId::Xxh64Twice, _) => foreign::twice(xxhash_rust::xxh64::xxh64, bytes, seed),
        (HashId::Xxh3Pair, _) => {
            foreign::both([seed, seed.wrapping_add(32)].map(|seed| xxh3::of(bytes, seed)))
        }
        (HashId::Fnv1, _) => widen(foreign::fnv1_64(bytes)),
        (HashId::City64, _) => widen(city_64(bytes)),
        (HashId::Murmur3Last, _) => widen(murmur3_last_64(foreign::first_word(bytes))),
        (HashId::Xxh3Preview, _) => {
            let h = xxh3_preview::xxh3_preview(bytes);
            foreign::both([h << 32, h >> 32])
        }
    }
}

/// Tells the compiler that it need not keep registers free for what follows.
#[inline]
#[cold]
pub(crate) fn rarely() {}

/// A 64-bit hash as a digest; the second word adds no entropy, only spread.
#[inline]
fn widen(h: u64) -> Digest {
    Digest { h1: h, h2: mix64(h ^ 0xA076_1D64_78BD_642F) }
}

#[cfg(test)]
mod tests;
