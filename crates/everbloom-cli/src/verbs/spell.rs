//! `everbloom spell`: words of a text that a dictionary does not have, and where words may be parted.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use everbloom::Bloom;
use everbloom::prelude::Face as _;
use everbloom_records::Grammar;
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, rate_text};
use everbloom_tools::spell::hunspell::Expansion;
use everbloom_tools::spell::hyphenate::{FileTable, Hyphenator, Patterns, Table};
use everbloom_tools::spell::{Source, Speller};
use serde_json::json;

use crate::args::Spell;
use crate::input::{self, Passes};
use crate::output::{Output, integer_text};
use crate::talk::say;
use crate::{Outcome, Result, Stop};

/// Where distributions put dictionaries.
const INSTALLED: &str = "/usr/share/hunspell";

pub fn run(args: &Spell) -> Result<Outcome> {
    match &args.hyphenate {
        Some(patterns) => hyphenate(args, patterns),
        None => spell(args),
    }
}

fn spell(args: &Spell) -> Result<Outcome> {
    let speller = speller(args)?;
    let mut out = Output::new();
    let (mut words, mut unknown) = (0, 0);
    let done = each_line(&args.files, |name, number, line| {
        let mut printed = Ok(());
        words += speller.line(line, |found| {
            unknown += 1;
            let mut print = || {
                if args.machine.json {
                    let (column, word) = (found.column, bytes(found.word));
                    let record =
                        json!({ "file": name, "line": number, "column": column, "word": word });
                    return out.json(&record);
                }
                out.write(|out| {
                    if !args.words {
                        write!(out, "{name}:{number}:{}: ", found.column)?;
                    }
                    out.write_all(found.word)?;
                    out.write_all(b"\n")
                })
            };
            if printed.is_ok() {
                printed = print();
            }
        });
        printed
    });
    let filter = speller.words();
    let (items, size, rate) = (filter.head().items, filter.m().div_ceil(8), rate_of(filter));
    let summary = args.machine.json.then(|| {
        json!({ "words": words, "unknown": unknown, "dictionary": items, "bytes": size, "fpr": rate })
    });
    out.end(done, summary)?;
    say!(
        "{} words, {} unknown; a dictionary of {} words in {}, misspellings missed {}",
        integer_text(words),
        integer_text(unknown),
        integer_text(items),
        bytes_text(size),
        rate_text(rate),
    );
    Ok(if unknown > 0 { Outcome::Some } else { Outcome::None })
}

/// P(a word that is not in the filter passes), from its fill.
fn rate_of(filter: &Bloom) -> f64 {
    filter.bits().fill().powi(filter.k() as i32)
}

fn speller(args: &Spell) -> Result<Speller> {
    let is_filter = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "evb");
    let personal = || args.personal.iter().map(|path| Ok(Source::List(text(path)?)));
    if let Some(path) = args.dictionary.iter().find(is_filter) {
        if args.dictionary.len() > 1 {
            return Err(Stop::Error(format!(
                "{}: a filter must be the only dictionary; add lists with --personal",
                path.display()
            )));
        }
        let mut words: Bloom = input::opener(&None)?.open_as(path)?;
        for source in personal().collect::<Result<Vec<_>>>()? {
            source.each(|word| {
                words.insert(word);
            });
        }
        return Ok(Speller::with(words));
    }
    let sources = args.dictionary.iter().map(|path| source(path)).chain(personal());
    Ok(Speller::new(&sources.collect::<Result<Vec<_>>>()?, args.fpr)?)
}

/// A dictionary as it is named on the command line.
fn source(path: &Path) -> Result<Source> {
    let mut path = path.to_path_buf();
    let installed = Path::new(INSTALLED).join(&path).with_extension("dic");
    if !path.exists() && installed.exists() {
        path = installed;
    }
    if path.extension().is_none_or(|ending| ending != "dic") {
        return Ok(Source::List(text(&path)?));
    }
    let (rules, words) = (input::whole(&path.with_extension("aff"))?, input::whole(&path)?);
    let expansion = Expansion::parse(&rules, &words).map_err(|e| e.context(path.display()))?;
    if expansion.compounds() {
        say!(
            "{}: allows compound words; those not in its list are reported as unknown",
            path.display()
        );
    }
    Ok(Source::Hunspell(Box::new(expansion)))
}

/// A whole file of lines, unpacked.
fn text(path: &Path) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    each_line(std::slice::from_ref(&path.to_path_buf()), |_, _, line| {
        text.extend_from_slice(line);
        text.push(b'\n');
        Ok(())
    })?;
    Ok(text)
}

/// Calls `f` with every line of the files, its file's name and its number from 1.
fn each_line(
    files: &[PathBuf],
    mut f: impl FnMut(&str, u64, &[u8]) -> everbloom::Result<()>,
) -> Result<()> {
    let stdin = [PathBuf::from("-")];
    for path in if files.is_empty() { &stdin[..] } else { files } {
        let name = if path == Path::new("-") { "stdin".into() } else { path.display().to_string() };
        let mut number = 0;
        input::lines(path, Grammar::default(), Passes::Once)?.each(|lines, _| {
            lines.iter().try_for_each(|line| {
                number += 1;
                f(&name, number, line)
            })
        })?;
    }
    Ok(())
}

fn hyphenate(args: &Spell, path: &Path) -> Result<Outcome> {
    let file = String::from_utf8(input::whole(path)?)
        .map_err(|_| Stop::Error(format!("{}: is not UTF-8", path.display())))?;
    let patterns = Patterns::parse(&file).map_err(|e| e.context(path.display()))?;
    match &args.exceptions {
        Some(path) => {
            input::say_mark(path)?;
            let (table, words) = FileTable::open(path)?;
            parted(args, &Hyphenator::new(patterns, &words, table, args.fpr)?)
        }
        None => {
            let listed = patterns.listed().to_vec();
            let listed = listed.iter().map(String::as_str);
            parted(args, &Hyphenator::in_memory(patterns, listed, args.fpr)?)
        }
    }
}

fn parted<T: Table>(args: &Spell, hyphenator: &Hyphenator<T>) -> Result<Outcome> {
    let mut out = Output::new();
    let mut lines = 0;
    let done = each_line(&args.files, |_, _, line| {
        lines += 1;
        let line = hyphenator.hyphenated(&String::from_utf8_lossy(line), args.mark)?;
        if args.machine.json {
            return out.json(&json!({ "line": line }));
        }
        out.write(|out| writeln!(out, "{line}"))
    });
    let (exceptions, looked_up) = (hyphenator.exceptions().head().items, hyphenator.looked_up());
    let summary = args
        .machine
        .json
        .then(|| json!({ "lines": lines, "exceptions": exceptions, "looked_up": looked_up }));
    out.end(done, summary)?;
    say!(
        "{} lines; {} words looked up in {} exceptions",
        integer_text(lines),
        integer_text(looked_up),
        integer_text(exceptions),
    );
    Ok(if lines > 0 { Outcome::Some } else { Outcome::None })
}
