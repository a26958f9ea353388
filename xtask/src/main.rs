//! Chores of the repository, run as `cargo run -p xtask -- CHORE`.
//!
//! - `mutants`: breaks the code in named ways, one at a time, and shows that a test notices.
//! - `thorough`: runs the loops over the list with all their trials, which takes minutes.
//! - `toy`: adds a toy variant to a copy of the tree, by one file and one line, and runs the tests.
//! - `throughput`: times the command beside md5sum and sort on a file of 50 million lines.
//! - `instructions`: counts the instructions of the flagship filters' operations, by callgrind.
//! - `licenses`: checks every dependency's license against the allow-list.
//! - `layers`: checks that imports of the library run downwards only, and DESIGN.md's picture of it.
//! - `words`: checks that pages and sources are written in plain English.

mod instructions;
mod layers;
mod licenses;
mod mutants;
mod thorough;
mod throughput;
mod toy;
mod tree;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- \
    mutants [NAME] | thorough | toy | licenses | layers [--draw] | words | throughput | instructions";

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let outcome = match chore.as_str() {
        "mutants" => mutants::run(std::env::args().nth(2).as_deref()),
        "thorough" => thorough::run(),
        "toy" => toy::run(),
        "licenses" => licenses::run(),
        "layers" => layers::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        "words" => words::run(&root()),
        "throughput" => throughput::run(),
        "instructions" => instructions::run(),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}
