//! `everbloom secure`: exchanges that do not show their keys, between two processes. What one side writes are the
//! bytes of the library's sessions; the other side reads them as it would from a network.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use everbloom::exchange::private::{Asker, Owner, once_of, outputs};
use everbloom::exchange::search::{Keeper, Searcher, Shelf, read_shelf};
use everbloom::exchange::{Limits, Party, Session};
use everbloom::secure::index::{IndexKey, Shape, Trapdoor, keys_for_rate};
use everbloom::secure::oprf::{Mode, Ristretto, ServerKey};
use everbloom::secure::{Secret, random};
use everbloom::{Error, Filter};
use everbloom_records::{Cr, Grammar};
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, rate_text};
use serde_json::{Value, json};

use crate::args::{
    Ends, IndexBuild, IndexSearch, IndexTrapdoor, IndexVerb, Message, QueryAnswer, QueryAsk,
    QueryFinish, QuerySetup, QueryVerb, SecureVerb,
};
use crate::input::{self, Passes};
use crate::output::{Output, integer_text, print_json};
use crate::talk::say;
use crate::target::{MESSAGE, Target};
use crate::{Outcome, Result, Stop};

/// Both sides come from elsewhere to the other.
const LIMITS: Limits = Limits::NETWORK;
/// What the server's key is for: a key file may serve other purposes, too.
const PURPOSE: &[u8] = b"everbloom secure query";

pub fn run(verb: &SecureVerb) -> Result<Outcome> {
    match verb {
        SecureVerb::Index(IndexVerb::Build(args)) => index_build(args),
        SecureVerb::Index(IndexVerb::Trapdoor(args)) => index_trapdoor(args),
        SecureVerb::Index(IndexVerb::Search(args)) => index_search(args),
        SecureVerb::Query(QueryVerb::Setup(args)) => query_setup(args),
        SecureVerb::Query(QueryVerb::Ask(args)) => query_ask(args),
        SecureVerb::Query(QueryVerb::Answer(args)) => query_answer(args),
        SecureVerb::Query(QueryVerb::Finish(args)) => query_finish(args),
    }
}

fn index_build(args: &IndexBuild) -> Result<Outcome> {
    let target = message(&args.message, &args.documents)?;
    let documents = args.documents.iter().map(|path| Ok((path, words(&read(path)?))));
    let documents: Vec<_> = documents.collect::<Result<_>>()?;
    let most = documents.iter().map(|(_, words)| words.len() as u64).max().unwrap_or(0);
    let planned = args.words.unwrap_or_else(|| most.max(1).next_power_of_two());
    let shape = Shape::for_rate(planned, args.fpr)?;
    let key = IndexKey::new(&secret(&args.message.key_file)?, shape.r());
    let mut shelf = Shelf::new(shape);
    for (path, words) in &documents {
        let name = path.as_os_str().as_encoded_bytes();
        let index = key.build(shape, name, words.iter().map(String::as_bytes));
        shelf.push(index.map_err(|e| e.context(path.display()))?);
    }
    let sent = Party::new(Searcher::new().filing(shelf), LIMITS).receive(&[])?.send;
    let report = json!({
        "documents": documents.len(), "words": shape.words(), "bits": shape.m(), "keys": shape.r(),
        "fpr": shape.fpr(),
    });
    send(&target, &args.message, &sent, report)?;
    say!(
        "{} documents of up to {} words, each in {}; another word matches at {}",
        integer_text(documents.len() as u64),
        integer_text(shape.words()),
        bytes_text(shape.m().div_ceil(8)),
        rate_text(shape.fpr()),
    );
    Ok(Outcome::Some)
}

