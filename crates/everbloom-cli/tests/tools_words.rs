//! Tools for words, passwords, serials and records, from outside.

mod place;

use place::Place;
use serde_json::Value;

fn fails(place: &Place, line: &str, stdin: &str, why: &str) {
    let said = place.refused(line, stdin);
    assert!(said.contains(why), "{line}: {said}");
}

#[test]
fn unknown_words_are_told_with_their_places() {
    let place = Place::new();
    place.file("words", "the\ncat\nwell\nknown\nParis\nétude\n");
    place.file("text", "The well-known cta\n\nÉtude «ctaa» of PARIS\n");
    let found = place.ok("spell -d words text -", "catt\n");
    assert_eq!(found, "text:1:16: cta\ntext:3:8: ctaa\ntext:3:14: of\nstdin:1:1: catt\n");
    assert_eq!(place.ok("spell -d words --words", "a cat\n"), "a\n");
    let clean = place.run("spell -d words", "The cat.\n");
    assert_eq!((clean.code, clean.out.as_str()), (1, ""));
    place.file("mine", "cta\nctaa\nof\n");
    assert_eq!(place.run("spell -d words --personal mine text", "").code, 1);
    // A filter of words is a dictionary, too.
    place.ok("build words -o words.evb -p 1e-6", "");
    assert_eq!(place.ok("spell -d words.evb --personal mine", "catt of\n"), "stdin:1:1: catt\n");
    fails(&place, "spell -d words.evb -d words", "", "only dictionary");
    fails(&place, "spell -d nothing", "", "nothing");
}

#[test]
fn dictionaries_of_hunspell_are_written_out() {
    let place = Place::new();
    place.file("d.aff", "SET UTF-8\nPFX U Y 1\nPFX U 0 un .\nSFX D Y 1\nSFX D 0 ed .\n");
    place.file("d.dic", "1\nlock/UD\n");
    assert_eq!(
        place.ok("spell -d d.dic --words", "lock locked unlock unlocked Unlocked relocked\n"),
        "relocked\n"
    );
    place.file("alone.dic", "1\nlock\n");
    fails(&place, "spell -d alone.dic", "", "alone.aff");
}

#[test]
fn words_are_parted_as_without_the_filter() {
    let place = Place::new();
    place.file("patterns", "hy3ph he2n hena4 hen5at 1na n2at 1tio 2io");
    place.file("exceptions", "ta-ble\nna-tion-al\n");
    let line = "spell --hyphenate patterns --exceptions exceptions --mark ·";
    assert_eq!(
        place.ok(line, "Hyphenation, National table!\n"),
        "Hy·phen·ation, Na·tion·al ta·ble!\n"
    );
    place.file("empty", "");
    fails(&place, "spell --hyphenate empty", "x\n", "no pattern");
}

#[test]
fn breached_passwords_are_found_and_never_shown() {
    let place = Place::new();
    place.file("list", "password\nletmein\nhunter2\nm\u{fc}ller\n");
    place.ok("breach build list -o plain --near", "");
    let asked = "letmein\nPassword\nmuller\ncorrect horse\nlet-me-in\n";
    let found = place.run("breach check plain --near", asked);
    assert_eq!(
        found.out,
        "line 1: is in the list\nline 2: is within one edit of a listed one\n\
         line 3: is within one edit of a listed one\n"
    );
    for word in asked.lines() {
        assert!(!found.out.contains(word) && !found.err.contains(word), "{word} is shown");
    }
    assert_eq!(place.run("breach check plain", asked).out, "line 1: is in the list\n");
    let none = place.run("breach check plain", "nobody's\n");
    assert_eq!((none.code, none.out.as_str()), (1, ""));
    // No file of the set holds a password.
    for entry in std::fs::read_dir(place.folder.path().join("plain")).expect("the set") {
        let bytes = std::fs::read(entry.expect("a file").path()).expect("a file");
        assert!(!bytes.windows(7).any(|w| w == b"letmein" || w == b"hunter2"));
    }
    fails(&place, "breach build list -o plain", "", "already");
    fails(&place, "breach check list", "x\n", "set.json");
}

