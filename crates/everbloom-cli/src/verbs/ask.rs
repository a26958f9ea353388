//! `everbloom count`, `get`: what a filter knows of keys beyond membership.

use std::io::Write as _;

use everbloom::internals::filter::Filter;
use everbloom::{Error, Kind};
use everbloom_records::KeyType;
use everbloom_report::json::bytes;
use serde_json::json;

use super::opened;
use crate::args::Ask;
use crate::input::{self, Passes};
use crate::output::Output;
use crate::{Outcome, Result, reading};

/// What is printed behind a key; nothing for a key that has none.
type Lookup = fn(&mut dyn Filter, &[u8]) -> everbloom::Result<Option<Vec<u8>>>;

pub fn count(args: &Ask) -> Result<Outcome> {
    // Every key gets its estimate, also 0, as the file of queries has it.
    ask(args, "count", |filter, key| match filter.as_count() {
        Some(count) => Ok(Some(count.count(key).to_string().into_bytes())),
        None => Err(unable(filter, "count keys: `everbloom plan --need count`")),
    })
}

pub fn get(args: &Ask) -> Result<Outcome> {
    ask(args, "value", |filter, key| {
        let slug = filter.facts().slug;
        match filter.as_lookup() {
            Some(lookup) => Ok(lookup.get(key)),
            None => Err(Error::new(
                Kind::Unsupported,
                format!("a {slug} filter cannot hold values: `everbloom plan --need values`"),
            )),
        }
    })
}

fn unable(filter: &dyn Filter, what: &str) -> Error {
    Error::new(Kind::Unsupported, format!("a {} filter cannot {what}", filter.facts().slug))
}

fn ask(args: &Ask, name: &'static str, lookup: Lookup) -> Result<Outcome> {
    let mut filter = opened(&args.filter, &args.keyed.key_file)?;
    let grammar = reading::grammar(&*filter, &args.keyed.text)?;
    let mut lines = input::lines(&args.keys, grammar, Passes::Once)?;
    let mut out = Output::new();
    let mut some = false;
    let done = lines.each(|lines, records| {
        for (line, record) in lines.iter().zip(records) {
            let Some(value) = lookup(&mut *filter, record.key)? else { continue };
            some |= value != b"0";
            let key = if grammar.key == KeyType::U64 { line } else { record.key };
            if args.machine.json {
                let value =
                    match std::str::from_utf8(&value).ok().and_then(|v| v.parse::<u64>().ok()) {
                        Some(number) if name == "count" => json!(number),
                        _ => bytes(&value),
                    };
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
