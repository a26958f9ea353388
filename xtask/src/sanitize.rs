//! The hostile tests under AddressSanitizer, which sees any access outside what was allocated.
//!
//! The sanitizer is an unstable option of the stable compiler, hence `RUSTC_BOOTSTRAP`.

use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Runs the tests that decode damaged files and those of the memory that files are mapped to.
pub fn run() -> Result<(), String> {
    let tests: [&[&str]; 2] = [
        &["--test", "hostile", "--test", "durability"],
        &["--lib", "--", "memory", "cells", "probe"],
    ];
    for args in tests {
        let status = Command::new("cargo")
            .args(["test", "-p", "everbloom", "--target", TARGET])
            .args(args)
            .current_dir(crate::root())
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", "-Zsanitizer=address")
            // Allocations that a damaged file asks for are refused, and may fail rather than end the tests.
            .env("ASAN_OPTIONS", "detect_leaks=0:allocator_may_return_null=1")
            .status()
            .map_err(|e| format!("cargo: {e}"))?;
        if !status.success() {
            return Err(format!("cargo test {}: {status}", args.join(" ")));
        }
    }
    println!("no report of the address sanitizer");
    Ok(())
}
