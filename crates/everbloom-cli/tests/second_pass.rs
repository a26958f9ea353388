//! Options for the second time one uses a verb: tables for spreadsheets, pictures, filters that fit others, times,
//! and input that is not as clean as it should be.

use serde_json::Value;
use std::process::Command;
use tempfile::TempDir;

mod place;

use place::Run;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).expect("a file")
    }

    /// Runs a command line, split at spaces.
    fn run(&self, line: &str) -> Run {
        self.run_with(line, "")
    }

    fn run_with(&self, line: &str, stdin: &str) -> Run {
        self.run_args(&line.split(' ').collect::<Vec<_>>(), stdin)
    }

    fn run_args(&self, args: &[&str], stdin: &str) -> Run {
        Run::of(&place::output(place::command(self.0.path(), args), stdin.as_bytes()))
    }

    /// Runs a command that must succeed.
    fn done(&self, line: &str) -> String {
        let run = self.run(line);
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        run.out
    }

    /// Runs a command that must fail, and returns why.
    fn refused(&self, line: &str) -> String {
        let run = self.run(line);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{line}: {}", run.err);
        run.err
    }
}

/// The cells of a line of CSV without quotes.
fn cells(line: &str) -> Vec<&str> {
    line.split(',').collect()
}

#[test]
fn tables_are_printed_for_spreadsheets() {
    let place = Place::new();
    let plan = place.done("plan -n 10k -p 1% --need merge,fold --csv");
    let mut lines = plan.lines().map(cells);
    assert_eq!(lines.next(), Some(vec!["variant", "size", "bits", "probes", "rate", "× bound"]));
    let bloom = lines.find(|row| row[0] == "bloom").expect("bloom");
    let number = |cell: &str| cell.parse::<f64>().unwrap_or_else(|e| panic!("{cell}: {e}"));
    assert!((11_000.0..13_000.0).contains(&number(bloom[1])), "{bloom:?}");
    assert!((0.009..0.011).contains(&number(bloom[4])), "{bloom:?}");
    // As many as --all shows.
    let all = place.done("plan -n 10k -p 1% --need merge,fold --json");
    let all: Value = serde_json::from_str(&all).expect("JSON");
    assert_eq!(plan.lines().count(), 1 + all["candidates"].as_array().expect("a list").len());
    assert!(place.done("plan --need decay --csv").starts_with("variant,name,serves\nstable,"));

    let catalog = place.done("catalog --csv");
    assert!(catalog.starts_with("slug,entry,form,name,abilities,false negatives\nbloom,F1,"));
    assert!(place.done("catalog counting --csv").starts_with("name,value\nvariant,\"counting ("));

    place.file("keys", "a\nb\n");
    place.done("build keys -o f.evb -n 100 -q");
    let info = place.done("info f.evb --csv");
    assert!(info.starts_with("name,value\nvariant,\"bloom (") && info.contains("\nitems,2\n"));

    let bench = place.done("bench --kind blocked -n 1000 --csv");
    let rows: Vec<Vec<&str>> = bench.lines().map(cells).collect();
    assert_eq!(rows.len(), 4, "{bench}");
    assert!(rows[1..].iter().all(|row| row[1..].iter().all(|cell| number(cell) > 0.0)), "{bench}");
    let refused = place.refused("plan -n 1k -p 1% --csv --json");
    assert!(refused.contains("--csv") && refused.contains("--json"), "{refused}");
}

