//! How the command behaves when it is stopped, or when nobody listens.
#![cfg(unix)]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use tempfile::TempDir;

mod place;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everbloom"));
    command.args(line.split_whitespace()).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ok(folder: &Path, line: &str) {
    let output = command(folder, line).output().expect("the command runs");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

fn numbers(range: std::ops::Range<u32>) -> String {
    range.map(|i| format!("{i}\n")).collect()
}

/// Whether this process was started deaf to interrupts, as a shell starts what runs in the background: children
/// inherit that and would wait for ever.
fn interrupts_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 2 != 0)
}

/// Ctrl-C while keys are read: the old file is as it was, and nothing lies beside it.
#[test]
fn an_interrupted_change_leaves_the_old_file() {
    let interrupts = if interrupts_are_ignored() { &["-KILL"][..] } else { &["-INT", "-KILL"] };
    for line in ["add f.evb", "remove f.evb", "build - -o f.evb", "build - -o f.evb -n 1M -q"] {
        let place = folder();
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("keys"), numbers(0..200_000)).expect("a file");
        ok(place.path(), "build keys -o f.evb --kind counting");
        let before = std::fs::read(at("f.evb")).expect("a file");
        for interrupt in interrupts {
            let mut child =
                command(place.path(), line).stdin(Stdio::piped()).spawn().expect("it starts");
            let mut keys = child.stdin.take().expect("a pipe");
            // More than a pipe holds: when this returns, most of it was read and worked on.
            keys.write_all(numbers(0..200_000).as_bytes()).expect("it reads");
            signal(&child, interrupt);
            let status = child.wait().expect("it ends");
            assert!(!status.success(), "{line}");
            assert!(std::fs::read(at("f.evb")).expect("a file") == before, "{line} {interrupt}");
            assert_eq!(names(place.path()), ["f.evb", "keys"], "{line} {interrupt}");
        }
    }
}

/// Killed at any moment, while it writes too: the file is the old one or the new one, whole.
#[test]
fn a_killed_change_is_whole_or_not_at_all() {
    let place = folder();
    let at = |name: &str| place.path().join(name);
    std::fs::write(at("more"), "one more key\n").expect("a file");
    ok(place.path(), "build /dev/null -o old.evb -n 20M");
    std::fs::copy(at("old.evb"), at("f.evb")).expect("a copy");
    ok(place.path(), "add f.evb more");
    std::fs::copy(at("old.evb"), at("f.evb")).expect("a copy");
    let start = Instant::now();
    ok(place.path(), "add f.evb more");
    let whole = start.elapsed();
    let (old, new) = (std::fs::read(at("old.evb")), std::fs::read(at("f.evb")));
    let (old, new) = (old.expect("a file"), new.expect("a file"));
    assert!(old != new && old.len() > 20_000_000);
    std::fs::write(at("f.evb"), &old).expect("a file");
    let (mut killed, steps) = (0, 16);
    for step in 0..steps {
        let mut child = command(place.path(), "add f.evb more").spawn().expect("it starts");
        sleep(whole * step / steps);
        // It may have ended by itself, and waits to be asked how.
        child.kill().expect("it is stopped");
        killed += u32::from(!child.wait().expect("it ends").success());
        let now = std::fs::read(at("f.evb")).expect("a file");
        assert!(now == old || now == new, "half a file, killed at {step} of {steps}");
        std::fs::write(at("f.evb"), &old).expect("a file");
    }
    assert!(killed >= steps / 8, "{killed} of {steps} were killed at work");
}

