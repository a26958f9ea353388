//! Every variant × every promise: loops over the list, a generator per input kind.

mod support;

use std::sync::Mutex;

use everbloom::Kind;
use everbloom::catalog::{Range, VARIANTS};
use everbloom::internals::file as codec;
use everbloom::internals::file::{Access, Opener};
use everbloom::internals::filter::{
    Ability, Build, Counts, EntryKind, FactValue, FalseNegatives, Form, KeyKind, NEEDS,
};
use everbloom::internals::filter::{Filter, MergeLaw, Record, Value, Verdict};
use everbloom::internals::hash::{HashId, Hasher, SecretKey};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::sample;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::theory::tail;
use everbloom::internals::variant::Variant;

/// Error probability of every statistical bound: with a few hundred of them, a false alarm in a million
/// suites; and seeds are fixed, so what passes once passes always.
const ALPHA: f64 = 1e-9;
const STYLES: [Style; 3] = [Style::Random, Style::Sequential, Style::Short];

/// Every form of every filter, with a goal for `items` items at 1 %.
fn forms(items: u64) -> impl Iterator<Item = (&'static Variant, &'static Form, Goal)> {
    support::forms().map(move |(v, form)| (v, form, Goal::new(items, 0.01).set("form", form.name)))
}

fn records_of(variant: &Variant, style: Style, range: std::ops::Range<u64>) -> Sample {
    Sample::new(&variant.input, style, range)
}

fn verdict(filter: &dyn Filter, record: Record<'_>) -> Verdict {
    filter.query(record).expect("a record of the variant's own kind").verdict
}

fn promises_members(form: &Form) -> bool {
    !matches!(form.false_negatives, FalseNegatives::Possible(_))
}

/// Members found, fill and rates as predicted, for every form and style of keys at one size. `queries` says how
/// many non-members the form with this number in the list, of the variant with this slug, is asked about, if it is tried
/// at all.
fn assert_promises(n: u64, queries: impl Fn(Style, usize, &str) -> Option<u64> + Sync) {
    // In one row, so that no slow form holds up the next style.
    let styles = STYLES.into_iter();
    let cases = styles.flat_map(|style| forms(n).enumerate().map(move |form| (style, form)));
    support::on_all_cores(cases, |(style, (number, (variant, form, goal)))| {
        // Vectors and the like have one style only, and taking one apart takes microseconds.
        let queries = match variant.input.key {
            KeyKind::Bytes if variant.input.sample.is_none() => {
                queries(style, number, variant.slug)
            }
            KeyKind::Integer => Some(QUERIES).filter(|_| style == STYLES[0]),
            _ => Some(QUERIES / 10).filter(|_| style == STYLES[0]),
        };
        if let Some(queries) = queries.filter(|_| n <= variant.reach) {
            assert_promises_of(variant, form, &goal, style, queries);
        }
    });
}

/// [`assert_promises`] for one form, with as many members as its goal says.
fn assert_promises_of(
    variant: &'static Variant,
    form: &Form,
    goal: &Goal,
    style: Style,
    queries: u64,
) {
    let n = goal.items.expect("a number of items");
    let what = format!("{} ({}), n = {n}, {style:?} keys", variant.slug, form.name);
    let members = records_of(variant, style, 0..n);
    let members = members.records();
    let filter = sample::build(variant, goal, &members).expect(&what);

    let missed =
        members.iter().filter(|r| verdict(&*filter, **r) == Verdict::Absent).count() as u64;
    if promises_members(form) {
        assert_eq!(missed, 0, "{what}: false negatives");
    }
    drop(members);
    assert_cells(&*filter, goal, &what);

    let (present, undecided) = passing(&*filter, style, n..n + queries);
    let now = filter.now();
    let inside = |count: u64, rate: Option<f64>, name: &str| {
        let Some(rate) = rate else { return };
        let (low, high) = tail::binomial_bounds(queries, rate, ALPHA);
        let wanted = rate * queries as f64;
        assert!(
            (low..=high).contains(&count),
            "{what}: {count} {name} of {queries}, predicted {wanted} from the fill, \
             allowed {low} to {high}"
        );
    };
    inside(present, now.fpr, "false positives");
    inside(undecided, now.undecided.or(Some(0.0)), "undecided");
    if now.fnr == Some(0.0) {
        assert_eq!(missed, 0, "{what}: claims no false negatives");
    }
}

