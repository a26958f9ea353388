//! S3's table of capabilities, each cell demonstrated.

use everbloom::Result;

use crate::apparatus::capabilities::{Capability, Row, Table};
use crate::{Experiment, Lab, Report};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s3-table4",
    source: "S3 Table IV and §VIII-D",
    title: "Capabilities of Bloom filters, each demonstrated",
    shows: "Every cell is the outcome of using a filter: keys counted, grouped, removed, overfilled, \
            missed. Where the survey's flag is wrong, the counter-example is given.",
    run,
};

/// The columns of the table, and decay, which its caption names and the table lacks: there §VIII-D
/// says which variants have it.
const COLUMNS: &[Capability] = &[
    Capability::Counting,
    Capability::Grouping,
    Capability::Deletion,
    Capability::Scalability,
    Capability::FalseNegatives,
    Capability::Parallelism,
    Capability::Decay,
];

// What is true where the table is wrong.
const COUNTERS: &str = "only with counters in place of the bits";
const SEGMENTS: &str = "each hash has a part of its own, as §V-A has it";
const SLICES: &str =
    "each prime has a slice of its own: segments of the kind that §V-A calls parallel";
const ONE_WORD: &str =
    "all cells of a key share a word, whose levels are walked in order: §V-A says so";
const HASHED: &str = "a hash picks the block, so that no group goes in or comes back";

/// A filter for each bit of the code, as S3 describes it.
const CHUNKED: &[(&str, &str)] = &[("layout", "chunked")];

const TABLE: Table = Table {
    id: "a",
    title: "Table IV, tested",
    place: Some("S3 Table IV"),
    columns: COLUMNS,
    rows: &[
        Row::new("Standard BF", ("bloom", "standard"), "NNNNNNN"),
        Row::new("CBF", ("counting", "standard"), "YNYNNNN"),
        Row::new("Spectral BF", ("spectral", "minimum-selection"), "YNYNNNN"),
        Row::new("Scalable BF", ("scalable", "standard"), "NNNYNYN"),
        Row::new("Multi-class BF", ("multi-class", "standard"), "NNNNNNN"),
        Row::new("Optihash", ("optihash", "standard"), "NNNNNNN"),
        Row::new("FPF-MBF", ("multistage", "standard"), "NNNNNYN"),
        Row::new("Retouched BF", ("retouched", "random"), "NNNNYNY"),
        Row::new("MPCBF", ("multi-partitioned-counting", "standard"), "NNYNNyN").but(&[ONE_WORD]),
        Row::new("Ternary BF", ("ternary", "two-bit"), "NNYNNNN"),
        Row::new("Selected hash, two choices", ("two-choices", "standard"), "NNNNNNN"),
        Row::new("Selected hash, partitioned", ("partitioned-hashing", "fresh"), "NNNNNNN"),
        Row::new("Complement BF", ("complement", "standard"), "NNNNNNN"),
        // One row in the table: its errors are told once.
        Row::new("EGH filter, bits", ("egh", "bits"), "yNyNNnN").but(&[COUNTERS, COUNTERS, SLICES]),
        Row::new("EGH filter, counters", ("egh", "counters"), "YNYNNnN"),
        Row::new("Cross-checking BF", ("cross-checking", "any-part"), "NNNNNnN")
            .but(&["main and cross-checking filters are apart, as §V-A has it"]),
        Row::new("Generalized BF", ("generalized", "standard"), "NNNNYNY"),
        Row::new("Yes-no BF", ("yes-no", "standard"), "NNNNNNN"),
        Row::new("VI-CBF", ("variable-increment", "dl"), "NNYNNNN"),
        Row::new("FP-CBF", ("fingerprint-counting", "standard"), "YNYNNNN"),
        Row::new("Distance-sensitive BF", ("distance-sensitive", "standard"), "NNNNnYN")
            .set(&[("fnr", "0.25")])
            .but(&["keys near a member may be denied, as §VIII-D says"]),
        Row::new("Deletable BF", ("deletable", "standard"), "NNYNNNN"),
        Row::new("IBF", ("invertible", "cells"), "YNYNN-N"),
        Row::new("Stable BF", ("stable", "standard"), "NNNNYNY"),
        Row::new("Bloomier filter", ("bloomier", "immutable"), "NYNNNNN"),
        Row::new("Less hash", ("bloom", "standard"), "NNNNNNN").set(&[("scheme", "double")]),
        Row::new("One hash BF", ("one-hash", "standard"), "NNNNNnN").but(&[SEGMENTS]),
        Row::new("Compressed BF", ("compressed", "standard"), "NNNNNNN"),
        Row::new("Compacted BF", ("compacted", "lossy"), "NNNNnNN")
            .but(&["all but one of several ones in a column are lost, as §V-C says"]),
        Row::new("Combinatorial BF, bits", ("combinatorial", "fixed-weight"), "NYyNNYN")
            .set(CHUNKED)
            .but(&[COUNTERS]),
        Row::new("Combinatorial BF, counters", ("combinatorial", "counting"), "NYYNNYN")
            .set(CHUNKED),
        Row::new("Bloom-1", ("bloom-g", "bloom-1"), "NNNNNNN"),
        Row::new("OMASS", ("omass", "standard"), "NYNNynN")
            .but(&["no bit is ever cleared", "a lane of the word per hash: §VIII-D lists it"]),
        Row::new("Forest-structured BF", ("forest", "standard"), "NyNYN-N").but(&[HASHED]),
        Row::new("DLB-BF", ("load-balanced", "standard"), "NYNNNYN"),
        Row::new("Ultra-fast BF", ("split-block", "parquet"), "NyNNNYN").but(&[HASHED]),
        Row::new("d-left CBF", ("d-left", "standard"), "YNYNNnN")
            .but(&["each subtable holds one candidate bucket: all are read at once"]),
        Row::new("L-CBF", ("lfsr-counting", "standard"), "YNYNNNN"),
        Row::new("Memory-optimized BF", ("memory-optimized", "standard"), "NNNNNNN"),
        Row::new("Energy-efficient BF", ("adaptive", "standard"), "NNNNNNN"),
        Row::new("Pipelined BF", ("pipelined", "two-stage"), "NNNNNNN"),
        Row::new("Matrix BF", ("matrix", "standard"), "NYNYNNN"),
    ],
};

