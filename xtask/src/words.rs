//! Plain English: words and phrases that a new reader stumbles over, and what to write instead.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What not to write (in lower case, whole words), and what to write.
const WORDS: &[(&str, &str)] = &[
    ("stranger", "non-member, absent key"),
    ("strangers", "non-members, absent keys"),
    ("ask for ahead", "prefetch"),
    ("asked for ahead", "prefetched"),
    ("asking ahead", "prefetching"),
    ("asks ahead", "prefetches"),
    ("fetch ahead", "prefetch"),
    ("fetched ahead", "prefetched"),
    ("fetching ahead", "prefetching"),
    ("first cache", "L1 cache"),
    ("second cache", "L2 cache"),
    ("third cache", "L3 cache"),
    ("first two caches", "L1 and L2 caches"),
    ("keys only come", "keys are only added; insert-only set"),
    ("never denies a member", "no false negatives"),
    ("misses no member", "no false negatives"),
    ("talk to stderr", "messages go to stderr"),
    ("talk on stderr", "messages go to stderr"),
    ("describes and promises", "field names are documented and stable"),
    ("contest", "benchmark"),
    ("contests", "benchmarks"),
    ("contestant", "rival"),
    ("contestants", "rivals"),
    ("a call away", "slow path; cold path in its own function"),
    ("nobody reads along", "a confidential channel"),
    ("zeros may tell of", "the estimate may be too high"),
    ("of a key anyhow", "slow path for the other probe schemes"),
];

/// Looks through every tracked page and source for words that are not to be written.
pub fn run(root: &Path) -> Result<(), String> {
    let listed = Command::new("git")
        .args(["ls-files", "*.rs", "*.md", "*.toml", "*.py", ".ci/run"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("git ls-files: {e}"))?;
    let mut found = Vec::new();
    for file in String::from_utf8_lossy(&listed.stdout).lines() {
        // This list itself has to name them.
        if file == "xtask/src/words.rs" {
            continue;
        }
        let Ok(text) = fs::read_to_string(root.join(file)) else { continue };
        found.extend(lines(&text).into_iter().map(|(line, what)| format!("{file}:{line}: {what}")));
    }
    if found.is_empty() {
        println!("no word of the list in any page or source");
        return Ok(());
    }
    Err(format!(
        "{} lines with words that a new reader stumbles over:\n{}",
        found.len(),
        found.join("\n")
    ))
}

/// The lines that have such a word, and what to write there.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.to_lowercase();
        for (word, instead) in WORDS.iter().filter(|(word, _)| has_word(&line, word)) {
            out.push((number, format!("{word:?}; write: {instead}")));
        }
    }
    out
}

fn has_word(line: &str, word: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric());
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !letter(before.chars().next_back()) && !letter(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole_and_in_any_case() {
        assert_eq!(lines("ok\nA Stranger passes.\n").len(), 1);
        assert_eq!(lines("asked for ahead, in the second cache").len(), 2);
        assert!(lines("estranged, contested, a quotient filter").is_empty());
    }
}
