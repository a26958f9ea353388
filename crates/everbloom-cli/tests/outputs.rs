//! What verbs write: no input is lost, no file of another kind, and no change that another process was told is made.

use std::fs::{self, File};
use std::path::Path;
use std::process::Child;

mod place;

use place::{Place, Run, command, fed};

/// A verb that writes.
struct Writes {
    /// The command line, without `-q`.
    line: &'static str,
    /// What it writes, or one of the files.
    out: &'static str,
    /// What it reads, and must not write to.
    inputs: &'static [&'static str],
    /// Whether what is there is read first, as an index that grows is: another kind of file cannot be.
    grows: bool,
}

const fn writes(line: &'static str, out: &'static str, inputs: &'static [&'static str]) -> Writes {
    Writes { line, out, inputs, grows: false }
}

const GROWS: bool = true;

const ALL: &[Writes] = &[
    writes("build k.txt -o out.evb", "out.evb", &["k.txt"]),
    writes("build k.txt -o out.evb --kind forest -n 100", "out.evb", &["k.txt"]),
    writes("build k.txt -o out.evb --key-file key.hex", "out.evb", &["k.txt", "key.hex"]),
    writes(
        "build k.txt -o out.evb --kind complement -p 5% --negatives other.txt",
        "out.evb",
        &["k.txt", "other.txt"],
    ),
    writes("build priors.txt -o out.evb --priors", "out.evb", &["priors.txt"]),
    writes("build k.txt -o out.evb --like a.evb", "out.evb", &["k.txt"]),
    writes("build k.txt -o out.digest --format squid", "out.digest", &["k.txt"]),
    writes("build k.txt -o out.guava --format guava", "out.guava", &["k.txt"]),
    writes("sketch k.txt -o out.sketch", "out.sketch", &["k.txt"]),
    writes("merge a.evb b.evb -o out.evb", "out.evb", &[]),
    writes("intersect a.evb b.evb -o out.evb", "out.evb", &[]),
    writes("fold a.evb -o out.evb", "out.evb", &[]),
    writes("import f.guava -o out.evb", "out.evb", &["f.guava"]),
    writes("export split.evb --format parquet -o out.parquet", "out.parquet", &["split.evb"]),
    writes("top k.txt -o out.evb", "out.evb", &["k.txt"]),
    writes("top --merge one.top two.top -o out.evb", "out.evb", &[]),
    writes("top k.txt --exact -n 100 -o out", "out/counts.evb", &["k.txt"]),
    writes("known -r k.txt -o out.evb", "out.evb", &["k.txt"]),
    writes("link people.csv -o out.evb", "out.evb", &["people.csv"]),
    writes("kmer build s.fa -o out.evk", "out.evk", &["s.fa"]),
    Writes {
        line: "kmer add samples.evk t.fa",
        out: "samples.evk",
        inputs: &["t.fa"],
        grows: GROWS,
    },
    writes(
        "revoked build --revoked k.txt --valid other.txt -o out",
        "out/set.json",
        &["k.txt", "other.txt"],
    ),
    writes(
        "revoked build --revoked k.txt --valid other.txt -o out --form dual",
        "out/valid.evb",
        &["k.txt"],
    ),
    writes("revoked prove k.txt a -o out.proof", "out.proof", &["k.txt"]),
    writes("publish k.txt -o out", "out/1.full", &["k.txt"]),
    writes("follow feed -o out.evb", "out.evb", &[]),
    writes(
        "secure index build doc.txt --key-file key.hex -o out.index",
        "out.index",
        &["doc.txt", "key.hex"],
    ),
    writes(
        "secure index trapdoor k.txt --key-file key.hex -o out.door",
        "out.door",
        &["k.txt", "key.hex"],
    ),
    writes(
        "secure query setup k.txt --key-file key.hex -o out.set",
        "out.set",
        &["k.txt", "key.hex"],
    ),
    writes(
        "secure query ask one.set k.txt --key-file key.hex -o out.ask",
        "out.ask",
        &["one.set", "k.txt", "key.hex"],
    ),
    writes(
        "secure query answer one.ask --key-file key.hex -o out.answer",
        "out.answer",
        &["one.ask", "key.hex"],
    ),
    writes("plan -n 1000 -p 1% --kind bloom --svg out.svg", "out.svg", &[]),
    writes("explain a.evb a --svg out.svg", "out.svg", &["a.evb"]),
    writes("reshape q.evb double -o out.evb", "out.evb", &[]),
    writes("man -o out", "out/everbloom-add.1", &[]),
];

