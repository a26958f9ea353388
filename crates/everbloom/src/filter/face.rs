//! What the list generates for every variant, so that no file writes it out.

use super::{
    Ability, Age, Assign, Bulk, BulkInsert, Count, Estimate, Facts, Filter, Fold, Head, Insert,
    Intersect, List, Lookup, Merge, Reconcile, Remove,
};

/// Whose filter it is, its head, and its abilities. An ability is there if the type has it and the filter's
/// form declares it. Made by a macro of this crate alone, which seals [`Filter`] against other crates.
pub trait Face {
    /// What its list entry says.
    fn facts(&self) -> &'static Facts;

    /// Hash, items, targets and form.
    fn head(&self) -> &Head;

    /// A copy behind the same trait.
    fn boxed_clone(&self) -> Box<dyn Filter>;

    /// The ability to take further keys.
    fn as_insert(&mut self) -> Option<&mut dyn Insert> {
        None
    }

    /// The ability to remove keys.
    fn as_remove(&mut self) -> Option<&mut dyn Remove> {
        None
    }

    /// The ability to estimate multiplicities.
    fn as_count(&self) -> Option<&dyn Count> {
        None
    }

    /// The ability to return values.
    fn as_lookup(&self) -> Option<&dyn Lookup> {
        None
    }

    /// The ability to change values.
    fn as_assign(&mut self) -> Option<&mut dyn Assign> {
        None
    }

    /// The ability to forget with time.
    fn as_age(&mut self) -> Option<&mut dyn Age> {
        None
    }

    /// The ability to be combined with another filter.
    fn as_merge(&mut self) -> Option<&mut dyn Merge> {
        None
    }

    /// The ability to keep what another filter holds, too.
    fn as_intersect(&mut self) -> Option<&mut dyn Intersect> {
        None
    }

    /// The ability to be made smaller.
    fn as_fold(&self) -> Option<&dyn Fold> {
        None
    }

    /// The ability to tell how many different keys are inside.
    fn as_estimate(&self) -> Option<&dyn Estimate> {
        None
    }

    /// The ability to list what is inside.
    fn as_list(&self) -> Option<&dyn List> {
        None
    }

    /// The ability to tell set differences.
    fn as_reconcile(&self) -> Option<&dyn Reconcile> {
        None
    }

    /// The ability to be queried by digests.
    fn as_bulk(&self) -> Option<&dyn Bulk> {
        None
    }

    /// The ability to take digests.
    fn as_bulk_mut(&mut self) -> Option<&mut dyn BulkInsert> {
        None
    }
}

impl dyn Filter {
    /// Whether the filter's form declares an ability.
    pub fn can(&self, ability: Ability) -> bool {
        can(self.facts(), self.head(), ability)
    }
}

/// Whether the form in `head` declares an ability.
pub(crate) fn can(facts: &Facts, head: &Head, ability: Ability) -> bool {
    facts.form(head.form).is_some_and(|form| form.abilities.contains(&ability))
}
