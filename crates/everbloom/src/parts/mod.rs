//! Headless assemblies that variants are made of: probes with the cells they point at, and what is done with
//! them. A part has no hash and no list entry; its owner hands it digests.
//!
//! | part | cells | users |
//! |---|---|---|
//! | [`probed_bits`] | bits, probes of any kind | filters of bits |
//! | [`flat_bits`] | … that range over all of them | the standard filter and filters inside others |
//! | [`line_bits`] | … that range over one line | the blocked filter and K-mers |
//! | [`several`] | … several of those | filters that are checked by others, or have one for each stage |
//! | [`generations`] | … several that grow old together | filters that forget |
//! | [`slices`] | … one into each slice | partitioned filters |
//! | [`row`] | bits, probes elsewhere | filters that are matrices |
//! | [`sum_cells`] | sums, one cell into each segment | filters that are read back |
//! | [`static_set`] | of any make, solved for once | filters built from all their keys at once |
//! | [`tally`] | counters of any make | the counting family |
//! | [`candidates`] | keys with the largest counts | sketches that list heavy hitters |
//! | [`layers`] | cells of any make, one filter after another | filters that grow |
//! | [`exact`] | a number per key, beside cells | filters that must know what they change |
//! | [`labels`] | values beside keys | filters of groups, stages and values |
//! | [`projections`] | none: where a vector lies on random lines | filters of near vectors |
//! | [`cuckoo_table`] | fingerprints in buckets, two per key | cuckoo filters |
//! | [`tables`] | … and further tables, one behind another | those that grow |
//! | [`d_left`] | buckets of any make, one in each of d tables | d-left tables |
//! | [`kicks`] | entries of any make that move to make room | … and tables of whole keys |
//! | [`ledger`] | whole keys, by place | filters in front of a table that knows better |
//! | [`groups`] | names of groups and states | filters that tell them apart |
//! | [`marks`] | counters with fingerprints or increments | counting filters that tell keys apart |
//!
//! A type that is a head and a part says so ([`Owns`]). What its methods do is in [`own`], [`batched`], [`parallel`] and
//! [`fingerprints`], as functions over such types, from which it also gets the traits for many keys and for merging.

pub(crate) mod batched;
#[cfg(feature = "families")]
pub(crate) mod candidates;
#[cfg(feature = "everyday")]
pub(crate) mod cuckoo_table;
#[cfg(feature = "families")]
pub(crate) mod d_left;
#[cfg(feature = "families")]
pub(crate) mod exact;
#[cfg(feature = "everyday")]
pub(crate) mod fingerprints;
pub(crate) mod flat_bits;
#[cfg(feature = "families")]
pub(crate) mod generations;
#[cfg(feature = "families")]
pub(crate) mod groups;
#[cfg(feature = "everyday")]
pub(crate) mod kicks;
#[cfg(feature = "families")]
pub(crate) mod labels;
#[cfg(feature = "everyday")]
pub(crate) mod layers;
#[cfg(feature = "families")]
pub(crate) mod ledger;
pub(crate) mod lent;
pub(crate) mod line_bits;
#[cfg(feature = "families")]
pub(crate) mod marks;
mod methods;
#[cfg(feature = "everyday")]
mod multiset;
pub(crate) mod own;
pub(crate) mod parallel;
pub(crate) mod probed_bits;
#[cfg(feature = "families")]
pub(crate) mod projections;
#[cfg(feature = "families")]
pub(crate) mod row;
mod set;
#[cfg(feature = "everyday")]
pub(crate) mod several;
#[cfg(feature = "everyday")]
pub(crate) mod slices;
#[cfg(feature = "everyday")]
pub(crate) mod static_set;
#[cfg(feature = "families")]
pub(crate) mod sum_cells;
#[cfg(feature = "everyday")]
pub(crate) mod tables;
#[cfg(feature = "everyday")]
pub(crate) mod tally;
#[cfg(feature = "families")]
mod times;

pub(crate) use methods::methods;
#[cfg(feature = "everyday")]
pub(crate) use multiset::SumPart;
pub(crate) use own::{Owns, owns};
pub(crate) use set::{SetPart, collected, intersect, recount, sets, union};
#[cfg(feature = "everyday")]
pub(crate) use static_set::static_set;
#[cfg(feature = "families")]
pub(crate) use times::times_of;

use crate::cells::Bits;
use crate::filter::LentCells;
use crate::hash::{Digest, Digests, Key, TEXT};

/// A part that takes keys one by one.
pub(crate) trait KeyPart {
    /// Inserts a key; true if it was certainly not there.
    fn insert(&mut self, digest: Digest) -> bool;

    /// Whether the key may be a member.
    fn contains(&self, digest: Digest) -> bool;

    /// Inserts many keys.
    fn insert_all(&mut self, digests: &[Digest]) {
        digests.iter().for_each(|digest| {
            self.insert(*digest);
        });
    }

    /// Writes for each digest whether its key may be a member.
    fn contains_all(&self, digests: &[Digest], found: &mut [bool]) {
        for (digest, found) in digests.iter().zip(found) {
            *found = self.contains(*digest);
        }
    }

    /// Lends the cells to several threads; `None` where only one may insert.
    fn lend(&mut self) -> Option<Box<dyn LentCells + '_>> {
        None
    }

    /// Forgets every key.
    fn clear(&mut self);
}

/// A part whose keys are all in its bits.
pub(crate) trait BitsPart: KeyPart {
    /// The bits.
    fn bits_mut(&mut self) -> &mut Bits;
}

/// A part that takes keys as they are hashed, many at once: for kernels that hash several with one
/// instruction.
pub(crate) trait Batched {
    /// Sets the bits of every digest; says how many there were.
    fn set_all(&mut self, digests: impl Digests) -> u64;

    /// Writes for each digest whether its key may be a member, for as many as there is room; says how many digests there
    /// were.
    fn have(&self, digests: impl Digests, found: &mut [bool]) -> u64;

    /// Whether all bits are so near to the processor that prefetching gains nothing.
    fn is_near(&self) -> bool;

    /// Whether keys of 17 to 32 bytes are for [`Batched::set_all`] and [`Batched::have`], as those of eight are.
    fn takes_texts(&self) -> bool {
        false
    }

    /// Whether such a slice of keys, under the usual hash, is hashed and looked at by one loop, compiled for the processor. Keys
    /// whose type leaves their length open are taken to be as long as the first.
    #[inline]
    fn in_one_loop<K: Key>(&self, keys: &[K]) -> bool {
        K::LENGTH == Some(8)
            || self.takes_texts()
                && match K::LENGTH {
                    Some(length) => TEXT.contains(&length),
                    None => keys
                        .first()
                        .is_some_and(|key| key.with_bytes(|key| TEXT.contains(&key.len()))),
                }
    }
}

/// Bytes that stay in the L2 cache beside everything else.
pub(crate) const NEAR: usize = 256 << 10;
