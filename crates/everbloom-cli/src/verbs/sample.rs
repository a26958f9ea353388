//! `everbloom sample`: records that a variant takes, as many as wanted.

use std::io::Write as _;

use everbloom::internals::filter::{KeyKind, Value};
use everbloom::internals::hash::mix64;
use everbloom::internals::sample::{Sample as Records, Style};

use super::catalog::find;
use crate::args::{Sample, SampleQueries};
use crate::output::Output;
use crate::{Outcome, Result, Stop};

/// Records made at a time: they stay in the L2 cache.
const CHUNK: u64 = 4096;

/// Non-members are numbered from here on, far above any number of members.
const OTHERS: u64 = 1 << 41;

pub fn run(args: &Sample) -> Result<Outcome> {
    let variant = find(&args.slug, &args.slug)?;
    if variant.forms.is_empty() {
        return Err(Stop::Error(format!(
            "{} is a {}, which takes no records",
            args.slug,
            variant.kind.name()
        )));
    }
    // A seed moves the window of numbers that records are made from.
    let shift = if args.seed == 0 { 0 } else { mix64(args.seed) >> 24 };
    let first = shift + if args.queries == Some(SampleQueries::Others) { OTHERS } else { 0 };
    let end = first + args.items;
    let mut out = Output::new();
    let mut done = Ok(());
    for start in (first..end).step_by(CHUNK as usize) {
        let records = Records::new(&variant.input, Style::Short, start..end.min(start + CHUNK));
        for record in records.records() {
            done = out.write(|out| {
                match (variant.input.key, <[u8; 8]>::try_from(record.key)) {
                    (KeyKind::Integer, Ok(bytes)) => write!(out, "{}", u64::from_le_bytes(bytes))?,
                    _ => out.write_all(record.key)?,
                }
                match record.value.filter(|_| args.queries.is_none()) {
                    Some(Value::Label(value) | Value::Bytes(value)) => {
                        out.write_all(b"\t")?;
                        out.write_all(value)?;
                    }
                    Some(Value::Weight(weight)) => write!(out, "\t{weight}")?,
                    Some(Value::Count(count)) => write!(out, "\t{count}")?,
                    _ => {}
                }
                out.write_all(b"\n")
            });
            if done.is_err() {
                break;
            }
        }
    }
    out.end(done, None)?;
    Ok(Outcome::Some)
}
