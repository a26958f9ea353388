//! Lists that are kept as sketches, rows of CSV, filters on stdout, and filters of unequal size that merge.

use serde_json::Value;

mod place;

use place::{Place, Run};

fn numbers(range: std::ops::Range<u32>) -> String {
    range.map(|i| format!("{i}\n")).collect()
}

/// Exit code and output of a command without talk.
fn quiet(place: &Place, line: &str) -> (i32, String) {
    let Run { code, out, .. } = place.run(&format!("{line} -q"), "");
    (code, out)
}

#[test]
fn a_sketch_tells_what_changed_since() {
    let place = Place::new();
    place.file("old", numbers(0..5000));
    place.file("new", numbers(3..5002));
    place.ok("sketch old -o old.sketch -n 20", "");
    let size = std::fs::metadata(place.folder.path().join("old.sketch")).expect("a file").len();
    assert!(size < 1300, "20 keys in {size} bytes");
    let run = place.run("diff old.sketch new", "");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(run.code, 1, "{}", run.err);
    assert_eq!(lines.iter().filter(|line| line.starts_with("<? ")).count(), 3, "{}", run.out);
    assert!(lines.ends_with(&["> 5000", "> 5001"]), "{}", run.out);
    assert!(run.err.contains("keys, 5 differ") && run.err.contains("are ids"));
    // The other way around, and between two sketches.
    let (code, out) = quiet(&place, "diff new old.sketch");
    assert!(code == 1 && out.starts_with("< 5000\n< 5001\n>? "), "{out}");
    place.ok("sketch new -o new.sketch -n 20", "");
    let told: Value =
        serde_json::from_str(&quiet(&place, "diff old.sketch new.sketch --json").1).expect("JSON");
    let count = |name: &str| told[name].as_array().expect("a list").len();
    assert_eq!((count("ids_a"), count("ids_b"), count("only_a")), (3, 2, 0));
    assert_eq!(quiet(&place, "diff old.sketch old"), (0, String::new()));
    assert_eq!(quiet(&place, "diff old.sketch old.sketch"), (0, String::new()));
    // Over a pipe, as over ssh.
    let piped =
        place::output(place::command(place.folder.path(), ["sketch", "old", "-o", "-", "-q"]), b"");
    let command = place::command(place.folder.path(), ["diff", "-", "new", "-q"]);
    let run = Run::of(&place::output(command, &piped.stdout));
    assert!(run.code == 1 && run.out.ends_with("> 5000\n> 5001\n"), "{}", run.err);
}

#[test]
fn a_sketch_that_is_too_small_says_which_would_do() {
    let place = Place::new();
    place.file("old", numbers(0..3000));
    place.file("new", numbers(400..3400));
    place.ok("sketch old -o old.sketch -n 50", "");
    let said = place.refused("diff old.sketch new", "");
    let enough = said.split("sketch -n ").nth(1).and_then(|rest| rest.split('`').next());
    let enough = enough.unwrap_or_else(|| panic!("{said}"));
    assert!(said.contains("cells are too few for the difference"), "{said}");
    place.ok(&format!("sketch old -o old.sketch -n {enough}"), "");
    let (code, out) = quiet(&place, "diff old.sketch new");
    assert_eq!((code, out.lines().count()), (1, 800));
    // Damage, other types of keys and other kinds of files are told.
    let path = place.folder.path().join("old.sketch");
    let mut bytes = std::fs::read(&path).expect("a file");
    bytes[100] ^= 1;
    std::fs::write(&path, bytes).expect("a file");
    assert!(place.refused("diff old.sketch new", "").contains("checksum"));
    place.ok("sketch old -o u.sketch --key-type u64", "");
    assert_eq!(quiet(&place, "diff u.sketch old"), (0, String::new()));
    assert!(place.refused("diff u.sketch old --key-type bytes", "").contains("type u64"));
    place.ok("sketch old -o b.sketch", "");
    assert!(place.refused("diff u.sketch b.sketch", "").contains("same --key-type"));
    assert!(place.refused("build b.sketch -o no.evb", "").contains("a sketch of a list"));
    place.ok("build old -o i.evb --kind invertible -n 10", "");
    assert!(
        place.refused("diff i.evb b.sketch", "").contains("cannot compare a sketch with a filter")
    );
    assert!(place.refused("sketch old -o - --json", "").contains("stdout is used"));
}

