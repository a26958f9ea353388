//! What a build costs, with the library as a dependency and of the command: docs/performance/weight.md.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{marks, root};

/// What is built from an empty folder, and what it may cost at most.
struct Build {
    name: &'static str,
    of: Of,
    /// Seconds of all cores together.
    most_seconds: f64,
    /// Bytes of the program.
    most_bytes: Option<u64>,
}

enum Of {
    /// A program outside the workspace: its text, and how it names its dependency besides the path.
    Program { text: &'static str, features: &'static str },
    /// The command, as `cargo install` builds it.
    Command,
}

/// Saves and reopens one filter.
const SAVES: &str = r#"use everbloom::Bloom;

fn main() -> everbloom::Result<()> {
    let mut filter = Bloom::with_rate(1000, 0.01)?;
    filter.insert("apple");
    everbloom::save(&filter, "apples.evb")?;
    let again = everbloom::open_as::<Bloom>("apples.evb")?;
    println!("{}", again.contains("apple"));
    Ok(())
}
"#;

const BUILDS: [Build; 4] = [
    Build {
        name: "a program that saves and reopens one filter, no features",
        of: Of::Program { text: SAVES, features: "default-features = false" },
        most_seconds: 20.0,
        most_bytes: Some(1_200_000),
    },
    Build {
        name: "the same with the default features",
        of: Of::Program { text: SAVES, features: "default-features = true" },
        most_seconds: 60.0,
        most_bytes: Some(1_200_000),
    },
    Build {
        name: "the same with the feature `full`",
        of: Of::Program { text: SAVES, features: "features = [\"full\"]" },
        most_seconds: 160.0,
        most_bytes: None,
    },
    Build { name: "the command", of: Of::Command, most_seconds: 360.0, most_bytes: None },
];

/// What a build cost.
struct Cost {
    seconds: f64,
    crates: usize,
    bytes: u64,
}

/// Measures every build and writes the page; with `--check`, fails instead if one costs more than it may.
pub fn run(args: &[String]) -> Result<(), String> {
    let mut costs = Vec::new();
    for build in &BUILDS {
        let cost = measured(build)?;
        eprintln!("{}: {:.0} CPU seconds, {}", build.name, cost.seconds, megabytes(cost.bytes));
        costs.push(cost);
    }
    let table = table(&costs);
    print!("{table}");
    if args.iter().any(|arg| arg == "--check") {
        let over: Vec<String> =
            BUILDS.iter().zip(&costs).flat_map(|(build, cost)| over(build, cost)).collect();
        return if over.is_empty() { Ok(()) } else { Err(over.join("\n")) };
    }
    let page = root().join("docs/performance/weight.md");
    marks::write(&page, "builds", &table)?;
    match fs::read_to_string(root().join("target/ci-minutes.txt")) {
        Ok(text) => marks::write(&page, "steps", &steps(&text)?),
        // Not every machine has run it; what the page says of another one stays.
        Err(_) => Ok(()),
    }
}

fn measured(build: &Build) -> Result<Cost, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("a temporary folder: {e}"))?;
    let target = folder.path().join("target");
    match &build.of {
        Of::Program { text, features } => {
            write_program(folder.path(), text, features)?;
            cost(folder.path(), &target, &["build", "--release"], "weight")
        }
        Of::Command => {
            let args = ["build", "--release", "--locked", "-p", "everbloom-cli"];
            cost(&root(), &target, &args, "everbloom")
        }
    }
}

/// Writes the package of a program, with the versions of dependencies that this repository has.
fn write_program(folder: &Path, text: &str, features: &str) -> Result<(), String> {
    let library = root().join("crates/everbloom").canonicalize().map_err(|e| e.to_string())?;
    let manifest = format!(
        "[package]\nname = \"weight\"\nedition = \"2024\"\n\n\
         [dependencies]\neverbloom = {{ path = {library:?}, {features} }}\n\n\
         [profile.release]\nstrip = true\n"
    );
    let lock = fs::read(root().join("Cargo.lock")).map_err(|e| format!("Cargo.lock: {e}"))?;
    fs::create_dir(folder.join("src")).map_err(|e| e.to_string())?;
    let files = [
        ("Cargo.toml", manifest.as_bytes()),
        ("Cargo.lock", &lock),
        ("src/main.rs", text.as_bytes()),
    ];
    files.into_iter().try_for_each(|(name, bytes)| {
        fs::write(folder.join(name), bytes).map_err(|e| format!("{name}: {e}"))
    })
}

/// What cargo costs in a folder, with `target` to build into.
fn cost(folder: &Path, target: &Path, args: &[&str], program: &str) -> Result<Cost, String> {
    cargo(folder, target, &["fetch"])?;
    let said = cargo(folder, target, args)?;
    let size = fs::metadata(target.join("release").join(program));
    let bytes = size.map_err(|e| format!("{program}: {e}"))?.len();
    let crates = said.lines().filter(|line| line.trim_start().starts_with("Compiling ")).count();
    let seconds = said.lines().rev().find_map(seconds);
    Ok(Cost { seconds: seconds.ok_or("bash told no time")?, crates, bytes })
}

/// What cargo says of a run, and behind it the time of all its processes.
fn cargo(folder: &Path, target: &Path, args: &[&str]) -> Result<String, String> {
    let mut bash = Command::new("bash");
    bash.args(["-c", "TIMEFORMAT='cpu %U %S'; time cargo \"$@\"", "bash"]).args(args);
    bash.current_dir(folder).env("LC_ALL", "C");
    // Built as users do, whatever this shell has set for tests.
    let ours = |name: &str| name.starts_with("CARGO_PROFILE_") || name.starts_with("CARGO_BUILD_");
    for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
        bash.env_remove(name);
    }
    bash.env_remove("RUSTFLAGS").env_remove("CARGO_INCREMENTAL").env("CARGO_TARGET_DIR", target);
    let output = bash.output().map_err(|e| format!("bash: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(said)
    } else {
        Err(format!("cargo {}: {said}", args.join(" ")))
    }
}

