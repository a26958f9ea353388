//! Hyphenation by patterns (Liang 1983), with exceptions behind a filter.
//!
//! ```text
//!   word ──▶ filter of the exceptions   no: by the patterns
//!                                       maybe: look into the table, which is on disk
//! ```
//!
//! The result is always that of a hyphenator which looks into the table for every word: a false positive costs
//! a look-up. With exceptions among a tenth of the words, nine look-ups of ten are saved.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use everbloom::{Bloom, Error, Kind, Result};

/// A byte order mark, which is no part of a word.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Where the letters of words may part: the odd digits of TeX's patterns.
///
/// ```
/// use everbloom_tools::spell::hyphenate::Patterns;
///
/// let patterns = Patterns::parse("hy3ph he2n hena4 hen5at 1na n2at 1tio 2io")?;
/// assert_eq!(patterns.points("hyphenation"), [2, 6]); // hy-phen-ation
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Patterns {
    nodes: Vec<Node>,
    /// Letters that stay together at the start and at the end.
    left: usize,
    right: usize,
    /// Words that the file itself lists with their hyphens.
    listed: Vec<String>,
}

#[derive(Default)]
struct Node {
    next: Vec<(char, u32)>,
    values: Vec<u8>,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(Kind::BadRecord, message)
}

/// What stands in braces behind a command of TeX.
fn group<'a>(text: &'a str, command: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(command)?;
    rest.trim_start().strip_prefix('{')?.split('}').next()
}

impl Patterns {
    /// Reads a file of patterns: TeX's `\patterns{…}` and `\hyphenation{…}`, a `hyph_*.dic` file, or bare patterns.
    pub fn parse(text: &str) -> Result<Self> {
        let bare: Vec<&str> =
            text.lines().map(|line| line.split('%').next().unwrap_or_default()).collect();
        let mut patterns =
            Self { nodes: vec![Node::default()], left: 2, right: 3, listed: Vec::new() };
        let joined = bare.join("\n");
        if let Some(inside) = group(&joined, "\\patterns") {
            inside.split_whitespace().try_for_each(|pattern| patterns.insert(pattern))?;
            let listed = group(&joined, "\\hyphenation").unwrap_or_default();
            patterns.listed = listed.split_whitespace().map(str::to_owned).collect();
            return Ok(patterns);
        }
        for (i, line) in bare.iter().enumerate() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["LEFTHYPHENMIN", n] => {
                    patterns.left = n.parse().map_err(|_| bad(format!("{n:?} letters")))?
                }
                ["RIGHTHYPHENMIN", n] => {
                    patterns.right = n.parse().map_err(|_| bad(format!("{n:?} letters")))?
                }
                ["NEXTLEVEL"] => break,
                [encoding] if i == 0 && encoding.eq_ignore_ascii_case("UTF-8") => {}
                // Other settings, and patterns that change letters.
                [first, ..]
                    if first.contains('/') || first.chars().all(|c| c.is_ascii_uppercase()) => {}
                ref words => words.iter().try_for_each(|pattern| patterns.insert(pattern))?,
            }
        }
        if patterns.nodes.len() == 1 {
            return Err(bad(
                "no pattern in it: give a file of TeX's hyph-utf8, or a hyph_*.dic file",
            ));
        }
        Ok(patterns)
    }

    fn insert(&mut self, pattern: &str) -> Result<()> {
        let (mut at, mut values) = (0, vec![0]);
        for c in pattern.chars() {
            if let Some(digit) = c.to_digit(10) {
                if let Some(last) = values.last_mut() {
                    *last = digit as u8;
                }
                continue;
            }
            if !c.is_alphabetic() && !matches!(c, '.' | '\'' | '-' | '\u{2019}') {
                return Err(bad(format!("{pattern:?} is no pattern")));
            }
            values.push(0);
            at = match self.child(at, c) {
                Some(next) => next,
                None => {
                    let next = self.nodes.len();
                    self.nodes.push(Node::default());
                    self.nodes[at].next.push((c, next as u32));
                    next
                }
            };
        }
        self.nodes[at].values = values;
        Ok(())
    }

    fn child(&self, node: usize, c: char) -> Option<usize> {
        self.nodes[node]
            .next
            .iter()
            .find(|(letter, _)| *letter == c)
            .map(|(_, next)| *next as usize)
    }

    /// The places in a word, in bytes, at which a hyphen may stand.
    pub fn points(&self, word: &str) -> Vec<usize> {
        let mut letters = vec!['.'];
        letters.extend(word.chars().map(|c| c.to_lowercase().next().unwrap_or(c)));
        letters.push('.');
        let mut values = vec![0u8; letters.len() + 1];
        for start in 0..letters.len() {
            let mut node = 0;
            for c in &letters[start..] {
                let Some(next) = self.child(node, *c) else { break };
                node = next;
                for (value, found) in values[start..].iter_mut().zip(&self.nodes[node].values) {
                    *value = (*value).max(*found);
                }
            }
        }
        let count = letters.len() - 2;
        let places = word.char_indices().map(|(at, _)| at).enumerate();
        let inside = places.filter(|(i, _)| *i >= self.left.max(1) && i + self.right <= count);
        inside.filter(|(i, _)| values[i + 1] % 2 == 1).map(|(_, at)| at).collect()
    }

    /// The words that the file lists with their hyphens.
    pub fn listed(&self) -> &[String] {
        &self.listed
    }
}

