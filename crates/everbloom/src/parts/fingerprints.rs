//! The methods of a type that is a head and tables of fingerprints.

/// Prefetching calls of a type store and find what calls for single keys do.
#[cfg(test)]
macro_rules! many_keys_are_as_one {
    ($make:expr, $keys:expr) => {
        let (mut one, mut many) = ($make, $make);
        $keys.iter().for_each(|key| _ = one.insert(key).unwrap());
        many.insert_many(&$keys).unwrap();
        assert_eq!(one, many);
        let asked: Vec<u64> = (2000..9000).collect();
        let found: Vec<bool> = asked.iter().map(|key| one.contains(key)).collect();
        assert_eq!(many.contains_many(&asked), found);
        assert!(found[..1000].iter().all(|found| *found));
    };
}
#[cfg(test)]
pub(crate) use many_keys_are_as_one;

/// `fingerprints!(Cuckoo: table);`: insertion, queries, removal and counts of a type with a field `head`, by the
/// part's methods of the same names, which take digests and refuse what they have no room for. The type's own
/// hash is inlined for keys of eight bytes.
macro_rules! fingerprints {
    ($type:ident: $part:ident) => {
        $crate::parts::multisets!($type: $part; Count, Bulk);
        $crate::parts::multisets!(@refusable $type: $part);

        impl $type {
            /// Inserts a key unless it seems to be there: true if it was inserted. A key that passes already is
            /// covered, but must not be removed later: what would be removed is another's.
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

            /// Inserts a slice of keys, in order, up to the first that is refused: faster than one by one where
            /// the filter is larger than the cache.
            pub fn insert_many<K: $crate::hash::Key>(
                &mut self,
                keys: &[K],
            ) -> $crate::error::Result<()> {
                use $crate::variant::Plan;
                let mut done = 0;
                for keys in keys.chunks($crate::hash::CHUNK) {
                    let digest = |key| self.head.hasher.digest_usually(Self::HASH, key);
                    let digests: Vec<$crate::hash::Digest> = keys.iter().map(digest).collect();
                    self.insert_some(&digests).map_err(|(i, e)| {
                        e.context(format!("key {}", done + i + 1))
                    })?;
                    done += keys.len();
                }
                Ok(())
            }

            fn insert_some(
                &mut self,
                digests: &[$crate::hash::Digest],
            ) -> std::result::Result<(), (usize, $crate::error::Error)> {
                let outcome = self.$part.insert_all(digests);
                let taken = outcome.as_ref().map_or_else(|(taken, _)| *taken, |()| digests.len());
                self.head.count(taken as u64);
                outcome
            }

            /// Removes a key that was inserted. Refused, with nothing changed, if its fingerprint is not there.
            /// An absent key that passes cannot be told from a member: its removal takes a member away, with
            /// the probability of a false positive.
            pub fn remove<K: $crate::hash::Key + ?Sized>(
                &mut self,
                key: &K,
            ) -> $crate::error::Result<()> {
                use $crate::variant::Plan;
                self.$part.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
                self.head.count_off();
                Ok(())
            }
        }

        $crate::variant::keyed!($type: Remove);
        $crate::variant::keyed!(@TryInsert $type
            fn insert_all(
                &mut self,
                records: &[$crate::filter::Record<'_>],
            ) -> std::result::Result<(), (usize, $crate::error::Error)> {
                let digest = |r: &$crate::filter::Record<'_>| self.head.hasher.digest(r.key);
                let digests: Vec<$crate::hash::Digest> = records.iter().map(digest).collect();
                self.insert_some(&digests)
            }
        );
    };
}
pub(crate) use fingerprints;
