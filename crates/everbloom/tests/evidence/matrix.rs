//! I12, the matrix filter.

use everbloom::Kind;
use everbloom::grouping::Matrix;
use everbloom::grouping::matrix::{VARIANT, chance_level};
use everbloom::internals::filter::{Detail, Face, Record, Value, Verdict};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::{bloom, tail};

/// The entry's shape: rows of 10,000 bits, 4 probes, 1000 chunks to a document.
const M: u64 = 10_000;
const K: u32 = 4;

fn library(seed: u64, documents: &[(&[u8], std::ops::Range<u64>)]) -> Matrix {
    let mut matrix = Matrix::with_shape(M, K, Hasher::seeded(seed)).unwrap();
    for (name, chunks) in documents {
        matrix.add_document(name, chunks.clone()).expect("room");
    }
    matrix
}

#[test]
fn i12_chance_level() {
    let chance = chance_level(10_000.0, 4.0, 1000.0, 1000.0);
    assert!((chance - 1086.98).abs() < 0.005, "{chance}");
    let (mut common, mut level) = (0.0, 0.0);
    for seed in 0..40 {
        let unrelated = library(seed, &[(b"a", 0..1000), (b"b", 5000..6000)]);
        let alike = unrelated.similarity(b"a", b"b").expect("both");
        common += alike.common as f64 / 40.0;
        level += alike.chance / 40.0;
        // A threshold of 1000 common ones flags them; the score does not.
        assert!(alike.common > 950 && alike.score.abs() < 0.06, "{alike:?}");
        assert!(alike.shared.expect("zeros").abs() < 60.0, "{alike:?}");
    }
    // 1087 ± 26 for one pair (a share of 0.33 each in 10,000 cells), 4.1 for 40.
    assert!((common - chance).abs() < 17.0, "{common}");
    assert!((level - chance).abs() < 6.0, "{level}");
}

#[test]
fn i12_shared_chunks_as_the_inner_product_says() {
    for shared in [0u64, 100, 500, 900, 1000] {
        let expected = bloom::inner_product(10_000.0, 4.0, 1000.0, 1000.0, shared as f64);
        let (mut common, mut estimate, mut score) = (0.0, 0.0, 0.0);
        for seed in 0..24 {
            let matrix = library(seed, &[(b"a", 0..1000), (b"b", 1000 - shared..2000 - shared)]);
            let alike = matrix.similarity(b"a", b"b").expect("both");
            common += alike.common as f64 / 24.0;
            estimate += alike.shared.expect("zeros") / 24.0;
            score += alike.score / 24.0;
        }
        assert!((common - expected).abs() < 24.0, "{shared}: {common} of {expected}");
        assert!((estimate - shared as f64).abs() < 15.0, "{shared}: {estimate}");
        // Slightly bent, since shared ones also cover what chance would have made common.
        assert!((score - shared as f64 / 1000.0).abs() < 0.06, "{shared}: {score}");
    }
}

#[test]
fn i12_identical_documents_share_every_one() {
    let matrix = library(1, &[(b"a", 0..1000), (b"copy", 0..1000), (b"part", 0..500)]);
    let ones = matrix.bits(b"a").expect("a row").ones();
    let same = matrix.similarity(b"a", b"copy").expect("both");
    assert_eq!((same.common, same.score), (ones, 1.0));
    // k probes a chunk: one more or fewer would show.
    let (mean, sd) = (bloom::fill(1e4, 4000.0), bloom::fill_sd(1e4, 4000.0));
    assert!((ones as f64 / 1e4 - mean).abs() < 5.0 * sd, "{ones}");
    // A part of a document is contained in it.
    let part = matrix.similarity(b"part", b"a").expect("both");
    assert_eq!((part.common, part.score), (matrix.bits(b"part").expect("a row").ones(), 1.0));
    assert_eq!(matrix.similarity(b"a", b"none"), None);
}

