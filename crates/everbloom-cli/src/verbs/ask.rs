//! `everbloom count`, `list`, `get`: what a filter knows of keys beyond membership.

use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;

use everbloom::catalog::VARIANTS;
use everbloom::internals::filter::{Ability, Answer, Bound, Detail, Filter, Verdict};
use everbloom::internals::variant::Source;
use everbloom::{Error, Kind, Variant};
use everbloom_records::KeyType;
use everbloom_report::json::bytes;
use serde_json::json;

use super::opened;
use crate::args::{Ask, List};
use crate::input::{self, Passes};
use crate::output::Output;
use crate::talk::say;
use crate::{Outcome, Result, Stop, reading};

/// What is printed behind a key; nothing for a key that has none.
type Lookup = fn(&mut dyn Filter, &[u8]) -> everbloom::Result<Option<Vec<u8>>>;

pub fn count(args: &Ask) -> Result<Outcome> {
    // Every key gets its estimate, also 0, as the file of queries has it.
    let count: Lookup = |filter, key| match filter.as_count() {
        Some(count) => Ok(Some(count.count(key).to_string().into_bytes())),
        None => Err(unable(filter, "count keys; see `everbloom plan --need count`")),
    };
    ask(args, ["count", "count"], |filter| filter.as_count().is_some(), count)
}

pub fn list(args: &List) -> Result<Outcome> {
    let filter = opened(&args.filter, &args.secret.key_file)?;
    let list = filter.as_list().ok_or_else(|| cannot_list(&*filter))?;
    // Integers are printed as they are typed.
    let integers = filter.head().reading.key_type == KeyType::U64.name()
        || filter.facts().input.key.is_integer();
    let mut rows = Vec::new();
    list.list(&mut |key, answer| {
        let integer = <[u8; 8]>::try_from(key).ok().filter(|_| integers).map(u64::from_le_bytes);
        let key = integer.map_or_else(|| key.to_vec(), |number| number.to_string().into_bytes());
        rows.push((key, answer));
    })?;
    let mut out = Output::new();
    for (key, Answer { verdict, detail }) in &rows {
        let (count, value) = match detail {
            Detail::Count(count) => (Some(count.whole()), None),
            Detail::Value(value) => (None, Some(value)),
            _ => (None, None),
        };
        // A pair that was taken out of a table it was not in.
        let deleted = *verdict == Verdict::Absent;
        if args.machine.json {
            let value = value.map(|value| bytes(value));
            out.json(
                &json!({ "key": bytes(key), "count": count, "value": value, "deleted": deleted }),
            )?;
        } else {
            out.write(|out| {
                out.write_all(key)?;
                match (count, value) {
                    (Some(count), _) => write!(out, "\t{count}")?,
                    (None, Some(value)) => {
                        out.write_all(b"\t")?;
                        out.write_all(value)?;
                    }
                    (None, None) => {}
                }
                out.write_all(if deleted { b"\tdeleted\n" } else { b"\n" })
            })?;
        }
    }
    out.end(Ok::<(), Stop>(()), None)?;
    Ok(if rows.is_empty() { Outcome::None } else { Outcome::Some })
}

pub fn get(args: &Ask) -> Result<Outcome> {
    let get: Lookup = |filter, key| match filter.as_lookup() {
        Some(lookup) => Ok(lookup.get(key)),
        None => Err(unable(filter, "store values; see `everbloom plan --need values`")),
    };
    ask(args, ["get", "value"], |filter| filter.as_lookup().is_some(), get)
}

fn cannot_list(filter: &dyn Filter) -> Error {
    let lists = |variant: &&&Variant| {
        variant.forms.iter().any(|form| form.abilities.contains(&Ability::List))
    };
    let slugs: Vec<&str> = VARIANTS.iter().filter(lists).map(|variant| variant.slug).collect();
    unable(filter, &format!("list keys; {} can", slugs.join(", ")))
}

fn unable(filter: &dyn Filter, what: &str) -> Error {
    Error::new(Kind::Unsupported, format!("a {} filter cannot {what}", filter.facts().slug))
}

/// Whether a key alone gets no more than a bound, which a list of all keys may turn into counts.
fn decodes(filter: &dyn Filter) -> bool {
    filter.as_count().is_some_and(|count| count.count(b"").bound == Bound::AtMost)
}

/// The exact counts of all keys of a list; none where it lacks some of the filter's.
fn counted_together(filter: &dyn Filter, lines: &mut dyn Source) -> Result<HashMap<Vec<u8>, u64>> {
    let mut distinct = BTreeSet::new();
    lines.batches(&mut |records| {
        distinct.extend(records.iter().map(|record| record.key.to_vec()));
        Ok(())
    })?;
    let keys: Vec<&[u8]> = distinct.iter().map(Vec::as_slice).collect();
    let counts = filter.as_count().and_then(|count| count.count_all(&keys));
    if counts.is_none() {
        say!(
            "counts are upper bounds: decoding {} takes the list of all keys, and a second layer large enough",
            filter.facts().slug
        );
    }
    Ok(distinct.into_iter().zip(counts.unwrap_or_default()).collect())
}

fn ask(
    args: &Ask,
    [verb, name]: [&'static str; 2],
    able: fn(&mut dyn Filter) -> bool,
    lookup: Lookup,
) -> Result<Outcome> {
    let mut filter = opened(&args.filter, &args.keyed.secret.key_file)?;
    if !able(&mut *filter) {
        // What no key can do is said of the filter, before a key is read.
        lookup(&mut *filter, b"")?;
    }
    input::file_of_keys(&args.keys, verb, &args.filter)?;
    let grammar = reading::grammar(&*filter, &args.keyed.text)?;
    let together = verb == "count" && decodes(&*filter);
    let passes = if together { Passes::Several } else { Passes::Once };
    let mut lines = input::lines(&args.keys, grammar, passes)?;
    let exact = if together { counted_together(&*filter, &mut lines)? } else { HashMap::new() };
    let mut out = Output::new();
    let mut some = false;
    let done = lines.each(|lines, records| {
        for (line, record) in lines.iter().zip(records) {
            let exact = exact.get(record.key).map(|count| count.to_string().into_bytes());
            let value = if exact.is_some() { exact } else { lookup(&mut *filter, record.key)? };
            let Some(value) = value else { continue };
            some |= value != b"0";
            let key = if grammar.key == KeyType::U64 { line } else { record.key };
            if args.machine.json {
                let text = std::str::from_utf8(&value).ok().filter(|_| name == "count");
                let whole = text.and_then(|text| text.parse::<u64>().ok()).map(|v| json!(v));
                let signed = text.and_then(|text| text.parse::<i64>().ok()).map(|v| json!(v));
                let value = whole.or(signed).unwrap_or_else(|| bytes(&value));
                out.json(&json!({ "key": bytes(key), name: value }))?;
            } else {
                out.write(|out| {
                    out.write_all(key)?;
                    out.write_all(b"\t")?;
                    out.write_all(&value)?;
                    out.write_all(&[grammar.end])
                })?;
            }
        }
        Ok(())
    });
    out.end(done, None)?;
    Ok(if some { Outcome::Some } else { Outcome::None })
}