/// Bits and fill of a filter with as many members as planned are those predicted.
fn assert_cells(filter: &dyn Filter, goal: &Goal, what: &str) {
    let variant = everbloom::catalog::by_id(filter.facts().id).expect("in the list");
    let full = Load::items(goal.items.unwrap_or_default());
    let Some(expect) = variant.expect(goal, &full).expect(what) else { return };
    let (bits, sd) = (filter.memory().cells, filter.bits_sd());
    let empty = variant.expect(goal, &Load::default()).expect(what);
    if empty.is_some_and(|empty| empty.bits == expect.bits) {
        let off = bits.abs_diff(expect.bits) as f64;
        let predicted = expect.bits;
        assert!(off <= 6.0 * sd, "{what}: {bits} bits of cells, not {predicted} ± {sd}");
    } else {
        // Where the content decides, the prediction is what it hardly ever exceeds.
        let near = expect.bits * 2 / 3..=expect.bits + (6.0 * sd) as u64;
        assert!(near.contains(&bits), "{what}: {bits} bits of cells, not {near:?}");
    }
    assert_eq!(expect.fill.is_some(), filter.fill().is_some(), "{what}: fill");
    if let (Some((mean, sd)), Some(fill)) = (expect.fill, filter.fill()) {
        // Six sigmas, and a rounding error for the deterministic.
        let off = (fill - mean).abs();
        assert!(off <= 6.0 * sd + 1e-12, "{what}: fill {fill}, expected {mean} ± {sd}");
    }
}

/// How many of the keys numbered `range` are said to be present, and how many are undecided.
fn passing(filter: &dyn Filter, style: Style, range: std::ops::Range<u64>) -> (u64, u64) {
    /// Records of so many keys stay in the L2 cache.
    const CHUNK: u64 = 4096;
    let (mut present, mut undecided) = (0, 0);
    for start in range.clone().step_by(CHUNK as usize) {
        let end = range.end.min(start + CHUNK);
        for record in records_of(
            everbloom::catalog::by_id(filter.facts().id).expect("in the list"),
            style,
            start..end,
        )
        .records()
        {
            match verdict(filter, record) {
                Verdict::Present => present += 1,
                Verdict::Undecided => undecided += 1,
                Verdict::Absent => {}
            }
        }
    }
    (present, undecided)
}

/// Non-members for 10,000 false positives at 1 %.
const QUERIES: u64 = 1_000_000;

/// Whether it is the turn of this style for a form at one of the three sizes: each form has every style once.
fn turn(style: Style, size: usize, form: usize) -> bool {
    STYLES[(form + size) % STYLES.len()] == style
}

/// Every form meets every style of keys: in its turn it is asked about all the non-members, otherwise about
/// a tenth of them.
fn assert_promises_of_all_styles(n: u64, size: usize) {
    assert_promises(n, |style, form, slug| {
        let all = turn(style, size, form) || support::thorough(slug);
        Some(if all { QUERIES } else { QUERIES / 10 })
    });
}

#[test]
fn promises_hold_for_a_thousand_items() {
    assert_promises_of_all_styles(1_000, 0);
}

#[test]
fn promises_hold_for_a_hundred_thousand_items() {
    assert_promises_of_all_styles(100_000, 1);
}

/// Five million keys take a while, so each form meets one style of them.
#[test]
#[ignore = "takes minutes; xtask thorough runs it, and .ci/run a slice of it"]
fn promises_hold_for_five_million_items() {
    assert_promises(5_000_000, |style, form, slug| {
        (turn(style, 2, form) && support::thorough(slug)).then_some(QUERIES)
    });
}

/// A filter of every form with `n` members, small enough to look at every byte.
fn small(n: u64) -> impl Iterator<Item = (&'static Variant, &'static Form, Box<dyn Filter>)> {
    forms(n.max(1)).map(move |(variant, form, goal)| {
        let members = records_of(variant, Style::Short, 0..n);
        let filter = sample::build(variant, &goal, &members.records());
        (variant, form, filter.unwrap_or_else(|e| panic!("{}: {e}", variant.slug)))
    })
}

#[test]
fn abilities_are_what_the_list_says() {
    for (variant, form, mut filter) in small(50) {
        let what = format!("{} ({})", variant.slug, form.name);
        support::check_abilities(&mut *filter, form, &what);
        assert_eq!(filter.head().form, form.name);
        assert_eq!(filter.facts().id, variant.id);
    }
}

