//! Parameters that several variants have.

use crate::filter::{Param, Preset, Range};
use crate::probe::MAX_K;

/// m, for flat shapes.
pub const PARAM_M: Param = Param {
    name: "m",
    range: Range::Integer(1, 1 << 48),
    default: Preset::Planned,
    help: "number of cells",
};

/// k, for flat shapes.
pub const PARAM_K: Param = Param {
    name: "k",
    range: Range::Integer(1, MAX_K as u64),
    default: Preset::Planned,
    help: "number of probes per key",
};

/// Bits of a counter, for shapes of counters.
pub const PARAM_WIDTH: Param =
    Param::integer("width", 1, 16, "bits per counter").or(Preset::Integer(4));
