//! Numbers that the command prints: sizes, counts, rates and differences are those of the filter that it built.

use std::collections::BTreeMap;

use everbloom::internals::theory::tail;

mod place;

use place::Place;

const ALPHA: f64 = 1e-9;

fn numbers(range: std::ops::Range<u32>) -> String {
    range.map(|i| format!("{i}\n")).collect()
}

/// Keys of 58 bytes.
fn long(range: std::ops::Range<u32>) -> String {
    range.map(|i| format!("https://www.example.org/articles/{i:019}/page/1\n")).collect()
}

fn size(place: &Place, name: &str) -> f64 {
    std::fs::metadata(place.folder.path().join(name)).expect("a file").len() as f64
}

#[test]
fn a_filter_of_repeated_keys_can_be_read() {
    let place = Place::new();
    place.file("keys", "a\nb\nc\na\nb\nd\n");
    place.ok("build keys -o db.evb --kind double-buffer -n 2 -p 0.001", "");
    assert_eq!(place.run("check db.evb", "b\nd\n").out, "b\nd\n");
}

#[test]
fn variants_that_keep_their_keys_fit_the_memory_with_them() {
    let place = Place::new();
    place.file("keys", long(0..30_000));
    for kind in ["adaptive-cuckoo", "fast-hash-table", "dynamic-array"] {
        let planned = |goal: &str, record: &str| {
            place.json(&format!("plan --kind {kind} {goal} {record} --json"))["candidates"][0]["bits"]
                .as_f64()
                .expect("bits")
                / 8.0
        };
        let record = if kind == "dynamic-array" { "" } else { "--set record-bytes=58" };
        place.ok(&format!("build keys -o keys.evb --kind {kind} -n 30k -p 1%"), "");
        let (file, plan) = (size(&place, "keys.evb"), planned("-n 30k -p 1%", record));
        assert!((file / plan - 1.0).abs() < 0.05, "{kind}: {plan} bytes planned, {file} built");
        // As much memory as the keys take, and a little for the filter; then too little.
        let room = (file * 1.02) as u64;
        place.ok(&format!("build keys -o memory.evb --kind {kind} -n 30k --memory {room}"), "");
        let built = size(&place, "memory.evb");
        assert!(built <= 1.05 * room as f64, "{kind}: {built} bytes in {room}");
        let said =
            place.refused(&format!("build keys -o x.evb --kind {kind} -n 30k --memory 50kB"), "");
        assert!(said.contains("too few"), "{kind}: {said}");
    }
}

#[test]
fn differences_in_how_often_a_key_occurs_are_printed() {
    let place = Place::new();
    place.file("ours", format!("{}x\nx\nx\nonly ours\n", numbers(0..500)));
    place.file("theirs", format!("{}x\nonly theirs\nonly theirs\n", numbers(0..500)));
    for form in ["sums", "xor"] {
        for list in ["ours", "theirs"] {
            let built = "--kind invertible-counting -n 20 -q --set form=";
            place.ok(&format!("build {list} -o {list}.evb {built}{form}"), "");
            let run = place.run(&format!("diff {list}.evb {list} -q"), "");
            assert_eq!((run.code, run.out), (0, String::new()), "{form}: {}", run.err);
        }
        let run = place.run("diff ours.evb theirs -q", "");
        let (ids, keys): (Vec<&str>, Vec<&str>) =
            run.out.lines().partition(|line| line.starts_with("<? "));
        assert_eq!(run.code, 1, "{form}: {}", run.err);
        assert_eq!((ids.len(), ids[0].ends_with("\t1")), (1, true), "{form}: {}", run.out);
        assert_eq!(keys, ["< x\t2", "> only theirs\t2"], "{form}");
        let run = place.run("diff ours.evb theirs.evb -q", "");
        let times: Vec<&str> =
            run.out.lines().map(|line| line.split('\t').nth(1).unwrap_or("")).collect();
        assert_eq!(times.len(), 3, "{form}: {}", run.out);
        assert!(times.contains(&"1") && times.contains(&"2"), "{form}: {}", run.out);
    }
}

#[test]
fn braided_counts_are_decoded_or_said_to_be_bounds() {
    let place = Place::new();
    let times = |i: u32| 1 + i % 9 * 4;
    let counted: String = (0..900).map(|i| format!("{i}\t{}\n", times(i))).collect();
    place.file("counted", &counted);
    place.file("flows", numbers(0..900));
    place.ok("build counted -o flows.evb --kind counter-braids -n 900", "");
    let run = place.run("count flows.evb flows", "");
    assert_eq!(run.out, counted, "all flows: exact counts");
    let run = place.run("count flows.evb", &numbers(0..100));
    assert!(run.err.contains("upper bounds"), "{}", run.err);
    for (i, line) in (0..).zip(run.out.lines()) {
        let (key, count) = line.split_once("\t≤").expect(line);
        assert_eq!(key, i.to_string());
        assert!(count.parse::<u32>().expect(line) >= times(i), "{line}");
    }
}

