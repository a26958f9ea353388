//! Sequences and records: consecutive K-mers, and comparisons of record-linkage keys.

use std::hint::black_box;

use everbloom::internals::cells::Bits;
use everbloom::internals::hash::{Generator, Hasher, mix64};
use everbloom::membership::BlockedBloom;
use everbloom::structured::KMer;
use everbloom::structured::Clk;
use everbloom::structured::clk::Rule;

use super::{Line, Measured, Table};
use crate::measure::{Case, Figure, Result, Round, interleaved, per_key, rounds};

/// K-mers that make filters of about 4 MB, 64 MB and 1 GiB at 1 %.
pub const KMERS: &[u64] = &[3_500_000, 56_000_000, 900_000_000];

/// Letters of a K-mer, which is a word then.
const LENGTH: usize = 31;

/// What a K-mer of a sequence may take beyond the word that it is, in nanoseconds.
const ROLLING: f64 = 5.0;

/// A sequence of so many K-mers, and these as words.
struct Sequence {
    letters: Vec<u8>,
    kmers: Vec<u64>,
}

impl Sequence {
    fn new(kmers: u64, round: usize) -> Self {
        let code = |i: u64| mix64((round as u64) << 41 | i) & 3;
        let letters = kmers + LENGTH as u64 - 1;
        let roll = |kmer: &mut u64, i: u64| {
            *kmer = (*kmer << 2 | code(i)) & ((1 << (2 * LENGTH)) - 1);
            Some(*kmer)
        };
        Self {
            letters: (0..letters).map(|i| b"ACGT"[code(i) as usize]).collect(),
            kmers: (0..letters).scan(0, roll).skip(LENGTH - 1).collect(),
        }
    }
}

fn kmer_round(items: u64, sequence: &Sequence) -> Option<Round> {
    let builder = KMer::builder().items(items).rate(0.01).form("blocked");
    let mut filter = builder.set("length", LENGTH as u64).build().ok()?;
    let (insert, _) = per_key(items, || filter.insert(black_box(&sequence.letters[..])));
    let (hit, (found, all)) = per_key(items, || filter.found(black_box(&sequence.letters[..])));
    assert_eq!((found, all), (items, items), "K-mers are missing");
    Some(Round(vec![(Figure::Insert, insert), (Figure::Hit, hit)]))
}

fn word_round(items: u64, sequence: &Sequence) -> Option<Round> {
    let mut filter = BlockedBloom::with_rate(items, 0.01).ok()?;
    let (insert, ()) = per_key(items, || filter.insert_many(black_box(&sequence.kmers)));
    let mut found = [false; 4096];
    let (hit, ()) = per_key(items, || {
        for kmers in black_box(&sequence.kmers).chunks(4096) {
            filter.contains_many_into(kmers, &mut found);
            black_box(&found);
        }
    });
    Some(Round(vec![(Figure::Insert, insert), (Figure::Hit, hit)]))
}

/// Consecutive K-mers take at most so much longer than words in bulk.
pub fn kmer(sizes: &[u64], _: bool) -> Measured {
    let names = ["everbloom k-mer", "everbloom blocked, batch"];
    let mut all = Measured::default();
    for &items in sizes {
        let case = Case { items, rate: Some(0.01) };
        let measured = interleaved(
            names.len(),
            rounds(items),
            |i| Sequence::new(items, i),
            |j, sequence| [kmer_round, word_round][j](items, sequence),
        );
        all.results.extend(Result::of(&names, case, measured));
        let table = Table { results: &all.results, case };
        for op in [Figure::Insert, Figure::Hit] {
            let (ours, words) = (table.times(names[0], op), table.times(names[1], op));
            let (Some(ours), Some(words)) = (ours, words) else { continue };
            let most: Vec<f64> = words.iter().map(|ns| ns + ROLLING).collect();
            let what = table.label(names[0], op);
            all.lines.push(Line::of(what, "blocked, batch, and 5 ns", &ours, &most, 1.0));
        }
    }
    all
}

/// Records of a list.
pub const RECORDS: &[u64] = &[10_000];

/// Bits of a record's filter, and the nanoseconds that comparing two may take: 100 million a second.
const BITS: u64 = 1000;
const COMPARISON: f64 = 10.0;
const THRESHOLD: f64 = 0.8;

/// A list of these filters.
fn list(filters: &[Bits]) -> Option<Clk> {
    let bits = filters.first()?.len();
    let rules = [Rule { letters: 2, k: 10 }];
    let mut list = Clk::with_rules(bits, &rules, THRESHOLD, Hasher::default()).ok()?;
    filters.iter().try_for_each(|bits| list.insert_encoded(bits.clone()).ok())?;
    Some(list)
}

/// Nanoseconds per comparison of some filters with a list, and how many pairs match.
pub fn comparison(filters: &[Bits], asked: &[Bits]) -> Option<(f64, u64)> {
    let list = list(filters)?;
    let comparisons = (filters.len() * asked.len()) as u64;
    let matches = |bits: &Bits| list.matches_of(bits).len() as u64;
    Some(per_key(comparisons, || asked.iter().map(matches).sum()))
}

/// A filter in which about three bits of ten are set.
fn filter(random: &mut Generator) -> Bits {
    let mut bits = Bits::new(BITS);
    (0..BITS).filter(|_| random.below(10) < 3).for_each(|i| _ = bits.set(i));
    bits
}

/// Comparisons of record-linkage keys.
pub fn clk(sizes: &[u64], _: bool) -> Measured {
    let names = ["everbloom clk"];
    let mut all = Measured::default();
    for &items in sizes {
        let case = Case { items, rate: None };
        let prepare = |i: usize| {
            let mut random = Generator::new(i as u64);
            (0..items).map(|_| filter(&mut random)).collect::<Vec<_>>()
        };
        let measured = interleaved(1, rounds(items), prepare, |_, filters| {
            let (ns, _) = comparison(filters, &filters[..filters.len().min(100)])?;
            Some(Round(vec![(Figure::Query, ns)]))
        });
        all.results.extend(Result::of(&names, case, measured));
        let table = Table { results: &all.results, case };
        all.lines.extend(table.within(names[0], Figure::Query, COMPARISON));
    }
    all
}
