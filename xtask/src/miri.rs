//! What threads share, under Miri: it sees data races, and what the memory model allows but processors rarely do.
//!
//! Miri comes with nightly toolchains only (`rustup +nightly component add miri rust-src`). It runs the scalar code,
//! since it knows no assembly.

use std::process::Command;

/// Tests of filters that several threads write to.
const TESTS: [&str; 2] = ["threads_share_lines", "a_lent_filter_is"];

/// Orders in which threads take turns.
const SEEDS: &str = "0..8";

/// Runs them, if there is a Miri.
pub fn run() -> Result<(), String> {
    let there = Command::new("cargo").args(["+nightly", "miri", "--version"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        println!("left out: no Miri here");
        return Ok(());
    }
    for test in TESTS {
        let status = Command::new("cargo")
            .args(["+nightly", "miri", "test", "-p", "everbloom", "--no-default-features"])
            .args(["--features", "parallel", "--lib", test])
            .current_dir(crate::root())
            .env("MIRIFLAGS", format!("-Zmiri-disable-isolation -Zmiri-many-seeds={SEEDS}"))
            .status()
            .map_err(|e| format!("cargo: {e}"))?;
        if !status.success() {
            return Err(format!("{test}: {status}"));
        }
    }
    println!("{} tests in {SEEDS} orders of threads: no report of Miri", TESTS.len());
    Ok(())
}
