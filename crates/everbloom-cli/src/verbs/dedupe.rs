//! `everbloom dedupe`: first sights of a stream.

use std::io::{self, Write as _};
use std::path::PathBuf;

use everbloom::choose;
use everbloom::decaying::Windowed;
use everbloom::dedupe::{Dedupe as Stream, Remember, Sights};
use everbloom::{Filter as _, Goal, Seen};
use everbloom_records::{Hashed, Kept, Lines, Order};
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, rate_text};
use serde_json::json;

use crate::args::Dedupe;
use crate::input::{self, Passes};
use crate::output::{Output, integer_text, output_error, print, print_bytes};
use crate::talk::say;
use crate::{Outcome, Result, Stop};

/// The share of new lines that are wrongly dropped, where no other is given.
const RATE: f64 = 0.001;

/// What is remembered, with a word for programs and one for people.
fn meant(args: &Dedupe) -> Result<(Remember, &'static str, &'static str)> {
    match (args.window, args.memory, args.fpr) {
        (Some(0), _, _) => Err(Stop::Error("--window 0: give at least 1 line".to_owned())),
        (Some(lines), _, _) => {
            Ok((Remember::Window(lines), "window", "the latest lines, in fixed memory"))
        }
        (None, Some(bits), _) => Ok((Remember::Within(bits), "all", "all lines, in fixed memory")),
        _ if args.exact_check => Ok((Remember::Exact, "exact", EXACT)),
        (None, None, Some(_)) => {
            Ok((Remember::All, "all", "all lines, in filters of growing size"))
        }
        (None, None, None) => Ok((Remember::ExactWithin(free_bits() / 2), "exact", EXACT)),
    }
}

const EXACT: &str = "all lines, by their digests";

/// The memory that nothing uses, where the system tells; else what small machines have.
fn free_bits() -> u64 {
    let told = std::fs::read_to_string("/proc/meminfo").ok();
    let kilobytes = told.as_deref().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    kilobytes.map_or(1 << 33, |kilobytes| kilobytes * 1024 * 8)
}

/// What a filter of this size holds, before its first line is read: nobody knows yet how many will come.
fn announce(bits: u64, fpr: f64) -> Result<()> {
    let goal = Goal { bits: Some(bits), fpr: Some(fpr), ..Goal::default() };
    let ranking = choose::rank_of(&goal, &[], Some("blocked"))?;
    let lines = ranking.candidates.first().map_or(0, |c| c.items);
    say!(
        "{} is enough for {} distinct lines, of which {} are wrongly dropped; beyond that more are",
        bytes_text(bits / 8),
        integer_text(lines),
        rate_text(fpr),
    );
    Ok(())
}

pub fn run(args: &Dedupe) -> Result<Outcome> {
    if let Some(ttl) = args.ttl {
        return within(args, ttl);
    }
    if args.text.time {
        return Err(Stop::Error("--time: give --ttl, how long a line is remembered".to_owned()));
    }
    let (remember, mut word, mut words) = meant(args)?;
    let fpr = args.fpr.unwrap_or(RATE);
    let mut stream = Stream::new(remember, fpr)?;
    if let Remember::Within(bits) = remember {
        announce(bits, fpr)?;
    }
    let grammar = input::grammar(&args.text)?;
    let stdin = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin[..] } else { &args.files };
    for (i, path) in files.iter().enumerate() {
        let mut lines = input::lines(path, grammar, Passes::Once)?;
        // The rows of several files are under the header of the first.
        if i == 0 && !args.machine.json {
            print_bytes(&input::header(&mut lines)?)?;
        }
        first_sights(args, lines, &mut stream)?;
    }
    if word == "exact" && !stream.is_exact() {
        (word, words) = ("all", "all lines, the later ones in filters alone");
    }
    let wrong = stream.wrongly_dropped();
    if args.machine.json {
        let summary = json!({
            "lines": stream.keys(),
            "duplicates": stream.duplicates(),
            "wrongly_dropped": wrong,
            "remembers": word,
            "bytes": stream.bytes(),
        });
        print(&format!("{}\n", json!({ "summary": summary })))?;
    }
    say!(
        "{} lines, {} duplicates dropped, about {wrong:.1} of them wrongly; remembers {words}; {}",
        integer_text(stream.keys()),
        integer_text(stream.duplicates()),
        bytes_text(stream.bytes()),
    );
    if stream.rate() > 1.5 * fpr {
        say!(
            "everbloom: warning: {} of new lines are now dropped: give more --memory",
            rate_text(stream.rate())
        );
    }
    Ok(if stream.keys() > 0 { Outcome::Some } else { Outcome::None })
}

