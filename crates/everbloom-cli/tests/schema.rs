//! docs/JSON.md is the schema of `--json`: every verb is run, and what it prints has the names, types and
//! ranges of the page's tables; what the tables name is printed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

mod place;

/// Verbs that print a file of another kind, or a story for people.
const EXEMPT: [&str; 5] = ["completions", "man", "help", "sample", "tour"];

/// What is run for each section of the page, with what on stdin. Together they show every name.
const CASES: &[(&str, &str, &[u8])] = &[
    ("plan", "plan -n 1M -p 1%", b""),
    ("plan", "plan -n 1M --memory 1MB --need delete", b""),
    ("plan", "plan -n 10k -p 1% --need count --max-count 100", b""),
    ("plan --need", "plan --need delete,count", b""),
    ("build", "build keys -o new.evb -n 100", b""),
    ("build", "build - -o new.evb", b"a\nb\n"),
    ("build", "build keys -o new.evb --kind blocked --key-file secret", b""),
    ("build", "build - -o new.evb -n 100", b""),
    ("build", "build keys -o new.evb --key-type u64", b""),
    ("build", "build keys -o new.evb --ancestors /", b""),
    ("info", "info a.evb", b""),
    ("info", "info keyed.evb", b""),
    ("info", "info stable.evb", b""),
    ("info", "info fuse.evb", b""),
    ("info", "info ternary.evb", b""),
    ("info", "info full.evb", b""),
    ("info", "info repeated.evb", b""),
    ("info", "info groups.evb", b""),
    ("info --format", "info ids.guava", b""),
    ("info --format", "info orders.parquet", b""),
    ("build --format", "build keys -o new.guava --format guava --keys-as long", b""),
    ("export", "export split.evb --format parquet -o new.sbbf", b""),
    ("import", "import ids.sbbf -o new.evb", b""),
    ("formats", "formats", b""),
    ("merge", "merge a.evb b.evb -o new.evb", b""),
    ("intersect", "intersect a.evb b.evb -o new.evb", b""),
    ("fold", "fold a.evb -o new.evb", b""),
    ("check", "check a.evb --answers", b"1\n\xff\n"),
    ("check", "check counting.evb", b"1\n"),
    ("check", "check counting.evb -H", b"1\n"),
    ("check", "check values.evb", b"oak\n"),
    ("check", "check groups.evb", b"ann\n"),
    ("check", "check near.evb vectors", b""),
    ("check", "check senders.evb", b"payload of ann\tann\n"),
    ("check --in", "check a.evb --in b.evb", b"1\n"),
    ("check --in", "check a.evb --in b.evb -H", b"1\n"),
    ("add", "add counting.evb", b"x\n"),
    ("add", "add values.evb", b"\xff\ttree\n"),
    ("remove", "remove counting.evb", b"1\nnobody\n\xff\n"),
    ("count", "count counting.evb", b"2\nnobody\n\xff\n"),
    ("count", "count stuck.evb", b"x\n"),
    ("list", "list top.evb", b""),
    ("list", "list stock.evb", b""),
    ("get", "get values.evb", b"oak\nraw\n"),
    ("get", "get crowded.evb keys", b""),
    ("get", "get groups.evb", b"ann\n"),
    ("get", "get near.evb vectors", b""),
    ("get", "get hops.evb", b"song\n"),
    ("get", "get senders.evb --what senders", b""),
    ("reshape", "reshape slots.evb double", b""),
    ("reshape", "reshape learns.evb adapt numbers", b""),
    ("age", "age stable.evb 3", b""),
    ("scrub", "scrub soft.evb", b""),
    ("estimate", "estimate a.evb b.evb", b""),
    ("estimate", "estimate distinct.evb", b""),
    ("dedupe", "dedupe", b"x\n\xff\nx\n"),
    ("dedupe", "dedupe --window 10", b"x\ny\nx\n"),
    ("dedupe", "dedupe --exact-check", b""),
    ("dedupe", "dedupe --time --ttl 10", b"1\tx\n2\tx\n30\tx\n"),
    ("diff", "diff keys other", b""),
    ("diff", "diff keys keys", b""),
    ("diff", "diff keys.sketch other.sketch", b""),
    ("diff", "diff keys.inv other.inv", b""),
    ("sketch", "sketch keys -o new.sketch", b""),
    ("publish", "publish keys -o feed", b""),
    ("publish", "publish other -o feed", b""),
    ("follow", "follow feed -o followed.evb", b""),
    ("sync", "sync here there", b""),
    ("sync --approximate", "sync here there --approximate", b""),
    ("sync --approximate", "sync here there --approximate=1kB --send", b""),
    ("sync", "sync here there --send", b""),
    ("join", "join left right -d ,", b""),
    ("top", "top keys", b""),
    ("top", "top keys --at-least 1 --every 10", b""),
    ("top", "top --exact", b"x\n\xff\nx\n"),
    ("kmer build", "kmer build one.fa two.fa -o new.evk", b""),
    ("kmer add", "kmer add grows.evk two.fa", b""),
    ("kmer info", "kmer info one.evk", b""),
    ("kmer query", "kmer query one.evk one.fa", b""),
    ("similar", "similar numbers more-numbers", b""),
    ("known", "known more-numbers -r numbers", b""),
    ("known", "known numbers --list sums", b""),
    ("attribute build", "attribute build requests -o new.seen", b""),
    (
        "attribute find",
        "attribute find seen --text 07919158382375731676395954751455433633527127179190871099502802947",
        b"",
    ),
    ("link", "link people people --evaluate left", b""),
    ("link", "link people people", b""),
    ("link --output", "link people --output new.filters", b""),
    ("spell", "spell -d keys", b"caf\xc3\xa9 1\n"),
    ("spell --hyphenate", "spell --hyphenate patterns --exceptions parted", b"table\n"),
    ("breach build", "breach build keys -o new.breached", b""),
    ("breach check", "breach check breached --near", b"1\nnobody\n"),
    ("revoked build", "revoked build --revoked gone --valid other -o new.revoked", b""),
    ("revoked build", "revoked build --revoked gone --valid other -o new.dual --form dual", b""),
    ("revoked check", "revoked check dual keys --list gone", b""),
    ("revoked prove", "revoked prove gone 7 -o new.proof", b""),
    ("revoked verify", "revoked verify dual 7 7.proof", b""),
    ("join", "join keys other --keys --estimate", b""),
    ("secure index build", "secure index build left right --key-file key -o new.index", b""),
    ("secure index trapdoor", "secure index trapdoor - --key-file key -o new", b"ann\n"),
    ("secure index search", "secure index search docs.index word.trapdoor", b""),
    ("secure query setup", "secure query setup keys --key-file key -o new.set", b""),
    ("secure query ask", "secure query ask keys.set other --key-file key -o new", b""),
    ("secure query answer", "secure query answer asked --key-file key -o new", b""),
    (
        "secure query finish",
        "secure query finish keys.set asked answered other --key-file key",
        b"",
    ),
    ("explain", "explain a.evb 1", b""),
    ("explain", "explain counting.evb 2", b""),
    ("explain", "explain values.evb oak", b""),
    ("explain", "explain groups.evb ann", b""),
    ("explain", "explain near.evb 0101010101010101", b""),
    ("bench", "bench --kind blocked -n 100", b""),
    ("bench", "bench a.evb -n 100", b""),
    ("catalog", "catalog", b""),
    ("demo", "demo", b""),
];