#[test]
fn bench_tells_units_and_the_ratio_to_a_hash_set() {
    let place = Place::new();
    let table = place.done("bench --kind bloom -n 1000");
    for word in ["nanoseconds", "insert, ns", "miss, ns", "memory, bytes", "ratio to the hash set"]
    {
        assert!(table.contains(word), "{word}: {table}");
    }
    let csv = place.done("bench --kind bloom -n 1000 --csv");
    let rows: Vec<Vec<f64>> = csv
        .lines()
        .skip(1)
        .map(|line| cells(line)[1..].iter().map(|cell| cell.parse().expect("a number")).collect())
        .collect();
    let [ours, theirs, ratios] = &rows[..] else { panic!("{csv}") };
    assert_eq!((ours.len(), theirs.len(), ratios.len()), (4, 4, 4), "{csv}");
    for ((ours, theirs), ratio) in ours.iter().zip(theirs).zip(ratios) {
        assert!((ratio / (ours / theirs) - 1.0).abs() < 1e-9, "{csv}");
    }
    // A file is only asked for keys it does not have.
    place.file("keys", "a\nb\n");
    place.done("build keys -o f.evb -n 100 -q");
    assert!(place.done("bench f.evb -n 1000 --csv").contains("\nbloom,,,"), "{csv}");
}

#[test]
fn a_plan_tells_how_far_filters_count() {
    let place = Place::new();
    let plan = place.done("plan -n 10k -p 1% --need count --max-count 1000 --json");
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    let candidates = plan["candidates"].as_array().expect("a list");
    assert!(!candidates.is_empty());
    for candidate in candidates {
        let limit = &candidate["counts_to"];
        assert!(limit.is_null() || limit.as_u64() > Some(1000), "{candidate}");
    }
    assert!(candidates.iter().any(|c| c["slug"] == "counting" && c["counts_to"] == 1023));
    let refused = plan["refused"].as_array().expect("a list");
    assert!(refused.iter().any(|why| why.as_str().is_some_and(|w| w.contains("counts to"))));
    // Four bits count to 15; wider ones are planned where that is not enough, and the command says so.
    let few = place.done("plan -n 10k -p 1% --need count --kind counting --max-count 10 --all");
    assert!(few.contains("counts to") && few.contains(" 15 │"), "{few}");
    assert!(!few.contains("--set width"), "{few}");
    let many = place.done("plan -n 10k -p 1% --need count --kind counting --max-count 1000 --all");
    assert!(many.contains("--set width=10"), "{many}");
    // What is planned is what is built: a thousand copies are counted.
    place.file("keys", &"x\n".repeat(1000));
    place.done("build keys -o f.evb --kind counting -n 10k -q --set width=10");
    assert_eq!(place.run_with("count f.evb", "x\n").out, "x\t1000\n");
    let missing = place.refused("plan -n 1k -p 1% --max-count 5");
    assert!(missing.contains("--need count"), "{missing}");
    assert!(place.refused("plan -n 1k -p 1% --need count --max-count 1G").contains("maximum is"));
}

#[test]
fn cells_agree_for_members_and_a_picture_shows_those_that_do_not() {
    let place = Place::new();
    place.file("keys", "apple\nfig\n");
    for kind in ["bloom", "scalable", "cross-checking", "split"] {
        let extra = if kind == "cross-checking" { " --negatives keys" } else { "" };
        let build = format!("build keys -o f.evb --kind {kind} -n 100 -q");
        if place.run(&build).code != 0 {
            place.done(&(build + extra));
        }
        let json: Value =
            serde_json::from_str(&place.done("explain f.evb apple --json")).expect("JSON");
        let cells = json["cells"].as_array().expect("a list");
        assert!(!cells.is_empty(), "{kind}");
        assert!(kind == "cross-checking" || cells.iter().all(|c| c["agrees"] == true), "{kind}");
    }
    place.done("build keys -o f.evb --kind bloom -n 100 -q");
    let run = place.run("explain f.evb nobody --svg n.svg");
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.contains("○") && run.err.contains("n.svg: drawn"), "{}", run.err);
    assert!(place.read("n.svg").contains("nobody: absent, because cell"));
}

