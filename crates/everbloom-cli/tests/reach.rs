//! What the library can do is reached by the command: every ability of every form by its verb, every operation of every
//! variant by `reshape` or `get --what`, and every public method of a filter by a verb, or there is a reason.

mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use everbloom::Ability;
use everbloom::catalog::VARIANTS;
use place::Place;

/// A command line, what it reads, its exit code, and what it prints.
type Step = (&'static str, &'static str, i32, &'static str);

/// For each operation, commands that show what it does.
const OPERATIONS: &[(&str, &[Step])] = &[
    (
        "quotient double",
        &[
            ("build thousand -o f.evb -q --kind quotient", "", 0, ""),
            ("reshape f.evb double --json -q", "", 0, "\"changed\": true"),
            ("check f.evb thousand -c", "", 0, "1000\n"),
        ],
    ),
    (
        "quotient halve",
        &[
            ("build ten -o f.evb -q --kind quotient -n 1000", "", 0, ""),
            ("reshape f.evb double -q", "", 0, ""),
            ("reshape f.evb halve -o h.evb -q", "", 0, ""),
            ("check h.evb ten -c", "", 0, "10\n"),
        ],
    ),
    (
        "counting-quotient double",
        &[
            ("build thousand -o f.evb -q --kind counting-quotient", "", 0, ""),
            ("reshape f.evb double -q", "", 0, ""),
            ("count f.evb", "7\n", 0, "7\t1\n"),
        ],
    ),
    (
        "counting-quotient halve",
        &[
            ("build ten -o f.evb -q --kind counting-quotient -n 1000", "", 0, ""),
            ("reshape f.evb double -q", "", 0, ""),
            ("reshape f.evb halve -q", "", 0, ""),
            ("count f.evb", "7\n", 0, "7\t1\n"),
        ],
    ),
    (
        "pagh-pagh-rao double",
        &[
            ("build thousand -o f.evb -q --kind pagh-pagh-rao", "", 0, ""),
            ("reshape f.evb double -q", "", 0, ""),
            ("check f.evb thousand -c", "", 0, "1000\n"),
        ],
    ),
    (
        "pagh-pagh-rao halve",
        &[
            ("build thousand -o f.evb -q --kind pagh-pagh-rao --set quotients=1024", "", 0, ""),
            ("reshape f.evb halve -q", "", 0, ""),
            ("check f.evb thousand -c", "", 0, "1000\n"),
        ],
    ),
    (
        "pagh-pagh-rao freeze",
        &[
            ("build thousand -o f.evb -q --kind pagh-pagh-rao", "", 0, ""),
            ("reshape f.evb freeze -q", "", 0, ""),
            ("info f.evb", "", 0, "static"),
            ("add f.evb -q", "x\n", 2, ""),
        ],
    ),
    (
        "pagh-pagh-rao thaw",
        &[
            ("build thousand -o f.evb -q --kind pagh-pagh-rao --set form=static", "", 0, ""),
            ("reshape f.evb thaw -q", "", 0, ""),
            ("add f.evb -q", "x\n", 0, ""),
        ],
    ),
    (
        "bloom-store compact",
        &[
            ("build pairs -o f.evb -q --kind bloom-store", "", 0, ""),
            ("remove f.evb gone -q", "", 0, ""),
            ("reshape f.evb compact -q", "", 0, ""),
            ("get f.evb", "0\n1999\n", 0, "1999\tv1999\n"),
            ("reshape f.evb compact", "", 1, ""),
        ],
    ),
    (
        "dynamic compact",
        &[
            ("build thousand -o f.evb -q --kind dynamic -n 100", "", 0, ""),
            ("remove f.evb most -q", "", 1, ""),
            ("reshape f.evb compact -q", "", 0, ""),
            ("check f.evb last -c", "", 0, "100\n"),
        ],
    ),
    (
        "dynamic-array rebuild",
        &[
            ("build thousand -o f.evb -q --kind dynamic-array -n 1000", "", 0, ""),
            ("remove f.evb ten -q", "", 0, ""),
            ("reshape f.evb rebuild -q", "", 0, ""),
            ("check f.evb last -c", "", 0, "100\n"),
        ],
    ),
    (
        "cuckoo compact",
        &[
            ("build thousand -o f.evb -q --kind cuckoo --set form=redisbloom -n 50", "", 0, ""),
            ("remove f.evb ten -q", "", 0, ""),
            ("reshape f.evb compact -q", "", 0, ""),
            ("check f.evb last -c", "", 0, "100\n"),
        ],
    ),
    (
        "simplified-cuckoo compact",
        &[
            (
                "build thousand -o f.evb -q --kind simplified-cuckoo --set form=growing -n 50",
                "",
                0,
                "",
            ),
            ("remove f.evb most -q", "", 0, ""),
            ("reshape f.evb compact -q", "", 0, ""),
            ("check f.evb last -c", "", 0, "100\n"),
        ],
    ),
    (
        "dynamic-cuckoo compact",
        &[
            ("build thousand -o f.evb -q --kind dynamic-cuckoo -n 50", "", 0, ""),
            ("remove f.evb most -q", "", 0, ""),
            ("reshape f.evb compact -q", "", 0, ""),
            ("check f.evb last -c", "", 0, "100\n"),
        ],
    ),
    (
        "consistent-cuckoo compact",
        &[
            (
                "build thousand -o f.evb -q --kind consistent-cuckoo --set form=rings -n 50",
                "",
                0,
                "",
            ),
            ("remove f.evb most -q", "", 0, ""),
            ("reshape f.evb compact -q", "", 0, ""),
            ("check f.evb last -c", "", 0, "100\n"),
        ],
    ),
    (
        "consistent-cuckoo add-bucket",
        &[
            ("build thousand -o f.evb -q --kind consistent-cuckoo", "", 0, ""),
            ("reshape f.evb add-bucket -q", "", 0, ""),
            ("check f.evb thousand -c", "", 0, "1000\n"),
        ],
    ),
    (
        "consistent-cuckoo remove-bucket",
        &[
            ("build ten -o f.evb -q --kind consistent-cuckoo -n 1000", "", 0, ""),
            ("reshape f.evb remove-bucket", "", 2, ""),
            ("reshape f.evb remove-bucket --set bucket=3 -q", "", 0, ""),
            ("check f.evb ten -c", "", 0, "10\n"),
        ],
    ),
    (
        "elastic shrink",
        &[
            ("build thousand -o f.evb -q --kind elastic", "", 0, ""),
            ("remove f.evb most -q", "", 0, ""),
            ("reshape f.evb shrink -q", "", 0, ""),
            ("check f.evb last -c", "", 0, "100\n"),
        ],
    ),
    (
        "elastic reserve",
        &[
            ("build ten -o f.evb -q --kind elastic", "", 0, ""),
            ("reshape f.evb reserve --set room=5000 -q", "", 0, ""),
            ("reshape f.evb reserve --set room=5000 -q", "", 1, ""),
            ("check f.evb ten -c", "", 0, "10\n"),
        ],
    ),
    (
        "forgetful adapt",
        &[
            ("build thousand -o f.evb -q --kind forgetful -n 200", "", 0, ""),
            ("reshape f.evb adapt --set fpr=1e-9 -q", "", 0, ""),
            ("info f.evb --csv", "", 0, "\npast,0\n"),
        ],
    ),
    (
        "forgetful keep",
        &[
            ("build ten -o f.evb -q --kind forgetful", "", 0, ""),
            ("reshape f.evb keep --set past=5 -q", "", 0, ""),
            ("info f.evb --csv", "", 0, "\npast,5\n"),
        ],
    ),
    (
        "temporal-counting reinforce",
        &[
            ("build ten -o f.evb -q --kind temporal-counting -n 100", "", 0, ""),
            ("build ten -o g.evb -q --kind temporal-counting -n 100", "", 0, ""),
            ("reshape f.evb reinforce g.evb -q", "", 0, ""),
            ("check f.evb --answers", "7\n", 0, "present\t7\t14\n"),
        ],
    ),
    (
        "attenuated advertise",
        &[
            ("build - -o near.evb -q --kind attenuated -n 100", "song\t1\n", 0, ""),
            ("build - -o own.evb -q --kind attenuated -n 100", "book\t1\n", 0, ""),
            ("reshape own.evb advertise near.evb -o told.evb -q", "", 0, ""),
            ("get told.evb", "song\nbook\n", 0, "song\t≥2\nbook\t≥1\n"),
        ],
    ),
    (
        "attenuated route",
        &[
            ("build - -o far.evb -q --kind attenuated -n 100", "song\t4\n", 0, ""),
            ("build - -o near.evb -q --kind attenuated -n 100", "song\t2\n", 0, ""),
            ("get far.evb --what route --with near.evb", "song\nbook\n", 0, "song\t2,2\n"),
        ],
    ),
    (
        "exponential-decay advertise",
        &[
            ("build ten -o near.evb -q --kind exponential-decay -n 1000", "", 0, ""),
            ("build - -o own.evb -q --kind exponential-decay -n 1000", "", 0, ""),
            ("reshape own.evb advertise near.evb -o a.evb -q --set epoch=1", "", 0, ""),
            ("reshape own.evb advertise near.evb -o b.evb -q --set epoch=2", "", 0, ""),
            ("check b.evb ten -c", "", 0, "10\n"),
        ],
    ),
    (
        "exponential-decay route",
        &[
            ("build ten -o near.evb -q --kind exponential-decay -n 1000", "", 0, ""),
            ("build - -o own.evb -q --kind exponential-decay -n 1000", "", 0, ""),
            ("get own.evb --what route --with near.evb", "7\nnobody\n", 0, "7\t2,32\n"),
        ],
    ),
    (
        "complement exclude",
        &[
            ("build ten -o f.evb -q --kind complement --negatives last", "", 0, ""),
            ("check f.evb --answers", "never\n", 1, "absent\tnever\tnot in the universe\n"),
            ("reshape f.evb exclude -q", "never\n", 0, ""),
            ("check f.evb --answers", "never\n", 1, "absent\tnever\t\n"),
        ],
    ),
    (
        "adaptive-cuckoo adapt",
        &[
            ("build thousand -o f.evb -q --kind adaptive-cuckoo -p 5%", "", 0, ""),
            ("reshape f.evb adapt thousand -q", "", 1, ""),
            ("reshape f.evb adapt others -q", "", 0, ""),
            ("check f.evb thousand -c", "", 0, "1000\n"),
        ],
    ),
    (
        "variable-length lengthen",
        &[
            ("build ten -o f.evb -q --kind variable-length -n 100", "", 0, ""),
            ("reshape f.evb lengthen -q", "7\n", 0, ""),
            ("reshape f.evb lengthen -q", "nobody\n", 1, ""),
        ],
    ),
    (
        "variable-length recover",
        &[
            ("build ten -o f.evb -q --kind variable-length -n 100", "", 0, ""),
            ("reshape f.evb recover ten", "", 1, ""),
        ],
    ),
    (
        "variable-length length",
        &[
            ("build ten -o f.evb -q --kind variable-length -n 100 --set k=9 --set t=7", "", 0, ""),
            ("get f.evb --what length", "7\n", 0, "7\t7\n"),
            ("reshape f.evb lengthen -q", "7\n", 0, ""),
            ("get f.evb --what length", "7\n", 0, "7\t8\n"),
        ],
    ),
    (
        "state-machines touch",
        &[
            ("build - -o f.evb -q --kind state-machines -n 100", "a\tsyn\nb\topen\n", 0, ""),
            ("age f.evb 1 -q", "", 0, ""),
            ("reshape f.evb touch -q", "a\n", 0, ""),
            ("age f.evb 1 -q", "", 0, ""),
            ("get f.evb", "a\nb\n", 0, "a\tsyn\n"),
        ],
    ),
    (
        "matrix remove-document",
        &[
            ("build - -o f.evb -q --kind matrix -n 100", "x\tone\nx\ttwo\n", 0, ""),
            ("reshape f.evb remove-document -q", "one\n", 0, ""),
            ("get f.evb", "x\n", 0, "x\ttwo\n"),
        ],
    ),
    (
        "matrix similarity",
        &[
            ("build - -o f.evb -q --kind matrix -n 100", "x\tone\nx\ttwo\ny\tthree\n", 0, ""),
            ("get f.evb --what similarity", "one\ttwo\n", 0, "one\t1\n"),
            ("get f.evb --what similarity", "one\tnone\n", 1, ""),
        ],
    ),
    (
        "matrix copies",
        &[
            ("build - -o f.evb -q --kind matrix -n 100", "x\tone\nx\ttwo\ny\tthree\n", 0, ""),
            ("get f.evb --what copies", "", 0, "one\ttwo\t1.000\n"),
        ],
    ),
    (
        "fast-hash-table balance",
        &[
            ("build pairs -o f.evb -q --kind fast-hash-table --set m=5000", "", 0, ""),
            ("reshape f.evb balance -q", "", 0, ""),
            ("get f.evb", "1999\n", 0, "1999\tv1999\n"),
        ],
    ),
    (
        "blooming-tree number",
        &[
            ("build - -o f.evb -q --kind blooming-tree -p 1e-9", "fig\n", 0, ""),
            ("get f.evb --what number", "fig\n", 0, "fig\t0\n"),
        ],
    ),
    (
        "perfect-hash number",
        &[
            ("build - -o f.evb -q --kind perfect-hash -p 1e-9", "fig\n", 0, ""),
            ("get f.evb --what number", "fig\n", 0, "fig\t0\n"),
        ],
    ),
    (
        "relations parents",
        &[
            ("build tree -o f.evb -q --kind relations", "", 0, ""),
            ("get f.evb --what parents", "c\tr,a,b\nx\ta\n", 0, "c\ta\n"),
        ],
    ),
    (
        "relations children",
        &[
            ("build tree -o f.evb -q --kind relations", "", 0, ""),
            ("get f.evb --what children", "r\ta,b,c\n", 0, "r\ta,b\n"),
        ],
    ),
    (
        "relations siblings",
        &[
            ("build tree -o f.evb -q --kind relations", "", 0, ""),
            ("get f.evb --what siblings", "a\tb,c,r\n", 0, "a\tb\n"),
        ],
    ),
    (
        "relations paths",
        &[
            ("build tree -o f.evb -q --kind relations", "", 0, ""),
            ("get f.evb --what paths", "c\tr,a,b\n", 0, "c\tc/a/r\n"),
        ],
    ),
    (
        "count-min inner-product",
        &[
            ("build - -o f.evb -q --kind count-min -n 100", "x\ny\nx\n", 0, ""),
            ("build - -o g.evb -q --kind count-min -n 100", "x\nz\nx\n", 0, ""),
            ("get f.evb --what inner-product --with g.evb", "", 0, "4\n"),
        ],
    ),
    (
        "count-min heavy",
        &[
            ("build - -o f.evb -q --kind count-min --set form=heavy -n 100", "x\ny\nx\n", 0, ""),
            ("get f.evb --what heavy --set phi=0.5", "", 0, "x\t2\n"),
        ],
    ),
    (
        "adaptive-counting corrected",
        &[
            ("build - -o f.evb -q --kind adaptive-counting -n 10k", "x\n", 0, ""),
            ("get f.evb --what corrected", "y\nx\n", 0, "x\t0.99"),
        ],
    ),
    (
        "ranges bounds",
        &[
            (
                "build - -o f.evb -q --kind ranges --set bounds=equal --set low=-10 --set high=10 --set segments=2",
                "a\t-7\nb\t3\n",
                0,
                "",
            ),
            ("get f.evb --what bounds", "", 0, "-10\n0\n10\n"),
            ("check f.evb", "a\t-9..-1\nb\t-9..-1\n", 0, "a\t-9..-1\n"),
        ],
    ),
    (
        "hierarchical senders",
        &[
            (
                "build - -o f.evb -q --kind hierarchical -n 100 --set block=2",
                "payload\tann\n",
                0,
                "",
            ),
            ("get f.evb --what senders", "", 0, "ann\n"),
        ],
    ),
    (
        "filter-bank count",
        &[
            ("build - -o f.evb -q --kind filter-bank -n 100", "a\tx\na\tx\na\ty\n", 0, ""),
            ("get f.evb --what count", "a\tx\na\ty\n", 0, "a\t2\na\t1\n"),
        ],
    ),
    (
        "learned score",
        &[
            ("build thousand -o f.evb -q --kind learned --negatives others", "", 0, ""),
            ("get f.evb --what score", "7\n", 0, "7\t"),
        ],
    ),
];

fn numbers(range: std::ops::Range<u32>) -> String {
    range.map(|key| format!("{key}\n")).collect()
}

fn furnished() -> Place {
    let place = Place::new();
    place.file("ten", numbers(0..10));
    place.file("thousand", numbers(0..1000));
    place.file("most", numbers(0..900));
    place.file("last", numbers(900..1000));
    place.file("others", numbers(1000..6000));
    let pairs = |i: u32| format!("{i}\tv{i}\n");
    place.file("pairs", (0..2000).map(pairs).collect::<String>());
    place.file("gone", numbers(0..1900));
    place.file("tree", "r\t\na\tr\nb\tr\nc\ta\n");
    place
}

#[test]
fn every_operation_does_its_work() {
    let listed = VARIANTS.iter().flat_map(|variant| {
        variant.operations.iter().map(|operation| format!("{} {}", variant.slug, operation.name))
    });
    let shown: BTreeSet<String> = OPERATIONS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(listed.collect::<BTreeSet<String>>(), shown, "operations and cases");
    for (name, steps) in OPERATIONS {
        let place = furnished();
        for (line, stdin, code, out) in *steps {
            let run = place.run(line, stdin);
            assert_eq!(run.code, *code, "{name}: {line}: {}{}", run.out, run.err);
            let exact = out.ends_with('\n') && !out.starts_with('\n');
            let said = if exact { run.out == *out } else { run.out.contains(out) };
            assert!(said, "{name}: {line}: {}", run.out);
        }
    }
}

/// Keys that were looked up once are let pass less often, and no member is lost.
#[test]
fn an_adaptive_filter_learns_from_the_command() {
    for form in ["selector", "buckets"] {
        let place = furnished();
        let build =
            format!("build thousand -o f.evb -q --kind adaptive-cuckoo -p 5% --set form={form}");
        place.ok(&build, "");
        let wrong = place.ok("check f.evb others", "");
        assert!(wrong.lines().count() > 100, "{form}: {}", wrong.lines().count());
        place.file("wrong", &wrong);
        let json = place.json("reshape f.evb adapt wrong --json -q");
        assert!(json["keys"].as_u64() > Some(wrong.lines().count() as u64 / 2), "{json}");
        let still = place.run("check f.evb wrong", "").out.lines().count();
        assert!(
            10 * still < 2 * wrong.lines().count(),
            "{form}: {still} of {}",
            wrong.lines().count()
        );
        assert_eq!(place.ok("check f.evb thousand -c", ""), "1000\n", "{form}");
    }
}

#[test]
fn operations_that_are_not_there_are_answered_with_those_that_are() {
    let place = furnished();
    place.ok("build ten -o f.evb -q --kind quotient", "");
    let said = place.refused("reshape f.evb triple", "");
    assert!(said.contains("double, halve"), "{said}");
    assert!(place.refused("reshape f.evb double ten", "").contains("takes no files"));
    let said = place.refused("reshape f.evb double --set by=3", "");
    assert!(said.contains("no parameter by"), "{said}");
    place.ok("build ten -o b.evb -q --kind bloom", "");
    assert!(place.refused("reshape b.evb double", "").contains("bloom filter cannot double"));
    assert!(place.refused("get b.evb --what number", "7\n").contains("bloom filter cannot number"));
    let shown = place.ok("catalog forgetful", "");
    assert!(shown.contains("reshape") && shown.contains("adapt") && shown.contains("--set fpr"));
    // A full one says what makes room.
    place.ok("build ten -o q.evb -q --kind quotient -n 10", "");
    let full = place.run("add q.evb thousand", "");
    assert_eq!(full.code, 1, "{}", full.err);
    assert!(full.err.contains("everbloom reshape q.evb double"), "{}", full.err);
}

/// The verb of an ability, with `f.evb` as the filter, `g.evb` as another one like it and `keys` as keys.
fn verb_of(ability: Ability) -> &'static str {
    match ability {
        Ability::Insert => "add f.evb keys",
        Ability::Remove => "remove f.evb keys",
        Ability::Count => "count f.evb queries",
        Ability::Lookup => "get f.evb queries",
        Ability::Age => "age f.evb",
        Ability::Merge => "merge f.evb g.evb -o new.evb",
        Ability::Intersect => "intersect f.evb g.evb -o new.evb",
        Ability::Fold => "fold f.evb -o new.evb",
        Ability::Reconcile => "diff f.evb g.evb",
        Ability::List => "list f.evb",
        Ability::Estimate => "estimate f.evb",
        other => panic!("no verb reaches {other:?}"),
    }
}