#[test]
fn the_list_is_well_formed() {
    for (i, v) in VARIANTS.iter().enumerate() {
        let unique = VARIANTS.iter().filter(|w| w.id == v.id || w.slug == v.slug).count();
        assert_eq!(unique, 1, "{}: id and slug are used once", v.slug);
        assert!(i == 0 || VARIANTS[i - 1].id < v.id, "{}: the list is in order of ids", v.slug);
        let slug =
            v.slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        assert!(slug && v.slug.len() <= 26, "{}: a short lower-case slug", v.slug);
        assert!(!v.name.is_empty() && !v.paper.is_empty());
        let built = matches!(v.kind, EntryKind::Filter | EntryKind::Sketch);
        assert_eq!(built, !v.forms.is_empty(), "{}: forms", v.slug);
        assert_eq!(built, v.type_name().is_some(), "{}", v.slug);
        for need in v.needs {
            let known = NEEDS.iter().any(|(name, _)| name == need);
            assert!(known, "{}: {need:?} is none of the known needs", v.slug);
        }
        for p in v.params {
            assert!(!["form", "hash"].contains(&p.name), "{}: {} is reserved", v.slug, p.name);
            assert_eq!(v.params.iter().filter(|q| q.name == p.name).count(), 1, "{}", p.name);
        }
    }
}

#[test]
fn saved_filters_come_back_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    for (variant, form, filter) in small(1000) {
        let what = format!("{} ({})", variant.slug, form.name);
        let bytes = codec::to_bytes(&*filter);
        let path = folder.path().join("filter.evb");
        codec::save(&*filter, &path).expect(&what);
        assert_eq!(std::fs::read(&path).expect(&what), bytes, "{what}: save is to_bytes");
        let members = records_of(variant, Style::Short, 0..2000);
        for again in support::opened(&bytes, &path) {
            let again = again.expect(&what);
            assert_eq!(codec::to_bytes(&*again), bytes, "{what}: encoding is canonical");
            assert_eq!(again.head(), filter.head(), "{what}");
            assert_eq!(again.describe(), filter.describe(), "{what}");
            assert_eq!(again.memory(), filter.memory(), "{what}");
            for record in members.records() {
                let answers = (again.query(record), filter.query(record));
                assert_eq!(answers.0.expect(&what), answers.1.expect(&what), "{what}");
            }
        }
    }
}

#[test]
fn a_mapped_filter_is_copied_before_it_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    for (variant, form, filter) in small(100) {
        let what = format!("{} ({})", variant.slug, form.name);
        let path = folder.path().join("filter.evb");
        codec::save(&*filter, &path).expect(&what);
        let before = std::fs::read(&path).expect(&what);
        let mut mapped = Opener::new().access(Access::Map).open(&path).expect(&what);
        let Some(insert) = mapped.as_insert() else { continue };
        let more = records_of(variant, Style::Short, 5000..5010);
        for record in more.records() {
            insert.insert(record).expect(&what);
        }
        assert_eq!(std::fs::read(&path).expect(&what), before, "{what}: the file is as it was");
    }
}

#[test]
fn builds_are_reproducible_and_seeds_matter() {
    for (variant, form, goal) in forms(500) {
        let what = format!("{} ({})", variant.slug, form.name);
        let members = records_of(variant, Style::Short, 0..500);
        let build = |goal: &Goal| {
            codec::to_bytes(&*sample::build(variant, goal, &members.records()).expect(&what))
        };
        assert_eq!(build(&goal), build(&goal), "{what}");
        assert_ne!(
            build(&goal),
            build(&goal.clone().seed(1)),
            "{what}: the seed changes the cells"
        );
    }
}

#[test]
fn streaming_inserts_equal_the_build() {
    for (variant, form, goal) in forms(300) {
        let what = format!("{} ({})", variant.slug, form.name);
        let members = records_of(variant, Style::Short, 0..300);
        let built = sample::build(variant, &goal, &members.records()).expect(&what);
        if variant.build != Build::Streaming || !form.abilities.contains(&Ability::Insert) {
            continue;
        }
        let mut grown = sample::build(variant, &goal, &[]).expect(&what);
        let insert = grown.as_insert().expect(&what);
        for record in members.records() {
            insert.insert(record).expect(&what);
        }
        assert_eq!(codec::to_bytes(&*grown), codec::to_bytes(&*built), "{what}");
    }
}

