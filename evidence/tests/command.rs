//! The lab's command from outside: what it writes, and what it says when it can't.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn lab(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_everbloom-lab"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("it runs")
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect(name)
}

fn printed(folder: &Path, line: &str) -> String {
    String::from_utf8(lab(folder, line).stdout).expect("text")
}

fn parsed(folder: &Path, line: &str) -> Value {
    serde_json::from_str(&printed(folder, line)).expect(line)
}

/// What `list` has under `experiments` or `applications`, and is called by `key`.
fn listed(folder: &Path, what: &str, key: &str) -> Vec<String> {
    let list = parsed(folder, "list --json");
    let rows = list[what].as_array().expect("a list").iter();
    rows.map(|row| row[key].as_str().expect("a name").to_owned()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    listed(folder, "experiments", "name")
}

#[test]
fn a_run_leaves_table_picture_and_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let out = lab(folder.path(), "run s0-fig3 --quick -o found --json");
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    let score: Value = serde_json::from_slice(&out.stdout).unwrap();
    let csv = text(folder.path(), "found/s0-fig3.csv");
    assert_eq!(
        csv.lines().next(),
        Some("panel,series,x,predicted,measured,low,high,unit,survey,pass,what")
    );
    let verdicts = score["experiments"][0]["verdicts"].as_u64().unwrap();
    assert_eq!(csv.lines().count() as u64, 1 + verdicts);
    let found: Value = serde_json::from_str(&text(folder.path(), "found/s0-fig3.json")).unwrap();
    let point = &found["panels"][0]["series"][0]["points"][0];
    assert!(point["pass"].as_bool().unwrap());
    let (low, high) = (point["bound"][0].as_f64().unwrap(), point["bound"][1].as_f64().unwrap());
    assert!((low..=high).contains(&point["measured"].as_f64().unwrap()));
    let svg = text(folder.path(), "found/s0-fig3.svg");
    // Each point is drawn over its curve, and once more over what was predicted.
    let points: usize = found["panels"][0]["series"]
        .as_array()
        .map_or(0, |all| all.iter().map(|s| s["points"].as_array().map_or(0, Vec::len)).sum());
    assert!(points > 30 && svg.starts_with("<svg") && svg.matches("<circle").count() >= 2 * points);
    assert!(
        found["version"].is_string() && found["sources"].as_str().is_some_and(|s| s.len() == 16)
    );
    // The same seed finds the same.
    lab(folder.path(), "run s0-fig3 --quick -o again");
    assert_eq!(text(folder.path(), "again/s0-fig3.csv"), csv);
}

#[test]
fn a_report_takes_what_is_there_and_tells_what_disagrees() {
    let folder = tempfile::tempdir().unwrap();
    let names = names(folder.path());
    for (i, name) in names.iter().enumerate() {
        let row = json!({
            "label": "a < b", "predicted": 1.0, "measured": 2.0 + i as f64, "bound": [1.0, 2.0],
            "pass": i == 0,
        });
        let value = json!({ "name": "value", "scale": "linear" });
        let found = json!({
            "experiment": name, "source": "S0", "effort": "quick", "seed": 1, "errata": [], "notes": [],
            "panels": [{ "kind": "rows", "id": "", "title": "t", "value": value, "rows": [row] }],
        });
        fs::write(folder.path().join(format!("{name}.json")), found.to_string()).unwrap();
    }
    let out = lab(folder.path(), "report --quick -o .");
    let printed = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(if names.len() > 1 { 1 } else { 0 }), "{printed}");
    assert_eq!(printed.matches("outside 1 to 2").count(), names.len() - 1);
    let html = text(folder.path(), "index.html");
    assert_eq!(html.matches("<svg").count(), names.len());
    assert_eq!(html.matches("from an older version").count(), names.len(), "they have no stamp");
    assert!(html.contains("a &lt; b") && !html.contains("a < b"));
    assert!(!html.contains("src=") && !html.contains("href=\"http"), "not self-contained");
    let page = text(folder.path(), "README.md");
    assert_eq!(page.matches("![t](").count(), names.len());
}

#[test]
fn a_passport_is_a_page_a_picture_and_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let out = lab(folder.path(), "passports bloom --quick -o p");
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    let page = text(folder.path(), "p/bloom.md");
    for part in
        ["# Standard Bloom filter (`bloom`)", "![False-positive rate](bloom.svg)", "bits per key"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("disagrees"));
    assert!(text(folder.path(), "p/bloom.svg").contains("rate asked for"));
    assert!(text(folder.path(), "p/bloom.csv").lines().count() > 20);
    let out = lab(folder.path(), "passports hyperloglog --quick -o p");
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("hyperloglog is a sketch, not a filter"));
}

/// The list links to a passport of every filter, and it is there.
#[test]
fn every_filter_has_a_committed_passport() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let catalog = text(&root, "CATALOG.md");
    let links: Vec<&str> =
        catalog.split("[passport](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(links.len() > 90);
    for link in links {
        assert!(
            root.join(link).is_file(),
            "{link}: everbloom-lab passports -o docs/evidence/passports"
        );
    }
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = lab(folder.path(), "run s9-fig1");
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("no such experiment") && said.contains("s0-fig3"), "{said}");
    fs::write(folder.path().join("s0-fig3.json"), "{}").unwrap();
    let out = lab(folder.path(), "report --quick -o .");
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("s0-fig3.json is not a result of the lab"), "{said}");
}

