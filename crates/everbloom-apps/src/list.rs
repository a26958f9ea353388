//! The list of applications: nothing else.

use crate::Application;

/// Every application, in the order of its entry.
#[rustfmt::skip]
pub static APPLICATIONS: &[&Application] = &[
    &crate::forwarding::longest_prefix::APPLICATION, // A13
    &crate::measuring::heavy_flows::APPLICATION, // A16
    &crate::measuring::iceberg::APPLICATION, // A17
    &crate::tracing::attribute::APPLICATION, // A25
    &crate::streams::duplicate_clicks::APPLICATION, // A26
    &crate::words::similar::APPLICATION, // A33
    &crate::tracing::known::APPLICATION, // A51
    &crate::measuring::flow_counters::APPLICATION, // A69
    &crate::measuring::global_iceberg::APPLICATION, // A70
    &crate::search::kmer::APPLICATION, // A71
];

/// The application of this name.
pub fn by_name(name: &str) -> Option<&'static Application> {
    APPLICATIONS.iter().copied().find(|application| application.slug() == name)
}
