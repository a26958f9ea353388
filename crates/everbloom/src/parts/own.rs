//! The methods that take keys, for a type that is a head and a part.

/// `keys!(PartitionedBloom: slices);`: insertion and queries of a type with a field `head`, by one of its parts,
/// which is a [`KeyPart`](super::KeyPart). The type's own hash is inlined for keys of eight bytes.
macro_rules! keys {
    ($type:ident: $part:ident) => {
        impl $type {
            /// Inserts a key.
            #[inline]
            pub fn insert<K: $crate::hash::Key + ?Sized>(
                &mut self,
                key: &K,
            ) -> $crate::filter::Seen {
                use $crate::{parts::KeyPart, variant::Plan};
                let digest = self.head.hasher.digest_usually(Self::HASH, key);
                self.head.count_one();
                $crate::filter::Seen::new_if(self.$part.insert(digest))
            }

            /// Whether the key may be a member.
            #[inline]
            pub fn contains<K: $crate::hash::Key + ?Sized>(&self, key: &K) -> bool {
                use $crate::{parts::KeyPart, variant::Plan};
                self.$part.contains(self.head.hasher.digest_usually(Self::HASH, key))
            }
        }

        $crate::parts::keys!(@many $type);
        $crate::parts::keys!(@bulk $type: $part);
        $crate::variant::keyed!($type: Insert);
    };
    // Calls for many keys.
    (@many $type:ident) => {
        impl $type {
            /// Inserts a slice of keys: several times as fast as one by one where the filter is larger than
            /// the cache. Keys of an iterator are taken by `extend`.
            pub fn insert_many<K: $crate::hash::Key>(&mut self, keys: &[K]) {
                $crate::variant::many::insert_many(self, keys.iter());
            }
        }

        $crate::parts::keys!(@queries $type);
    };
    // Queries for many keys.
    (@queries $type:ident) => {
        impl $type {
            /// Whether each of a slice of keys may be a member, in their order.
            pub fn contains_many<K: $crate::hash::Key>(&self, keys: &[K]) -> Vec<bool> {
                $crate::variant::many::contains_many(self, keys.iter())
            }

            /// [`Self::contains_many`] into memory of the caller's, for as many keys as there is room.
            pub fn contains_many_into<K: $crate::hash::Key>(&self, keys: &[K], found: &mut [bool]) {
                $crate::variant::many::contains_into(self, keys.iter(), found);
            }
        }
    };
    // What the list of abilities calls for, and clearing.
    (@bulk $type:ident: $part:ident) => {
        impl $type {
            /// Forgets every key.
            pub fn clear(&mut self) {
                $crate::parts::KeyPart::clear(&mut self.$part);
                self.head.items = 0;
            }
        }

        impl $crate::filter::BulkInsert for $type {
            fn insert_digests(&mut self, digests: &[$crate::hash::Digest]) {
                $crate::parts::KeyPart::insert_all(&mut self.$part, digests);
                self.head.count(digests.len() as u64);
            }
        }

        impl $crate::filter::Bulk for $type {
            fn contains_digests(&self, digests: &[$crate::hash::Digest], found: &mut [bool]) {
                $crate::parts::KeyPart::contains_all(&self.$part, digests, found);
            }
        }
    };
}
pub(crate) use keys;
