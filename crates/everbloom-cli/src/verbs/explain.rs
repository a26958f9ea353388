//! `everbloom explain`: how a filter comes to its answer for one key.

use everbloom::internals::filter::{Answer, Filter, Record, Touched, Verdict};
use everbloom::internals::hash::Digest;
use everbloom_report::json::bytes;
use everbloom_report::number::{integer_text, rate_text};
use serde_json::{Value, json};

use super::opened;
use crate::args::Explain;
use crate::output::{print, print_json};
use crate::report::json;
use crate::{Outcome, Result, Stop, reading};

pub fn run(args: &Explain) -> Result<Outcome> {
    let filter = opened(&args.filter, &args.key_file)?;
    let typed = args.key.as_encoded_bytes();
    let key_type = reading::key_type(&filter.head().reading, args.key_type)?;
    let key = key_type.read(typed, <[u8]>::to_vec);
    let key = key.map_err(|fault| Stop::Error(fault.to_string()))?;
    let digest = filter.head().hasher.digest(&key);
    let answer = filter.query(Record::key(&key))?;
    let cells = filter.trace(&key);
    if args.machine.json {
        print_json(&object(&*filter, typed, &digest, &cells, &answer))?;
    } else {
        print(&text(&*filter, typed, &digest, &cells, &answer))?;
    }
    Ok(if answer.verdict == Verdict::Absent { Outcome::None } else { Outcome::Some })
}

fn object(
    filter: &dyn Filter,
    key: &[u8],
    digest: &Digest,
    cells: &[Touched],
    answer: &Answer,
) -> Value {
    let cell = |c: &Touched| json!({ "index": c.index, "value": c.value, "agrees": c.agrees });
    json!({
        "key": bytes(key),
        "hash": filter.head().hasher.id().name(),
        "digest": format!("{:016x}{:016x}", digest.h1, digest.h2),
        "cells": cells.iter().map(cell).collect::<Vec<_>>(),
        "verdict": json::verdict(answer.verdict),
        "detail": json::detail(&answer.detail),
        "fpr_now": filter.now().fpr,
    })
}

fn text(
    filter: &dyn Filter,
    key: &[u8],
    digest: &Digest,
    cells: &[Touched],
    answer: &Answer,
) -> String {
    let mut out = format!(
        "{:>9}  {}\n{:>9}  {} → {:016x} {:016x}\n",
        "key",
        String::from_utf8_lossy(key),
        "digest",
        filter.head().hasher.id(),
        digest.h1,
        digest.h2
    );
    if cells.is_empty() {
        out += &format!("{:>9}  a {} filter has none to show\n", "cells", filter.facts().slug);
    } else {
        out += &drawing(cells);
    }
    let odds = match filter.now().fpr {
        Some(p) if answer.verdict != Verdict::Absent => {
            format!(" ({} of all non-members get this far)", rate_text(p))
        }
        _ => String::new(),
    };
    out + &format!("{:>9}  {}{odds}\n", "verdict", json::verdict(answer.verdict))
}

/// A line per probe: the index, the cell, whether it speaks for the key.
fn drawing(cells: &[Touched]) -> String {
    let width = cells.iter().map(|c| integer_text(c.index).chars().count()).max().unwrap_or(1);
    let line = |(i, cell): (usize, &Touched)| {
        format!(
            "{:>9}  cell {:>width$}  [{}] {}\n",
            format!("probe {}", i + 1),
            integer_text(cell.index),
            cell.value,
            if cell.agrees { "●" } else { "○ no member set it" },
        )
    };
    cells.iter().enumerate().map(line).collect()
}
