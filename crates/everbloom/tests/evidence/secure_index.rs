//! §43: secure indexes.

use everbloom::EntryKind;
use everbloom::internals::theory::bloom as theory;
use everbloom::secure::Secret;
use everbloom::secure::index::{Index, IndexKey, Shape, VARIANT};

fn shape() -> Shape {
    Shape::for_rate(200, 1.0 / 128.0).expect("a shape")
}

fn key(byte: u8) -> IndexKey {
    IndexKey::new(&Secret::new([byte; 32]), 7)
}

fn words(document: usize) -> Vec<Vec<u8>> {
    // From 20 words to all of the 200.
    let count = 20 + 3 * document + document / 20;
    (0..count).map(|i| format!("word {document} {i}").into_bytes()).collect()
}

fn documents(key: &IndexKey) -> Vec<Index> {
    let build = |document: usize| {
        let words = words(document);
        key.build(shape(), b"doc", words.iter().map(Vec::as_slice)).expect("at most 200 words")
    };
    (0..60).map(build).collect()
}

#[test]
fn s43_no_word_is_missed_and_others_match_as_in_a_standard_filter() {
    assert_eq!((shape().r(), shape().m(), VARIANT.kind), (7, 2020, EntryKind::Protocol));
    assert!((shape().fpr() - 0.0078).abs() < 5e-5, "{}", shape().fpr());
    let (key, mut tried, mut false_matches) = (key(1), 0, 0);
    for (document, index) in documents(&key).iter().enumerate() {
        let own = words(document);
        assert!(own.iter().all(|word| index.matches(&key.trapdoor(word))), "{document}");
        for i in 0..500 {
            let other = format!("other {i}").into_bytes();
            false_matches += usize::from(index.matches(&key.trapdoor(&other)));
            tried += 1;
        }
    }
    let (rate, p) = (false_matches as f64 / f64::from(tried), shape().fpr());
    // 30 000 queries; 60 filters of 2020 bits each scatter by 4 %.
    let bound = 4.0 * (p / f64::from(tried)).sqrt() + 0.1 * p;
    assert!((rate - p).abs() <= bound, "{rate} for {p}");
}

#[test]
fn s43_filters_do_not_tell_how_many_words_they_hold() {
    let (m, throws) = (shape().m() as f64, 1400.0);
    let sd = theory::fill_sd(m, throws);
    let fills: Vec<f64> = documents(&key(1)).iter().map(Index::fill).collect();
    let [least, most] = [f64::min, f64::max].map(|f| fills.iter().copied().reduce(f).expect("60"));
    // The extremes of 60: each pair of neighbors in size is closer.
    assert!(most - least <= 8.0 * sd, "{least} to {most}");
    let (few, many) = (&fills[..20], &fills[40..]);
    let mean = |fills: &[f64]| fills.iter().sum::<f64>() / fills.len() as f64;
    let off = (mean(few) - mean(many)).abs();
    assert!(off <= 4.0 * sd * (2.0f64 / 20.0).sqrt(), "{off}");
    assert!((mean(&fills) - theory::fill(m, throws)).abs() <= 4.0 * sd / 60f64.sqrt());
}

#[test]
fn s43_one_word_has_other_cells_in_every_document() {
    // A filter with room for one word is that word's cells and nothing else.
    let shape = Shape::new(1, 2020, 7).expect("a shape");
    let key = key(1);
    let cells = |name: &[u8]| -> Vec<u8> {
        let index = key.build(shape, name, [&b"word"[..]]).expect("one word");
        let bytes = index.to_bytes();
        bytes[bytes.len() - 253..].to_vec()
    };
    let common =
        |a: &[u8], b: &[u8]| -> u32 { a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum() };
    let all: Vec<Vec<u8>> = (0..200).map(|_| cells(b"same name")).collect();
    let pairs = all.iter().enumerate().flat_map(|(i, a)| all[..i].iter().map(move |b| (a, b)));
    let (mut total, mut count) = (0, 0);
    for (a, b) in pairs {
        total += common(a, b);
        count += 1;
    }
    // r²/m = 0.0243 of 7 cells in common, as by chance.
    let (mean, expected) = (f64::from(total) / f64::from(count), 49.0 / 2020.0);
    assert!((mean - expected).abs() < 5.0 * (expected / f64::from(count)).sqrt(), "{mean}");
}

#[test]
fn s43_without_the_key_a_dictionary_is_of_no_use() {
    let (owner, thief) = (key(1), key(2));
    let documents = documents(&owner);
    let (mut right, mut tried) = (0, 0);
    for (document, index) in documents.iter().enumerate() {
        for word in words(document).iter().take(20) {
            assert!(index.matches(&owner.trapdoor(word)));
            right += usize::from(index.matches(&thief.trapdoor(word)));
            tried += 1;
        }
    }
    // Guesses of real words match as often as any word does.
    let expected = shape().fpr() * f64::from(tried);
    assert!((right as f64) < expected + 6.0 * expected.sqrt(), "{right} for {expected}");
}

#[test]
fn s43_a_trapdoor_works_on_later_documents_too() {
    // A leak that is stated.
    let trapdoor = key(1).trapdoor(b"word");
    let later = key(1).build(shape(), b"later", [&b"word"[..]]).expect("one word");
    assert!(later.matches(&trapdoor));
}