#[test]
fn names_that_are_not_there_are_answered_with_those_that_look_alike() {
    let place = Place::new();
    place.file("keys", "a\n");
    for (line, name) in [
        ("catalog blom", "bloom"),
        ("build keys -o f.evb --kind coutning", "counting"),
        ("plan -n 1k -p 1% --kind blockd", "blocked"),
        ("sample spectra", "spectral"),
        ("bench --kind bloomm -n 10", "bloom"),
        ("build keys -o f.evb --format gauva", "guava"),
        ("plan --need delte", "delete"),
    ] {
        let said = place.refused(line);
        assert!(said.contains("did you mean") && said.contains(name), "{line}: {said}");
    }
    assert!(place.refused("catalog xyzzy").contains("the variants are bloom"));
    for moved in ["lab list", "app show loops"] {
        let said = place.refused(moved);
        assert!(said.contains("cargo run --release -p everbloom-lab -- list"), "{moved}: {said}");
    }
}

#[test]
fn a_filter_like_another_merges_with_it() {
    let place = Place::new();
    place.file("few", "a\nb\n");
    place.file("many", &(0..500).map(|i| format!("{i}\n")).collect::<String>());
    for options in [
        "--kind bloom -p 0.1% --seed 7",
        "--kind partitioned -n 1000",
        "--kind counting --set width=6",
        "--kind blocked -n 1000 -i",
        "--key-type u64",
        "--kind scalable -n 100 -p 0.1%",
    ] {
        let run = place.run(&format!("build many -o a.evb {options} -q"));
        assert_eq!(run.code, 0, "{options}: {}", run.err);
        let keys = if options.contains("u64") { "many" } else { "few" };
        place.done(&format!("build {keys} -o b.evb --like a.evb -q"));
        place.done("merge a.evb b.evb -o both.evb -q");
        let found = place.run_args(&["check", "both.evb", keys], "");
        assert_eq!(found.out, place.read(keys), "{options}");
    }
    // Without it the shape follows from the number of keys.
    place.done("build many -o a.evb -q");
    place.done("build few -o b.evb -q");
    assert!(place.refused("merge a.evb b.evb -o no.evb").contains("the same size"));
    place.done("build many -o s.evb --kind dynamic -n 100 -q");
    let said = place.refused("build few -o no.evb --like s.evb");
    assert!(said.contains("cannot be merged") && said.contains("--mergeable"), "{said}");
    assert!(place.refused("build few -o no.evb --like a.evb -n 5").contains("--like"));
}

#[test]
fn mergeable_filters_have_a_shape_of_their_own() {
    let place = Place::new();
    place.file("a", "1\n2\n3\n");
    place.file("b", "4\n");
    assert!(place.refused("build a -o a.evb --mergeable --kind counting").contains("give -n"));
    for name in ["a", "b"] {
        place.done(&format!("build {name} -o {name}.evb --mergeable -n 1000 -q"));
    }
    place.done("merge a.evb b.evb -o both.evb -q");
    assert_eq!(place.run_with("check both.evb", "1\n4\n").out, "1\n4\n");
    let said = place.refused("build a -o no.evb --mergeable -n 100 --kind binary-fuse");
    assert!(said.contains("cannot be merged"), "{said}");
    place.done("build a -o s.evb --kind dynamic -n 10 -q");
    let said = place.refused("merge s.evb s.evb -o no.evb");
    assert!(said.contains("grows with its own keys"), "{said}");
}

