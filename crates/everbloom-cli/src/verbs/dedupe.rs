//! `everbloom dedupe`: first sights of a stream.
//!
//! Three ways, by what is dear. The default grows with the distinct lines and remembers them all
//! (`scalable`); a window has fixed memory and forgets (`stable`); the exact check keeps every line's
//! digest, and asks it only about lines that the filter takes for seen.

use std::collections::HashSet;
use std::io::Write as _;

use everbloom::decaying::Stable;
use everbloom::filter::{Filter, Seen};
use everbloom::growing::Scalable;
use everbloom::hash::{Digest, Hasher};
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, integer_text};
use serde_json::json;

use crate::args::Dedupe;
use crate::input::{self, Passes};
use crate::output::Output;
use crate::talk::say;
use crate::{Outcome, Result, Stop};

/// Capacity of the first layer of a growing filter.
const FIRST: u64 = 1 << 16;

enum Memory {
    Growing(Scalable),
    Window(Stable),
    Exact(Scalable, HashSet<Digest>),
}

impl Memory {
    fn new(args: &Dedupe) -> everbloom::error::Result<Self> {
        Ok(match (args.window, args.exact_check) {
            (Some(lines), _) => Memory::Window(Stable::with_rate(lines, args.fpr)?),
            (None, true) => Memory::Exact(Scalable::with_rate(FIRST, args.fpr)?, HashSet::new()),
            (None, false) => Memory::Growing(Scalable::with_rate(FIRST, args.fpr)?),
        })
    }

    /// Whether the line is new, as far as this memory can tell; it is remembered.
    fn first_sight(&mut self, line: &[u8]) -> everbloom::error::Result<bool> {
        Ok(match self {
            Memory::Growing(filter) => filter.insert(line)? == Seen::New,
            Memory::Window(filter) => filter.insert(line) == Seen::New,
            Memory::Exact(filter, digests) => {
                let digest = Hasher::seeded(1).digest(line);
                let new = filter.insert(line)? == Seen::New;
                // A line the filter does not know is new for certain; the others are looked up.
                digests.insert(digest) || new
            }
        })
    }

    fn fpr(&self) -> f64 {
        match self {
            Memory::Growing(filter) => filter.now().fpr.unwrap_or(0.0),
            Memory::Window(filter) => filter.now().fpr.unwrap_or(0.0),
            Memory::Exact(..) => 0.0,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Memory::Growing(filter) => filter.memory().total() / 8,
            Memory::Window(filter) => filter.memory().total() / 8,
            Memory::Exact(filter, digests) => {
                filter.memory().total() / 8 + digests.capacity() as u64 * 17
            }
        }
    }

    /// What is remembered: a word for programs, and for people.
    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Memory::Growing(_) => ("all", "all lines, in a growing filter (scalable)"),
            Memory::Window(_) => ("window", "the latest lines, in fixed memory (stable)"),
            Memory::Exact(..) => ("exact", "all lines, checked by their digests"),
        }
    }
}

pub fn run(args: &Dedupe) -> Result<Outcome> {
    if args.window == Some(0) {
        return Err(Stop::Error("--window 0: at least 1 line must be remembered".to_owned()));
    }
    let mut memory = Memory::new(args)?;
    let grammar = input::grammar(&args.text);
    let mut input = input::lines("-".as_ref(), grammar, Passes::Once)?;
    let mut out = Output::new();
    let (mut lines, mut duplicates, mut wrong) = (0u64, 0u64, 0.0);
    let done = input.each(|batch, records| {
        let before = duplicates;
        for (line, record) in batch.iter().zip(records) {
            if !memory.first_sight(record.key)? {
                duplicates += 1;
            } else if args.machine.json {
                out.json(&json!({ "line": bytes(line) }))?;
            } else {
                out.write(|out| out.write_all(line).and_then(|()| out.write_all(&[grammar.end])))?;
            }
        }
        lines += batch.len() as u64;
        // Of the new lines, a share of the present rate was taken for seen: new = kept/(1 − f).
        let (kept, f) = ((batch.len() as u64 - (duplicates - before)) as f64, memory.fpr());
        wrong += kept * f / (1.0 - f).max(1e-9);
        // Whoever reads a live stream gets its lines as they come.
        out.write(|out| out.flush())
    });
    let (word, words) = memory.words();
    let summary = args.machine.json.then(|| {
        json!({
            "lines": lines,
            "duplicates": duplicates,
            "wrongly_dropped": wrong,
            "remembers": word,
            "bytes": memory.bytes(),
        })
    });
    out.end(done, summary)?;
    say!(
        "{} lines, {} duplicates dropped, about {wrong:.1} of them wrongly; remembers {words}; {}",
        integer_text(lines),
        integer_text(duplicates),
        bytes_text(memory.bytes()),
    );
    Ok(if lines > 0 { Outcome::Some } else { Outcome::None })
}
