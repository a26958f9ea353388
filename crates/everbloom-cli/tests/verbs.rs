//! The verbs that change, combine and compare, from outside.

mod place;

use std::collections::BTreeSet;

use place::Place;
use serde_json::Value;

fn numbers(range: std::ops::Range<u32>) -> String {
    range.map(|i| format!("{i}\n")).collect()
}

#[test]
fn add_remove_and_count_change_the_file_whole() {
    let place = Place::new();
    place.file("keys", numbers(0..100));
    place.ok("build keys -o f.evb --kind counting -n 200 -p 1e-9", "");
    place.ok("add f.evb", "7\n7\nnew\n");
    assert_eq!(place.ok("count f.evb", "7\n8\nnew\nnone\n"), "7\t3\n8\t1\nnew\t1\nnone\t0\n");
    let refused = place.run("remove f.evb", "7\nnobody\nnew\n");
    assert_eq!(refused.code, 1, "a refused key is exit code 1");
    assert!(refused.err.contains("\"nobody\""), "{}", refused.err);
    assert_eq!(place.ok("count f.evb", "7\nnew\n8\n"), "7\t2\nnew\t0\n8\t1\n");
    assert_eq!(place.run("count f.evb", "none\n").code, 1);
    let before = place.bytes("f.evb");
    assert_eq!(place.run("remove f.evb", "nobody\n").code, 1);
    assert_eq!(place.bytes("f.evb"), before, "nothing accepted, nothing written");
    let json = place.run("add f.evb --json", "x\n");
    let json: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!((&json["added"], &json["refused"]), (&Value::from(1), &Value::from(0)));
}

#[test]
fn what_a_variant_cannot_do_is_one_error() {
    let place = Place::new();
    place.file("keys", numbers(0..10));
    place.ok("build keys -o f.evb --kind bloom", "");
    for (verb, word) in [
        ("remove", "remove keys"),
        ("count", "count keys"),
        ("get", "store values"),
        ("age", "age"),
    ] {
        let run = place.run(&format!("{verb} f.evb"), "1\n2\n");
        assert_eq!(run.code, 2, "{verb}: {}", run.err);
        assert!(run.err.contains(word) && run.err.contains("plan --need"), "{verb}: {}", run.err);
    }
}

#[test]
fn values_are_got_and_set() {
    let place = Place::new();
    place.file("keys", "fig\tfruit\noak\ttree\n");
    place.ok("build keys -o f.evb --kind bloomier --set form=mutable -p 1e-9", "");
    assert_eq!(place.ok("get f.evb", "oak\nnone\nfig\n"), "oak\ttree\nfig\tfruit\n");
    place.ok("add f.evb", "oak\tfruit\n");
    assert_eq!(place.ok("get f.evb", "oak\n"), "oak\tfruit\n");
    assert_eq!(place.run("add f.evb", "non-member\ttree\n").code, 1);
    assert_eq!(place.run("get f.evb", "non-member\n").code, 1);
}

#[test]
fn time_passes_for_filters_that_forget() {
    let place = Place::new();
    place.file("keys", numbers(0..100));
    place.ok("build keys -o f.evb --kind stable -n 100", "");
    place.ok("age f.evb 100k", "");
    assert_eq!(place.run("check f.evb keys", "").code, 1, "all is forgotten");
}

#[test]
fn filters_unite_intersect_fold_and_are_measured() {
    let place = Place::new();
    place.file("a", numbers(0..1000));
    place.file("b", numbers(600..1600));
    for kind in ["bloom", "partitioned", "blocked"] {
        for side in ["a", "b"] {
            place.ok(&format!("build {side} -o {side}.evb --kind {kind} -n 2000 -p 0.1%"), "");
        }
        let estimate = place.json("estimate a.evb b.evb --json");
        for (name, truth) in
            [("a", 1000.0), ("b", 1000.0), ("union", 1600.0), ("intersection", 400.0)]
        {
            let got = estimate[name].as_f64().expect(name);
            assert!((got - truth).abs() < 80.0, "{kind}: {name} is {got}, truly {truth}");
        }
        assert!((estimate["jaccard"].as_f64().expect("jaccard") - 0.25).abs() < 0.06);
        place.ok("merge a.evb b.evb -o m.evb", "");
        assert_eq!(place.ok("check m.evb a", "").lines().count(), 1000);
        assert_eq!(place.ok("check m.evb b", "").lines().count(), 1000);
        place.ok("intersect a.evb b.evb -o i.evb", "");
        let common = place.ok("check i.evb a", "");
        assert!(common.lines().count() >= 400 && common.lines().count() < 420, "{kind}");
        place.ok("fold a.evb -o h.evb", "");
        assert_eq!(place.ok("check h.evb a", "").lines().count(), 1000);
        let bits = |name: &str| place.json(&format!("info {name} --json"))["bits_cells"].as_u64();
        assert_eq!(bits("h.evb").map(|b| 2 * b), bits("a.evb"));
    }
    for line in ["merge a.evb b.evb", "intersect a.evb b.evb", "fold a.evb"] {
        let run = place.run(&format!("{line} -o no/such/f.evb"), "");
        assert!(run.code == 2 && run.err.contains("there is no folder no/such"), "{}", run.err);
    }
    place.ok("build a -o seed.evb --kind blocked -n 2000 -p 0.1% --seed 1", "");
    let refused = place.run("merge a.evb seed.evb -o m.evb", "");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("seed"), "{}", refused.err);
}