#[test]
fn filters_that_grow_merge_and_their_rates_add_up() {
    let place = Place::new();
    let numbers = |range: std::ops::Range<u32>| range.map(|i| format!("{i}\n")).collect::<String>();
    let rate = |name: &str| -> f64 {
        let info: Value =
            serde_json::from_str(&place.done(&format!("info {name} --json"))).expect("JSON");
        info["fpr_now"].as_f64().expect("a rate")
    };
    for (name, range) in [("a", 0..3000), ("b", 3000..5000)] {
        place.file(name, &numbers(range));
        place.done(&format!("build {name} -o {name}.evb --kind scalable -n 100 -p 1% -q"));
    }
    let said = place.run("merge a.evb b.evb -o both.evb");
    assert!(said.code == 0 && said.err.contains("items, false positives now"), "{}", said.err);
    assert_eq!(place.run("check both.evb a -c").out, "3000\n");
    assert_eq!(place.run("check both.evb b -c").out, "2000\n");
    let (a, b, both) = (rate("a.evb"), rate("b.evb"), rate("both.evb"));
    assert!((both - (a + b - a * b)).abs() < 1e-9, "{a} and {b}: {both}");
    // It grows on, and what it says of itself holds: within five deviations.
    assert_eq!(place.run_with("add both.evb -q", &numbers(5000..9000)).code, 0);
    place.file("others", &numbers(1_000_000..1_100_000));
    let passed: f64 = place.run("check both.evb others -c").out.trim().parse().expect("a number");
    let expected = 100_000.0 * rate("both.evb");
    assert!((passed - expected).abs() < 5.0 * expected.sqrt(), "{passed}, predicted {expected}");
    assert_eq!(place.run_with("check both.evb -c", &numbers(0..9000)).out, "9000\n");

    place.done("build a -o c.evb --kind scalable -n 200 -p 1% -q");
    let said = place.refused("merge a.evb c.evb -o no.evb");
    assert!(said.contains("items") && said.contains("the same -n and -p"), "{said}");
    assert!(place.done("plan --need grow,merge").contains("scalable"));
}