#[test]
fn names_that_are_not_there_are_answered_with_those_that_look_alike() {
    let folder = tempfile::tempdir().unwrap();
    for (line, name) in [
        ("show longest-prefx", "longest-prefix"),
        ("run quadtree --quick", "quad-tree"),
        ("run loops s0-fg3 --quick", "s0-fig3"),
        ("passports blom", "bloom"),
        ("show xyzzy", "everbloom-lab list"),
    ] {
        let out = lab(folder.path(), line);
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{line}");
        assert!(said.contains(name), "{line}: {said}");
    }
    assert!(!folder.path().join("everbloom-lab").exists(), "nothing was run");
    let out = lab(folder.path(), "run s0-fig3 --data list.txt");
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8(out.stderr).unwrap().contains("--data is for one application"));
}

#[test]
fn lists_fit_a_screen_and_tables_its_width() {
    let folder = tempfile::tempdir().unwrap();
    let shown = |line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everbloom-lab"));
        let out = command.args(line.split_whitespace()).env("COLUMNS", "80").output();
        String::from_utf8(out.expect("it runs").stdout).unwrap()
    };
    let short = shown("list");
    assert!(short.lines().count() <= 30 && short.contains("s0-fig3"), "{short}");
    assert!(short.contains("spell") && short.contains("--all"), "{short}");
    for line in ["list", "list --all", "show spell", "show s0-fig3"] {
        let out = shown(line);
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{line}:\n{out}");
    }
    let all = printed(folder.path(), "list --all");
    let mut names = names(folder.path());
    names.extend(listed(folder.path(), "applications", "slug"));
    assert!(names.len() > 130 && names.iter().all(|name| all.contains(name.as_str())));
}

/// The page beside the command describes what it prints for programs.
#[test]
fn the_readme_names_every_field() {
    let folder = tempfile::tempdir().unwrap();
    let page = text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("."), "README.md");
    let named = |field: String| {
        assert!(page.contains(&format!("| `{field}` |")), "evidence/README.md: {field}");
    };
    let run = parsed(folder.path(), "run s0-eq18 friends --quick --json");
    assert_eq!(run["experiments"].as_array().map(Vec::len), Some(2));
    for value in [parsed(folder.path(), "list --json"), run] {
        for (name, inner) in value.as_object().expect("an object") {
            match inner[0].as_object() {
                Some(row) => row.keys().for_each(|key| named(format!("{name}[].{key}"))),
                None => named(name.clone()),
            }
        }
    }
    let shown = parsed(folder.path(), "show longest-prefix --json");
    let list = parsed(folder.path(), "list --json");
    assert!(list["applications"].as_array().expect("a list").contains(&shown));
    assert_eq!((&shown["entry"], &shown["form"]), (&"A13".into(), &"component".into()));
}

/// `cargo test --workspace` builds the command beside the lab; where it was not built there is nothing to ask.
#[test]
fn every_tool_is_a_verb_with_the_options_that_it_names() {
    let beside = Path::new(env!("CARGO_BIN_EXE_everbloom-lab"));
    let command = beside.with_file_name(format!("everbloom{}", std::env::consts::EXE_SUFFIX));
    if !command.is_file() {
        return;
    }
    let mut tools = 0;
    for application in everbloom_lab::APPLICATIONS {
        let Some(typed) = application.form.verb() else { continue };
        let (verb, options) = typed.split_once(' ').unwrap_or((typed, ""));
        let out = Command::new(&command).args([verb, "--help"]).output().expect("it runs");
        assert!(out.status.success(), "{}: no verb {verb}", application.slug());
        let help = String::from_utf8(out.stdout).unwrap();
        for option in options.split_whitespace() {
            let flag = option.split('=').next().unwrap_or_default();
            assert!(help.contains(flag), "{}: {verb} has no {flag}", application.slug());
        }
        tools += 1;
    }
    assert!(tools > 15, "{tools} tools");
}

/// The committed pages show everything of the list, and their pictures are there.
#[test]
fn the_committed_evidence_is_complete() {
    let evidence = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/evidence");
    for (folder, what, key, effort) in [
        (".", "experiments", "name", "effort thorough"),
        ("applications", "applications", "slug", "effort normal"),
    ] {
        let here = evidence.join(folder);
        let page = text(&here, "README.md");
        for name in listed(&here, what, key) {
            let told = page.contains(&format!("`everbloom-lab run {name}`"));
            assert!(told, "{name}: everbloom-lab report {what} -o {}", here.display());
        }
        let pictures: Vec<&str> =
            page.split("](").skip(1).filter_map(|part| part.split(')').next()).collect();
        assert!(pictures.len() > 38);
        for picture in pictures {
            assert!(here.join(picture).is_file(), "{picture} is not there");
        }
        assert!(page.contains(effort), "{folder}");
    }
}
