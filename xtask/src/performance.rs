//! docs/PERFORMANCE.md: every figure on it is measured into a file of docs/performance, and copied from there.
//!
//! `performance` measures all of it, which takes hours and wants a machine of its own with sixteen cores; `performance
//! STEP` one thing, and `performance page` nothing: it only copies. A test holds the page against the files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Profile, command, root};

/// What is measured, and the file of docs/performance that its output goes to.
struct Step {
    name: &'static str,
    file: Option<&'static str>,
    arguments: &'static [&'static str],
    /// What `EVERBLOOM_SIMD` says.
    instructions: &'static str,
}

const COMPARE: [&str; 5] = ["run", "--release", "--manifest-path", "compare/Cargo.toml", "--"];

/// Arguments of [`COMPARE`], or of cargo where they begin with `run`.
const STEPS: [Step; 12] = [
    step("plain", Some("plain.txt"), &["gate", "membership", "10000,1000000", "--json", "PLAIN"]),
    step("avx2", Some("avx2.txt"), &["gate", "membership", "10000,1000000"]).with("avx2"),
    step(
        "native",
        Some("native.txt"),
        &["gate", "membership", "10000,1000000", "--native", "--json", "NATIVE"],
    ),
    step("pictures", None, &["draw", "PLAIN", "NATIVE", "docs/pictures"]),
    step("cuckoo", Some("cuckoo.txt"), &["gate", "cuckoo", "quotient"]),
    step("sketches", Some("sketches.txt"), &["gate", "hyperloglog", "top-k", "count-min"]),
    step("k-mer", Some("k-mer.txt"), &["gate", "k-mer", "clk"]),
    step("growth", None, &["growth", "500000000", "docs/performance"]),
    step("threads", Some("threads.md"), &["threads", "docs/performance", "KEYS", "300M"]),
    step("collected", Some("collected.md"), &["collected", "docs/performance", "FEWER", "30M"]),
    step(
        "variants",
        Some("variants.md"),
        &[
            "run",
            "--release",
            "-p",
            "everbloom-bench",
            "--bin",
            "everbloom-bench",
            "--",
            "--markdown",
        ],
    ),
    step("instructions", Some("instructions.txt"), &["run", "-p", "xtask", "--", "instructions"]),
];

const fn step(
    name: &'static str,
    file: Option<&'static str>,
    arguments: &'static [&'static str],
) -> Step {
    Step { name, file, arguments, instructions: "best" }
}

impl Step {
    /// Held to an instruction set.
    const fn with(self, instructions: &'static str) -> Self {
        Self { instructions, ..self }
    }
}

/// Measures what is named, or everything, and copies it to the page.
pub fn run(name: Option<&str>) -> Result<(), String> {
    if let Some(name) = name
        && name != "page"
        && !STEPS.iter().any(|step| step.name == name)
    {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("{name}: not page or one of {}", names.join(", ")));
    }
    for step in STEPS.iter().filter(|step| name.is_none_or(|name| name == step.name)) {
        measure(step)?;
    }
    let page = root().join("docs/PERFORMANCE.md");
    let text = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    fs::write(&page, filled(&root(), &text)?).map_err(|e| format!("{}: {e}", page.display()))
}

fn measure(step: &Step) -> Result<(), String> {
    let (root, kept) = (root(), root().join("target/xtask/performance"));
    fs::create_dir_all(&kept).map_err(|e| format!("{}: {e}", kept.display()))?;
    let argument = |argument: &&str| match *argument {
        "PLAIN" => kept.join("plain.json"),
        "NATIVE" => kept.join("native.json"),
        file if FILES.iter().any(|(name, _)| *name == file) => kept.join(file.to_lowercase()),
        other => PathBuf::from(other),
    };
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&root).env("EVERBLOOM_SIMD", step.instructions);
    if step.arguments[0] != "run" {
        cargo.args(COMPARE);
    }
    cargo.args(step.arguments.iter().map(argument));
    if let Some((_, keys)) = FILES.iter().find(|(name, _)| step.arguments.contains(name)) {
        write_keys(Path::new(&argument(&step.arguments[2])), *keys)?;
        // The command that is timed is the one of this tree.
        let program = command(Profile::Release)?;
        let path = std::env::var("PATH").unwrap_or_default();
        let folder = program.parent().map(Path::display).ok_or("the command is in no folder")?;
        cargo.env("PATH", format!("{folder}:{path}"));
    }
    eprintln!("{}: {cargo:?}", step.name);
    let output = cargo.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|e| format!("{cargo:?}: {e}"))?;
    // A gate that misses a line ends with 1, and has printed all of them.
    if output.stdout.is_empty() && !output.status.success() {
        return Err(format!("{cargo:?}: {}", output.status));
    }
    let Some(file) = step.file else { return Ok(()) };
    let file = root.join("docs/performance").join(file);
    fs::write(&file, output.stdout).map_err(|e| format!("{}: {e}", file.display()))
}

