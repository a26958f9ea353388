//! The runner without libFuzzer gives every target its share. That this test needs the program is also what lets
//! `cargo test` build it.

use std::process::Command;

#[test]
fn every_target_is_run_and_finds_nothing() {
    let output = Command::new(env!("CARGO_BIN_EXE_plain")).arg("1").output().expect("the runner");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    for target in
        ["decode", "operations", "stores", "sessions", "real sessions", "formats", "sketches"]
    {
        let line = said.lines().find(|line| line.starts_with(&format!("{target}:")));
        let line = line.unwrap_or_else(|| panic!("nothing of {target}: {said}"));
        assert!(!line.contains(": 0 executions") && line.contains(" 0 findings"), "{line}");
    }
}
