//! Inputs as grep takes them: several files, stdin for any of them, names before what is found in them.

mod place;

use place::Place;

fn numbers(range: std::ops::Range<u32>) -> String {
    range.map(|i| format!("{i}\n")).collect()
}

fn furnished() -> Place {
    let place = Place::new();
    place.file("a", numbers(0..100));
    // No end behind the last line.
    place.file("b", numbers(100..200).trim_end());
    place.file("c", numbers(200..300));
    place.file("all", numbers(0..300));
    place
}

#[test]
fn a_filter_is_built_from_several_files() {
    let place = furnished();
    place.ok("build all -o all.evb -p 1e-6", "");
    for (line, stdin) in [
        ("build a b c -o f.evb -p 1e-6", String::new()),
        ("build a - c -o f.evb -p 1e-6", numbers(100..200)),
        ("build a b c -o f.evb -p 1e-6 -n 300", String::new()),
    ] {
        place.ok(line, &stdin);
        assert_eq!(place.bytes("f.evb"), place.bytes("all.evb"), "{line}");
    }
    place.ok("build a b c -o f.guava --format guava", "");
    place.ok("build all -o all.guava --format guava", "");
    assert_eq!(place.bytes("f.guava"), place.bytes("all.guava"));
    assert!(place.refused("build - a - -o f.evb", "x\n").contains("stdin can be read once"));
    let missing = place.refused("build a missing c -o g.evb", "");
    assert!(missing.contains("missing: No such file"), "{missing}");
    assert!(!place.folder.path().join("g.evb").exists());
}

#[test]
fn queries_come_from_several_files_and_are_named() {
    let place = furnished();
    place.ok("build b -o f.evb -p 1e-9", "");
    place.file("q1", "x\n100\n");
    place.file("q2", "199\ny\n150\n");
    assert_eq!(place.ok("check f.evb q1 q2", ""), "q1:100\nq2:199\nq2:150\n");
    assert_eq!(place.ok("check f.evb q1 q2 --no-filename", ""), "100\n199\n150\n");
    assert_eq!(place.ok("check f.evb q1 -H", ""), "q1:100\n");
    assert_eq!(place.ok("check f.evb q1 - -v", "100\nz\n"), "q1:x\n(standard input):z\n");
    assert_eq!(place.ok("check f.evb q1 q2 -c", ""), "q1:1\nq2:2\n");
    assert_eq!(place.ok("check f.evb q1 q2 -c --no-filename", ""), "1\n2\n");
    assert_eq!(place.ok("check f.evb q1 --answers -H", ""), "q1:absent\tx\t\nq1:present\t100\t\n");
    assert!(place.ok("check f.evb q1 q2 --json", "").ends_with(",\"file\":\"q2\"}\n"));
    place.ok("build a -o g.evb -p 1e-9", "");
    assert_eq!(place.ok("check f.evb --in g.evb q1 a", "").lines().next(), Some("q1:100\tf"));
    place.file("none", "x\n");
    assert_eq!(place.run("check f.evb none none", "").code, 1);
    assert_eq!(place.run("check f.evb none q1", "").code, 0);
    place.file("t.csv", "id,x\n100,a\n");
    assert_eq!(
        place.ok("check f.evb t.csv t.csv --csv -f id --no-filename", ""),
        "id,x\n100,a\n100,a\n"
    );
    assert_eq!(place.run("check f.evb q1 missing", "").code, 2);
    // Filters of other software are asked in the same way.
    place.ok("build b -o f.guava --format guava -p 1e-9", "");
    assert_eq!(place.ok("check f.guava q1 q2", ""), "q1:100\nq2:199\nq2:150\n");
}

#[test]
fn a_filter_may_come_from_stdin() {
    use std::process::{Command, Stdio};
    let place = furnished();
    place.ok("build b -o f.evb -p 1e-9 --kind counting", "");
    place.ok("build b -o f.guava --format guava -p 1e-9", "");
    let from = |file: &str, args: &str| {
        let file = std::fs::File::open(place.folder.path().join(file)).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_everbloom"));
        command.args(args.split_whitespace()).current_dir(place.folder.path()).stdin(file);
        command.env("TMPDIR", place.folder.path()).stdout(Stdio::piped());
        place::Run::of(&command.stderr(Stdio::piped()).output().expect("it ends"))
    };
    assert_eq!(from("f.evb", "check - b").out.lines().count(), 100);
    assert_eq!(from("f.guava", "check - b").out.lines().count(), 100);
    assert_eq!(from("f.evb", "count - b").out.lines().count(), 100);
    assert_eq!(from("f.evb", "info -").out, place.ok("info f.evb", ""));
    assert_eq!(from("f.evb", "explain - 100").out, place.ok("explain f.evb 100", ""));
    place.ok("build b -o g.evb", "");
    assert_eq!(from("g.evb", "estimate - g.evb").out, place.ok("estimate g.evb g.evb", ""));
    for (file, line) in [
        ("f.evb", "check -"),
        ("f.evb", "check - -"),
        ("f.evb", "count -"),
        ("g.evb", "estimate - -"),
    ] {
        let run = from(file, line);
        assert!(run.code == 2 && run.err.contains("stdin"), "{line}: {}", run.err);
    }
    let wrong = from("b", "info -");
    assert!(wrong.code == 2 && wrong.err.contains("stdin: "), "{}", wrong.err);
    // No copy of it is left.
    let mut names: Vec<_> = std::fs::read_dir(place.folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("a name").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    assert_eq!(names, ["a", "all", "b", "c", "f.evb", "f.guava", "g.evb"]);
}

#[test]
fn what_has_no_end_is_refused_whatever_its_packed_size() {
    let place = Place::new();
    let zeros = "head -c 200000000 /dev/zero | gzip -1 > zeros.gz";
    let mut shell = std::process::Command::new("sh");
    let packed = shell.args(["-c", zeros]).current_dir(place.folder.path()).status();
    assert!(packed.expect("a shell").success());
    for line in ["build zeros.gz -o f.evb", "dedupe zeros.gz", "build zeros.gz -o f.evb -n 10"] {
        let refused = place.refused(line, "");
        assert!(refused.contains("line 1: the line is longer than 64 MiB; give -0"), "{refused}");
    }
}

#[test]
fn feeds_elsewhere_are_followed_by_what_fetches_them() {
    let place = Place::new();
    for (feed, fetch) in [
        ("https://host/feed/", "--fetch 'curl -fsS https://host/feed/\"$1\"'"),
        ("ssh://ann@host/srv/feed", "--fetch 'ssh ann@host cat /srv/feed/\"$1\"'"),
    ] {
        let refused = place.refused(&format!("follow {feed} -o f.evb"), "");
        assert!(refused.contains(fetch), "{refused}");
    }
}