#[test]
fn saved_filters_are_subtracted() {
    let place = Place::new();
    place.file("old", numbers(0..2000));
    place.file("new", numbers(2..2003));
    for kind in ["invertible", "invertible-counting"] {
        for name in ["old", "new"] {
            place.ok(&format!("build {name} -o {name}.evb --kind {kind} -n 50"), "");
        }
        let (code, out) = quiet(&place, "diff old.evb new.evb");
        let count = |mark: &str| out.lines().filter(|line| line.starts_with(mark)).count();
        assert_eq!((code, count("<? "), count(">? ")), (1, 2, 3), "{kind}: {out}");
        // Of a list the keys are known.
        // A multiset says how many more there are.
        let more = if kind == "invertible" { "" } else { "\t1" };
        let (code, out) = quiet(&place, "diff old.evb new");
        let new: String = (2000..2003).map(|key| format!("> {key}{more}\n")).collect();
        assert!(code == 1 && out.ends_with(&new), "{kind}: {out}");
        let (_, out) = quiet(&place, "diff old new.evb");
        assert!(out.starts_with(&format!("< 0{more}\n< 1{more}\n>? ")), "{kind}: {out}");
        assert_eq!(quiet(&place, "diff old.evb old"), (0, String::new()));
    }
    // A table has its keys, and their values.
    place.file("here", "oak\ttree\nfig\tfruit\n");
    place.file("there", "oak\ttree\nelm\ttree\nash\t\n");
    for name in ["here", "there"] {
        place.ok(&format!("build {name} -o {name}.evb --kind iblt -n 50"), "");
    }
    let (_, out) = quiet(&place, "diff here.evb there.evb");
    assert_eq!(out, "< fig\tfruit\n> ash\t\n> elm\ttree\n");
    assert_eq!(quiet(&place, "diff here.evb there").1, out);
    place.file("other", "oak\ttree\nfig\ttree\n");
    assert!(place.refused("diff here.evb other", "").contains("different values"));

    place.file("far", numbers(600..2600));
    for name in ["old", "far"] {
        place.ok(&format!("build {name} -o {name}.evb --kind invertible -n 400"), "");
    }
    let said = place.refused("diff old.evb far.evb", "");
    let enough = said.trim_end().rsplit("-n ").next().expect("a size").to_owned();
    for name in ["old", "far"] {
        place.ok(&format!("build {name} -o {name}.evb --kind invertible -n {enough}"), "");
    }
    assert_eq!(quiet(&place, "diff old.evb far.evb").1.lines().count(), 1200, "{said}");
    place.ok("build old -o b.evb", "");
    assert!(place.refused("diff b.evb b.evb", "").contains("plan --need reconcile"));
}

const PEOPLE: &str =
    "id,\"full name\",town\r\n1,\"Ann, \"\"A\"\"\",Rome\r\n2,\"Bo\nb\",Lima\r\n3,Eve,Oslo\r\n";

