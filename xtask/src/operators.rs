//! Operators broken at random places: a seeded sample over the mechanisms that all variants stand on. What the named
//! mutants show of chosen places, this shows of all of them.
//!
//! All of them are in one build. What became of each stands in `target/xtask/operators-SEED.txt` under the text of the
//! line it broke, so that a run that was stopped goes on where it was, and code that changes elsewhere neither draws
//! other operators nor makes known ones unknown.

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
    /// The file, the line as it is broken, and which of the lines of that text it is.
    name: String,
    /// The number of the line.
    line: usize,
    edit: Edit,
}

/// Breaks `count` operators drawn by `seed`, one at a time.
pub fn run(count: usize, seed: u64) -> Result<(), String> {
    let tree = Tree::copy("operators")?;
    let mut sites = sites(tree.root())?;
    sites.sort_by_cached_key(|site| (drawn_by(seed, &site.name), site.name.clone()));
    // Not every swap compiles.
    sites.truncate(2 * count);
    let edits: Vec<Edit> = sites.iter().map(|site| site.edit.clone()).collect();
    let drawn: BTreeSet<usize> = weave(&tree, &edits)?.into_iter().take(count).collect();
    let kept = tree.root().join(format!("../operators-{seed}.txt"));
    let mut verdicts = read_verdicts(&kept);
    let start = Instant::now();
    for number in &drawn {
        let site = &sites[*number];
        if start.elapsed() < TIME && !verdicts.contains_key(&site.name) {
            let verdict = attempt(&tree, *number)?;
            println!("{} ({}): {verdict}", site.name, site.line);
            verdicts.insert(site.name.clone(), verdict);
            write_verdicts(&kept, &verdicts)?;
        }
    }
    let verdict_of = |number: &usize| verdicts.get(&sites[*number].name);
    let tried = drawn.iter().filter(|number| verdict_of(number).is_some()).count();
    let survived = |number: &&usize| verdict_of(number).is_some_and(|v| v == SURVIVED);
    println!(
        "{tried} of {count} operators broken, {} survived",
        drawn.iter().filter(survived).count()
    );
    for number in drawn.iter().filter(survived) {
        println!("  {} ({})", sites[*number].name, sites[*number].line);
    }
    if tried < count {
        return Err("the time is up: run it again for the rest".to_owned());
    }
    Ok(())
}

const SURVIVED: &str = "SURVIVED";

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
        in_file(&file, &text, &mut sites);
    }
    Ok(sites)
}

fn in_file(file: &str, text: &str, sites: &mut Vec<Site>) {
    let (mut start, mut alike) = (0, BTreeMap::<String, usize>::new());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        for (column, (from, to)) in in_line(line) {
            let broken = format!("{}{to}{}", &line[..column], &line[column + from.len()..]);
            let broken = format!("{file}: {}", broken.trim());
            let before = alike.entry(broken.clone()).or_default();
            *before += 1;
            sites.push(Site {
                name: if *before == 1 { broken } else { format!("{broken} #{before}") },
                line: number + 1,
                edit: Edit {
                    file: file.to_owned(),
                    at: start + column..start + column + from.len(),
                    to: to.to_owned(),
                },
            });
        }
        start += line.len();
    }
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

/// Where a seed puts a name in the order of the draw: FNV-1a, finished by SplitMix64.
fn drawn_by(seed: u64, name: &str) -> u64 {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    let mut z = name.bytes().fold(0xCBF2_9CE4_8422_2325 ^ seed, fnv);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// What became of each place, by its name.
fn read_verdicts(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let split = |line: &str| line.split_once('\t').map(|(a, b)| (a.to_owned(), b.to_owned()));
    text.lines().filter_map(split).collect()
}

fn write_verdicts(path: &Path, verdicts: &BTreeMap<String, String>) -> Result<(), String> {
    let text = verdicts.iter().fold(String::new(), |mut text, (name, verdict)| {
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
    }

    #[test]
    fn places_keep_their_names_when_lines_move() {
        let names = |text: &str| {
            let mut sites = Vec::new();
            in_file("f.rs", text, &mut sites);
            sites.into_iter().map(|site| site.name).collect::<Vec<_>>()
        };
        let before = names("let a = b + c;\nlet a = b + c;\n");
        assert_eq!(before, ["f.rs: let a = b - c;", "f.rs: let a = b - c; #2"]);
        assert_eq!(names("let d = e;\n    let a = b + c;\n\nlet a = b + c;\n"), before);
        assert_ne!(drawn_by(1, &before[0]), drawn_by(2, &before[0]));
    }
}
