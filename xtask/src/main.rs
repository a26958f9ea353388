//! Chores of the repository, run as `cargo run -p xtask -- CHORE`.
//!
//! - `breaks`: breaks the applications in one line each, and shows that a verdict turns red.
//! - `browser`: opens the lab's page in headless Chromium, as wide as a desk and as a phone.
//! - `mutants`: breaks the code in named ways, one at a time, and shows that a test notices.
//! - `mutants lab`: breaks the library's formulas and filters, and shows that a named verdict of the lab turns red.
//! - `operators`: breaks operators of the mechanisms at places drawn by a seed, and shows which nobody notices.
//! - `kills`: kills the command in the middle of a change, again and again; nothing acknowledged is lost.
//! - `sanitize`: runs the hostile tests under AddressSanitizer.
//! - `miri`: runs what threads share under Miri.
//! - `thorough`: runs the loops over the list with all their trials, which takes minutes.
//! - `toy`: adds a toy variant to a copy of the tree, by one file and one line, and runs the tests.
//! - `throughput`: times the command beside md5sum, sort, awk, zstd, comm and join on files of 20 million lines.
//! - `tools`: times the tools beside what people use now.
//! - `instructions`: counts the instructions of the flagship filters' operations, by callgrind.
//! - `performance`: measures what docs/PERFORMANCE.md says, or one step of it, and fills it in.
//! - `reader`: compares the Python reader of docs/format with the command, on files of twenty variants.
//! - `interop`: has filters that the command writes read by the software that their format belongs to.
//! - `licenses`: checks every dependency's license against the allow-list.
//! - `layers`: checks that imports of the library run downwards only, and in no crate in circles; and DESIGN.md's picture of
//!   the floors and CONTRIBUTING.md's list of files with `unsafe`.
//! - `package`: packs the crates, and compiles the library from its package.
//! - `release`: what a release must pass beside `.ci/run`: `thorough`, `package` and `weight --check`.
//! - `weight`: measures what builds cost, for docs/performance/weight.md.
//! - `words`: checks that pages and sources are written in plain English.

mod browser;
mod faults;
mod instructions;
mod interop;
mod kills;
mod layers;
mod licenses;
mod marks;
mod miri;
mod mutants;
mod operators;
mod package;
mod performance;
mod python;
mod reader;
mod sanitize;
mod schemata;
mod thorough;
mod throughput;
mod timing;
mod tools;
mod toy;
mod tree;
mod weight;
mod words;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo run -p xtask -- \
    mutants [NAME] | mutants lab [FAULT] | breaks [APPLICATION] | operators [COUNT] [SEED] | kills [COUNT] | sanitize | miri | thorough | toy | reader | interop | licenses | layers [--draw] | package | release | weight [--check] | words | throughput [LINES] | tools [TOOL] | instructions | performance [STEP] | browser [FOLDER]";

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let outcome = match chore.as_str() {
        "browser" => browser::run(std::env::args().nth(2).as_deref()),
        "breaks" => mutants::run_applications(std::env::args().nth(2).as_deref()),
        "mutants" if std::env::args().nth(2).as_deref() == Some("lab") => {
            mutants::run_lab(std::env::args().nth(3).as_deref())
        }
        "mutants" => mutants::run(std::env::args().nth(2).as_deref()),
        "operators" => operators::run(number(2, 200) as usize, number(3, 1)),
        "kills" => kills::run(number(2, 1000)),
        "sanitize" => sanitize::run(),
        "miri" => miri::run(),
        "thorough" => thorough::run(),
        "toy" => toy::run(),
        "reader" => reader::run(),
        "interop" => interop::run(),
        "licenses" => licenses::run(),
        "layers" => layers::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        "package" => package::run(),
        "release" => release(),
        "weight" => weight::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "words" => words::run(&root()),
        "throughput" => throughput::run(number(2, 20_000_000)),
        "tools" => tools::run(std::env::args().nth(2).as_deref()),
        "instructions" => instructions::run(),
        "performance" => performance::run(std::env::args().nth(2).as_deref()),
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

/// What a release must pass beside `.ci/run`.
fn release() -> Result<(), String> {
    thorough::run()?;
    package::run()?;
    weight::run(&["--check".to_owned()])
}

/// The argument at this place as a number, or what it is without one.
fn number(place: usize, default: u64) -> u64 {
    std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What a program prints, if it succeeds.
fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// How the command is compiled.
enum Profile {
    /// As tests have it.
    Dev,
    /// As users have it.
    Release,
}

/// The command, built so.
fn command(profile: Profile) -> Result<PathBuf, String> {
    let root = root();
    let mut cargo = Command::new("cargo");
    match profile {
        // As a test of the command builds it, so that nothing is compiled twice with other features.
        Profile::Dev => cargo.args(["test", "-q", "--workspace", "--no-run", "--test", "pages"]),
        Profile::Release => cargo.args(["build", "-q", "-p", "everbloom-cli", "--release"]),
    };
    let built = cargo.current_dir(&root).status();
    if !built.map_err(|e| format!("cargo: {e}"))?.success() {
        return Err("the command does not compile".to_owned());
    }
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into);
    let name = match profile {
        Profile::Dev => "debug/everbloom",
        Profile::Release => "release/everbloom",
    };
    folder.join(name).canonicalize().map_err(|e| e.to_string())
}

/// The root of the repository.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}
