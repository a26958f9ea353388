//! Signatures found in a stream, by a filter for each length (catalogue A21; S0 §IV-D, §IV-E \[87\]\[110\], S2 \[16\]).
//!
//! ```text
//!   … G E T _ / e v i l . e x e _ H T T P …      at every position, a window of every length that
//!           └───┘ filter of 5   no               signatures have; its filter says no, or the exact
//!           └───────────┘ of 9  maybe ──▶ table  table of that length decides. The longest come first.
//! ```
//!
//! The filters are small enough for fast memory, and a table is touched only where one says maybe: Σ f_i times a byte
//! of clean traffic, 0.539 for 25 lengths at f = 0.0216. Every match is found, and the tables make it exact. The
//! windows are hashed by a rolling polynomial, so that a byte costs the same whatever the length; its base is random,
//! and a collision costs a look into the table, nothing else.

use std::collections::{BTreeMap, HashMap};

use everbloom::internals::hash::Generator;
use everbloom::{Bloom, Error, Hasher, Kind, Result};

use crate::sim::Rate;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// The prime 2^61 − 1, for which 2^61 is 1: what is above 61 bits is added to what is below.
const PRIME: u64 = (1 << 61) - 1;

/// A number below twice the prime, modulo it.
#[inline]
fn reduced(x: u64) -> u64 {
    if x >= PRIME { x - PRIME } else { x }
}

#[inline]
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    reduced((product as u64 & PRIME) + (product >> 61) as u64)
}

/// A signature at a place of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// Where its first byte is.
    pub offset: u64,
    /// How many bytes it has.
    pub length: usize,
    /// Its number, in the order in which signatures were given.
    pub signature: usize,
}

/// The signatures of one length.
struct Length {
    filter: Bloom,
    table: HashMap<Vec<u8>, usize>,
    /// base^(length − 1), to take the oldest byte out of a window's hash.
    oldest: u64,
}

/// A set of signatures to look for.
///
/// ```
/// use everbloom_lab::applications::tracing::signatures::Scanner;
/// let scanner = Scanner::new(["evil.exe", "evil", "worm"], 10.0)?;
/// let found: Vec<_> = scanner.scan(b"GET /evil.exe").into_iter().map(|m| (m.offset, m.signature)).collect();
/// assert_eq!(found, [(5, 0), (5, 1)]); // the longest first
///
/// // In pieces, as it comes.
/// let mut stream = scanner.stream();
/// assert!(stream.feed(b"a wo").is_empty());
/// assert_eq!(stream.feed(b"rm").len(), 1);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Scanner {
    lengths: BTreeMap<usize, Length>,
    base: u64,
}

impl Scanner {
    /// Looks for these, with so many bits of filter for each. The same signature given twice is the first one.
    /// An empty signature is refused: it is everywhere.
    pub fn new<S: AsRef<[u8]>>(
        signatures: impl IntoIterator<Item = S>,
        bits_each: f64,
    ) -> Result<Self> {
        Self::seeded(signatures, bits_each, 0)
    }

    fn seeded<S: AsRef<[u8]>>(
        signatures: impl IntoIterator<Item = S>,
        bits_each: f64,
        seed: u64,
    ) -> Result<Self> {
        let base = 256 + Generator::new(seed).below(PRIME - 256);
        let mut tables: BTreeMap<usize, HashMap<Vec<u8>, usize>> = BTreeMap::new();
        for (number, signature) in signatures.into_iter().enumerate() {
            let bytes = signature.as_ref().to_vec();
            if bytes.is_empty() {
                let message =
                    format!("signature {number} is empty: leave it out, it would match everywhere");
                return Err(Error::new(Kind::BadRecord, message));
            }
            tables.entry(bytes.len()).or_default().entry(bytes).or_insert(number);
        }
        let mut lengths = BTreeMap::new();
        for (length, table) in tables {
            let m = ((table.len() as f64 * bits_each).ceil() as u64).max(8);
            let k = everbloom::internals::theory::bloom::best_k(m, table.len() as u64);
            let mut filter = Bloom::with_shape(m, k, Hasher::seeded(seed ^ length as u64))?;
            for bytes in table.keys() {
                filter.insert(&hash(bytes, base));
            }
            let oldest = (1..length).fold(1, |power, _| times(power, base));
            lengths.insert(length, Length { filter, table, oldest });
        }
        Ok(Self { lengths, base })
    }

    /// All matches in a whole text, by offset, of the same offset the longest first.
    pub fn scan(&self, text: &[u8]) -> Vec<Match> {
        let mut found = self.stream().feed(text);
        found.sort_by_key(|m| (m.offset, std::cmp::Reverse(m.length)));
        found
    }