#[test]
fn merging_follows_the_declared_law() {
    for (variant, form, goal) in forms(400) {
        if !form.abilities.contains(&Ability::Merge) {
            continue;
        }
        let what = format!("{} ({})", variant.slug, form.name);
        let halves = [
            records_of(variant, Style::Short, 0..200),
            records_of(variant, Style::Short, 200..400),
        ];
        let all = records_of(variant, Style::Short, 0..400);
        // Places that draw at random need streams of their own.
        let drawn = variant.params.iter().any(|param| param.name == "stream");
        let elsewhere = if drawn { goal.clone().set("stream", 1) } else { goal.clone() };
        let [left, right] = [(&goal, &halves[0]), (&elsewhere, &halves[1])]
            .map(|(goal, h)| sample::build(variant, goal, &h.records()).expect(&what));
        let whole = sample::build(variant, &goal, &all.records()).expect(&what);
        let mut merged = Opener::new().decode(&codec::to_bytes(&*left)).expect(&what);
        let merge = merged.as_merge().expect(&what);
        let law = merge.law();
        merge.merge(&*right).expect(&what);
        for record in all.records() {
            let [ours, theirs] = [&merged, &whole].map(|f| f.query(record).expect(&what));
            assert_eq!(ours.verdict, theirs.verdict, "{what}");
            // Where counts are estimates, chance has a part in the cells.
            if form.counts != Counts::Around {
                assert_eq!(ours, theirs, "{what}");
            }
        }
        assert_eq!(merged.fill(), whole.fill(), "{what}: the cells are those of the whole");
        if law == MergeLaw::Set {
            let fill = merged.fill();
            merged.as_merge().expect(&what).merge(&*right).expect(&what);
            assert_eq!(merged.fill(), fill, "{what}: a set takes nothing twice");
        }
        let other_seed = sample::build(variant, &goal.clone().seed(9), &[]).expect(&what);
        let other_shape =
            sample::build(variant, &Goal { items: Some(4000), ..goal }, &[]).expect(&what);
        // Some shapes do not depend on the items.
        let shapes_differ = other_shape.describe() != merged.describe();
        let others = [Some(other_seed), Some(other_shape).filter(|_| shapes_differ)];
        for other in others.into_iter().flatten() {
            let before = codec::to_bytes(&*merged);
            let refused = merged.as_merge().expect(&what).merge(&*other).expect_err(&what);
            assert!(matches!(refused.kind(), Kind::Incompatible { .. }), "{what}: {refused}");
            assert_eq!(
                codec::to_bytes(&*merged),
                before,
                "{what}: a refused merge changes nothing"
            );
        }
    }
}

#[test]
fn set_algebra_estimates_sizes_and_keeps_members() {
    for (variant, form, goal) in forms(4000) {
        let what = format!("{} ({})", variant.slug, form.name);
        let build = |range| {
            let keys = records_of(variant, Style::Random, range);
            sample::build(variant, &goal, &keys.records()).expect(&what)
        };
        let (mut left, right) = (build(0..2000), build(1000..4000));
        let Some(estimate) = left.as_estimate() else { continue };
        let near = |got: Option<f64>, want: f64, name: &str| {
            let got = got.unwrap_or_else(|| panic!("{what}: zeros are left"));
            // The standard filter's n̂ is off by less than 1 % here; a difference of three is off by more.
            assert!((got - want).abs() < 150.0, "{what}: {name} {got}, truly {want}");
        };
        near(estimate.cardinality(), 2000.0, "size");
        let (Some(fold), Some(_)) = (left.as_fold(), right.boxed_clone().as_intersect()) else {
            continue;
        };
        let folded = fold.fold().expect(&what);
        let intersect = left.as_intersect().expect(&what);
        near(intersect.intersection_size(&*right).expect(&what), 1000.0, "intersection");
        intersect.intersect(&*right).expect(&what);
        let keys = records_of(variant, Style::Random, 0..2000);
        let keys = keys.records();
        assert!(keys.iter().all(|r| verdict(&*folded, *r) != Verdict::Absent), "{what}: folded");
        assert!(folded.memory().cells * 2 == left.memory().cells, "{what}: half the size");
        let common = &keys[1000..];
        assert!(
            common.iter().all(|r| verdict(&*left, *r) != Verdict::Absent),
            "{what}: intersected"
        );
        let fewer = keys[..1000].iter().filter(|r| verdict(&*left, **r) != Verdict::Absent).count();
        assert!(fewer < 500, "{what}: {fewer} of 1000 that only one side has still pass");
    }
}

