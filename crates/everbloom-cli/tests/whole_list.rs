//! What is said of every variant and form, shown through the command.

mod place;

use std::process::Command;

use place::Place;
use serde_json::Value;

/// Builds a filter of every form of every variant, with `n` keys or as many as it is made for, and hands it on as
/// `f.evb` with slug and form.
fn each_form(n: u64, mut f: impl FnMut(&Place, &str, &str)) {
    let place = Place::new();
    let list = place.json("catalog --json");
    for variant in list.as_array().expect("a list").iter().filter(|v| v["kind"] == "filter") {
        let slug = variant["slug"].as_str().expect("a slug");
        place.file("keys", place.ok(&format!("sample {slug} -n {n}"), ""));
        place.file("known", place.ok(&format!("sample {slug} -n {n} --seed 5"), ""));
        for form in variant["forms"].as_array().expect("forms") {
            let form = form["name"].as_str().expect("a name");
            // One form of a variant that may use them does not, and says so.
            let unused = (slug, form) == ("retouched", "random");
            let uses = variant["input"]["negatives"] != "no" && !unused;
            let negatives = if uses { " --negatives known" } else { "" };
            let build =
                format!("build keys -o f.evb --kind {slug} --set form={form} -q{negatives}");
            place.ok(&build, "");
            f(&place, slug, form);
        }
    }
}

#[test]
fn every_form_explains_what_decided() {
    each_form(60, |place, slug, form| {
        for whom in ["members", "others"] {
            let query = place.ok(&format!("sample {slug} -n 1 --queries {whom}"), "");
            let args = ["explain", "f.evb", query.trim_end_matches('\n'), "--svg", "f.svg"];
            let run = place.run_args(&args, "");
            assert!(run.code < 2, "{slug} ({form}): {}", run.err);
            let because = run.out.split_once("because  ").map_or("", |(_, why)| why);
            let named = ["cell", "compares the key"].iter().any(|word| because.contains(word));
            // One has no cells but pages of keys; some look no further where the first place is empty.
            let shown =
                run.out.contains("probe 1  cell") || whom == "others" || slug == "bloom-store";
            assert!(shown, "{slug} ({form}): {}", run.out);
            assert!(named, "{slug} ({form}), {whom}: {}", run.out);
            for line in run.out.lines() {
                assert!(line.chars().count() <= 80 || line.contains("key  "), "{slug}: {line}");
            }
            let picture = String::from_utf8(place.bytes("f.svg")).expect("text");
            assert!(
                picture.contains(", because ") && picture.ends_with("</svg>\n"),
                "{slug} ({form})"
            );
        }
    });
}

/// `fpr_now` is the share of non-members that `check` prints, whatever the variant means by membership: within six
/// deviations of a binomial.
#[test]
fn every_form_lets_pass_what_it_says() {
    let queries = 20_000;
    each_form(300, |place, slug, form| {
        let info: Value = place.json("info f.evb --json");
        let Some(rate) = info["fpr_now"].as_f64() else { return };
        place.file("others", place.ok(&format!("sample {slug} -n {queries} --queries others"), ""));
        let run = place.run("check f.evb others -c", "");
        assert!(run.code < 2, "{slug} ({form}): {}", run.err);
        let passed: f64 = run.out.trim().parse().expect("a number");
        let expected = rate * f64::from(queries);
        let allowed = 6.0 * (expected * (1.0 - rate)).sqrt() + 4.0;
        assert!((passed - expected).abs() <= allowed, "{slug} ({form}): {passed}, said {expected}");
    });
}

#[test]
fn tables_fit_the_screen() {
    let place = Place::new();
    place.file("keys", (0..2000).map(|i| format!("{i}\n")).collect::<String>());
    place.file("one.fa", ">one\nACGTTGCAAGCTTACGGATTACAGATTACAGGCATCGACTACG\n");
    for line in [
        "build keys -o f.evb -n 3000 -q",
        "build keys -o g.evb -n 3000 -q",
        "build keys -o m.evb --kind scalable -n 10 -q",
        "kmer build one.fa -o one.evk -q",
    ] {
        place.ok(line, "");
    }
    let shown = |line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everbloom"));
        command.args(line.split_whitespace()).current_dir(place.folder.path());
        let output = command.env("COLUMNS", "80").output().expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{line}");
        String::from_utf8(output.stdout).expect("text")
    };
    for line in [
        "",
        "plan -n 10M -p 1%",
        "plan -n 10M -p 1% --need delete --all",
        "plan -n 10k -p 1% --need count --max-count 1000 --all",
        "plan --need merge",
        "plan --need merge --all",
        "plan -n 1M --kind bloom --memory 1MB",
        "info f.evb",
        "info m.evb",
        "catalog",
        "catalog --all",
        "catalog counting",
        "catalog complement",
        "catalog distance-sensitive",
        "formats",
        "formats --all",
        "estimate f.evb g.evb",
        "bench --kind bloom -n 1000",
        "explain f.evb 7",
        "kmer info one.evk",
        "demo",
        "tour",
    ] {
        let out = shown(line);
        for printed in out.lines() {
            assert!(printed.chars().count() <= 80, "{line}: {printed}");
        }
        assert!(!out.contains('\u{1b}'), "{line}: colors where nobody asked for them");
    }
    // What answers a question fits one screen of it.
    for line in ["", "plan -n 10M -p 1%", "info f.evb", "explain f.evb 7", "catalog counting"] {
        assert!(shown(line).lines().count() <= 30, "{line}");
    }
}
