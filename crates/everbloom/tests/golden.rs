//! Formats that never drift: pinned files, and the first false positives of each.
//!
//! `tests/golden/` holds a file per form and size, written once when the variant is added and never
//! again. A variant without its files gets them on the first run; where `CI` is set that is a failure,
//! because a pin that is made on the spot proves nothing.

use std::path::PathBuf;

use everbloom::Kind;
use everbloom::catalog::VARIANTS;
use everbloom::internals::file as codec;
use everbloom::internals::file::Opener;
use everbloom::internals::filter::Form;
use everbloom::internals::filter::{Filter, Verdict};
use everbloom::internals::plan::Goal;
use everbloom::internals::sample;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;

const SIZES: [(&str, u64); 4] = [("empty", 0), ("one", 1), ("boundary", 64), ("overfull", 100)];
const PLANNED: u64 = 64;

fn build(variant: &'static Variant, form: &Form, n: u64) -> Box<dyn Filter> {
    let goal = Goal::new(PLANNED, 0.05).set("form", form.name);
    let members = Sample::new(&variant.input, Style::Short, 0..n);
    let built = sample::build(variant, &goal.clone().seed(42), &members.records());
    match built {
        // One that hashes as another system does has a seed of its own.
        Err(e) if e.field() == Some("seed") => {
            sample::build(variant, &goal, &members.records()).expect(variant.slug)
        }
        // A variant that refuses what it has no room for is overfull with as many as it takes.
        Err(e) if e.kind() == Kind::CapacityExceeded && n > PLANNED => build(variant, form, n - 1),
        built => built.expect(variant.slug),
    }
}

/// The numbers of the first non-members that pass, which depend on hash, probes and cells alike.
fn first_false_positives(filter: &dyn Filter) -> Vec<u64> {
    let non_members = Sample::new(&filter.facts().input, Style::Short, 1000..6000);
    let records = non_members.records();
    let passing = records.iter().zip(1000..).filter(|(record, _)| {
        filter.query(**record).is_ok_and(|answer| answer.verdict != Verdict::Absent)
    });
    passing.map(|(_, i)| i).take(5).collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn pins(filter: &dyn Filter) -> String {
    let passing: Vec<String> = first_false_positives(filter).iter().map(u64::to_string).collect();
    format!("{}\n", passing.join(" "))
}

#[test]
fn files_and_first_false_positives_are_those_pinned() {
    let ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty());
    for variant in VARIANTS.iter().filter(|v| v.type_name().is_some()) {
        for form in variant.forms {
            for (size, n) in SIZES {
                let stem = format!("{}-{}-{size}", variant.slug, form.name);
                let path = folder().join(format!("{stem}.evb"));
                let pin = path.with_extension("first");
                let filter = build(variant, form, n);
                if !path.exists() {
                    assert!(
                        !ci,
                        "{stem}: no pinned file; run the tests once outside CI and commit it"
                    );
                    std::fs::create_dir_all(folder()).expect("a folder for pins");
                    codec::save(&*filter, &path).expect(&stem);
                    std::fs::write(&pin, pins(&*filter)).expect(&stem);
                }
                let bytes = std::fs::read(&path).expect(&stem);
                assert!(codec::to_bytes(&*filter) == bytes, "{stem}: a build gives other bytes");
                let opened = Opener::new().decode(&bytes).expect(&stem);
                let pinned = std::fs::read_to_string(&pin).expect(&stem);
                assert_eq!(pins(&*opened), pinned, "{stem}: other false positives");
            }
        }
    }
}

/// Files of earlier defaults, in `older/`: what was built then opens now and answers as it did.
#[test]
fn older_files_answer_as_they_did() {
    let mut tried = 0;
    for entry in std::fs::read_dir(folder().join("older")).expect("older files") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "evb") {
            continue;
        }
        let opened = Opener::new().open(&path).expect("an older file opens");
        let members = Sample::new(&opened.facts().input, Style::Short, 0..opened.head().items);
        for record in members.records() {
            assert!(opened.contains(record.key), "{}: a member is lost", path.display());
        }
        let pinned = std::fs::read_to_string(path.with_extension("first")).expect("its pins");
        assert_eq!(pins(&*opened), pinned, "{}: other false positives", path.display());
        tried += 1;
    }
    assert!(tried >= 8, "only {tried} older files");
}

/// Sketches of earlier defaults, of the 64 keys of a boundary: they find the cells of keys where they did then.
#[test]
fn older_sketches_find_the_cells_of_their_keys() {
    let mut tried = 0;
    for entry in std::fs::read_dir(folder().join("older/sketches")).expect("older sketches") {
        let path = entry.expect("an entry").path();
        let mut opened = Opener::new().open(&path).expect("an older file opens");
        let members = Sample::new(&opened.facts().input, Style::Short, 0..PLANNED);
        if let Some(counts) = opened.as_count() {
            let known = |key: &[u8]| counts.count(key).whole() > 0;
            let found = members.records().iter().filter(|record| known(record.key)).count();
            // A top-k may have driven some out.
            assert!(found >= 60, "{}: {found} of 64", path.display());
        } else {
            let different =
                |filter: &dyn Filter| filter.as_estimate().expect("a sketch").cardinality();
            let before = different(&*opened);
            let again = opened.as_insert().expect("a sketch").insert_all(&members.records());
            assert!(again.is_ok() && different(&*opened) == before, "{}", path.display());
        }
        tried += 1;
    }
    assert_eq!(tried, 10);
}

/// An independent reading of the header, from FORMAT.md alone.
#[test]
fn the_header_is_as_drawn() {
    let filter = build(VARIANTS[0], &VARIANTS[0].forms[0], 3);
    let bytes = codec::to_bytes(&*filter);
    let number = |at: usize, len: usize| {
        bytes[at..at + len].iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b))
    };
    assert_eq!(&bytes[..8], b"\x89EVB\r\n\x1a\n");
    assert_eq!((number(8, 2), number(10, 2)), (1, 0));
    assert_eq!((number(12, 4), number(16, 4)), (0, 0));
    assert_eq!((number(20, 2), number(22, 2)), (1, 6));
    assert_eq!((number(24, 8), number(32, 8)), (42, 3));
    assert_eq!(f64::from_bits(number(40, 8)), 0.05);
    assert_eq!(number(48, 8), u64::MAX);
    let (tree, payload) = (number(56, 8), number(64, 8));
    assert_eq!(number(72, 8), bytes.len() as u64);
    let start = (80 + tree + 4).next_multiple_of(64);
    assert_eq!(start + payload + 4 * payload.div_ceil(65536), bytes.len() as u64);
    assert_eq!(number(80 + tree as usize, 4) as u32, crc32c::crc32c(&bytes[..80 + tree as usize]));
}