#[test]
fn removing_undoes_inserting() {
    for (variant, form, goal) in forms(400) {
        if !form.abilities.contains(&Ability::Remove) {
            continue;
        }
        let what = format!("{} ({})", variant.slug, form.name);
        let members = records_of(variant, Style::Short, 0..400);
        let members = members.records();
        let mut filter = sample::build(variant, &goal, &members).expect(&what);
        let (leave, stay) = members.split_at(200);
        let mut removed = 0;
        for record in leave {
            let before = codec::to_bytes(&*filter);
            match filter.as_remove().expect(&what).remove(*record) {
                Ok(()) => removed += 1,
                Err(_) => {
                    let after = codec::to_bytes(&*filter);
                    assert_eq!(after, before, "{what}: a refused removal changes nothing");
                }
            }
            assert!(
                !promises_members(form)
                    || stay.iter().all(|r| verdict(&*filter, *r) != Verdict::Absent),
                "{what}: a member was lost with another"
            );
        }
        assert!(removed >= 150, "{what}: only {removed} of 200 members could be removed");
        // What was removed is as good as foreign.
        let gone = leave.iter().filter(|r| verdict(&*filter, **r) == Verdict::Absent).count();
        let now = filter.now();
        if let Some(fpr) = now.fpr {
            let passing = fpr + now.undecided.unwrap_or(0.0);
            let (least, _) = tail::binomial_bounds(removed, 1.0 - passing, ALPHA);
            assert!(gone as u64 >= least, "{what}: only {gone} of {removed} are gone");
        }
    }
}

#[test]
fn counts_are_never_too_low() {
    for (variant, form, goal) in forms(300) {
        if !form.abilities.contains(&Ability::Count) {
            continue;
        }
        let what = format!("{} ({})", variant.slug, form.name);
        let keys = records_of(variant, Style::Short, 0..300);
        let keys = keys.records();
        // Key i three times if i is a multiple of 3, once otherwise, and each time as often as it says.
        let records: Vec<Record<'_>> = keys
            .iter()
            .enumerate()
            .flat_map(|(i, r)| vec![*r; if i % 3 == 0 { 3 } else { 1 }])
            .collect();
        let filter =
            sample::build(variant, &Goal { items: Some(500), ..goal }, &records).expect(&what);
        let mut exact = 0;
        for (i, record) in keys.iter().enumerate() {
            let each = match record.value {
                Some(Value::Count(each)) => each,
                _ => 1,
            };
            let truth = if i % 3 == 0 { 3 * each } else { each };
            let count = filter.as_count().expect(&what).count(record.key).whole();
            let least = if form.counts == Counts::Around { 1 } else { truth };
            assert!(count >= least, "{what}: {count} < {least}");
            exact += u64::from(count == truth);
        }
        // A count is too high only if all its cells are shared, as those of a false positive are.
        if let Some(fpr) = filter.now().fpr.filter(|_| form.counts == Counts::Tight) {
            let (least, _) = tail::binomial_bounds(300, 1.0 - fpr, ALPHA);
            assert!(exact >= least, "{what}: only {exact} of 300 counts are exact");
        }
    }
}

#[test]
fn keyed_filters_answer_only_under_their_key() {
    let key = SecretKey::from_hex("000102030405060708090a0b0c0d0e0f").expect("a key");
    let other = SecretKey::from_hex("ff0102030405060708090a0b0c0d0e0f").expect("a key");
    let folder = tempfile::tempdir().expect("a folder");
    for (variant, form, goal) in forms(100) {
        let what = format!("{} ({})", variant.slug, form.name);
        let members = records_of(variant, Style::Short, 0..100);
        let goal = Goal { hasher: Hasher::keyed(key.clone()), ..goal };
        let filter = sample::build(variant, &goal, &members.records()).expect(&what);
        let bytes = codec::to_bytes(&*filter);
        assert_eq!(filter.head().hasher.id(), HashId::SipHash24_128);
        let opened = Opener::new().key(Some(key.clone())).decode(&bytes).expect(&what);
        if promises_members(form) {
            for record in members.records() {
                assert_ne!(verdict(&*opened, record), Verdict::Absent, "{what}");
            }
        }
        for key in [None, Some(other.clone())] {
            let refused = Opener::new().key(key).decode(&bytes).expect_err(&what);
            assert_eq!(refused.kind(), Kind::KeyMissing, "{what}");
        }
        let path = folder.path().join("keyed.evb");
        std::fs::write(&path, &bytes).expect(&what);
        let seen = Opener::new().inspect(&path).expect(&what);
        seen.with(|f| assert_eq!(f.describe(), filter.describe(), "{what}"));
    }
}

