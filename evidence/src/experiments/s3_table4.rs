//! S3's table of capabilities, each cell demonstrated.

use everbloom::Result;

use crate::apparatus::capabilities::{Capability, Row, Table, Truth};
use crate::{Axis, Bound, Experiment, Grade, Lab, Report, Rows};

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

// What is true where the table is wrong. §V-A and §VIII-D say which variants have independent filters or segments.
const LISTED: Truth =
    (Grade::Contradiction, "§V-A: segments that “can be accessed simultaneously”");
const SLICES: Truth =
    (Grade::Disputed, "each prime has a slice of its own, a segment by the definition of §VIII-D");
const SUBTABLES: Truth = (
    Grade::Disputed,
    "each subtable has one candidate bucket, a segment by the definition of §VIII-D",
);
const ONE_WORD: Truth = (
    Grade::Disputed,
    "different keys may be in different words; the cells of one key share a word",
);
const HASHED: Truth = (
    Grade::Disputed,
    "a filter for each group would do; this one picks the block by a hash, and keeps no group",
);
const NEAR: Truth = (
    Grade::Contradiction,
    "§VIII-D: “false negative errors will be triggered”; keys near a member may be denied",
);
const LOSSY: Truth = (
    Grade::Contradiction,
    "§VIII-D: “the coding strategy in Compacted BF will also cause false negatives”",
);
const OVERFLOW: Truth = (
    Grade::Contradiction,
    "§VIII-D: “the overflow of counters in Variable length Signature, as well as hash collisions in kBF, also result in \
     false negative errors”",
);
const NEVER_CLEARED: Truth =
    (Grade::Disproved, "no bit is ever cleared, so that no member is denied");

/// A filter for each bit of the code, as S3 describes it.
const CHUNKED: &[(&str, &str)] = &[("layout", "chunked")];

