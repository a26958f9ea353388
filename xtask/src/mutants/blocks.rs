//! Reads faults from the text files of `xtask/mutants`: a block each, with an empty line between two of them.
//!
//! ```text
//! name: ring: k + 1
//! file: crates/everbloom/src/probe/ring.rs
//! tests: --lib scattered
//! - (0..self.k)
//! + (0..self.k + 1)
//! ```
//!
//! Lines with `-` are the text that stands in the file once, which may be part of a line; those with `+` replace it.
//! A line that begins with `#` is a comment.

use std::fs;
use std::path::{Path, PathBuf};

/// A fault as its block states it.
#[derive(Debug, PartialEq)]
pub struct Block {
    pub name: String,
    /// From the root of the repository.
    pub file: String,
    /// The values of the further keys, in the order in which the reader was given them.
    pub more: Vec<String>,
    pub from: String,
    pub to: String,
}

/// Every block in the text files of a folder, in the order of the files' names. Besides `name` and `file` a block has
/// exactly the keys `more`.
pub fn read(folder: &Path, more: &[&str]) -> Result<Vec<Block>, String> {
    let place = |e| format!("{}: {e}", folder.display());
    let entries = fs::read_dir(folder).map_err(place)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(place)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    let mut blocks = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let parsed = parse(&text, more);
        blocks.extend(parsed.map_err(|(line, e)| format!("{}:{line}: {e}", path.display()))?);
    }
    Ok(blocks)
}

/// The number of a line, and what is wrong with it.
type Wrong = (usize, String);

/// A line and its number.
type Line<'a> = (usize, &'a str);

fn parse(text: &str, more: &[&str]) -> Result<Vec<Block>, Wrong> {
    let lines: Vec<Line> =
        (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#')).collect();
    let blocks = lines.split(|(_, line)| line.is_empty()).filter(|lines| !lines.is_empty());
    blocks.map(|lines| block(lines, more)).collect()
}

fn block(lines: &[Line], more: &[&str]) -> Result<Block, Wrong> {
    let keys = [&["name", "file"], more].concat();
    let mut values = vec![None; keys.len()];
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for &(number, line) in lines {
        let wrong = |what: &str| (number, format!("{what}: {line}"));
        if let Some(text) = behind('-', line) {
            if !to.is_empty() {
                return Err(wrong("a `-` line behind a `+` line"));
            }
            from.push(text);
        } else if let Some(text) = behind('+', line) {
            to.push(text);
        } else {
            let (key, value) = line
                .split_once(": ")
                .ok_or_else(|| wrong("neither `key: value` nor `-` nor `+`"))?;
            let at = keys.iter().position(|known| *known == key);
            let at = at.ok_or_else(|| wrong(&format!("not a key ({})", keys.join(", "))))?;
            if values[at].replace(value.trim().to_owned()).is_some() {
                return Err(wrong("a key stands twice in the block"));
            }
        }
    }
    let incomplete = |what: &str| (lines[0].0, format!("the block has no `{what}` line"));
    let stated =
        values.into_iter().zip(&keys).map(|(value, key)| value.ok_or_else(|| incomplete(key)));
    let mut stated = stated.collect::<Result<Vec<_>, _>>()?;
    if from.is_empty() {
        return Err(incomplete("-"));
    }
    let more = stated.split_off(2);
    let [name, file] = <[String; 2]>::try_from(stated).expect("two keys and the further ones");
    Ok(Block { name, file, more, from: from.join("\n"), to: to.join("\n") })
}

/// The text of a line behind its sign and a space; the space may be missing where there is no text.
fn behind(sign: char, line: &str) -> Option<&str> {
    let rest = line.strip_prefix(sign)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix(' ') }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "# Comment.\nname: ring: k\nfile: a/b.rs\ntests: --lib x\n- one(\n-\n-     two)\n+ three\n";

    #[test]
    fn a_block_is_read_as_it_stands() {
        let block = Block {
            name: "ring: k".to_owned(),
            file: "a/b.rs".to_owned(),
            more: vec!["--lib x".to_owned()],
            from: "one(\n\n    two)".to_owned(),
            to: "three".to_owned(),
        };
        assert_eq!(parse(GOOD, &["tests"]), Ok(vec![block]));
    }

    #[test]
    fn blocks_end_at_empty_lines_and_may_only_remove() {
        let text = format!("{GOOD}\n\n{}", GOOD.replace("+ three\n", ""));
        let blocks = parse(&text, &["tests"]).expect("two blocks");
        assert_eq!(blocks.iter().map(|block| &block.to[..]).collect::<Vec<_>>(), ["three", ""]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let wrong = |from: &str, to: &str, line, what: &str| {
            let (at, said) = parse(&GOOD.replace(from, to), &["tests"]).expect_err(from);
            assert!(at == line && said.contains(what), "{at}: {said}");
        };
        wrong("tests: --lib x", "tests", 4, "neither");
        wrong("tests", "verdict", 4, "not a key (name, file, tests)");
        wrong("tests: --lib x", "name: again", 4, "twice");
        wrong("tests: --lib x\n", "", 2, "no `tests` line");
        wrong("- one(\n-\n-     two)\n", "", 2, "no `-` line");
        wrong("+ three", "+ three\n- four", 9, "behind a `+` line");
        wrong("+ three", "+three", 8, "neither");
    }
}
