//! Headless assemblies that variants are made of: probes with the cells they point at, and what is done with
//! them. A part has no hash and no list entry; its owner hands it digests.
//!
//! | part | cells | users |
//! |---|---|---|
//! | [`flat_bits`] | bits, probes over all of them | the standard filter and filters inside others |
//! | [`tally`] | counters of any make | the counting family |
//! | [`marks`] | counters with fingerprints or increments | counting filters that tell keys apart |
//!
//! A type with a head and a part gets its methods from three macros: [`keys!`] those that take keys, [`sets!`]
//! those that take another filter of its kind, and [`multisets!`] both for keys that are removed again.

pub(crate) mod flat_bits;
pub(crate) mod marks;
mod multiset;
mod own;
pub(crate) mod parallel;
mod set;
pub(crate) mod tally;

pub(crate) use multiset::multisets;
pub(crate) use own::keys;
pub(crate) use set::{SetPart, intersect, recount, sets, union};

use crate::hash::Digest;

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

    /// Forgets every key.
    fn clear(&mut self);
}