/// The ability behind a need that is a verb.
const NEEDED: &[(&str, Ability)] = &[
    ("delete", Ability::Remove),
    ("count", Ability::Count),
    ("merge", Ability::Merge),
    ("fold", Ability::Fold),
    ("reconcile", Ability::Reconcile),
    ("estimate", Ability::Estimate),
];

/// What a form is said to do, the command does; and what a variant is recommended for, one of its forms can do.
#[test]
fn every_ability_answers_to_its_verb() {
    let mut wrong = Vec::new();
    let place = Place::new();
    for variant in VARIANTS.iter().filter(|variant| !variant.forms.is_empty()) {
        let slug = variant.slug;
        for (need, ability) in NEEDED.iter().filter(|(need, _)| variant.needs.contains(need)) {
            let able = variant.forms.iter().any(|form| form.abilities.contains(ability));
            if !able {
                wrong.push(format!("{slug} serves {need}, and no form can"));
            }
        }
        place.file("keys", place.ok(&format!("sample {slug} -n 40"), ""));
        place.file("known", place.ok(&format!("sample {slug} -n 40 --seed 5"), ""));
        place.file("queries", place.ok(&format!("sample {slug} -n 40 --queries members"), ""));
        for form in variant.forms {
            let build = format!("build keys -o f.evb -q --kind {slug} --set form={}", form.name);
            if place.run(&build, "").code != 0 {
                place.ok(&format!("{build} --negatives known"), "");
            }
            place.file("g.evb", place.bytes("f.evb"));
            for ability in form.abilities {
                place.file("f.evb", place.bytes("g.evb"));
                let line = verb_of(*ability);
                let run = place.run(line, "");
                // Sums of small filters may be odd, and an estimate out of reach: that is no refusal of the verb.
                let refused = ["filter cannot", "filters cannot be"];
                if run.code == 2 && refused.iter().any(|refused| run.err.contains(refused)) {
                    wrong.push(format!("{slug} ({}): {line}: {}", form.name, run.err.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A filter that tells more of a key than its verdict tells it to `get`.
#[test]
fn what_check_knows_of_a_key_get_prints() {
    let place = Place::new();
    let mut wrong = Vec::new();
    for variant in VARIANTS.iter().filter(|variant| variant.kind.name() == "filter") {
        let slug = variant.slug;
        place.file("keys", place.ok(&format!("sample {slug} -n 30"), ""));
        place.file("known", place.ok(&format!("sample {slug} -n 30 --seed 5"), ""));
        let build = format!("build keys -o f.evb -q --kind {slug}");
        if place.run(&build, "").code != 0 {
            place.ok(&format!("{build} --negatives known"), "");
        }
        let queries: String = place
            .ok(&format!("sample {slug} -n 30 --queries members"), "")
            .lines()
            .map(|line| format!("{}\n", line.split('\t').next().unwrap_or_default()))
            .collect();
        let answers = place.run("check f.evb --answers --json", &queries);
        // Labels of this one are places inside, which explain an answer.
        let told = slug != "dynamic-array"
            && (answers.out.contains("\"labels\"")
                || answers.out.contains("\"value\"")
                || answers.out.contains("\"score\""));
        let got = place.run("get f.evb", &queries);
        if told && got.code != 0 {
            wrong
                .push(format!("{slug}: told {told}, get {}: {}{}", got.code, got.err, answers.out));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Keys that a filter lists are keys as they were typed, or fingerprints in hexadecimal digits; a row is key and value.
#[test]
fn what_is_listed_is_text() {
    let place = Place::new();
    let able = |variant: &&&everbloom::Variant| {
        variant.forms.iter().any(|form| form.abilities.contains(&Ability::List))
    };
    for variant in VARIANTS.iter().filter(able) {
        let slug = variant.slug;
        let sample = place.ok(&format!("sample {slug} -n 40"), "");
        let keys: BTreeSet<&str> =
            sample.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
        place.file("keys", &sample);
        let lists = |form: &&everbloom::Form| form.abilities.contains(&Ability::List);
        for form in variant.forms.iter().filter(lists) {
            let build = format!("build keys -o f.evb -q --kind {slug} --set form={}", form.name);
            // A small sketch lists keys that only look heavy.
            let build = if slug == "count-min" { build + " --set w=4096" } else { build };
            place.ok(&build, "");
            for line in place.run("list f.evb", "").out.lines() {
                let columns: Vec<&str> = line.split('\t').collect();
                let hex =
                    columns[0].len() == 16 && columns[0].bytes().all(|b| b.is_ascii_hexdigit());
                assert!(hex || keys.contains(columns[0]), "{slug} ({}): {line:?}", form.name);
                assert!(columns.len() <= 2, "{slug} ({}): {line:?}", form.name);
            }
        }
    }
}

/// Every public method of a type that stands in the list, as `TYPE::METHOD`, from the sources of the families. Types that
/// a macro writes are called `$type`.
fn public_methods() -> BTreeSet<String> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../everbloom/src");
    let listed: BTreeSet<&str> =
        VARIANTS.iter().filter_map(|variant| variant.type_name()).collect();
    let mut methods = BTreeSet::new();
    for family in VARIANTS.iter().map(|variant| variant.family).collect::<BTreeSet<&str>>() {
        for file in sources(&library.join(family)) {
            let text = std::fs::read_to_string(&file).expect("a source");
            // `methods!(Bloom: insert_many_parallel, clear);` writes methods that many types have.
            for call in text.split("\nmethods!(").skip(1) {
                let (of, names) = call.split_once(':').expect("a type");
                let names = names.split(')').next().unwrap_or_default().split(',').map(str::trim);
                methods.extend(
                    names.filter(|name| !name.is_empty()).map(|name| format!("{of}::{name}")),
                );
            }
            // The type whose methods follow, if it is in the list. rustfmt gives an `impl` a line that begins with it.
            let mut of = None;
            for raw in text.lines() {
                let line = raw.trim_start();
                if let Some(rest) = line.strip_prefix("impl") {
                    let name = rest.strip_suffix(" {").filter(|rest| !rest.contains(" for "));
                    let name = name.and_then(|name| name.rsplit(' ').next());
                    of = name.map(|name| name.split('<').next().unwrap_or(name));
                    of = of.filter(|of| listed.contains(of) || *of == "$type");
                }
                let method = ["pub fn ", "pub const fn "].iter().find_map(|p| line.strip_prefix(p));
                let end = |c: char| !c.is_alphanumeric() && c != '_';
                if raw == "}" {
                    of = None;
                }
                if let (Some(of), Some(method)) = (of, method) {
                    methods
                        .insert(format!("{of}::{}", method.split(end).next().unwrap_or_default()));
                }
            }
        }
    }
    methods
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The ability that a verb alone needs.
fn ability_of(verb: &str) -> Option<Ability> {
    Some(match verb {
        "remove" => Ability::Remove,
        "count" => Ability::Count,
        "age" => Ability::Age,
        "merge" => Ability::Merge,
        "intersect" => Ability::Intersect,
        "fold" => Ability::Fold,
        "list" => Ability::List,
        "estimate" => Ability::Estimate,
        "diff" => Ability::Reconcile,
        _ => return None,
    })
}

/// Whether the command goes that way to a type's filters.
fn leads(way: &str, of: &str, verbs: &BTreeSet<String>) -> bool {
    let entries: Vec<_> = VARIANTS
        .iter()
        .filter(|variant| {
            of == "$type" && !variant.forms.is_empty() || variant.type_name() == Some(of)
        })
        .collect();
    let has = |name: &str, changes: bool| {
        let operations = entries.iter().filter_map(|variant| variant.operation(name));
        operations.into_iter().any(|operation| operation.changes() == changes)
    };
    let verb = way.split(' ').next().unwrap_or_default();
    if let Some(name) = way.strip_prefix("reshape ") {
        return has(name, true);
    }
    if let Some(name) = way.strip_prefix("get --what ") {
        return has(name, false);
    }
    let able = |ability: Ability| {
        let mut forms = entries.iter().flat_map(|variant| variant.forms);
        forms.any(|form| form.abilities.contains(&ability))
    };
    verb == "no" && way.ends_with(')') || verbs.contains(verb) && ability_of(way).is_none_or(able)
}

#[test]
fn every_public_method_is_reached_or_has_a_reason() {
    let methods = public_methods();
    assert!(methods.len() > 500, "{} methods", methods.len());
    let table = include_str!("reach.txt").lines().filter(|line| !line.starts_with('#'));
    let mut ways: BTreeMap<&str, &str> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in table.filter(|line| !line.is_empty()) {
        let (way, names) = line.rsplit_once(": ").unwrap_or_else(|| panic!("no way: {line}"));
        for name in names.split_whitespace() {
            if ways.insert(name, way).is_some_and(|other| other != way) {
                wrong.push(format!("{name} goes two ways"));
            }
        }
    }
    let man = Place::new().ok("man", "");
    let verbs =
        man.lines().filter_map(|line| line.strip_prefix("everbloom\\-")?.strip_suffix("(1)"));
    let verbs: BTreeSet<String> = verbs.map(str::to_owned).collect();
    let mut used = BTreeSet::new();
    for path in &methods {
        let (of, method) = path.split_once("::").expect("two parts");
        let Some((name, way)) = ways.get_key_value(&**path).or(ways.get_key_value(method)) else {
            wrong.push(format!(
                "{path} is reached by no verb: wire it, or say why not in reach.txt"
            ));
            continue;
        };
        used.insert(*name);
        if !leads(way, of, &verbs) {
            wrong.push(format!("{path}: `{way}` does not lead there"));
        }
    }
    let stale = ways.keys().filter(|name| !used.contains(*name));
    wrong.extend(stale.map(|name| format!("{name} in reach.txt is no method")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