#[test]
fn hashes_come_with_counts() {
    let place = Place::new();
    // SHA-1 of "password" and "letmein", NTLM of "password".
    let sha1 = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:100\r\n\
                B7A875FC1EA228B9061041B7CEC4BD3C52AB3CE3:3\r\n\r\n";
    place.ok("breach build - -o often --min-count 10 --near", sha1);
    let asked = "password\nletmein\npassw0rd\n";
    assert_eq!(place.ok("breach check often", asked), "line 1: is in the list\n");
    assert_eq!(
        place.ok("breach check often --near", asked),
        "line 1: is in the list\nline 3: is within one edit of a listed one\n"
    );
    place.ok("breach build - -o windows", "8846f7eaee8fb117ad06bdd830b7586c\n");
    assert_eq!(place.ok("breach check windows", asked), "line 1: is in the list\n");
    // Planned for one lookup, it would take most passwords for neighbors of others.
    fails(&place, "breach check windows --near", asked, "build it again with --near");
    let mixed = format!("{sha1}hunter2\n");
    let refused = place.run("breach build - -o mixed", &mixed);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("line 4") && !refused.err.contains("hunter2"), "{}", refused.err);
    assert!(!place.folder.path().join("mixed").exists());
    fails(&place, "breach build - -o new --min-count 2", "password\n", "no counts");
    fails(&place, "breach build - -o new", "", "empty");
}

#[test]
fn revoked_serials_are_told_exactly() {
    let place = Place::new();
    let serials = |range: std::ops::Range<u32>| range.map(|i| format!("{i}\n")).collect::<String>();
    place.file("revoked", serials(0..200));
    place.file("valid", serials(200..5_000));
    let statuses = |out: &str, status: &str| out.lines().filter(|l| l.starts_with(status)).count();
    for form in ["cascade", "dual"] {
        place.ok(
            &format!("revoked build --revoked revoked --valid valid -o {form} --form {form}"),
            "",
        );
        let revoked = place.ok(&format!("revoked check {form} revoked --list revoked"), "");
        assert_eq!(statuses(&revoked, "revoked\t"), 200, "{form}");
        let valid = place.run(&format!("revoked check {form} valid --list revoked"), "");
        assert_eq!((statuses(&valid.out, "valid\t"), valid.code), (4_800, 1), "{form}");
    }
    let others = place.run("revoked check dual", &serials(100_000..101_000)).out;
    assert!(statuses(&others, "unknown") > 900);
    let asked = place.run("revoked check dual valid", "").out;
    let proofs = statuses(&asked, "proof");
    assert!((10..150).contains(&proofs), "{proofs} of 4800 at 0.01");
    // The cascade alone, as another program would read it.
    assert_eq!(
        place.ok("revoked check cascade/cascade.mlbf", "7\n4711\n"),
        "revoked\t7\nvalid\t4711\n"
    );
    fails(&place, "revoked build --revoked valid --valid valid -o both", "", "revoked and valid");
}

/// A serial is a number: whichever program wrote the list, and whichever the question.
#[test]
fn a_serial_is_the_same_however_it_is_written() {
    let place = Place::new();
    let spellings = "0a:1b:ff\n0A1BFF\na1bff\r\n0A 1B FF\n0x0a1bff\nserial=0A1BFF\n\
                     Serial Number: 662527 (0xa1bff)\n00a1bff\n";
    place.file("valid", "10\n11\n12\n");
    let mut answers = Vec::new();
    for (i, revoked) in spellings.lines().enumerate() {
        place.file("revoked", format!("{revoked}\r\n77\r\n"));
        for form in ["cascade", "dual"] {
            place.ok(
                &format!(
                    "revoked build --revoked revoked --valid valid -o {form}{i} --form {form}"
                ),
                "",
            );
            let out = place.ok(&format!("revoked check {form}{i}"), spellings);
            answers.push(out.lines().filter(|line| line.starts_with("revoked\t")).count());
            let valid = place.run(&format!("revoked check {form}{i}"), "0010\n0x11\n1:2\n");
            assert_eq!(valid.out, "valid\t0010\nvalid\t0x11\nvalid\t1:2\n", "{form}");
        }
    }
    assert_eq!(answers, [8; 16]);
    place.ok("revoked prove revoked 0A1BFF -o proof", "");
    assert_eq!(place.ok("revoked verify dual7 0a:1b:ff proof", ""), "revoked\t0a:1b:ff\n");
    fails(&place, "revoked check dual0", "ann\n", "line 1");
    place.file("names", "10\n\nann\n");
    fails(&place, "revoked build --revoked names --valid valid -o no", "", "names: line 2");
    assert!(!place.folder.path().join("no").exists());
}