/// The seconds in a line `cpu USER SYSTEM`.
fn seconds(line: &str) -> Option<f64> {
    let (user, system) = line.strip_prefix("cpu ")?.split_once(' ')?;
    Some(user.parse::<f64>().ok()? + system.parse::<f64>().ok()?)
}

/// What a build costs beyond what it may.
fn over(build: &Build, cost: &Cost) -> Vec<String> {
    let Build { name, most_seconds, most_bytes, .. } = build;
    let mut out = Vec::new();
    if cost.seconds > *most_seconds {
        out.push(format!("{name}: {:.0} CPU seconds, at most {most_seconds:.0}", cost.seconds));
    }
    if most_bytes.is_some_and(|most| cost.bytes > most) {
        let most = megabytes(most_bytes.unwrap_or_default());
        out.push(format!("{name}: a program of {}, at most {most}", megabytes(cost.bytes)));
    }
    out
}

fn table(costs: &[Cost]) -> String {
    let head = "| built | CPU seconds | at most | crates | program | at most |\n|---|--:|--:|--:|--:|--:|\n";
    let row = |(build, cost): (&Build, &Cost)| {
        let most = build.most_bytes.map(megabytes).unwrap_or_default();
        let size = megabytes(cost.bytes);
        let (name, seconds, at_most) = (build.name, cost.seconds, build.most_seconds);
        format!("| {name} | {seconds:.0} | {at_most:.0} | {} | {size} | {most} |\n", cost.crates)
    };
    head.to_owned() + &BUILDS.iter().zip(costs).map(row).collect::<String>()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// The table of the steps of `.ci/run`, of its lines `STEP<TAB>SECONDS`.
fn steps(text: &str) -> Result<String, String> {
    let step = |line: &str| {
        let (step, seconds) = line.split_once('\t')?;
        Some((step.to_owned(), seconds.parse::<f64>().ok()? / 60.0))
    };
    let read = |line| step(line).ok_or_else(|| format!("not STEP<TAB>SECONDS: {line}"));
    let steps = text.lines().map(read).collect::<Result<Vec<_>, _>>()?;
    let sum = steps.iter().map(|(_, minutes)| minutes).sum();
    let rows = steps.into_iter().chain([("all steps".to_owned(), sum)]);
    let rows: String = rows.map(|(step, minutes)| format!("| {step} | {minutes:.1} |\n")).collect();
    Ok(format!("| step | minutes |\n|---|--:|\n{rows}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_bash_tells_them() {
        assert_eq!(seconds("cpu 12.250 0.750"), Some(13.0));
        assert_eq!(seconds("   Compiling cpu v1.0.0"), None);
        let folder = tempfile::tempdir().unwrap();
        let said = cargo(folder.path(), folder.path(), &["--version"]).unwrap();
        assert!(said.lines().rev().find_map(seconds).is_some(), "{said}");
    }

    #[test]
    fn what_costs_too_much_is_told() {
        let cost = |seconds, bytes| Cost { seconds, crates: 1, bytes };
        assert_eq!(over(&BUILDS[1], &cost(59.0, 1_100_000)), [""; 0]);
        assert_eq!(over(&BUILDS[1], &cost(61.0, 1_300_000)).len(), 2);
        assert_eq!(over(&BUILDS[3], &cost(300.0, 30_000_000)), [""; 0]);
    }

    #[test]
    fn tables_have_a_row_for_each_build_and_step() {
        let costs = BUILDS.map(|_| Cost { seconds: 1.0, crates: 2, bytes: 3_000_000 });
        assert_eq!(table(&costs).lines().count(), 2 + BUILDS.len());
        let minutes =
            "| step | minutes |\n|---|--:|\n| a b | 1.5 |\n| c | 0.5 |\n| all steps | 2.0 |\n";
        assert_eq!(steps("a b\t90\nc\t30\n").as_deref(), Ok(minutes));
        assert!(steps("a 90\n").is_err());
    }

    #[test]
    fn the_page_has_a_place_for_both_tables() {
        let page = fs::read_to_string(root().join("docs/performance/weight.md")).unwrap();
        for name in ["builds", "steps"] {
            assert!(marks::filled(&page, name, "").is_ok(), "{name}");
        }
    }

    /// `.ci/run` writes what is read here, and keeps the exit code of the step that fails.
    #[test]
    fn steps_of_ci_are_timed() {
        let script = fs::read_to_string(root().join(".ci/run")).unwrap();
        let (_, rest) = script.split_once("# Times").expect("the part that times steps");
        let (times, _) = rest.split_once("\n\n").expect("its end");
        let folder = tempfile::tempdir().unwrap();
        let text =
            format!("set -euo pipefail\n# Times{times}\nstep one\ntrue\nstep two words\nexit 3\n");
        let bash = Command::new("bash").args(["-c", &text]).current_dir(folder.path()).output();
        let output = bash.unwrap();
        assert_eq!(output.status.code(), Some(3));
        let written = fs::read_to_string(folder.path().join("target/ci-minutes.txt")).unwrap();
        let names: Vec<&str> =
            written.lines().filter_map(|l| Some(l.split_once('\t')?.0)).collect();
        assert_eq!(names, ["one", "two words"]);
        assert!(steps(&written).is_ok());
        assert!(String::from_utf8_lossy(&output.stdout).contains("two words"));
    }
}
