//! The list of applications: nothing else.

use crate::Application;

/// Every application, in the order of its entry.
#[rustfmt::skip]
pub static APPLICATIONS: &[&Application] = &[
    &crate::applications::words::spell::APPLICATION, // A1
    &crate::applications::words::breach::APPLICATION, // A2
    &crate::applications::tables::bloomjoin::APPLICATION, // A3
    &crate::applications::tables::differential_file::APPLICATION, // A4
    &crate::applications::caching::cache_digests::APPLICATION, // A5
    &crate::applications::peers::planetp::APPLICATION, // A6
    &crate::applications::peers::gnutella::APPLICATION, // A7
    &crate::applications::peers::approximate::APPLICATION, // A8
    &crate::applications::tables::posting_lists::APPLICATION, // A9
    &crate::applications::peers::tree_routing::APPLICATION, // A10
    &crate::applications::peers::attenuated_routing::APPLICATION, // A11
    &crate::applications::peers::quad_tree::APPLICATION, // A12
    &crate::applications::forwarding::longest_prefix::APPLICATION, // A13
    &crate::applications::tracing::loops::APPLICATION, // A14
    &crate::applications::measuring::fair_blue::APPLICATION, // A15
    &crate::applications::measuring::heavy_flows::APPLICATION, // A16
    &crate::applications::measuring::iceberg::APPLICATION, // A17
    &crate::applications::forwarding::multicast::APPLICATION, // A18
    &crate::applications::forwarding::zfilters::APPLICATION, // A19
    &crate::applications::forwarding::buffalo::APPLICATION, // A20
    &crate::applications::tracing::signatures::APPLICATION, // A21
    &crate::applications::forwarding::tuple_space::APPLICATION, // A22
    &crate::applications::tracing::spie::APPLICATION, // A23
    &crate::applications::tracing::traceback::APPLICATION, // A24
    &crate::applications::tracing::attribute::APPLICATION, // A25
    &crate::applications::streams::duplicate_clicks::APPLICATION, // A26
    &crate::applications::streams::replay::APPLICATION, // A27
    &crate::applications::tracing::evasion::APPLICATION, // A28
    &crate::applications::trust::revoked::APPLICATION, // A29
    &crate::applications::trust::wallet::APPLICATION, // A30
    &crate::applications::forwarding::names::APPLICATION, // A31
    &crate::applications::caching::admission::APPLICATION, // A32
    &crate::applications::words::similar::APPLICATION, // A33
    &crate::applications::trust::location::APPLICATION, // A34
    &crate::applications::trust::link::APPLICATION, // A35
    &crate::applications::forwarding::capabilities::APPLICATION, // A36
    &crate::applications::search::visited::APPLICATION, // A37
    &crate::applications::tables::lsm::APPLICATION, // A38
    &crate::applications::forwarding::packet_filter::APPLICATION, // A39
    &crate::applications::tables::flow_table::APPLICATION, // A40
    &crate::applications::forwarding::label_switch::APPLICATION, // A41
    &crate::applications::forwarding::data_center::APPLICATION, // A42
    &crate::applications::forwarding::destinations::APPLICATION, // A43
    &crate::applications::forwarding::split_trees::APPLICATION, // A44
    &crate::applications::forwarding::subscriptions::APPLICATION, // A45
    &crate::applications::forwarding::xml_paths::APPLICATION, // A46
    &crate::applications::trust::rfid::APPLICATION, // A47
    &crate::applications::wireless::wake_up::APPLICATION, // A48
    &crate::applications::search::discovery::APPLICATION, // A49
    &crate::applications::trust::disk_capabilities::APPLICATION, // A50
    &crate::applications::tracing::known::APPLICATION, // A51
    &crate::applications::trust::en_route::APPLICATION, // A52
    &crate::applications::trust::broadcast::APPLICATION, // A53
    &crate::applications::streams::puzzles::APPLICATION, // A54
    &crate::applications::forwarding::off_by_default::APPLICATION, // A55
    &crate::applications::measuring::route_check::APPLICATION, // A56
    &crate::applications::caching::sleep_proxy::APPLICATION, // A57
    &crate::applications::tables::box_query::APPLICATION, // A58
    &crate::applications::peers::friends::APPLICATION, // A59
    &crate::applications::peers::foreseer::APPLICATION, // A60
    &crate::applications::caching::annotations::APPLICATION, // A61
    &crate::applications::caching::snoop::APPLICATION, // A62
    &crate::applications::wireless::neighbors::APPLICATION, // A63
    &crate::applications::wireless::collection_tree::APPLICATION, // A64
    &crate::applications::wireless::path_gossip::APPLICATION, // A65
    &crate::applications::trust::biometrics::APPLICATION, // A66
    &crate::applications::trust::interests::APPLICATION, // A67
    &crate::applications::trust::private_counts::APPLICATION, // A68
    &crate::applications::measuring::flow_counters::APPLICATION, // A69
    &crate::applications::measuring::global_iceberg::APPLICATION, // A70
    &crate::applications::search::kmer::APPLICATION, // A71
];
