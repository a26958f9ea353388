//! The command from outside: what it prints, what it returns, what it leaves behind.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

mod place;

use place::Run;

/// A folder to work in, and the command run inside it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), text).expect("a file");
        name.to_owned()
    }

    fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, b"")
    }

    fn run_with(&self, args: &[&str], stdin: &[u8]) -> Run {
        Run::of(&place::output(self.command(args), stdin))
    }

    fn command(&self, args: &[&str]) -> Command {
        place::command(self.folder.path(), args)
    }

    /// Runs a command that must fail: exit code 2, one sentence on stderr, nothing on stdout.
    fn refused(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.err);
        assert_eq!(run.out, "", "{args:?}");
        assert!(!run.err.contains("panicked"), "{args:?}: {}", run.err);
        run.err
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn catalog() -> Vec<Value> {
    let run = Place::new().run(&["catalog", "--json"]);
    assert_eq!(run.code, 0);
    json(&run.out).as_array().expect("a list").clone()
}

#[test]
fn every_filter_of_the_list_is_built_asked_and_described() {
    for variant in catalog().iter().filter(|v| v["kind"] == "filter") {
        let slug = variant["slug"].as_str().expect("a slug");
        for form in variant["forms"].as_array().expect("forms") {
            let place = Place::new();
            let members = place.run(&["sample", slug, "-n", "300"]).out;
            let keys = place.file("keys.txt", &members);
            let others = place.run(&["sample", slug, "-n", "300", "--seed", "5"]).out;
            let others = place.file("others.txt", others);
            let set = format!("form={}", form["name"].as_str().expect("a name"));
            let mut args = vec!["build", &keys, "-o", "f.evb", "--kind", slug, "--set", &set];
            // One form of a variant that may use them does not, and says so.
            let unused = (slug, set.as_str()) == ("retouched", "form=random");
            if variant["input"]["negatives"] != "no" && !unused {
                args.extend(["--negatives", &others]);
            }
            let built = place.run(&args);
            assert_eq!(built.code, 0, "{slug}: {}", built.err);

            let info = place.run(&["info", "f.evb", "--json"]);
            let info = json(&info.out);
            for name in [
                "slug",
                "entry",
                "form",
                "items",
                "bits",
                "bits_per_item",
                "times_bound",
                "fill",
                "fpr_target",
                "fpr_now",
                "fnr_now",
                "hash",
                "seed",
                "format",
            ] {
                assert!(info.get(name).is_some(), "{slug}: {name}");
            }
            assert_eq!(info["slug"], slug);
            assert_eq!(info["form"], form["name"]);
            assert!(place.run(&["info", "f.evb"]).out.contains("size"), "{slug}");

            let asked = place.run(&["check", "f.evb", &keys]);
            if form["false_negatives"] != "possible" {
                assert_eq!(asked.code, 0, "{slug}: {}", asked.err);
                assert_eq!(asked.out, members, "{slug}: every member, in order");
            }
            let answers = place.run(&["check", "f.evb", &keys, "--answers"]);
            assert_eq!(answers.out.lines().count(), 300, "{slug}");
            for line in answers.out.lines() {
                let fields: Vec<&str> = line.split('\t').collect();
                assert!(["absent", "present", "undecided"].contains(&fields[0]), "{slug}: {line}");
                // Keys of several attributes have TABs of their own.
                assert!(fields.len() >= 3, "{slug}: {line}");
            }
        }
    }
}

#[test]
fn exit_codes_are_those_of_grep() {
    let place = Place::new();
    let keys = place.file("keys", "a\nb\n");
    place.run(&["build", &keys, "-o", "f.evb", "--kind", "bloom", "-p", "1e-9"]);
    assert_eq!(place.run_with(&["check", "f.evb"], b"a\nzzz\n").code, 0);
    let none = place.run_with(&["check", "f.evb", "-"], b"zzz\n");
    assert_eq!((none.code, none.out.as_str()), (1, ""));
    assert_eq!(place.run(&["check", "missing.evb"]).code, 2);
    assert_eq!(place.run(&["no-such-verb"]).code, 2);
    assert_eq!(place.run(&["--help"]).code, 0);
    assert_eq!(place.run(&["--version"]).code, 0);
}

#[test]
fn keys_are_bytes() {
    let place = Place::new();
    let keys = place.file("keys", b"\xff\xfe\na\r\n\nx\ty\n");
    place.run(&["build", &keys, "-o", "f.evb", "--kind", "bloom", "-p", "1e-9"]);
    let ask = |text: &[u8]| place.run_with(&["check", "f.evb"], text).code;
    for (key, found) in [
        (&b"\xff\xfe\n"[..], 0),
        (b"a\r\n", 0),
        (b"a\n", 1),
        (b"\n", 0),
        (b"x\ty\n", 0),
        (b"x\n", 1),
    ] {
        assert_eq!(ask(key), found, "{key:?}");
    }
    let run = place.run_with(&["check", "f.evb", "--json", "--answers"], b"\xff\xfe\nq\n");
    let answers: Vec<Value> = run.out.lines().map(json).collect();
    assert_eq!(answers[0]["query"]["b64"], "//4=");
    assert_eq!(answers[0]["verdict"], "present");
    assert_eq!(answers[1]["query"], "q");
    assert_eq!(answers[1]["verdict"], "absent");
}

