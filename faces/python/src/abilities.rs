//! What a filter can do, or the error that names filters that can.

use everbloom::catalog::Build;
use everbloom::internals::filter::{
    Age, Assign, Count, Estimate, Fold, Insert, Intersect, List, Lookup, Merge, Reconcile, Remove,
};
use everbloom::{Ability, Error, Filter as AnyFilter, Kind, Result};

use crate::errors::unable;

/// `abilities! { removing(mut as_remove) -> Remove, … }`: the ability of a filter, or the error that names others that
/// have it.
macro_rules! abilities {
    ($($name:ident(mut $method:ident) -> $trait:ident if $ability:ident;)+) => {$(
        pub fn $name(filter: &mut dyn AnyFilter) -> Result<&mut dyn $trait> {
            let (facts, form) = (filter.facts(), filter.head().form);
            filter.$method().ok_or_else(|| unable(facts, form, Ability::$ability))
        }
    )+};
    ($($name:ident($method:ident) -> $trait:ident if $ability:ident;)+) => {$(
        pub fn $name(filter: &dyn AnyFilter) -> Result<&dyn $trait> {
            let (facts, form) = (filter.facts(), filter.head().form);
            filter.$method().ok_or_else(|| unable(facts, form, Ability::$ability))
        }
    )+};
}

abilities! {
    removing(mut as_remove) -> Remove if Remove;
    assigning(mut as_assign) -> Assign if Lookup;
    ageing(mut as_age) -> Age if Age;
    merging(mut as_merge) -> Merge if Merge;
    intersecting(mut as_intersect) -> Intersect if Intersect;
}

abilities! {
    counting(as_count) -> Count if Count;
    lookup(as_lookup) -> Lookup if Lookup;
    folding(as_fold) -> Fold if Fold;
    estimating(as_estimate) -> Estimate if Estimate;
    listing(as_list) -> List if List;
    reconciling(as_reconcile) -> Reconcile if Reconcile;
}

/// The ability to take keys, or the error that names filters that have it.
pub fn insert(filter: &mut dyn AnyFilter) -> Result<&mut dyn Insert> {
    let (facts, form) = (filter.facts(), filter.head().form);
    filter.as_insert().ok_or_else(|| {
        let error = unable(facts, form, Ability::Insert);
        if facts.build == Build::Collected {
            let message =
                format!("{error}. A {} filter is built once, from all its keys", facts.slug);
            return Error::new(Kind::Unsupported, message);
        }
        error
    })
}
