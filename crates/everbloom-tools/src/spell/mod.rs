//! Spelling: a dictionary in a filter, and hyphenation with filtered exceptions (catalogue A1; S1 §3.1).
//!
//! ```text
//!   text ──▶ words ──▶ filter of the dictionary   no: unknown, for certain
//!                                                maybe: fine, but for a share f of the misspellings
//! ```
//!
//! No word of the dictionary is ever flagged, and a misspelling is missed with the filter's rate for each form of
//! it that is looked up: one in lower case, two of a capitalized word (it may be any word at the start of a
//! sentence), three in capitals. 250 000 words at 0.001 take 438.8 KiB.
//!
//! Words are runs of letters with single apostrophes and hyphens inside. Runs with digits, addresses of pages and
//! of mail are not looked at. A hyphenated word is fine if it is listed, or if all its parts are.
//!
//! [`hunspell`] expands dictionaries with affix rules; [`hyphenate`] is the same idea for exceptions of
//! hyphenation rules, where a false positive costs a look-up and nothing else.

pub mod hunspell;
pub mod hyphenate;

use std::collections::HashSet;
use std::hash::BuildHasher;

use everbloom::{Bloom, Result};

/// Where words are looked up: a filter, or an exact set.
pub trait Dictionary {
    /// Whether it has the word, as it is spelled.
    fn has(&self, word: &[u8]) -> bool;
}

impl Dictionary for Bloom {
    fn has(&self, word: &[u8]) -> bool {
        self.contains(word)
    }
}

impl<S: BuildHasher> Dictionary for HashSet<Vec<u8>, S> {
    fn has(&self, word: &[u8]) -> bool {
        self.contains(word)
    }
}

/// Where the words of a dictionary come from.
pub enum Source {
    /// Words, one a line.
    List(Vec<u8>),
    /// Stems with flags, and what the flags make of them.
    Hunspell(Box<hunspell::Expansion>),
}

impl Source {
    /// Calls `f` with every word.
    pub fn each(&self, mut f: impl FnMut(&[u8])) {
        match self {
            Source::List(text) => listed(text, f),
            Source::Hunspell(expansion) => expansion.each(|word| f(word.as_bytes())),
        }
    }
}

/// The words of a list. What editors write into personal ones beside the words is left out.
fn listed(text: &[u8], mut f: impl FnMut(&[u8])) {
    for line in text.split(|byte| *byte == b'\n') {
        let word = line.split(|byte| *byte == b'/').next().unwrap_or_default().trim_ascii();
        if word.is_empty() || word.starts_with(b"personal_ws-") || word.starts_with(b"*") {
            continue;
        }
        match std::str::from_utf8(word) {
            Ok(word) if !word.is_ascii() => f(plain(word).as_bytes()),
            _ => f(word),
        }
    }
}

/// The word with plain apostrophes, and without marks that only allow a line to break.
fn plain(word: &str) -> String {
    word.chars()
        .filter(|c| *c != '\u{ad}')
        .map(|c| if c == '\u{2019}' { '\'' } else { c })
        .collect()
}

/// Finds the words that a dictionary does not have.
///
/// ```
/// use everbloom_tools::spell::{Source, Speller};
///
/// let words = Source::List(b"the\ncat\nwell\nknown\nParis\n".to_vec());
/// let speller = Speller::new(&[words], 1e-6)?;
/// let mut unknown = Vec::new();
/// speller.line(b"The well-known cta of PARIS", |found| unknown.push((found.column, found.word)));
/// assert_eq!(unknown, [(16, &b"cta"[..]), (20, b"of")]);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Speller<D = Bloom> {
    words: D,
}

/// A word that is not in the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown<'t> {
    /// Where it starts in its line, in characters from 1.
    pub column: u64,
    /// The word, as it stands there.
    pub word: &'t [u8],
}

impl Speller<Bloom> {
    /// A speller of all the words, which misses a share `fpr` of misspellings in lower case.
    pub fn new(sources: &[Source], fpr: f64) -> Result<Self> {
        let mut count = 0;
        sources.iter().for_each(|source| source.each(|_| count += 1));
        let mut words = Bloom::with_rate(count.max(1), fpr)?;
        sources.iter().for_each(|source| {
            source.each(|word| {
                words.insert(word);
            });
        });
        Ok(Self { words })
    }
}