#[test]
fn dedupe_prints_first_sights_in_order() {
    let place = Place::new();
    let twice = numbers(0..5000) + &numbers(2500..7500);
    for mode in ["", "--exact-check"] {
        let run = place.run(&format!("dedupe {mode} -p 1e-6"), &twice);
        assert_eq!(run.out, numbers(0..7500), "{mode}");
        assert!(run.err.contains("duplicates"), "{}", run.err);
    }
    let fields = place.ok("dedupe --exact-check -f 1 -d ,", "a,1\nb,2\na,3\n");
    assert_eq!(fields, "a,1\nb,2\n");
    let window = place.run("dedupe --window 5000 -p 0.1%", &twice);
    let lines = window.out.lines().count();
    assert!((7400..9000).contains(&lines), "a window forgets some: {lines}");
    assert_eq!(place.run("dedupe -p 2", "a\n").code, 2);
    assert!(place.run("dedupe --window 0", "a\n").err.contains("--window 0"));
}

#[test]
fn diff_is_exact_and_counts_bytes() {
    let place = Place::new();
    place.file("a", numbers(0..20_000) + "only a\n\ntwice\ntwice\n");
    place.file("b", numbers(3..20_000) + "only b\ntwice\n");
    let run = place.run("diff a b", "");
    assert_eq!(run.code, 1);
    let lines: BTreeSet<&str> = run.out.lines().collect();
    assert_eq!(lines, BTreeSet::from(["< 0", "< 1", "< 2", "< only a", "< ", "> only b"]));
    assert!(run.err.contains("exchanged"), "{}", run.err);
    let same = place.run("diff a a", "");
    assert_eq!((same.code, same.out.as_str()), (0, ""));
    let json = place.json("diff a b --json");
    assert_eq!(json["only_b"], serde_json::json!(["only b"]));
    let sent = json["bytes_exchanged"].as_u64().expect("bytes");
    assert!(sent < json["bytes_of_everything"].as_u64().expect("bytes"), "{json}");
    // A difference as large as the sets still comes out exactly.
    place.file("c", numbers(100_000..103_000));
    assert_eq!(place.run("diff b c", "").out.lines().count(), 19_999 + 3000);
}

#[test]
fn join_is_exact() {
    let place = Place::new();
    place.file("left", "1,ann\n2,bob\n2,ben\n9,zoe\n");
    let right: String = (0..2000).map(|i| format!("row{i},{i}\n")).collect();
    place.file("right", right);
    let run = place.run("join left right -f 1,2 -d ,", "");
    let rows: BTreeSet<&str> = run.out.lines().collect();
    let expect = ["1,ann,row1,1", "2,bob,row2,2", "2,ben,row2,2", "9,zoe,row9,9"];
    assert_eq!(rows, BTreeSet::from(expect));
    assert!(run.err.contains("exchanged"), "{}", run.err);
    let bad = place.run("join left right -f 5 -d ,", "");
    assert_eq!(bad.code, 2);
    assert!(bad.err.contains("no column 5"), "{}", bad.err);
}

/// Whether keys are hashed on all cores, read one by one or handed to a build: the input, the line and the
/// options to try are named.
#[test]
fn a_missing_column_is_named_with_the_options_to_try() {
    let place = Place::new();
    place.file("table", "a,b\nc\n");
    place.ok("build table -o f.evb", "");
    for line in [
        "build table -o g.evb -n 10 -f 2 -d ,",
        "build table -o g.evb --kind golomb -n 10 -f 2 -d ,",
        "build table -o g.evb --ancestors / -f 2 -d ,",
        "check f.evb table -f 2 -d ,",
        "check f.evb table -f 2 -d , --answers",
        "join table table -f 2 -d ,",
    ] {
        let bad = place.run(line, "");
        assert_eq!(bad.code, 2, "{line}");
        let told = "table: line 2: there is no column 2; choose another with -f or -d";
        assert!(bad.err.contains(told), "{line}: {}", bad.err);
    }
}

