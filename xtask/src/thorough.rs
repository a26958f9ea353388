//! The loops over the list with all their trials, where `cargo test` does a part of them.

use std::process::Command;
use std::time::Instant;

/// What is tried, and the test that does it: its file, and a part of its name.
const STEPS: [(&str, &str, &str); 5] = [
    ("five million keys per form", "conformance", "five_million_items"),
    ("all queries with all styles of keys", "conformance", "thousand_items"),
    ("10,000 sequences of operations per form", "model", "no_sequence_of_operations"),
    ("2,000 random changes per file", "hostile", "resealed_mutations"),
    ("sixty runs of every spectral rule", "evidence", "c3_"),
];

/// Runs every step and says how long it took.
pub fn run() -> Result<(), String> {
    let start = Instant::now();
    for (what, file, name) in STEPS {
        let begin = Instant::now();
        step(file, name).map_err(|said| format!("{what}: {said}"))?;
        println!("{what:<40} {:>4.0} s", begin.elapsed().as_secs_f64());
    }
    println!("{:<40} {:>4.0} s", "all", start.elapsed().as_secs_f64());
    Ok(())
}

fn step(file: &str, name: &str) -> Result<(), String> {
    let output = Command::new("cargo")
        // The whole workspace, so that features and hence builds are those of its tests.
        .args(["test", "--workspace", "--locked", "--quiet", "--test", file, name])
        .args(["--", "--include-ignored"])
        .env("EVERBLOOM_THOROUGH", "1")
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("{said}{}", String::from_utf8_lossy(&output.stderr)));
    }
    // Another crate may have a file of that name, without the test.
    if !said.lines().any(|line| line.contains(" passed") && !line.contains(" 0 passed")) {
        return Err(format!("no test of {file} is called {name}"));
    }
    Ok(())
}
