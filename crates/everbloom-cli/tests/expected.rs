//! What users of other commands expect: numbers that scripts can read, pages for man(1), no option without effect.

mod place;

use place::Place;
use serde_json::Value;

fn numbers(range: impl Iterator<Item = u64>) -> String {
    range.map(|i| format!("{i}\n")).collect()
}

#[test]
fn every_verb_has_a_manual_page_of_its_own() {
    let place = Place::new();
    let build = place.ok("man build", "");
    assert!(build.contains("everbloom\\-build") && build.contains("\\-\\-mergeable"), "{build}");
    let wrong = place.run("man biuld", "");
    assert!(wrong.code == 2 && wrong.err.contains("did you mean build?"), "{}", wrong.err);
    place.ok("man -o .", "");
    let pages = std::fs::read_dir(place.folder.path()).expect("a folder").count();
    assert_eq!(pages, place.ok("man", "").matches("\n.TH ").count(), "a file for each");
    assert_eq!(build.as_bytes(), place.bytes("everbloom-build.1"));
    // Again over the same files, but not over others.
    place.ok("man -o .", "");
    place.file("everbloom-add.1", "notes");
    assert_eq!(place.run("man -o .", "").code, 2);
    assert_eq!(place.bytes("everbloom-add.1"), b"notes");
}

#[test]
fn three_sizes_are_one_too_many() {
    let place = Place::new();
    for line in ["plan -n 10 -p 1% --memory 1kB", "build - -o f.evb -n 10 -p 1% --memory 1kB"] {
        let error = place.refused(line, "a\n");
        assert!(error.contains("give two of them"), "{line}: {error}");
    }
}

#[test]
fn pipes_get_plain_digits() {
    let place = Place::new();
    let run = place.run("build - -o f.evb -n 20000", &numbers(0..20_000));
    assert!(run.err.contains("20000 items"), "{}", run.err);
    for line in ["info f.evb", "plan -n 10M -p 1%", "estimate f.evb", "catalog bloom"] {
        assert!(!place.ok(line, "").contains('\u{2009}'), "{line}");
    }
}

#[test]
fn csv_of_info_has_plain_numbers() {
    let place = Place::new();
    place.ok("build - -o f.evb -q", &numbers(0..20_000));
    let (csv, json) = (place.ok("info f.evb --csv", ""), place.json("info f.evb --json"));
    let of = |name: &str| -> f64 {
        let row = csv.lines().find_map(|line| line.strip_prefix(&format!("{name},")));
        let row = row.unwrap_or_else(|| panic!("{name}: {csv}"));
        row.parse().unwrap_or_else(|_| panic!("{name}: {row}"))
    };
    for (name, field) in [
        ("items", "items"),
        ("bits", "bits"),
        ("bits of cells", "bits_cells"),
        ("bits per item", "bits_per_item"),
        ("times the lower bound", "times_bound"),
        ("fill", "fill"),
        ("false positives", "fpr_now"),
        ("planned rate", "fpr_target"),
    ] {
        let number = json[field].as_f64().expect("a number");
        assert!((of(name) / number - 1.0).abs() < 1e-12, "{name}: {} and {number}", of(name));
    }
}

#[test]
fn repeated_keys_are_not_planned_for() {
    let place = Place::new();
    let distinct = numbers(0..5000);
    place.file("once", &distinct);
    place.file("often", distinct.repeat(8));
    place.ok("build once -o once.evb -q", "");
    let run = place.run("build often -o often.evb", "");
    assert!(run.err.contains("40000 lines, about "), "{}", run.err);
    let [once, often] =
        ["once", "often"].map(|name| place.json(&format!("info {name}.evb --json")));
    let number = |of: &Value, field: &str| of[field].as_f64().expect("a number");
    let larger = number(&often, "bits") / number(&once, "bits");
    assert!((0.98..1.04).contains(&larger), "{larger}");
    assert!((number(&often, "different_keys") / 5000.0 - 1.0).abs() < 0.05);
    assert!(once["different_keys"].is_null());
    for info in [&once, &often] {
        let (times, bits) = (number(info, "times_bound"), number(info, "bits_per_item"));
        assert!((1.3..1.6).contains(&times) && (9.0..10.5).contains(&bits), "{times}, {bits}");
    }
    assert!(place.ok("info often.evb", "").contains("40000, about "));
    assert_eq!(place.ok("check often.evb once", "").lines().count(), 5000);
    // A table of fingerprints has a slot for every copy.
    let run = place.run("build often -o table.evb --kind cuckoo", "");
    assert!(!run.err.contains("different keys"), "{}", run.err);
}

#[test]
fn dedupe_drops_no_new_line_unless_it_is_asked_to() {
    let place = Place::new();
    let all = numbers(0..200_000);
    place.file("all", &all);
    let summary = |line: &str| -> Value {
        let out = place.ok(line, "");
        let last = out.lines().last().expect("a summary");
        serde_json::from_str::<Value>(last).expect("JSON")["summary"].clone()
    };
    assert_eq!(place.ok("dedupe all -q", ""), all);
    let exact = summary("dedupe all --json -q");
    assert_eq!((&exact["duplicates"], &exact["remembers"]), (&0.into(), &"exact".into()));
    // Filters alone drop new lines at the rate that is asked for, and a small one says how many before it begins.
    let about = summary("dedupe all -p 1% --json -q");
    let dropped = about["duplicates"].as_f64().expect("a number");
    assert!(dropped > 0.0 && dropped < 1.2 * 2000.0, "{dropped}");
    let small = place.run("dedupe all --memory 20kB", "");
    assert!(small.code == 0 && small.err.starts_with("20.0 kB is enough for "), "{}", small.err);
    let small = summary("dedupe all --memory 20kB --json -q");
    let [dropped, wrongly] =
        ["duplicates", "wrongly_dropped"].map(|f| small[f].as_f64().expect("a number"));
    assert!(wrongly <= dropped && wrongly > 0.8 * dropped, "{wrongly} of {dropped}");
}

#[test]
fn what_is_recommended_takes_keys_at_the_planned_rate() {
    let place = Place::new();
    let best = &place.json("plan -n 1M -p 1% --json")["candidates"][0];
    let list = place.json("catalog --json");
    let entry = list.as_array().expect("a list").iter().find(|v| v["slug"] == best["slug"]);
    let needs = entry.expect("in the list")["needs"].as_array().expect("needs");
    assert!(!needs.contains(&"static".into()), "{best}");
    assert!(best["abilities"].as_array().expect("abilities").contains(&"insert".into()));
}
