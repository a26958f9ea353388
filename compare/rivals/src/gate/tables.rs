//! Tables of fingerprints: cuckoo and quotient filters, filled to a load of 95 %.

use super::{Line, Measured, Table, cases};
use crate::measure::{self, Figure};
use crate::subject::Rival;
use crate::subject::tables::{CUCKOO, QUOTIENT};

/// 95 % of 4·2^12, 4·2^18 and 4·2^23 slots.
pub const SIZES: &[u64] = &[15_564, 996_147, 31_876_710];

const OPERATIONS: [Figure; 4] = [Figure::Insert, Figure::Hit, Figure::Miss, Figure::Delete];

/// Rivals have a power of two of slots: so many keys or a little more that they are full to 95 %.
fn full(items: u64) -> u64 {
    let slots = (items as f64 / 0.95).ceil() as u64;
    (slots.next_power_of_two() as f64 * 0.95) as u64
}

fn measured(
    sizes: &[u64],
    rates: &[f64],
    rivals: &[Rival],
    lines: fn(&Table<'_>) -> Vec<Line>,
) -> Measured {
    let sizes: Vec<u64> = sizes.iter().map(|items| full(*items)).collect();
    let mut all = Measured::default();
    for case in cases(&sizes, rates) {
        all.results.extend(measure::run(rivals, case));
        all.lines.extend(lines(&Table { results: &all.results, case }));
    }
    all
}

/// Cuckoo filters beside those of other crates.
pub fn cuckoo(sizes: &[u64], _: bool) -> Measured {
    measured(sizes, &[0.03, 0.001], CUCKOO, |table| {
        let rivals: Vec<&str> = CUCKOO[2..].iter().map(|rival| rival.name).collect();
        let rivals = table.honest(&rivals);
        let line = |name, op, limit| table.line(name, op, &rivals, limit);
        let single = OPERATIONS.iter().filter_map(|op| line("everbloom cuckoo", *op, 0.8));
        let batch = [Figure::Insert, Figure::Hit, Figure::Miss]
            .into_iter()
            .filter_map(|op| line("everbloom cuckoo, batch", op, 0.6));
        single.chain(batch).chain(table.keeps_rate("everbloom cuckoo")).collect()
    })
}

/// Both quotient filters beside `qfilter`.
pub fn quotient(sizes: &[u64], _: bool) -> Measured {
    measured(sizes, &[0.01, 0.001], QUOTIENT, |table| {
        let mut lines = Vec::new();
        for name in ["everbloom quotient", "everbloom counting-quotient"] {
            let figures = OPERATIONS.into_iter().chain([Figure::BitsPerKey]);
            let rivals = ["qfilter", "qfilter + foldhash"];
            lines.extend(figures.filter_map(|figure| table.line(name, figure, &rivals, 1.0)));
            let batch = format!("{name}, batch");
            for op in [Figure::Insert, Figure::Hit, Figure::Miss] {
                lines.extend(table.line(&batch, op, &rivals, 0.75));
            }
            lines.extend(table.keeps_rate(name));
        }
        lines
    })
}
