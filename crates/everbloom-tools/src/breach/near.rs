//! Within one edit of a word: by tags put beside it, or by trying all neighbors of a candidate.

use std::collections::HashSet;

use everbloom::{Bloom, Result};
use zeroize::Zeroizing;

/// The characters of a word; the bytes of one that is not UTF-8.
pub(super) fn letters(word: &[u8]) -> Vec<&[u8]> {
    match std::str::from_utf8(word) {
        Ok(text) => {
            let ends = text.char_indices().map(|(at, c)| &word[at..at + c.len_utf8()]);
            ends.collect()
        }
        Err(_) => word.chunks(1).collect(),
    }
}

/// The letters with `put` in place of those from `at` to `end`, behind a prefix. Forgotten after its use.
fn changed(
    prefix: &[u8],
    letters: &[&[u8]],
    [at, end]: [usize; 2],
    put: &[u8],
) -> Zeroizing<Vec<u8>> {
    // As long as it may become: a vector that grows would leave copies behind.
    let length = prefix.len() + letters.iter().map(|l| l.len()).sum::<usize>() + put.len();
    let mut out = Zeroizing::new(Vec::with_capacity(length));
    out.extend_from_slice(prefix);
    letters[..at].iter().for_each(|letter| out.extend_from_slice(letter));
    out.extend_from_slice(put);
    letters[end..].iter().for_each(|letter| out.extend_from_slice(letter));
    out
}

/// A word as it is.
const WORD: &[u8] = b"W";
/// A word without one of its letters.
const DELETED: &[u8] = b"D";

/// A word without its i-th letter: two words with the same one differ in that letter at the most.
fn substituted(i: usize) -> [u8; 5] {
    let [a, b, c, d] = (i as u32).to_le_bytes();
    [b'S', a, b, c, d]
}

/// Calls `insert` with the keys that stand for a word of L letters: 2·L + 1.
pub fn keys_of_word(word: &[u8], mut insert: impl FnMut(&[u8])) {
    let letters = letters(word);
    insert(&changed(WORD, &letters, [0, 0], b""));
    for i in 0..letters.len() {
        insert(&changed(DELETED, &letters, [i, i + 1], b""));
        insert(&changed(&substituted(i), &letters, [i, i + 1], b""));
    }
}

/// Whether `has` holds for any of the keys that a candidate of L letters shares with a word within one edit:
/// 2·L + 2 of them.
pub fn near_by_tags(candidate: &[u8], mut has: impl FnMut(&[u8]) -> bool) -> bool {
    let letters = letters(candidate);
    // The word itself; a word with one letter more; with one less; with another.
    has(&changed(WORD, &letters, [0, 0], b""))
        || has(&changed(DELETED, &letters, [0, 0], b""))
        || (0..letters.len()).any(|i| has(&changed(WORD, &letters, [i, i + 1], b"")))
        || (0..letters.len()).any(|i| has(&changed(&substituted(i), &letters, [i, i + 1], b"")))
}

/// What a letter may be replaced by, or may be inserted: the characters of ASCII that are printed.
const PRINTED: std::ops::RangeInclusive<u8> = b' '..=b'~';

/// Whether `has` holds for a candidate, or any of its neighbors within one edit; each is tried once.
pub fn near_by_neighbors(candidate: &[u8], mut has: impl FnMut(&[u8]) -> bool) -> bool {
    let letters = letters(candidate);
    if has(candidate) {
        return true;
    }
    for i in 0..=letters.len() {
        let (here, before) = (letters.get(i), i.checked_sub(1).map(|i| letters[i]));
        // Of equal letters in a row one is deleted, and one is inserted before them.
        if here.is_some_and(|here| Some(*here) != before)
            && has(&changed(b"", &letters, [i, i + 1], b""))
        {
            return true;
        }
        for letter in PRINTED.map(|byte| [byte]).filter(|letter| here != Some(&&letter[..])) {
            if has(&changed(b"", &letters, [i, i], &letter))
                || (here.is_some() && has(&changed(b"", &letters, [i, i + 1], &letter)))
            {
                return true;
            }
        }
    }
    false
}

/// How many passwords are tried for one of so many printed characters of which no two in a row are equal.
pub fn neighbors(length: u64) -> u64 {
    let printed = PRINTED.count() as u64;
    // Itself, deletions, substitutions, insertions without those that repeat a letter.
    1 + length + length * (printed - 1) + (length + 1) * printed - length
}

/// The rate of one look-up, so that `looks` of them err at `rate` together.
pub fn rate_of_one(rate: f64, looks: u64) -> f64 {
    -libm::expm1(libm::log1p(-rate) / looks as f64)
}

/// The rate of so many look-ups together, of which each errs at `one`.
pub fn rate_of_all(one: f64, looks: u64) -> f64 {
    -libm::expm1(libm::log1p(-one) * looks as f64)
}