/// What is packed gives the same filter as what is not, whatever it is packed by and however often it is gone through.
#[test]
fn packed_input_and_pipes_are_read_once() {
    let place = Place::new();
    let text: String = (0..20_000).map(|i| format!("{i}\n")).collect();
    place.file("keys", &text);
    place.done("build keys -o plain.evb -q");
    let plain = std::fs::read(place.0.path().join("plain.evb")).expect("a file");
    let shell = |line: &str| {
        let command = line.replace("everbloom", env!("CARGO_BIN_EXE_everbloom"));
        let mut bash = Command::new("bash");
        bash.args(["-o", "pipefail", "-c", &command]).current_dir(place.0.path());
        let output = bash.output().expect("bash runs");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    // A pipe can be opened once: with timeout(1), since whoever tries twice waits for ever.
    shell("mkfifo pipe");
    for (packer, line) in [
        ("gzip", "gzip -c keys > packed && everbloom build packed -o f.evb -q"),
        ("gzip", "(gzip -c keys > pipe &) && timeout 60 everbloom build pipe -o f.evb -q"),
        ("cat", "(cat keys > pipe &) && timeout 60 everbloom build pipe -o f.evb -q"),
        ("cat", "everbloom build <(cat keys) -o f.evb -q"),
        ("gzip", "gzip -c keys | everbloom build - -o f.evb --kind bloom -q"),
        ("xz", "xz -c keys > packed && everbloom build packed -o f.evb -q"),
        ("bzip2", "bzip2 -c keys > packed && everbloom build packed -o f.evb -q"),
        ("zstd", "zstd -qc keys > packed && everbloom build packed -o f.evb -q"),
        // Frames one after the other, as parallel packers write them.
        (
            "zstd",
            "for i in 1 2 3 4; do split -n l/$i/4 keys | zstd -qc; done > packed && everbloom build packed -o f.evb -q",
        ),
    ] {
        // Not every machine has every packer.
        if Command::new(packer).arg("--version").output().is_err() {
            continue;
        }
        shell(line);
        let built = std::fs::read(place.0.path().join("f.evb")).expect("a file");
        assert!(built == plain, "{line}");
    }
}

#[test]
fn every_key_may_have_a_prior_of_its_own() {
    let place = Place::new();
    place.file("keys", "a\nb\nc\n");
    place.done("build keys -o f.evb -p 1% -q");
    // A "yes" for a rare key would be wrong more often than right, unless a miss costs more.
    let queries = "a\t0.5\nb\t1e-9\nz\t1e-9\n";
    assert_eq!(place.run_with("check f.evb --priors", queries).out, "a\t0.5\n");
    let dear = place.run_with("check f.evb --priors --cost 1e12", queries);
    assert_eq!(dear.out, "a\t0.5\nb\t1e-9\n");
    assert_eq!(place.run_with("check f.evb --priors --prior 0.9", "b\nc\t1e-9\n").out, "b\n");
    let said = place.run_with("check f.evb --priors", "a\n");
    assert!(said.code == 2 && said.err.contains("key<TAB>prior"), "{}", said.err);
    let said = place.run_with("check f.evb --priors", "a\t7\n");
    assert!(said.code == 2 && said.err.contains("between 0 and 1"), "{}", said.err);

    // When inserting, rare keys are left out, and those that stay are found.
    let keys: String =
        (0..1000).map(|i| format!("{i}\t{}\n", if i < 300 { 0.5 } else { 1e-7 })).collect();
    place.file("likely", &keys);
    let run = place.run("build likely -o s.evb --priors -p 1%");
    assert!(run.code == 0 && run.err.contains("300 of 1000 keys"), "{}", run.err);
    let info: Value = serde_json::from_str(&place.done("info s.evb --json")).expect("JSON");
    assert_eq!(info["items"], 300);
    let members: String = (0..300).map(|i| format!("{i}\n")).collect();
    assert_eq!(place.run_with("check s.evb -c", &members).out, "300\n");
    assert!(place.refused("build likely -o no.evb --priors --kind blocked").contains("blocked"));
    assert!(
        place.refused("build likely -o no.evb --priors --kind weighted").contains("value after")
    );
}

#[test]
fn a_table_decides_what_a_filter_does_not() {
    let place = Place::new();
    let numbers = |range: std::ops::Range<u32>| range.map(|i| format!("{i}\n")).collect::<String>();
    place.file("members", &numbers(0..2000));
    place.file("others", &numbers(2000..4000));
    place.done("build members -o f.evb --kind complement --negatives others -p 20% -q");
    let undecided = place.run_args(&["check", "f.evb", "others", "-c"], "");
    assert!(undecided.out.trim().parse::<u32>().expect("a number") > 0, "some are undecided");
    assert_eq!(place.run("check f.evb others -c --table members").out, "0\n");
    assert_eq!(place.run("check f.evb members -c --table members").out, "2000\n");
    let answers = place.run("check f.evb members --answers --table members").out;
    assert!(answers.lines().all(|line| line.starts_with("present\t")));
}

#[test]
fn small_sets_without_false_positives_are_listed_and_thinned() {
    let place = Place::new();
    place.file("keys", "7\n443\n80\n");
    for form in ["bits", "counters"] {
        place.done(&format!("build keys -o f.evb --kind egh --set form={form} -n 20 -q"));
        let count = if form == "bits" { "" } else { "\t1" };
        assert_eq!(place.done("list f.evb"), format!("7{count}\n80{count}\n443{count}\n"));
        assert_eq!(place.run_with("remove f.evb -q", "80\n").code, 0, "{form}");
        assert_eq!(place.run_with("check f.evb", "7\n80\n443\n").out, "7\n443\n");
        assert_eq!(place.run_with("remove f.evb -q", "81\n").code, 1, "{form}");
    }
    place.file("pairs", "k\tv\n");
    place.done("build pairs -o p.evb --kind iblt -q");
    assert_eq!(place.done("list p.evb"), "k\tv\n");
}

#[test]
fn a_packet_leaves_a_stage_behind_at_every_hop() {
    let place = Place::new();
    place.file("links", "a-b\t1\nb-c\t2\nc-d\t3\n");
    place.file("others", "a-x\t1\nb-x\t2\nc-x\t3\n");
    place.done("build links -o f.evb --kind multistage --negatives others -q");
    let passing = || place.run_with("check f.evb", "a-b\t1\nb-c\t2\nc-d\t3\n").out;
    assert_eq!(passing(), "a-b\t1\nb-c\t2\nc-d\t3\n");
    place.done("age f.evb -q");
    assert_eq!(passing(), "b-c\t2\nc-d\t3\n");
    place.done("age f.evb 5 -q");
    assert_eq!(passing(), "");
}

#[test]
fn records_come_with_their_times() {
    let place = Place::new();
    place.file("keys", "100\told\t10\n150\tnew\t10\n");
    place.done("build keys -o f.evb --kind windowed -n 100 --time -q");
    let at = |time: u64, key: &str| {
        place.run_with("check f.evb --time", &format!("{time}\t{key}\n")).code
    };
    assert_eq!((at(150, "old"), at(150, "new"), at(159, "new"), at(190, "new")), (1, 0, 0, 1));
    assert_eq!(place.run_with("add f.evb --time", "200\tnext\t5\n").code, 0);
    assert_eq!((at(200, "next"), at(200, "new")), (0, 1));
    let said = place.refused("build keys -o no.evb --kind bloom --time");
    assert!(said.contains("do not use times"), "{said}");
    let said = place.run_with("check f.evb --time", "soon\tnew\n");
    assert!(said.code == 2 && said.err.contains("not a whole number"), "{}", said.err);
}

#[test]
fn lines_are_forgotten_after_their_time_to_live() {
    let place = Place::new();
    let stream = "0\ta\n50\ta\n60\tb\n149\ta\n400\ta\n401\tb\n";
    let run = place.run_with("dedupe --time --ttl 100", stream);
    assert_eq!((run.code, run.out.as_str()), (0, "0\ta\n60\tb\n400\ta\n401\tb\n"), "{}", run.err);
    assert!(run.err.contains("6 lines, 2 duplicates"), "{}", run.err);
    // The exact twin: a key is new if it did not come within the time to live. A grain is 1 % of it.
    let mut last = std::collections::HashMap::new();
    let (mut text, mut unsure, mut expected) = (String::new(), 0, 0);
    for i in 0..20_000u64 {
        let (time, key) = (i * 3, i * i % 7919);
        text += &format!("{time}\t{key}\n");
        let age = last.insert(key, time).map_or(u64::MAX, |before| time - before);
        expected += u64::from(age > 1000);
        unsure += u64::from((1000..1020).contains(&age));
    }
    place.file("stream", &text);
    let out = place.done("dedupe stream --time --ttl 1000 -p 1e-6").lines().count() as u64;
    assert!(out <= expected && out + unsure + 3 >= expected, "{out} of {expected}, {unsure}");
    let json = place.run_with("dedupe --time --ttl 100 --json", stream).out;
    let summary: Value = serde_json::from_str(json.lines().last().expect("a line")).expect("JSON");
    assert_eq!(summary["summary"]["duplicates"], 2);
    assert_eq!(summary["summary"]["remembers"], "ttl");
    assert!(place.refused("dedupe --ttl 100").contains("--time"));
    assert!(place.refused("dedupe --time").contains("--ttl"));
}

#[test]
fn bad_records_are_skipped_counted_and_named() {
    let place = Place::new();
    place.file("keys", "1\nx\n2\n\n3\n");
    let said = place.refused("build keys -o f.evb --key-type u64");
    assert!(said.contains("line 2") && said.contains("--skip-bad"), "{said}");
    let run = place.run("build keys -o f.evb --key-type u64 --skip-bad");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("bloom of 3 items"), "{}", run.err);
    for (word, times) in [("skipped keys: line 2: \"x\"", 1), ("line 4", 1), ("2 records", 1)] {
        assert_eq!(run.err.matches(word).count(), times, "{word}: {}", run.err);
    }
    let run = place.run_args(&["check", "f.evb", "keys", "--skip-bad"], "");
    assert_eq!((run.code, run.out.as_str()), (0, "1\n2\n3\n"), "{}", run.err);
    let run = place.run_with("add f.evb --skip-bad", "7\nseven\n");
    assert!(run.code == 0 && run.err.contains("1 added"), "{}", run.err);
    let run = place.run_args(&["dedupe", "-f", "2", "-d", ",", "--skip-bad"], "a,1\nb\nc,1\nd,2\n");
    assert_eq!((run.code, run.out.as_str()), (0, "a,1\nd,2\n"), "{}", run.err);
    assert!(run.err.contains("1 record could not be read"), "{}", run.err);
}

