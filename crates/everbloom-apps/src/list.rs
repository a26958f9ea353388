//! The list of applications: nothing else.

use crate::Application;

/// Every application, in the order of its entry.
#[rustfmt::skip]
pub static APPLICATIONS: &[&Application] = &[
    &crate::peers::planetp::APPLICATION, // A6
    &crate::peers::gnutella::APPLICATION, // A7
    &crate::peers::tree_routing::APPLICATION, // A10
    &crate::peers::attenuated_routing::APPLICATION, // A11
    &crate::peers::quad_tree::APPLICATION, // A12
    &crate::forwarding::longest_prefix::APPLICATION, // A13
    &crate::peers::foreseer::APPLICATION, // A60
];

/// The application of this name.
pub fn by_name(name: &str) -> Option<&'static Application> {
    APPLICATIONS.iter().copied().find(|application| application.slug() == name)
}
