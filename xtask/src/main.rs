//! Chores of the repository, run as `cargo run -p xtask -- CHORE`.
//!
//! - `mutants`: breaks the code in named ways, one at a time, and shows that a test notices.
//! - `toy`: adds a toy variant to a copy of the tree, by one file and one line, and runs the tests.
//! - `throughput`: times the command beside md5sum and sort on a file of 50 million lines.
//! - `instructions`: counts the instructions of the flagship filters' operations, by callgrind.
//! - `licenses`: checks every dependency's license against the allow-list.

mod instructions;
mod licenses;
mod mutants;
mod throughput;
mod toy;
mod tree;

use std::process::ExitCode;

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let outcome =
        match chore.as_str() {
            "mutants" => mutants::run(std::env::args().nth(2).as_deref()),
            "toy" => toy::run(),
            "licenses" => licenses::run(),
            "throughput" => throughput::run(),
            "instructions" => instructions::run(),
            _ => Err("usage: cargo run -p xtask -- mutants [NAME] | toy | licenses | throughput | instructions"
                .to_owned()),
        };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