#[test]
fn plans_rank_what_fits() {
    let place = Place::new();
    let plan = place.json("plan -n 1M -p 1% --json");
    let candidates = plan["candidates"].as_array().expect("a list");
    let bloom = candidates.iter().find(|c| c["slug"] == "bloom").expect("bloom fits");
    assert!((bloom["bits_per_item"].as_f64().expect("bits") - 9.585).abs() < 0.01);
    let bits = |c: &Value| c["bits_per_item"].as_f64().expect("bits");
    let promising = candidates.iter().filter(|c| c["fnr"] == 0.0);
    let catalog = place.json("catalog --json");
    let fixed = |slug: &Value| {
        let entry = catalog.as_array().and_then(|l| l.iter().find(|v| &v["slug"] == slug));
        entry.expect("in the list")["needs"].as_array().expect("needs").contains(&"static".into())
    };
    let takes_keys = |c: &&Value| {
        let inserts = c["abilities"].as_array().expect("a list").contains(&"insert".into());
        inserts && !fixed(&c["slug"])
    };
    let (taking, built_once): (Vec<&Value>, Vec<&Value>) = promising.partition(takes_keys);
    for list in [&taking, &built_once] {
        assert!(list.windows(2).all(|pair| bits(pair[0]) <= bits(pair[1])), "by bits");
    }
    let last = taking.last().expect("some take keys one by one");
    let place_of = |c: &Value| candidates.iter().position(|other| other == c);
    assert!(place_of(last) < place_of(built_once[0]), "what is built once comes later");
    let deletable = place.json("plan -n 1M -p 1% --need delete --json");
    for candidate in deletable["candidates"].as_array().expect("a list") {
        let needs = place.ok("catalog --json", "");
        let list: Value = serde_json::from_str(&needs).expect("JSON");
        let entry = list.as_array().and_then(|l| l.iter().find(|v| v["slug"] == candidate["slug"]));
        let needs = entry.expect("in the list")["needs"].as_array().expect("needs").clone();
        assert!(needs.contains(&Value::from("delete")), "{candidate}");
    }
    let memory = place.json("plan -n 1M --memory 1.2MB --json");
    let bloom =
        memory["candidates"].as_array().and_then(|l| l.iter().find(|c| c["slug"] == "bloom"));
    let rate = bloom.expect("bloom fits")["fpr"].as_f64().expect("a rate");
    assert!((rate - 0.0099).abs() < 0.001, "{rate}");
    let items = place.json("plan -p 1% --memory 1.2MB --json");
    let bloom =
        items["candidates"].as_array().and_then(|l| l.iter().find(|c| c["slug"] == "bloom"));
    let items = bloom.expect("bloom fits")["items"].as_u64().expect("items");
    assert!((990_000..1_010_000).contains(&items), "{items}");
    // Nobody is refused for a number of items that the plan itself found to fit.
    for line in ["plan --memory 2MB --json", "plan --memory 2MB -p 1% --json"] {
        let plan = place.json(line);
        assert!(!plan["refused"].to_string().contains("--memory allows"), "{}", plan["refused"]);
        let most = plan["candidates"].as_array().expect("a list").iter();
        assert!(most.map(|c| c["bits"].as_u64()).all(|b| b <= Some(16_000_000)), "{line}");
    }
    // What is not given is what they are ranked by, and why the first is first.
    let reason = |line: &str| place.json(line)["reason"].as_str().expect("a reason").to_owned();
    assert!(reason("plan -n 1M -p 1% --json").contains("the fewest bits"));
    assert!(reason("plan -n 1M --memory 2MB --json").contains("the lowest rate, "));
    assert!(reason("plan -p 1% --memory 2MB --json").contains("the most items, "));
    assert!(reason("plan --memory 2MB --json").contains("the most items, "));
    let all = place.json("plan -n 1M -p 1% --need delete --json");
    let all = all["candidates"].as_array().expect("a list").clone();
    let promising: Vec<&Value> = all.iter().filter(|c| c["fnr"] == 0.0).collect();
    assert!(promising.windows(2).all(|pair| bits(pair[0]) <= bits(pair[1])), "by bits");
    assert_eq!(place.run("plan -n 1G -p 1% --memory 1kB", "").code, 2, "the three do not agree");
    assert_eq!(place.run("plan", "").code, 2);
    assert_eq!(place.run("plan --need flying", "").code, 2);
    assert!(place.ok("plan --need decay", "").contains("stable"));
    place.ok("plan -n 1000 -p 1% --need fold --svg p.svg --plot", "");
    let picture = String::from_utf8(place.bytes("p.svg")).expect("text");
    assert!(picture.starts_with("<svg") && picture.contains("lower bound"));
}