/// Verbs that write nothing but a folder that must be new.
const NEW_FOLDERS: [&str; 2] = ["attribute build", "breach build"];

/// Everything that the lines above read.
fn prepared() -> Place {
    let place = Place::new();
    place.file("k.txt", "a\nb\nc\n");
    place.file("other.txt", "d\ne\nf\n");
    place.file("priors.txt", "a\t0.5\nb\t0.5\n");
    place.file("doc.txt", "three short words");
    place.file("people.csv", "id,name\n1,Ann Smith\n2,Bob Jones\n");
    place.file("key.hex", "0f".repeat(16));
    place.file("long.hex", "0f".repeat(32));
    let letters: String = (0..200).map(|i| b"ACGT"[i * i / 3 % 4] as char).collect();
    place.file("s.fa", format!(">s\n{letters}\n"));
    place.file("t.fa", format!(">t\n{letters}A\n"));
    for line in [
        "build k.txt -o a.evb -n 100",
        "build other.txt -o b.evb -n 100",
        "build k.txt -o split.evb --kind split-block -n 100",
        "build k.txt -o f.guava --format guava",
        "build k.txt -o q.evb --kind quotient -n 100",
        "top k.txt -o one.top",
        "top other.txt -o two.top",
        "kmer build s.fa -o samples.evk",
        "publish k.txt -o feed",
        "secure query setup k.txt --key-file long.hex -o one.set",
        "secure query ask one.set k.txt --key-file long.hex -o one.ask",
    ] {
        place.ok(&format!("{line} -q"), "");
    }
    place
}

/// The line as it is run: `secure` has longer keys.
fn line(verb: &Writes) -> String {
    let line = format!("{} -q", verb.line);
    if line.starts_with("secure") { line.replace("key.hex", "long.hex") } else { line }
}