struct Place {
    folder: TempDir,
}

impl Place {
    /// A folder with the filters and files that the cases speak of.
    fn furnished() -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder") };
        let numbers =
            |range: std::ops::Range<u32>| -> String { range.map(|i| format!("{i}\n")).collect() };
        for (name, text) in [
            ("keys", numbers(0..100).as_bytes()),
            ("other", numbers(1..103).as_bytes()),
            // Those that `sync --send` changes.
            ("here", numbers(0..100).as_bytes()),
            ("there", numbers(1..103).as_bytes()),
            ("values", b"oak\ttree\nraw\t\xff\n"),
            ("people", b"name,town\nann,rome\nbob,lima\n"),
            ("patterns", b"1ta"),
            ("parted", b"ta-ble\n"),
            ("gone", b"F0:01\nF0:02\n"),
            ("groups", b"ann\t1\nbob\t2\n"),
            ("ten-times", "x\n".repeat(10).as_bytes()),
            ("repeated", numbers(0..1000).repeat(4).as_bytes()),
            ("crowded", (0..100).map(|i| format!("{i}\t{i}\n")).collect::<String>().as_bytes()),
            ("hops", b"song\t2\n"),
            ("senders", b"payload of ann\tann\n"),
            ("vectors", b"0101010101010101\n1101010101010101\n"),
            ("left", b"1,ann\n2,b\xff\n"),
            ("right", b"2,lima\n9,oslo\n1,\xff\n"),
            ("numbers", numbers(0..3000).as_bytes()),
            ("more-numbers", numbers(0..4000).as_bytes()),
            ("one.fa", b">one\nACGTTGCAAGCTTACGGATTACAGATTACAGGCATCGACTACG\n"),
            ("two.fa", b">two\nTTGACCAGTACCATGGCATTTAGCCCATAGACGACATACGACT\n"),
            (
                "sums",
                b"b88f23c76864a47af84ae2846870bec0bcb3196f7bc4380b8aaaacad60055279  numbers\n",
            ),
            ("secret", b"000102030405060708090a0b0c0d0e0f\n"),
            ("key", b"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"),
        ] {
            std::fs::write(place.folder.path().join(name), text).expect("a file");
        }
        let requests: String = (0..120)
            .map(|i| format!("{:05}{}", i * 7919 % 100_000, if i % 40 == 39 { "\n" } else { "" }))
            .collect();
        std::fs::write(place.folder.path().join("requests"), requests).expect("a file");
        let samples =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../everbloom-formats/tests/samples");
        std::fs::copy(
            samples.join("pyarrow26.parquet"),
            place.folder.path().join("orders.parquet"),
        )
        .expect("the sample");
        for line in [
            "build keys -o a.evb -n 200",
            "build other -o b.evb -n 200",
            "build keys -o keyed.evb --key-file secret",
            "build keys -o full.evb -n 10",
            "build keys -o counting.evb --kind counting",
            "build keys -o stable.evb --kind stable",
            "build keys -o fuse.evb --kind binary-fuse",
            "build keys -o split.evb --kind split-block",
            "build keys -o ids.guava --format guava",
            "build keys -o ids.sbbf --format parquet",
            "build keys -o ternary.evb --kind ternary",
            "build keys -o soft.evb --kind soft-error",
            "build keys -o top.evb --kind top-k --set k=5",
            "build values -o stock.evb --kind iblt -n 100",
            "build keys -o distinct.evb --kind hyperloglog",
            "build keys -o keys.inv --kind invertible -n 10",
            "build other -o other.inv --kind invertible -n 10",
            "sketch keys -o keys.sketch",
            "sketch other -o other.sketch",
            "build values -o values.evb --kind bloomier --set form=mutable -p 1e-9",
            "build groups -o groups.evb --kind combinatorial",
            "build repeated -o repeated.evb -n 1000",
            "build ten-times -o stuck.evb --kind counting --set width=2",
            "build crowded -o crowded.evb --kind iblt -n 5",
            "build hops -o hops.evb --kind attenuated -n 10",
            "build senders -o senders.evb --kind hierarchical -n 10 --set block=2",
            "build keys -o slots.evb --kind quotient",
            "build keys -o learns.evb --kind adaptive-cuckoo -p 10%",
            "build vectors -o near.evb --kind distance-sensitive",
            "kmer build one.fa -o one.evk",
            "kmer build one.fa -o grows.evk",
            "attribute build requests -o seen",
            "breach build keys -o breached --near",
            "revoked build --revoked gone --valid other -o dual --form dual",
            "revoked prove gone 7 -o 7.proof",
            "secure index build left right --key-file key -o docs.index",
            "secure index trapdoor keys --key-file key -o word.trapdoor",
            "secure query setup keys --key-file key -o keys.set",
            "secure query ask keys.set other --key-file key -o asked",
            "secure query answer asked --key-file key -o answered",
        ] {
            let (code, _, err) = place.run(line, b"");
            assert_eq!(code, Some(0), "{line}: {err}");
        }
        place
    }

    fn run(&self, line: &str, stdin: &[u8]) -> (Option<i32>, String, String) {
        let command = place::command(self.folder.path(), line.split_whitespace());
        let output = place::output(command, stdin);
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8, whatever the keys are");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

/// The verbs, as the command itself lists them; of one that has verbs of its own, those.
fn verbs() -> Vec<String> {
    listed("").into_iter().flat_map(inner).collect()
}

/// The verbs of a verb, down to those that have none of their own.
fn inner(verb: String) -> Vec<String> {
    let names = if EXEMPT.contains(&verb.as_str()) { Vec::new() } else { listed(&verb) };
    let names = names.into_iter().filter(|name| name != "help");
    let inner: Vec<String> = names.flat_map(|name| inner(format!("{verb} {name}"))).collect();
    if inner.is_empty() { vec![verb] } else { inner }
}

fn listed(verb: &str) -> Vec<String> {
    let place = Place { folder: tempfile::tempdir().expect("a folder") };
    if verb.is_empty() {
        let (_, man, _) = place.run("man", b"");
        let names =
            man.lines().filter_map(|line| line.strip_prefix("everbloom\\-")?.strip_suffix("(1)"));
        return names.filter(|name| !name.contains('-')).map(str::to_owned).collect();
    }
    let (_, help, _) = place.run(&format!("{verb} --help"), b"");
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = list.take_while(|line| !line.is_empty());
    // A description that runs on is indented further than a name.
    let names = names.filter_map(|line| line.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// A row of a table of the page.
#[derive(Clone)]
struct Row {
    path: String,
    types: Vec<String>,
    unit: String,
}

/// A table of the page, and the verbs of its heading.
struct Section {
    verbs: Vec<String>,
    rows: Vec<Row>,
}

fn page() -> Vec<Section> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/JSON.md");
    let text = std::fs::read_to_string(path).expect("the page");
    let mut sections: Vec<Section> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside;
        }
        // What is printed beneath an example is no part of a table.
        if inside {
            continue;
        }
        if let Some(heading) = line.strip_prefix("## ") {
            let verbs = heading.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            sections.push(Section { verbs, rows: Vec::new() });
        } else if line.starts_with("| `") {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [name, types, unit, _] = cells[..] else { panic!("four columns: {line}") };
            sections.last_mut().expect("a heading").rows.push(Row {
                path: name.trim_matches('`').to_owned(),
                types: types.replace(',', " ").split_whitespace().map(str::to_owned).collect(),
                unit: unit.to_owned(),
            });
        }
    }
    sections.retain(|section| !section.verbs.is_empty());
    // Without numbers a plan is a part of the catalog, and its section says so.
    let entries = section(&sections, "catalog").rows.clone();
    let list = sections.iter_mut().find(|s| s.verbs == ["plan --need"]).expect("its section");
    list.rows.extend(entries);
    sections
}