#[test]
fn explain_shows_probes_and_verdict() {
    let place = Place::new();
    place.file("keys", "a\nb\n");
    place.ok("build keys -o f.evb --kind bloom -p 1e-9", "");
    let run = place.run("explain f.evb a", "");
    assert_eq!(run.code, 0);
    assert!(run.out.matches("probe ").count() >= 29, "{}", run.out);
    assert!(run.out.contains("present") && !run.out.contains('○'));
    let run = place.run("explain f.evb zzz", "");
    assert_eq!(run.code, 1);
    assert!(run.out.contains("absent") && run.out.contains('○'));
}

#[test]
fn ancestors_are_inserted_and_asked() {
    let place = Place::new();
    let paths: String = (0..300).map(|i| format!("/usr/lib{}/file{i}\n", i % 10)).collect();
    place.file("paths", &paths);
    place.ok("build paths -o f.evb --kind bloom -p 20% --ancestors /", "");
    assert_eq!(place.json("info f.evb --json")["items"], 300 + 10 + 1);
    assert_eq!(place.ok("check f.evb paths --ancestors /", ""), paths);
    let non_members: String = (0..2000).map(|i| format!("/opt/x{i}/deep/file\n")).collect();
    let plain = place.run("check f.evb --levels 0", &non_members).out.lines().count();
    let checked =
        place.run("check f.evb --ancestors / --levels 3", &non_members).out.lines().count();
    assert!(checked * 20 < plain, "{checked} against {plain}");
    assert_eq!(place.run("check f.evb --ancestors ;", "").code, 2);
}

#[test]
fn a_small_prior_is_believed_over_the_filter() {
    let place = Place::new();
    place.file("keys", numbers(0..100));
    place.ok("build keys -o f.evb --kind bloom -p 1%", "");
    assert_eq!(place.run("check f.evb keys --prior 1e-6", "").code, 1, "a yes would be wrong");
    assert_eq!(place.ok("check f.evb keys --prior 50%", ""), numbers(0..100));
    assert_eq!(place.ok("check f.evb keys --prior 1e-6 --cost 1000000", ""), numbers(0..100));
}

#[test]
fn shells_and_manuals_are_served() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.ok(&format!("completions {shell}"), "").contains("everbloom"));
    }
    assert!(place.ok("man", "").contains(".TH"));
    assert!(place.ok("bench --kind blocked -n 1000 --json", "").contains("hash_set"));
}

#[test]
fn many_blocks_on_all_cores_keep_their_order() {
    // Several blocks of lines; the answers printed one by one go the slow way.
    let place = Place::new();
    place.file("some", numbers(100_000..200_000));
    place.file("asked", numbers(0..300_000));
    for kind in ["bloom", "blocked", "split-block"] {
        place.ok(&format!("build some -o f.evb --kind {kind} -p 5% -q"), "");
        let fast = place.ok("check f.evb asked", "");
        let slow = place.ok("check f.evb asked --answers", "");
        let present: String = slow
            .lines()
            .filter_map(|line| line.strip_prefix("present\t"))
            .map(|key| format!("{}\n", key.trim_end()))
            .collect();
        assert_eq!(fast, present, "{kind}");
        assert!(fast.lines().count() > 105_000);
        // Built from the pipe, key by key in another order, it is the same filter.
        place.ok(
            &format!("build - -o g.evb --kind {kind} -n 100k -p 5% -q"),
            &numbers(100_000..200_000),
        );
        assert_eq!(place.bytes("f.evb"), place.bytes("g.evb"), "{kind}");
    }
}

#[test]
fn errors_name_the_line_wherever_it_stands() {
    let place = Place::new();
    place.file("keys", numbers(0..150_000) + "x\n" + &numbers(0..150_000));
    for kind in ["blocked", "counting"] {
        let run = place.run(&format!("build keys -o f.evb --kind {kind} --key-type u64 -n 1M"), "");
        assert_eq!(run.code, 2);
        assert!(run.err.contains("keys: line 150001: \"x\" is not a decimal"), "{}", run.err);
    }
    assert!(!place.folder.path().join("f.evb").exists());
}

