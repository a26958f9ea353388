//! `everbloom explain`: how a filter comes to its answer for one key.

use everbloom::internals::filter::{
    Answer, Detail, FalseNegatives, Filter, Record, Touched, Verdict,
};
use everbloom::internals::hash::Digest;
use everbloom_records::KeyType;
use everbloom_report::json::bytes;
use everbloom_report::number::rate_text;
use everbloom_report::terminal::wrapped;
use everbloom_report::{Drawing, Panel, Stroke, svg};
use serde_json::{Value, json};

use super::opened;
use crate::args::Explain;
use crate::output::{integer_text, print, print_json};
use crate::report::{json, rate};
use crate::target::Target;
use crate::{Outcome, Result, Stop, reading};

pub fn run(args: &Explain) -> Result<Outcome> {
    let inputs = [Some(&args.filter), args.secret.key_file.as_ref()];
    let how = (&args.replacing, &args.machine);
    let target = Target::picture(args.svg.as_deref(), how, inputs.into_iter().flatten())?;
    let filter = opened(&args.filter, &args.secret.key_file)?;
    let typed = args.key.as_encoded_bytes();
    let key_type = match filter.facts().input.key.is_integer() {
        true => KeyType::U64,
        false => reading::key_type(&filter.head().reading, args.key_type)?,
    };
    let key = key_type.read(typed, <[u8]>::to_vec);
    let key = key.map_err(|fault| Stop::Error(fault.to_string()))?;
    let digest = filter.head().hasher.digest(&key);
    let answer = filter.query(Record::key(&key))?;
    let cells = filter.trace(&key);
    if let Some(target) = &target {
        let why = reason(&*filter, &cells, &answer);
        target.draw(&picture(&String::from_utf8_lossy(typed), &cells, &answer, &why))?;
    }
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
        "fpr_now": rate::passing(filter),
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
    out += &drawing(filter, cells);
    let odds = match rate::passing(filter) {
        Some(p) if answer.verdict != Verdict::Absent => {
            format!(" ({} of all non-members get this far)", rate_text(p))
        }
        _ => String::new(),
    };
    out += &format!("{:>9}  {}{odds}\n", "verdict", json::verdict(answer.verdict));
    out + &format!("{:>9}  {}\n", "because", wrapped(&reason(filter, cells, answer), 11))
}

/// What decided, in words.
fn reason(filter: &dyn Filter, cells: &[Touched], answer: &Answer) -> String {
    let (all, agree) = (cells.len(), cells.iter().filter(|cell| cell.agrees).count());
    let against = cells.iter().position(|cell| !cell.agrees);
    let cells = match (answer.verdict, against) {
        (Verdict::Absent, _) if all == 0 => "no cell could hold it".to_owned(),
        _ if all == 0 => format!("{} compares the key with its contents", filter.facts().slug),
        (_, None) => match all {
            1 => "its only cell matches".to_owned(),
            _ => format!("all {all} cells match"),
        },
        (Verdict::Absent, Some(first)) => {
            let cell = integer_text(cells[first].index);
            format!("cell {cell}, of probe {}, does not match", first + 1)
        }
        (_, Some(_)) => format!("{agree} of {all} cells match, which is enough"),
    };
    let list = |words: &[Vec<u8>]| {
        words.iter().map(|w| String::from_utf8_lossy(w).into_owned()).collect::<Vec<_>>().join(", ")
    };
    match &answer.detail {
        Detail::Count(count) => format!("{cells}; they count {count}"),
        Detail::Value(value) => format!("{cells}; its value is {}", String::from_utf8_lossy(value)),
        Detail::Labels(labels) if !labels.is_empty() => format!("{cells}; found: {}", list(labels)),
        Detail::List(found) if !found.is_empty() => format!("{cells}; found: {}", list(found)),
        Detail::Score(score) => format!("{cells}; its score is {score:.3}"),
        _ => cells,
    }
}

/// A line per probe: the index, the cell, whether it speaks for the key.
fn drawing(filter: &dyn Filter, cells: &[Touched]) -> String {
    let width = cells.iter().map(|c| integer_text(c.index).chars().count()).max().unwrap_or(1);
    // A filter that forgets, or clears bits, cannot tell that nobody set a cell.
    let mut forms = filter.facts().forms.iter().filter(|form| form.name == filter.head().form);
    let forgets = forms.any(|form| matches!(form.false_negatives, FalseNegatives::Possible(_)));
    let against = if forgets {
        "○ not set by any member, or cleared since"
    } else {
        "○ not set by any member"
    };
    let line = |(i, cell): (usize, &Touched)| {
        format!(
            "{:>9}  cell {:>width$}  [{}] {}\n",
            format!("probe {}", i + 1),
            integer_text(cell.index),
            cell.value,
            if cell.agrees { "●" } else { against },
        )
    };
    let mut out: String = cells.iter().enumerate().take(SHOWN).map(line).collect();
    if cells.len() > SHOWN {
        out += &format!("{:>9}  {} more cells: --json\n", "…", cells.len() - SHOWN);
    }
    out
}

/// Cells with a line of their own, and with a name in the picture.
const SHOWN: usize = 64;
const NAMED: usize = 16;

/// The key above, its cells below in the order of their places; lines to those that speak against it stand out.
fn picture(key: &str, cells: &[Touched], answer: &Answer, why: &str) -> String {
    let verdict = json::verdict(answer.verdict);
    let mut drawing = Drawing::new("", format!("{key}: {verdict}, because {why}"));
    drawing.dot((0.5, 0.0), key);
    let mut places: Vec<&Touched> = cells.iter().collect();
    places.sort_by_key(|cell| cell.index);
    for (i, cell) in places.iter().enumerate() {
        // Names of neighbors stand on different heights.
        let place = ((i as f64 + 0.5) / places.len() as f64, 0.7 + 0.1 * (i % 4) as f64);
        let named = places.len() <= NAMED;
        let name = format!("{} [{}]", integer_text(cell.index), cell.value);
        drawing.dot(place, if named { name } else { String::new() });
        drawing.line(0, i + 1, if cell.agrees { Stroke::Wanted } else { Stroke::Wrong });
    }
    svg::panel(&Panel::Drawing(drawing))
}