/// A dictionary that refuses passwords within one edit (insert, delete, substitute) of a word.
///
/// ```
/// use everbloom_tools::breach::Near;
///
/// let weak = Near::new(["password", "letmein"], 1e-6)?;
/// assert!(weak.refuses("password") && weak.refuses("passw0rd") && weak.refuses("letmein1"));
/// assert!(!weak.refuses("p4ssw0rd"));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Near {
    keys: Bloom,
}

impl Near {
    /// A dictionary of words. `fpr` is the rate of one look-up; see [`rate_of_one`].
    pub fn new<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>, fpr: f64) -> Result<Self> {
        let words: Vec<W> = words.into_iter().collect();
        let mut distinct: HashSet<Vec<u8>> = HashSet::new();
        for word in &words {
            keys_of_word(word.as_ref(), |key| {
                distinct.insert(key.to_vec());
            });
        }
        let mut keys = Bloom::with_rate(distinct.len().max(1) as u64, fpr)?;
        distinct.iter().for_each(|key| {
            keys.insert(&key[..]);
        });
        Ok(Self { keys })
    }

    /// Whether the candidate is a word or within one edit of one; others are refused at the filter's rate.
    pub fn refuses(&self, candidate: impl AsRef<[u8]>) -> bool {
        near_by_tags(candidate.as_ref(), |key| self.keys.contains(key))
    }

    /// The filter of the words' keys.
    pub fn keys(&self) -> &Bloom {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All strings of up to five of the letters a to e.
    fn all() -> Vec<String> {
        let (mut all, mut last) = (Vec::new(), vec![String::new()]);
        for _ in 0..5 {
            last =
                last.iter().flat_map(|s| "abcde".chars().map(move |c| format!("{s}{c}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    /// Edit distance at most one, by its definition.
    fn close(a: &str, b: &str) -> bool {
        let (a, b) = if a.len() < b.len() { (a, b) } else { (b, a) };
        let (a, b) = (a.as_bytes(), b.as_bytes());
        if a.len() == b.len() {
            return a.iter().zip(b).filter(|(a, b)| a != b).count() <= 1;
        }
        b.len() == a.len() + 1 && (0..b.len()).any(|i| a[..i] == b[..i] && a[i..] == b[i + 1..])
    }

    #[test]
    fn a2_tags_are_exactly_one_edit() {
        let all = all();
        assert_eq!(all.len(), 3905);
        let words = ["abc", "a", "eeee", "abcde", "bad", "ba", "decade"];
        let mut keys = HashSet::new();
        for word in words {
            keys_of_word(word.as_bytes(), |key| {
                keys.insert(key.to_vec());
            });
        }
        for candidate in &all {
            let expected = words.iter().any(|word| close(word, candidate));
            let tagged = near_by_tags(candidate.as_bytes(), |key| keys.contains(key));
            let tried = near_by_neighbors(candidate.as_bytes(), |n| {
                words.iter().any(|w| w.as_bytes() == n)
            });
            assert_eq!((tagged, tried), (expected, expected), "{candidate}");
        }
    }

    #[test]
    fn a2_keys_probes_and_neighbors_of_eight_letters() {
        let (mut inserted, mut probed, mut tried) = (0, 0, HashSet::new());
        keys_of_word(b"abcdefgh", |_| inserted += 1);
        near_by_tags(b"abcdefgh", |_| {
            probed += 1;
            false
        });
        assert_eq!((inserted, probed), (17, 18));
        let mut all = 0;
        near_by_neighbors(b"abcdefgh", |n| {
            all += 1;
            tried.insert(n.to_vec());
            false
        });
        assert_eq!((all, tried.len() as u64, neighbors(8)), (1608, 1608, 1608), "each once");
        let mut doubled = Vec::new();
        near_by_neighbors(b"aabb", |n| {
            doubled.push(n.to_vec());
            false
        });
        let distinct: HashSet<&Vec<u8>> = doubled.iter().collect();
        assert_eq!(distinct.len(), doubled.len());
    }

    #[test]
    fn a2_rates_of_a_candidate() {
        assert!((rate_of_all(0.01, 18) - 0.1655).abs() < 5e-5);
        assert!((rate_of_all(0.0005, 18) - 0.00896).abs() < 5e-6);
        assert!((rate_of_all(rate_of_one(0.01, 1608), 1608) - 0.01).abs() < 1e-12);
    }

    #[test]
    fn characters_are_edited_whole_and_other_bytes_alone() {
        let near = Near::new([&b"m\xc3\xbcller"[..], b"\xff\xfe\xfd"], 1e-9).unwrap();
        assert!(near.refuses("muller") && near.refuses("mller") && near.refuses(b"\xff\xfd"));
        assert!(near.refuses("müllers") && !near.refuses("mllr") && !near.refuses(b"\xff"));
    }
}
