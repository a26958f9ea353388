//! `everbloom add`, `remove`, `age`, `scrub`: changes to a filter file, whole or not at all.

use std::path::Path;

use everbloom::internals::filter::{Count, Filter, Record};
use everbloom::membership::ancestors::Hierarchy;
use everbloom::{Bound, Error, Kind, Update};
use everbloom_report::json::bytes;
use everbloom_report::number::rate_text;
use serde_json::{Value as Json, json};

use super::pairs::Pairs;
use crate::args::{Add, Age, Change, Edit, Replacing, Secret};
use crate::input::{self, Passes};
use crate::output::{integer_text, print_json};
use crate::report::rate;
use crate::report::unable::cannot;
use crate::talk::{say, tell};
use crate::target::changeable;
use crate::{Outcome, Result, reading};

/// What came of a key that was not refused.
enum Done {
    /// What was asked for.
    All,
    /// Removed as far as the filter can: its counters are stuck at their maximum, and it stays a member.
    Stays,
}

pub fn add(args: &Add) -> Result<Outcome> {
    let mut pairs = Pairs::default();
    change(&args.change, ["add", "added"], |filter, record| {
        if let Some(part) = args.part {
            let slug = filter.facts().slug;
            let inserted = everbloom::known::insert_into(filter, part, record.key);
            let inserted = inserted
                .ok_or_else(|| cannot(slug, "take keys by part; cross-checking filters can"))?;
            return inserted.map(|_| Done::All);
        }
        if let Some(hierarchy) = Hierarchy::named(&filter.head().reading.ancestors) {
            return add_node(filter, hierarchy, record);
        }
        pairs.put(filter, record)?;
        Ok(Done::All)
    })
}

/// Adds a key and those of its ancestors that are not inside, from the root down: every node counts once, as
/// in a build.
fn add_node(
    filter: &mut dyn Filter,
    hierarchy: Hierarchy,
    record: Record<'_>,
) -> everbloom::Result<Done> {
    let mut nodes: Vec<&[u8]> = hierarchy.ancestors(record.key).collect();
    nodes.reverse();
    nodes.push(record.key);
    for key in nodes {
        let there = filter.contains(key) && key != record.key;
        let slug = filter.facts().slug;
        let insert = filter.as_insert();
        let insert = insert.ok_or_else(|| cannot(slug, "take more keys: build it again"))?;
        if !there {
            insert.insert(Record::key(key).with(record.value))?;
        }
    }
    Ok(Done::All)
}

pub fn remove(args: &Change) -> Result<Outcome> {
    change(args, ["remove", "removed"], |filter, record| {
        if !filter.head().reading.ancestors.is_empty() {
            return Err(Error::new(
                Kind::Unsupported,
                "the filter contains ancestors of its keys, which keys may share: build it again \
                 without the keys to be removed",
            ));
        }
        let slug = filter.facts().slug;
        let remove = filter.as_remove();
        let remove = remove
            .ok_or_else(|| cannot(slug, "remove keys; see `everbloom plan --need delete`"))?;
        remove.remove(record)?;
        let stuck = |count: &dyn Count| count.count(record.key).bound == Bound::Saturated;
        Ok(if filter.as_count().is_some_and(stuck) { Done::Stays } else { Done::All })
    })
}

/// Refused keys that a report lists; all of them are named on stderr.
const LISTED: usize = 1000;

/// What came of the keys.
#[derive(Default)]
struct Tally {
    accepted: u64,
    /// Of those, removed in vain.
    stuck: u64,
    refused: u64,
    /// The first of those refused, and why.
    refusals: Vec<Json>,
}

