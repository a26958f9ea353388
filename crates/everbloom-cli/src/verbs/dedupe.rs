//! `everbloom dedupe`: first sights of a stream.

use std::io::Write as _;

use everbloom::dedupe::{Dedupe as Stream, Remember};
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, integer_text};
use serde_json::json;

use crate::args::Dedupe;
use crate::input::{self, Passes};
use crate::output::Output;
use crate::talk::say;
use crate::{Outcome, Result, Stop};

/// What is remembered, with a word for programs and one for people.
fn meant(args: &Dedupe) -> Result<(Remember, &'static str, &'static str)> {
    match (args.window, args.exact_check) {
        (Some(0), _) => {
            Err(Stop::Error("--window 0: at least 1 line must be remembered".to_owned()))
        }
        (Some(lines), _) => {
            let words = "the latest lines, in fixed memory (stable)";
            Ok((Remember::Window(lines), "window", words))
        }
        (None, true) => Ok((Remember::Exact, "exact", "all lines, checked by their digests")),
        (None, false) => Ok((Remember::All, "all", "all lines, in a growing filter (scalable)")),
    }
}

pub fn run(args: &Dedupe) -> Result<Outcome> {
    let (remember, word, words) = meant(args)?;
    let mut stream = Stream::new(remember, args.fpr)?;
    let grammar = input::grammar(&args.text);
    let mut input = input::lines("-".as_ref(), grammar, Passes::Once)?;
    let mut out = Output::new();
    let done = input.each(|batch, records| {
        for (line, record) in batch.iter().zip(records) {
            if !stream.first_sight(record.key)? {
                continue;
            } else if args.machine.json {
                out.json(&json!({ "line": bytes(line) }))?;
            } else {
                out.write(|out| out.write_all(line).and_then(|()| out.write_all(&[grammar.end])))?;
            }
        }
        // Whoever reads a live stream gets its lines as they come.
        out.write(|out| out.flush())
    });
    let wrong = stream.wrongly_dropped();
    let summary = args.machine.json.then(|| {
        json!({
            "lines": stream.keys(),
            "duplicates": stream.duplicates(),
            "wrongly_dropped": wrong,
            "remembers": word,
            "bytes": stream.bytes(),
        })
    });
    out.end(done, summary)?;
    say!(
        "{} lines, {} duplicates dropped, about {wrong:.1} of them wrongly; remembers {words}; {}",
        integer_text(stream.keys()),
        integer_text(stream.duplicates()),
        bytes_text(stream.bytes()),
    );
    Ok(if stream.keys() > 0 { Outcome::Some } else { Outcome::None })
}
