//! Sketches from the command line: built, merged, listed and measured; `check` refuses them.

use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everbloom"));
    command.args(line.split_whitespace()).current_dir(folder).output().expect("the command runs")
}

fn ok(folder: &Path, line: &str) -> String {
    let output = run(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn sketches_are_listed_and_measured_and_have_no_members() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let lines: String =
        (1..=60u32).flat_map(|i| vec![format!("{i}\n"); (60 / i) as usize]).collect();
    std::fs::write(folder.join("keys"), &lines).expect("a file");
    std::fs::write(folder.join("more"), "100\n101\n").expect("a file");
    ok(folder, "build keys -o distinct.evb --kind hyperloglog");
    assert_eq!(ok(folder, "estimate distinct.evb"), "60\n");
    ok(folder, "build more -o others.evb --kind hyperloglog");
    ok(folder, "merge distinct.evb others.evb -o all.evb");
    assert_eq!(ok(folder, "estimate all.evb"), "62\n");
    ok(folder, "build keys -o top.evb --kind top-k --set k=3");
    assert_eq!(ok(folder, "list top.evb"), "1\t60\n2\t30\n3\t20\n");
    ok(
        folder,
        "build keys -o heavy.evb --kind count-min --set form=heavy --set epsilon=0.001 --set phi=0.1",
    );
    assert_eq!(ok(folder, "list heavy.evb").lines().next(), Some("1\t60"));
    ok(folder, "build keys -o ids.evb --kind count-min --set form=dyadic --key-type u64");
    assert_eq!(ok(folder, "list ids.evb").lines().next(), Some("1\t60"));
    for (sketch, verb) in [("distinct", "estimate"), ("top", "list")] {
        let refused = run(folder, &format!("check {sketch}.evb keys"));
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(message.contains(&format!("`everbloom {verb}`")), "{message}");
    }
    assert_eq!(run(folder, "list distinct.evb").status.code(), Some(2));
}