// What a byte is inside of words.
const LETTER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const JOINER: u8 = 8;
/// Not ASCII, a letter or a mark on one.
const WIDE: u8 = 16;
/// To be written differently before it is looked up.
const ODD: u8 = 32;

const CLASS: [u8; 128] = {
    let mut class = [0; 128];
    let mut byte = 0;
    while byte < 128u8 {
        class[byte as usize] = match byte {
            b'a'..=b'z' => LETTER,
            b'A'..=b'Z' => LETTER | UPPER,
            b'0'..=b'9' => DIGIT,
            b'\'' | b'-' => JOINER,
            _ => 0,
        };
        byte += 1;
    }
    class
};

/// What stands at this place, and how many bytes it has; 0 if it is no part of a word.
#[inline]
fn unit(text: &[u8], at: usize) -> (u8, usize) {
    match text.get(at) {
        Some(&byte) if byte < 128 => (CLASS[byte as usize], 1),
        Some(_) => wide(&text[at..]),
        None => (0, 1),
    }
}

#[cold]
fn wide(text: &[u8]) -> (u8, usize) {
    let first = &text[..text.len().min(4)];
    let valid = match std::str::from_utf8(first) {
        Ok(text) => text,
        Err(e) => std::str::from_utf8(&first[..e.valid_up_to()]).unwrap_or_default(),
    };
    let Some(c) = valid.chars().next() else { return (0, 1) };
    let class = match c {
        '\u{2019}' => JOINER | ODD,
        '\u{ad}' => WIDE | ODD,
        c if c.is_numeric() => DIGIT,
        c if c.is_uppercase() => LETTER | UPPER | WIDE,
        // A combining mark follows its letter.
        c if c.is_alphabetic() || ('\u{300}'..='\u{36f}').contains(&c) => LETTER | WIDE,
        _ => 0,
    };
    (class, c.len_utf8())
}

/// Words that are changed without allocating have so many bytes at the most.
const SHORT: usize = 64;

impl<D: Dictionary> Speller<D> {
    /// A speller by a dictionary that is there already, such as a filter from a file.
    pub fn with(words: D) -> Self {
        Self { words }
    }

    /// The dictionary.
    pub fn words(&self) -> &D {
        &self.words
    }

    /// Calls `unknown` with the words of a line that the dictionary does not have, from left to right. Returns how
    /// many words were looked up.
    pub fn line<'t>(&self, line: &'t [u8], mut unknown: impl FnMut(Unknown<'t>)) -> u64 {
        let (mut at, mut count) = (0, 0);
        while at < line.len() {
            let (class, length) = unit(line, at);
            if class & (LETTER | DIGIT) == 0 {
                at += length;
                continue;
            }
            let (end, seen) = word_from(line, at);
            let word = &line[at..end];
            if seen & DIGIT == 0 {
                count += 1;
                if !self.known(word, seen) && !in_address(line, at, end) {
                    let column = 1 + characters(&line[..at]);
                    unknown(Unknown { column, word });
                }
            }
            at = end;
        }
        count
    }

    fn known(&self, word: &[u8], seen: u8) -> bool {
        (seen & ODD == 0 && self.words.has(word)) || self.known_otherwise(word, seen)
    }

    /// Whether another form of the word is in the dictionary.
    fn known_otherwise(&self, word: &[u8], seen: u8) -> bool {
        if seen & (UPPER | JOINER | ODD) == 0 {
            return false;
        }
        if seen & ODD != 0 {
            let text = plain(&String::from_utf8_lossy(word));
            let (_, seen) = word_from(text.as_bytes(), 0);
            return self.known(text.as_bytes(), seen & !ODD);
        }
        (seen & UPPER != 0 && self.known_in_lower_case(word, seen))
            || (word.contains(&b'-') && self.parts_known(word))
    }

    /// Whether all parts of a hyphenated word are known.
    fn parts_known(&self, word: &[u8]) -> bool {
        let mut parts = word.split(|byte| *byte == b'-');
        parts.all(|part| self.known(part, word_from(part, 0).1))
    }