#[test]
fn every_hash_works_everywhere() {
    for id in [HashId::Xxh3_64, HashId::Xxh64] {
        for (variant, form, goal) in forms(500) {
            let what = format!("{} ({}), {id}", variant.slug, form.name);
            let members = records_of(variant, Style::Short, 0..500);
            let filter = sample::build(variant, &goal.set("hash", id.name()), &members.records())
                .expect(&what);
            assert_eq!(filter.head().hasher.id(), id);
            if promises_members(form) {
                for record in members.records() {
                    assert_ne!(verdict(&*filter, record), Verdict::Absent, "{what}");
                }
            }
        }
    }
}

/// Probes per key as a filter describes them: its k, or k0 and k1 together.
fn described_probes(filter: &dyn Filter) -> Option<u64> {
    let facts = filter.describe();
    let number = |name: &str| {
        facts.iter().find(|fact| fact.name == name).and_then(|fact| match fact.value {
            FactValue::Integer(number) => Some(number),
            _ => None,
        })
    };
    number("k").or_else(|| Some(number("k0")? + number("k1")?))
}

/// Planning builds nothing, so the probes it shows are predicted. They are those of the filter itself, empty
/// and full.
#[test]
fn probes_are_predicted_as_they_are_described() {
    let goals = [1, 2, 1000, 30_001].into_iter().flat_map(|n| [(n, 0.01), (n, 1e-4)]);
    let cases = goals.flat_map(|goal| support::all_forms().map(move |of| (goal, of)));
    let wrong = Mutex::new(Vec::new());
    support::on_all_cores(cases, |((n, fpr), (variant, form))| {
        let goal = Goal::new(n, fpr).set("form", form.name);
        let full = if n <= variant.reach { n } else { 0 };
        for members in [0, full] {
            // Without a formula nothing is predicted, and a few forms refuse some of the goals.
            let expect = variant.expect(&goal, &Load::items(members));
            let Ok(Some(expect)) = expect else { continue };
            let what = format!("{} ({}), {members} of {n} items at {fpr}", variant.slug, form.name);
            let sample = records_of(variant, Style::Short, 0..members);
            let filter = sample::build(variant, &goal, &sample.records()).expect(&what);
            let (told, shown) = (expect.probes, described_probes(&*filter));
            if told != shown {
                let what = format!("{what}: predicted {told:?}, described {shown:?}");
                wrong.lock().expect("no panic in between").push(what);
            }
        }
    });
    let wrong = wrong.into_inner().expect("no panic in between");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn memory_in_place_of_a_rate_or_of_items() {
    for (variant, form, _) in forms(1) {
        let what = format!("{} ({})", variant.slug, form.name);
        let items = 2000;
        let members = records_of(variant, Style::Short, 0..items);
        let planned = sample::build(
            variant,
            &Goal::new(items, 0.01).set("form", form.name),
            &members.records(),
        );
        let room = planned.expect(&what).memory().total() * 2;
        let base = Goal { bits: Some(room), ..Goal::default() }.set("form", form.name);
        // Twice the room, tables beside the cells included: at least as good a rate, or more items.
        for goal in [
            Goal { items: Some(items), ..base.clone() },
            Goal { fpr: Some(0.01), ..base.clone() },
            Goal { items: Some(items), fpr: Some(0.01), ..base.clone() },
        ] {
            match sample::build(variant, &goal, &members.records()) {
                Ok(filter) => {
                    let cells = filter.memory().cells;
                    assert!(cells <= room, "{what}: {cells} bits in room for {room}, {goal:?}");
                    // A store with room for all its keys has them beside its cells.
                    assert!(filter.memory().total() > 0, "{what}: {goal:?}");
                }
                Err(e) => assert_eq!(e.kind(), Kind::BadParameter, "{what}: {e}"),
            }
        }
        let starved = Goal { items: Some(1_000_000), bits: Some(64), fpr: Some(0.01), ..base };
        let refused = sample::build(variant, &starved, &[]).expect_err(&what);
        assert_eq!(refused.kind(), Kind::BadParameter, "{what}: {refused}");
    }
}

#[test]
fn impossible_goals_are_refused_in_a_sentence() {
    for (variant, _, goal) in forms(100) {
        let refused = |goal: Goal| {
            let error = sample::build(variant, &goal, &[]).expect_err(variant.slug);
            assert_eq!(error.kind(), Kind::BadParameter, "{}: {error}", variant.slug);
            assert!(!error.to_string().is_empty());
        };
        for p in [0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY] {
            refused(Goal { fpr: Some(p), ..goal.clone() });
        }
        refused(Goal { items: Some(0), ..goal.clone() });
        refused(goal.clone().set("no-such-thing", 1));
        refused(goal.clone().set("form", "no-such-form"));
        for p in variant.params {
            refused(goal.clone().set(p.name, "NaN"));
            refused(goal.clone().set(p.name, ""));
            // Some numbers may be negative, none that much.
            refused(goal.clone().set(p.name, "-1e301"));
            if !matches!(p.range, Range::Real(low, _) if low < 0.0) {
                refused(goal.clone().set(p.name, "-1"));
            }
        }
    }
}

#[test]
fn extreme_goals_end_in_a_filter_or_a_sentence() {
    for (variant, form, _) in forms(1) {
        for (n, p) in
            [(1, 1e-300), (1, 0.999_999), (3, 1e-20), (2, 0.5), (10, 1e-6), (u64::MAX, 0.01)]
        {
            let what = format!("{} ({}), n = {n}, p = {p}", variant.slug, form.name);
            let goal = Goal::new(n, p).set("form", form.name);
            let members = records_of(variant, Style::Short, 0..n.min(10));
            match sample::build(variant, &goal, &members.records()) {
                Ok(filter) if promises_members(form) => {
                    for record in members.records() {
                        assert_ne!(verdict(&*filter, record), Verdict::Absent, "{what}");
                    }
                }
                Ok(_) => {}
                Err(e) => assert_eq!(e.kind(), Kind::BadParameter, "{what}: {e}"),
            }
        }
    }
}

/// Shapes beyond 2^32 cells: indices use all their bits, files and folds keep up. Pages that are never
/// written cost nothing.
#[test]
fn filters_work_beyond_four_billion_bits() {
    for (slug, goal) in [
        ("bloom", Goal::default().set("m", (1u64 << 32) + 128).set("k", 7)),
        ("counting", Goal::default().set("m", (1u64 << 30) + 64).set("k", 7).set("width", 5)),
        ("blocked", Goal { items: Some(450_000_000), fpr: Some(0.01), ..Goal::default() }),
    ] {
        let variant = everbloom::catalog::by_slug(slug).expect(slug);
        let members = records_of(variant, Style::Random, 0..2000);
        let members = members.records();
        let filter = sample::build(variant, &goal, &members).expect(slug);
        assert!(filter.memory().cells > 1 << 32, "{slug}: {:?}", filter.memory());
        assert!(members.iter().all(|r| verdict(&*filter, *r) == Verdict::Present), "{slug}");
        let non_members = records_of(variant, Style::Random, 2000..20_000);
        let wrong = non_members
            .records()
            .iter()
            .filter(|r| verdict(&*filter, **r) != Verdict::Absent)
            .count();
        assert_eq!(wrong, 0, "{slug}: an almost empty filter takes nobody else in");
        let k = filter.describe().iter().find(|f| f.name == "k").map(|f| f.value.to_string());
        let k: f64 = k.and_then(|k| k.parse().ok()).expect(slug);
        let cells = filter.fill().expect(slug)
            * match slug {
                "counting" => ((1u64 << 30) + 64) as f64,
                _ => filter.memory().cells as f64,
            };
        // 2,000 keys with k probes each meet now and then in blocks, hardly ever elsewhere.
        let touched = 2000.0 * k;
        assert!(cells <= touched + 0.5 && cells > 0.97 * touched, "{slug}: {cells} of {touched}");
    }
}
