//! Sizes are predicted with all that a file holds: cells, tables beside them, and the keys of variants that keep keys.

mod support;

use std::sync::Mutex;

use everbloom::internals::file as codec;
use everbloom::internals::filter::Form;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::sample::{self, Sample, Style};
use everbloom::internals::variant::Variant;

/// The share by which a file may differ from its prediction.
const NEAR: f64 = 0.05;
/// Bytes that names and numbers of a filter with content may take beyond those of an empty one.
const NAMES: f64 = 600.0;
/// Rows of coded cells have a directory and spare words that depend on what comes, which nothing predicts.
const CODED: &[&str] = &["elastic", "multilayer-counting", "pagh-pagh-rao", "spectral"];
/// The ends of sequences, of which no plan knows how many there are.
const OPEN: &[&str] = &["k-mer"];

/// Bytes of a file that do not grow with the items: the prefix, names of fields, rings of buckets.
fn header(variant: &'static Variant, goal: &Goal) -> f64 {
    let empty = sample::build(variant, goal, &[]).ok();
    let planned = variant.expect(goal, &Load::default()).ok().flatten();
    let beyond = empty.zip(planned).map_or(0.0, |(empty, planned)| {
        let held = empty.memory().total() as f64 / 8.0;
        held.max(codec::to_bytes(&*empty).len() as f64) - planned.total() as f64 / 8.0
    });
    // A tree has a group of fields for each of its layers.
    let layers = if variant.slug == "blooming-tree" { 10.0 } else { 1.0 };
    beyond.max(0.0) + layers * NAMES
}

/// The members, and their mean length with their values.
fn members(variant: &Variant, n: u64) -> (Sample, u64) {
    let sample = Sample::new(&variant.input, Style::Short, 0..n);
    let bytes: usize = sample.records().iter().map(|record| record.stored_bytes()).sum();
    (sample, (bytes as f64 / n as f64).round() as u64)
}

/// A goal for this form, which is told how long records are if it keeps them.
fn goal(variant: &Variant, form: &Form, record: u64, base: Goal) -> Goal {
    let goal = base.set("form", form.name);
    let keeps = variant.params.iter().any(|param| param.name == "record-bytes");
    if keeps { goal.set("record-bytes", record) } else { goal }
}

/// The share by which a variant may be larger than planned.
fn near(variant: &Variant) -> f64 {
    if CODED.contains(&variant.slug) { 0.45 } else { NEAR }
}

/// Collects what is wrong with every form, so that one run names all.
fn over_all_forms(wrong_with: impl Fn(&'static Variant, &'static Form) -> Option<String> + Sync) {
    let wrong = Mutex::new(Vec::new());
    let forms = support::all_forms().filter(|(variant, _)| !OPEN.contains(&variant.slug));
    support::on_all_cores(forms, |(variant, form)| {
        if let Some(what) = wrong_with(variant, form) {
            wrong
                .lock()
                .expect("no panic in between")
                .push(format!("{} ({}): {what}", variant.slug, form.name));
        }
    });
    let mut wrong = wrong.into_inner().expect("no panic in between");
    wrong.sort();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn files_are_as_large_as_planned() {
    over_all_forms(|variant, form| {
        for n in [3000, 30_000].into_iter().filter(|n| *n <= variant.reach) {
            let (sample, record) = members(variant, n);
            let goal = goal(variant, form, record, Goal::new(n, 0.01));
            // Without a formula nothing is predicted.
            let Some(expect) = variant.expect(&goal, &Load::items(n)).expect(variant.slug) else {
                continue;
            };
            let filter = sample::build(variant, &goal, &sample.records()).expect(variant.slug);
            let planned = expect.total() as f64 / 8.0;
            let (memory, header) = (filter.memory(), header(variant, &goal));
            let (held, file) =
                (memory.total() as f64 / 8.0, codec::to_bytes(&*filter).len() as f64);
            // Where the content decides, the prediction is what it hardly ever exceeds.
            let empty = variant.expect(&goal, &Load::default()).expect(variant.slug);
            let fixed = empty.is_some_and(|empty| empty.bits == expect.bits);
            let least = if fixed { 1.0 - NEAR } else { 2.0 / 3.0 };
            if held.max(file) > (1.0 + near(variant)) * planned + header || held < least * planned {
                return Some(format!(
                    "{n} items: {planned} bytes planned, {held} held (cells {}), {file} in the file, {header} of header",
                    memory.cells / 8
                ));
            }
        }
        None
    });
}

#[test]
fn files_fit_into_the_memory_that_is_given() {
    over_all_forms(|variant, form| {
        for n in [3000, 30_000].into_iter().filter(|n| *n <= variant.reach) {
            let (sample, record) = members(variant, n);
            let base = goal(variant, form, record, Goal::new(n, 0.01));
            let Ok(Some(expect)) = variant.expect(&base, &Load::items(n)) else { continue };
            for share in [0.8, 1.5] {
                let room = (expect.total() as f64 * share) as u64;
                let goal = Goal { fpr: None, ..base.clone() }.bits(room);
                // Too little room is refused.
                let Ok(filter) = sample::build(variant, &goal, &sample.records()) else { continue };
                let (room, file) = (room as f64 / 8.0, codec::to_bytes(&*filter).len() as f64);
                let held = filter.memory().total() as f64 / 8.0;
                if held.max(file) > (1.0 + near(variant)) * room + header(variant, &goal) {
                    return Some(format!(
                        "{n} items in {room} bytes: {held} held, {file} in the file"
                    ));
                }
            }
        }
        None
    });
}
