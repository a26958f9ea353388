//! §21, k-mer Bloom filter.

use everbloom::internals::filter::{Filter, Record, Verdict};
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::tail;
use everbloom::structured::KMer;
use everbloom::structured::k_mer::{last_letter_rate, random_rate};

const FORMS: [&str; 4] = ["one-sided", "two-sided", "plain", "blocked"];

fn dna(random: &mut Generator, length: usize) -> Vec<u8> {
    (0..length).map(|_| b"ACGT"[random.below(4) as usize]).collect()
}

fn near(got: f64, want: f64) {
    assert!((got / want - 1.0).abs() < 1e-3, "{got}, not {want}");
}

#[test]
fn s21_rates_as_computed() {
    near(random_rate("one-sided", 0.01), 7.726e-4);
    near(random_rate("two-sided", 0.01), 1.553e-5);
    near(last_letter_rate("two-sided", 0.01), 3.94e-4);
    near(last_letter_rate("one-sided", 0.01), 0.01);
}

#[test]
fn s21_the_pieces_of_taagcca() {
    for form in FORMS {
        let built = KMer::builder().items(1000).rate(1e-9).set("length", 4).form(form);
        let mut filter = built.build().unwrap();
        filter.insert("TAAGCCA");
        for piece in ["TAAG", "AAGC", "AGCC", "GCCA", "taag", "TAAGCCA"] {
            assert!(filter.contains(piece), "{form}: {piece}");
        }
        // S3's example holds because its letter is the successor: every other fourth letter is absent, too.
        assert!(!filter.contains("GCCT") && !filter.contains("AAGCCT"), "{form}");
        assert_eq!(filter.found("AAGCCT"), (2, 3));
    }
}

#[test]
fn s21_both_query_populations_pass_at_their_rates() {
    const QUERIES: u64 = 300_000;
    for form in FORMS {
        let mut random = Generator::new(21);
        // f near 0.0094 for every form, as of the shape m = 10n, k = 6 or so; lines have k = 8 and need a little more.
        let (m, k) = if form == "blocked" { (1_024_000, 8) } else { (976_000, 7) };
        let built = KMer::builder().items(100_000).set("m", m).set("k", k).form(form);
        let mut filter = built.build().unwrap();
        let genome = dna(&mut random, 100_030);
        filter.insert(&genome);
        assert_eq!(Filter::query(&filter, Record::key(&genome)).unwrap().verdict, Verdict::Present);
        let f = filter.base_rate();
        assert!((0.0085..0.0105).contains(&f), "{f}");
        let inside = |passed: u64, rate: f64, what: &str| {
            let (low, high) = tail::binomial_bounds(QUERIES, rate, 1e-9);
            assert!((low..=high).contains(&passed), "{form}, {what}: {passed}, {rate} predicted");
        };
        let passed = (0..QUERIES).filter(|_| filter.contains(&dna(&mut random, 31))).count();
        inside(passed as u64, random_rate(form, f), "random");
        let now = filter.now().fpr.unwrap();
        assert!((now / random_rate(form, f) - 1.0).abs() < 1e-9, "{form}: {now}");
        let last = |_: &u64| {
            let at = random.below(100_000) as usize;
            let mut piece = genome[at..at + 31].to_vec();
            let turn = b"ACGT".iter().position(|b| *b == piece[30]).unwrap();
            piece[30] = b"ACGT"[(turn + 1 + random.below(3) as usize) % 4];
            filter.contains(&piece)
        };
        let passed = (0..QUERIES).filter(last).count();
        inside(passed as u64, last_letter_rate(form, f), "last letter");
    }
}

/// Every piece of every sequence is found, whatever its strand, at the ends, too.
#[test]
fn s21_no_false_negatives_on_either_strand() {
    let complement = |text: &[u8]| -> Vec<u8> {
        let turned = |b: &u8| b"TGCA"[b"ACGT".iter().position(|x| x == b).unwrap()];
        text.iter().rev().map(turned).collect()
    };
    for form in FORMS {
        for length in [4u64, 6, 31, 32, 63] {
            let built = KMer::builder().items(5000).rate(1e-4).set("length", length).form(form);
            let mut filter = built.set("strands", "both").build().unwrap();
            let mut random = Generator::new(length);
            let texts: Vec<_> = (0..40).map(|i| dna(&mut random, length as usize + i)).collect();
            texts.iter().for_each(|text| {
                filter.insert(text);
            });
            for text in &texts {
                assert!(filter.contains(text) && filter.contains(&complement(text)));
                for piece in text.windows(length as usize) {
                    assert!(filter.contains(piece) && filter.contains(&complement(piece)));
                }
            }
        }
    }
}

#[test]
fn s21_short_sequences_and_other_letters() {
    let mut filter = KMer::with_rate(100, 0.01).unwrap();
    let before = filter.clone();
    filter.insert("ACGTACGTACGTACGTACGTACGTACGTACNACGT");
    assert_eq!(filter, before, "30 letters, N, 4 letters: no K-mer");
    let answer = Filter::query(&filter, Record::key(b"ACGT")).unwrap();
    assert_eq!(answer.verdict, Verdict::Undecided);
    filter.insert("ACGTACGTACGTACGTACGTACGTACGTACG");
    assert_eq!(filter.cardinality().map(|n| n.round()), Some(1.0));
    assert!(filter.contains("acgtacgtacgtacgtacgtacgtacgtacg"));
}