/// Files of keys, by what stands for them among the arguments, and how many keys they have.
const FILES: [(&str, u64); 2] = [("KEYS", 300_000_000), ("FEWER", 30_000_000)];

/// Writes lines of nine digits, as `seq` does.
fn write_keys(path: &Path, keys: u64) -> Result<(), String> {
    if path.exists() {
        return Ok(());
    }
    let file = fs::File::create(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (first, last) = ("100000000", (99_999_999 + keys).to_string());
    let seq = Command::new("seq").args([first, &last]).stdout(file).status();
    match seq {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("seq: {other:?}")),
    }
}

/// What stands in a block of the page: its name, the file it is from, and what of that file.
type Block = (&'static str, &'static str, fn(&str) -> String);

const BLOCKS: [Block; 8] = [
    ("plain promises", "plain.txt", promises),
    ("native promises", "native.txt", promises),
    ("avx2 promises", "avx2.txt", promises),
    ("single calls", "plain.txt", single),
    ("missed", "plain.txt", missed),
    ("threads", "threads.md", str::to_owned),
    ("collected", "collected.md", str::to_owned),
    ("instructions", "instructions.txt", fenced),
];

/// The page with its blocks as the files have them.
fn filled(root: &Path, page: &str) -> Result<String, String> {
    let mut page = page.to_owned();
    for (name, file, of) in BLOCKS {
        let path = root.join("docs/performance").join(file);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let (begin, end) = (format!("<!-- {name} -->\n"), "<!-- end -->");
        let (before, rest) =
            page.split_once(&begin).ok_or_else(|| format!("no block {name} on the page"))?;
        let (_, after) = rest.split_once(end).ok_or_else(|| format!("{name} does not end"))?;
        page = format!("{before}{begin}\n{}\n\n{end}{after}", of(&text).trim_end());
    }
    Ok(page)
}

/// The last line: how many promises are kept.
fn promises(text: &str) -> String {
    text.lines().last().unwrap_or_default().to_owned()
}

/// Single calls at 1 %.
fn single(text: &str) -> String {
    let is = |line: &&str| {
        line.contains("at 1 %")
            && ["sbbf-rs-safe", "parquet", "xorf"].iter().any(|rival| line.contains(rival))
            && ["kept", "CLOSE", "MISSED"].iter().any(|word| line.starts_with(word))
            && !["batch", "iterator"].iter().any(|loops| line.contains(loops))
    };
    fenced(&text.lines().filter(is).map(narrow).collect::<Vec<_>>().join("\n"))
}

/// Promises that are not kept, or only within 3 %.
fn missed(text: &str) -> String {
    let is = |line: &&str| ["MISSED", "CLOSE"].iter().any(|word| line.starts_with(word));
    let lines: Vec<String> = text.lines().filter(is).map(narrow).collect();
    if lines.is_empty() { "None.".to_owned() } else { fenced(&lines.join("\n")) }
}

/// A line without the space that lines it up.
fn narrow(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fenced(text: &str) -> String {
    format!("```text\n{}\n```", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_what_the_files_say() {
        let page = fs::read_to_string(root().join("docs/PERFORMANCE.md")).unwrap();
        assert_eq!(page, filled(&root(), &page).unwrap());
    }

    /// Slugs and the largest multiple of `bloom`'s time of their forms, at a million items.
    fn at_a_million() -> Vec<(String, f64)> {
        let text = fs::read_to_string(root().join("docs/performance/variants.md")).unwrap();
        let (_, table) = text.split_once("1000000 items").expect("a table of a million");
        let row = |line: &str| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            Some(((*cells.get(1)?).to_owned(), cells.get(8)?.parse().ok()?))
        };
        table.lines().filter_map(row).collect()
    }

    /// Who takes more than 25 times as long as the standard filter says why, at the head of its file.
    #[test]
    fn slow_variants_say_why() {
        let sources = crate::layers::sources(&root().join("crates/everbloom/src"));
        let texts: Vec<String> =
            sources.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        let rows = at_a_million();
        assert!(rows.len() > 100);
        for (slug, times) in rows.iter().filter(|(_, times)| *times > 25.0) {
            let entry = format!("slug: \"{slug}\"");
            let file = texts.iter().find(|text| text.contains(&entry)).expect(slug);
            let head = file.lines().take_while(|line| line.starts_with("//!"));
            let says = head.filter(|line| line.starts_with("//! **Slow")).count();
            assert!(says == 1, "{slug} takes {times} times as long as bloom and does not say why");
        }
    }
}
