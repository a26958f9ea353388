//! Filters of sets as if they were the sets: union, intersection, folding, sizes.

use crate::error::Result;
use crate::filter::Head;
use crate::plan::{DEFAULT_FPR, Goal};
use crate::variant::{Stream, empty};

/// A part that holds a set and can be combined with another of its shape.
pub(crate) trait SetPart: Clone {
    /// Refuses a part of another shape, and names the difference.
    fn agree(&self, other: &Self) -> Result<()>;

    /// Makes this the part of the union, exactly.
    fn union(&mut self, other: &Self);

    /// Keeps what both hold.
    fn intersect(&mut self, other: &Self);

    /// Half the size: same keys, a higher rate.
    fn fold(&self) -> Result<Self>;

    /// The number of distinct keys, estimated from the cells; `None` if they are too full to tell.
    fn cardinality(&self) -> Option<f64>;

    /// The number of distinct keys in both: |A| + |B| − |A ∪ B|, unless a part knows better.
    fn intersection_size(&self, other: &Self) -> Option<f64> {
        let mut both = self.clone();
        both.union(other);
        Some(self.cardinality()? + other.cardinality()? - both.cardinality()?)
    }
}

/// Items from the cells, where they can tell.
pub(crate) fn recount(head: &mut Head, part: &impl SetPart) {
    if let Some(n) = part.cardinality() {
        head.items = n.round() as u64;
    }
}

/// The union of two filters (S1 §2.4). Items are then estimated from the cells: the two counts cannot be added,
/// because the number of common keys is unknown.
pub(crate) fn union<P: SetPart>(
    (head, part): (&mut Head, &mut P),
    (other_head, other): (&Head, &P),
) -> Result<()> {
    head.agree(other_head)?;
    part.agree(other)?;
    part.union(other);
    head.count(other_head.items);
    recount(head, part);
    Ok(())
}

/// The intersection of two filters: every common key passes, and a few others that the filter of the true
/// intersection would not let pass (S0 theorem 2).
pub(crate) fn intersect<P: SetPart>(
    (head, part): (&mut Head, &mut P),
    (other_head, other): (&Head, &P),
) -> Result<()> {
    head.agree(other_head)?;
    part.agree(other)?;
    let both = part.intersection_size(other);
    part.intersect(other);
    let most = head.items.min(other_head.items);
    head.items = both.map_or(most, |n| n.max(0.0).round() as u64).min(most);
    Ok(())
}

/// The filter of keys whose number nobody knows before they have come, at the default rate.
pub(crate) fn collected<T: Stream, K>(
    keys: impl IntoIterator<Item = K>,
    insert: impl FnOnce(&mut T, &[K]),
) -> T {
    let keys: Vec<K> = keys.into_iter().collect();
    let goal = Goal::new((keys.len() as u64).max(1), DEFAULT_FPR);
    // Such a plan fails for want of memory alone, at which the list of keys would have failed before.
    let mut filter = empty(&goal).unwrap_or_else(|e| panic!("{e}"));
    insert(&mut filter, &keys);
    filter
}

/// `sets!(Bloom: flat);`: the operations of a type whose field `head` and the named part make a set.
macro_rules! sets {
    ($type:ident: $part:ident) => {
        $crate::parts::sets!(@union $type: $part);

        impl $type {
            /// Keeps what both filters hold: every common key passes, and a few others that the filter of
            /// the true intersection would not let pass (S0 theorem 2).
            pub fn intersect(&mut self, other: &Self) -> $crate::error::Result<()> {
                $crate::parts::intersect(
                    (&mut self.head, &mut self.$part),
                    (&other.head, &other.$part),
                )
            }

            /// Half the size: same keys, a higher rate (S1 §2.4).
            pub fn fold(&self) -> $crate::error::Result<Self> {
                use $crate::parts::SetPart;
                Ok(Self { $part: self.$part.fold()?, ..self.clone() })
            }

            /// The number of distinct keys in both filters; `None` if one is too full to estimate.
            pub fn intersection_size(&self, other: &Self) -> $crate::error::Result<Option<f64>> {
                use $crate::parts::SetPart;
                self.head.agree(&other.head)?;
                self.$part.agree(&other.$part)?;
                Ok(self.$part.intersection_size(&other.$part))
            }
        }

        $crate::variant::keyed!($type: Estimate, Intersect, Fold);

        /// The filter of these keys at a false-positive rate of 1 %, sized once they have all come. For another rate,
        /// `with_rate` and `extend`. Panics where memory does not suffice, as collecting into a `Vec` does.
        impl<K: $crate::hash::Key> FromIterator<K> for $type {
            fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
                $crate::parts::collected(keys, |filter: &mut Self, keys| filter.insert_many(keys))
            }
        }

        /// The filter of the keys in both sets, and a few others; an error for filters that do not fit.
        impl std::ops::BitAnd for &$type {
            type Output = $crate::error::Result<$type>;

            fn bitand(self, other: Self) -> Self::Output {
                let mut both = self.clone();
                both.intersect(other)?;
                Ok(both)
            }
        }
    };
    // Union and size alone.
    (@union $type:ident: $part:ident) => {
        impl $type {
            /// Makes this the filter of the union of both sets, exactly. Items are then estimated from the
            /// cells, because the number of common keys is unknown.
            pub fn union(&mut self, other: &Self) -> $crate::error::Result<()> {
                $crate::parts::union((&mut self.head, &mut self.$part), (&other.head, &other.$part))
            }

            /// The number of distinct keys, estimated from the cells; `None` for a filter too full to estimate.
            pub fn cardinality(&self) -> Option<f64> {
                $crate::parts::SetPart::cardinality(&self.$part)
            }
        }

        $crate::variant::keyed!($type: Union);

        /// The filter of the union of both sets; an error for filters that do not fit.
        impl std::ops::BitOr for &$type {
            type Output = $crate::error::Result<$type>;

            fn bitor(self, other: Self) -> Self::Output {
                let mut either = self.clone();
                either.union(other)?;
                Ok(either)
            }
        }
    };
}
pub(crate) use sets;