/// Lines that live at the same time before the filter grows.
const LIVING: u64 = 1 << 16;

/// Prints the lines whose keys did not come within `ttl` before.
fn within(args: &Dedupe, ttl: u64) -> Result<Outcome> {
    if ttl == 0 {
        return Err(Stop::Error("--ttl 0: give at least 1".to_owned()));
    }
    let filter = Windowed::builder().items(LIVING).rate(args.fpr.unwrap_or(RATE));
    let mut filter = filter.set("ttl", ttl).build()?;
    let stdin = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin[..] } else { &args.files };
    let (mut keys, mut duplicates, mut wrong) = (0u64, 0u64, 0.0);
    let mut out = Output::new();
    for (i, path) in files.iter().enumerate() {
        let mut lines = input::lines(path, input::grammar(&args.text)?, Passes::Once)?;
        if i == 0 && !args.machine.json {
            let header = input::header(&mut lines)?;
            out.write(|out| out.write_all(&header))?;
        }
        let done = lines.each(|lines, records| {
            wrong += filter.now().fpr.unwrap_or(0.0) * records.len() as f64;
            for (line, record) in lines.iter().zip(records) {
                keys += 1;
                let time = record.time.unwrap_or(0);
                if filter.insert_for(record.key, ttl, time)? != Seen::New {
                    duplicates += 1;
                } else if args.machine.json {
                    out.json(&json!({ "line": bytes(line) }))?;
                } else {
                    let end = if args.text.rows.null { 0 } else { b'\n' };
                    out.write(|out| out.write_all(line).and_then(|()| out.write_all(&[end])))?;
                }
            }
            out.write(|out| out.flush())
        });
        if let Err(e) = done {
            return out.end(Err(e), None).map(|()| Outcome::None);
        }
    }
    let memory = filter.memory().total().div_ceil(8);
    let summary = json!({
        "lines": keys,
        "duplicates": duplicates,
        "wrongly_dropped": wrong,
        "remembers": "ttl",
        "bytes": memory,
    });
    out.end(Ok::<(), Stop>(()), args.machine.json.then_some(summary))?;
    say!(
        "{} lines, {} duplicates dropped, about {wrong:.1} of them wrongly; remembers lines for {} or slightly longer; {}",
        integer_text(keys),
        integer_text(duplicates),
        integer_text(ttl),
        bytes_text(memory),
    );
    Ok(if keys > 0 { Outcome::Some } else { Outcome::None })
}

/// A block of lines, and what is printed of them.
#[derive(Default)]
struct Block {
    lines: Kept,
    sights: Sights,
    text: Vec<u8>,
}

impl AsMut<Sights> for Block {
    fn as_mut(&mut self) -> &mut Sights {
        &mut self.sights
    }
}

impl Block {
    /// Writes the lines that are new.
    fn write(&mut self, json: bool) {
        let new: Vec<bool> = self.sights.new_ones().collect();
        self.text.clear();
        if !json {
            return self.lines.copy_lines(&new, &mut self.text);
        }
        for (line, _) in self.lines.lines().iter().zip(&new).filter(|(_, new)| **new) {
            let record = format!("{}\n", json!({ "line": bytes(line) }));
            self.text.extend_from_slice(record.as_bytes());
        }
    }
}

/// Prints the first sights of one input. Everything but printing is done on all cores.
fn first_sights(args: &Dedupe, mut lines: Lines, stream: &mut Stream) -> Result<()> {
    let mut out = io::stdout().lock();
    let (hasher, shards, json) = (stream.hasher().clone(), stream.shards(), args.machine.json);
    let sort = |hashed: &mut Hashed<'_>, block: &mut Block| {
        block.sights.sort(hashed.digests(), shards);
        hashed.keep(&mut block.lines);
    };
    lines.each_hashed_run(&hasher, Order::Kept, sort, |run: &mut [Block]| -> Result<()> {
        let exact = stream.is_exact();
        stream.first_sights_of(run, |block| block.write(json))?;
        if exact && !stream.is_exact() {
            say!(
                "after {} lines the digests take half of the free memory; from here on up to {} of new lines are \
                 wrongly dropped; --exact-check goes on without",
                integer_text(stream.keys()),
                rate_text(args.fpr.unwrap_or(RATE)),
            );
        }
        // Whoever reads a live stream gets its lines as they come.
        let text = run.iter().try_for_each(|block| out.write_all(&block.text));
        text.and_then(|()| out.flush()).map_err(output_error)
    })
}
