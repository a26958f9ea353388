//! Compares the reader in `docs/format`, which knows FORMAT.md alone, with the command, on files of every variant that
//! it reads.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

/// Sizes of the default form's files: even, odd, a power of two. Of other forms, the odd one is read.
const SIZES: [usize; 3] = [2000, 2001, 2048];
const MEMBERS: usize = 2000;
const NON_MEMBERS: usize = 20_000;

/// Variants with the settings of their files, and options beside them.
const CASES: &[(&str, &[&str], &[&str])] = &[
    ("bloom", &["", "scheme=ring", "scheme=double", "scheme=enhanced", "hash=xxh64"], &[]),
    ("partitioned", &["", "hash=xxh3-64"], &[]),
    ("blocked", &["", "form=mixed", "form=patterns", "hash=fold-64"], &[]),
    ("split-block", &[""], &[]),
    ("counting", &["", "hash=murmur-64a"], &[]),
    ("stable", &[""], &[]),
    ("deletable", &[""], &[]),
    ("one-hash", &[""], &[]),
    ("scalable", &[""], &["-n", "300"]),
    ("dynamic", &["", "form=bits"], &["-n", "1000"]),
    ("forest", &[""], &["-n", "500"]),
    ("compressed", &[""], &[]),
    ("golomb", &["", "form=rice"], &[]),
    ("binary-fuse", &["", "form=four"], &[]),
    ("ribbon", &["", "form=standard", "form=homogeneous"], &[]),
    ("bloomier", &["", "form=mutable"], &[]),
    ("conservative-update", &["", "form=shared"], &[]),
    ("count-min", &["", "form=signed"], &[]),
    ("cuckoo", &["", "form=semi-sorted", "form=redisbloom"], &[]),
    ("quotient", &["", "form=status-bits"], &[]),
];

pub fn run() -> Result<(), String> {
    let Some(python) = crate::python::find("reader") else { return Ok(()) };
    let command = crate::command(crate::Profile::Dev)?;
    let place = tempfile::tempdir().map_err(|e| e.to_string())?;
    let trial = Trial { command, python, place: place.path().to_owned() };
    trial.write_keys().map_err(|e| e.to_string())?;
    let mut files = Vec::new();
    for (kind, settings, options) in CASES {
        for setting in *settings {
            let sizes = if setting.is_empty() { &SIZES[..] } else { &SIZES[1..2] };
            for &size in sizes {
                files.push(trial.build(kind, setting, options, size)?);
            }
        }
    }
    let read = trial.read(&files)?;
    println!("{:<36} {:>8} {:>12}", "file", "members", "non-members");
    for file in &files {
        trial.compare(file, &read)?;
    }
    println!(
        "{} files of {} variants: the reader says what the command says",
        files.len(),
        CASES.len()
    );
    Ok(())
}

struct Trial {
    command: PathBuf,
    python: String,
    place: PathBuf,
}

impl Trial {
    /// Keys of all lengths that hashes treat differently; labels for variants that take them.
    fn write_keys(&self) -> io::Result<()> {
        let key = |i: usize| {
            format!("key-{i}{}", "x".repeat(if i.is_multiple_of(32) { i % 300 } else { 0 }))
        };
        let lines =
            |range: std::ops::Range<usize>| range.map(|i| key(i) + "\n").collect::<String>();
        let others = 1_000_000..1_000_000 + NON_MEMBERS;
        fs::write(self.place.join("queries"), lines(0..MEMBERS) + &lines(others))?;
        for size in SIZES {
            fs::write(self.place.join(format!("keys-{size}")), lines(0..size))?;
            let labeled = (0..size).map(|i| format!("{}\tlabel {}\n", key(i), i % 7));
            fs::write(self.place.join(format!("labels-{size}")), labeled.collect::<String>())?;
        }
        Ok(())
    }

    /// Builds a file; returns its name.
    fn build(
        &self,
        kind: &str,
        setting: &str,
        options: &[&str],
        size: usize,
    ) -> Result<String, String> {
        let name = format!("{kind} {setting} {size}").replace("  ", " ");
        let input = if kind == "bloomier" { "labels" } else { "keys" };
        let mut command = Command::new(&self.command);
        command.args(["build", &format!("{input}-{size}"), "-q", "--kind", kind, "-o", &name]);
        if !setting.is_empty() {
            command.args(["--set", setting]);
        }
        self.output(command.args(options)).map(|_| name)
    }

    /// What the reader finds in all the files: lines of a name, a TAB and a query.
    fn read(&self, files: &[String]) -> Result<Vec<u8>, String> {
        let reader = crate::root().join("docs/format/everbloom_reader.py");
        let reader = reader.canonicalize().map_err(|e| e.to_string())?;
        let queries = fs::File::open(self.place.join("queries")).map_err(|e| e.to_string())?;
        self.output(Command::new(&self.python).arg(reader).args(files).stdin(queries))
    }

    /// Refuses a file of which the reader finds other queries than the command.
    fn compare(&self, file: &str, read: &[u8]) -> Result<(), String> {
        let found = self.output(Command::new(&self.command).args(["check", file, "queries"]))?;
        let found: Vec<&[u8]> = found.split(|b| *b == b'\n').filter(|q| !q.is_empty()).collect();
        let named = read.split(|b| *b == b'\n').filter_map(|line| {
            line.strip_prefix(file.as_bytes()).and_then(|rest| rest.strip_prefix(b"\t"))
        });
        let named: Vec<&[u8]> = named.collect();
        let other =
            found.iter().find(|q| !named.contains(q)).or(named.iter().find(|q| !found.contains(q)));
        if let Some(query) = other {
            let query = String::from_utf8_lossy(query);
            return Err(format!("{file}: the reader and the command disagree on {query:?}"));
        }
        let members = found.iter().filter(|q| number(q) < MEMBERS).count();
        println!("{file:<36} {members:>8} {:>12}", found.len() - members);
        Ok(())
    }

    fn output(&self, command: &mut Command) -> Result<Vec<u8>, String> {
        crate::output(command.current_dir(&self.place))
    }
}

/// The number in a key.
fn number(key: &[u8]) -> usize {
    let digits = key.iter().filter(|b| b.is_ascii_digit());
    digits.fold(0, |number, digit| 10 * number + usize::from(digit - b'0'))
}