#[test]
fn a_key_in_place_of_a_file_is_understood() {
    let place = Place::new();
    place.file("keys", "a\nb\n");
    place.done("build keys -o c.evb --kind counting -q");
    for verb in ["check", "count", "add", "remove"] {
        let said = place.refused(&format!("{verb} c.evb apple"));
        assert!(said.contains(&format!("echo apple | everbloom {verb} c.evb")), "{said}");
    }
    assert!(place.refused("bench blocked").contains("--kind blocked"));
    assert!(place.refused("bench nothing").contains("nothing"));
}

#[test]
fn what_a_filter_cannot_do_is_said_before_keys_are_read() {
    let place = Place::new();
    place.file("keys", "a\nb\n");
    place.done("build keys -o f.evb -q");
    for (line, says) in [("count f.evb", "--need count"), ("get f.evb", "--need values")] {
        let said = place.refused(line);
        assert!(said.contains("a bloom filter cannot") && said.contains(says), "{said}");
    }
    let said = place.refused("list f.evb");
    assert!(said.contains("iblt") && said.contains("can"), "{said}");
}

#[test]
fn a_size_that_lets_nearly_all_pass_is_refused_with_one_that_does_not() {
    let place = Place::new();
    place.file("keys", "a\nb\n");
    let said = place.refused("plan -n 1M --memory 1kB");
    assert!(said.contains("the false-positive rate would be"), "{said}");
    // One that is asked for by name is sized when it is built.
    place.done("plan -n 1M --memory 1kB --kind multi-class");
    let said = place.refused("build keys -o t.evb --kind ternary -n 10M --memory 1kB");
    assert!(said.contains("rate would be 100 %"), "undecided ones pass, too: {said}");
}

