//! Operators broken at random places: a seeded sample over the mechanisms that all variants stand on. What the named
//! mutants show of chosen places, this shows of all of them.
//!
//! Every result is kept in `target/xtask/operators-SEED.txt`, so that a run that was stopped goes on where it was.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::tree::{Tree, failed_tests};

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
    file: String,
    line: usize,
    column: usize,
    swap: (&'static str, &'static str),
}

impl Site {
    fn name(&self) -> String {
        let (from, to) = (self.swap.0.trim(), self.swap.1.trim());
        format!("{}:{}:{} {from} -> {to}", self.file, self.line + 1, self.column + 1)
    }

    /// The text with the operator swapped.
    fn applied(&self, text: &str) -> String {
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let line = &mut lines[self.line];
        line.replace_range(self.column..self.column + self.swap.0.len(), self.swap.1);
        lines.join("\n")
    }
}

/// Breaks `count` operators drawn by `seed`, one at a time.
pub fn run(count: usize, seed: u64) -> Result<(), String> {
    let tree = Tree::copy("operators")?;
    let mut sites = sites(tree.root())?;
    shuffle(&mut sites, seed);
    let kept = tree.root().join(format!("../operators-{seed}.txt"));
    let mut done = read_results(&kept);
    let start = Instant::now();
    let mut tried = 0;
    for site in &sites {
        if tried == count || start.elapsed() > TIME {
            break;
        }
        let name = site.name();
        if !done.contains_key(&name) {
            let verdict = attempt(&tree, site)?;
            println!("{name:<60} {verdict}");
            done.insert(name.clone(), verdict);
            write_results(&kept, &done)?;
        }
        tried += usize::from(done[&name] != DOES_NOT_COMPILE);
    }
    let survivors: Vec<_> = done.iter().filter(|(_, v)| *v == SURVIVED).map(|(n, _)| n).collect();
    println!("{tried} of {count} operators broken, {} survived", survivors.len());
    for name in &survivors {
        println!("  {name}");
    }
    if tried < count {
        return Err("the time is up: run it again for the rest".to_owned());
    }
    Ok(())
}

const SURVIVED: &str = "SURVIVED";
const DOES_NOT_COMPILE: &str = "does not compile";

fn attempt(tree: &Tree, site: &Site) -> Result<String, String> {
    let original = tree.read(&site.file)?;
    tree.write(&site.file, &site.applied(&original))?;
    let mut verdict = SURVIVED.to_owned();
    for tests in TESTS {
        let mut args = vec!["test", "-p", "everbloom", "--quiet", "--color", "never"];
        args.extend(tests);
        args.extend(["--", "--format", "pretty"]);
        // A loop that no longer ends must not hold up the rest.
        let output = tree.cargo_within(Duration::from_secs(300), &[], &args)?;
        let Some(output) = output else {
            verdict = "caught: it does not end".to_owned();
            break;
        };
        if output.status.success() {
            continue;
        }
        verdict = match failed_tests(&output).first() {
            Some(first) => format!("caught by {first}"),
            None if String::from_utf8_lossy(&output.stderr).contains("could not compile") => {
                DOES_NOT_COMPILE.to_owned()
            }
            None => "caught: it ends the tests".to_owned(),
        };
        break;
    }
    tree.write(&site.file, &original)?;
    Ok(verdict)
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
        for (number, line) in text.lines().enumerate() {
            if line.starts_with("#[cfg(test)]") {
                break;
            }
            sites.extend(in_line(line).map(|(column, swap)| Site {
                file: file.clone(),
                line: number,
                column,
                swap,
            }));
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

fn read_results(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let split = |line: &str| line.split_once('\t').map(|(n, v)| (n.to_owned(), v.to_owned()));
    text.lines().filter_map(split).collect()
}

fn write_results(path: &Path, results: &BTreeMap<String, String>) -> Result<(), String> {
    let text = results.iter().fold(String::new(), |mut text, (name, verdict)| {
        let _ = writeln!(text, "{name}\t{verdict}");
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
        let site = Site { file: String::new(), line: 1, column: 1, swap: (" + ", " - ") };
        assert_eq!(site.applied("x\na + b\n"), "x\na - b\n");
    }
}
