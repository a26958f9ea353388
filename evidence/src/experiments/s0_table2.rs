//! S0's table of capabilities, each cell demonstrated.

use everbloom::Result;

use crate::apparatus::capabilities::{Capability, Row, Table};
use crate::{Experiment, Grade, Lab, Report};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s0-table2",
    source: "S0 Table II",
    title: "Key features of Bloom filter variants, each demonstrated",
    shows: "Every cell is the outcome of using a filter: keys counted, removed, weighted, missed. Where \
            the survey's flag is wrong, the counter-example is given.",
    run,
};

const TABLE: Table = Table {
    id: "",
    title: "Table II, tested",
    place: Some("S0 Table II"),
    columns: &[
        Capability::Counting,
        Capability::Deletion,
        Capability::Popularity,
        Capability::FalseNegatives,
    ],
    rows: &[
        Row::new("Standard", ("bloom", "standard"), "NNNN"),
        Row::new("Adaptive", ("adaptive-counting", ""), "YNNN"),
        Row::new("Bloomier", ("bloomier", "immutable"), "yNNN").but(&[(
            Grade::Disputed,
            "a stored value may be a frequency, but copies of a key are not counted",
        )]),
        Row::new("Compressed", ("compressed", "standard"), "NNNN"),
        Row::new("Counting", ("counting", "standard"), "YYNM"),
        Row::new("Decaying", ("decaying", ""), "iYNI"),
        Row::new("Deletable", ("deletable", "standard"), "NYNN"),
        Row::new("Distance-sensitive", ("distance-sensitive", "standard"), "NNNY")
            .set(&[("fnr", "0.25")]),
        Row::new("Dynamic", ("dynamic", ""), "iYNN"),
        Row::new("Filter bank", ("filter-bank", ""), "iYMN"),
        Row::new("Generalized", ("generalized", "standard"), "NNNY"),
        Row::new("Hierarchical", ("hierarchical", ""), "NNNN"),
        Row::new("Memory-optimized", ("memory-optimized", "standard"), "NNNN"),
        Row::new("Popularity-conscious", ("popularity", ""), "NNYN"),
        Row::new("Retouched", ("retouched", "random"), "NNNY"),
        Row::new("Scalable", ("scalable", "standard"), "NNNN"),
        Row::new("Secure", ("secure-index", ""), "NNNN"),
        Row::new("Space-code", ("space-code", ""), "YNMN"),
        Row::new("Spectral", ("spectral", "minimum-selection"), "YYNM"),
        Row::new("Split", ("split", "hashed"), "NNNN"),
        Row::new("Stable", ("stable", "standard"), "NyNY").but(&[(
            Grade::Disputed,
            "cells decay at random: no key of one's choice is removed (S3 Table IV: No)",
        )]),
        Row::new("Variable-length signature", ("variable-length", ""), "iiYY"),
        Row::new("Weighted", ("weighted", ""), "NNYN"),
    ],
};

fn run(lab: &Lab) -> Result<Report> {
    let report = TABLE.add_to(lab, Report::default())?.note(
        "Shown but not judged: the counts of Decaying, Dynamic, Filter bank and Variable-length, whose counters serve \
         removal and are not told here; keys of Decaying that have left the window, which S0 does not call false \
         negatives; removal from Variable-length, which S0 has with the false negatives it brings. Popularity of \
         Filter bank and Space-code is “maybe” in the table.",
    );
    Ok(report.note(
        "Counting: keys that came once and thrice are told apart. Deletion: removed keys are as non-members, \
         all others stay. Popularity: non-members pass at a rate that depends on their weight. FN: a member \
         is denied; maybe (Counting, Spectral): only if keys are removed that never came.",
    ))
}
