//! Cells in one part and in several, by one core and by more.

use super::*;
use crate::hash::Hasher;
use crate::keyvalue::entries::collapse;

#[test]
fn any_number_of_cores_makes_the_same_cells() {
    // The first of these have one part, the others two and four.
    for n in [0, 1000, 1 << 20, (1 << 21) + 777] {
        let entry = |record| Entry {
            digest: Hasher::default().digest(&record),
            value: record % 11,
            record,
        };
        let mut entries: Vec<Entry> = (0..n).map(entry).collect();
        collapse(&mut entries).unwrap();
        for mutable in [false, true] {
            let build = |cores| {
                let mut cells = XorCells::empty(n, mutable, 4, 3).unwrap();
                assert!(cells.solve(&entries, Cores::of(cores)), "{n}");
                cells
            };
            let cells = build(1);
            assert_eq!(cells.table.len(), cells_for(n), "{n}");
            assert!(build(3) == cells && build(8) == cells, "{n} {mutable}");
            assert!(XorCells::of(&entries, mutable, 4, 3).unwrap() == cells, "{n} {mutable}");
            assert!(entries.iter().all(|e| cells.value(e.digest) == Some(e.value)), "{n}");
            // Those that are shown are those that are read.
            for e in entries.iter().take(100) {
                let sum = cells.trace(e.digest).iter().fold(0, |sum, cell| sum ^ cell.value);
                let mask = mask_of(e.digest.salted(cells.salt));
                assert_eq!((sum ^ mask) & 7, 0, "{n} {mutable}: check bits");
            }
        }
    }
}

#[test]
fn parts_have_the_cells_of_their_share() {
    assert_eq!([0, 1000, (1 << 20) - 1].map(part_bits), [0, 0, 0]);
    assert_eq!([1 << 20, (1 << 21) - 1, 1 << 21, 10_000_000].map(part_bits), [1, 1, 2, 4]);
    for n in [1 << 20, 2_500_000, 10_000_000, 1 << 36] {
        let (cells, parts) = (cells_for(n), 1 << part_bits(n));
        assert!(cells.is_multiple_of(parts * 64 * SEGMENTS), "{n}");
        assert!((1.23..1.2305).contains(&(cells as f64 / n as f64)), "{n}: {cells}");
    }
    assert_eq!(cells_for(u64::MAX), u64::MAX);
}

#[test]
fn a_table_that_is_no_parts_is_refused() {
    let good = XorCells::empty(1000, false, 4, 3).unwrap();
    let m = good.probe.m();
    for (cells, fits) in [(m, true), (2 * m, true), (3 * m, false), (m + 1, false), (0, false)] {
        let table = Packed::new(cells, 7);
        assert_eq!(XorCells { table, ..good.clone() }.check().is_ok(), fits, "{cells}");
    }
}
