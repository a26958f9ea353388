//! The help of every verb ends in examples, and every example works.

use std::path::Path;
use std::process::{Command, Output};

fn everbloom(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_everbloom")).args(args).output();
    String::from_utf8(output.expect("the command runs").stdout).expect("text")
}

/// The verbs, as the manual page lists them.
fn verbs() -> Vec<String> {
    let man = everbloom(&["man"]);
    let names =
        man.lines().filter_map(|line| line.strip_prefix("everbloom\\-")?.strip_suffix("(1)"));
    let names: Vec<String> = names.map(str::to_owned).collect();
    // The verbs of a verb are listed with it.
    names.into_iter().filter(|name| name != "help" && !name.contains('-')).collect()
}

/// The commands among the examples of a verb, and their comments.
fn examples(verb: &str) -> (Vec<String>, Vec<String>) {
    let help = everbloom(&[verb, "--help"]);
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty()).map(|line| line.trim().to_owned());
    lines.partition(|line| !line.starts_with('#'))
}

fn bash(line: &str, folder: &Path) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_everbloom")).parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command.args(["-o", "pipefail", "-c", line]).current_dir(folder).env("PATH", path);
    command.output().expect("bash runs")
}

/// A line of a log, as long as they are.
fn request(asked: &str) -> String {
    let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0";
    format!("{asked} HTTP/1.1 {browser} 200 5316 https://example.org/from/somewhere/else\n")
}

#[test]
fn every_verb_shows_examples_that_work() {
    let place = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("words.txt", "apple\nbanana\napple\ncherry\n"),
        ("more.txt", "damson\nelder\n"),
        ("queries.txt", "apple\nzucchini\n"),
        ("people.csv", "ann,berlin\nbob,lima\n"),
        ("orders.csv", "ann,bob\nbob,ann\n"),
        ("monday.txt", "ann\nbob\neve\n"),
        ("tuesday.txt", "bob\neve\nzoe\n"),
        (
            "access.log",
            &["ann /", "bob /", "ann /a", "ann /", "bob /b", "ann /c"].map(request).concat(),
        ),
        ("phage.fa", ">phage\nACGTTGCAAGCTTACGGATTACAGATTACAGGCATCGACTACG\n"),
        ("yeast.fa", ">yeast\nTTGACCAGTACCATGGCATTTAGCCCATAGACGACATACGACT\n"),
        ("worm.fa", ">worm\nGGGACCTTAACCATGGCATTTAGCTTTTAGACGACATGGGACT\n"),
        ("reads.fa", ">read\nCCAGTACCATGGCATTTAGCCCATAGACGACATACG\n"),
    ] {
        std::fs::write(place.path().join(name), text).expect("a file");
    }
    assert!(bash("gzip -k words.txt", place.path()).status.success());
    let texts = "mkdir essays copies; seq 3000 > essays/one; seq 1000 4000 > essays/two; cp essays/one copies";
    assert!(bash(texts, place.path()).status.success());
    for verb in verbs() {
        let (commands, comments) = examples(&verb);
        assert!(!commands.is_empty() && !comments.is_empty(), "{verb}: no examples");
        assert!(commands.iter().any(|c| c.contains(&format!("everbloom {verb}"))), "{verb}");
        for line in commands {
            let output = bash(&line, place.path());
            let err = String::from_utf8_lossy(&output.stderr);
            // Files that differ are exit code 1.
            let code = i32::from(line.starts_with("everbloom diff "));
            assert_eq!(output.status.code(), Some(code), "{line}: {err}");
        }
    }
}

#[test]
fn the_first_screen_names_every_verb_in_forty_lines() {
    let screen = everbloom(&["help"]);
    assert!(screen.lines().count() <= 40, "{} lines:\n{screen}", screen.lines().count());
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    for other in ["--help", "-h"] {
        assert_eq!(everbloom(&[other]), screen, "{other}");
    }
    // Rows begin with their verbs: "  add, remove  what they do".
    let rows = screen.lines().filter_map(|line| line.strip_prefix("  "));
    let named = rows.filter_map(|row| row.split("  ").next()).flat_map(|names| names.split(", "));
    let mut named: Vec<&str> = named.collect();
    named.sort_unstable();
    let mut verbs = verbs();
    assert!(verbs.len() > 40, "{verbs:?}");
    verbs.sort_unstable();
    assert_eq!(named, verbs);
}

#[test]
fn every_group_has_a_page_with_its_verbs() {
    let verbs = verbs();
    let mut named = 0;
    for group in ["filters", "sets", "tools", "study"] {
        let page = everbloom(&["help", group]);
        let names: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
            .collect();
        assert!(names.iter().all(|name| verbs.iter().any(|verb| verb == name)), "{page}");
        assert!(page.lines().count() >= 3 * names.len(), "{page}");
        named += names.len();
    }
    assert_eq!(named, verbs.len());
    assert!(everbloom(&["help", "check"]).contains("Examples:"));
}

#[test]
fn one_variant_is_shown_in_full() {
    let text = everbloom(&["catalog", "counting"]);
    for word in ["Counting", "remove", "--set", "default", "while"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&everbloom(&["catalog", "counting", "--json"])).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(1));
    assert_eq!(json[0]["slug"], "counting");
}
