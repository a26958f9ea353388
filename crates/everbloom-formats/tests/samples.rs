//! Filters that the other software wrote: no false negative among their keys, as many false positives as their fill
//! predicts, and the same bytes when they are written back.

use std::fs;
use std::path::PathBuf;

use everbloom::internals::theory::tail;
use everbloom::{Limits, Result};
use everbloom_formats::{Foreign, Format, Key, Part};

fn sample(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A kind of keys: the member or the non-member number i.
#[derive(Clone, Copy)]
enum Keys {
    Items,
    Longs,
    Ints,
    Doubles,
}

impl Keys {
    fn member(self, i: i64) -> Key<'static> {
        match self {
            Keys::Items => Key::Bytes(format!("item-{i}").into_bytes().into()),
            Keys::Longs => Key::Long(i * 7919),
            Keys::Ints => Key::Int(i as i32 * 31 - 500),
            Keys::Doubles => Key::Double(i as f64 * 0.5),
        }
    }

    fn absent(self, i: i64) -> Key<'static> {
        match self {
            Keys::Items => Key::Bytes(format!("absent-{i}").into_bytes().into()),
            Keys::Longs => Key::Long(i * 7919 + 1),
            Keys::Ints => Key::Int(i as i32 * 31 - 499),
            Keys::Doubles => Key::Double(i as f64 * 0.5 + 0.25),
        }
    }
}

const QUERIES: i64 = 20_000;

/// No false negatives among the first `n` members, and as many false positives as predicted.
fn answers(what: &str, filter: &Foreign, keys: Keys, n: i64) {
    let found = (0..n).filter(|i| filter.contains(keys.member(*i)).unwrap()).count();
    assert_eq!(found as i64, n, "{what}: members found");
    let passed = (0..QUERIES).filter(|i| filter.contains(keys.absent(*i)).unwrap()).count();
    let p = filter.fpr();
    assert!(plausible(passed as u64, p), "{what}: {passed} of {QUERIES} pass at a rate of {p}");
}

/// Whether so many of the queries pass at rate `p`, but for a chance of 10⁻⁹ on either side.
fn plausible(passed: u64, p: f64) -> bool {
    let n = QUERIES as u64;
    let sum = |range: std::ops::RangeInclusive<u64>| -> f64 {
        range.map(|i| tail::binomial_pmf(n, p, i)).sum()
    };
    sum(0..=passed) > 1e-9 && sum(passed..=n) > 1e-9
}

fn opened(format: &str, bytes: &[u8]) -> Result<Foreign> {
    Format::named(format)?.open_one(bytes, Limits::NETWORK)
}

/// Filters that are one file.
const FILES: &[(&str, &str, Keys)] = &[
    ("parquet", "parquetmr_bitset_strings.bin", Keys::Items),
    ("guava", "guava_MURMUR128_MITZ_32_utf8.bin", Keys::Items),
    ("guava", "guava_MURMUR128_MITZ_32_long.bin", Keys::Longs),
    ("guava", "guava_MURMUR128_MITZ_64_utf8.bin", Keys::Items),
    ("guava", "guava_MURMUR128_MITZ_64_long.bin", Keys::Longs),
    ("spark", "spark_V1_strings.bin", Keys::Items),
    ("spark", "spark_V1_longs.bin", Keys::Longs),
    ("spark", "spark_V2_strings.bin", Keys::Items),
    ("spark", "spark_V2_longs.bin", Keys::Longs),
    ("spark", "spark_df_stat_s.bin", Keys::Items),
    ("go-bloom", "go_willf_bloom.bin", Keys::Items),
    ("dcso", "dcso.bloom", Keys::Items),
    ("datasketches", "datasketches_strings.bin", Keys::Items),
    ("datasketches", "datasketches_longs.bin", Keys::Longs),
];

#[test]
fn files_of_one_filter_answer_for_their_keys() {
    for (format, name, keys) in FILES {
        let filter = opened(format, &sample(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        answers(name, &filter, *keys, 1000);
    }
}

#[test]
fn files_of_one_filter_are_written_back_byte_for_byte() {
    for (format, name, _) in FILES {
        let bytes = sample(name);
        let filter = opened(format, &bytes).unwrap();
        if filter.format().can_write() {
            assert!(filter.write().unwrap() == bytes, "{name}");
        }
    }
}

#[test]
fn files_of_one_filter_are_detected() {
    for (format, name, _) in FILES {
        let found = Format::detect(&sample(name));
        assert!(found.iter().any(|f| f.name == *format), "{name}: {found:?}");
    }
}

/// The filter of a column.
fn column<'a>(parts: &'a [Part], name: &str) -> &'a Part {
    parts.iter().find(|part| part.column == name).unwrap_or_else(|| panic!("no column {name}"))
}

#[test]
fn parquet_files_show_their_filters() {
    for name in ["pyarrow26.parquet", "duckdb2.parquet"] {
        let bytes = sample(name);
        let [format] = Format::detect(&bytes)[..] else { panic!("{name} is detected") };
        let parts = format.open(&bytes, Limits::NETWORK).unwrap();
        let all =
            [("i64", Keys::Longs), ("s", Keys::Items), ("i32", Keys::Ints), ("f64", Keys::Doubles)];
        assert!(parts.len() == 4 || name.starts_with("duckdb") && parts.len() == 2);
        for (name, keys) in all.into_iter().take(parts.len()) {
            let part = column(&parts, name);
            answers(name, &part.filter, keys, 1000);
            assert_eq!(part.rows, Some(1000));
            let written = part.filter.write().unwrap();
            assert!(bytes.windows(written.len()).any(|window| window == written), "{name}");
        }
    }
}

#[test]
fn an_empty_datasketch_holds_nothing() {
    let bytes = sample("datasketches_empty.bin");
    let mut filter = opened("datasketches", &bytes).unwrap();
    assert_eq!(filter.write().unwrap(), bytes);
    assert!(!filter.contains("item-0").unwrap());
    filter.insert("item-0").unwrap();
    let again = opened("datasketches", &filter.write().unwrap()).unwrap();
    assert!(again.contains("item-0").unwrap());
}
