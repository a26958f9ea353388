//! The list of applications: nothing else.

use crate::Application;

/// Every application, in the order of its entry.
#[rustfmt::skip]
pub static APPLICATIONS: &[&Application] = &[
    &crate::tables::bloomjoin::APPLICATION, // A3
    &crate::caching::cache_digests::APPLICATION, // A5
    &crate::peers::approximate::APPLICATION, // A8
    &crate::tables::posting_lists::APPLICATION, // A9
    &crate::forwarding::longest_prefix::APPLICATION, // A13
    &crate::peers::friends::APPLICATION, // A59
    &crate::caching::annotations::APPLICATION, // A61
];

/// The application of this name.
pub fn by_name(name: &str) -> Option<&'static Application> {
    APPLICATIONS.iter().copied().find(|application| application.slug() == name)
}
