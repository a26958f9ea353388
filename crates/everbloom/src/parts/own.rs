//! Types that are a head and a part: what their methods do, written once over the parts.

use super::KeyPart;
use crate::filter::{Bulk, BulkInsert, Head, Lent, Seen};
use crate::hash::{Digest, Key};
use crate::variant::Plan;

/// A type that is a head and a part.
pub(crate) trait Owns: Plan {
    /// What holds the keys.
    type Part;

    /// Both, to read.
    fn own(&self) -> (&Head, &Self::Part);

    /// Both, to change.
    fn own_mut(&mut self) -> (&mut Head, &mut Self::Part);
}

/// `owns!(PartitionedBloom { slices: EvenSlices });`: that the type is its field `head` and this one.
macro_rules! owns {
    ($type:ident { $part:ident: $of:ty }) => {
        impl $crate::parts::Owns for $type {
            type Part = $of;

            #[inline(always)]
            fn own(&self) -> (&$crate::filter::Head, &$of) {
                (&self.head, &self.$part)
            }

            #[inline(always)]
            fn own_mut(&mut self) -> (&mut $crate::filter::Head, &mut $of) {
                (&mut self.head, &mut self.$part)
            }
        }
    };
}
pub(crate) use owns;

// Always inlined: a reference to the whole filter must not stay in a loop over keys, which would load its shape again
// with every key.

/// Inserts a key.
#[inline(always)]
pub(crate) fn insert<T, K>(filter: &mut T, key: &K) -> Seen
where
    T: Owns<Part: KeyPart>,
    K: Key + ?Sized,
{
    let (head, part) = filter.own_mut();
    let digest = head.hasher.digest_usually(T::HASH, key);
    head.count_one();
    Seen::new_if(part.insert(digest))
}

/// Whether the key may be a member.
#[inline(always)]
pub(crate) fn contains<T, K>(filter: &T, key: &K) -> bool
where
    T: Owns<Part: KeyPart>,
    K: Key + ?Sized,
{
    let (head, part) = filter.own();
    part.contains(head.hasher.digest_usually(T::HASH, key))
}

/// Removes all keys.
pub(crate) fn clear<T: Owns<Part: KeyPart>>(filter: &mut T) {
    let (head, part) = filter.own_mut();
    part.clear();
    head.items = 0;
}

impl<T: Owns<Part: KeyPart>> BulkInsert for T {
    fn insert_digests(&mut self, digests: &[Digest]) {
        let (head, part) = self.own_mut();
        part.insert_all(digests);
        head.count(digests.len() as u64);
    }

    fn lend(&mut self) -> Option<Lent<'_>> {
        let (head, part) = self.own_mut();
        Some(Lent::new(part.lend()?, head))
    }
}

impl<T: Owns<Part: KeyPart>> Bulk for T {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        self.own().1.contains_all(digests, found);
    }
}
