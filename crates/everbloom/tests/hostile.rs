//! Hostile bytes: whatever a file holds, the decoder says so or returns a filter that works.

#[path = "support/allocations.rs"]
mod allocations;
#[path = "support/sealed.rs"]
mod sealing;
mod support;

use everbloom::Kind;
use everbloom::Variant;
use everbloom::catalog::VARIANTS;
use everbloom::internals::file as codec;
use everbloom::internals::file::Opener;
use everbloom::internals::filter::Form;
use everbloom::internals::filter::{Facts, Filter, Record};
use everbloom::internals::hash::mix64;
use everbloom::internals::plan::Goal;
use everbloom::internals::sample;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::state::Limits;

use sealing::sealed;

fn file(variant: &'static Variant, form: &Form, n: u64) -> Vec<u8> {
    let members = Sample::new(&variant.input, Style::Short, 0..n);
    let goal = Goal::new(8, 0.05).set("form", form.name);
    let filter = sample::build(variant, &goal, &members.records()).expect(variant.slug);
    codec::to_bytes(&*filter)
}

/// A small file of every form of every variant, empty and with a few members.
fn files() -> impl Iterator<Item = (&'static Variant, String, Vec<u8>)> {
    support::all_forms().flat_map(|(variant, form)| {
        [0, 8].map(|n| {
            let name = format!("{} ({}), {n} items", variant.slug, form.name);
            (variant, name, file(variant, form, n))
        })
    })
}

/// The file of an empty standard filter.
fn standard() -> Vec<u8> {
    file(VARIANTS[0], &VARIANTS[0].forms[0], 0)
}

#[test]
fn every_flipped_bit_is_detected() {
    support::on_all_cores(files(), |(_, name, mut bytes)| {
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Opener::new().decode(&bytes).is_err(), "{name}: bit {bit} of byte {}", bit / 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(Opener::new().decode(&bytes).is_ok(), "{name}");
    });
}

#[test]
fn every_truncation_and_extension_is_detected() {
    for (_, name, bytes) in files() {
        for len in 0..bytes.len() {
            let error = Opener::new().decode(&bytes[..len]).expect_err(&name);
            assert_eq!(error.kind(), Kind::Truncated, "{name}: cut to {len}: {error}");
        }
        for extra in [0u8, 1, 0xff] {
            let longer = [&bytes[..], &[extra]].concat();
            assert!(Opener::new().decode(&longer).is_err(), "{name}: one byte more");
        }
    }
}

#[test]
fn what_is_not_ours_is_said_to_be_so() {
    let kind = |bytes: &[u8]| Opener::new().decode(bytes).expect_err("not a filter").kind();
    assert_eq!(kind(b""), Kind::Truncated);
    assert_eq!(kind(b"hello, world, this is not a filter at all"), Kind::NotOurs);
    let bytes = standard();
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert_eq!(kind(&newer), Kind::UnsupportedVersion);
    let mut required = bytes.clone();
    required[12] = 2;
    assert_eq!(kind(&sealed(required)), Kind::UnsupportedFeature);
    let mut unknown = bytes.clone();
    unknown[20..22].copy_from_slice(&60_000u16.to_le_bytes());
    assert_eq!(kind(&sealed(unknown)), Kind::UnsupportedFeature);
    let tight = Opener::new().limits(Limits::LOCAL.bytes(bytes.len() as u64 - 1));
    let refused = tight.decode(&bytes).expect_err("over the limit").kind();
    assert_eq!(refused, Kind::LimitExceeded { what: "bytes" });
}

#[test]
fn probes_outside_their_bounds_are_refused() {
    // Zero probes would let everybody pass, billions would take for ever.
    let bytes = standard();
    let field = b"\x01\x01k";
    let at = bytes.windows(3).position(|w| w == field).expect("a field called k") + 3;
    for k in [0u64, 4097, 1 << 31, u64::MAX] {
        let mut mutated = bytes.clone();
        mutated[at..at + 8].copy_from_slice(&k.to_le_bytes());
        let error = Opener::new().decode(&sealed(mutated)).expect_err("outside the bounds");
        assert!(matches!(error.kind(), Kind::Corrupt { .. }), "k = {k}: {error}");
    }
}

/// Inputs that once broke the decoder, found by fuzzing; none may do so again.
#[test]
fn findings_stay_mended() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/findings");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("a folder of findings") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file");
        for bytes in [sealed(bytes.clone()), bytes] {
            if let Ok(mut filter) = Opener::new().decode(&bytes) {
                let variant = filter.facts();
                exercise(variant, &mut filter);
            }
        }
        seen += 1;
    }
    assert!(seen > 0);
}

/// Uses a filter that came out of hostile bytes in every way there is.
fn exercise(facts: &Facts, filter: &mut Box<dyn Filter>) {
    let sample = Sample::new(&facts.input, Style::Short, 0..4);
    let records: Vec<Record<'_>> = sample.records();
    let empty = Record::key(b"");
    for record in records.iter().copied().chain([empty]) {
        let _ = filter.query(record);
        let _ = filter.as_count().map(|c| c.count(record.key));
        let _ = filter.as_lookup().map(|l| l.get(record.key));
        let _ = filter.as_assign().map(|a| a.set(record.key, b"1"));
    }
    let _ = filter.as_list().map(|l| l.list(&mut |_, _| {}));
    let _ = filter.as_estimate().map(|e| e.cardinality());
    let _ = (filter.fill(), filter.now(), filter.describe(), filter.memory(), filter.huge_pages());
    let twin =
        Opener::new().decode(&codec::to_bytes(&**filter)).expect("what was read can be read");
    let _ = filter.as_merge().map(|m| m.merge(&*twin));
    let _ = filter.as_list().map(|l| l.list(&mut |_, _| ()));
    let _ = filter.as_reconcile().map(|r| (r.decode(), r.estimate(), r.minus(&*twin).is_ok()));
    for record in records.iter().copied() {
        let _ = filter.as_insert().map(|i| i.insert(record));
        let _ = filter.as_remove().map(|r| r.remove(record));
    }
    if let Some(age) = filter.as_age() {
        age.age(1);
    }
    Opener::new().decode(&codec::to_bytes(&**filter)).expect("what was changed can be read");
}

