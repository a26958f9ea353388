//! What `check` prints of queries, be the filter ours or foreign.

use std::io::{self, Write};
use std::path::Path;

use everbloom::internals::filter::{Answer, Detail};
use serde_json::Value;

use super::json;
use crate::args::Check;
use crate::output::print;
use crate::{Outcome, Result, input};

/// A file of queries, and the name that its lines are printed behind.
pub struct Queries<'a> {
    pub path: &'a Path,
    /// With a colon; empty where no names are printed.
    pub name: String,
    /// Whether it is the first one: its first row names the columns of all.
    pub first: bool,
}

/// Answers the queries of every file, as grep does: `ask` prints them behind the name and says how many there are.
pub fn of_each(args: &Check, mut ask: impl FnMut(&Queries<'_>) -> Result<u64>) -> Result<Outcome> {
    input::once_stdin(&args.queries)?;
    let named = args.with_filename || args.queries.len() > 1 && !args.no_filename;
    let mut all = 0;
    for (number, path) in args.queries.iter().enumerate() {
        let name = match path.to_string_lossy() {
            _ if !named => String::new(),
            stdin if stdin == "-" => "(standard input):".to_owned(),
            name => format!("{name}:"),
        };
        let queries = Queries { path, name, first: number == 0 };
        let found = ask(&queries)?;
        if args.count {
            print(&format!("{}{found}\n", queries.name))?;
        }
        all += found;
    }
    Ok(if all > 0 { Outcome::Some } else { Outcome::None })
}

/// An answer as a record, with the file of its query where that is named.
pub fn record(line: &[u8], name: &str, answer: &Answer) -> Value {
    let mut record = json::answer(line, answer);
    if let Some(name) = name.strip_suffix(':') {
        record["file"] = name.into();
    }
    record
}

/// A line that the filter may have, or what it answers about its key.
pub fn show(
    out: &mut impl Write,
    args: &Check,
    (name, end): (&str, u8),
    (line, key): (&[u8], &[u8]),
    answer: &Answer,
) -> io::Result<()> {
    out.write_all(name.as_bytes())?;
    if !args.answers {
        out.write_all(line)?;
        return out.write_all(&[end]);
    }
    write!(out, "{}\t", json::verdict(answer.verdict))?;
    // A query's own value would be mistaken for the detail, so only the key is repeated.
    out.write_all(key)?;
    out.write_all(b"\t")?;
    detail(out, &answer.detail, b',')?;
    out.write_all(&[end])
}

/// What a filter knows beyond a verdict; `between` stands between several things.
pub fn detail(out: &mut impl Write, detail: &Detail, between: u8) -> io::Result<()> {
    match detail {
        Detail::Count(count) => write!(out, "{count}"),
        Detail::Value(value) => out.write_all(value),
        Detail::Labels(list) | Detail::List(list) => out.write_all(&list.join(&between)),
        Detail::Score(score) => write!(out, "{score}"),
        _ => Ok(()),
    }
}

/// The same as bytes.
pub fn detail_bytes(what: &Detail, between: u8) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = detail(&mut text, what, between);
    text
}