/// A hyphenated word as the word in lower case and the places of its hyphens.
fn parted(written: &str) -> (String, Vec<usize>) {
    let (mut word, mut points) = (String::new(), Vec::new());
    for c in written.trim().chars() {
        match c {
            '-' => points.push(word.len()),
            c => word.extend(c.to_lowercase()),
        }
    }
    (word, points)
}

/// Where exceptions are looked up, exactly.
pub trait Table {
    /// The places of the hyphens in a word, in lower case; none if it is no exception.
    fn find(&self, word: &str) -> Result<Option<Vec<usize>>>;
}

impl Table for HashMap<String, Vec<usize>> {
    fn find(&self, word: &str) -> Result<Option<Vec<usize>>> {
        Ok(self.get(word).cloned())
    }
}

/// Exceptions in a file, one a line, in any order: it stays on disk, and eight bytes for each in memory.
pub struct FileTable {
    file: Mutex<BufReader<File>>,
    /// Where the lines start, in the order of their words.
    starts: Vec<u64>,
}

impl FileTable {
    /// The table of a file, and its words.
    pub fn open(path: &Path) -> Result<(Self, Vec<String>)> {
        let fail = |e: std::io::Error| Error::from(e).context(path.display());
        let mut file = BufReader::new(File::open(path).map_err(fail)?);
        let (mut words, mut start, mut line) = (Vec::new(), 0, String::new());
        if file.fill_buf().map_err(fail)?.starts_with(MARK) {
            file.consume(MARK.len());
            start = MARK.len() as u64;
        }
        loop {
            line.clear();
            let length = file.read_line(&mut line).map_err(fail)?;
            if length == 0 {
                break;
            }
            if !line.trim().is_empty() {
                words.push((parted(&line).0, start));
            }
            start += length as u64;
        }
        // Of a word that comes twice the first counts.
        words.sort();
        words.dedup_by(|a, b| a.0 == b.0);
        let starts = words.iter().map(|(_, start)| *start).collect();
        let words = words.into_iter().map(|(word, _)| word).collect();
        Ok((Self { file: Mutex::new(file), starts }, words))
    }

    fn line(&self, start: u64) -> std::io::Result<(String, Vec<usize>)> {
        let mut file = self.file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        file.seek(SeekFrom::Start(start))?;
        let mut line = String::new();
        file.read_line(&mut line)?;
        Ok(parted(&line))
    }
}

