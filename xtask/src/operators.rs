//! Operators broken at random places: a seeded sample over the mechanisms that all variants stand on. What the named
//! mutants show of chosen places, this shows of all of them.
//!
//! All of them are in one build. Which were drawn, and what became of each, stands in
//! `target/xtask/operators-SEED.txt`, so that a run that was stopped goes on where it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::schemata::{Edit, SWITCH, weave};
use crate::tree::{Ended, Tree};

/// The folders whose operators are broken.
const FOLDERS: [&str; 3] = ["probe", "parts", "theory"];

/// An operator with its blanks, and what takes its place.
const SWAPS: &[(&str, &str)] = &[
    (" + ", " - "),
    (" - ", " + "),
    (" * ", " + "),
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" == ", " != "),
    (" != ", " == "),
    (" && ", " || "),
    (" || ", " && "),
    (" | ", " & "),
    (" & ", " | "),
    (" ^ ", " | "),
    (" << ", " >> "),
    (" >> ", " << "),
    ("..=", ".."),
    ("true", "false"),
    ("false", "true"),
];

/// Tests from the quickest to the most thorough: a mutant is caught by the first that fails.
const TESTS: [&[&str]; 3] = [
    &["--lib"],
    &["--test", "evidence", "--test", "golden"],
    &["--test", "conformance", "--test", "rates", "--test", "simd"],
];

/// How long a run lasts; what is left goes on in the next one.
const TIME: Duration = Duration::from_secs(80 * 60);

/// One place and what is done to it.
struct Site {
    name: String,
    edit: Edit,
}

/// Breaks `count` operators drawn by `seed`, one at a time.
pub fn run(count: usize, seed: u64) -> Result<(), String> {
    let tree = Tree::copy("operators")?;
    let mut sites = sites(tree.root())?;
    shuffle(&mut sites, seed);
    // Not every swap compiles.
    sites.truncate(2 * count);
    let edits: Vec<Edit> = sites.iter().map(|site| site.edit.clone()).collect();
    let drawn: BTreeSet<usize> = weave(&tree, &edits)?.into_iter().take(count).collect();
    let kept = tree.root().join(format!("../operators-{seed}.txt"));
    let before = read_results(&kept);
    let mut results: BTreeMap<usize, (String, String)> = drawn
        .iter()
        .map(|number| {
            let name = sites[*number].name.clone();
            let known = before.get(number).filter(|(before, _)| *before == name);
            let verdict = known.map_or(NOT_TRIED, |(_, verdict)| verdict).to_owned();
            (*number, (name, verdict))
        })
        .collect();
    write_results(&kept, &results)?;
    let start = Instant::now();
    for number in &drawn {
        if start.elapsed() > TIME {
            break;
        }
        if results[number].1 == NOT_TRIED {
            let verdict = attempt(&tree, *number)?;
            println!("{:<60} {verdict}", sites[*number].name);
            results.insert(*number, (sites[*number].name.clone(), verdict));
            write_results(&kept, &results)?;
        }
    }
    let of = |wanted: &'static str| results.values().filter(move |(_, verdict)| verdict == wanted);
    let tried = drawn.len() - of(NOT_TRIED).count();
    println!("{tried} of {count} operators broken, {} survived", of(SURVIVED).count());
    for (name, _) in of(SURVIVED) {
        println!("  {name}");
    }
    if tried < count {
        return Err("the time is up: run it again for the rest".to_owned());
    }
    Ok(())
}

const SURVIVED: &str = "SURVIVED";
const NOT_TRIED: &str = "not tried";

/// Switches a broken operator on and runs the tests until one fails.
fn attempt(tree: &Tree, number: usize) -> Result<String, String> {
    let number = number.to_string();
    for tests in TESTS {
        let mut args = vec!["test", "-p", "everbloom", "--color", "never"];
        args.extend(tests);
        // A loop that no longer ends must not hold up the rest; the first call compiles everything.
        let limit = Duration::from_secs(1200);
        return Ok(match tree.cargo_until_failure(limit, &[(SWITCH, &number)], &args)? {
            Ended::Well => continue,
            Ended::Failed(first) => format!("caught by {first}"),
            Ended::Late => "caught: it does not end".to_owned(),
            Ended::Broken => "caught: it ends the tests".to_owned(),
        });
    }
    Ok(SURVIVED.to_owned())
}

/// Every operator outside comments, strings and tests, in order of file and place.
fn sites(root: &Path) -> Result<Vec<Site>, String> {
    let source = root.join("crates/everbloom/src");
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in FOLDERS {
        collect(&source.join(folder), &mut files)?;
    }
    files.sort();
    let mut sites = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let file = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let mut start = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            if line.starts_with("#[cfg(test)]") {
                break;
            }
            sites.extend(in_line(line).map(|(column, (from, to))| Site {
                name: format!(
                    "{file}:{}:{} {} -> {}",
                    number + 1,
                    column + 1,
                    from.trim(),
                    to.trim()
                ),
                edit: Edit {
                    file: file.clone(),
                    at: start + column..start + column + from.len(),
                    to: to.to_owned(),
                },
            }));
            start += line.len();
        }
    }
    Ok(sites)
}

/// The operators of a line, unless it is a comment, an attribute, an assertion, or has a string.
fn in_line(line: &str) -> impl Iterator<Item = (usize, (&'static str, &'static str))> {
    let code = line.split("//").next().unwrap_or_default();
    let start = code.trim_start();
    let skipped = start.starts_with('#') || code.contains('"') || start.starts_with("assert");
    // Bounds of generics and closures look like operators.
    let generic = ["impl ", "dyn ", "where", "fn "].iter().any(|word| code.contains(word));
    let code = if skipped { "" } else { code };
    SWAPS.iter().flat_map(move |swap| {
        let ambiguous = generic && matches!(swap.0, " + " | " < " | " > ");
        let code = if ambiguous { "" } else { code };
        code.match_indices(swap.0).map(move |(column, _)| (column, *swap))
    })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Fisher and Yates, by SplitMix64.
fn shuffle(sites: &mut [Site], mut seed: u64) {
    let mut next = || {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = seed;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    };
    for i in (1..sites.len()).rev() {
        sites.swap(i, (next() % (i as u64 + 1)) as usize);
    }
}

/// What became of each number, with the place's name.
fn read_results(path: &Path) -> BTreeMap<usize, (String, String)> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let split = |line: &str| {
        let mut fields = line.split('\t');
        let number = fields.next()?.parse().ok()?;
        Some((number, (fields.next()?.to_owned(), fields.next()?.to_owned())))
    };
    text.lines().filter_map(split).collect()
}

fn write_results(path: &Path, results: &BTreeMap<usize, (String, String)>) -> Result<(), String> {
    let text = results.iter().fold(String::new(), |mut text, (number, (name, verdict))| {
        let _ = writeln!(text, "{number}\t{name}\t{verdict}");
        text
    });
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_in_code_alone() {
        let found =
            |line: &str| in_line(line).map(|(column, swap)| (column, swap.0)).collect::<Vec<_>>();
        assert_eq!(found("let a = b + c; // d - e"), [(9, " + ")]);
        assert_eq!(found("fn f(x: impl A + B) -> bool {"), []);
        assert_eq!(found("    assert!(a < b);"), []);
        assert_eq!(found("say(\"a < b\");"), []);
        assert_eq!(found("if a <= b && !c {"), [(4, " <= "), (9, " && ")]);
    }
}
