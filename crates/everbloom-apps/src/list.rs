//! The list of applications: nothing else.

use crate::Application;
use crate::forwarding;

/// Every application, in the order of its entry.
pub static APPLICATIONS: &[&Application] = &[&forwarding::longest_prefix::APPLICATION];

/// The application of this name.
pub fn by_name(name: &str) -> Option<&'static Application> {
    APPLICATIONS.iter().copied().find(|application| application.slug() == name)
}