#[test]
fn i12_threshold_scales_with_the_fill() {
    // Documents of very different lengths: chance level from 30 to 5000 common ones.
    let lengths = [50u64, 200, 1000, 3000];
    let mut matrix = Matrix::with_shape(M, K, Hasher::default()).unwrap();
    for (i, n) in lengths.iter().enumerate() {
        let start = 10_000 * i as u64;
        matrix.add_document(format!("doc {i}").as_bytes(), start..start + n).expect("room");
        // Each with a copy of four fifths of it.
        let copy = (start..start + n).map(|c| if c % 5 == 0 { c + 1_000_000 } else { c });
        matrix.add_document(format!("copy {i}").as_bytes(), copy).expect("room");
    }
    let flagged = matrix.copies(0.5);
    let pairs: Vec<(&[u8], &[u8])> = flagged.iter().map(|(a, b, _)| (*a, *b)).collect();
    assert_eq!(pairs.len(), 4, "{flagged:?}");
    for i in 0..4 {
        let (a, b) = (format!("doc {i}"), format!("copy {i}"));
        assert!(pairs.contains(&(a.as_bytes(), b.as_bytes())), "{i}");
    }
    // A fixed threshold that catches the copy of the shortest flags unrelated long ones.
    let short = matrix.similarity(b"doc 0", b"copy 0").expect("both").common;
    let long = matrix.similarity(b"doc 2", b"doc 3").expect("both").common;
    assert!(long > 5 * short, "{long} against {short}");
    assert!(flagged.windows(2).all(|w| w[0].2.score >= w[1].2.score));
}

#[test]
fn i12_documents_leave_and_names_are_stable() {
    let mut matrix = library(2, &[(b"a", 0..100), (b"b", 100..200), (b"c", 200..300)]);
    assert!(matrix.remove_document(b"b") && !matrix.remove_document(b"b"));
    assert_eq!(matrix.documents(), [b"a".to_vec(), b"c".to_vec()]);
    assert_eq!(matrix.head().items, 200);
    assert!((200..300u64).all(|chunk| matrix.contains(&chunk, b"c")));
    assert!((100..200u64).all(|chunk| !matrix.contains(&chunk, b"b")));
    assert_eq!(matrix.search(&250u64), [b"c".as_slice()]);
    matrix.add_document(b"d", 150..160u64).expect("room");
    assert_eq!(matrix.search(&155u64), [b"d".as_slice()], "the row is as good as new");
    assert!((200..300u64).all(|chunk| matrix.contains(&chunk, b"c")));
    let fresh = library(2, &[(b"a", 0..100), (b"c", 200..300), (b"d", 150..160)]);
    assert_eq!(matrix, fresh);
}

#[test]
fn i12_search_and_rates_by_row() {
    let goal = Goal::new(1000, 0.02).set("documents", 8);
    let keys: Vec<[u8; 8]> = (0..8000u64).map(u64::to_le_bytes).collect();
    let names: Vec<Vec<u8>> = (0..8).map(|d| format!("doc {d}").into_bytes()).collect();
    let record = |i: usize| Record::key(&keys[i]).with(Some(Value::Label(&names[i % 8])));
    let records: Vec<_> = (0..8000).map(record).collect();
    let filter = VARIANT.build_from(&goal, &records).expect("a matrix");
    assert!(records.iter().all(|r| filter.query(*r).expect("a query").verdict == Verdict::Present));
    let expect = VARIANT.expect(&goal, &Load::items(8000)).expect("a plan").expect("a formula");
    assert_eq!(expect.bits, filter.memory().cells);
    // Documents by chance instead of 1000 each: 1 % more.
    assert!(expect.fpr > 0.02 && expect.fpr < 0.021, "{}", expect.fpr);
    assert!((filter.now().fpr.expect("a rate") / 0.02 - 1.0).abs() < 0.1);
    let mut sum = 0;
    for key in 1u64 << 40..(1 << 40) + 100_000 {
        let answer = filter.query(Record::key(&key.to_le_bytes())).expect("a query");
        let Detail::Labels(found) = answer.detail else { panic!("documents") };
        assert_eq!(answer.verdict == Verdict::Present, !found.is_empty());
        sum += found.len() as u64;
    }
    // All rows share their hash functions: the spread is that of 100,000 keys, not of 800,000.
    let (low, high) = tail::binomial_bounds(100_000, filter.now().fpr.expect("a rate"), 1e-9);
    assert!((8 * low..=8 * high).contains(&sum), "{sum}: 8·{low} to 8·{high}");
    // Growth: a ninth document has a row of its own.
    let mut filter = filter;
    let ninth = Record::key(b"chunk").with(Some(Value::Label(b"doc 9")));
    filter.as_insert().expect("grows").insert(ninth).expect("room");
    assert_eq!(filter.memory().cells, expect.bits / 8 * 9);
}

#[test]
fn i12_rows_that_no_file_could_hold_are_refused() {
    for (m, k) in [(0, 4), (100, 0), (100, 4097), (u64::MAX, 4)] {
        let refused = Matrix::with_shape(m, k, Hasher::default());
        assert_eq!(refused.map(drop).unwrap_err().kind(), Kind::BadParameter, "{m} {k}");
    }
}