fn section<'a>(page: &'a [Section], verb: &str) -> &'a Section {
    let found = page.iter().find(|section| section.verbs.iter().any(|v| v == verb));
    found.unwrap_or_else(|| panic!("docs/JSON.md has no section on {verb}"))
}

/// Whether a path of the page, in which words in capitals stand for any name, is this one.
fn means(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<&str>, Vec<&str>) =
        (pattern.split('.').collect(), path.split('.').collect());
    let wild = |word: &str| word.bytes().all(|b| b.is_ascii_uppercase());
    pattern.len() == path.len() && pattern.iter().zip(&path).all(|(p, w)| p == w || wild(p))
}

/// What the page calls a value.
fn kind(value: &Value) -> &'static [&'static str] {
    match value {
        Value::Null => &["null"],
        Value::Bool(_) => &["boolean"],
        Value::Number(n) if n.is_u64() => &["integer", "number"],
        Value::Number(_) => &["number"],
        Value::String(_) => &["string", "bytes"],
        Value::Object(o) if raw(o) => &["bytes"],
        Value::Object(_) => &["object"],
        Value::Array(_) => &["list"],
    }
}

/// Whether an object stands for bytes that are not UTF-8.
fn raw(object: &serde_json::Map<String, Value>) -> bool {
    object.len() == 1 && object.get("b64").is_some_and(Value::is_string)
}

