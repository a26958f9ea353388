//! The index: its K-mers, its columns, and what is refused.

use everbloom::internals::hash::Generator;
use everbloom::{Bloom, Kind};

use super::*;

fn letters(random: &mut Generator, count: usize) -> Vec<u8> {
    (0..count).map(|_| b"ACGT"[random.below(4) as usize]).collect()
}

fn fasta(sequence: &[u8]) -> Vec<u8> {
    let lines = sequence.chunks(70).flat_map(|line| [line, b"\n"].concat());
    b">sample\n".iter().copied().chain(lines).collect()
}

fn new<'a>(number: usize, text: &'a [u8]) -> New<'a> {
    New { name: format!("sample {number}"), open: Box::new(move || Ok(Box::new(text))) }
}

/// Permanent: a change here is a new file format.
#[test]
fn kmers_are_pinned() {
    let kmers = |letters: &str, length: u8| {
        let mut all = Vec::new();
        each_kmer(letters.as_bytes(), length, |kmer| all.push(kmer));
        all
    };
    // ACG is 000110, its reverse complement CGT 011011.
    assert_eq!(kmers("ACGTNTTTT", 3), [6, 6, 0, 0]);
    assert_eq!(kmers("TTGAC", 5), [0b10_11_01_00_00]);
    assert_eq!(kmers(&"T".repeat(33), 32), [0, 0]);
    assert_eq!(kmers(&"C".repeat(32), 32), [0x5555_5555_5555_5555]);
    assert!(kmers("ACGTACG", 8).is_empty());
}

#[test]
fn a_column_is_the_bloom_filter_of_its_sample() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.evk");
    let mut random = Generator::new(7);
    let texts: Vec<Vec<u8>> = (0..130).map(|_| fasta(&letters(&mut random, 60))).collect();
    let all: Vec<New<'_>> = texts.iter().enumerate().map(|(i, text)| new(i, text)).collect();
    let shape = Shape { length: 11, probes: 3, rate: 0.1 };
    // 130 columns in three words, added in pieces that end inside of them.
    Index::build_sized(&path, shape, &all[..10], 500).unwrap();
    Index::add_sized(&path, &all[10..70], 500).unwrap();
    Index::add_sized(&path, &all[70..], 500).unwrap();
    let (_, groups, mut rows) = file::open(&path).unwrap();
    let mut filters: Vec<Bloom> = Vec::new();
    for text in &texts {
        let mut filter = Bloom::with_shape(500, 3, hasher().unwrap()).unwrap();
        each_sequence(&text[..], |_, letters| {
            each_kmer(letters, 11, |kmer| _ = filter.insert(&kmer));
            Ok(())
        })
        .unwrap();
        filters.push(filter);
    }
    for at in 0..500 {
        let mut words = [0; 3];
        rows.read(&groups, 0, at, &mut words).unwrap();
        for (i, filter) in filters.iter().enumerate() {
            assert_eq!(words[i / 64] >> (i % 64) & 1 == 1, filter.bits().get(at), "{i} {at}");
        }
    }
    for (filter, sample) in filters.iter().zip(&groups[0].samples) {
        assert_eq!(filter.bits().ones(), sample.ones);
    }
}

/// Samples that have a tenth, a half and nine tenths of a sequence: the counts of a filter that errs for three K-mers in
/// ten are far too high, and what is told is what an exact set counts, on average.
#[test]
fn counts_are_what_a_sample_has_and_not_what_its_filter_lets_pass() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.evk");
    let mut random = Generator::new(13);
    let (length, kmers) = (21, 1000);
    let asked = letters(&mut random, kmers + length - 1);
    let [mut has, mut found] = [[0.0; 4]; 2];
    let parts = [0, 100, 500, 900];
    let runs = 20;
    for run in 0..runs {
        let texts = parts.map(|part| {
            let own = letters(&mut random, 3000 - part);
            let shared = &asked[..if part > 0 { part + length - 1 } else { 0 }];
            fasta(&[shared, b"N", &own].concat())
        });
        let all: Vec<New<'_>> = texts.iter().enumerate().map(|(i, text)| new(i, text)).collect();
        let path = path.with_extension(run.to_string());
        Index::build(&path, Shape::new(length as u8, 0.3).unwrap(), &all).unwrap();
        let hits = Index::open(&path).unwrap().query(&asked, 0.001).unwrap().hits;
        for hit in hits {
            let place: usize = hit.sample["sample ".len()..].parse().unwrap();
            (has[place], found[place]) = (has[place] + hit.has, found[place] + hit.found as f64);
            assert!(hit.found as usize >= parts[place], "never fewer");
        }
    }
    for (place, part) in parts.iter().enumerate() {
        let [has, found] = [has[place], found[place]].map(|sum| sum / f64::from(runs));
        // √(f(1 − f)·1000)/(1 − f) = 21 for one estimate; none is below 0.
        assert!((has - *part as f64).abs() < 6.0 * 21.0 / f64::from(runs).sqrt(), "{part}: {has}");
        assert!(found > has + 0.15 * (kmers - part) as f64, "{part}: {found}");
    }
}

#[test]
fn damage_is_an_error_and_never_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.evk");
    let text = fasta(&letters(&mut Generator::new(1), 300));
    Index::build(&path, Shape::new(11, 0.1).unwrap(), &[new(0, &text)]).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let ask = || Index::open(&path)?.query(&text[8..70], 0.5).map(|found| found.hits.len());
    assert_eq!(ask().unwrap(), 1);
    for at in (0..60).chain((60..whole.len()).step_by(257)) {
        let mut broken = whole.clone();
        broken[at] ^= 0x10;
        std::fs::write(&path, broken).unwrap();
        // A flip behind the header is found if its page is read.
        assert!(ask().is_err() || at >= 60, "{at}");
        assert_eq!(ask().unwrap_or(1), 1, "{at}");
    }
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(ask().unwrap_err().kind(), Kind::Truncated);
    std::fs::write(&path, b">no index\nACGT\n").unwrap();
    assert_eq!(ask().unwrap_err().kind(), Kind::NotOurs);
}

#[test]
fn what_is_no_sample_or_is_there_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.evk");
    let shape = Shape::new(5, 0.3).unwrap();
    let text = b">a\nACGTACGTAAGGC\n";
    assert!(Index::build(&path, shape, &[new(0, text), new(0, text)]).is_err());
    assert!(Index::build(&path, shape, &[new(0, b"no letters")]).is_err());
    assert!(!path.exists());
    Index::build(&path, shape, &[new(0, text), new(1, b"@q\nAC\n+\nII\n")]).unwrap();
    assert!(Index::add(&path, &[new(1, text)]).is_err());
    let mut index = Index::open(&path).unwrap();
    assert_eq!(index.query(b"ACG", 0.8).unwrap().kmers, 0);
    assert_eq!(index.query(b"acgtacgtaa", 0.8).unwrap().hits.len(), 1);
    assert!(index.query(b"ACGTA", 0.0).is_err());
    assert!(Shape::new(33, 0.3).is_err() && Shape::new(31, 1.0).is_err());
}
