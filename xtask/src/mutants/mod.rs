//! Mutants: the code broken in named ways, one at a time. A mutant that nothing notices is a hole.
//!
//! The ways stand in `xtask/mutants`: those of `code` must fail a test, those of `lab` turn a named verdict of an
//! experiment red, those of `applications` a verdict of the application or its comparison with an exact twin.
//!
//! Pinned files are left out of the tests that run, since they notice any change at all: what is shown
//! here is that the *meaning* is tested.

mod blocks;

use std::process::Output;

use crate::faults::{self, Fault, Outcome, by_a_test};
use crate::root;
use crate::tree::package;
use blocks::Block;

/// A folder of `xtask/mutants`, and the keys of its blocks besides `name` and `file`.
type Kind = (&'static str, &'static [&'static str]);

const CODE: Kind = ("code", &["tests"]);
const LAB: Kind = ("lab", &["experiment", "verdict"]);
const APPLICATIONS: Kind = ("applications", &[]);

fn read((folder, more): Kind) -> Result<Vec<Block>, String> {
    blocks::read(&root().join("xtask/mutants").join(folder), more)
}

/// Runs every mutant of the code, or those whose name contains one of the words in `only`, between commas.
pub fn run(only: Option<&str>) -> Result<(), String> {
    let mut blocks = read(CODE)?;
    blocks.retain(|b| only.is_none_or(|only| only.split(',').any(|word| b.name.contains(word))));
    let packages = blocks.iter().map(|block| package(&root(), &block.file));
    let packages = packages.collect::<Result<Vec<_>, _>>()?;
    let faults = blocks.iter().zip(&packages).map(|(block, package)| {
        fault(block, package, block.more[0].split_whitespace().collect(), None)
    });
    let faults: Vec<Fault> = faults.collect();
    faults::run("mutants", &faults, |_, output| by_a_test(output))
}

/// Runs every fault that the lab must see, or those whose name contains `only`.
pub fn run_lab(only: Option<&str>) -> Result<(), String> {
    let mut blocks = read(LAB)?;
    blocks.retain(|block| only.is_none_or(|name| block.name.contains(name)));
    let faults = blocks.iter().map(|block| {
        let tests = vec!["--test", "experiments", "every_verdict"];
        fault(block, "everbloom-lab", tests, Some(&block.more[0]))
    });
    let faults: Vec<Fault> = faults.collect();
    faults::run("lab-faults", &faults, |fault, output| {
        let block = blocks.iter().find(|block| block.name == fault.name);
        block.map_or(Outcome::Neither, |block| by_a_verdict(block, output))
    })
}

/// Whether the verdict that the fault names turned red.
fn by_a_verdict(fault: &Block, output: &Output) -> Outcome {
    let [experiment, verdict] = &fault.more[..] else { return Outcome::Neither };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut of_experiment = text.lines().filter(|line| line.starts_with(experiment));
    match of_experiment.find(|line| line.contains(verdict)) {
        Some(line) => Outcome::Seen(format!("turns red: {line}")),
        None if output.status.success() || text.contains("verdicts disagree") => Outcome::Unseen,
        None => Outcome::Neither,
    }
}

/// Runs every fault of the applications, or those of one.
pub fn run_applications(only: Option<&str>) -> Result<(), String> {
    let mut blocks = read(APPLICATIONS)?;
    blocks.retain(|block| only.is_none_or(|slug| block.name == slug));
    let faults = blocks.iter().map(|block| {
        let tests = vec!["--test", "applications", "every_verdict"];
        fault(block, "everbloom-lab", tests, Some(&block.name))
    });
    let faults: Vec<Fault> = faults.collect();
    faults::run("breaks", &faults, |_, output| by_a_test(output))
}

/// The fault of a block, and the tests of a package that are to notice it.
fn fault<'a>(
    block: &'a Block,
    package: &'a str,
    tests: Vec<&'a str>,
    only: Option<&'a str>,
) -> Fault<'a> {
    let Block { name, file, from, to, .. } = block;
    Fault { name, file, from, to, package, tests, only }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of the code may leave a mutant without the text it breaks.
    #[test]
    fn every_mutant_finds_its_text_once() {
        let mut lost = Vec::new();
        for kind in [CODE, LAB, APPLICATIONS] {
            for Block { name, file, from, to, .. } in read(kind).unwrap() {
                let text = std::fs::read_to_string(root().join(&file)).unwrap_or_default();
                if text.matches(&from).count() != 1 || from == to {
                    lost.push(format!("{name}: {file}: {from}"));
                }
            }
        }
        assert!(lost.is_empty(), "{}", lost.join("\n"));
    }

    #[test]
    fn every_fault_of_the_lab_names_an_experiment() {
        for Block { name, more, .. } in read(LAB).unwrap() {
            let file = format!("{}.rs", more[0].replace('-', "_"));
            let path = root().join("evidence/src/experiments").join(file);
            assert!(path.is_file(), "{name}: {}", path.display());
        }
    }

    #[test]
    fn a_mutant_is_tested_in_the_package_of_its_file() {
        let file = "crates/everbloom-formats/src/formats/redis/bloom.rs";
        assert_eq!(package(&root(), file).as_deref(), Ok("everbloom-formats"));
        assert!(package(&root(), "docs/sources.md").is_err());
    }
}