/// Calls `f` with every named value inside, and its path.
fn walk<'a>(path: &str, value: &'a Value, f: &mut dyn FnMut(&str, &'a Value)) {
    match value {
        Value::Object(object) if !raw(object) => {
            for (name, value) in object {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                f(&path, value);
                walk(&path, value, f);
            }
        }
        Value::Array(list) => list.iter().for_each(|v| walk(&format!("{path}[]"), v, f)),
        _ => {}
    }
}

/// Compares a value that a verb printed with the page, and hands every name in it to `seen`.
fn compare<'a>(
    page: &[Section],
    verb: &str,
    line: &str,
    value: &'a Value,
    wrong: &mut Vec<String>,
    seen: &mut dyn FnMut(&str, &'a Value),
) {
    walk("", value, &mut |path, value| {
        seen(path, value);
        let rows = section(page, verb).rows.iter();
        // The name itself goes before a word that stands for any.
        let rows: Vec<&Row> = rows.filter(|row| means(&row.path, path)).collect();
        let row = rows.iter().find(|row| row.path == path).or(rows.first());
        let Some(row) = row else {
            wrong.push(format!("{line}: `{path}` is not on the page"));
            return;
        };
        if !kind(value).iter().any(|kind| row.types.iter().any(|t| t == kind)) {
            wrong.push(format!("{line}: `{path}` is {value}, not {:?}", row.types));
        }
        let rate = value.as_f64().filter(|_| row.unit == "rate");
        if rate.is_some_and(|rate| !(0.0..=1.0).contains(&rate)) {
            wrong.push(format!("{line}: `{path}` is {value}, which is no rate"));
        }
        let hex = value.as_str().filter(|_| row.unit == "hex");
        if hex.is_some_and(|hex| !hex.bytes().all(|b| b.is_ascii_hexdigit())) {
            wrong.push(format!("{line}: `{path}` is {value}, which is not hex"));
        }
    });
}