/// Every byte set to every interesting value, every 8 bytes to interesting numbers, all checksums made
/// right: an error or a working filter, and never more memory than bytes present, what they may expand to,
/// and a mebibyte.
#[test]
fn resealed_mutations_give_an_error_or_a_working_filter() {
    let numbers: [u64; 9] =
        [0, 1, 2, 63, 1 << 16, 1 << 32, u64::MAX, f64::NAN.to_bits(), f64::INFINITY.to_bits()];
    support::on_all_cores(files(), |(variant, name, bytes)| {
        let try_one = |mutated: Vec<u8>, what: &str| {
            let mutated = sealed(mutated);
            let limits = Limits::LOCAL.expanded(1 << 18);
            let (decoded, peak) =
                allocations::peak(|| Opener::new().limits(limits).decode(&mutated));
            let most = mutated.len() + (1 << 18) + (1 << 20);
            assert!(peak <= most, "{name}: {what} allocates {peak} bytes for {}", mutated.len());
            if let Ok(mut filter) = decoded {
                exercise(variant, &mut filter);
            }
        };
        // Of long files, all of what says the shape and a sample of the cells.
        for at in (8..bytes.len()).filter(|at| *at < 1024 || at % 61 == 0) {
            for value in [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1, bytes[at].wrapping_add(1)] {
                let mut mutated = bytes.clone();
                mutated[at] = value;
                try_one(mutated, &format!("byte {at} = {value}"));
            }
            for number in numbers {
                if at + 8 <= bytes.len() {
                    let mut mutated = bytes.clone();
                    mutated[at..at + 8].copy_from_slice(&number.to_le_bytes());
                    try_one(mutated, &format!("bytes {at}.. = {number:#x}"));
                }
            }
        }
        for round in 0..if support::thorough(variant.slug) { 2000 } else { 500u64 } {
            let mut mutated = bytes.clone();
            for hit in 0..1 + mix64(round) % 4 {
                let r = mix64(round ^ hit << 32);
                mutated[(r >> 16) as usize % bytes.len()] = r as u8;
            }
            try_one(mutated, &format!("round {round}"));
        }
    });
}

/// A few bytes that would expand to gigabytes, and page stores that would: refused unless told otherwise.
#[test]
fn what_expands_is_held_to_a_limit_by_default() {
    let huge = everbloom::compact::Compressed::with_shape(1 << 34, 3, Default::default());
    let bytes = codec::to_bytes(&huge.expect("two gibibytes of zeros"));
    assert!(bytes.len() < 1000);
    let refused = Opener::new().decode(&bytes).expect_err("2 GiB out of a few bytes");
    assert_eq!(refused.kind(), Kind::LimitExceeded { what: "expanded" });
    assert!(refused.to_string().contains("raise the limit"), "{refused}");
    let told = Opener::new().limits(Limits::LOCAL.expanded(1 << 31)).decode(&bytes);
    assert!(told.is_ok(), "{told:?}");

    let folder = tempfile::tempdir().expect("a folder");
    let forest = everbloom::growing::Forest::with_rate(1_000_000, 0.01).expect("a forest");
    forest.save_pages(folder.path()).expect("saved");
    let tight = Opener::new().limits(Limits::LOCAL.expanded(1 << 19));
    let refused = tight.open(folder.path()).expect_err("more than half a mebibyte of pages");
    assert_eq!(refused.kind(), Kind::LimitExceeded { what: "expanded" });
    assert!(Opener::new().open(folder.path()).is_ok());
}

/// A filter of ones alone answers "present" to everything: nobody takes one from a network.
#[test]
fn a_filter_fuller_than_its_items_explain_is_refused_from_a_network() {
    for slug in ["bloom", "blocked", "partitioned"] {
        let variant = everbloom::catalog::by_slug(slug).expect("in the list");
        let sample = Sample::new(&variant.input, Style::Short, 0..1000);
        let honest = sample::build(variant, &Goal::new(1000, 0.01), &sample.records()).expect(slug);
        let honest = codec::to_bytes(&*honest);
        let network = Opener::new().limits(Limits::NETWORK);
        assert!(network.decode(&honest).is_ok(), "{slug}");
        let mut liar = honest.clone();
        liar[32..40].copy_from_slice(&10u64.to_le_bytes());
        let refused = network.decode(&sealed(liar)).expect_err(slug);
        assert_eq!(refused.kind(), Kind::LimitExceeded { what: "fill" }, "{slug}");
    }
}

/// Gaps between arrays are zero, as FORMAT.md says.
#[test]
fn a_gap_that_is_not_zero_is_found() {
    let filter = everbloom::Bloom::with_rate(10, 0.01).expect("a filter");
    let mut bytes = codec::to_bytes(&filter);
    let tree = u64::from_le_bytes(bytes[56..64].try_into().expect("eight bytes")) as usize;
    let payload = (84 + tree).next_multiple_of(64);
    let used = (filter.m().div_ceil(64) * 8) as usize;
    assert!(used < 64, "there is a gap");
    bytes[payload + used] = 1;
    let refused = Opener::new().decode(&sealed(bytes)).expect_err("a byte in the gap");
    assert!(matches!(refused.kind(), Kind::Corrupt { .. }), "{refused}");
}
