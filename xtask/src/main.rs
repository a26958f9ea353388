//! Chores of the repository, run as `cargo run -p xtask -- CHORE`.
//!
//! - `breaks`: breaks the applications in one line each, and shows that a verdict turns red.
//! - `mutants`: breaks the code in named ways, one at a time, and shows that a test notices.
//! - `mutants lab`: breaks the library's formulas and filters, and shows that a named verdict of the lab turns red.
//! - `operators`: breaks operators of the mechanisms at places drawn by a seed, and shows which nobody notices.
//! - `kills`: kills the command in the middle of `add`, again and again; nothing acknowledged is lost.
//! - `sanitize`: runs the hostile tests under AddressSanitizer.
//! - `thorough`: runs the loops over the list with all their trials, which takes minutes.
//! - `toy`: adds a toy variant to a copy of the tree, by one file and one line, and runs the tests.
//! - `throughput`: times the command beside md5sum, sort, awk, zstd, comm and join on files of 20 million lines.
//! - `instructions`: counts the instructions of the flagship filters' operations, by callgrind.
//! - `licenses`: checks every dependency's license against the allow-list.
//! - `layers`: checks that imports of the library run downwards only, and DESIGN.md's picture of it.
//! - `words`: checks that pages and sources are written in plain English.

mod breaks;
mod instructions;
mod kills;
mod lab_faults;
mod layers;
mod licenses;
mod mutants;
mod operators;
mod sanitize;
mod thorough;
mod throughput;
mod toy;
mod tree;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- \
    mutants [NAME] | mutants lab [FAULT] | breaks [APPLICATION] | operators [COUNT] [SEED] | kills [COUNT] | sanitize | thorough | toy | licenses | layers [--draw] | words | throughput [LINES] | instructions";

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let outcome = match chore.as_str() {
        "breaks" => breaks::run(std::env::args().nth(2).as_deref()),
        "mutants" if std::env::args().nth(2).as_deref() == Some("lab") => {
            lab_faults::run(std::env::args().nth(3).as_deref())
        }
        "mutants" => mutants::run(std::env::args().nth(2).as_deref()),
        "operators" => operators::run(number(2, 200) as usize, number(3, 1)),
        "kills" => kills::run(number(2, 1000)),
        "sanitize" => sanitize::run(),
        "thorough" => thorough::run(),
        "toy" => toy::run(),
        "licenses" => licenses::run(),
        "layers" => layers::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        "words" => words::run(&root()),
        "throughput" => throughput::run(number(2, 20_000_000)),
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

/// The argument at this place as a number, or what it is without one.
fn number(place: usize, default: u64) -> u64 {
    std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The root of the repository.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}
