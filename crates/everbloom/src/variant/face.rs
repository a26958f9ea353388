//! What every variant's file would say in the same words, as macros over its type.

/// `face!(Bloom: Insert, Merge);`: the list entry, the head and the abilities of a type with a field `head`, in
/// a file that defines `VARIANT`. Which form has which ability, the entry says.
macro_rules! face {
    ($type:ident: $($ability:ident),* $(,)?) => {
        impl $crate::filter::Face for $type {
            fn facts(&self) -> &'static $crate::filter::Facts {
                &VARIANT.facts
            }

            fn head(&self) -> &$crate::filter::Head {
                &self.head
            }

            fn boxed_clone(&self) -> Box<dyn $crate::filter::Filter> {
                Box::new(self.clone())
            }

            $($crate::variant::ability!($ability);)*
        }

        impl $crate::variant::Listed for $type {
            fn entry() -> &'static $crate::variant::Variant {
                &VARIANT
            }
        }
    };
}
pub(crate) use face;

/// `by_part!(Bloom: flat);`: a filter that leaves answers, rates and description to one of its fields.
macro_rules! by_part {
    ($type:ident: $part:ident) => {
        impl $crate::filter::Filter for $type {
            fn part(&self) -> Option<&dyn $crate::filter::Part> {
                Some(&self.$part)
            }
        }
    };
}
pub(crate) use by_part;

/// One method of [`Face`].
macro_rules! ability {
    (Insert) => { $crate::variant::ability!(mut as_insert Insert: Insert); };
    (Remove) => { $crate::variant::ability!(mut as_remove Remove: Remove); };
    (Count) => { $crate::variant::ability!(as_count Count: Count); };
    (Lookup) => { $crate::variant::ability!(as_lookup Lookup: Lookup); };
    (Assign) => { $crate::variant::ability!(mut as_assign Assign: Lookup); };
    (Age) => { $crate::variant::ability!(mut as_age Age: Age); };
    (Merge) => { $crate::variant::ability!(mut as_merge Merge: Merge); };
    (Intersect) => { $crate::variant::ability!(mut as_intersect Intersect: Intersect); };
    (Fold) => { $crate::variant::ability!(as_fold Fold: Fold); };
    (Estimate) => { $crate::variant::ability!(as_estimate Estimate: Estimate); };
    (List) => { $crate::variant::ability!(as_list List: List); };
    (Reconcile) => { $crate::variant::ability!(as_reconcile Reconcile: Reconcile); };
    (Bulk) => {
        fn as_bulk(&self) -> Option<&dyn $crate::filter::Bulk> {
            Some(self)
        }
    };
    (BulkInsert) => {
        fn as_bulk_mut(&mut self) -> Option<&mut dyn $crate::filter::BulkInsert> {
            Some(self)
        }
    };
    (mut $method:ident $ability:ident: $declared:ident) => {
        fn $method(&mut self) -> Option<&mut dyn $crate::filter::$ability> {
            let there = $crate::filter::can(
                &VARIANT.facts,
                &self.head,
                $crate::filter::Ability::$declared,
            );
            if there { Some(self) } else { None }
        }
    };
    ($method:ident $ability:ident: $declared:ident) => {
        fn $method(&self) -> Option<&dyn $crate::filter::$ability> {
            let there = $crate::filter::can(
                &VARIANT.facts,
                &self.head,
                $crate::filter::Ability::$declared,
            );
            if there { Some(self) } else { None }
        }
    };
}
pub(crate) use ability;

/// The state of a head and a part that is read by what the head says, and then checked with it:
/// `headed!(PaghPaghRao { lists });`.
macro_rules! headed {
    (plain $type:ident $part:tt) => {
        $crate::state::state!(@unchecked $type);
        $crate::variant::headed!($type $part);
    };
    ($type:ident { $part:ident }) => {
        impl $crate::state::State for $type {
            fn save<'a>(&'a self, name: &'static str, out: &mut $crate::state::Encoder<'a>) {
                out.group(name, |out| {
                    $crate::state::State::save(&self.head, "head", out);
                    $crate::filter::Headed::save_fields(&self.$part, out);
                });
            }

            fn load(
                name: &'static str,
                src: &mut $crate::state::Decoder<'_>,
            ) -> $crate::error::Result<Self> {
                src.group(name, |src| {
                    let head = $crate::state::State::load("head", src)?;
                    let $part = $crate::filter::Headed::load_fields(&head, src)?;
                    let this = Self { head, $part };
                    this.check()?;
                    Ok(this)
                })
            }
        }
    };
}
pub(crate) use headed;