#[test]
fn quiet_is_quiet_and_pipes_may_be_of_any_length() {
    let place = Place::new();
    let run = place.run("build - -o f.evb -q", &numbers(0..200_000));
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", ""));
    assert_eq!(place.ok("check f.evb", "199999\n"), "199999\n");
    // What comes from a pipe makes the filter that it would make as a file.
    place.file("keys", numbers(0..200_000));
    place.ok("build keys -o g.evb -q", "");
    assert_eq!(place.bytes("f.evb"), place.bytes("g.evb"));
    place.ok("build - -o f.evb -n 10", "a\n");
    assert_eq!(place.json("info f.evb --json")["slug"], "bloom");
    place.ok("build - -o f.evb --kind blocked", "a\n");
    assert_eq!(place.json("info f.evb --json")["slug"], "blocked");
    assert_eq!(place.run("check missing.evb -q", "a\n").err.lines().count(), 1);
}

#[test]
fn info_warns_of_a_filter_past_its_capacity() {
    let place = Place::new();
    place.file("keys", numbers(0..1000));
    place.ok("build keys -o f.evb -n 1000", "");
    assert!(!place.ok("info f.evb", "").contains("warning"));
    place.ok("add f.evb", &numbers(1000..3000));
    let text = place.ok("info f.evb", "");
    assert!(text.contains("over capacity") && text.contains("times the planned rate"), "{text}");
}

#[test]
fn filter_files_are_benched() {
    let place = Place::new();
    place.ok("build - -o f.evb -n 1000 -q", &numbers(0..1000));
    let report = place.json("bench f.evb -n 1000 --json");
    assert!(report["bloom"]["miss_ns"].as_f64().is_some_and(|ns| ns > 0.0), "{report}");
    assert!(report["bloom"]["build_ns"].is_null());
    assert_eq!(place.run("bench", "").code, 2);
    // The key that its error message asks for is taken.
    place.file("secret", "000102030405060708090a0b0c0d0e0f\n");
    place.ok("build - -o k.evb -n 1000 -q --key-file secret", &numbers(0..1000));
    assert!(place.run("bench k.evb -n 1000", "").err.contains("--key-file"));
    place.ok("bench k.evb -n 1000 --key-file secret", "");
}

/// Keys that hold newlines come out as they went in.
#[test]
fn records_that_end_in_nul_are_printed_so() {
    let place = Place::new();
    place.file("keys", "a\nb\0c\0");
    for kind in ["bloom", "counting"] {
        let built = place.run(&format!("build keys -0 -o f.evb --kind {kind}"), "");
        assert_eq!(built.code, 0, "{}", built.err);
        assert_eq!(place.run("check f.evb keys -0", "").out, "a\nb\0c\0", "{kind}");
        let answers = place.run("check f.evb keys -0 --answers", "").out;
        assert_eq!(answers.matches('\0').count(), 2, "{kind}: {answers:?}");
    }
    assert_eq!(place.run("count f.evb keys -0", "").out, "a\nb\t1\0c\t1\0");
}

#[test]
fn a_filter_is_queried_as_its_keys_were_read() {
    let place = Place::new();
    let ids = numbers(0..1000);
    place.ok("build - -o ids.evb -n 1000 --key-type u64 -q", &ids);
    let found = place.ok("check ids.evb -", &ids);
    assert_eq!(found.lines().count(), 1000, "the file remembers the key type");
    assert_eq!(place.json("info ids.evb --json")["key_type"], "u64");
    let refused = place.run("check ids.evb - --key-type bytes", &ids);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("built from keys of type u64"), "{}", refused.err);
    place.ok("add ids.evb - -q", "5000\n");
    assert_eq!(place.ok("check ids.evb -", "5000\n"), "5000\n");

    // A filter of text is not queried for integers without a word.
    place.ok("build - -o text.evb -n 1000 -q", &ids);
    let wrong = place.run("check text.evb - --key-type u64", &ids);
    assert!(wrong.err.contains("does not state that its keys are of type u64"), "{}", wrong.err);
    let unequal = place.run("merge ids.evb text.evb -o both.evb", "");
    assert_eq!(unequal.code, 2);
    assert!(unequal.err.contains("differ in key type"), "{}", unequal.err);
}

#[test]
fn a_filter_of_nodes_is_queried_with_their_ancestors() {
    let place = Place::new();
    let paths: String = (0..300).map(|i| format!("/usr/{}/{i}\n", i % 7)).collect();
    place.ok("build - -o tree.evb --ancestors / -q", &paths);
    assert_eq!(place.ok("check tree.evb -", &paths).lines().count(), 300);
    assert_eq!(place.json("info tree.evb --json")["ancestors"], "paths");
    place.ok("add tree.evb - -q", "/opt/new/file\n");
    assert_eq!(place.ok("check tree.evb -", "/opt/new\n/opt/new/file\n").lines().count(), 2);
    assert_eq!(place.run("check tree.evb - --ancestors .", &paths).code, 2);
    assert_eq!(place.run("remove tree.evb -", "/usr/1/1\n").code, 2);

    place.ok("build - -o flat.evb -n 300 -q", &paths);
    let refused = place.run("check flat.evb - --ancestors /", &paths);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("built without it"), "{}", refused.err);
}