/// Applies `step` to every key. Accepted keys are saved; refused ones are named, and make exit code 1.
fn change(
    args: &Change,
    [verb, done]: [&str; 2],
    mut step: impl FnMut(&mut dyn Filter, Record<'_>) -> everbloom::Result<Done>,
) -> Result<Outcome> {
    let mut filter = updated(&args.filter, &args.keyed.secret, &args.replacing)?;
    input::file_of_keys(&args.keys, verb, &args.filter)?;
    let grammar = reading::grammar(&*filter, &args.keyed.text)?;
    let mut lines = input::lines(&args.keys, grammar, Passes::Once)?;
    let mut tally = Tally::default();
    lines.each(|lines, records| {
        for (line, record) in lines.iter().zip(records) {
            match step(&mut *filter, *record) {
                Ok(done) => {
                    tally.accepted += 1;
                    tally.stuck += u64::from(matches!(done, Done::Stays));
                }
                // What no key can do is one error, not one per key.
                Err(e) if e.kind() == Kind::Unsupported => return Err(e),
                Err(e) => {
                    if e.kind() == Kind::CapacityExceeded && tally.refused == 0 {
                        say_room(args, &*filter);
                    }
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

/// Says how to make room, where a filter can.
fn say_room(args: &Change, filter: &dyn Filter) {
    if filter.facts().operation("double").is_some() {
        say!("everbloom: `everbloom reshape {} double` makes room", args.filter.display());
    }
}

fn report(args: &Change, done: &str, filter: &dyn Filter, tally: Tally) -> Result<Outcome> {
    let Tally { accepted, stuck, refused, refusals } = tally;
    let (items, now) = (filter.head().items, rate::passing(filter));
    if args.machine.json {
        let mut out = json!({ done: accepted, "refused": refused, "refusals": refusals });
        if done == "removed" {
            out["stuck"] = stuck.into();
        }
        out["items"] = items.into();
        out["fpr_now"] = json!(now);
        print_json(&out)?;
    }
    if stuck > 0 {
        tell!(
            "everbloom: {} of the removed keys remain members: their counters are stuck at the maximum; build \
             again with wider counters (see `everbloom catalog {}`)",
            integer_text(stuck),
            filter.facts().slug,
        );
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
    rate::passing(filter)
        .map_or(String::new(), |p| format!(", false positives now {}", rate_text(p)))
}

/// The filter, to be replaced.
pub fn updated(path: &Path, secret: &Secret, replacing: &Replacing) -> Result<Update> {
    let update = input::opener(&secret.key_file)?.update(path, replacing.meant())?;
    changeable(path, replacing)?;
    Ok(update)
}

fn edited(args: &Edit) -> Result<Update> {
    updated(&args.filter, &args.secret, &args.replacing)
}

pub fn age(args: &Age) -> Result<Outcome> {
    let mut filter = edited(&args.edit)?;
    let slug = filter.facts().slug;
    // To a packet, time is the way from router to router.
    if everbloom::known::forward(&mut *filter, args.ticks).is_none() {
        let age = filter.as_age();
        age.ok_or_else(|| cannot(slug, "age; see `everbloom plan --need decay`"))?.age(args.ticks);
    }
    filter.save()?;
    if args.edit.machine.json {
        print_json(&json!({
            "ticks": args.ticks, "items": filter.head().items, "fpr_now": rate::passing(&*filter),
        }))?;
    }
    let path = args.edit.filter.display();
    say!("{path}: advanced by {} ticks{}", integer_text(args.ticks), rate_now(&*filter));
    Ok(Outcome::Some)
}

pub fn scrub(args: &Edit) -> Result<Outcome> {
    let mut filter = edited(args)?;
    let slug = filter.facts().slug;
    let repaired = everbloom::hardware::scrub(&mut *filter)
        .ok_or_else(|| cannot(slug, "detect flipped bits; see `everbloom plan --need faults`"))?;
    if repaired > 0 {
        filter.save()?;
    }
    if args.machine.json {
        print_json(&json!({ "repaired": repaired, "fpr_now": rate::passing(&*filter) }))?;
    }
    let words = if repaired == 1 { "word" } else { "words" };
    say!(
        "{}: {} {words} repaired{}",
        args.filter.display(),
        integer_text(repaired),
        rate_now(&*filter)
    );
    Ok(Outcome::Some)
}