#[test]
fn csv_has_quotes_and_names_in_every_verb() {
    let place = Place::new();
    place.file("people.csv", PEOPLE);
    place.ok("build people.csv -o names.evb --csv -f 2", "");
    let named: [&str; 8] =
        ["build", "people.csv", "-o", "same.evb", "--csv", "-f", "full name", "-q"];
    let built = place::output(place::command(place.folder.path(), named), b"");
    assert!(built.status.success(), "{}", Run::of(&built).err);
    let read = |name: &str| std::fs::read(place.folder.path().join(name)).expect("a file");
    assert!(read("names.evb") == read("same.evb"));
    // The key is what the quotes hold; a row may be two lines.
    assert_eq!(
        place.run("check names.evb -0", "Ann, \"A\"\0Bo\nb\0nobody").out,
        "Ann, \"A\"\0Bo\nb\0"
    );
    // Rows come whole, under their header.
    let queries = "who,age\n\"Ann, \"\"A\"\"\",7\nnobody,8\n";
    assert_eq!(
        place.run("check names.evb --csv -f who", queries).out,
        "who,age\n\"Ann, \"\"A\"\"\",7\n"
    );
    assert_eq!(place.run("check names.evb --csv -f who -v", queries).out, "who,age\nnobody,8\n");
    assert_eq!(place.run("check names.evb --csv -f who -c", queries).out, "1\n");
    place.ok("build people.csv -o other.evb --csv -f 2", "");
    let both = place.run("check names.evb --in other.evb --csv -f who", queries).out;
    assert_eq!(both, "who,age\tin\n\"Ann, \"\"A\"\"\",7\tnames,other\n");
    // Semicolons, and every other verb that reads keys.
    let semicolons = "k;v\n\"a;b\";1\n\"a;b\";2\nc;3\n";
    assert_eq!(place.run("dedupe --csv -f k -d ; -q", semicolons).out, "k;v\n\"a;b\";1\nc;3\n");
    assert_eq!(place.run("top --csv -f k -d ; --weight v -q", semicolons).out, "a;b\t3\nc\t3\n");
    place.file("keys.csv", semicolons);
    place.ok("build keys.csv -o c.evb --kind counting --csv -f k -d ;", "");
    assert_eq!(place.run("count c.evb", "a;b\nc\n").out, "a;b\t2\nc\t1\n");
    assert_eq!(place.run("count c.evb --csv -f 1 -d ;", semicolons).out.lines().count(), 3);
    assert_eq!(place.run("add c.evb --csv -f v -d ; -q", semicolons).code, 0);
    assert_eq!(place.run("remove c.evb --csv -f k -d ; -q", semicolons).code, 0);
    assert_eq!(place.run("check c.evb", "a;b\nc\n3\n").out, "3\n");
    place.file("list", "c\nd\n");
    place.file("one.csv", "k;v\n\"c\";1\n\"d\";2\n");
    assert_eq!(place.run("diff keys.csv one.csv --csv -f k -d ; -q", "").out, "< a;b\n> d\n");
    assert!(place.refused("diff - -", "c\n").contains("stdin can be read only once"));
    place.ok("sketch keys.csv -o k.sketch --csv -f k -d ;", "");
    assert!(place.run("diff k.sketch one.csv --csv -f k -d ; -q", "").out.contains("> d\n"));
}

#[test]
fn csv_is_joined_by_names() {
    let place = Place::new();
    place.file("people.csv", PEOPLE);
    place.file("orders.csv", "order,who\n7,\"2\"\n8,9\n9,1\n");
    let joined = place.run("join people.csv orders.csv --csv -f id,who -q", "");
    let expected = "id,\"full name\",town,order,who\n2,\"Bo\nb\",Lima,7,\"2\"\n1,\"Ann, \"\"A\"\"\",Rome,9,1\n";
    assert_eq!(joined.out, expected, "{}", joined.err);
    let orders = "order,who\n7,\"2\"\n8,9\n9,1\n";
    assert_eq!(place.run("join people.csv - --csv -f id,who -q", orders).out, expected);
    let said = place.refused("join people.csv orders.csv --csv -f name", "");
    assert!(said.contains("no column \"name\"") && said.contains("full name"), "{said}");
    // Marks and ends that belong to a file as a whole do not get between two rows.
    place.file("marked.csv", "\u{feff}order,who\r\n7,\"2\"\r\n8,9\r\n9,1\r\n");
    assert_eq!(place.run("join people.csv marked.csv --csv -f id,who -q", "").out, expected);
    place.file("crlf", "1\ta\r\n2\tb\r\n");
    assert_eq!(place.run("join crlf crlf --crlf -q", "").out, "1\ta\t1\ta\n2\tb\t2\tb\n");
    place.file("blank.csv", "id\tnote\t\n1\tx\ty\n");
    let blank = place.run("join blank.csv blank.csv --csv -d \\t -q", "");
    assert_eq!(blank.out, "id\tnote\t\tid\tnote\t\n1\tx\ty\t1\tx\ty\n");
    place.file("l", "a\tb\0c\td\0");
    assert_eq!(place.run("join l l -0 -q", "").out, "a\tb\ta\tb\0c\td\tc\td\0");
}