#[test]
fn proofs_travel_and_forgeries_do_not() {
    let place = Place::new();
    place.file("revoked", "0a9e\n0ca7\n0e1c\n0f0c\n");
    place.file("valid", "0bee\n0d06\n");
    place.ok("revoked build --revoked revoked --valid valid -o set --form dual", "");
    place.ok("revoked prove revoked 0ca7 -o 0ca7", "");
    place.ok("revoked prove revoked 0d06 -o 0d06", "");
    assert_eq!(place.ok("revoked verify set 0ca7 0ca7", ""), "revoked\t0ca7\n");
    assert_eq!(place.ok("revoked verify set 0d06 0d06", ""), "valid\t0d06\n");
    fails(&place, "revoked verify set 0e1c 0d06", "", "does not hold");
    place.file("shorter", "0a9e\n0e1c\n0f0c\n");
    place.ok("revoked prove shorter 0ca7 -o lie", "");
    fails(&place, "revoked verify set 0ca7 lie", "", "does not hold");
    fails(&place, "revoked verify set 0ca7 valid", "", "not a proof");
    let report: Value =
        serde_json::from_str(&place.ok("revoked prove revoked 0d06 -o 0d06 --json", ""))
            .expect("JSON");
    assert_eq!((&report["leaves"], &report["hashes"]), (&Value::from(2), &Value::from(4)));
}

/// A register, the same one with a typing error in each record and in another order, and the true pairs.
fn registers(people: u64) -> [String; 3] {
    let mut state = 1u64;
    let mut below = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut lines: [Vec<String>; 3] =
        [vec!["id,first,last,town".into()], vec!["id,first,last,town".into()], vec![]];
    for i in 0..people {
        let mut fields = [0; 3].map(|_| {
            let letters = 5 + below(5);
            (0..letters).map(|_| char::from(b'a' + below(26) as u8)).collect::<String>()
        });
        lines[0].push(format!("L{i},{}", fields.join(",")));
        let (field, letter) = (below(3) as usize, char::from(b'a' + below(26) as u8));
        let at = below(fields[field].len() as u64) as usize;
        match below(3) {
            0 => fields[field].insert(at, letter),
            1 => drop(fields[field].remove(at)),
            _ => fields[field].replace_range(at..=at, &letter.to_string()),
        }
        lines[1].insert(1 + (i / 2) as usize, format!("R{i},{}", fields.join(",").to_uppercase()));
        lines[2].push(format!("L{i},R{i}"));
    }
    lines.map(|lines| lines.join("\n") + "\n")
}

#[test]
fn records_with_typing_errors_are_linked_without_showing_them() {
    let place = Place::new();
    let [left, right, truth] = registers(400);
    place.file("left.csv", &left);
    place.file("right.csv", &right);
    place.file("true", truth);
    place.file("key", "000102030405060708090a0b0c0d0e0f");
    place.file("other", "ff0102030405060708090a0b0c0d0e0f");
    let line = "link left.csv right.csv --id id --key-file key --evaluate true --json";
    let out = place.ok(line, "");
    let summary: Value =
        serde_json::from_str(out.lines().last().expect("a summary")).expect("JSON");
    let number = |name: &str| summary["summary"][name].as_f64().expect("a number");
    assert!(number("precision") >= 0.95 && number("recall") >= 0.95, "{summary}");
    // So few pairs are all compared, which misses none.
    assert!(number("compared") == number("of") && number("recall") == 1.0, "{summary}");
    // By filters that the other side made, whose file has no name in it.
    place.ok("link right.csv --id id --key-file key -o right.evb", "");
    let encoded = std::fs::read(place.folder.path().join("right.evb")).expect("a file");
    for name in right.lines().skip(1).flat_map(|l| l.split(',').skip(1)).filter(|n| n.len() > 5) {
        let low = name.to_lowercase();
        assert!(!encoded.windows(name.len()).any(|w| w == name.as_bytes() || w == low.as_bytes()));
    }
    let pairs = place.ok("link left.csv right.evb --id id --key-file key", "");
    assert!(pairs.lines().count() >= 380);
    // Under another key nothing is alike.
    place.ok("link right.csv --id id --key-file other -o noise.evb", "");
    assert_eq!(place.run("link left.csv noise.evb --id id --key-file key", "").code, 2);
    assert_eq!(place.run("link left.csv noise.evb --id id", "").code, 2);
}