/// A reader that has seen enough ends the command, silently and with success.
#[test]
fn closed_pipes_end_every_verb_quietly() {
    let place = folder();
    let write = |name: &str, text: &str| {
        std::fs::write(place.path().join(name), text).expect("a file");
    };
    write("keys", &numbers(0..50_000));
    write("other", &numbers(25_000..75_000));
    write("values", "oak\ttree\n");
    for line in [
        "build keys -o a.evb -n 100k -q",
        "build other -o b.evb -n 100k -q",
        "build keys -o c.evb --kind counting -q",
        "build values -o v.evb --kind bloomier -q",
        "build keys -o s.evb --kind stable -q",
        "build keys -o t.evb --kind top-k -q",
    ] {
        ok(place.path(), line);
    }
    for line in [
        "plan -n 1M -p 1%",
        "plan --need delete",
        "build keys -o new.evb --json -q",
        "check a.evb keys",
        "check a.evb keys --json",
        "check a.evb keys --answers",
        "info a.evb",
        "add c.evb keys --json -q",
        "remove c.evb keys --json -q",
        "count c.evb keys",
        "get v.evb values",
        "age s.evb --json -q",
        "merge a.evb b.evb -o new.evb --json -q",
        "intersect a.evb b.evb -o new.evb --json -q",
        "fold a.evb -o new.evb --json -q",
        "estimate a.evb b.evb",
        "list t.evb",
        "dedupe",
        "dedupe --json",
        "diff keys other",
        "join keys other",
        "join keys other --json",
        "explain a.evb 1",
        "bench --kind bloom -n 100",
        "catalog",
        "completions bash",
        "man",
        "man build",
        "formats",
        "sample bloom -n 100",
        "demo",
        "tour",
        "top keys",
        "plan -n 1M -p 1% --csv",
        "--help",
        "check --help",
    ] {
        let input = File::open(place.path().join("keys")).expect("a file");
        let mut child = command(place.path(), line).stdin(input).spawn().expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*err), (Some(0), ""), "{line}");
    }
}

/// Talk goes to stderr; that nobody hears it changes nothing.
#[test]
fn talk_that_cannot_be_heard_is_no_failure() {
    let place = folder();
    std::fs::write(place.path().join("keys"), numbers(0..100)).expect("a file");
    ok(place.path(), "build keys -o f.evb --kind counting");
    for (line, code) in [
        ("build keys -o g.evb", 0),
        ("dedupe", 1),
        ("diff keys keys", 0),
        ("remove f.evb keys", 0),
        ("remove f.evb keys", 1),
        ("info missing.evb", 2),
        ("no-such-verb", 2),
    ] {
        let mut child = command(place.path(), line).spawn().expect("it starts");
        drop(child.stderr.take());
        assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(code), "{line}");
    }
    if let Ok(full) = File::options().write(true).open("/dev/full") {
        let status = command(place.path(), "build keys -o g.evb").stderr(full).status();
        assert_eq!(status.expect("it ends").code(), Some(0));
    }
}

/// Columns are bytes as keys are, and so is what separates them.
#[cfg(target_os = "linux")]
#[test]
fn any_byte_separates_columns() {
    use std::os::unix::ffi::OsStrExt as _;

    let place = folder();
    std::fs::write(place.path().join("left"), b"a\xff1\nb\xff2\n").expect("a file");
    std::fs::write(place.path().join("right"), b"b\xff\xfe\n").expect("a file");
    let output = command(place.path(), "join left right -q -d")
        .arg(std::ffi::OsStr::from_bytes(b"\xff"))
        .output()
        .expect("the command runs");
    assert_eq!(output.stdout, b"b\xff2\xffb\xff\xfe\n");
}

#[test]
fn writers_of_one_file_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |args: &[&str], stdin: String| {
        place::fed(place::command(folder.path(), args), stdin.as_bytes())
    };
    let lines = |i: u32| (0..100).map(|j| format!("{i}-{j}\n")).collect::<String>();
    let built = run(&["build", "-", "-o", "all.evb", "-n", "1000", "-q"], String::new());
    assert!(built.wait_with_output().expect("it ends").status.success());
    let waiting: Vec<_> =
        (0..8).map(|i| run(&["add", "all.evb", "-", "--wait", "-q"], lines(i))).collect();
    for child in waiting {
        assert!(child.wait_with_output().expect("it ends").status.success());
    }
    let all: String = (0..8).map(lines).collect();
    let found = run(&["check", "all.evb", "-"], all).wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&found.stdout).lines().count(), 800);

    // Whoever does not wait is told, and has changed nothing.
    let refused: Vec<_> = (8..16).map(|i| run(&["add", "all.evb", "-", "-q"], lines(i))).collect();
    let mut taken = Vec::new();
    for (i, child) in (8..16).zip(refused) {
        let output = child.wait_with_output().expect("it ends");
        match output.status.code() {
            Some(0) => taken.push(i),
            code => {
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(code, Some(2));
                assert!(said.contains("another process is changing it"), "{said}");
                assert!(said.contains("--wait"), "{said}");
            }
        }
    }
    let acknowledged: String = taken.iter().map(|i| lines(*i)).collect();
    let found = run(&["check", "all.evb", "-"], acknowledged).wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&found.stdout).lines().count(), 100 * taken.len());
}