    /// Any word may be capitalized, or in capitals; a name in capitals, too.
    fn known_in_lower_case(&self, word: &[u8], seen: u8) -> bool {
        if seen & WIDE == 0 && word.len() <= SHORT {
            let mut buffer = [0; SHORT];
            let lower = &mut buffer[..word.len()];
            lower.copy_from_slice(word);
            lower.make_ascii_lowercase();
            let capitals = word[1..].iter().filter(|b| b.is_ascii_uppercase()).count();
            let letters = word[1..].iter().filter(|b| b.is_ascii_alphabetic()).count();
            if word[0].is_ascii_lowercase() || (capitals > 0 && capitals < letters) {
                return false;
            }
            if self.words.has(lower) {
                return true;
            }
            lower[0] = word[0];
            return capitals > 0 && self.words.has(lower);
        }
        let Ok(text) = std::str::from_utf8(word) else { return false };
        let mut rest = text.chars();
        let Some(first) = rest.next() else { return false };
        let rest = rest.as_str();
        let all = rest.chars().all(|c| !c.is_lowercase());
        let none = rest.chars().all(|c| !c.is_uppercase());
        if !first.is_uppercase() || !(all || none) {
            return false;
        }
        let name = format!("{first}{}", rest.to_lowercase());
        self.words.has(text.to_lowercase().as_bytes()) || (!none && self.words.has(name.as_bytes()))
    }
}

/// Where the word that starts at `start` ends, and what it is made of. A joiner is inside of words only.
#[inline]
fn word_from(line: &[u8], start: usize) -> (usize, u8) {
    let (mut at, mut seen) = (start, 0);
    loop {
        let (class, length) = unit(line, at);
        if class == 0 || (class & JOINER != 0 && unit(line, at + length).0 & (LETTER | DIGIT) == 0)
        {
            return (at, seen);
        }
        seen |= class;
        at += length;
    }
}

fn characters(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64
}

/// Whether the word at this place is part of the address of a page, or of mail.
#[cold]
fn in_address(line: &[u8], start: usize, end: usize) -> bool {
    let space = |byte: &u8| byte.is_ascii_whitespace();
    let from = line[..start].iter().rposition(space).map_or(0, |at| at + 1);
    let to = line[end..].iter().position(space).map_or(line.len(), |at| end + at);
    let chunk = &line[from..to];
    chunk.windows(3).any(|w| w == b"://")
        || chunk.starts_with(b"www.")
        || chunk[1..].contains(&b'@')
}

#[cfg(test)]
mod tests {
    use everbloom::internals::theory;

    use super::*;

    fn unknown(words: &str, line: &str) -> Vec<(u64, String)> {
        let speller = Speller::new(&[Source::List(words.as_bytes().to_vec())], 1e-9).unwrap();
        let mut found = Vec::new();
        speller.line(line.as_bytes(), |u| {
            found.push((u.column, String::from_utf8_lossy(u.word).into_owned()));
        });
        found
    }

    #[test]
    fn a1_size_of_a_dictionary() {
        assert!((theory::bloom::bits(250_000.0, 0.001) / 8.0 / 1024.0 - 438.8).abs() < 0.05);
    }

    #[test]
    fn forms_of_words() {
        let words = "well\nknown\nParis\nco-op\ndon't\nétude\nNASA\niPhone\n";
        for fine in [
            "well Well WELL",
            "Paris PARIS",
            "well-known Well-Known WELL-KNOWN",
            "co-op CO-OP",
            "don't Don't DON'T don\u{2019}t",
            "étude Étude ÉTUDE",
            "NASA iPhone",
            "4th x86 well--known",
            "'well' -well-",
            "https://x.example/y?z=wrnog",
            "me@wrnog.example",
            "w\u{ad}ell",
        ] {
            assert_eq!(unknown(words, fine), [], "{fine}");
        }
        for (bad, word, column) in [
            ("paris", "paris", 1),
            ("nasa", "nasa", 1),
            ("well wEll", "wEll", 6),
            ("é étudé", "é", 1),
            ("well-knwon", "well-knwon", 1),
            ("«knwon»", "knwon", 2),
            ("don't dont", "dont", 7),
            ("Iphone", "Iphone", 1),
            ("IPhone", "IPhone", 1),
        ] {
            let found = unknown(words, bad);
            assert_eq!(found.first(), Some(&(column, word.to_owned())), "{bad}: {found:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_it() {
        let speller = Speller::new(&[Source::List(b"a\nb".to_vec())], 1e-9).unwrap();
        assert_eq!(speller.line(b"a\xff b\xc3", |_| panic!("both are known")), 2);
        assert_eq!(speller.line(&[0xff; 300], |_| panic!("no word")), 0);
        let long = "Z".repeat(1000);
        let mut found = 0;
        speller.line(long.as_bytes(), |_| found += 1);
        assert_eq!(found, 1);
    }
}
