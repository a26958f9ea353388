//! The methods that take keys, for a type that is a head and a part.

/// `keys!(PartitionedBloom: slices);`: insertion and queries of a type with a field `head`, by one of its parts,
/// which is a [`KeyPart`](super::KeyPart). The type's own hash is inlined for keys of eight bytes.
macro_rules! keys {
    ($type:ident: $part:ident) => {
        $crate::parts::keys!(@insert $type: $part, "Inserts a key.", $crate::parts::KeyPart);
        $crate::parts::keys!(@contains $type: $part, $crate::parts::KeyPart);
        $crate::parts::keys!(@many $type);
        $crate::parts::keys!(@bulk $type: $part);
        $crate::variant::keyed!($type: Insert);
    };
    // Calls for one key, by the part's methods, or those of a trait.
    (@insert $type:ident: $part:ident, $about:literal $(, $by:path)?) => {
        impl $type {
            #[doc = $about]
            #[inline]
            pub fn insert<K: $crate::hash::Key + ?Sized>(
                &mut self,
                key: &K,
            ) -> $crate::filter::Seen {
                $(use $by;)?
                use $crate::variant::Plan;
                let digest = self.head.hasher.digest_usually(Self::HASH, key);
                self.head.count_one();
                $crate::filter::Seen::new_if(self.$part.insert(digest))
            }
        }
    };
    (@contains $type:ident: $part:ident $(, $by:path)?) => {
        impl $type {
            /// Whether the key may be a member.
            #[inline]
            pub fn contains<K: $crate::hash::Key + ?Sized>(&self, key: &K) -> bool {
                $(use $by;)?
                use $crate::variant::Plan;
                self.$part.contains(self.head.hasher.digest_usually(Self::HASH, key))
            }
        }
    };
    // What a part whose probes range over all its bits is made of.
    (@flat $type:ident: $part:ident) => {
        impl $type {
            /// Number of bits in memory.
            pub fn m(&self) -> u64 {
                self.$part.m()
            }

            /// Number of probes per key.
            pub fn k(&self) -> u32 {
                self.$part.k()
            }

            /// The bits.
            pub fn bits(&self) -> &$crate::cells::Bits {
                &self.$part.bits
            }
        }
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

        $crate::parts::keys!(@iterated $type: |filter, keys, found| {
            $crate::variant::many::contains_next(filter, keys, found)
        });
    };
    // Queries for keys of an iterator; `have` takes as many of them as there is room for answers, and hands the others back.
    (@iterated $type:ident: |$filter:ident, $keys:ident, $found:ident| $have:block) => {
        impl $type {
            /// Whether each key of an iterator may be a member, in their order. Keys are taken 1024 at a time, so that a loop
            /// runs at the speed of [`Self::contains_many`].
            pub fn contains_iter<K: $crate::hash::Key>(
                &self,
                keys: impl IntoIterator<Item = K>,
            ) -> impl Iterator<Item = bool> {
                let $filter = self;
                $crate::variant::many::asked(keys.into_iter(), |$keys, $found| $have)
            }
        }
    };
    // Calls for many keys of a part that is `Batched`, and keys of an iterator.
    (@batched $type:ident: $part:ident) => {
        impl $type {
            /// Inserts a slice of keys: several times as fast as one by one where the filter is larger than
            /// the cache, and fastest if they are integers of 64 bits. Keys of an iterator are taken by
            /// `extend`.
            pub fn insert_many<K: $crate::hash::Key>(&mut self, keys: &[K]) {
                const HASH: u16 = <$type as $crate::variant::Plan>::HASH as u16;
                // All that a batch gains other keys is prefetching.
                let in_one_loop = $crate::parts::Batched::in_one_loop(&self.$part, keys);
                if !in_one_loop && $crate::parts::Batched::is_near(&self.$part) {
                    return keys.iter().for_each(|key| _ = self.insert(key));
                }
                if !in_one_loop {
                    return $crate::variant::many::insert_many(self, keys.iter());
                }
                let hasher = self.head.hasher.clone();
                let digests = $crate::hash::Batch::<_, HASH>::new(&hasher, keys);
                $crate::parts::Batched::set_all(&mut self.$part, digests);
                self.head.count(keys.len() as u64);
            }

            /// Whether each of a slice of keys may be a member, in their order.
            pub fn contains_many<K: $crate::hash::Key>(&self, keys: &[K]) -> Vec<bool> {
                let mut found = vec![false; keys.len()];
                self.contains_many_into(keys, &mut found);
                found
            }

            /// [`Self::contains_many`] into memory of the caller's, for as many keys as there is room.
            pub fn contains_many_into<K: $crate::hash::Key>(&self, keys: &[K], found: &mut [bool]) {
                const HASH: u16 = <$type as $crate::variant::Plan>::HASH as u16;
                let in_one_loop = $crate::parts::Batched::in_one_loop(&self.$part, keys);
                if !in_one_loop && $crate::parts::Batched::is_near(&self.$part) {
                    for (found, key) in found.iter_mut().zip(keys) {
                        *found = self.contains(key);
                    }
                    return;
                }
                if !in_one_loop {
                    $crate::variant::many::contains_into(self, keys.iter(), found);
                    return;
                }
                let digests = $crate::hash::Batch::<_, HASH>::new(&self.head.hasher, keys);
                $crate::parts::Batched::have(&self.$part, digests, found);
            }
        }

        $crate::parts::keys!(@iterated $type: |filter, keys, found| {
            const HASH: u16 = <$type as $crate::variant::Plan>::HASH as u16;
            let hasher = &filter.head.hasher;
            let mut digests = $crate::hash::Keys::<_, HASH>::new(hasher, keys, found.len());
            let count = $crate::parts::Batched::have(&filter.$part, &mut digests, found);
            (digests.rest(), count as usize)
        });

        impl<K: $crate::hash::Key> Extend<K> for $type {
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                const HASH: u16 = <$type as $crate::variant::Plan>::HASH as u16;
                let hasher = self.head.hasher.clone();
                let keys = keys.into_iter();
                let digests = $crate::hash::Keys::<_, HASH>::new(&hasher, keys, usize::MAX);
                let count = $crate::parts::Batched::set_all(&mut self.$part, digests);
                self.head.count(count);
            }
        }

        $crate::variant::keyed!($type: InsertOne);
        $crate::parts::keys!(@parallel $type: $part);
        $crate::parts::keys!(@bulk $type: $part);
    };
    // Insertion on all cores.
    (@parallel $type:ident: $part:ident) => {
        impl $type {
            /// Inserts many keys on all cores: the filter's bits are the same whatever their number. Threads have a copy of a small
            /// filter each, up to 64 MiB together, and share a larger one.
            pub fn insert_many_parallel<K: $crate::hash::Key + Sync>(&mut self, keys: &[K]) {
                self.insert_on($crate::parts::parallel::threads(keys.len()), keys);
            }

            /// Inserts keys on so many threads.
            pub(crate) fn insert_on<K>(&mut self, threads: usize, keys: &[K])
            where
                K: $crate::hash::Key + Sync,
            {
                use $crate::cells::Bits;
                use $crate::parts::{lent, parallel};
                use $crate::threads::beside;
                const HASH: $crate::hash::HashId = <$type as $crate::variant::Plan>::HASH;
                if !cfg!(feature = "parallel") || threads < 2 {
                    return self.insert_many(keys);
                }
                if lent::copies_are_small(&self.$part.bits) {
                    let room = self.$part.bits.len();
                    // A twin without bits, of which threads make theirs.
                    let bits = std::mem::replace(&mut self.$part.bits, Bits::new(64));
                    let twin = self.clone();
                    self.$part.bits = bits;
                    let fill = |keys: &[K]| {
                        let mut own = twin.clone();
                        own.$part.bits = Bits::new(room);
                        own.insert_many(keys);
                        own.$part.bits
                    };
                    let (own, others) = parallel::shares(threads, keys);
                    let ((), copies) = beside(others, fill, || self.insert_many(own));
                    lent::unite(&mut self.$part.bits, &copies);
                    return self.head.count((keys.len() - own.len()) as u64);
                }
                let hasher = self.head.hasher.clone();
                let Some(lent) = $crate::filter::BulkInsert::lend(self) else {
                    return self.insert_many(keys);
                };
                let insert = |keys: &[K]| parallel::insert(&lent, (&hasher, HASH), keys);
                let (own, others) = parallel::shares(threads, keys);
                beside(others, insert, || insert(own));
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

            fn lend(&mut self) -> Option<$crate::filter::Lent<'_>> {
                let cells = $crate::parts::KeyPart::lend(&mut self.$part)?;
                Some($crate::filter::Lent::new(cells, &mut self.head))
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
