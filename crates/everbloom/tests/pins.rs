//! Formats that never drift, at a size where the choices of large filters are made: digests of files.
//!
//! `tests/pins.txt` has a line per form, choice and key of every filter: slug, form, settings, XXH3-128 and
//! length of the bytes, and the numbers of the first false positives. A line that is not there is added on
//! the first run; where `CI` is set that is a failure, because a pin that is made on the spot proves nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use everbloom::Kind;
use everbloom::catalog::VARIANTS;
use everbloom::internals::file as codec;
use everbloom::internals::file::Opener;
use everbloom::internals::filter::{Filter, Verdict};
use everbloom::internals::filter::{Preset, Range};
use everbloom::internals::hash::{HashId, Hasher, SecretKey};
use everbloom::internals::plan::Goal;
use everbloom::internals::sample;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;
use xxhash_rust::xxh3::xxh3_128;

const ITEMS: u64 = 20_000;
/// Filters whose files are pinned under a secret key and under every hash, too: each has a hash of its own
/// and kernels for it.
const HASHED: [&str; 3] = ["bloom", "blocked", "counting"];

/// Pinned lines: what was built, and what came of it.
type Pins = BTreeMap<String, String>;

fn secret() -> SecretKey {
    SecretKey::from_hex("000102030405060708090a0b0c0d0e0f").expect("32 hex digits")
}

/// The settings under which the files of a form are pinned.
fn settings(variant: &Variant) -> Vec<Vec<(&'static str, &'static str)>> {
    let mut all = vec![vec![]];
    for param in variant.params {
        let Range::Choice(words) = param.range else { continue };
        let others = words.iter().filter(|word| param.default != Preset::Choice(word));
        all.extend(others.map(|word| vec![(param.name, *word)]));
    }
    if HASHED.contains(&variant.slug) {
        let seeded = HashId::ALL.into_iter().filter(|id| *id != HashId::SipHash24_128);
        all.extend(seeded.map(|id| vec![("hash", id.name())]));
    }
    all
}

/// The numbers of the first non-members that pass, which depend on hash, probes and cells alike.
fn first_false_positives(filter: &dyn Filter, from: u64) -> String {
    let others = Sample::new(&filter.facts().input, Style::Short, from..from + 2000);
    let records = others.records();
    let passing = records.iter().zip(from..).filter(|(record, _)| {
        filter.query(**record).is_ok_and(|answer| answer.verdict != Verdict::Absent)
    });
    passing.map(|(_, i)| format!(" {i}")).take(5).collect()
}

/// The store's files one after another, in order of their names. The file that writers lock has no part of the filter.
fn bytes_of_folder(folder: &Path) -> Vec<u8> {
    let entries = fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| !path.ends_with("lock")).collect();
    paths.sort();
    paths.iter().flat_map(|path| fs::read(path).expect("a file of the store")).collect()
}

fn digest(bytes: &[u8]) -> String {
    format!("{:032x} {}", xxh3_128(bytes), bytes.len())
}

/// The pins of one goal: the file's, and the page store's where the variant has one.
fn pin(variant: &'static Variant, goal: &Goal, name: &str, pins: &mut Pins) {
    let items = ITEMS.min(variant.reach);
    let members = Sample::new(&variant.input, Style::Short, 0..items);
    let goal = Goal { items: Some(items), ..goal.clone() };
    let filter = match sample::build(variant, &goal, &members.records()) {
        Ok(filter) => filter,
        // A choice that this form does not have.
        Err(e) if e.kind() == Kind::BadParameter => return,
        Err(e) => panic!("{name}: {e}"),
    };
    let bytes = codec::to_bytes(&*filter);
    let opened = Opener::new().key(Some(secret())).decode(&bytes).expect(name);
    let passing = first_false_positives(&*opened, items);
    pins.insert(name.to_owned(), format!("{}{passing}", digest(&bytes)));
    let folder = tempfile::tempdir().expect("a folder");
    match codec::save(&*filter, folder.path()) {
        Err(e) if e.kind() == Kind::Unsupported => return,
        saved => saved.expect(name),
    }
    let opened = Opener::new().key(Some(secret())).open(folder.path()).expect(name);
    assert!(codec::to_bytes(&*opened) == bytes, "{name}: other pages than those saved");
    pins.insert(format!("{name},pages"), digest(&bytes_of_folder(folder.path())));
}

fn pins() -> Pins {
    let mut pins = Pins::new();
    for variant in VARIANTS.iter().filter(|v| v.type_name().is_some()) {
        for form in variant.forms {
            let plain = Goal::new(ITEMS, 0.01).set("form", form.name);
            for settings in settings(variant) {
                let goal = settings.iter().fold(plain.clone(), |goal, (n, v)| goal.set(n, *v));
                let words: Vec<_> = settings.iter().map(|(n, v)| format!("{n}={v}")).collect();
                let words = if words.is_empty() { "planned".to_owned() } else { words.join(",") };
                pin(variant, &goal, &format!("{} {} {words}", variant.slug, form.name), &mut pins);
            }
            if HASHED.contains(&variant.slug) {
                let goal = Goal { hasher: Hasher::keyed(secret()), ..plain };
                pin(variant, &goal, &format!("{} {} keyed", variant.slug, form.name), &mut pins);
            }
        }
    }
    pins
}

#[test]
fn large_files_and_their_first_false_positives_are_those_pinned() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pins.txt");
    let text = fs::read_to_string(&path).unwrap_or_default();
    // A name is three words, the pin is the rest.
    let split = |line: &str| {
        let end = line.match_indices(' ').nth(2).map(|(at, _)| at).expect("a pinned line");
        (line[..end].to_owned(), line[end + 1..].to_owned())
    };
    let pinned: Pins = text.lines().map(split).collect();
    let found = pins();
    for (name, pin) in &pinned {
        assert_eq!(found.get(name), Some(pin), "{name}: left is what a build gives now");
    }
    let new: Vec<_> = found.keys().filter(|name| !pinned.contains_key(*name)).collect();
    if !new.is_empty() {
        let ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty());
        assert!(!ci, "no pins of {new:?}; run the tests once outside CI and commit them");
        let lines: String = found.iter().map(|(name, pin)| format!("{name} {pin}\n")).collect();
        fs::write(&path, lines).expect("the pins are written");
    }
}
