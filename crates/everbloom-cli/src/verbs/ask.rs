//! `everbloom count`, `list`, `get`: what a filter knows of keys beyond membership.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use everbloom::catalog::{Takes, VARIANTS};
use everbloom::internals::filter::{
    Ability, Answer, Bound, Counted, Detail, Filter, Record, ValueKind, Verdict,
};
use everbloom::internals::variant::Source;
use everbloom::{Error, Value as RecordValue, Variant};
use everbloom_records::KeyType;
use everbloom_report::json::bytes;
use serde_json::{Value, json};

use super::{opened, reshape};
use crate::args::{Ask, Get, List};
use crate::input::{self, Passes};
use crate::output::{Output, print_bytes, print_json};
use crate::report::answers::{detail, detail_bytes};
use crate::report::json;
use crate::report::unable::cannot;
use crate::talk::say;
use crate::{Outcome, Result, Stop, reading};

/// What is printed behind a key.
enum Said {
    Nothing,
    Known(Detail),
    /// The filter cannot tell.
    Undecided,
}

impl Said {
    fn of(detail: Detail) -> Self {
        match detail {
            Detail::None => Said::Nothing,
            Detail::Labels(list) | Detail::List(list) if list.is_empty() => Said::Nothing,
            detail => Said::Known(detail),
        }
    }
}

pub fn count(args: &Ask) -> Result<Outcome> {
    let filter = opened(&args.filter, &args.keyed.secret.key_file)?;
    if filter.as_count().is_none() {
        return Err(unable(&*filter, "count keys; see `everbloom plan --need count`").into());
    }
    // Every key gets its estimate, also 0, as the file of queries has it.
    let count = |record: Record<'_>| {
        let count = filter.as_count().map(|count| count.count(record.key));
        Ok(count.map_or(Said::Nothing, |count| Said::Known(Detail::Count(count))))
    };
    each_key(args, &*filter, Asked::Count, count)
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

/// Needs whose filters tell more of a key than whether it is a member.
const TELLING: [&str; 5] = ["values", "groups", "places", "similar", "pieces"];

pub fn get(args: &Get) -> Result<Outcome> {
    let filter = opened(&args.ask.filter, &args.ask.keyed.secret.key_file)?;
    if let Some(name) = &args.what {
        return tell(args, &*filter, name);
    }
    let facts = filter.facts();
    let telling = facts.needs.iter().any(|need| TELLING.contains(need));
    if !telling && facts.input.value != ValueKind::Label {
        return Err(unable(&*filter, "store values; see `everbloom plan --need values`").into());
    }
    each_key(&args.ask, &*filter, Asked::Get, |record| {
        // A value behind the key would be a question of its own.
        let answer = filter.query(record.with(None::<RecordValue<'_>>))?;
        Ok(match answer.verdict {
            Verdict::Undecided => Said::Undecided,
            Verdict::Absent => Said::Nothing,
            Verdict::Present => Said::of(answer.detail),
        })
    })
}

/// What an operation tells, of each key or of the filter.
fn tell(args: &Get, filter: &dyn Filter, name: &str) -> Result<Outcome> {
    let operation = reshape::named(filter, name, |operation| !operation.changes())?;
    let others = input::filters(&args.others, &args.ask.keyed.secret.key_file)?;
    let others: Vec<&dyn Filter> = others.iter().map(|other| &**other).collect();
    if !others.is_empty() && !operation.takes.contains(&Takes::Filters) {
        return Err(Stop::Error(format!("--with: {name} asks one filter; omit it")));
    }
    let given = operation.given(&args.settings, &others)?;
    if operation.takes.contains(&Takes::Keys) {
        let told = |record: Record<'_>| Ok(Said::of(operation.tell(filter, &given.with(record))?));
        return each_key(&args.ask, filter, Asked::Get, told);
    }
    let detail = operation.tell(filter, &given)?;
    let lines = detail_bytes(&detail, b'\n');
    if args.ask.machine.json {
        print_json(&object(Asked::Get, None, &Said::Known(detail)))?;
    } else if !lines.is_empty() {
        print_bytes(&[&lines[..], b"\n"].concat())?;
    }
    Ok(if lines.is_empty() { Outcome::None } else { Outcome::Some })
}

fn cannot_list(filter: &dyn Filter) -> Error {
    let lists = |variant: &&&Variant| {
        variant.forms.iter().any(|form| form.abilities.contains(&Ability::List))
    };
    let slugs: Vec<&str> = VARIANTS.iter().filter(lists).map(|variant| variant.slug).collect();
    unable(filter, &format!("list keys; {} can", slugs.join(", ")))
}

fn unable(filter: &dyn Filter, what: &str) -> Error {
    cannot(filter.facts().slug, what)
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

/// Which verb asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Count,
    Get,
}

/// Asks about each key of the file of queries, and prints what is said.
fn each_key(
    args: &Ask,
    filter: &dyn Filter,
    asked: Asked,
    ask: impl Fn(Record<'_>) -> everbloom::Result<Said>,
) -> Result<Outcome> {
    let verb = if asked == Asked::Count { "count" } else { "get" };
    input::file_of_keys(&args.keys, verb, &args.filter)?;
    let grammar = reading::grammar(filter, &args.keyed.text)?;
    let together = asked == Asked::Count && decodes(filter);
    let passes = if together { Passes::Several } else { Passes::Once };
    let mut lines = input::lines(&args.keys, grammar, passes)?;
    let exact = if together { counted_together(filter, &mut lines)? } else { HashMap::new() };
    let mut out = Output::new();
    let mut some = false;
    let done = lines.each(|lines, records| {
        for (line, record) in lines.iter().zip(records) {
            let said = match exact.get(record.key) {
                Some(count) => Said::Known(Detail::Count(Counted::exactly(*count))),
                None => ask(*record)?,
            };
            if matches!(said, Said::Nothing) {
                continue;
            }
            let key = if grammar.key == KeyType::U64 { line } else { record.key };
            some |= !is_zero(asked, &said);
            if args.machine.json {
                out.json(&object(asked, Some(key), &said))?;
            } else {
                out.write(|out| row(out, key, &said, grammar.end))?;
            }
        }
        Ok(())
    });
    out.end(done, None)?;
    Ok(if some { Outcome::Some } else { Outcome::None })
}

/// Whether a key was never counted.
fn is_zero(asked: Asked, said: &Said) -> bool {
    let Said::Known(Detail::Count(count)) = said else { return false };
    asked == Asked::Count && count.to_string() == "0"
}

fn row(out: &mut impl Write, key: &[u8], said: &Said, end: u8) -> io::Result<()> {
    out.write_all(key)?;
    out.write_all(b"\t")?;
    match said {
        Said::Known(what) => detail(out, what, b',')?,
        // A value may be any word, so that this one has a column of its own.
        Said::Undecided => out.write_all(b"\tundecided")?,
        Said::Nothing => {}
    }
    out.write_all(&[end])
}

fn object(asked: Asked, key: Option<&[u8]>, said: &Said) -> Value {
    let (key, none) = (key.map(bytes), Detail::None);
    let detail = if let Said::Known(detail) = said { detail } else { &none };
    if let (Asked::Count, Detail::Count(count)) = (asked, detail) {
        return json!({ "key": key, "count": json::number(count), "bound": json::bound(count) });
    }
    let value = matches!(said, Said::Known(_)).then(|| bytes(&detail_bytes(detail, b',')));
    let undecided = matches!(said, Said::Undecided);
    json!({ "key": key, "value": value, "detail": json::detail(detail), "undecided": undecided })
}
