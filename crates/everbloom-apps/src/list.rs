//! The list of applications: nothing else.

use crate::Application;

/// Every application, in the order of its entry.
#[rustfmt::skip]
pub static APPLICATIONS: &[&Application] = &[
    &crate::forwarding::longest_prefix::APPLICATION, // A13
    &crate::tracing::loops::APPLICATION, // A14
    &crate::measuring::fair_blue::APPLICATION, // A15
    &crate::tracing::signatures::APPLICATION, // A21
    &crate::tracing::spie::APPLICATION, // A23
    &crate::tracing::traceback::APPLICATION, // A24
    &crate::tracing::evasion::APPLICATION, // A28
    &crate::measuring::route_check::APPLICATION, // A56
];

/// The application of this name.
pub fn by_name(name: &str) -> Option<&'static Application> {
    APPLICATIONS.iter().copied().find(|application| application.slug() == name)
}