#[test]
fn flipped_bits_are_scrubbed() {
    let place = Place::new();
    place.ok("build - -o f.evb --kind soft-error -n 1000 -q", &numbers(0..1000));
    assert_eq!(place.json("scrub f.evb --json -q")["repaired"], 0);
    let path = place.folder.path().join("f.evb");
    let mut filter: everbloom::hardware::SoftError = everbloom::open_as(&path).expect("a filter");
    filter.flip(77).expect("a bit");
    everbloom::save(&filter, &path).expect("saved");
    assert_eq!(place.ok("check f.evb", &numbers(0..1000)), numbers(0..1000));
    assert_eq!(place.json("scrub f.evb --json -q")["repaired"], 1);
    assert_eq!(place.json("scrub f.evb --json -q")["repaired"], 0);
    place.ok("build - -o g.evb --kind bloom -n 1000 -q", "a\n");
    let run = place.run("scrub g.evb", "");
    assert!(run.code == 2 && run.err.contains("--need faults"), "{}", run.err);
}

#[test]
fn a_removal_in_vain_is_said() {
    let place = Place::new();
    place.ok("build - -o f.evb --kind counting -n 1000 -q", &"hot\n".repeat(100));
    place.ok("add f.evb -q", "cold\n");
    let run = place.run("remove f.evb", "hot\ncold\n");
    assert!(run.err.contains("1 of the removed keys remain members"), "{}", run.err);
    assert_eq!(place.ok("check f.evb", "hot\ncold\n"), "hot\n");
    place.file("hot", "hot\n");
    assert_eq!(place.json("remove f.evb hot --json -q")["stuck"], 1);
}

#[test]
fn check_has_the_options_of_grep() {
    let place = Place::new();
    place.ok("build - -o f.evb -n 100 -q", "apple\nPear\nfig\n");
    assert_eq!(place.ok("check f.evb -v", "apple\nquince\n"), "quince\n");
    assert_eq!(place.ok("check f.evb -c", "apple\nfig\nquince\n"), "2\n");
    assert_eq!(place.ok("check f.evb -vc", "apple\nfig\nquince\n"), "1\n");
    let run = place.run("check f.evb -c", "quince\n");
    assert_eq!((run.code, run.out.as_str()), (1, "0\n"));
    assert_eq!(place.run("check f.evb -v", "apple\n").code, 1);
    // The same by the slower way.
    let json = place.run("check f.evb -v --json", "apple\nquince\n").out;
    assert!(json.contains("quince") && !json.contains("apple"), "{json}");
}

#[test]
fn case_is_folded_where_the_filter_was_built_so() {
    let place = Place::new();
    place.ok("build - -o f.evb -n 100 -q -i", "Apple\nPEAR\n");
    for line in ["check f.evb", "check f.evb -i"] {
        assert_eq!(place.ok(line, "aPPle\npear\nfig\n"), "aPPle\npear\n", "{line}");
    }
    place.ok("add f.evb -q", "FIG\n");
    assert_eq!(place.ok("check f.evb -c", "fig\n"), "1\n");
    place.ok("build - -o plain.evb -n 100 -q", "apple\n");
    let run = place.run("check plain.evb -i", "Apple\n");
    assert!(run.code == 2 && run.err.contains("built without -i"), "{}", run.err);
    let run = place.run("merge f.evb plain.evb -o m.evb", "");
    assert_eq!(run.code, 2, "{}", run.err);
}

#[test]
fn one_looks_in_several_filters_at_once() {
    let place = Place::new();
    place.ok("build - -o monday.evb -n 100 -q", "a\nb\n");
    place.ok("build - -o tuesday.evb -n 1000 -q", "b\nc\n");
    let found = place.ok("check monday.evb --in tuesday.evb", "a\nb\nc\nd\n");
    assert_eq!(found, "a\tmonday\nb\tmonday,tuesday\nc\ttuesday\n");
    assert_eq!(place.ok("check monday.evb --in tuesday.evb -c", "a\nd\n"), "1\n");
    let run = place.run("check monday.evb --in tuesday.evb --json", "c\n");
    assert_eq!(run.out, "{\"query\":\"c\",\"in\":[\"tuesday\"]}\n");
}

