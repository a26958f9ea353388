//! The lab from outside: what it writes, and what it says when it can't.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn everbloom(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_everbloom"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("it runs")
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect(name)
}

fn names(folder: &Path) -> Vec<String> {
    let out = everbloom(folder, "lab list --json");
    let list: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    list.as_array()
        .expect("a list")
        .iter()
        .map(|e| e["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_run_leaves_table_picture_and_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let out = everbloom(folder.path(), "lab run s0-fig3 --quick -o found --json");
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
    everbloom(folder.path(), "lab run s0-fig3 --quick -o again");
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
    let out = everbloom(folder.path(), "lab report --quick -o .");
    let printed = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(if names.len() > 1 { 1 } else { 0 }), "{printed}");
    assert_eq!(printed.matches("outside 1 to 2").count(), names.len() - 1);
    let html = text(folder.path(), "index.html");
    assert_eq!(html.matches("<svg").count(), names.len());
    assert_eq!(
        html.matches("This result is from an older version").count(),
        names.len(),
        "they have no stamp"
    );
    assert!(html.contains("a &lt; b") && !html.contains("a < b"));
    assert!(!html.contains("src=") && !html.contains("href=\"http"), "not self-contained");
    let page = text(folder.path(), "README.md");
    assert_eq!(page.matches("![t](").count(), names.len());
}

#[test]
fn a_passport_is_a_page_a_picture_and_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let out = everbloom(folder.path(), "lab passports bloom --quick -o p");
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
    let out = everbloom(folder.path(), "lab passports hyperloglog --quick -o p");
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("hyperloglog is a sketch, not a filter"));
}

/// The list links to a passport of every filter, and it is there.
#[test]
fn every_filter_has_a_committed_passport() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let catalog = text(&root, "CATALOG.md");
    let links: Vec<&str> =
        catalog.split("[passport](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(links.len() > 90);
    for link in links {
        assert!(
            root.join(link).is_file(),
            "{link}: everbloom lab passports -o docs/evidence/passports"
        );
    }
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = everbloom(folder.path(), "lab run s9-fig1");
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("no such experiment") && said.contains("s0-fig3"), "{said}");
    fs::write(folder.path().join("s0-fig3.json"), "{}").unwrap();
    let out = everbloom(folder.path(), "lab report --quick -o .");
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("s0-fig3.json is not a result of the lab"), "{said}");
}

/// The committed page shows every experiment of the list, and its pictures are there.
#[test]
fn the_committed_evidence_is_complete() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence");
    let page = text(&here, "README.md");
    for name in names(&here) {
        let told = page.contains(&format!("`everbloom lab run {name}`"));
        assert!(told, "{name}: everbloom lab report --thorough -o docs/evidence");
    }
    let pictures: Vec<&str> =
        page.split("](").skip(1).filter_map(|part| part.split(')').next()).collect();
    assert!(pictures.len() > 38);
    for picture in pictures {
        assert!(here.join(picture).is_file(), "{picture} is not there");
    }
    assert!(page.contains("effort thorough"));
}
