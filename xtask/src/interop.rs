//! Filters that `build --format` writes, opened by the software that the format belongs to: its answers to every query
//! must be those of `check`. Installs nothing; what is not there is skipped, and said.
//!
//! Python packages are those of `EVERBLOOM_PYTHON` or of the `python3` in the path. The jars are those that pyspark brings,
//! or the folder `EVERBLOOM_JARS`; they need a JDK.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::output;

const MEMBERS: usize = 1000;
const NON_MEMBERS: usize = 20_000;

/// Formats that Java libraries read, and how the names of their jars begin.
const JARS: &[(&str, &str)] = &[
    ("guava", "guava-"),
    ("spark", "spark-sketch_"),
    ("parquet", "parquet-column-"),
    ("orc", "orc-core-"),
    ("datasketches", "datasketches-java-"),
    ("hadoop", "hadoop-client-api-"),
    ("hive", "hive-storage-api-"),
];
/// Formats that Python packages read.
const PACKAGES: &[&str] =
    &["rbloom", "pyprobables", "pybloom-live", "bip37", "fastbloom-rs", "dcso"];

pub fn run() -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|e| e.to_string())?;
    let trial = Trial::new(place.path())?;
    println!(
        "| format | read by | members found | others found | answers |\n|---|---|--:|--:|---|"
    );
    let Some(python) = crate::python::find("interop") else { return Ok(()) };
    let packages = trial.packages(&python)?;
    let script = scripts().join("check.py");
    for format in PACKAGES {
        match packages.get(*format) {
            Some(name) => {
                trial.compare(format, name, Command::new(&python).arg(&script).arg(format))?
            }
            None => println!("| `{format}` | SKIPPED: its Python package is not there | | | |"),
        }
    }
    trial.java(&python, &script, packages.contains_key("jars"))?;
    match (packages.get("parquet-writer"), packages.get("parquet-pruning")) {
        (Some(writer), Some(reader)) => {
            trial.prunes(&python, &script, &format!("{reader}, in a file by {writer}"))
        }
        _ => {
            println!("| `parquet` | SKIPPED: pyarrow or duckdb is not there | | | |");
            Ok(())
        }
    }
}

fn scripts() -> PathBuf {
    crate::root().join("xtask/interop")
}

struct Trial<'a> {
    command: PathBuf,
    place: &'a Path,
}

