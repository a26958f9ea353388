//! Sequences of operations on a filter of every form, beside an exact multiset.
//!
//! Byte 0 picks the form; each further byte is an operation on one of 32 keys. A member that a form
//! promises to keep must never be missed.

use std::sync::LazyLock;

use everbloom::catalog::VARIANTS;
use everbloom::internals::filter::{EntryKind, FalseNegatives, Form, MergeLaw};
use everbloom::internals::sample::{self, Sample, Style};
use everbloom::{Filter, Goal, Opener, Record, Variant, Verdict, to_bytes};

struct World {
    variant: &'static Variant,
    form: &'static Form,
    sample: Sample,
    /// Planning takes longer than all operations together, so the empty filter is decoded instead.
    empty: Vec<u8>,
}

/// Forms whose default shape takes long to open, and what makes them small.
const LIGHT: &[(&str, &str, &str, u32)] = &[
    ("blocked", "patterns", "patterns", 64),
    ("egh", "bits", "universe", 64),
    ("egh", "counters", "universe", 64),
    ("invertible", "strata", "strata", 4),
    ("invertible", "strata", "stratum-cells", 16),
];

static WORLDS: LazyLock<Vec<World>> = LazyLock::new(|| {
    let filters = VARIANTS.iter().filter(|v| v.kind == EntryKind::Filter);
    let forms = filters.flat_map(|v| v.forms.iter().map(move |form| (*v, form)));
    forms
        .map(|(variant, form)| {
            let mut goal = Goal::new(10, 0.2).set("form", form.name);
            for (_, _, name, value) in
                LIGHT.iter().filter(|l| (l.0, l.1) == (variant.slug, form.name))
            {
                goal = goal.set(name, *value);
            }
            let empty = sample::build(variant, &goal, &[]).expect("an empty filter");
            World {
                variant,
                form,
                sample: Sample::new(&variant.input, Style::Short, 0..32),
                empty: to_bytes(&*empty),
            }
        })
        .collect()
});

/// Does what the bytes say.
pub fn operations(data: &[u8]) {
    let Some((first, operations)) = data.split_first() else { return };
    let world = &WORLDS[usize::from(*first) % WORLDS.len()];
    let open = |bytes: &[u8]| Opener::new().decode(bytes).expect("our own bytes");
    let records: Vec<Record<'_>> = world.sample.records();
    let mut filter = open(&world.empty);
    let mut model = [0u32; 32];
    for byte in operations.iter().take(200) {
        let key = usize::from(byte & 31);
        let record = records[key];
        match byte >> 5 {
            0..=2 => {
                if let Some(Ok(_)) = filter.as_insert().map(|i| i.insert(record)) {
                    model[key] += 1;
                }
            }
            3 | 4 => {
                if model[key] > 0
                    && let Some(Ok(())) = filter.as_remove().map(|r| r.remove(record))
                {
                    // A set, or a map whose values can be set, forgets a key whole, however often it was put.
                    let law = filter.as_merge().map(|merge| merge.law());
                    let whole = filter.as_assign().is_some() || law == Some(MergeLaw::Set);
                    model[key] = if whole { 0 } else { model[key] - 1 };
                }
            }
            5 => {
                let mut other = open(&world.empty);
                let taken = other.as_insert().map(|i| i.insert(record));
                if let (Some(Ok(_)), Some(Ok(()))) =
                    (taken, filter.as_merge().map(|m| m.merge(&*other)))
                {
                    model[key] += 1;
                }
            }
            6 => {
                // Time makes filters forget, and another value is another record.
                let aged = filter.as_age().map(|a| a.age(1)).is_some();
                let set = filter.as_assign().map(|a| a.set(record.key, b"3")).is_some();
                if aged || set {
                    model = [0; 32];
                }
                let _ = filter.as_reconcile().map(|r| (r.decode(), r.estimate()));
            }
            _ => filter = open(&to_bytes(&*filter)),
        }
    }
    verify(world, &*filter, &model, &records);
}

fn verify(world: &World, filter: &dyn Filter, model: &[u32; 32], records: &[Record<'_>]) {
    let promised = match world.form.false_negatives {
        FalseNegatives::Never => true,
        // Those that forget keep what came last, and nobody counts arrivals here.
        FalseNegatives::NeverWhile(_) => world.variant.family != "decaying",
        FalseNegatives::Possible(_) => false,
    };
    // Non-members are asked for now and then, members always.
    let asked = records.iter().zip(model).enumerate().filter(|(i, (_, held))| **held > 0 || *i < 2);
    for (_, (record, held)) in asked {
        let answer = filter.query(*record).expect("a record of the variant's own kind");
        let missed = *held > 0 && answer.verdict == Verdict::Absent;
        assert!(
            !(promised && missed),
            "{} ({}) lost a member",
            world.variant.slug,
            world.form.name
        );
    }
    let now = filter.now();
    for rate in [now.fpr, now.fnr, now.undecided].into_iter().flatten() {
        assert!((0.0..=1.0).contains(&rate), "a rate of {rate}");
    }
}