#[test]
fn sites_that_draw_the_same_ranks_are_not_merged() {
    let place = Place::new();
    place.file("keys", "key\n".repeat(4000));
    for (name, set) in [("a", ""), ("b", ""), ("c", "--set stream=7")] {
        place.ok(&format!("build keys -o {name}.evb --kind loglog -n 10 --set d=256 {set}"), "");
    }
    let said = place.refused("merge a.evb b.evb -o ab.evb", "");
    assert!(said.contains("same ranks") && said.contains("--set stream"), "{said}");
    place.ok("merge a.evb c.evb -o ac.evb", "");
    let count = |name: &str| -> f64 {
        let run = place.run(&format!("count {name}.evb"), "key\n");
        run.out.trim().split('\t').nth(1).and_then(|count| count.parse().ok()).expect("a count")
    };
    let (one, both) = (count("a"), count("ac"));
    // 1.30/√256 is 8 %.
    assert!((one / 4000.0 - 1.0).abs() < 0.4 && (both / 8000.0 - 1.0).abs() < 0.4, "{one} {both}");
}

#[test]
fn counts_may_be_sized_by_their_error() {
    let place = Place::new();
    place.file("keys", numbers(0..50_000));
    let set = "--set epsilon=0.001 --set delta=0.01";
    place.ok(&format!("build keys -o counts.evb --kind count-min {set}"), "");
    let mut above = 0;
    for line in place.run("count counts.evb", &numbers(0..2000)).out.lines() {
        let count: u64 = line.split('\t').nth(1).and_then(|n| n.parse().ok()).expect(line);
        assert!(count >= 1);
        above += u64::from(count > 1 + 50);
    }
    // More than ε·n too high with δ at most.
    let (_, most) = tail::binomial_bounds(2000, 0.01, ALPHA);
    assert!(above <= most, "{above} of 2000");
    place.ok("build keys -o rows.evb --kind count-min --set w=2719 --set d=5", "");
    let said = place.refused("build keys -o bloom.evb --kind bloom --set m=100 --set k=3", "");
    assert!(said.contains("false-positive rate"), "{said}");
}

/// `info` speaks of keys without a set, in the sets that there are.
#[test]
fn the_rate_of_several_sets_is_that_of_the_sets_in_use() {
    let place = Place::new();
    let labeled: String =
        (0..3000).map(|i| format!("{i}\t{}\n", if i % 2 == 0 { "even" } else { "odd" })).collect();
    place.file("labeled", labeled);
    for kind in ["shifting --set form=association", "shifting --set form=counting-association"] {
        place.ok(&format!("build labeled -o sets.evb --kind {kind} -n 3000 -p 1%"), "");
        let fpr = place.json("info sets.evb --json")["fpr_now"].as_f64().expect("a rate");
        let others = place.run("check sets.evb", &numbers(10_000..60_000));
        let passed = others.out.lines().count() as u64;
        let (low, high) = tail::binomial_bounds(50_000, fpr, ALPHA);
        assert!((low..=high).contains(&passed), "{kind}: {passed} of 50000, {fpr} predicted");
    }
}

#[test]
fn a_ring_without_times_says_what_it_lacks() {
    let place = Place::new();
    place.file("keys", numbers(0..2000));
    let ring = "--kind windowed --set form=ring -n 2000 -p 1%";
    let run = place.run(&format!("build keys -o ring.evb {ring}"), "");
    assert!(
        run.code == 0 && run.err.contains("instead of 1") && run.err.contains("--time"),
        "{}",
        run.err
    );
    let timed: String = (0..2000u32).map(|i| format!("{}\t{i}\n", i / 16)).collect();
    place.file("timed", timed);
    let run = place.run(&format!("build timed -o ring.evb {ring} --time"), "");
    assert!(!run.err.contains("warning"), "{}", run.err);
}

/// Every kind that can be built from plain lines: nothing is said of its rate when it is as planned.
#[test]
fn filters_at_their_capacity_do_not_warn() {
    let place = Place::new();
    place.file("keys", numbers(0..2000));
    let mut warned = BTreeMap::new();
    for kind in [
        "bloom", "blocked", "counting", "scalable", "stable", "cuckoo", "quotient", "split",
        "ribbon", "decaying",
    ] {
        let run = place.run(&format!("build keys -o x.evb --kind {kind} -n 2000 -p 1%"), "");
        if run.err.contains("warning") {
            warned.insert(kind, run.err);
        }
    }
    assert!(warned.is_empty(), "{warned:?}");
}
