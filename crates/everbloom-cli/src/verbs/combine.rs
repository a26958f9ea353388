//! `everbloom merge`, `intersect`, `fold`, `estimate`: filters of sets as if they were the sets.

use std::path::Path;

use everbloom::Filter;
use everbloom::{Error, Kind};
use everbloom_report::Table;
use everbloom_report::number::rate_text;
use serde_json::json;

use super::change::rate_now;
use super::{mergeable, opened};
use crate::args::{Estimate, Fold, Machine, Merge, Replacing};
use crate::output::{integer_text, print, print_json};
use crate::report::unable::unable;
use crate::report::{json as json_report, rate};
use crate::talk::say;
use crate::target::Target;
use crate::{Outcome, Result, Stop, quantity};

pub fn merge(args: &Merge) -> Result<Outcome> {
    combine(args, |filter, other| {
        let facts = filter.facts();
        filter.as_merge().ok_or_else(|| unable(facts, "merged", "merge"))?.merge(other)
    })
}

pub fn intersect(args: &Merge) -> Result<Outcome> {
    combine(args, |filter, other| {
        let facts = filter.facts();
        let intersect = filter.as_intersect();
        intersect.ok_or_else(|| unable(facts, "intersected", "estimate"))?.intersect(other)
    })
}

fn combine(
    args: &Merge,
    step: fn(&mut dyn Filter, &dyn Filter) -> everbloom::Result<()>,
) -> Result<Outcome> {
    let target = written(&args.output, &args.replacing, &args.machine)?;
    let (first, others) =
        args.filters.split_first().ok_or_else(|| Stop::Error("no filter".into()))?;
    let mut filter = opened(first, &args.secret.key_file)?;
    for path in others {
        let mut other = opened(path, &args.secret.key_file)?;
        let items = filter.head().items.max(other.head().items);
        [filter, other] = mergeable::level(filter, other);
        let sizes = [&*filter, &*other].map(|filter| mergeable::number(filter, "m"));
        step(&mut *filter, &*other)
            .map_err(|e| unequal(e.context(path.display()), items, sizes[0] != sizes[1]))?;
    }
    let outcome = save(&*filter, &target, &args.output, &args.machine)?;
    let (head, now) = (filter.head(), rate::passing(&*filter));
    if let (true, Some(fpr), Some(target)) = (filter.past_capacity(), now, head.fpr) {
        say!(
            "everbloom: warning: the false-positive rate is {} instead of {}: build all of them with -n {}",
            rate_text(fpr),
            rate_text(target),
            quantity::short(head.items),
        );
    }
    Ok(outcome)
}

/// What to do about filters of different size: sizes stay exact, so both are planned for as many keys.
fn unequal(e: Error, items: u64, sizes_differ: bool) -> Stop {
    let planned = matches!(e.kind(), Kind::Incompatible { what: "items" | "rate" });
    // Of those with other causes, the error says all there is to say.
    let of_size = matches!(
        e.kind(),
        Kind::Incompatible {
            what: "m" | "k" | "number of blocks" | "number of words" | "size" | "slice"
        }
    );
    // Hash and scheme follow from the size.
    let follows = matches!(e.kind(), Kind::Incompatible { what: "probe scheme" | "hash" });
    let of_size = of_size || follows && sizes_differ;
    match Stop::from(e) {
        Stop::Error(message) if of_size => Stop::Error(format!(
            "{message}; filters of the same size can be merged: build both with -n {} and the same -p, or with --mergeable",
            quantity::short(items)
        )),
        Stop::Error(message) if planned => {
            Stop::Error(format!("{message}: build both with the same -n and -p"))
        }
        stop => stop,
    }
}

pub fn fold(args: &Fold) -> Result<Outcome> {
    let target = written(&args.output, &args.replacing, &args.machine)?;
    let mut filter = opened(&args.filter, &args.secret.key_file)?;
    for _ in 0..args.times {
        let fold = filter.as_fold().ok_or_else(|| unable(filter.facts(), "folded", "fold"))?;
        filter = fold.fold().map_err(|e| e.context(args.filter.display()))?;
    }
    save(&*filter, &target, &args.output, &args.machine)
}

/// The output, which may be one of the filters: they are read whole before it is replaced.
fn written(output: &Path, replacing: &Replacing, machine: &Machine) -> Result<Target> {
    Target::filter(output, true, (replacing, machine), [])
}

fn save(filter: &dyn Filter, target: &Target, output: &Path, machine: &Machine) -> Result<Outcome> {
    target.save(filter)?;
    if machine.json {
        print_json(&json_report::info(filter))?;
    }
    let items = integer_text(filter.head().items);
    say!("{}: about {items} items{}", output.display(), rate_now(filter));
    Ok(Outcome::Some)
}

pub fn estimate(args: &Estimate) -> Result<Outcome> {
    let mut a = opened(&args.a, &args.secret.key_file)?;
    let full = |path: &Path| {
        Stop::Error(format!(
            "{}: too full to estimate its number of keys: build it with a larger -n",
            path.display()
        ))
    };
    let size = |filter: &dyn Filter, path: &Path| {
        let facts = filter.facts();
        let estimate = filter.as_estimate().ok_or_else(|| unable(facts, "measured", "estimate"))?;
        estimate.cardinality().ok_or_else(|| full(path))
    };
    let size_a = size(&*a, &args.a)?;
    let Some(path) = &args.b else {
        if args.machine.json {
            let [b, union, intersection, jaccard] = [(); 4].map(|()| None::<f64>);
            print_json(&json!({
                "a": size_a, "b": b, "union": union, "intersection": intersection, "jaccard": jaccard,
            }))?;
        } else {
            print(&format!("{}\n", integer_text(size_a.round() as u64)))?;
        }
        return Ok(Outcome::Some);
    };
    let b = opened(path, &args.secret.key_file)?;
    let size_b = size(&*b, path)?;
    let facts = a.facts();
    let ours = a.as_intersect().ok_or_else(|| unable(facts, "intersected", "estimate"))?;
    let shared = ours.intersection_size(&*b)?.ok_or_else(|| full(&args.a))?;
    // Estimates scatter; what they estimate stays within the sets.
    let shared = shared.clamp(0.0, size_a.min(size_b));
    let union = size_a + size_b - shared;
    let jaccard = if union > 0.0 { shared / union } else { 1.0 };
    if args.machine.json {
        print_json(&json!({
            "a": size_a, "b": size_b, "union": union, "intersection": shared, "jaccard": jaccard,
        }))?;
    } else {
        let row =
            |name: &str, value: f64| vec![name.to_owned(), integer_text(value.round() as u64)];
        let rows = [
            row("a", size_a),
            row("b", size_b),
            row("union", union),
            row("intersection", shared),
            vec!["jaccard".to_owned(), format!("{jaccard:.4}")],
        ];
        print(&Table::new(1, ["set", "keys, about"]).rows(rows).terminal())?;
    }
    Ok(Outcome::Some)
}
