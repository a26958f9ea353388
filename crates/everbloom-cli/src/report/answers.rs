//! What `check` prints of queries, be the filter ours or foreign.

use std::io::{self, Write};

use everbloom::internals::filter::{Answer, Detail};

use super::json;
use crate::args::Check;
use crate::output::print;
use crate::{Outcome, Result};

/// The number of lines, where that is all that was asked for, and whether there were any.
pub fn finish(args: &Check, found: u64) -> Result<Outcome> {
    if args.count {
        print(&format!("{found}\n"))?;
    }
    Ok(if found > 0 { Outcome::Some } else { Outcome::None })
}

/// A line that the filter may have, or what it answers about its key.
pub fn show(
    out: &mut impl Write,
    args: &Check,
    end: u8,
    (line, key): (&[u8], &[u8]),
    answer: &Answer,
) -> io::Result<()> {
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