#[test]
fn integers_are_keys_of_eight_bytes() {
    let place = Place::new();
    let keys = place.file("keys", "1\n42\n");
    let build =
        ["build", &keys, "-o", "f.evb", "--kind", "bloom", "-p", "1e-9", "--key-type", "u64"];
    assert_eq!(place.run(&build).code, 0);
    let found = place.run_with(&["check", "f.evb", "--key-type", "u64", "--answers"], b"42\n43\n");
    assert_eq!(found.out, "present\t42\t\nabsent\t43\t\n");
    assert_eq!(place.run_with(&["check", "f.evb"], b"42\n43\n").out, "42\n", "remembered");
    let bad = place.file("bad", "1\nx\n");
    let refused =
        place.refused(&["build", &bad, "-o", "g.evb", "--kind", "bloom", "--key-type", "u64"]);
    assert!(refused.contains("line 2") && refused.contains("\"x\""), "{refused}");
}

#[test]
fn keyed_filters_need_their_key_and_info_does_not() {
    let place = Place::new();
    let keys = place.file("keys", "a\n");
    place.file("secret", "000102030405060708090a0b0c0d0e0f\n");
    place.file("other", "100102030405060708090a0b0c0d0e0f\n");
    let build = ["build", &keys, "-o", "f.evb", "--kind", "bloom", "--key-file", "secret"];
    assert_eq!(place.run(&build).code, 0);
    assert_eq!(place.run_with(&["check", "f.evb", "--key-file", "secret"], b"a\n").code, 0);
    assert!(place.refused(&["check", "f.evb"]).contains("--key-file"));
    assert!(place.refused(&["check", "f.evb", "--key-file", "other"]).contains("key"));
    assert!(place.refused(&["check", "f.evb", "--key-file", "none"]).contains("none"));
    let info = json(&place.run(&["info", "f.evb", "--json"]).out);
    assert_eq!((&info["hash"], &info["seed"]), (&Value::from("siphash-2-4-128"), &Value::Null));
    assert!(info["key_id"].is_string());
    place.file("short", "00");
    let build = ["build", &keys, "-o", "g.evb", "--kind", "bloom", "--key-file", "short"];
    assert!(place.refused(&build).contains("32 hex digits"));
}

#[test]
fn bad_input_gets_one_sentence_and_leaves_nothing() {
    let place = Place::new();
    place.file("keys", "a\nb\n");
    place.file("empty", "");
    place.file("text", "not a filter\n");
    let before = place.names();
    let build = |extra: &[&str]| {
        let mut args = vec!["build", "keys", "-o", "f.evb"];
        args.extend(extra);
        place.refused(&args)
    };
    assert!(build(&["--kind", "blom"]).contains("bloom"), "names the variants there are");
    for p in ["0", "1", "-0.5", "2", "150%"] {
        let message = build(&["--kind", "bloom", "-p", p]);
        assert!(message.contains("above 0 and below 1"), "{message}");
    }
    assert!(build(&["--kind", "bloom", "-p", "x"]).contains("is not a rate"));
    assert!(build(&["--kind", "bloom", "-n", "0"]).contains("at least 1 item"));
    assert!(build(&["--kind", "bloom", "-n", "many"]).contains("not a number"));
    assert!(build(&["--kind", "bloom", "--memory", "0"]).contains("memory"));
    let three = build(&["--kind", "bloom", "-n", "1G", "-p", "1%", "--memory", "1kB"]);
    assert!(three.contains("give two of them"), "{three}");
    assert!(build(&["--kind", "bloom", "--set", "k=NaN"]).contains("whole number from 1"));
    assert!(build(&["--kind", "bloom", "--set", "k"]).contains("name=value"));
    assert!(build(&["--kind", "bloom", "--set", "z=1"]).contains("no such parameter"));
    assert!(build(&["--kind", "scalable", "--set", "tightening=NaN"]).contains("number from"));
    assert!(build(&["--kind", "bloom", "--seed", "xyz"]).contains("hex"));
    assert!(build(&["--kind", "bloom", "--negatives", "keys"]).contains("--negatives"));
    assert!(build(&["--kind", "bloom", "--key-file", "missing"]).contains("missing"));
    assert!(
        build(&["--kind", "bloom", "--set", "m=281474976710656", "--set", "k=1"]).contains("bytes")
    );
    let refused = |args: &[&str], word: &str| {
        let message = place.refused(args);
        assert!(message.contains(word), "{args:?}: {message}");
    };
    refused(&["build", "missing", "-o", "f.evb", "--kind", "bloom"], "missing");
    refused(&["build", "empty", "-o", "f.evb", "--kind", "bloom"], "no keys");
    refused(&["build", "keys", "-o", "no/such/folder/f.evb", "--kind", "bloom"], "no folder");
    refused(&["build", "keys", "-o", ".", "--kind", "bloom"], "folder");
    refused(&["build", ".", "-o", "f.evb", "--kind", "bloom"], "folder");
    refused(&["info", "empty"], "empty");
    refused(&["info", "text"], "not an everbloom filter");
    refused(&["check", "text"], "not an everbloom filter");
    refused(&["info", "missing.evb"], "missing.evb");
    refused(&["info", "."], "folder");
    assert_eq!(place.names(), before, "nothing was written");
}