impl Table for FileTable {
    fn find(&self, word: &str) -> Result<Option<Vec<usize>>> {
        let (mut low, mut high) = (0, self.starts.len());
        while low < high {
            let middle = low.midpoint(high);
            let (found, points) = self.line(self.starts[middle])?;
            match found.as_str().cmp(word) {
                std::cmp::Ordering::Equal => return Ok(Some(points)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }
}

/// Patterns, and a table of exceptions that is looked into when a filter says so.
///
/// ```
/// use everbloom_tools::spell::hyphenate::{Hyphenator, Patterns};
///
/// let patterns = Patterns::parse("1ta 1na")?;
/// let hyphenator = Hyphenator::in_memory(patterns, ["pre-sent-ation"], 0.01)?;
/// assert_eq!(hyphenator.hyphenated("nation Presentation", '-')?, "nation Pre-sent-ation");
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Hyphenator<T> {
    patterns: Patterns,
    exceptions: Bloom,
    table: T,
    looked_up: AtomicU64,
}

impl Hyphenator<HashMap<String, Vec<usize>>> {
    /// With exceptions given by their hyphenated form.
    pub fn in_memory<'a>(
        patterns: Patterns,
        exceptions: impl IntoIterator<Item = &'a str>,
        fpr: f64,
    ) -> Result<Self> {
        let table: HashMap<_, _> = exceptions.into_iter().map(parted).collect();
        let words: Vec<String> = table.keys().cloned().collect();
        Self::new(patterns, &words, table, fpr)
    }
}

impl<T: Table> Hyphenator<T> {
    /// With a table, and the words in it.
    pub fn new(patterns: Patterns, words: &[String], table: T, fpr: f64) -> Result<Self> {
        let mut exceptions = Bloom::with_rate(words.len().max(1) as u64, fpr)?;
        words.iter().for_each(|word| {
            exceptions.insert(word.as_str());
        });
        Ok(Self { patterns, exceptions, table, looked_up: AtomicU64::new(0) })
    }

    /// The places in a word, in bytes, at which a hyphen may stand.
    pub fn points(&self, word: &str) -> Result<Vec<usize>> {
        let lower = word.to_lowercase();
        if lower.len() == word.len() && self.exceptions.contains(lower.as_str()) {
            self.looked_up.fetch_add(1, Ordering::Relaxed);
            if let Some(points) = self.table.find(&lower)? {
                return Ok(points);
            }
        }
        Ok(self.patterns.points(word))
    }

    /// How often the table was looked into.
    pub fn looked_up(&self) -> u64 {
        self.looked_up.load(Ordering::Relaxed)
    }

    /// The filter of the exceptions.
    pub fn exceptions(&self) -> &Bloom {
        &self.exceptions
    }

    /// A line with a mark wherever a word may be parted.
    pub fn hyphenated(&self, line: &str, mark: char) -> Result<String> {
        let (mut out, mut rest) = (String::new(), line);
        while !rest.is_empty() {
            let start = rest.find(char::is_alphabetic).unwrap_or(rest.len());
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let mut from = 0;
            for at in self.points(word)? {
                if word.is_char_boundary(at) {
                    out.push_str(&word[from..at]);
                    out.push(mark);
                    from = at;
                }
            }
            out.push_str(&word[from..]);
            rest = after;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const LIANG: &str = "hy3ph he2n hena4 hen5at 1na n2at 1tio 2io";

    #[test]
    fn files_of_patterns() {
        let tex = format!(
            "% of a thesis\n\\patterns{{ {LIANG}\n.un1d }}\n\\hyphenation{{ as-so-ciate }}\n"
        );
        let patterns = Patterns::parse(&tex).unwrap();
        assert_eq!(patterns.points("Hyphenation"), [2, 6]);
        assert_eq!(patterns.listed(), ["as-so-ciate"]);
        assert_eq!((patterns.points("undone"), patterns.points("foundone")), (vec![2], vec![]));
        let dic =
            format!("UTF-8\nLEFTHYPHENMIN 3\nRIGHTHYPHENMIN 2\n{}\n", LIANG.replace(' ', "\n"));
        assert_eq!(Patterns::parse(&dic).unwrap().points("hyphenation"), [6]);
        assert!(Patterns::parse("").is_err() && Patterns::parse("a+b").is_err());
    }

    #[test]
    fn exceptions_stay_in_their_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "ta-ble\nproj-ect\n\nas-so-ciate\nhyphen-ation\nfür-ben").unwrap();
        let (table, words) = FileTable::open(file.path()).unwrap();
        assert_eq!(words, ["associate", "fürben", "hyphenation", "project", "table"]);
        let hyphenator =
            Hyphenator::new(Patterns::parse(LIANG).unwrap(), &words, table, 1e-6).unwrap();
        let line =
            hyphenator.hyphenated("Table, hyphenation: FÜRBEN phenation x", '\u{b7}').unwrap();
        assert_eq!(line, "Ta·ble, hyphen·ation: FÜR·BEN phen·ation x");
        assert_eq!(hyphenator.looked_up(), 3);
    }
}