fn index_trapdoor(args: &IndexTrapdoor) -> Result<Outcome> {
    let target = message(&args.message, [&args.words])?;
    let key = IndexKey::new(&secret(&args.message.key_file)?, keys_for_rate(args.fpr)?);
    let (queries, mut searcher) = (lines(&args.words, Cr::Cut)?, Searcher::new());
    for (number, query) in (1..).zip(&queries) {
        // A query is cut as documents are: what is cut in two there would never be found in one.
        let words = words(query);
        let trapdoors = words.iter().map(|word| key.trapdoor(word.as_bytes()));
        let all = trapdoors.reduce(Trapdoor::and).ok_or_else(|| {
            let place = args.words.display();
            Stop::Error(format!(
                "{place}: line {number}: no word; words are runs of letters and digits"
            ))
        })?;
        if words.len() > 1 {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            say!("query {number} is for documents with all of: {}", words.join(", "));
        }
        searcher = searcher.asking(all);
    }
    let sent = Party::new(searcher, LIMITS).receive(&[])?.send;
    send(&target, &args.message, &sent, json!({ "queries": queries.len() }))?;
    Ok(Outcome::Some)
}

fn index_search(args: &IndexSearch) -> Result<Outcome> {
    let shelf =
        read_shelf(&read(&args.index)?, LIMITS).map_err(|e| e.context(args.index.display()))?;
    let mut keeper = Party::new(Keeper::of(shelf), LIMITS);
    let heard = keeper.receive(&read(&args.trapdoors)?).and_then(|_| keeper.closed());
    heard.map_err(|e| {
        e.context(format!("{}: was it made with the -p of the index?", args.trapdoors.display()))
    })?;
    let mut out = Output::new();
    let mut found = 0;
    let mut done = Ok(());
    for (query, name) in keeper.role.matches() {
        found += 1;
        done = match args.machine.json {
            true => out.json(&json!({ "query": query, "document": bytes(name) })),
            false => out.write(|out| {
                write!(out, "{query}\t")?;
                out.write_all(name)?;
                out.write_all(b"\n")
            }),
        };
        if done.is_err() {
            break;
        }
    }
    out.end(done, None)?;
    Ok(if found > 0 { Outcome::Some } else { Outcome::None })
}

fn query_setup(args: &QuerySetup) -> Result<Outcome> {
    let target = message(&args.message, [&args.keys])?;
    let keys = keys(&args.keys, &args.ends)?;
    let key = server_key(&args.message.key_file)?;
    // As many as there are would tell exactly how many.
    let items = args.items.unwrap_or_else(|| (keys.len() as u64).max(1).next_power_of_two());
    let filter = outputs(&key, items, args.fpr, keys.iter().map(Vec::as_slice))?;
    let fpr = filter.now().fpr;
    let sent = Party::new(Owner::new(key, 0).with_set(filter), LIMITS).receive(&[])?.send;
    send(&target, &args.message, &sent, json!({ "items": keys.len(), "fpr": fpr }))?;
    say!(
        "{} keys for private queries, in {}",
        integer_text(keys.len() as u64),
        bytes_text(sent.len() as u64)
    );
    Ok(Outcome::Some)
}

fn query_ask(args: &QueryAsk) -> Result<Outcome> {
    let target = message(&args.message, [&args.set, &args.keys])?;
    let (secret, keys) = (secret(&args.message.key_file)?, keys(&args.keys, &args.ends)?);
    let queries = keys.len();
    let mut asker = Party::new(Asker::<Ristretto>::resumed(keys, secret, random()?), LIMITS);
    let sent = asker.receive(&read(&args.set)?).map_err(|e| e.context(args.set.display()))?.send;
    if sent.is_empty() {
        return Err(Stop::Error(format!("{}: the set is truncated", args.set.display())));
    }
    send(&target, &args.message, &sent, json!({ "queries": queries }))?;
    Ok(Outcome::Some)
}

fn query_answer(args: &QueryAnswer) -> Result<Outcome> {
    let target = message(&args.message, [&args.queries])?;
    let owner = Owner::new(server_key(&args.message.key_file)?, args.most);
    let mut owner = Party::new(owner, LIMITS);
    let heard = owner.receive(&read(&args.queries)?).and_then(|step| {
        owner.closed()?;
        Ok(step.send)
    });
    let sent = heard.map_err(|e| e.context(args.queries.display()))?;
    let queries = owner.role.answered();
    send(&target, &args.message, &sent, json!({ "queries": queries }))?;
    say!("{} queries answered", integer_text(queries));
    Ok(Outcome::Some)
}