    /// A stream that is scanned in pieces.
    pub fn stream(&self) -> Stream<'_> {
        let windows = vec![0; self.lengths.len()];
        Stream { scanner: self, windows, tail: Vec::new(), read: 0, probes: 0 }
    }

    /// Bits of all filters.
    pub fn filter_bits(&self) -> u64 {
        self.lengths.values().map(|length| length.filter.m()).sum()
    }

    fn longest(&self) -> usize {
        self.lengths.keys().next_back().copied().unwrap_or(0)
    }
}

fn hash(bytes: &[u8], base: u64) -> u64 {
    bytes.iter().fold(0, |h, &b| reduced(times(h, base) + u64::from(b) + 1))
}

/// A stream that is scanned in pieces; it keeps the last bytes, one less than the longest signature has.
pub struct Stream<'a> {
    scanner: &'a Scanner,
    /// The hash of the last window of each length.
    windows: Vec<u64>,
    tail: Vec<u8>,
    read: u64,
    probes: u64,
}

impl Stream<'_> {
    /// The matches that end in this piece, in the order of their ends, of the same end the longest first.
    pub fn feed(&mut self, piece: &[u8]) -> Vec<Match> {
        let (scanner, base) = (self.scanner, self.scanner.base);
        let before = self.tail.len();
        let mut text = std::mem::take(&mut self.tail);
        text.extend_from_slice(piece);
        let mut found = Vec::new();
        for end in before + 1..=text.len() {
            self.read += 1;
            let levels = scanner.lengths.iter().zip(&mut self.windows).rev();
            for ((&length, level), window) in levels {
                if self.read > length as u64 {
                    let old = u64::from(text[end - 1 - length]) + 1;
                    *window = reduced(*window + PRIME - times(old, level.oldest));
                }
                *window = reduced(times(*window, base) + u64::from(text[end - 1]) + 1);
                if self.read >= length as u64 && level.filter.contains(window) {
                    self.probes += 1;
                    if let Some(&signature) = level.table.get(&text[end - length..end]) {
                        let offset = self.read - length as u64;
                        found.push(Match { offset, length, signature });
                    }
                }
            }
        }
        // The oldest byte of the next window of the longest length must still be there.
        text.drain(..text.len().saturating_sub(scanner.longest()));
        self.tail = text;
        found
    }

    /// How often a table was looked into.
    pub fn probes(&self) -> u64 {
        self.probes
    }
}

/// The exact twin: a trie that is walked from every position.
#[derive(Default)]
struct Trie {
    children: HashMap<u8, Trie>,
    signature: Option<usize>,
}

impl Trie {
    fn insert(&mut self, bytes: &[u8], number: usize) {
        let end = bytes.iter().fold(self, |node, &b| node.children.entry(b).or_default());
        end.signature.get_or_insert(number);
    }

    /// By offset, of the same offset the longest first.
    fn scan(&self, text: &[u8]) -> Vec<Match> {
        let mut found = Vec::new();
        for offset in 0..text.len() {
            let (mut node, mut here) = (self, Vec::new());
            for (length, byte) in (1..).zip(&text[offset..]) {
                let Some(child) = node.children.get(byte) else { break };
                node = child;
                let found = |signature| Match { offset: offset as u64, length, signature };
                here.extend(node.signature.map(found));
            }
            found.extend(here.into_iter().rev());
        }
        found
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A21",
    form: Form::Component,
    uses: &["bloom"],
    oracle: "a trie of all signatures, walked from every position",
    data: "random signatures of 2 to 26 bytes; streams of random bytes and of few letters, with signatures in them",
    experiment: Experiment {
        name: "signatures",
        source: "S0 §IV-E [110], §IV-C [87], S2 [16]",
        title: "Signatures in a stream by a filter for each length",
        shows: "All matches of the exact matcher are found, in whole texts and in pieces. A clean byte costs Σ f_i \
                looks into tables: 0.539 for 25 lengths at 8 bits a signature.",
        run,
    },
};

const LENGTHS: std::ops::RangeInclusive<usize> = 2..=26;
/// Signatures of each length.
const EACH: u64 = 60;

fn letters(count: usize, alphabet: u64, random: &mut Generator) -> Vec<u8> {
    (0..count).map(|_| random.below(alphabet) as u8).collect()
}

fn signatures(alphabet: u64, random: &mut Generator) -> Vec<Vec<u8>> {
    LENGTHS
        .flat_map(|length| (0..EACH).map(move |_| length))
        .map(|l| letters(l, alphabet, random))
        .collect()
}

/// Matches of ours, of the pieces, and of the exact twin in one text.
fn matches(seed: u64, alphabet: u64) -> Result<[Vec<Match>; 3]> {
    let mut random = Generator::new(seed);
    let signatures = signatures(alphabet, &mut random);
    let scanner = Scanner::seeded(&signatures, 8.0, seed)?;
    let mut trie = Trie::default();
    signatures.iter().enumerate().for_each(|(i, s)| trie.insert(s, i));
    let mut text = Vec::new();
    while text.len() < 4_000 {
        let between = random.below(40) as usize;
        text.extend(letters(between, alphabet, &mut random));
        text.extend_from_slice(&signatures[random.below(signatures.len() as u64) as usize]);
    }
    let mut stream = scanner.stream();
    let (mut pieces, mut rest) = (Vec::new(), &text[..]);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(1 + random.below(30) as usize));
        pieces.extend(stream.feed(piece));
        rest = after;
    }
    let [mut ours, mut exact] = [scanner.scan(&text), trie.scan(&text)];
    // Pieces come by where matches end.
    [&mut ours, &mut exact, &mut pieces].into_iter().for_each(|all| all.sort_unstable());
    Ok([ours, pieces, exact])
}