fn input(verb: &Writes, name: &'static str) -> &'static str {
    if verb.line.starts_with("secure") && name == "key.hex" { "long.hex" } else { name }
}

/// The table above has every verb with an option for an output.
#[test]
fn every_verb_that_writes_is_tried() {
    let script = Place::new().ok("completions bash", "");
    let (mut verb, mut found) = ("", 0);
    for text in script.lines().map(str::trim) {
        if let Some(name) = text.strip_suffix(')') {
            verb = name;
        }
        if !text.starts_with("opts=") || !(text.contains(" --output ") || text.contains(" --svg "))
        {
            continue;
        }
        let words = verb.trim_start_matches("everbloom__subcmd__").replace("__subcmd__", " ");
        found += 1;
        let listed = ALL.iter().any(|row| row.line.starts_with(&format!("{words} ")));
        assert!(listed || NEW_FOLDERS.contains(&&*words), "{words} writes a file");
        if listed {
            let forces = text.contains(" --force ") && text.contains(" --wait ");
            assert!(forces, "{words} has --force and --wait");
        }
    }
    assert!(found > 20, "{found} verbs");
}

/// By its own name, by a hard link, by a symbolic link: with or without `--force`.
#[cfg(unix)]
#[test]
fn no_input_is_replaced() {
    for verb in ALL {
        for name in verb.inputs.iter().map(|name| input(verb, name)) {
            let place = prepared();
            let path = |name: &str| place.folder.path().join(name);
            let kept = place.bytes(name);
            let folder = path(verb.out).parent().expect("a folder").to_owned();
            fs::create_dir_all(folder).expect("a folder");
            let lines = |line: &str| [line.to_owned(), format!("{line} --force")];
            let try_it = |line: &str, how: &str| {
                for line in lines(line) {
                    let said = place.refused(&line, "");
                    assert!(said.contains("is an input"), "{line} ({how}): {said}");
                    assert!(place.bytes(name) == kept, "{line} ({how})");
                }
            };
            if !verb.out.contains('/') && !verb.grows {
                try_it(&line(verb).replace(verb.out, name), "its own name");
            }
            let _ = fs::remove_file(path(verb.out));
            fs::hard_link(path(name), path(verb.out)).expect("a link");
            try_it(&line(verb), "a hard link");
            fs::remove_file(path(verb.out)).expect("removed");
            std::os::unix::fs::symlink(path(name), path(verb.out)).expect("a link");
            try_it(&line(verb), "a symbolic link");
        }
    }
}

#[cfg(unix)]
#[test]
fn stdin_is_an_input_too() {
    let place = prepared();
    for line in ["build - -o k.txt -n 10 -q", "sketch - -o k.txt --force -q", "top -o k.txt -q"] {
        let mut command = command(place.folder.path(), line.split(' '));
        command.stdin(File::open(place.folder.path().join("k.txt")).expect("a file"));
        let run = Run::of(&command.output().expect("it runs"));
        assert_eq!(run.code, 2, "{line}");
        assert!(run.err.contains("is an input"), "{line}: {}", run.err);
    }
    assert_eq!(place.bytes("k.txt"), b"a\nb\nc\n");
}

#[test]
fn another_kind_of_file_is_replaced_only_if_forced() {
    for verb in ALL {
        let (place, line) = (prepared(), line(verb));
        let path = place.folder.path().join(verb.out);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        for other in [&b"notes of somebody\n"[..], b"0123456789 and so on\n", &[0xff; 100]] {
            fs::write(&path, other).expect("a file");
            let said = place.refused(&line, "");
            assert!(said.contains("--force") && said.contains(verb.out), "{line}: {said}");
            assert!(place.bytes(verb.out) == other, "{line}");
        }
        if verb.grows {
            continue;
        }
        let run = place.run(&format!("{line} --force"), "");
        assert_eq!((run.code, &*run.err), (0, ""), "{line} --force");
        let made = place.bytes(verb.out);
        assert!(!made.starts_with(b"\xff"), "{line}");
        // What it has written itself it replaces, and an empty file.
        let again = place.run(&line, "");
        assert!(again.code < 2 && again.err.is_empty(), "{line} again: {}", again.err);
        for file in fs::read_dir(path.parent().expect("a folder")).expect("a folder") {
            let file = file.expect("a file").path();
            if verb.out.contains('/') {
                fs::remove_file(file).expect("removed")
            }
        }
        fs::write(&path, "").expect("a file");
        place.ok(&line, "");
        assert!(!place.bytes(verb.out).is_empty(), "{line}");
    }
}

/// A file of another verb is another kind, too.
#[test]
fn kinds_are_told_apart() {
    let place = prepared();
    place.ok("sketch k.txt -o k.sketch -q", "");
    for (line, out) in [
        ("build k.txt -o k.sketch", "k.sketch"),
        ("sketch k.txt -o a.evb", "a.evb"),
        ("kmer build s.fa -o a.evb", "a.evb"),
        ("explain a.evb a --svg b.evb", "b.evb"),
        ("build k.txt -o f.guava", "f.guava"),
        ("build k.txt -o a.evb --format guava", "a.evb"),
        ("secure query setup k.txt --key-file long.hex -o a.evb", "a.evb"),
    ] {
        let kept = place.bytes(out);
        assert!(place.refused(line, "").contains("is not recognized as"), "{line}");
        assert!(place.bytes(out) == kept, "{line}");
    }
    // A pipe or a device holds nothing.
    for line in ["build k.txt -o /dev/null -q", "sketch k.txt -o /dev/null -q"] {
        if Path::new("/dev/null").exists() {
            place.ok(line, "");
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let null = fs::metadata("/dev/null").expect("a device");
        assert!(null.file_type().is_char_device(), "it is still there");
    }
}

/// Filters that are read whole before they are replaced.
#[test]
fn filters_are_merged_in_place() {
    let place = prepared();
    place.ok("merge a.evb b.evb -o a.evb -q", "");
    assert_eq!(place.ok("check a.evb - -q", "a\nd\n"), "a\nd\n");
    place.ok("fold a.evb -o a.evb -q", "");
    place.ok("build k.txt --like b.evb -o b.evb -q", "");
    place.ok("top --merge one.top two.top -o one.top -q", "");
}

#[cfg(unix)]
#[test]
fn read_only_files_stay_as_they_are_unless_forced() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = prepared();
    place.ok("build k.txt -o counts.evb --kind counting -n 100 -q", "");
    place.ok("build k.txt -o old.evb --kind stable -n 100 -q", "");
    place.ok("build k.txt -o pages/ --kind forest -n 100 -q", "");
    let close = |name: &str| {
        let path = place.folder.path().join(name);
        let mut permissions = fs::metadata(&path).expect("a file").permissions();
        permissions.set_mode(0o444);
        fs::set_permissions(path, permissions).expect("permitted");
    };
    for (line, file) in [
        ("add a.evb k.txt", "a.evb"),
        ("remove counts.evb k.txt", "counts.evb"),
        ("age old.evb 10", "old.evb"),
        ("add pages k.txt", "pages/manifest"),
        ("build k.txt -o b.evb", "b.evb"),
        ("merge a.evb a.evb -o a.evb", "a.evb"),
        ("kmer add samples.evk t.fa", "samples.evk"),
    ] {
        close(file);
        let kept = place.bytes(file);
        let said = place.refused(line, "");
        assert!(said.contains("read-only") && said.contains("--force"), "{line}: {said}");
        assert!(place.bytes(file) == kept, "{line}");
        place.ok(&format!("{line} --force -q"), "");
        let mode = fs::metadata(place.folder.path().join(file)).expect("a file").permissions();
        assert_eq!(mode.mode() & 0o777, 0o444, "{line}");
    }
}

/// Beside a limit that kills who writes beyond it, the verb says so and leaves nothing behind.
#[cfg(target_os = "linux")]
#[test]
fn limits_on_the_length_of_files_are_errors() {
    let place = prepared();
    let keys: String = (0..20_000).map(|i| format!("{i}\n")).collect();
    place.file("many.txt", keys);
    let kept = place.bytes("a.evb");
    for line in [
        "build many.txt -o a.evb",
        "build many.txt -o pages/ --kind forest",
        "sketch many.txt -o many.sketch -n 10k",
        "add a.evb many.txt",
        "kmer build s.fa t.fa -o many.evk -p 0.00001 -q",
    ] {
        let script = format!("ulimit -f 4; exec {} {line}", env!("CARGO_BIN_EXE_everbloom"));
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).current_dir(place.folder.path());
        let run = Run::of(&shell.output().expect("a shell"));
        // What fits is written.
        let fits = run.code == 0 && line.starts_with("add");
        let said = run.code == 2 && run.err.contains("exceed the limit of this process");
        assert!(fits || said, "{line}: {} {}", run.code, run.err);
        let left = fs::read_dir(place.folder.path()).expect("a folder");
        let left: Vec<_> = left.map(|entry| entry.expect("a file").file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".evb-")), "{left:?}");
    }
    assert!(place.bytes("a.evb").len() == kept.len());
}

