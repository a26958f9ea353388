//! The list of applications: nothing else.

use crate::Application;

/// Every application, in the order of its entry.
#[rustfmt::skip]
pub static APPLICATIONS: &[&Application] = &[
    &crate::words::spell::APPLICATION, // A1
    &crate::words::breach::APPLICATION, // A2
    &crate::tables::bloomjoin::APPLICATION, // A3
    &crate::tables::differential_file::APPLICATION, // A4
    &crate::caching::cache_digests::APPLICATION, // A5
    &crate::peers::planetp::APPLICATION, // A6
    &crate::peers::gnutella::APPLICATION, // A7
    &crate::peers::approximate::APPLICATION, // A8
    &crate::tables::posting_lists::APPLICATION, // A9
    &crate::peers::tree_routing::APPLICATION, // A10
    &crate::peers::attenuated_routing::APPLICATION, // A11
    &crate::peers::quad_tree::APPLICATION, // A12
    &crate::forwarding::longest_prefix::APPLICATION, // A13
    &crate::tracing::loops::APPLICATION, // A14
    &crate::measuring::fair_blue::APPLICATION, // A15
    &crate::measuring::heavy_flows::APPLICATION, // A16
    &crate::measuring::iceberg::APPLICATION, // A17
    &crate::forwarding::multicast::APPLICATION, // A18
    &crate::forwarding::zfilters::APPLICATION, // A19
    &crate::forwarding::buffalo::APPLICATION, // A20
    &crate::tracing::signatures::APPLICATION, // A21
    &crate::forwarding::tuple_space::APPLICATION, // A22
    &crate::tracing::spie::APPLICATION, // A23
    &crate::tracing::traceback::APPLICATION, // A24
    &crate::tracing::attribute::APPLICATION, // A25
    &crate::streams::duplicate_clicks::APPLICATION, // A26
    &crate::streams::replay::APPLICATION, // A27
    &crate::tracing::evasion::APPLICATION, // A28
    &crate::trust::revoked::APPLICATION, // A29
    &crate::trust::wallet::APPLICATION, // A30
    &crate::forwarding::names::APPLICATION, // A31
    &crate::caching::admission::APPLICATION, // A32
    &crate::words::similar::APPLICATION, // A33
    &crate::trust::location::APPLICATION, // A34
    &crate::trust::link::APPLICATION, // A35
    &crate::forwarding::capabilities::APPLICATION, // A36
    &crate::search::visited::APPLICATION, // A37
    &crate::tables::lsm::APPLICATION, // A38
    &crate::forwarding::packet_filter::APPLICATION, // A39
    &crate::tables::flow_table::APPLICATION, // A40
    &crate::forwarding::label_switch::APPLICATION, // A41
    &crate::forwarding::data_center::APPLICATION, // A42
    &crate::forwarding::destinations::APPLICATION, // A43
    &crate::forwarding::split_trees::APPLICATION, // A44
    &crate::forwarding::subscriptions::APPLICATION, // A45
    &crate::forwarding::xml_paths::APPLICATION, // A46
    &crate::trust::rfid::APPLICATION, // A47
    &crate::wireless::wake_up::APPLICATION, // A48
    &crate::search::discovery::APPLICATION, // A49
    &crate::trust::disk_capabilities::APPLICATION, // A50
    &crate::tracing::known::APPLICATION, // A51
    &crate::trust::en_route::APPLICATION, // A52
    &crate::trust::broadcast::APPLICATION, // A53
    &crate::streams::puzzles::APPLICATION, // A54
    &crate::forwarding::off_by_default::APPLICATION, // A55
    &crate::measuring::route_check::APPLICATION, // A56
    &crate::caching::sleep_proxy::APPLICATION, // A57
    &crate::tables::box_query::APPLICATION, // A58
    &crate::peers::friends::APPLICATION, // A59
    &crate::peers::foreseer::APPLICATION, // A60
    &crate::caching::annotations::APPLICATION, // A61
    &crate::caching::snoop::APPLICATION, // A62
    &crate::wireless::neighbors::APPLICATION, // A63
    &crate::wireless::collection_tree::APPLICATION, // A64
    &crate::wireless::path_gossip::APPLICATION, // A65
    &crate::trust::biometrics::APPLICATION, // A66
    &crate::trust::interests::APPLICATION, // A67
    &crate::trust::private_counts::APPLICATION, // A68
    &crate::measuring::flow_counters::APPLICATION, // A69
    &crate::measuring::global_iceberg::APPLICATION, // A70
    &crate::search::kmer::APPLICATION, // A71
];

/// The application of this name.
pub fn by_name(name: &str) -> Option<&'static Application> {
    APPLICATIONS.iter().copied().find(|application| application.slug() == name)
}
