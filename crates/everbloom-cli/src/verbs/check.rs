//! `everbloom check`: which queries may be members?

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::Path;

use everbloom::Kind;
use everbloom::internals::file::Access;
use everbloom::internals::filter::{Ability, Answer, Bulk, EntryKind, Filter, Record, Verdict};
use everbloom::internals::hash::Hasher;
use everbloom::membership::ancestors::Hierarchy;
use everbloom::weighted::Paradox;
use everbloom_records::{Grammar, Hashed, KeyType, Lines, Order};
use everbloom_report::json::bytes;

use super::foreign;
use super::selective::prior;
use crate::args::Check;
use crate::input::{self, Passes};
use crate::output::{Output, output_error};
use crate::report::answers::{self, Queries, of_each, show};
use crate::{Outcome, Result, Stop, reading};

pub fn run(args: &Check) -> Result<Outcome> {
    let access = if args.copy { Access::Copy } else { Access::Map };
    let opener = input::opener(&args.keyed.secret.key_file)?.access(access);
    let file = input::filter_file(&args.filter)?;
    let foreign = foreign::recognized(&file, &args.foreign, &args.keyed.secret.key_file)?;
    let filter = match foreign {
        None => opener.open(&file).map_err(|e| hint(args, e))?,
        Some(file) => match foreign::as_ours(&file, args)? {
            Some(filter) => filter,
            None => return foreign::check(&file, args),
        },
    };
    if filter.facts().kind == EntryKind::Sketch {
        let asked = [Ability::Count, Ability::List, Ability::Estimate].into_iter();
        let by = asked.filter(|ability| filter.can(*ability));
        let by: Vec<_> = by.map(|ability| format!("`everbloom {}`", ability.name())).collect();
        return Err(Stop::Error(format!(
            "{}: a {} is a sketch and has no members: use {}",
            args.filter.display(),
            filter.facts().slug,
            by.join(" or ")
        )));
    }
    if args.ignore_case && !filter.head().reading.fold_case {
        return Err(Stop::Error(
            "-i: the filter was built without -i, so case matters; build it again with -i"
                .to_owned(),
        ));
    }
    if !args.others.is_empty() {
        let others = args.others.iter().map(|path| Ok(opener.open(path)?));
        let others = others.collect::<Result<Vec<_>>>()?;
        return of_each(args, |queries| in_which(args, &*filter, &others, queries));
    }
    args.queries.iter().try_for_each(|path| input::file_of_keys(path, "check", &args.filter))?;
    let ancestors = reading::ancestors(&*filter, args.ancestors)?;
    let likely = args.priors || args.prior.is_some();
    let paradox = likely.then(|| Paradox::of(&*filter, args.cost)).transpose()?;
    let policy = Policy { args, paradox, ancestors, table: table(args, &*filter)? };
    of_each(args, |queries| ask(&policy, &*filter, queries))
}

/// Prints the queries of a file behind its name; how many.
fn ask(
    policy: &Policy<'_>,
    filter: &dyn Filter,
    Queries { path, name, first }: &Queries<'_>,
) -> Result<u64> {
    let args = policy.args;
    let grammar = grammar(args, filter)?;
    let mut lines = input::lines(path, grammar, Passes::Once)?;
    let plain = !args.answers && !args.machine.json && policy.is_plain();
    let whole = name.is_empty() || args.count;
    if let Some(bulk) = filter.as_bulk().filter(|_| plain && whole) {
        return print_members(args, &filter.head().hasher, bulk, &mut lines, *first);
    }
    let mut out = Output::new();
    if !(args.machine.json || args.count || args.answers) && *first {
        let header = input::header(&mut lines)?;
        out.write(|out| out.write_all(&header))?;
    }
    let mut found = 0u64;
    let done = lines.each(|lines, records| {
        for (line, record) in lines.iter().zip(records) {
            let answer = policy.ask(filter, *record)?;
            let wanted = (answer.verdict != Verdict::Absent) != args.invert_match;
            found += u64::from(wanted);
            if args.count || !(wanted || args.answers) {
                continue;
            }
            // Integers are repeated as they were typed.
            let key = if grammar.key == KeyType::U64 { line } else { record.key };
            if args.machine.json {
                out.json(&answers::record(line, name, &answer))?;
            } else {
                out.write(|out| show(out, args, (name, grammar.end), (line, key), &answer))?;
            }
        }
        Ok(())
    });
    out.end(done, None)?;
    Ok(found)
}

/// Somebody who types `check words.evb apple` means the key, not a file.
fn hint(args: &Check, e: everbloom::Error) -> Stop {
    let Some(typed) = args.queries.first() else { return e.into() };
    let exists = typed.exists();
    let typed = typed.display();
    if e.kind() == Kind::NotOurs && args.filter.exists() && !exists {
        return Stop::Error(format!("{e}; give the filter first: everbloom check FILTER {typed}"));
    }
    e.into()
}

