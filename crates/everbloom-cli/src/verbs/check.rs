//! `everbloom check`: which queries may be members?

use std::io::{self, Write};

use everbloom::internals::file::Access;
use everbloom::internals::filter::{Answer, Bulk, Detail, Filter, Record, Verdict};
use everbloom::internals::hash::Hasher;
use everbloom::membership::ancestors::Hierarchy;
use everbloom::weighted::Paradox;
use everbloom_records::{Hashed, KeyType, Lines, Order};

use super::foreign;
use crate::args::Check;
use crate::input::{self, Passes};
use crate::output::{Output, output_error};
use crate::report::json;
use crate::{Outcome, Result, reading};

pub fn run(args: &Check) -> Result<Outcome> {
    if let Some(file) = foreign::recognized(&args.filter, &args.foreign, &args.keyed.key_file)? {
        return foreign::check(&file, args);
    }
    let access = if args.copy { Access::Copy } else { Access::Map };
    let opener = input::opener(&args.keyed.key_file)?.access(access);
    let filter = opener.open(&args.filter)?;
    let grammar = reading::grammar(&*filter, &args.keyed.text)?;
    let ancestors = reading::ancestors(&*filter, args.ancestors)?;
    let mut lines = input::lines(&args.queries, grammar, Passes::Once)?;
    let plain = !args.answers && !args.machine.json && args.prior.is_none() && ancestors.is_none();
    if let Some(bulk) = filter.as_bulk().filter(|_| plain) {
        return print_members(&filter.head().hasher, bulk, &mut lines);
    }
    let mut out = Output::new();
    let mut some = false;
    let paradox = args.prior.map(|_| Paradox::of(&*filter, args.cost)).transpose()?;
    let done = lines.each(|lines, records| {
        for (line, record) in lines.iter().zip(records) {
            let answer = ask(&*filter, args, paradox.as_ref(), ancestors, *record)?;
            let member = answer.verdict != Verdict::Absent;
            some |= member;
            if !(member || args.answers) {
                continue;
            }
            // Integers are repeated as they were typed.
            let key = if grammar.key == KeyType::U64 { line } else { record.key };
            if args.machine.json {
                out.json(&json::answer(line, &answer))?;
            } else {
                out.write(|out| show(out, args, grammar.end, (line, key), &answer))?;
            }
        }
        Ok(())
    });
    out.end(done, None)?;
    Ok(if some { Outcome::Some } else { Outcome::None })
}

/// What was found in a block of queries.
#[derive(Default)]
struct Found {
    flags: Vec<bool>,
    /// The lines that may be members, with their ends.
    lines: Vec<u8>,
}

/// The lines that may be members, found on all cores and printed in their order.
fn print_members(
    hasher: &Hasher,
    filter: &(dyn Bulk + Sync),
    queries: &mut Lines,
) -> Result<Outcome> {
    let find = |queries: &mut Hashed<'_>, found: &mut Found| {
        found.flags.resize(queries.digests().len(), false);
        filter.contains_digests(queries.digests(), &mut found.flags);
        found.lines.clear();
        queries.copy_lines(&found.flags, &mut found.lines);
    };
    let mut out = io::stdout().lock();
    let mut some = false;
    queries.each_hashed(hasher, Order::Kept, find, |found: &mut Found| {
        some |= !found.lines.is_empty();
        out.write_all(&found.lines).map_err(output_error)
    })?;
    out.flush().map_err(output_error)?;
    Ok(if some { Outcome::Some } else { Outcome::None })
}

/// Asks the filter, wearing the policies that were asked for.
fn ask(
    filter: &dyn Filter,
    args: &Check,
    paradox: Option<&Paradox>,
    ancestors: Option<Hierarchy>,
    record: Record<'_>,
) -> everbloom::Result<Answer> {
    if let (Some(paradox), Some(prior)) = (paradox, args.prior)
        && paradox.holds(prior)?
    {
        return Ok(Answer::of(false));
    }
    match ancestors {
        Some(hierarchy) => hierarchy.query(filter, record, args.levels),
        None => filter.query(record),
    }
}

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
    match &answer.detail {
        Detail::None => {}
        Detail::Count(count) => write!(out, "{count}")?,
        Detail::Value(value) => out.write_all(value)?,
        Detail::Labels(list) | Detail::List(list) => out.write_all(&list.join(&b','))?,
        Detail::Score(score) => write!(out, "{score}")?,
        _ => {}
    }
    out.write_all(&[end])
}
