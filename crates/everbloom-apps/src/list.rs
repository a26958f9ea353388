//! The list of applications: nothing else.

use crate::Application;

/// Every application, in the order of its entry.
#[rustfmt::skip]
pub static APPLICATIONS: &[&Application] = &[
    &crate::tables::differential_file::APPLICATION, // A4
    &crate::forwarding::longest_prefix::APPLICATION, // A13
    &crate::trust::wallet::APPLICATION, // A30
    &crate::trust::location::APPLICATION, // A34
    &crate::search::visited::APPLICATION, // A37
    &crate::tables::lsm::APPLICATION, // A38
    &crate::tables::flow_table::APPLICATION, // A40
    &crate::trust::rfid::APPLICATION, // A47
    &crate::search::discovery::APPLICATION, // A49
    &crate::trust::disk_capabilities::APPLICATION, // A50
    &crate::trust::en_route::APPLICATION, // A52
    &crate::trust::broadcast::APPLICATION, // A53
    &crate::tables::box_query::APPLICATION, // A58
    &crate::trust::biometrics::APPLICATION, // A66
    &crate::trust::interests::APPLICATION, // A67
    &crate::trust::private_counts::APPLICATION, // A68
];

/// The application of this name.
pub fn by_name(name: &str) -> Option<&'static Application> {
    APPLICATIONS.iter().copied().find(|application| application.slug() == name)
}