/// Rows in the order of the table.
const TABLE: Table = Table {
    id: "a",
    title: "Table IV, tested",
    place: Some("S3 Table IV"),
    columns: COLUMNS,
    rows: &[
        Row::new("Standard BF", ("bloom", "standard"), "NNNNNNN"),
        Row::new("CBF", ("counting", "standard"), "YNYNNNN"),
        Row::new("kBF", ("kbf", ""), "iYYNNiN"),
        Row::new("Loglog BF", ("loglog", ""), "YNNNNNN"),
        Row::new("k-mer BF", ("k-mer", ""), "NNNNNNN"),
        Row::new("Adaptive BF", ("adaptive-counting", ""), "YNNNNNN"),
        Row::new("Weighted BF", ("weighted", ""), "NNNNNNN"),
        Row::new("Variable-length signatures", ("variable-length", ""), "iNiNniN").but(&[OVERFLOW]),
        Row::new("Popularity-conscious BF", ("popularity", ""), "NNNNNNN"),
        Row::new("Spectral BF", ("spectral", "minimum-selection"), "YNYNNNN"),
        Row::new("Dynamic BF", ("dynamic", ""), "NNYiNiN"),
        Row::new("DBA", ("dynamic-array", ""), "IYYYNiN"),
        Row::new("Par-BF", ("par-bf", ""), "NNYYNiN"),
        Row::new("Scalable BF", ("scalable", "standard"), "NNNYNYN"),
        Row::new("Spatial BF", ("spatial", ""), "NYNNNNN"),
        Row::new("Space-code BF", ("space-code", ""), "YNNNNNN"),
        Row::new("ICBF", ("invertible-counting", ""), "YNYNNIN"),
        Row::new("BloomStore", ("bloom-store", ""), "NYIYNiN"),
        Row::new("IBLT", ("iblt", ""), "iIYNNIN"),
        Row::new("Multi-class BF", ("multi-class", "standard"), "NNNNNNN"),
        Row::new("Optihash", ("optihash", "standard"), "NNNNNNN"),
        Row::new("FPF-MBF", ("multistage", "standard"), "NNNNNYN"),
        Row::new("Retouched BF", ("retouched", "random"), "NNNNYNY"),
        Row::new("MPCBF", ("multi-partitioned-counting", "standard"), "NNYNNyN").but(&[ONE_WORD]),
        Row::new("Ternary BF", ("ternary", "two-bit"), "NNYNNNN"),
        Row::new("Selected hash", ("partitioned-hashing", "fresh"), "NNNNNNN"),
        Row::new("Complement BF", ("complement", "standard"), "NNNNNIN"),
        Row::new("EGH filter", ("egh", "counters"), "YNYNNnN").but(&[SLICES]),
        Row::new("Cross-checking BF", ("cross-checking", "any-part"), "NNNNNnN").but(&[LISTED]),
        Row::new("Generalized BF", ("generalized", "standard"), "NNNNYNY"),
        Row::new("Yes-no BF", ("yes-no", "standard"), "NNNNNIN"),
        Row::new("VI-CBF", ("variable-increment", "dl"), "NNYNNNN"),
        Row::new("FP-CBF", ("fingerprint-counting", "standard"), "YNYNNNN"),
        Row::new("Distance-sensitive BF", ("distance-sensitive", "standard"), "NNNNnYN")
            .set(&[("fnr", "0.25")])
            .but(&[NEAR]),
        Row::new("Locality-sensitive BF", ("locality-sensitive", ""), "NNNNNiN"),
        Row::new("MLBF", ("multi-granularity", ""), "NNNNNiN"),
        Row::new("Deletable BF", ("deletable", "standard"), "NNYNNNN"),
        // The slices are this library's own choice.
        Row::new("IBF", ("invertible", "cells"), "YNYNNIN"),
        Row::new("Stable BF", ("stable", "standard"), "NNNNYNY"),
        Row::new("Temporal CBF", ("temporal-counting", ""), "INYNiNi"),
        Row::new("Double buffering", ("double-buffer", ""), "NYNNYiY"),
        Row::new("A² buffering", ("active-active", ""), "NYNNYYY"),
        Row::new("Forgetful BF", ("forgetful", ""), "NYNNYYY"),
        Row::new("Bloomier filter", ("bloomier", "immutable"), "NYNNNIN"),
        Row::new("Parallel BF", ("parallel-attributes", ""), "YYYINYN"),
        Row::new("Less hash", ("bloom", "standard"), "NNNNNNN").set(&[("scheme", "double")]),
        Row::new("One hash BF", ("one-hash", "standard"), "NNNNNnN").but(&[LISTED]),
        Row::new("Compressed BF", ("compressed", "standard"), "NNNNNNN"),
        Row::new("Compacted BF", ("compacted", "lossy"), "NNNNnNN").but(&[LOSSY]),
        Row::new("Combinatorial BF", ("combinatorial", "counting"), "NYYNNYN").set(CHUNKED),
        Row::new("Bloom-1", ("bloom-g", "bloom-1"), "NNNNNNN"),
        Row::new("OMASS", ("omass", "standard"), "NYNNynN").but(&[NEVER_CLEARED, LISTED]),
        Row::new("Forest-structured BF", ("forest", "standard"), "NyNYNiN").but(&[HASHED]),
        Row::new("DLB-BF", ("load-balanced", "standard"), "NYNNNYN"),
        Row::new("Ultra-fast BF", ("split-block", "parquet"), "NyNNNYN").but(&[HASHED]),
        Row::new("d-left CBF", ("d-left", "standard"), "YNYNNnN").but(&[SUBTABLES]),
        Row::new("L-CBF", ("lfsr-counting", "standard"), "YNYNNNN"),
        Row::new("Memory-optimized BF", ("memory-optimized", "standard"), "NNNNNNN"),
        Row::new("Energy-efficient BF", ("adaptive", "standard"), "NNNNNNN"),
        Row::new("Pipelined BF", ("pipelined", "two-stage"), "NNNNNNN"),
        Row::new("Matrix BF", ("matrix", "standard"), "NYNYNIN"),
        Row::new("Shifting BF", ("shifting", ""), "iiYNNNN"),
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
        Row::new("Split", ("split", "hashed"), "NNNNNIN"),
        Row::new("Soft-error protected", ("soft-error", "parity"), "NNNNNNN"),
        Row::new("Multilayer counting", ("multilayer-counting", "standard"), "YNYNNNN"),
        Row::new("Dynamic count", ("dynamic-count", "standard"), "YNYNNNN"),
        Row::new("Conservative update", ("conservative-update", "stages"), "YNNNNYN"),
        Row::new("Binary fuse", ("binary-fuse", "three"), "NNNNNYN"),
        Row::new("Ribbon", ("ribbon", "bumped"), "NNNNNiN"),
    ],
};