/// What was printed: one value, or one a line.
fn values(text: &str) -> Option<Vec<Value>> {
    match serde_json::from_str(text) {
        Ok(value) => Some(vec![value]),
        Err(_) => text.lines().map(|line| serde_json::from_str(line).ok()).collect(),
    }
}

#[test]
fn every_verb_has_the_option_a_section_and_a_case() {
    let place = Place { folder: tempfile::tempdir().expect("a folder") };
    let (verbs, page) = (verbs(), page());
    assert!(verbs.len() > 20, "{verbs:?}");
    for verb in verbs.iter().filter(|verb| !EXEMPT.contains(&verb.as_str())) {
        let (code, help, _) = place.run(&format!("{verb} --help"), b"");
        assert_eq!(code, Some(0), "{verb}");
        assert!(help.contains("--json"), "{verb} has no --json");
        assert!(help.contains("docs/JSON.md"), "{verb} does not say where its JSON is described");
        assert!(!section(&page, verb).rows.is_empty(), "docs/JSON.md has no table on {verb}");
        let case = CASES.iter().any(|(section, ..)| section == verb);
        assert!(case, "no case runs {verb}");
    }
    for verb in EXEMPT {
        assert!(verbs.iter().any(|v| v == verb), "{verb} is exempt, and there is none");
    }
    for described in page.iter().flat_map(|section| &section.verbs) {
        let verb = described.split(" --").next().unwrap_or_default();
        assert!(
            verbs.iter().any(|v| v == verb),
            "docs/JSON.md describes {verb}, and there is none"
        );
    }
}