fn ends(child: Child) -> Run {
    Run::of(&child.wait_with_output().expect("it ends"))
}

/// 25 merges into a file that 100 others add to.
#[test]
fn merges_and_additions_lose_nothing() {
    let place = Place::new();
    place.ok("build - -o all.evb -n 2000 -q", "");
    for i in 0..25 {
        place.ok(&format!("build - -o {i}.evb --like all.evb -q"), &format!("merged {i}\n"));
    }
    let folder = place.folder.path();
    std::thread::scope(|scope| {
        for adder in 0..4 {
            scope.spawn(move || {
                for i in (adder..100).step_by(4) {
                    let add = command(folder, ["add", "all.evb", "-", "--wait", "-q"]);
                    let run = ends(fed(add, format!("added {i}\n").as_bytes()));
                    assert_eq!(run.code, 0, "{}", run.err);
                }
            });
        }
        scope.spawn(move || {
            for i in 0..25 {
                let line = format!("merge all.evb {i}.evb -o all.evb --wait -q");
                let run = ends(fed(command(folder, line.split(' ')), b""));
                assert_eq!(run.code, 0, "{}", run.err);
            }
        });
    });
    let all: String = (0..100).map(|i| format!("added {i}\n")).collect();
    let merged: String = (0..25).map(|i| format!("merged {i}\n")).collect();
    let found = place.ok("check all.evb - -q", &(all + &merged));
    assert_eq!(found.lines().count(), 125, "nothing is lost");
}

/// Whoever does not wait is refused, or what it did is there.
#[test]
fn merges_that_do_not_wait_are_refused_or_kept() {
    let place = Place::new();
    place.ok("build - -o all.evb -n 2000 -q", "");
    for i in 0..40 {
        place.ok(&format!("build - -o {i}.evb --like all.evb -q"), &format!("merged {i}\n"));
    }
    let folder = place.folder.path();
    let start = |i: u32| {
        let line = format!("merge all.evb {i}.evb -o all.evb -q");
        let add = command(folder, ["add", "all.evb", "-", "-q"]);
        let added = format!("added {i}\n");
        [fed(command(folder, line.split(' ')), b""), fed(add, added.as_bytes())]
    };
    let mut done = String::new();
    for group in 0..10 {
        let started: Vec<_> = (4 * group..4 * group + 4).map(|i| (i, start(i))).collect();
        for (i, [merge, add]) in started {
            for (child, what) in [(merge, "merged"), (add, "added")] {
                let run = ends(child);
                match run.code {
                    0 => done += &format!("{what} {i}\n"),
                    _ => assert!(run.err.contains("another process is changing it"), "{}", run.err),
                }
            }
        }
    }
    assert!(!done.is_empty(), "someone comes first");
    assert_eq!(place.ok("check all.evb - -q", &done), done, "nothing is lost");
}
