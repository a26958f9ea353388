//! Faults put into a copy of the code on purpose, one at a time, and whether anything notices.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;
use std::time::{Duration, Instant};

use crate::schemata::{Edit, SWITCH, weave};
use crate::tree::{Tree, failed_tests};

/// A fault and the tests that are to notice it.
pub struct Fault<'a> {
    pub name: &'a str,
    pub file: &'a str,
    pub from: &'a str,
    pub to: &'a str,
    pub package: &'a str,
    /// Arguments of `cargo test -p PACKAGE`.
    pub tests: Vec<&'a str>,
    /// The experiment or application that a test is to keep to.
    pub only: Option<&'a str>,
}

/// What the tests said of a fault.
pub enum Outcome {
    Seen(String),
    Unseen,
    /// They could not be run at all, which proves nothing.
    Neither,
}

/// A fault that no test may pass over.
pub fn by_a_test(output: &Output) -> Outcome {
    match failed_tests(output).into_iter().next() {
        Some(first) => Outcome::Seen(format!("caught by {first}")),
        None if output.status.success() && ran_tests(output) => Outcome::Unseen,
        None => Outcome::Neither,
    }
}

/// Whether there was a test to run: a name that no test has anymore passes everything over.
fn ran_tests(output: &Output) -> bool {
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers = text.lines().filter_map(|line| line.strip_prefix("running "));
    numbers.into_iter().any(|number| !number.starts_with("0 "))
}

/// A loop that no longer ends must not hold up the rest. The longest test of a fault takes a fifth of this.
const LIMIT: Duration = Duration::from_secs(300);

/// Tries every fault: those within functions in one build, each of the rest in a build of its own.
pub fn run(
    chore: &str,
    faults: &[Fault],
    judge: impl Fn(&Fault, &Output) -> Outcome,
) -> Result<(), String> {
    let tree = Tree::copy(chore)?;
    let edits: Vec<Edit> =
        faults.iter().map(|fault| edit(&tree, fault)).collect::<Result<_, _>>()?;
    let originals: BTreeMap<&str, String> = edits
        .iter()
        .map(|edit| Ok((edit.file.as_str(), tree.read(&edit.file)?)))
        .collect::<Result<_, String>>()?;
    let woven = weave(&tree, &edits)?;
    println!("{} of {} faults in one build", woven.len(), faults.len());
    let mut unseen = Vec::new();
    let mut attempt = |number: usize| -> Result<(), String> {
        let fault = &faults[number];
        let start = Instant::now();
        let outcome = match tests(&tree, fault, number)? {
            None => Outcome::Seen("caught: it does not end".to_owned()),
            Some(output) => match judge(fault, &output) {
                Outcome::Neither => {
                    let errors = String::from_utf8_lossy(&output.stderr);
                    return Err(format!("{}: no test ran: {errors}", fault.name));
                }
                outcome => outcome,
            },
        };
        let text = match outcome {
            Outcome::Seen(by) => by,
            _ => {
                unseen.push(fault.name);
                "UNSEEN".to_owned()
            }
        };
        println!("{:<52} {text} ({:.0} s)", fault.name, start.elapsed().as_secs_f64());
        Ok(())
    };
    for number in &woven {
        attempt(*number)?;
    }
    for (file, text) in &originals {
        tree.write(file, text)?;
    }
    let rest: BTreeSet<usize> = (0..faults.len()).filter(|i| !woven.contains(i)).collect();
    for number in rest {
        let Edit { file, at, to } = &edits[number];
        let original = &originals[file.as_str()];
        let mut text = original.clone();
        text.replace_range(at.clone(), to);
        tree.write(file, &text)?;
        attempt(number)?;
        tree.write(file, original)?;
    }
    if unseen.is_empty() {
        println!("{} faults, all seen", faults.len());
        return Ok(());
    }
    Err(format!("{} of {} unseen: {}", unseen.len(), faults.len(), unseen.join(", ")))
}

/// Where the fault's text stands, which must be one place.
fn edit(tree: &Tree, Fault { file, from, to, .. }: &Fault) -> Result<Edit, String> {
    let text = tree.read(file)?;
    let places: Vec<_> = text.match_indices(from).map(|(start, _)| start).collect();
    let [start] = places[..] else {
        return Err(format!("{file}: {from:?} stands there {} times, not once", places.len()));
    };
    Ok(Edit { file: (*file).to_owned(), at: start..start + from.len(), to: (*to).to_owned() })
}

/// What the fault's tests print; `None` if they do not end.
fn tests(tree: &Tree, fault: &Fault, number: usize) -> Result<Option<Output>, String> {
    let number = number.to_string();
    let mut args = vec!["test", "-p", fault.package, "--color", "never"];
    args.extend(&fault.tests);
    let mut env = vec![(SWITCH, number.as_str())];
    env.extend(fault.only.map(|only| ("EVERBLOOM_ONLY", only)));
    // Compiled first, so that the limit is that of the tests alone; what does not compile says so again below.
    tree.cargo(&[&["test", "--no-run"], &args[1..]].concat())?;
    tree.cargo_within(LIMIT, &env, &args)
}
