//! Values beside keys: what `add`, `get` and `list` do with keys that are there already, or that others hide.

mod place;

use std::collections::BTreeMap;

use place::Place;

/// Key-value filters whose values can be set, and what else they are built with.
const CHANGEABLE: [&str; 8] = [
    "kbf -n 100",
    "iblt -n 100",
    "state-machines -n 100 -p 1e-6",
    "state-machines -n 100 -p 1e-6 --set form=stateful",
    "state-machines -n 100 -p 1e-6 --set form=direct",
    "fast-hash-table -n 100",
    "bloom-store -n 100",
    "bloomier --set form=mutable -p 1e-9",
];

#[test]
fn a_key_that_is_there_gets_the_new_value() {
    for kind in CHANGEABLE {
        let place = Place::new();
        place.ok(&format!("build - -o f.evb -q --kind {kind}"), "fig\tfruit\noak\ttree\n");
        // Twice: the same pair once more changes nothing.
        for _ in 0..2 {
            place.ok("add f.evb", "oak\tfruit\n");
            let got = place.ok("get f.evb", "oak\nfig\nnobody\n");
            assert_eq!(got, "oak\tfruit\nfig\tfruit\n", "{kind}");
        }
        let info = place.json("info f.evb --json");
        assert_eq!(info["items"], 2, "{kind}: {info}");
        let listed = place.run("list f.evb", "");
        assert!(listed.code == 2 || listed.out == "fig\tfruit\noak\tfruit\n", "{kind}: {listed:?}");
        // A new key is still a new key.
        if !kind.starts_with("bloomier") {
            place.ok("add f.evb", "elm\ttree\n");
            assert_eq!(place.ok("get f.evb", "elm\n"), "elm\ttree\n", "{kind}");
        }
    }
}

fn pairs(range: std::ops::Range<u32>, value: &str) -> String {
    range.map(|key| format!("{key}\t{value}\n")).collect()
}

fn numbers(range: std::ops::Range<u32>) -> String {
    range.map(|key| format!("{key}\n")).collect()
}

/// A table so full that many keys are not told by their own cells: every value can be changed, and the pairs stay
/// listed.
#[test]
fn values_that_others_hide_are_changed_too() {
    let place = Place::new();
    place.ok("build - -o f.evb -q --kind iblt -n 200", &pairs(0..200, "old"));
    let hidden = place.ok("get f.evb", &numbers(0..200));
    assert!(hidden.lines().filter(|line| line.ends_with("\t\tundecided")).count() > 5, "{hidden}");
    place
        .ok("add f.evb", &(pairs(0..200, "mid") + &pairs(0..100, "new") + &pairs(200..205, "add")));
    let listed = place.ok("list f.evb", "");
    let listed: BTreeMap<u32, &str> = listed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(key, value)| (key.parse().expect("a number"), value))
        .collect();
    let value = |key: u32| if key < 100 { "new" } else { "mid" };
    let expected = (0..200).map(|key| (key, value(key))).chain((200..205).map(|key| (key, "add")));
    assert_eq!(listed, expected.collect());
}

#[test]
fn what_nobody_knows_is_said_as_such() {
    let place = Place::new();
    place.ok("build - -o f.evb -q --kind iblt -n 20", &pairs(0..60, "v"));
    let got = place.ok("get f.evb", &numbers(0..60));
    let (hidden, told): (Vec<&str>, Vec<&str>) =
        got.lines().partition(|line| line.ends_with("\t\tundecided"));
    assert_eq!(hidden.len() + told.len(), 60, "no member is left out: {got}");
    assert!(hidden.len() > 20 && told.iter().all(|line| line.ends_with("\tv")), "{got}");
    let json = place.ok("get f.evb --json", &numbers(0..60));
    for line in json.lines() {
        let said: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let expected = if said["undecided"] == true { None } else { Some("v") };
        assert_eq!(said["value"].as_str(), expected, "{line}");
    }
    assert_eq!(json.lines().filter(|line| line.contains("true")).count(), hidden.len());
    // An empty value is a value.
    place.ok("build - -o e.evb -q --kind iblt -n 20", "fig\t\n");
    assert_eq!(place.ok("get e.evb", "fig\n"), "fig\t\n");
}

#[test]
fn more_cells_are_advised_only_where_they_help() {
    let place = Place::new();
    place.ok("build - -o full.evb -q --kind iblt -n 20", &pairs(0..200, "v"));
    let full = place.refused("list full.evb", "");
    assert!(full.contains("twice the cells"), "{full}");
    place.ok("build - -o a.evb -q --kind iblt -n 20", "fig\tfruit\noak\ttree\n");
    for other in ["oak\ttree\n", "oak\tdead\n"] {
        place.ok("build - -o b.evb -q --kind iblt -n 20", other);
        place.ok("merge a.evb b.evb -o both.evb -q", "");
        let said = place.refused("list both.evb", "");
        assert!(said.contains("more than once") && !said.contains("twice the cells"), "{said}");
        // And what it says helps.
        place.ok("remove both.evb", other);
        assert_eq!(place.ok("list both.evb", ""), "fig\tfruit\noak\ttree\n");
    }
    let said = place.refused("build - -o c.evb --kind iblt -n 20", "oak\ttree\noak\tdead\n");
    assert!(said.contains("another value"), "{said}");
    // A pair that comes twice is one pair.
    place.ok("build - -o c.evb -q --kind iblt -n 20", "oak\ttree\noak\ttree\n");
    assert_eq!(place.ok("list c.evb", ""), "oak\ttree\n");
    // Sets of ids: one that is inside twice cancels out.
    place.file("twice", "a\nb\nb\n");
    place.file("other", "a\nc\n");
    place.ok("build twice -o t.inv -q --kind invertible -n 20", "");
    place.ok("build other -o o.inv -q --kind invertible -n 20", "");
    let said = place.refused("diff t.inv o.inv", "");
    assert!(said.contains("has it twice") && !said.contains("twice the cells"), "{said}");
}
