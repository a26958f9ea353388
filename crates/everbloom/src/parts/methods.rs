//! Methods that many types have, in the same words.

/// `methods!(Bloom: insert_many_parallel, clear);`: the methods it names; `insert_on` comes with
/// `insert_many_parallel`.
macro_rules! methods {
    ($type:ident: $($method:ident),+ $(,)?) => {
        impl $type {
            $($crate::parts::methods!(@$method);)+
        }
    };
    (@insert) => {
        /// Inserts a key.
        #[inline]
        pub fn insert<K: $crate::hash::Key + ?Sized>(&mut self, key: &K) -> $crate::filter::Seen {
            $crate::parts::own::insert(self, key)
        }
    };
    (@contains) => {
        /// Whether the key may be a member.
        #[inline]
        pub fn contains<K: $crate::hash::Key + ?Sized>(&self, key: &K) -> bool {
            $crate::parts::own::contains(self, key)
        }
    };
    (@clear) => {
        /// Removes all keys.
        pub fn clear(&mut self) {
            $crate::parts::own::clear(self);
        }
    };
    (@insert_many) => {
        /// Inserts a slice of keys: several times as fast as one by one if the filter is larger than the cache. For
        /// keys of an iterator use `extend`.
        pub fn insert_many<K: $crate::hash::Key>(&mut self, keys: &[K]) {
            $crate::variant::many::insert_many(self, keys.iter());
        }
    };
    (@insert_if_absent) => {
        /// Inserts a key unless it seems to be present; true if it was inserted. A key that passes already is covered,
        /// but must not be removed later: that would remove another key.
        pub fn insert_if_absent<K: $crate::hash::Key + ?Sized>(
            &mut self,
            key: &K,
        ) -> $crate::error::Result<bool> {
            let absent = !self.contains(key);
            if absent {
                self.insert(key)?;
            }
            Ok(absent)
        }
    };
    (@insert_many_parallel) => {
        /// Inserts many keys on all cores. The bits are the same whatever the number of cores. Each thread has a copy of
        /// a small filter, up to 64 MiB together, and all share a larger one.
        pub fn insert_many_parallel<K>(&mut self, keys: &[K])
        where
            K: $crate::hash::Key + Sync,
        {
            self.insert_on($crate::parts::parallel::threads(keys.len()), keys);
        }

        /// Inserts keys on so many threads.
        pub(crate) fn insert_on<K>(&mut self, threads: usize, keys: &[K])
        where
            K: $crate::hash::Key + Sync,
        {
            $crate::parts::parallel::insert_on(self, threads, keys, Self::insert_many);
        }
    };
    (@contains_many) => {
        /// Whether each of a slice of keys may be a member, in their order.
        pub fn contains_many<K: $crate::hash::Key>(&self, keys: &[K]) -> Vec<bool> {
            $crate::variant::many::contains_many(self, keys.iter())
        }
    };
    (@contains_many_into) => {
        /// [`Self::contains_many`] into the caller's memory, for as many keys as fit.
        pub fn contains_many_into<K: $crate::hash::Key>(&self, keys: &[K], found: &mut [bool]) {
            $crate::variant::many::contains_into(self, keys.iter(), found);
        }
    };
    (@contains_iter) => {
        /// Whether each key of an iterator may be a member, in their order. Keys are taken 1024 at a time, so that a
        /// loop runs at the speed of [`Self::contains_many`].
        pub fn contains_iter<K: $crate::hash::Key>(
            &self,
            keys: impl IntoIterator<Item = K>,
        ) -> impl Iterator<Item = bool> {
            $crate::variant::many::asked(keys.into_iter(), |keys, found| {
                $crate::variant::many::contains_next(self, keys, found)
            })
        }
    };
}
pub(crate) use methods;