fn query_finish(args: &QueryFinish) -> Result<Outcome> {
    let (queries, keys) = (read(&args.queries)?, keys(&args.keys, &args.ends)?);
    let once = once_of(&queries).map_err(|e| e.context(args.queries.display()))?;
    let asker = Asker::<Ristretto>::resumed(keys.clone(), secret(&args.key_file)?, once);
    let mut asker = Party::new(asker, LIMITS);
    let set = asker.receive(&read(&args.set)?).map_err(|e| e.context(args.set.display()))?;
    if set.send != queries {
        return Err(Stop::Error(format!(
            "{}: these queries were made with another set, other keys or another --key-file",
            args.queries.display()
        )));
    }
    let heard = asker.receive(&read(&args.answers)?).and_then(|_| asker.closed());
    heard.map_err(|e| e.context(args.answers.display()))?;
    let found = asker.role.found().unwrap_or_default();
    let mut out = Output::new();
    let mut done = Ok(());
    for (key, present) in keys.iter().zip(found) {
        done = match args.machine.json {
            true => out.json(&json!({ "key": bytes(key), "present": present })),
            false if *present => out.write(|out| {
                out.write_all(key)?;
                out.write_all(b"\n")
            }),
            false => Ok(()),
        };
        if done.is_err() {
            break;
        }
    }
    out.end(done, None)?;
    Ok(if found.contains(&true) { Outcome::Some } else { Outcome::None })
}

fn server_key(path: &Path) -> Result<ServerKey<Ristretto>> {
    Ok(ServerKey::derive(Mode::Verified, &secret(path)?, PURPOSE)?)
}

/// The secret in a key file. What is wrong with it is said without its text.
fn secret(path: &Path) -> Result<Secret> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Error::from(e).context(format!("cannot read the key file {}", path.display()))
    })?;
    Ok(Secret::from_hex(&text).map_err(|e| e.context(path.display()))?)
}

/// The keys of a file, or of stdin, a line each.
fn keys(path: &Path, ends: &Ends) -> Result<Vec<Vec<u8>>> {
    input::offers(&["--crlf"]);
    lines(path, if ends.crlf { Cr::Cut } else { Cr::Kept })
}

/// The lines of a file, or of stdin.
fn lines(path: &Path, cr: Cr) -> Result<Vec<Vec<u8>>> {
    let mut keys = Vec::new();
    input::lines(path, Grammar { cr, ..Grammar::default() }, Passes::Once)?.each(
        |_, records| {
            keys.extend(records.iter().map(|record| record.key.to_vec()));
            Ok(())
        },
    )?;
    Ok(keys)
}

/// The different words of a document: runs of letters and digits, in lower case.
fn words(document: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(document).to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// The bytes of a file, or of stdin for `-`, no more than a session takes.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let most = LIMITS.total + 1;
    let read = if path == Path::new("-") {
        io::stdin().lock().take(most).read_to_end(&mut out)
    } else {
        File::open(path).and_then(|file| file.take(most).read_to_end(&mut out))
    };
    read.map_err(|e| Error::from(e).context(path.display()))?;
    Ok(out)
}

/// Where a message goes. The key file is an input, too.
fn message<'a>(
    message: &'a Message,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<Target> {
    let how = (&message.replacing, &message.machine);
    let inputs = inputs.into_iter().chain([&message.key_file]);
    Target::file(&message.output, MESSAGE, how, inputs)
}

/// Writes a message for the other side, and reports it.
fn send(target: &Target, message: &Message, sent: &[u8], mut report: Value) -> Result<()> {
    target.write(sent)?;
    if message.machine.json {
        report["output"] = bytes(message.output.as_os_str().as_encoded_bytes());
        report["bytes"] = sent.len().into();
        print_json(&report)?;
    }
    Ok(())
}
