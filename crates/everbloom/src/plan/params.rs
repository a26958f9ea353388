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

/// The length of a record, for variants that keep their records.
#[cfg(feature = "families")]
pub(crate) const PARAM_RECORD: Param = Param::integer(
    "record-bytes",
    0,
    1 << 32,
    "mean length of a key with its value in bytes, to size the table of whole keys",
)
.or(Preset::Integer(16));

/// Bits of a counter, for shapes of counters.
pub const PARAM_WIDTH: Param =
    Param::integer("width", 1, 16, "bits per counter").or(Preset::Integer(4));
