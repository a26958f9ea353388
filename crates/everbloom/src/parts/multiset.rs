//! The methods of a type that is a head and a part from which keys can be removed.

/// `multisets!(Counting: tallies);`: insertion, queries, removal, counts and merging of a type with a field
/// `head`, by the part's methods of the same names, which take digests. `multisets!(DLeft: table; TryInsert,
/// Remove, Count);` names those that it has; `TryInsert` is an insertion that can be refused. The type's own hash
/// is inlined for keys of eight bytes.
macro_rules! multisets {
    ($type:ident: $part:ident) => {
        $crate::parts::multisets!($type: $part; Insert, Remove, Count, Merge);
    };
    ($type:ident: $part:ident; $($ability:ident),+) => {
        $crate::parts::keys!(@contains $type: $part);
        $($crate::parts::multisets!(@$ability $type: $part);)+
    };
    (@Insert $type:ident: $part:ident) => {
        $crate::parts::keys!(
            @insert $type: $part, "Inserts a key, once more if it is there."
        );
        $crate::variant::keyed!($type: Insert);
    };
    (@TryInsert $type:ident: $part:ident) => {
        $crate::parts::multisets!(@refusable $type: $part);
        $crate::variant::keyed!($type: TryInsert);
    };
    (@refusable $type:ident: $part:ident) => {
        impl $type {
            /// Inserts a key, once more if it is there. Refused, with nothing changed, if there is no room
            /// for it.
            pub fn insert<K: $crate::hash::Key + ?Sized>(
                &mut self,
                key: &K,
            ) -> $crate::error::Result<$crate::filter::Seen> {
                use $crate::variant::Plan;
                let digest = self.head.hasher.digest_usually(Self::HASH, key);
                let new = self.$part.insert(digest)?;
                self.head.count(1);
                Ok($crate::filter::Seen::new_if(new))
            }
        }
    };
    (@Remove $type:ident: $part:ident) => {
        impl $type {
            /// Removes a key that was inserted. Refused, with nothing changed, unless every cell of the key
            /// holds what it would take; a counter that is stuck keeps its value.
            pub fn remove<K: $crate::hash::Key + ?Sized>(
                &mut self,
                key: &K,
            ) -> $crate::error::Result<()> {
                use $crate::variant::Plan;
                let digest = self.head.hasher.digest_usually(Self::HASH, key);
                self.$part.remove(digest)?;
                self.head.count_off();
                Ok(())
            }
        }

        $crate::variant::keyed!($type: Remove);
    };
    (@Count $type:ident: $part:ident) => {
        impl $type {
            /// How often the key was inserted: never too low while no counter is stuck and only members are
            /// removed.
            pub fn count<K: $crate::hash::Key + ?Sized>(&self, key: &K) -> u64 {
                use $crate::variant::Plan;
                self.$part.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
            }
        }

        impl $crate::filter::Count for $type {
            fn count(&self, key: &[u8]) -> $crate::filter::Counted {
                self.$part.count(self.head.hasher.digest(key))
            }
        }
    };
    (@Bulk $type:ident: $part:ident) => {
        $crate::parts::keys!(@queries $type);

        impl $crate::filter::Bulk for $type {
            fn contains_digests(&self, digests: &[$crate::hash::Digest], found: &mut [bool]) {
                self.$part.contains_all(digests, found);
            }
        }
    };
    (@Merge $type:ident: $part:ident) => {
        impl $crate::filter::Merge for $type {
            fn law(&self) -> $crate::filter::MergeLaw {
                $crate::filter::MergeLaw::Multiset
            }

            fn merge(&mut self, other: &dyn $crate::filter::Filter) -> $crate::error::Result<()> {
                let other: &Self = other.as_same()?;
                self.head.agree(&other.head)?;
                self.$part.agree(&other.$part)?;
                self.$part.add(&other.$part);
                self.head.count(other.head.items);
                Ok(())
            }
        }
    };
}
pub(crate) use multisets;