#[test]
fn schemas_choose_the_columns() {
    let place = Place::new();
    place.file("a.csv", "id,name,note\n1,Ann Miller,x\n2,Bob Stone,y\n");
    place.file("b.csv", "name,note,id\nann miller,other,8\n");
    place.file(
        "schema.json",
        r#"{"version":3,"clkConfig":{"l":1024},"features":[{"identifier":"id","ignored":true},
            {"identifier":"name","hashing":{"comparison":{"type":"ngram","n":2},
             "strategy":{"bitsPerToken":15}}},{"identifier":"note","ignored":true}]}"#,
    );
    assert_eq!(place.ok("link a.csv b.csv --schema schema.json --id id", ""), "1\t8\t1.0000\n");
    let none = place.run("link a.csv b.csv --id id", "");
    assert_eq!((none.code, none.out.as_str()), (1, ""), "the notes differ");
    place.file("bad.json", r#"{"version":9}"#);
    fails(&place, "link a.csv b.csv --schema bad.json", "", "version 1 to 3");
    fails(&place, "link a.csv b.csv --id number", "", "no column \"number\"");
    place.file("true", "1\n");
    fails(&place, "link a.csv b.csv --schema schema.json --evaluate true", "", "LEFT,RIGHT");
}

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";

/// Documents and queries are cut alike: nothing that is in a document's text is lost to a hyphen, a CR or a capital.
#[test]
fn queries_are_cut_into_words_as_documents_are() {
    let place = Place::new();
    place.file("key", KEY);
    place.file("letter", "Send an E-mail to O'Hara,\r\nétude no. 7\r\n");
    place.file("other", "mail for another hara\n");
    place.ok("secure index build letter other --key-file key -o index", "");
    let search = |queries: &str| {
        place.ok("secure index trapdoor - --key-file key -o asked", queries);
        place.run("secure index search index asked", "").out
    };
    assert_eq!(search("e-mail\n"), "1\tletter\n");
    assert_eq!(search("E-MAIL\r\n\u{c9}tude\r\n"), "1\tletter\n2\tletter\n");
    assert_eq!(search("O'Hara\nmail\nno such word\n"), "1\tletter\n2\tletter\n2\tother\n");
    let told = place.run("secure index trapdoor - --key-file key -o asked", "e-mail\n").err;
    assert!(told.contains("all of: e, mail"), "{told}");
    fails(
        &place,
        "secure index trapdoor - --key-file key -o asked",
        "fig\n--\n",
        "line 2: no word",
    );
}

#[test]
fn damaged_indexes_and_trapdoors_are_refused() {
    let place = Place::new();
    place.file("key", KEY);
    place.file("letter", "dear friend\n");
    place.ok("secure index build letter --key-file key -o index -p 0.01", "");
    place.ok("secure index trapdoor - --key-file key -o asked -p 0.01", "friend\n");
    assert_eq!(place.ok("secure index search index asked", ""), "1\tletter\n");
    for name in ["index", "asked"] {
        let whole = place.bytes(name);
        for bit in (0..8 * whole.len()).step_by(whole.len() / 5) {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            place.file(name, bytes);
            place.refused("secure index search index asked", "");
        }
        place.file(name, whole);
    }
}

/// An option that is advised is one that the verb has.
#[test]
fn carriage_returns_are_stripped_where_the_option_is_advised() {
    let place = Place::new();
    place.file("key", KEY);
    place.file("unix", "ann\nbob\n");
    place.file("windows", "ann\r\neve\r\n");
    let set = "secure query setup unix --key-file key -o set";
    place.ok(set, "");
    let asked = place.run("secure query ask set windows --key-file key -o asked", "");
    assert!(asked.err.contains("--crlf strips it"), "{}", asked.err);
    place.ok("secure query ask set windows --key-file key -o asked --crlf", "");
    place.ok("secure query answer asked --key-file key -o answered", "");
    let found =
        place.ok("secure query finish set asked answered windows --key-file key --crlf", "");
    assert_eq!(found, "ann\n");
    // Verbs without the option don't name it.
    place.file("pairs", "1,1\r\n2,2\r\n");
    place.file("left", "id,name\n1,ann\n2,bob\n");
    let others = [
        place.run("link left left --id id --truth pairs", ""),
        place.run("publish windows -o feed", ""),
        place.run("spell -d unix windows", ""),
    ];
    for run in others {
        assert!(!run.err.contains("--crlf"), "{}", run.err);
    }
}