impl<'a> Trial<'a> {
    fn new(place: &'a Path) -> Result<Self, String> {
        let trial = Self { command: crate::command(crate::Profile::Dev)?, place };
        let keys: String = (0..MEMBERS).map(|i| format!("item-{i}\n")).collect();
        let others: String = (0..NON_MEMBERS).map(|i| format!("absent-{i}\n")).collect();
        trial.write("queries", &(keys.clone() + &others))?;
        trial.write("keys", &keys)?;
        Ok(trial)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<(), String> {
        fs::write(self.place.join(name), bytes).map_err(|e| format!("{name}: {e}"))
    }

    fn everbloom(&self, args: &[&str]) -> Result<Vec<u8>, String> {
        output(Command::new(&self.command).args(args).current_dir(self.place))
    }

    /// What the other software says of the queries of a file.
    fn asked(&self, reader: &mut Command, file: &str) -> Result<Vec<u8>, String> {
        let queries = fs::File::open(self.place.join("queries")).map_err(|e| e.to_string())?;
        output(reader.arg(self.place.join(file)).stdin(queries).current_dir(self.place))
    }

    /// Names and versions of the Python packages there are, by format.
    fn packages(&self, python: &str) -> Result<BTreeMap<String, String>, String> {
        let listed =
            output(Command::new(python).arg(scripts().join("check.py")).arg("--packages"))?;
        let entry = |line: &str| {
            let (format, package) = line.split_once('\t')?;
            Some((format.to_owned(), package.replace('\t', " ")))
        };
        Ok(String::from_utf8_lossy(&listed).lines().filter_map(entry).collect())
    }

    /// Builds a filter, and compares what `reader` finds in it with what the command finds.
    fn compare(&self, format: &str, name: &str, reader: &mut Command) -> Result<(), String> {
        let kind = ["--format", format, "--keys-as", "string"];
        self.everbloom(&[&["build", "keys", "-q", "-o", format][..], &kind].concat())?;
        let ours = self.everbloom(&[&["check", format, "queries"][..], &kind].concat())?;
        let theirs = self.asked(reader, format)?;
        if ours != theirs {
            return Err(format!("{name} reads our {format} otherwise than we do"));
        }
        let (found, members) = (lines(&ours), ours.split(|b| *b == b'\n'));
        let members = members.filter(|line| line.starts_with(b"item-")).count();
        if members != MEMBERS {
            return Err(format!("{name} finds {members} of {MEMBERS} members"));
        }
        println!("| `{format}` | {name} | {members} | {} | same as `check` |", found - members);
        Ok(())
    }

    /// The formats of Java libraries.
    fn java(&self, python: &str, script: &Path, pyspark: bool) -> Result<(), String> {
        let jars = match std::env::var("EVERBLOOM_JARS") {
            Ok(folder) => folder,
            Err(_) if pyspark => {
                let folder = output(Command::new(python).arg(script).arg("--jars"))?;
                String::from_utf8_lossy(&folder).trim().to_owned()
            }
            Err(_) => String::new(),
        };
        let names: Vec<String> = fs::read_dir(&jars)
            .map(|files| {
                files.flatten().map(|f| f.file_name().to_string_lossy().into_owned()).collect()
            })
            .unwrap_or_default();
        let classes = format!("{jars}/*");
        let source = scripts().join("Check.java");
        let mut javac = Command::new("javac");
        javac.args(["-nowarn", "-cp", &classes, "-d"]).arg(self.place).arg(source);
        if names.is_empty() || output(&mut javac).is_err() {
            println!("| {} formats | SKIPPED: no jars, or no JDK | | | |", JARS.len());
            return Ok(());
        }
        let path = format!("{}:{classes}", self.place.display());
        for (format, prefix) in JARS {
            let Some(jar) = names.iter().find(|name| name.starts_with(prefix)) else {
                println!("| `{format}` | SKIPPED: no {prefix}*.jar | | | |");
                continue;
            };
            let mut java = Command::new("java");
            self.compare(format, jar, java.args(["-cp", &path, "Check", format]))?;
        }
        Ok(())
    }

    /// Puts filters of ours in the place of those that pyarrow wrote: each holds the values of its row group and some
    /// further keys. DuckDB must then rule out the row groups in which `check` finds nothing, and no others, and still find
    /// every row.
    fn prunes(&self, python: &str, script: &Path, name: &str) -> Result<(), String> {
        const GROUPS: usize = 4;
        const ROWS: usize = 1000;
        let (groups, rows) = (GROUPS.to_string(), ROWS.to_string());
        let mut writer = Command::new(python);
        writer.arg(script).args(["write-parquet", "table.parquet", &groups, &rows]);
        output(writer.current_dir(self.place))?;
        let read = |name: &str| fs::read(self.place.join(name)).map_err(|e| e.to_string());
        let mut table = read("table.parquet")?;
        let further = |group: usize| (0..50).map(move |i| format!("further-{}\n", 50 * group + i));
        let mut at = 0;
        for group in 0..GROUPS {
            let values = (group..GROUPS * ROWS).step_by(GROUPS).map(|i| format!("item-{i}\n"));
            self.write("values", values.chain(further(group)).collect::<String>())?;
            self.everbloom(&[
                "build", "values", "-q", "-n", &rows, "-o", "part", "--format", "parquet",
            ])?;
            let part = read("part")?;
            // A header of the same length and numbers stands in front of each, since both have the same size.
            let head = part.len() - (1 << part.len().ilog2());
            let found = table[at..].windows(head).position(|bytes| *bytes == part[..head]);
            at += found.ok_or("a filter of pyarrow has another size than ours")?;
            table[at..at + part.len()].copy_from_slice(&part);
            at += part.len();
        }
        self.write("table.parquet", &table)?;
        let items = (0..GROUPS * ROWS).step_by(7).map(|i| format!("item-{i}\n"));
        let further = (0..GROUPS).flat_map(further);
        let absent = (0..500).map(|i| format!("absent-{i}\n"));
        self.write("queries", items.chain(further).chain(absent).collect::<String>())?;
        let mut duckdb = Command::new(python);
        let said = self.asked(duckdb.arg(script).arg("parquet-pruning"), "table.parquet")?;
        let kept = (0..GROUPS).map(|group| {
            let group = group.to_string();
            let found = self.everbloom(&[
                "check",
                "table.parquet",
                "queries",
                "--column",
                "s",
                "--row-group",
                &group,
            ])?;
            Ok(String::from_utf8_lossy(&found).lines().map(str::to_owned).collect::<Vec<_>>())
        });
        let kept = kept.collect::<Result<Vec<_>, String>>()?;
        let (mut members, mut ruled_out) = (0, 0);
        for line in String::from_utf8_lossy(&said).lines() {
            let mut columns = line.split('\t');
            let (key, rows) = (columns.next().unwrap_or(""), columns.next().unwrap_or(""));
            let ours: Vec<String> = (0..GROUPS)
                .filter(|group| !kept[*group].iter().any(|found| found == key))
                .map(|group| group.to_string())
                .collect();
            let member = key.starts_with("item-");
            if columns.next() != Some(&ours.join(",")) || (rows == "1") != member {
                return Err(format!("DuckDB prunes otherwise than our filters say: {line}"));
            }
            members += usize::from(member);
            ruled_out += ours.len();
        }
        println!(
            "| `parquet` | {name} | {members} | – | rules out the same {ruled_out} row groups |"
        );
        Ok(())
    }
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}