#[test]
fn what_is_printed_is_what_the_page_describes() {
    let (place, page) = (Place::furnished(), page());
    // The paths that each verb printed, and whether ever with a value.
    let mut seen: BTreeMap<&str, BTreeMap<String, bool>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut printed = Vec::new();
    for (verb, line, stdin) in CASES {
        let (code, out, err) = place.run(&format!("{line} --json"), stdin);
        assert!(matches!(code, Some(0 | 1)), "{line}: {err}");
        printed.push((*verb, *line, out));
    }
    for (verb, line, out) in &printed {
        let values = values(out).unwrap_or_else(|| panic!("{line}: not JSON: {out}"));
        assert!(!values.is_empty(), "{line}: printed nothing");
        for value in &values {
            compare(&page, verb, line, value, &mut wrong, &mut |path, value| {
                let printed = seen.entry(verb).or_default();
                *printed.entry(path.to_owned()).or_default() |= !value.is_null();
            });
        }
    }
    for Section { verbs, rows, .. } in &page {
        for row in rows {
            let printed = |verb: &String| -> Option<bool> {
                let paths = seen[verb.as_str()].iter().filter(|(path, _)| means(&row.path, path));
                paths.map(|(_, value)| *value).reduce(|a, b| a | b)
            };
            // Verbs that share a section print all its names, each of them; a value one of them.
            for verb in verbs.iter().filter(|verb| printed(verb).is_none()) {
                wrong.push(format!("{verb}: `{}` is never printed", row.path));
            }
            if !verbs.iter().filter_map(printed).any(|value| value) {
                wrong.push(format!("{verbs:?}: `{}` is always null in these cases", row.path));
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Filters of every form, with counts that are stuck, below zero or no whole numbers: whatever the variant, the page says
/// what is printed.
#[test]
fn every_form_prints_what_the_page_describes() {
    let (place, page) = (Place { folder: tempfile::tempdir().expect("a folder") }, page());
    let file = |name: &str, text: &str| {
        std::fs::write(place.folder.path().join(name), text).expect("a file");
    };
    let (_, list, _) = place.run("catalog --json", b"");
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let mut wrong = Vec::new();
    let mut check = |line: &str| {
        let (code, out, _) = place.run(&format!("{line} --json -q"), b"");
        let verb = line.split(' ').next().unwrap_or_default();
        for value in values(&out).unwrap_or_else(|| panic!("{line}: not JSON: {out}")) {
            compare(&page, verb, line, &value, &mut wrong, &mut |_, _| {});
        }
        code
    };
    for variant in list.as_array().expect("a list") {
        let slug = variant["slug"].as_str().expect("a slug");
        for form in variant["forms"].as_array().expect("forms") {
            let form = form["name"].as_str().expect("a name");
            // One key often, so that counters are stuck.
            let sample = |more: &str| place.run(&format!("sample {slug} {more}"), b"").1;
            let keys = sample("-n 12");
            let first = keys.lines().next().unwrap_or_default().to_owned() + "\n";
            file("keys", &keys);
            file("often", &(keys + &first.repeat(40)));
            file("known", &sample("-n 12 --seed 5"));
            file("queries", &sample("-n 12 --queries members"));
            let build = format!("build often -o f.evb -n 100 --kind {slug} --set form={form}");
            let ways =
                [&build, &format!("{build} --negatives known"), &build.replace("often", "keys")];
            let built = ways.into_iter().any(|build| check(build) == Some(0));
            assert!(built, "{slug} ({form}) was not built");
            for verb in ["info", "list", "estimate", "age"] {
                check(&format!("{verb} f.evb"));
            }
            for verb in ["check --answers", "count", "get", "add", "remove", "remove"] {
                check(&format!(
                    "{verb} f.evb {}",
                    if verb == "add" || verb == "remove" { "keys" } else { "queries" }
                ));
            }
            check("count f.evb queries");
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn streams_are_a_record_a_line_and_end_in_their_summary() {
    let place = Place::furnished();
    for (line, stdin, records) in [
        ("check a.evb --answers", &b"1\n\xff\n"[..], 2),
        ("count counting.evb", b"1\n\xff\n", 2),
        ("get values.evb", b"oak\nnobody\n", 1),
        ("dedupe", b"x\nx\n\n", 2),
        ("join left right -d ,", b"", 2),
    ] {
        let (_, out, _) = place.run(&format!("{line} --json"), stdin);
        let values: Vec<Value> =
            out.lines().map(|l| serde_json::from_str(l).expect("an object a line")).collect();
        let summed = line.starts_with("dedupe") || line.starts_with("join");
        assert_eq!(values.len(), records + usize::from(summed), "{line}: {out}");
        for (i, value) in values.iter().enumerate() {
            assert_eq!(value.get("summary").is_some(), summed && i == records, "{line}: {out}");
        }
    }
    // An error is text on stderr, and there is no summary.
    let (code, out, err) = place.run("dedupe --json -f 2 -d ,", b"a,1\nb\n");
    assert_eq!(code, Some(2));
    assert!(err.contains("line 2") && !out.contains("summary"), "{out}{err}");
    // Nothing changes in what the verb returns.
    for (line, stdin) in [
        ("check a.evb", &b"nobody\n"[..]),
        ("count counting.evb", b"nobody\n"),
        ("explain a.evb nobody", b""),
        ("remove counting.evb", b"nobody\n"),
        ("diff keys other", b""),
        ("diff keys keys", b""),
        ("join left secret -d ,", b""),
        ("dedupe", b""),
        ("info missing.evb", b""),
    ] {
        let plain = place.run(line, stdin).0;
        assert_eq!(place.run(&format!("{line} --json"), stdin).0, plain, "{line}");
    }
}

#[test]
fn bytes_that_are_no_text_survive() {
    let place = Place::furnished();
    let first = |line: &str, stdin: &[u8]| -> Value {
        let (_, out, err) = place.run(line, stdin);
        let first = out.lines().next().unwrap_or_else(|| panic!("{line}: {err}"));
        serde_json::from_str(first).expect("JSON")
    };
    assert_eq!(first("dedupe --json", b"\xff\xfe\n")["line"]["b64"], "//4=");
    assert_eq!(first("get values.evb --json", b"raw\n")["value"]["b64"], "/w==");
    assert_eq!(first("count counting.evb --json", b"\xff\xfe\n")["key"]["b64"], "//4=");
    assert_eq!(first("join right left -d , --json", b"")["right"], "1,ann");
    assert_eq!(first("join right left -d , --json", b"")["left"]["b64"], "MSz/");
}
