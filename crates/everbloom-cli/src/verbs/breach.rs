//! `everbloom breach`: passwords that attackers have. No password is ever written, into a file or a message.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use everbloom::{Error, Kind};
use everbloom_records::{Cr, Grammar};
use everbloom_report::number::{bytes_text, rate_text};
use everbloom_tools::breach::{Breached, Builder, Content, Hash};
use serde_json::json;
use zeroize::Zeroizing;

use crate::args::{BreachBuild, BreachCheck, BreachVerb};
use crate::input::{self, Passes};
use crate::output::{Output, integer_text, print_json};
use crate::talk::say;
use crate::{Outcome, Result, Stop};

pub fn run(verb: &BreachVerb) -> Result<Outcome> {
    match verb {
        BreachVerb::Build(args) => build(args),
        BreachVerb::Check(args) => check(args),
    }
}

/// Lines without a CR at their end: lists are made on every system.
fn grammar() -> Grammar {
    Grammar { cr: Cr::Cut, ..Grammar::default() }
}

/// What the lines are, and what the set will hold.
fn meant(args: &BreachBuild, first: &[u8]) -> everbloom::Result<(Option<Hash>, Content)> {
    let hash = match args.lines.as_deref() {
        None => Hash::detect(first),
        Some(name) => Hash::ALL.into_iter().find(|hash| hash.name() == name),
    };
    let content = match hash {
        Some(hash) => Content::Hashes { hash, near: args.near },
        None if args.near => Content::Tags,
        None => Content::Hashes { hash: args.hash, near: false },
    };
    if hash.is_none() && args.min_count > 1 {
        let message =
            "a list of passwords has no counts: --min-count needs lines of the form HASH:COUNT";
        return Err(Error::new(Kind::BadParameter, message));
    }
    Ok((hash, content))
}

fn build(args: &BreachBuild) -> Result<Outcome> {
    let mut work: Option<(Option<Hash>, Builder)> = None;
    for path in &args.lists {
        let mut number = 0u64;
        input::lines(path, grammar(), Passes::Once)?.each(|_, records| {
            records.iter().try_for_each(|record| {
                number += 1;
                let (hash, builder) = match &mut work {
                    Some(work) => work,
                    None => {
                        let (hash, content) = meant(args, record.key)?;
                        let builder = Builder::new(&args.output, content, args.min_count)?;
                        work.insert((hash, builder))
                    }
                };
                let taken = match hash {
                    Some(_) => builder.hash(record.key),
                    None => builder.password(record.key),
                };
                taken.map_err(|e| e.context(format!("line {number}")))
            })
        })?;
    }
    let Some((_, builder)) = work else {
        return Err(Stop::Error("the lists are empty".to_owned()));
    };
    let built = builder.finish(&args.output, args.fpr)?;
    if args.machine.json {
        print_json(&json!({
            "lines": built.lines, "below_min_count": built.below, "keys": built.keys, "bytes": built.bytes,
            "look_ups": built.looks, "fpr_look_up": built.fpr,
        }))?;
    }
    say!(
        "{}: {} lines, {} below the minimum count; {} keys in {}, planned for {} lookups per password at {} each",
        args.output.display(),
        integer_text(built.lines),
        integer_text(built.below),
        integer_text(built.keys),
        bytes_text(built.bytes),
        integer_text(built.looks),
        rate_text(built.fpr),
    );
    Ok(Outcome::Some)
}

fn check(args: &BreachCheck) -> Result<Outcome> {
    let set = Breached::open(&args.set)?;
    if args.near && !set.plans_near() {
        return Err(Stop::Error(format!(
            "{}: the set was built without --near, so {} of passwords of eight characters would seem to be near a listed \
             one: build it again with --near, or omit it here",
            args.set.display(),
            rate_text(set.rate(8, true)),
        )));
    }
    let stdin = Path::new("-");
    let path = args.passwords.as_deref().unwrap_or(stdin);
    let mut out = Output::new();
    let (mut asked, mut found) = (0u64, 0u64);
    let mut ask = |number: Option<u64>, password: &[u8]| -> everbloom::Result<()> {
        asked += 1;
        let exact = set.has(password)?;
        let near = args.near && (exact || set.near(password)?);
        found += u64::from(exact || near);
        let length = String::from_utf8_lossy(password).chars().count() as u64;
        let rate = set.rate(length, args.near);
        if args.machine.json {
            let near = args.near.then_some(near);
            return out
                .json(&json!({ "line": number, "breached": exact, "near": near, "fpr": rate }));
        }
        let what = match (exact, near) {
            (true, _) => "is in the list",
            (_, true) => "is within one edit of a listed one",
            _ => "is not in the list",
        };
        out.write(|out| match number {
            Some(_) if !exact && !near => Ok(()),
            Some(number) => writeln!(out, "line {number}: {what}"),
            None => writeln!(out, "{what}"),
        })
    };
    let done: Result<()> = if path == stdin && io::stdin().is_terminal() {
        let password = rpassword::prompt_password("Password (not shown): ").map(Zeroizing::new);
        let password =
            password.map_err(|e| Stop::Error(format!("cannot read the password: {e}")))?;
        ask(None, password.as_bytes()).map_err(Into::into)
    } else {
        let mut number = 0;
        let each = input::lines(path, grammar(), Passes::Once)?.each(|_, records| {
            records.iter().try_for_each(|record| {
                number += 1;
                ask(Some(number), record.key)
            })
        });
        each.map_err(Into::into)
    };
    let summary = args.machine.json.then(|| json!({ "passwords": asked, "found": found }));
    out.end(done, summary)?;
    say!(
        "{} of {} passwords found; with eight characters, {} of other passwords would be",
        integer_text(found),
        integer_text(asked),
        rate_text(set.rate(8, args.near)),
    );
    Ok(if found > 0 { Outcome::Some } else { Outcome::None })
}
