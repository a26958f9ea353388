//! `everbloom check`: which queries may be members?

use std::io::{self, Write};

use everbloom::codec::{Access, Opener};
use everbloom::filter::{Answer, Bulk, Detail, Filter, Record, Verdict};
use everbloom::hash::{Digest, Hasher};
use everbloom::membership::Paradox;

use crate::args::{Check, KeyType};
use crate::output::{Output, output_error};
use crate::records::{Grammar, Lines, Order, Passes, Pool, each_key, secret_key};
use crate::report::json;
use crate::{Outcome, Result, Stop};

pub fn run(args: &Check) -> Result<Outcome> {
    let opener = Opener::new().key(secret_key(&args.keyed.key_file)?).access(Access::Map);
    let filter = opener.open(&args.filter)?;
    let grammar = Grammar::of(filter.variant(), &args.keyed.text);
    let mut lines = Lines::new(&args.queries, grammar, Passes::Once)?;
    let plain =
        !args.answers && !args.machine.json && args.prior.is_none() && args.ancestors.is_none();
    if let Some(bulk) = filter.as_bulk().filter(|_| plain) {
        return print_members(&filter.head().hasher, bulk, grammar, &mut lines);
    }
    let mut out = Output::new();
    let mut some = false;
    let paradox = args.prior.map(|_| Paradox::of(&*filter, args.cost)).transpose()?;
    let done = lines.each(&mut |lines, records| {
        for (line, record) in lines.iter().zip(records) {
            let answer = ask(&*filter, args, paradox.as_ref(), *record)?;
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

/// What a block of queries needs while it is worked on.
#[derive(Default)]
struct Scratch {
    digests: Vec<Digest>,
    /// Where the lines end, behind what ends them.
    ends: Vec<usize>,
    found: Vec<bool>,
}

/// The lines that may be members, found on all cores and printed in their order.
fn print_members(
    hasher: &Hasher,
    filter: &(dyn Bulk + Sync),
    grammar: Grammar,
    lines: &mut Lines,
) -> Result<Outcome> {
    let (scratch, outputs) = (Pool::<Scratch>::default(), Pool::<Vec<u8>>::default());
    let find = |text: &[u8], before| {
        let Scratch { mut digests, mut ends, mut found } = scratch.take();
        digests.clear();
        ends.clear();
        let mut end = 0;
        each_key(text, grammar, before, |line, key| {
            digests.push(hasher.digest(key));
            end += line.len() + 1;
            ends.push(end);
        })?;
        found.resize(digests.len(), false);
        filter.contains_digests(&digests, &mut found);
        let mut members = outputs.take();
        members.clear();
        copy_members(text, grammar.end, &ends, &found, &mut members);
        scratch.give(Scratch { digests, ends, found });
        Ok(members)
    };
    let mut out = io::stdout().lock();
    let mut some = false;
    lines.each_block(Order::Kept, find, |members: Vec<u8>| {
        some |= !members.is_empty();
        out.write_all(&members).map_err(output_error)?;
        outputs.give(members);
        Ok::<_, Stop>(())
    })?;
    out.flush().map_err(output_error)?;
    Ok(if some { Outcome::Some } else { Outcome::None })
}

/// Copies the lines that were found with their ends. Lines that follow each other are copied at once.
fn copy_members(text: &[u8], end: u8, ends: &[usize], found: &[bool], out: &mut Vec<u8>) {
    let mut copy = |from: usize, to: usize| {
        out.extend_from_slice(&text[from..to.min(text.len())]);
        // The last line of an input may lack its end.
        if to > text.len() {
            out.push(end);
        }
    };
    let (mut run, mut start) = (None, 0);
    for (&end, &found) in ends.iter().zip(found) {
        match (found, run) {
            (true, None) => run = Some(start),
            (false, Some(from)) => {
                copy(from, start);
                run = None;
            }
            _ => {}
        }
        start = end;
    }
    if let Some(from) = run {
        copy(from, start);
    }
}

/// Asks the filter, wearing the policies that were asked for.
fn ask(
    filter: &dyn Filter,
    args: &Check,
    paradox: Option<&Paradox>,
    record: Record<'_>,
) -> everbloom::error::Result<Answer> {
    if let (Some(paradox), Some(prior)) = (paradox, args.prior)
        && paradox.holds(prior)?
    {
        return Ok(Answer::of(false));
    }
    match args.ancestors {
        Some(hierarchy) => hierarchy.query(filter, record, args.levels),
        None => filter.query(record),
    }
}

fn show(
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
        Detail::Labels(labels) => out.write_all(&labels.join(&b','))?,
        Detail::Score(score) => write!(out, "{score}")?,
    }
    out.write_all(&[end])
}
