//! Runs the examples of README.md, FORMAT.md, docs/guide/ and other pages of docs/. Every command in a `console` block
//! is run, in order, in one new folder per page. Its output is compared with the lines beneath it. A line with nothing
//! but `…` stands for any lines. A command with nothing beneath it only has to succeed.
//!
//! `EVERBLOOM_PAGES=write cargo test -p everbloom-cli --test pages` writes the real output into the pages. Read the
//! difference before you commit it.

use std::path::{Path, PathBuf};
use std::process::Command;

const ANY: &str = "…";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is run for a line of the page: the command built for this test, or nothing for work of cargo.
fn command(line: &str) -> Option<String> {
    match line.strip_prefix("cargo run --release -- ") {
        Some(args) => Some(format!("everbloom {args}")),
        None => (!line.starts_with("cargo ")).then(|| line.to_owned()),
    }
}

fn run(line: &str, folder: &Path) -> (bool, String) {
    let bin = Path::new(env!("CARGO_BIN_EXE_everbloom")).parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", &format!("{{ {line}\n}} 2>&1")])
        .current_dir(folder)
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("bash runs");
    // Exit code 1 says that nothing was found or that files differ, which examples may show.
    let code = output.status.code();
    (matches!(code, Some(0 | 1)), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the printed lines are the expected ones.
fn agree(printed: &[&str], expected: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((&ANY, rest)) => (0..=printed.len()).any(|skip| agree(&printed[skip..], rest)),
        Some((line, rest)) => printed.split_first().is_some_and(|(first, others)| {
            first.trim_end() == line.trim_end() && agree(others, rest)
        }),
    }
}

/// Runs a page; returns it with the real output in place of the expected.
fn page(text: &str) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut out, mut wrong) = (Vec::new(), Vec::new());
    let mut lines = text.lines().peekable();
    let mut inside = false;
    while let Some(line) = lines.next() {
        out.push(line.to_owned());
        if line.starts_with("```") {
            inside = line == "```console";
            continue;
        }
        let Some(typed) = line.strip_prefix("$ ").filter(|_| inside) else { continue };
        let mut expected = Vec::new();
        while let Some(next) = lines.next_if(|l| !l.starts_with("$ ") && !l.starts_with("```")) {
            expected.push(next);
        }
        let Some(typed) = command(typed) else { continue };
        let (fine, printed) = run(&typed, folder.path());
        let printed: Vec<&str> = printed.lines().collect();
        if !fine {
            wrong.push(format!("$ {typed}\n{}", printed.join("\n")));
        }
        if expected.is_empty() {
            continue;
        }
        let same = agree(&printed, &expected);
        if !same {
            wrong.push(format!(
                "$ {typed}\n--- the page says\n{}\n--- it printed\n{}",
                expected.join("\n"),
                printed.join("\n")
            ));
        }
        // A page may leave lines out, as long as the others are right.
        let shown =
            if same || expected == ["?"] && printed.is_empty() { &expected } else { &printed };
        out.extend(shown.iter().map(|line| line.trim_end().to_owned()));
    }
    (out.join("\n") + "\n", wrong)
}

fn check(name: &str) {
    let wrong = checked(name);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Runs a page; returns what differs, or writes the page anew.
fn checked(name: &str) -> Vec<String> {
    let path = root().join(name);
    let text = std::fs::read_to_string(&path).expect("the page");
    let (written, wrong) = page(&text);
    if std::env::var("EVERBLOOM_PAGES").is_ok_and(|v| v == "write") {
        std::fs::write(path, written).expect("the page is written");
        return Vec::new();
    }
    wrong.into_iter().map(|w| format!("{name}:\n{w}")).collect()
}

/// The Markdown files of a folder, sorted.
fn pages(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).expect("the folder");
    let names = entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut pages: Vec<String> =
        names.filter(|n| n.ends_with(".md")).map(|n| format!("{folder}/{n}")).collect();
    pages.sort();
    pages
}

/// The files of this repository that a page links to.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.filter(|t| !t.contains("://") && !t.contains(char::is_whitespace));
    files.filter_map(|t| t.split('#').next()).filter(|t| !t.is_empty()).collect()
}

#[test]
fn the_readme_does_what_it_says() {
    check("README.md");
}

#[test]
fn the_guide_does_what_it_says() {
    let wrong: Vec<String> = pages("docs/guide").iter().flat_map(|page| checked(page)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_guide_has_an_index_of_all_its_pages() {
    let index = std::fs::read_to_string(root().join("docs/guide/README.md")).expect("the index");
    for page in pages("docs/guide") {
        let name = page.rsplit('/').next().expect("a name");
        assert!(
            name == "README.md" || index.contains(&format!("]({name})")),
            "{page}: not in the index"
        );
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut broken = Vec::new();
    for folder in [".", "docs", "docs/guide", "docs/format", "docs/performance"] {
        for page in pages(folder) {
            let text = std::fs::read_to_string(root().join(&page)).expect("the page");
            let targets = links(&text);
            broken.extend(
                (targets.iter().filter(|target| !root().join(folder).join(target).exists()))
                    .map(|target| format!("{page}: {target}")),
            );
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_page_on_json_does_what_it_says() {
    check("docs/JSON.md");
}

#[test]
fn the_page_on_formats_does_what_it_says() {
    check("docs/FORMATS.md");
}

#[test]
fn the_page_on_the_file_format_does_what_it_says() {
    check("FORMAT.md");
}

#[test]
fn test_vectors_are_those_of_the_code() {
    check("docs/format/VECTORS.md");
}

/// FIELDS.md is what the command prints, and FORMAT.md quotes lines of it alone.
#[test]
fn fields_are_those_of_the_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let (fine, printed) = run("everbloom catalog --fields", folder.path());
    assert!(fine, "{printed}");
    let page = root().join("docs/format/FIELDS.md");
    if std::env::var("EVERBLOOM_PAGES").is_ok_and(|v| v == "write") {
        std::fs::write(&page, &printed).expect("the page is written");
    }
    let fields = std::fs::read_to_string(page).expect("the page");
    assert!(
        fields == printed,
        "stale: cargo run --release -- catalog --fields > docs/format/FIELDS.md"
    );
    let format = std::fs::read_to_string(root().join("FORMAT.md")).expect("the page");
    let quoted: Vec<&str> =
        format.lines().filter(|l| l.contains("`: `filter: {head: bytes")).collect();
    assert!(quoted.len() >= 20, "{} lines of fields", quoted.len());
    for line in quoted {
        assert!(fields.lines().any(|field| field == line), "FORMAT.md: no such fields: {line}");
    }
}

#[test]
fn a_page_that_lies_is_found_out() {
    let lie = "```console\n$ printf 'a\\nb\\n'\na\nc\n```\n";
    assert_eq!(page(lie).1.len(), 1);
    assert_eq!(page(lie).0, lie.replace("a\nc", "a\nb"));
    let vague = "```console\n$ printf 'a\\nb\\nc\\n'\n…\nc\n```\n";
    assert_eq!(page(vague), (vague.to_owned(), Vec::new()));
    assert_eq!(page("```console\n$ everbloom no-such-verb\n```\n").1.len(), 1);
}
