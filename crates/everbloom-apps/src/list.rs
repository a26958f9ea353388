//! The list of applications: nothing else.

use crate::Application;

/// Every application, in the order of its entry.
#[rustfmt::skip]
pub static APPLICATIONS: &[&Application] = &[
    &crate::words::spell::APPLICATION, // A1
    &crate::words::breach::APPLICATION, // A2
    &crate::forwarding::longest_prefix::APPLICATION, // A13
    &crate::trust::revoked::APPLICATION, // A29
    &crate::trust::link::APPLICATION, // A35
];

/// The application of this name.
pub fn by_name(name: &str) -> Option<&'static Application> {
    APPLICATIONS.iter().copied().find(|application| application.slug() == name)
}