#[test]
fn what_is_printed_does_not_depend_on_the_number_of_cores() {
    let place = Place::new();
    // Several blocks of lines, and more keys than are worth a thread.
    let rows = |range: std::ops::Range<u32>| -> String {
        range
            .map(|i| {
                format!("{},row {i}\n", u64::from(i % 150_000).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            })
            .collect()
    };
    place.file("a", rows(0..130_000));
    place.file("b", rows(109_000..240_000));
    place.file("a.csv", "id,what\n".to_owned() + &rows(0..130_000));
    for line in [
        "diff a b",
        "diff a b -f 1 -d ,",
        "diff a.csv b --csv -f 1 --json",
        "join a b -f 1 -d ,",
        "join a.csv b --csv -f 1 --json",
        "join a b --keys",
        "dedupe a b a",
        "dedupe a b -f 1 -d , --json",
        "build a -o - --kind binary-fuse",
        "build a -o - --kind ribbon",
        "sketch a -o -",
    ] {
        let run = |program: &str, args: &[&str]| {
            let mut command = std::process::Command::new(program);
            command.args(args).args(line.split(' ')).current_dir(place.folder.path());
            let out = command.output().expect("the command ends");
            (out.status.code(), out.stdout, out.stderr)
        };
        let command = env!("CARGO_BIN_EXE_everbloom");
        let (all, one) = (run(command, &[]), run("taskset", &["-c", "0", command]));
        assert!(matches!(all.0, Some(0 | 1)) && !all.1.is_empty(), "{line}");
        assert!(all == one, "{line}: another output on one core");
    }
}

#[test]
fn csv_that_is_not_as_it_should_be_is_told() {
    let place = Place::new();
    place.file("people.csv", PEOPLE);
    let said = place.refused("build people.csv -o no.evb --csv -f city", "");
    assert!(said.contains("there are id, full name, town") && said.contains("-f"), "{said}");
    let said = place.refused("build people.csv -o no.evb -f city", "");
    assert!(said.contains("--csv"), "{said}");
    assert!(place.refused("build people.csv -o no.evb -d ,", "").contains("give -f"));
    place.file("short.csv", "a,b\n1,\"x\ny\"\n2\n3,z\n");
    let said = place.refused("build short.csv -o no.evb --csv -f b", "");
    assert!(said.contains("line 4: there is no column 2"), "{said}");
    let run = place.run("build short.csv -o some.evb --csv -f b --skip-bad", "");
    assert!(run.code == 0 && run.err.contains("1 record could not be read"), "{}", run.err);
    assert_eq!(place.run("check some.evb -0", "x\ny\0z\0").out, "x\ny\0z\0");
    assert!(place.refused("dedupe --csv -f 2", "n,\"a\n1,2\n").contains("never closed"));
    // Quotes are noticed where nobody said that they are CSV.
    let run = place.run("build people.csv -o raw.evb -f 2 -d ,", "");
    assert!(run.err.contains("--csv"), "{}", run.err);
}

#[test]
fn ancestors_stand_before_any_separator() {
    let place = Place::new();
    place.ok("build - -o c.evb --ancestors : -n 100 -q", "a:b:c\nx:y\n");
    assert_eq!(place.run("check c.evb", "a:b\na\nx\nb\na:c\n").out, "a:b\na\nx\n");
    assert_eq!(place.run("add c.evb -q", "m:n\n").code, 0);
    assert_eq!(place.run("check c.evb --ancestors :", "m\nm:n\n").out, "m\nm:n\n");
    assert!(place.refused("check c.evb --ancestors /", "m\n").contains("omit the option"));
    let said = place.refused("build c.evb -o no.evb --ancestors ::", "");
    assert!(said.contains("not one byte"), "{said}");
}

#[test]
fn keys_are_cross_checked_by_the_part_they_belong_to() {
    let place = Place::new();
    place.file("none", "");
    place.ok("build none -o parts.evb --kind cross-checking --set parts=2 -n 1000 -q", "");
    place.ok("add parts.evb --part 0 -q", "ann\nbob\n");
    place.ok("add parts.evb --part 1 -q", "eve\n");
    assert_eq!(place.run("check parts.evb", "ann\neve\nzoe\n").out, "ann\neve\n");
    // One that is not there, a form whose hash names the part, and variants without parts.
    let run = place.run("add parts.evb --part 2", "tom\n");
    assert!(run.code == 1 && run.err.contains("2 parts"), "{}", run.err);
    place.ok("build none -o own.evb --kind cross-checking --set form=own-part -n 100 -q", "");
    assert_eq!(place.run("add own.evb --part 0", "ann\n").code, 1);
    place.ok("build none -o b.evb -n 10 -q", "");
    assert!(place.refused("add b.evb --part 0", "ann\n").contains("cross-checking"));
}

#[test]
fn shared_ancestors_are_found_whatever_the_prior() {
    let place = Place::new();
    let lines: String = (0..60).map(|i| format!("d{}/f{i}\t0.{}\n", i % 3, i % 9 + 1)).collect();
    place.file("paths", lines + "d1\t0.01\n");
    place.ok("build paths -o p.evb --kind multi-class --ancestors / -q", "");
    assert_eq!(place.ok("check p.evb paths -c", ""), "61\n");
}

#[test]
fn a_build_reports_refused_keys_and_goes_on() {
    let place = Place::new();
    let text = "hot\n".repeat(3000) + &numbers(0..100);
    place.file("keys", &text);
    for line in ["build keys -o f.evb", "build - -o f.evb -n 3100"] {
        let run = place.run(&format!("{line} --kind multi-partitioned-counting"), &text);
        assert!(run.code == 1 && run.err.contains("refused \"hot\""), "{}", run.err);
        assert!(run.err.contains("keys were refused"), "{}", run.err);
        assert!(run.err.lines().count() < 20, "{}", run.err);
        // A few share the full words of the hot key.
        let found = place.run("check f.evb -c", &numbers(0..100)).out;
        assert!(found.trim().parse::<u32>().expect("a number") > 90, "{found}");
        assert_eq!(place.run("check f.evb -c", "hot\n").out, "1\n");
        let said = place.run(&format!("{line} --kind multi-partitioned-counting --json"), &text);
        let json: Value = serde_json::from_str(&said.out).expect("JSON");
        let refused = json["refused"].as_u64().expect("a number");
        assert_eq!(refused + json["items"].as_u64().expect("a number"), 3100);
        assert!(said.err.contains(&format!("{} keys were refused", refused)));
    }
    let json = place.ok("build keys -o f.evb --json", "");
    assert!(json.contains("\"refused\": 0"), "{json}");
}

#[test]
fn what_was_guessed_or_meant_is_said() {
    let place = Place::new();
    place.file("a", "1\tx\n");
    let said = |line: &str| place.run(line, "").err;
    assert!(said("join a a").contains("first column, with TAB as the separator"));
    assert!(said("join a a -f 1").contains("separator is TAB"));
    assert!(!said("join a a -f 1 -d ,").contains("separator"));
    place.ok("build a -o a.evb -q", "");
    let said = place.refused("check a.evb apple", "");
    assert!(said.contains("echo apple | everbloom check a.evb"), "{said}");
    // Whatever a stable filter forgot, some member may have set.
    place.ok("build - -o s.evb --kind stable -n 10 -q", &numbers(0..5));
    let shown = place.run("explain s.evb nobody", "").out;
    assert!(shown.contains("or cleared since"), "{shown}");
    assert!(!place.run("explain a.evb nobody", "").out.contains("cleared since"));
    let script = place.ok("completions bash", "");
    for word in ["binary-fuse", "known-queries", "form=own-part", "cross-m="] {
        assert!(script.contains(word), "{word}");
    }
}

#[test]
fn filters_are_written_to_stdout() {
    let place = Place::new();
    place.file("a", "1\n2\n");
    place.file("b", "3\n");
    place.ok("build a -o a.evb -n 100 -q", "");
    place.ok("build b -o b.evb -n 100 -q", "");
    let bytes = |line: &str| {
        let command = place::command(place.folder.path(), line.split(' '));
        let output = place::output(command, b"");
        assert!(output.status.success(), "{line}: {}", Run::of(&output).err);
        output.stdout
    };
    let read = |name: &str| std::fs::read(place.folder.path().join(name)).expect("a file");
    assert!(bytes("build a -o - -n 100") == read("a.evb"));
    place.ok("merge a.evb b.evb -o both.evb", "");
    assert!(bytes("merge a.evb b.evb -o -") == read("both.evb"));
    place.ok("fold a.evb -o half.evb", "");
    assert!(bytes("fold a.evb -o -") == read("half.evb"));
    place.ok("build a -o a.guava --format guava", "");
    assert!(bytes("build a -o - --format guava") == read("a.guava"));
    assert!(!place.folder.path().join("-").exists());
    assert!(place.refused("build a -o - -n 100 --json", "").contains("stdout is used"));
}

#[test]
fn mergeable_filters_of_unequal_size_fold_onto_each_other() {
    let place = Place::new();
    place.file("many", numbers(0..6000));
    place.file("few", numbers(6000..7000));
    place.file("others", numbers(100_000..130_000));
    for kind in ["bloom", "partitioned", "blocked", "split-block"] {
        let mut talk = String::new();
        for name in ["many", "few"] {
            let line = format!("build {name} -o {name}.evb --mergeable --kind {kind}");
            let run = place.run(&line, "");
            assert_eq!(run.code, 0, "{line}: {}", run.err);
            talk += &run.err;
        }
        assert!(talk.contains("instead of"), "{kind}: the cost is not told: {talk}");
        for line in ["merge many.evb few.evb -o both.evb", "merge few.evb many.evb -o both.evb"] {
            let run = place.run(line, "");
            assert!(run.code == 0 && run.err.contains("folded a filter of"), "{kind}: {}", run.err);
            assert_eq!(place.ok("check both.evb many -c", ""), "6000\n", "{kind}");
            assert_eq!(place.ok("check both.evb few -c", ""), "1000\n", "{kind}");
            let size = |name: &str| -> u64 {
                let info: Value =
                    serde_json::from_str(&place.ok(&format!("info {name} --json"), ""))
                        .expect("JSON");
                info["bits"].as_u64().expect("a size")
            };
            assert_eq!(size("both.evb"), size("few.evb"), "{kind}");
        }
        // What it says of itself holds: within five deviations.
        let info: Value =
            serde_json::from_str(&place.ok("info both.evb --json", "")).expect("JSON");
        let expected = 30_000.0 * info["fpr_now"].as_f64().expect("a rate");
        let passed: f64 =
            place.run("check both.evb others -c", "").out.trim().parse().expect("a number");
        assert!(
            (passed - expected).abs() < 5.0 * expected.sqrt() + 1.0,
            "{kind}: {passed} of {expected}"
        );
    }
    // Without the option sizes are exact, and do not fit.
    place.ok("build many -o many.evb -q", "");
    place.ok("build few -o few.evb -q", "");
    assert!(place.refused("merge many.evb few.evb -o no.evb", "").contains("--mergeable"));
    // Memory that is given is kept to.
    place.ok("build few -o few.evb --mergeable --memory 3000B -q", "");
    let size = std::fs::metadata(place.folder.path().join("few.evb")).expect("a file").len();
    assert!((2048..3000).contains(&size), "{size}");
    let said = place.refused("build few -o no.evb --mergeable --kind counting", "");
    assert!(said.contains("give -n"), "{said}");
}

#[test]
fn long_lists_are_a_screen_unless_all_is_asked_for() {
    let place = Place::new();
    let shown = |line: &str| {
        let mut command = place::command(place.folder.path(), line.split(' '));
        command.env("COLUMNS", "80");
        Run::of(&place::output(command, b"")).out
    };
    for (line, name) in [
        ("catalog", "blocked"),
        ("formats", "guava"),
        ("plan --need delete", "counting"),
        ("plan --need membership", "bloom"),
    ] {
        let short = shown(line);
        assert!(short.lines().count() <= 30, "{line}:\n{short}");
        assert!(short.lines().all(|line| line.chars().count() <= 80), "{line}:\n{short}");
        assert!(short.contains(name) && short.contains("--all"), "{line}:\n{short}");
        let all = shown(&format!("{line} --all"));
        assert!(all.lines().count() > short.lines().count() + 8, "{line}: {short}");
    }
}

#[test]
fn a_store_is_built_in_a_folder_that_is_there_and_over_an_older_one() {
    let place = Place::new();
    std::fs::create_dir(place.folder.path().join("store")).expect("a folder");
    place.file("old", "a\nb\n");
    place.file("new", "c\n");
    for (keys, there, gone) in [("old", "a\n", "c\n"), ("new", "c\n", "a\n")] {
        place.ok(&format!("build {keys} -o store --kind forest -n 1k -p 1e-6 -q"), "");
        assert_eq!(place.ok("check store", there), there);
        assert_eq!(place.run("check store", gone).code, 1, "{keys}");
    }
    let said = place.refused("build old -o store --kind bloom", "");
    assert!(said.contains("it is a folder"), "{said}");
}