#[test]
fn an_empty_input_with_a_size_makes_an_empty_filter() {
    let place = Place::new();
    let built = place.run_with(&["build", "-", "-o", "f.evb", "--kind", "bloom", "-n", "100"], b"");
    assert_eq!(built.code, 0, "{}", built.err);
    assert_eq!(json(&place.run(&["info", "f.evb", "--json"]).out)["items"], 0);
}

#[test]
fn a_damaged_filter_is_refused() {
    let place = Place::new();
    place.file("keys", "a\nb\n");
    place.run(&["build", "keys", "-o", "f.evb", "--kind", "bloom"]);
    let mut bytes = std::fs::read(place.path("f.evb")).expect("a file");
    let last = bytes.len() - 1;
    for (at, word) in [(9, "version"), (100, "checksum"), (last, "checksum")] {
        bytes[at] ^= 1;
        place.file("damaged.evb", &bytes);
        for verb in ["info", "check"] {
            let message = place.refused(&[verb, "damaged.evb"]);
            assert!(message.contains(word), "{verb}: {message}");
        }
        bytes[at] ^= 1;
    }
    place.file("cut.evb", &bytes[..last]);
    assert!(place.refused(&["check", "cut.evb"]).contains("truncated"));
}

#[test]
fn a_rebuilt_file_is_replaced_whole_or_not_at_all() {
    let place = Place::new();
    place.file("keys", "a\nb\n");
    place.file("bad", "1\nx\n");
    place.run(&["build", "keys", "-o", "f.evb", "--kind", "bloom"]);
    let before = std::fs::read(place.path("f.evb")).expect("a file");
    place.refused(&["build", "bad", "-o", "f.evb", "--kind", "bloom", "--key-type", "u64"]);
    assert_eq!(std::fs::read(place.path("f.evb")).expect("a file"), before);
    assert_eq!(place.names(), ["bad", "f.evb", "keys"], "no temporary file is left");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let place = Place::new();
    place.file("keys", "a\nb\n");
    let message = place.refused(&["build", "keys", "-o", "/dev/full", "--kind", "bloom"]);
    assert!(message.contains("No space left") && message.contains("free some space"), "{message}");
    assert!(!Path::new("/dev/full").is_file(), "a device stays one");
}

#[test]
fn over_capacity_completes_and_warns() {
    let place = Place::new();
    let keys = place.file("keys", (0..1000).map(|i| format!("{i}\n")).collect::<String>());
    let built = place.run(&["build", &keys, "-o", "f.evb", "--kind", "bloom", "-n", "100"]);
    assert_eq!(built.code, 0);
    assert!(built.err.contains("warning") && built.err.contains("-n 1000"), "{}", built.err);
}

#[test]
fn build_prints_json_for_machines() {
    let place = Place::new();
    place.file("keys", "a\nb\n");
    let args = [
        "build", "keys", "-o", "f.evb", "--kind", "bloom", "--seed", "2a", "--memory", "1kB",
        "--json",
    ];
    let built = json(&place.run(&args).out);
    assert_eq!(built["items"], 2);
    assert_eq!(built["seed"], "000000000000002a");
    assert!(built["bits_cells"].as_u64().expect("bits") <= 8000);
    assert!(built["fpr_target"].as_f64().expect("a rate") < 1e-100);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let place = Place::new();
    let keys = place.file("keys", (0..200_000).map(|i| format!("{i}\n")).collect::<String>());
    place.run(&["build", &keys, "-o", "f.evb", "--kind", "bloom"]);
    let mut child = place.command(&["check", "f.evb", &keys]).spawn().expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_demo_runs_and_shows_rates_and_a_picture() {
    let short = Place::new().run(&["demo"]);
    assert!(short.out.contains("blocked") && !short.out.contains("omass"), "{}", short.out);
    let run = Place::new().run(&["demo", "--all"]);
    assert_eq!(run.code, 0, "{}", run.err);
    for variant in catalog().iter().filter(|v| v["kind"] == "filter") {
        assert!(run.out.contains(variant["slug"].as_str().expect("a slug")));
    }
    assert!(run.out.contains('●') && run.out.contains("predicted"));
}