#[test]
fn input_that_is_no_list_of_lines_is_told() {
    let place = Place::new();
    place.ok("build - -o f.evb -n 100 -q", "a\n");
    let run = place.run("build f.evb -o g.evb", "");
    assert!(run.code == 2 && run.err.contains("is a filter file"), "{}", run.err);
    place.file("windows", "a\r\nb\r\n");
    let run = place.run("check f.evb windows", "");
    assert!(run.code == 1 && run.err.contains("--crlf"), "{}", run.err);
    assert_eq!(place.ok("check f.evb windows --crlf -q", ""), "a\r\n");
    place.file(
        "packed.bz2",
        [
            0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x63, 0x3e, 0xd6, 0xe2,
            0x00, 0x00, 0x00, 0xc1, 0x00, 0x00, 0x10, 0x20, 0x00, 0x20, 0x00, 0x21, 0x00, 0x82,
            0xb1, 0x77, 0x24, 0x53, 0x85, 0x09, 0x06, 0x33, 0xed, 0x6e, 0x20,
        ],
    );
    assert_eq!(place.ok("check f.evb packed.bz2", ""), "a\n");
}

#[test]
fn plans_fit_the_screen_and_say_how_to_build() {
    let place = Place::new();
    for line in [
        "plan -n 1M -p 1%",
        "plan -n 1M -p 1% --need count",
        "plan -n 1M --memory 1MB",
        "plan --memory 1MB -p 1%",
        "plan -n 1M --need values",
        "plan -n 1M --need exact",
        "plan -n 1M -p 1% --need hostile",
    ] {
        let text = place.ok(line, "");
        assert!(text.lines().count() <= 24, "{line}:\n{text}");
        assert!(text.contains("everbloom build KEYS -o FILTER.evb --kind "), "{line}:\n{text}");
        let wide = text.lines().find(|l| l.chars().count() > 80 && !l.contains("everbloom build"));
        assert_eq!(wide, None, "{line}");
    }
    assert!(place.ok("plan -n 1M --need hostile", "").contains("--key-file SECRET.hex"));
    let growing = place.json("plan -n 1M -p 1% --need grow,merge --json");
    assert!(!growing["command"].to_string().contains("matrix"), "{growing}");
    // A calculator: any two or three give the rest.
    let first = |line: &str| place.json(line)["candidates"][0].clone();
    let sized = first("plan --kind bloom -n 1000 -m 10000 -k 7 --json");
    assert!((sized["fpr"].as_f64().expect("a rate") - 0.0082).abs() < 1e-4, "{sized}");
    let items = first("plan --kind bloom -m 10000 -k 7 -p 0.0082 --json");
    assert!((990..=1010).contains(&items["items"].as_u64().expect("a number")), "{items}");
    assert_eq!(place.run("plan -n 1000 -m 10000", "").code, 2);
}

#[test]
fn a_size_that_is_far_too_small_is_refused() {
    let place = Place::new();
    place.file("keys", numbers(0..100_000));
    let run = place.run("build keys -o f.evb --memory 1kB", "");
    assert!(
        run.code == 2 && run.err.contains("rate would be") && run.err.contains("--memory 1"),
        "{}",
        run.err
    );
    let run = place.run("plan -n 10M --memory 1kB --kind ternary", "");
    assert!(run.code == 2 && run.err.contains("rate would be"), "{}", run.err);
}

#[test]
fn known_non_members_are_used_or_refused() {
    let place = Place::new();
    place.file("others", numbers(1000..2000));
    let line = "build - -o f.evb --kind retouched -n 1000 --negatives others";
    let run = place.run(line, &numbers(0..1000));
    assert!(run.code == 2 && run.err.contains("--set form"), "{}", run.err);
    let run = place.run(&format!("{line} --set form=ratio"), &numbers(0..1000));
    assert!(run.code == 0 && run.err.contains("false negatives"), "{}", run.err);
}

#[test]
fn every_variant_is_tried_with_its_sample() {
    let place = Place::new();
    let list = place.json("catalog --json");
    for variant in list.as_array().expect("a list").iter().filter(|v| v["kind"] == "filter") {
        let slug = variant["slug"].as_str().expect("a slug");
        if variant["input"]["negatives"] == "required" {
            continue;
        }
        let records = place.ok(&format!("sample {slug} -n 50"), "");
        assert_eq!(records.lines().count(), 50, "{slug}");
        place.ok(&format!("build - -o f.evb --kind {slug} -n 50 -q"), &records);
        let queries = place.ok(&format!("sample {slug} -n 50 --queries members"), "");
        let found = place.ok("check f.evb -q", &queries).lines().count();
        assert!(found >= 25, "{slug}: {found} of 50 members");
    }
    assert_ne!(place.ok("sample bloom", ""), place.ok("sample bloom --seed 2a", ""));
    let run = place.run("", "");
    assert!(run.code == 0 && run.out.lines().count() <= 10, "{}", run.out);
}

