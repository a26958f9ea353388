//! `everbloom add`, `remove`, `age`: changes to a filter file, whole or not at all.

use std::path::Path;

use everbloom::internals::filter::{Filter, Record, Value};
use everbloom::membership::ancestors::Hierarchy;
use everbloom::{Error, Kind};
use everbloom_report::json::bytes;
use everbloom_report::number::{integer_text, rate_text};
use serde_json::{Value as Json, json};

use super::opened;
use crate::args::{Age, Change};
use crate::input::{self, Passes};
use crate::output::print_json;
use crate::talk::{say, tell};
use crate::{Outcome, Result, Stop, reading};

/// What is done with each key.
type Step = fn(&mut dyn Filter, Record<'_>) -> everbloom::Result<()>;

pub fn add(args: &Change) -> Result<Outcome> {
    change(args, "added", |filter, record| {
        if let Some(hierarchy) = Hierarchy::named(&filter.head().reading.ancestors) {
            return add_node(filter, hierarchy, record);
        }
        if let Some(insert) = filter.as_insert() {
            return insert.insert(record).map(drop);
        }
        let slug = filter.facts().slug;
        match (filter.as_assign(), record.value) {
            (Some(assign), Some(Value::Label(value) | Value::Bytes(value))) => {
                assign.set(record.key, value)
            }
            (Some(_), _) => Err(Error::new(Kind::BadRecord, "no value: write key<TAB>value")),
            (None, _) => Err(unable(slug, "take further keys: build it again")),
        }
    })
}

/// Adds a key and those of its ancestors that are not inside, from the root down: every node counts once, as
/// in a build.
fn add_node(
    filter: &mut dyn Filter,
    hierarchy: Hierarchy,
    record: Record<'_>,
) -> everbloom::Result<()> {
    let mut nodes: Vec<&[u8]> = hierarchy.ancestors(record.key).collect();
    nodes.reverse();
    nodes.push(record.key);
    for key in nodes {
        let there = filter.contains(key) && key != record.key;
        let slug = filter.facts().slug;
        let insert = filter.as_insert();
        let insert = insert.ok_or_else(|| unable(slug, "take further keys: build it again"))?;
        if !there {
            insert.insert(Record::key(key).with(record.value))?;
        }
    }
    Ok(())
}

pub fn remove(args: &Change) -> Result<Outcome> {
    if !opened(&args.filter, &args.keyed.key_file)?.head().reading.ancestors.is_empty() {
        return Err(Stop::Error(
            "the filter holds the ancestors of its keys, which other keys may share: build it again \
             without the keys to be removed"
                .to_owned(),
        ));
    }
    change(args, "removed", |filter, record| match filter.as_remove() {
        Some(remove) => remove.remove(record),
        None => Err(unable(filter.facts().slug, "remove keys: `everbloom plan --need delete`")),
    })
}

fn unable(slug: &str, what: &str) -> Error {
    Error::new(Kind::Unsupported, format!("a {slug} filter cannot {what}"))
}

/// Refused keys that a report lists; all of them are named on stderr.
const LISTED: usize = 1000;

/// What came of the keys.
#[derive(Default)]
struct Tally {
    accepted: u64,
    refused: u64,
    /// The first of those refused, and why.
    refusals: Vec<Json>,
}

/// Applies `step` to every key. Accepted keys are saved; refused ones are named, and make exit code 1.
fn change(args: &Change, done: &str, step: Step) -> Result<Outcome> {
    let opener = input::opener(&args.keyed.key_file)?;
    let mut filter = opener.update(&args.filter, args.waiting.meant())?;
    let grammar = reading::grammar(&*filter, &args.keyed.text)?;
    let mut lines = input::lines(&args.keys, grammar, Passes::Once)?;
    let mut tally = Tally::default();
    lines.each(|lines, records| {
        for (line, record) in lines.iter().zip(records) {
            match step(&mut *filter, *record) {
                Ok(()) => tally.accepted += 1,
                // What no key can do is one error, not one per key.
                Err(e) if e.kind() == Kind::Unsupported => return Err(e),
                Err(e) => {
                    tally.refused += 1;
                    tell!("everbloom: refused {:?}: {e}", String::from_utf8_lossy(line));
                    if tally.refusals.len() < LISTED {
                        tally.refusals.push(json!({ "key": bytes(line), "reason": e.to_string() }));
                    }
                }
            }
        }
        Ok(())
    })?;
    if tally.accepted > 0 {
        filter.save()?;
    }
    report(args, done, &*filter, tally)
}

fn report(args: &Change, done: &str, filter: &dyn Filter, tally: Tally) -> Result<Outcome> {
    let Tally { accepted, refused, refusals } = tally;
    let (items, now) = (filter.head().items, filter.now().fpr);
    if args.machine.json {
        print_json(&json!({
            done: accepted, "refused": refused, "refusals": refusals, "items": items, "fpr_now": now,
        }))?;
    }
    let refused_text =
        if refused > 0 { format!(", {} refused", integer_text(refused)) } else { String::new() };
    say!(
        "{}: {} {done}{refused_text}; {} items{}",
        args.filter.display(),
        integer_text(accepted),
        integer_text(items),
        rate_now(filter),
    );
    Ok(if refused > 0 { Outcome::None } else { Outcome::Some })
}

/// The end of what is said of a filter that was changed.
pub fn rate_now(filter: &dyn Filter) -> String {
    let rate = filter.now().fpr;
    rate.map_or(String::new(), |p| format!(", false positives now {}", rate_text(p)))
}

pub fn age(args: &Age) -> Result<Outcome> {
    let path: &Path = &args.filter;
    let opener = input::opener(&args.key_file)?;
    let mut filter = opener.update(path, args.waiting.meant())?;
    let slug = filter.facts().slug;
    let age = filter.as_age().ok_or_else(|| unable(slug, "age: `everbloom plan --need decay`"))?;
    age.age(args.ticks);
    filter.save()?;
    if args.machine.json {
        print_json(&json!({
            "ticks": args.ticks, "items": filter.head().items, "fpr_now": filter.now().fpr,
        }))?;
    }
    say!("{}: {} ticks passed{}", path.display(), integer_text(args.ticks), rate_now(&*filter));
    Ok(Outcome::Some)
}