/// The column Comp-Q, row by row.
const QUERIES: [&str; 62] = [
    "k", "k", "k", "kd", "2k–3k", "k+N+1", "k", "q", "k_i", "k", "sk", "rk", "k·s_m", "lk", "k",
    "lk", "k", "xk", "k", "k_i", "1", "k", "k", "k+1", "k", "k", "2k", "k", "αk", "k", "2k", "2k",
    "k", "k", "2k", "Lk+k'", "k", "k", "k", "k", "2k", "2k", "pk", "k", "pk", "k", "k", "k", "k",
    "yk", "k", "k+1", "lk", "k", "k+1", "d", "k", "k+1", "k_1–k", "k_1–k", "k", "λk",
];

/// Rows of filters side by side, each of which is asked: k cells in every one.
const SIDE_BY_SIDE: [&str; 2] = ["DLB-BF", "Matrix BF"];

/// Cells that a query for a member looks at, counted, beside the complexity that the table gives.
fn accesses(lab: &Lab) -> Result<Rows> {
    let title = "Cells looked at for a member, and the query complexity of Table IV";
    let mut rows = Rows::new("c", title, Axis::log("cells"));
    let numbered: Vec<(&Row, &str)> = TABLE.rows.iter().zip(QUERIES).collect();
    let counted = lab.over(&numbered, |(row, _)| row.accesses(lab.seed()))?;
    for ((row, complexity), counted) in numbered.iter().zip(counted) {
        let Some((cells, k)) = counted else { continue };
        // Only O(k) is a number of these filters; the other letters are of the papers.
        let (predicted, bound) = match (*complexity, k) {
            ("k", Some(k)) if !SIDE_BY_SIDE.contains(&row.name) => (k, Bound::between(1.0, k)),
            _ => (cells, Bound { low: None, high: None }),
        };
        rows.row(format!("{}: O({complexity})", row.name), predicted, cells, bound);
    }
    Ok(rows)
}

fn run(lab: &Lab) -> Result<Report> {
    let report = TABLE.add_to(lab, Report::default())?.rows(accesses(lab)?);
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
            "Parallelism, by one definition for all rows: the cells fall into parts of which every key touches a \
             fixed number, so that each part can have a memory of its own. “Not seen” where neither the cells of a \
             query nor those of an insertion can be told from outside.",
        )
        .note(
            "Shown but not judged. Parallelism: where different keys or whole filters, not one key's cells, are apart \
             (kBF, Variable-length, Dynamic, DBA, Par-BF, BloomStore, Locality-sensitive, MLBF, Double buffering, \
             Forest, Split, Complement, Yes-no, Matrix), where the slices are this library's own choice (IBF, IBLT, ICBF, \
             Bloomier), and where a row of cells shows as its first one (Ribbon). Counting: where counters \
             serve removal and no count is told (kBF, Variable-length), where a pair is in the table once (IBLT), or come with the answer though the table says \
             no (DBA, Temporal CBF). Scalability of Dynamic: the rate grows with the number of its filters; of Parallel \
             BF: the exact form keeps its keys. BloomStore removes by its log; an IBLT's values may be groups; a Temporal \
             CBF forgets by ticks only; Shifting counts and groups in forms of their own, removal from Variable-length \
             costs other members.",
        )
        .note(
            "Complexity: the cells that a query for a member looks at are counted (c), where a filter tells them. \
             O(k) holds where they are k at most, or k in each of several filters (DLB-BF, Matrix); what the other letters stand for is for the papers to say, and \
             their rows are shown without a bound.",
        )
        .note(
            "EGH and Combinatorial are tried with counters, as §VIII-C and §VIII-D have them: with bits nothing \
             can be counted or deleted.",
        )
        .note(
            "Yes-no: Table IV's No for false negatives holds because no-filters take a key only if no \
             member is lost by it; without that test the prose of §IV-B is right. Memory-optimized: the \
             table says No to deletion and still gives its complexity. Bloom-1: No, though §V-A lists it: \
             all cells of a key are in one word.",
        ))
}