#[test]
fn filters_that_do_not_merge_well_say_what_would() {
    let place = Place::new();
    let keys =
        |range: std::ops::Range<u32>| -> String { range.map(|i| format!("{i}\n")).collect() };
    place.file("few", &keys(0..100));
    place.file("many", &keys(0..100_000));
    place.done("build few -o few.evb -q");
    place.done("build many -o many.evb -q");
    let said = place.refused("merge few.evb many.evb -o no.evb");
    assert!(said.contains("build both with -n 100k"), "{said}");
    place.done("build few -o few.evb --mergeable -q");
    place.done("build many -o many.evb --mergeable -q");
    let run = place.run("merge few.evb many.evb -o both.evb");
    assert!(
        run.code == 0
            && run.err.contains("warning: the false-positive rate is 100 % instead of 0.7"),
        "{}",
        run.err
    );
    assert!(run.err.contains("build all of them with -n "), "{}", run.err);
    let run = place.run("merge few.evb few.evb -o both.evb");
    assert!(run.code == 0 && !run.err.contains("warning"), "{}", run.err);
}

#[test]
fn rows_of_csv_that_are_keys_as_a_whole_are_announced() {
    let place = Place::new();
    place.file("rows.csv", "id,name\n1,a\n2,b\n");
    for line in
        ["build rows.csv -o r.evb --csv", "check r.evb rows.csv --csv", "dedupe rows.csv --csv"]
    {
        let run = place.run(line);
        assert_eq!(
            (run.code, run.err.matches("keys are whole rows").count()),
            (0, 1),
            "{}",
            run.err
        );
    }
    assert!(!place.run("dedupe rows.csv --csv -f id").err.contains("whole rows"));
}