#[test]
fn filters_of_unequal_size_are_told_how_to_merge() {
    let place = Place::new();
    for kind in ["bloom", "blocked", "counting"] {
        place.ok(&format!("build - -o a.evb --kind {kind} -n 100 -q"), &numbers(0..100));
        place.ok(&format!("build - -o b.evb --kind {kind} -n 3k -q"), &numbers(0..3000));
        let run = place.run("merge a.evb b.evb -o m.evb", "");
        assert!(run.code == 2 && run.err.contains("build both with -n 3k"), "{kind}: {}", run.err);
    }
}

/// Every verb that reads text answers as it does without the mark, and says that there was one.
#[test]
fn a_byte_order_mark_is_no_part_of_the_first_key() {
    const MARK: &str = "\u{feff}";
    let place = Place::new();
    let sum = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afeeb48b";
    for (name, text) in [
        ("k", "a\nb\nc\n".to_owned()),
        ("d", "a\na\nb\n".to_owned()),
        ("csv", "id,name\n1,Ann Smith\n2,Bob Jones\n".to_owned()),
        ("u64", "1\n2\n3\n".to_owned()),
        ("fa", format!(">s\n{}\n", "ACGTTGCATT".repeat(9))),
        ("sums", format!("{sum}  one\n")),
        ("aff", "SET UTF-8\nSFX S Y 1\nSFX S 0 s .\n".to_owned()),
        ("dic", "1\napple/S\n".to_owned()),
        ("patterns", "hy3ph\n".to_owned()),
        ("exceptions", "ta-ble\n".to_owned()),
    ] {
        place.file(&format!("plain.{name}"), &text);
        place.file(&format!("marked.{name}"), MARK.to_owned() + &text);
    }
    place.file("other.k", "b\nx\n");
    place.file("valid.k", "d\ne\n");
    place.file("one", "a");
    place.file("text", "apple apples table hyphen a\n");
    place.ok("build plain.k -o k.evb -n 100 -q", "");
    place.ok("build plain.k -o counts.evb --kind counting -n 100 -q", "");
    place.ok("build - -o plain.evb -n 100 -q", "");
    place.ok("build - -o marked.evb -n 100 -q", "");
    place.ok("kmer build plain.fa -o index.evk -K 9 -q", "");
    place.ok("revoked build --revoked plain.k --valid valid.k -o set -q", "");
    for line in [
        "build IN.k -o - -n 100",
        "build IN.u64 -o - --key-type u64",
        "build IN.csv -o - --csv -f id -n 100",
        "check k.evb IN.k",
        "count counts.evb IN.k",
        "add IN.evb IN.k --json",
        "dedupe IN.d",
        "dedupe IN.csv --csv -f id",
        "diff IN.k other.k",
        "sketch IN.k -o -",
        "sync IN.k other.k",
        "join IN.csv plain.csv --csv -f id",
        "join plain.csv IN.csv --csv -f id",
        "top IN.d -k 2",
        "kmer query index.evk IN.fa",
        "known one --list IN.sums",
        "link IN.csv plain.csv",
        "spell text -d IN.k",
        "spell text -d plain.k --personal IN.k",
        "spell IN.k -d k.evb",
        "spell text -d IN.dic",
        "spell text --hyphenate IN.patterns",
        "spell text --hyphenate plain.patterns --exceptions IN.exceptions",
        "revoked check set IN.k",
    ] {
        let [plain, marked] =
            ["plain", "marked"].map(|name| place.run(&line.replace("IN", name), ""));
        assert!(plain.code < 2, "{line}: {}", plain.err);
        assert_eq!((marked.code, &marked.out), (plain.code, &plain.out), "{line}: {}", marked.err);
        assert!(marked.err.contains("byte order mark"), "{line}: {}", marked.err);
        assert!(!plain.err.contains("byte order mark"), "{line}: {}", plain.err);
    }
    // From a pipe, and by all cores.
    assert_eq!(place.ok("check k.evb -", "\u{feff}a\nb\n"), "a\nb\n");
    let many: String = (0..200_000).map(|i| format!("{i}\n")).collect();
    place.file("many", MARK.to_owned() + &many);
    place.ok("build many -o many.evb -q", "");
    assert_eq!(place.ok("check many.evb many -c -q", ""), "200000\n");
    assert_eq!(place.ok("check many.evb - -q", "0\n199999\n"), "0\n199999\n");
}