/// Abilities that are the type's own methods of the same name, for keys without values:
/// `keyed!(Counting: Insert, Remove);`. `Union` is a merge of sets by the method `union`,
/// `InsertOne` an insertion by a type that takes keys of iterators in a way of its own, `TryInsert` one that can be
/// refused.
macro_rules! keyed {
    ($type:ident: $($ability:ident),+) => {
        $($crate::variant::keyed!(@$ability $type);)+
    };
    (@Insert $type:ident) => {
        $crate::variant::keyed!(@InsertOne $type);

        impl<K: $crate::hash::Key> Extend<K> for $type {
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                keys.into_iter().for_each(|key| {
                    self.insert(&key);
                });
            }
        }
    };
    (@InsertOne $type:ident) => {
        impl $crate::filter::Insert for $type {
            fn insert(
                &mut self,
                record: $crate::filter::Record<'_>,
            ) -> $crate::error::Result<$crate::filter::Seen> {
                Ok($type::insert(self, record.key))
            }
        }
    };
    (@TryInsert $type:ident) => {
        impl $crate::filter::Insert for $type {
            fn insert(
                &mut self,
                record: $crate::filter::Record<'_>,
            ) -> $crate::error::Result<$crate::filter::Seen> {
                $type::insert(self, record.key)
            }
        }
    };
    (@Remove $type:ident) => {
        impl $crate::filter::Remove for $type {
            fn remove(&mut self, record: $crate::filter::Record<'_>) -> $crate::error::Result<()> {
                $type::remove(self, record.key)
            }
        }
    };
    (@Count $type:ident) => {
        impl $crate::filter::Count for $type {
            fn count(&self, key: &[u8]) -> $crate::filter::Counted {
                $crate::filter::Counted::about($type::count(self, key))
            }
        }
    };
    (@Union $type:ident) => {
        impl $crate::filter::Merge for $type {
            fn law(&self) -> $crate::filter::MergeLaw {
                $crate::filter::MergeLaw::Set
            }

            fn merge(&mut self, other: &dyn $crate::filter::Filter) -> $crate::error::Result<()> {
                self.union(other.as_same()?)
            }
        }
    };
    (@Estimate $type:ident) => {
        impl $crate::filter::Estimate for $type {
            fn cardinality(&self) -> Option<f64> {
                $type::cardinality(self)
            }
        }
    };
    (@Intersect $type:ident) => {
        impl $crate::filter::Intersect for $type {
            fn intersect(
                &mut self,
                other: &dyn $crate::filter::Filter,
            ) -> $crate::error::Result<()> {
                $type::intersect(self, other.as_same()?)
            }

            fn intersection_size(
                &self,
                other: &dyn $crate::filter::Filter,
            ) -> $crate::error::Result<Option<f64>> {
                $type::intersection_size(self, other.as_same()?)
            }
        }
    };
    (@Fold $type:ident) => {
        impl $crate::filter::Fold for $type {
            fn fold(&self) -> $crate::error::Result<Box<dyn $crate::filter::Filter>> {
                Ok(Box::new($type::fold(self)?))
            }
        }
    };
}
pub(crate) use keyed;

/// `shaped!(Scalable);`: a type that is planned and predicted by its `Shape`.
macro_rules! shaped {
    ($type:ident) => {
        impl $crate::variant::Plan for $type {
            type Shape = Shape;

            fn plan(request: &$crate::plan::Request<'_>) -> $crate::error::Result<Shape> {
                Shape::plan(request)
            }

            fn expect(shape: &Shape, load: &$crate::plan::Load) -> Option<$crate::plan::Expect> {
                shape.expect(load).into()
            }
        }
    };
}
pub(crate) use shaped;

/// The ways to an empty filter of a type that is a [`Stream`](crate::variant::Stream): `planned!(Bloom);`.
/// A type to which items and rate mean something else says so: `planned!(Stable: "A filter that …");`.
macro_rules! planned {
    ($type:ident) => {
        $crate::variant::planned!($type: "A filter for `items` keys at a false-positive rate of `fpr`.");
    };
    ($type:ident: $summary:literal) => {
        impl $type {
            #[doc = $summary]
            /// Under the default hash and seed.
            pub fn with_rate(items: u64, fpr: f64) -> $crate::error::Result<Self> {
                $crate::variant::empty(&$crate::plan::Goal::new(items, fpr))
            }

            /// Plans a filter by items, rate, memory, seed, key and settings.
            pub fn builder() -> $crate::variant::Builder<Self> {
                $crate::variant::Builder::new()
            }
        }
    };
}
pub(crate) use planned;

/// The ways to a filter of a type that is built from all its keys at once: `built!(Golomb);`.
macro_rules! built {
    (@builder $type:ident) => {
        impl $type {
            /// Plans a filter by rate, memory, seed, key and settings, to be built from keys.
            pub fn builder() -> $crate::variant::Builder<Self> {
                $crate::variant::Builder::new()
            }
        }
    };
    ($type:ident) => {
        $crate::variant::built!(@builder $type);

        impl $type {
            /// The filter of these keys at a false-positive rate of `fpr`.
            pub fn from_keys<I>(keys: I, fpr: f64) -> $crate::error::Result<Self>
            where
                I: IntoIterator<Item: $crate::hash::Key>,
            {
                Self::builder().rate(fpr).build_from(keys)
            }
        }
    };
    // Types that use known non-members.
    ($type:ident: against) => {
        impl $type {
            /// Plans a filter by rate, memory, seed, key and settings, to be built from keys against known
            /// non-members.
            pub fn builder() -> $crate::variant::Builder<Self> {
                $crate::variant::Builder::new()
            }

            /// The filter of these keys, built against known non-members, at a false-positive rate of `fpr`.
            pub fn from_keys<I, N>(keys: I, negatives: N, fpr: f64) -> $crate::error::Result<Self>
            where
                I: IntoIterator<Item: $crate::hash::Key>,
                N: IntoIterator<Item: $crate::hash::Key>,
            {
                Self::builder().rate(fpr).build_against(keys, negatives)
            }
        }
    };
}
pub(crate) use built;