/// Which of several filters each query may be in.
fn in_which(
    args: &Check,
    first: &dyn Filter,
    others: &[Box<dyn Filter>],
    queries: &Queries<'_>,
) -> Result<u64> {
    let name = queries.name.as_str();
    let grammar = reading::grammar(first, &args.keyed.text)?;
    let label =
        |path: &Path| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let labels: Vec<String> =
        std::iter::once(&args.filter).chain(&args.others).map(|p| label(p)).collect();
    let filters: Vec<&dyn Filter> =
        std::iter::once(first).chain(others.iter().map(|f| &**f)).collect();
    for (filter, label) in filters.iter().zip(&labels) {
        if filter.head().reading != first.head().reading {
            return Err(Stop::Error(format!(
                "{label}: its keys were read differently from those of {}: query them separately",
                labels[0]
            )));
        }
    }
    let mut lines = input::lines(queries.path, grammar, Passes::Once)?;
    let (mut out, mut found) = (Output::new(), 0u64);
    let header = input::header(&mut lines)?;
    let printed = queries.first && !args.machine.json && !args.count;
    if let Some(header) = header.trim_ascii_end().get(..).filter(|h| !h.is_empty() && printed) {
        out.write(|out| out.write_all(&[header, b"\tin\n"].concat()))?;
    }
    let done = lines.each(|lines, records| {
        for (line, record) in lines.iter().zip(records) {
            let mut holding: Vec<&str> = Vec::new();
            for (filter, label) in filters.iter().zip(&labels) {
                if filter.query(*record)?.verdict != Verdict::Absent {
                    holding.push(label);
                }
            }
            found += u64::from(!holding.is_empty());
            if holding.is_empty() || args.count {
                continue;
            }
            if args.machine.json {
                let mut record = serde_json::json!({ "query": bytes(line), "in": holding });
                if let Some(name) = name.strip_suffix(':') {
                    record["file"] = name.into();
                }
                out.json(&record)?;
            } else {
                out.write(|out| {
                    out.write_all(name.as_bytes())?;
                    out.write_all(line)?;
                    write!(out, "\t{}", holding.join(","))?;
                    out.write_all(&[grammar.end])
                })?;
            }
        }
        Ok(())
    });
    out.end(done, None)?;
    Ok(found)
}

/// What was found in a block of queries.
#[derive(Default)]
struct Found {
    flags: Vec<bool>,
    count: u64,
    /// The lines that may be members, with their ends.
    lines: Vec<u8>,
}

/// The lines that may be members, found on all cores and printed in their order.
fn print_members(
    args: &Check,
    hasher: &Hasher,
    filter: &(dyn Bulk + Sync),
    queries: &mut Lines,
    first: bool,
) -> Result<u64> {
    let find = |queries: &mut Hashed<'_>, found: &mut Found| {
        found.flags.resize(queries.digests().len(), false);
        filter.contains_digests(queries.digests(), &mut found.flags);
        if args.invert_match {
            found.flags.iter_mut().for_each(|flag| *flag = !*flag);
        }
        found.count = found.flags.iter().filter(|flag| **flag).count() as u64;
        found.lines.clear();
        if !args.count {
            queries.copy_lines(&found.flags, &mut found.lines);
        }
    };
    let header = input::header(queries)?;
    let mut out = io::stdout().lock();
    if first && !args.count {
        out.write_all(&header).map_err(output_error)?;
    }
    let mut all = 0;
    queries.each_hashed(hasher, Order::Kept, find, |found: &mut Found| {
        all += found.count;
        out.write_all(&found.lines).map_err(output_error)
    })?;
    out.flush().map_err(output_error)?;
    Ok(all)
}

/// How queries are read.
fn grammar(args: &Check, filter: &dyn Filter) -> Result<Grammar> {
    let grammar = reading::grammar(filter, &args.keyed.text)?;
    if !args.priors {
        return Ok(grammar);
    }
    reading::with_priors(grammar, filter.facts())
}

/// The exact table that decides what the filter does not.
fn table(args: &Check, filter: &dyn Filter) -> Result<Option<HashSet<Vec<u8>>>> {
    let Some(path) = &args.table else { return Ok(None) };
    let grammar = reading::grammar(filter, &args.keyed.text)?;
    let mut members = HashSet::new();
    input::lines(path, grammar, Passes::Once)?.each(|_, records| {
        members.extend(records.iter().map(|record| record.key.to_vec()));
        Ok(())
    })?;
    Ok(Some(members))
}

/// What is done beside asking the filter.
struct Policy<'a> {
    args: &'a Check,
    paradox: Option<Paradox>,
    ancestors: Option<Hierarchy>,
    table: Option<HashSet<Vec<u8>>>,
}

impl Policy<'_> {
    /// Whether the filter alone is asked.
    fn is_plain(&self) -> bool {
        self.paradox.is_none() && self.ancestors.is_none() && self.table.is_none()
    }

    fn ask(&self, filter: &dyn Filter, mut record: Record<'_>) -> everbloom::Result<Answer> {
        if let Some(paradox) = &self.paradox {
            if paradox.holds(prior(&record, self.args.prior)?)? {
                return Ok(Answer::of(false));
            }
            if self.args.priors {
                record.value = None;
            }
        }
        let mut answer = match self.ancestors {
            Some(hierarchy) => hierarchy.query(filter, record, self.args.levels)?,
            None => filter.query(record)?,
        };
        if let Some(table) = self.table.as_ref().filter(|_| answer.verdict == Verdict::Undecided) {
            let member = table.contains(record.key);
            answer.verdict = if member { Verdict::Present } else { Verdict::Absent };
        }
        Ok(answer)
    }
}