/// Looks into tables in vain, for each byte of a text in which hardly anything matches.
fn clean(seed: u64, bits: f64, bytes: usize) -> Result<f64> {
    let mut random = Generator::new(seed);
    let scanner = Scanner::seeded(signatures(256, &mut random), bits, seed)?;
    let text = letters(bytes, 256, &mut random);
    let mut stream = scanner.stream();
    let found = stream.feed(&text).len() as u64;
    Ok((stream.probes() - found) as f64 / bytes as f64)
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    for alphabet in [2, 256] {
        let seen = lab.runs(lab.scaled(4), |seed| matches(seed, alphabet))?;
        let [mut whole, mut pieces] = [Vec::new(), Vec::new()];
        for [ours, fed, exact] in seen {
            pieces.push((fed, exact.clone()));
            whole.push((ours, exact));
        }
        oracle.equal(&format!("matches of whole texts over {alphabet} letters"), whole);
        oracle.equal(&format!("matches in pieces over {alphabet} letters"), pieces);
    }
    let lengths = LENGTHS.count() as f64;
    let best =
        |bits: f64| everbloom::internals::theory::bloom::best_k((EACH as f64 * bits) as u64, EACH);
    let rate = |bits: f64| Rate::of((EACH as f64 * bits) as u64, EACH, best(bits));
    let mut series = Series::new("25 lengths", (5..=20).map(f64::from), |bits| {
        lengths
            * everbloom::internals::theory::bloom::fpr_asymptotic(bits, 1.0, f64::from(best(bits)))
    });
    let (runs, bytes) = (lab.scaled(8), 4_000);
    let mut rows = Rows::new("source", "The source's number", Axis::linear("looks for each byte"));
    for bits in [6.0, 8.0, 12.0] {
        let seen = lab.runs(runs, |seed| clean(seed, bits, bytes))?;
        let (mean, _) = bound::mean_and_sd(&seen);
        let f = rate(bits);
        let sd = (lengths * (f.sd * f.sd + f.mean / bytes as f64)).sqrt();
        series.point(bits, lengths * f.mean, mean, bound::mean(lengths * f.mean, sd, runs));
        if bits == 8.0 {
            // 60 signatures a length are few: the rate is 3 % above the formula of large filters.
            let fits = bound::mean(0.539, sd, runs).widened(0.539, f.mean / 0.021577 - 1.0);
            rows.row("looks into tables for a clean byte, 8 bits, k = 6", 0.539, mean, fits);
        }
    }
    let refused = Scanner::new(["a", ""], 8.0).is_err();
    rows.row(
        "an empty signature is refused",
        1.0,
        f64::from(u8::from(refused)),
        Bound::exactly(1.0, 0.0),
    );
    let chart = Chart::new(
        "probes",
        "Looks into tables for each byte of clean traffic",
        [Axis::linear("bits of filter for each signature"), Axis::log("looks for each byte")],
        [series],
    );
    Ok(oracle.report().chart(chart).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_modulo_the_prime() {
        let mut random = Generator::new(61);
        let edges = [0, 1, PRIME - 1, PRIME / 2, 1 << 60];
        let numbers: Vec<u64> =
            edges.into_iter().chain((0..50).map(|_| random.below(PRIME))).collect();
        for (a, b) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b))) {
            let exact = u128::from(a) * u128::from(b) % u128::from(PRIME);
            assert_eq!(u128::from(times(a, b)), exact, "{a} {b}");
        }
    }

    #[test]
    fn a21_looks_for_each_byte() {
        let f = everbloom::internals::theory::bloom::fpr_asymptotic(8.0, 1.0, 6.0);
        assert!((f - 0.02158).abs() < 1e-5 && (25.0 * f - 0.539).abs() < 5e-4);
    }

    #[test]
    fn no_signatures_and_no_text() {
        let none = Scanner::new(Vec::<&str>::new(), 8.0).unwrap();
        assert!(none.scan(b"text").is_empty() && none.filter_bits() == 0);
        let one = Scanner::new(["ab"], 8.0).unwrap();
        assert!(one.scan(b"").is_empty() && one.scan(b"a").is_empty());
        assert_eq!(one.scan(b"abab").len(), 2);
    }
}
