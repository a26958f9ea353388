//! The programs in `examples/` do what they say.

use std::path::PathBuf;
use std::process::Command;

/// Runs an example, which cargo has built beside the tests.
fn runs(name: &str) -> String {
    let test = std::env::current_exe().expect("this test is a file");
    let folder = test.parent().and_then(|deps| deps.parent()).map(PathBuf::from);
    let example = folder.expect("a build folder").join("examples").join(name);
    let output = Command::new(&example).output().unwrap_or_else(|e| {
        panic!("{}: {e}; build it with cargo build --examples", example.display())
    });
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_filter_of_a_known_type() {
    assert!(runs("typed").contains("probes per key"));
}

#[test]
fn filters_from_the_list() {
    assert!(runs("dynamic").contains("variants built"));
}

#[test]
fn filters_as_files() {
    assert!(runs("files").contains("100000 items"));
}