const OTHERS: Table = Table {
    id: "b",
    title: "Variants that Table IV leaves out",
    place: None,
    columns: COLUMNS,
    rows: &[
        Row::new("Partitioned", ("partitioned", "standard"), "NNNNNYN"),
        Row::new("Perfect hashing", ("perfect-hash", "standard"), "NNNNNNN"),
        Row::new("Best of N", ("best-of-n", "standard"), "NNNNNNN"),
        Row::new("Blocked", ("blocked", "mixed"), "NNNNNNN"),
        Row::new("Blocked, lanes", ("blocked", "lanes"), "NNNNNYN"),
        Row::new("Banked", ("banked", "standard"), "NNNNNYN"),
        Row::new("Golomb-coded set", ("golomb", "golomb"), "NNNNNNN"),
        Row::new("Split", ("split", "hashed"), "NNNNN-N"),
        Row::new("Soft-error protected", ("soft-error", "parity"), "NNNNNNN"),
        Row::new("Multilayer counting", ("multilayer-counting", "standard"), "YNYNNNN"),
        Row::new("Dynamic count", ("dynamic-count", "standard"), "YNYNNNN"),
        Row::new("Conservative update", ("conservative-update", "stages"), "YNNNNYN"),
        Row::new("Binary fuse", ("binary-fuse", "three"), "NNNNNYN"),
        Row::new("Ribbon", ("ribbon", "bumped"), "NNNNNYN"),
    ],
};

fn run(lab: &Lab) -> Result<Report> {
    let report = TABLE.add_to(lab, Report::default())?;
    Ok(OTHERS
        .add_to(lab, report)?
        .note(
            "Counting: keys that came once and thrice are told apart. Grouping: the group comes back. \
             Deletion: removed keys are as non-members, all others stay. Scalability: 64 times the planned \
             keys find room at up to ten times the planned rate, none lost. FN: a member is denied, as \
             built, after removals or overfilled. Decay: old members go, the newest stay; the column is \
             in the caption of Table IV and in §VIII-D only.",
        )
        .note(
            "Parallelism: the cells fall into parts of which every key touches a fixed number. Left open \
             where neither the cells of a query nor those of an insertion can be seen (Optihash, FPF-MBF, \
             Retouched, Bloomier, Golomb, Ribbon) or counted (Multi-class, VI-CBF, FP-CBF), where \
             different keys, not one key's cells, are apart (Forest, Split), and where the slices are \
             this library's own choice (IBF).",
        )
        .note(
            "Yes-no: Table IV's No for false negatives holds because no-filters take a key only if no \
             member is lost by it; without that test the prose of §IV-B is right. Memory-optimized: the \
             table says No to deletion and still gives its complexity. Bloom-1: No, though §V-A lists it: \
             all cells of a key are in one word.",
        ))
}
