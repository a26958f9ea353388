//! Sides that were saved: sketches, and filters that can be subtracted. Both hold ids of keys.

use std::collections::HashMap;
use std::path::Path;

use everbloom::exchange::rateless::{Set, Sketch, TooFew};
use everbloom::internals::filter::{
    Answer, Detail, Difference, Differences, Filter, MergeLaw, Reconcile, ValueKind, Verdict,
};
use everbloom::{Error, Kind, Reading};

use super::{Told, grammar_beside, typed};
use crate::args::Text;
use crate::input::{self, Passes};
use crate::output::integer_text;
use crate::report::unable::unable;
use crate::verbs::mergeable::number;
use crate::verbs::sketch::incompatible_types;
use crate::{Result, Stop, quantity, reading};

pub fn unlike() -> Stop {
    Stop::Error(
        "cannot compare a sketch with a filter: give two of the same kind, or one and a list"
            .to_owned(),
    )
}

pub fn sketches(a: &Sketch, b: &Sketch) -> Result<Told> {
    if a.key_type != b.key_type {
        return Err(incompatible_types(&a.key_type, &b.key_type));
    }
    let Difference { ours, theirs } = told(b.minus_sketch(a)?)?;
    let sent = a.to_bytes().len().min(b.to_bytes().len()) as u64;
    Ok(Told {
        ids: [ours, theirs],
        keys: [a.keys(), b.keys()],
        sent,
        all: Some(a.bytes().min(b.bytes())),
        ..Told::default()
    })
}

/// A is the list.
pub fn list_and_sketch(text: &Text, list: &Path, sketch: &Sketch) -> Result<Told> {
    let grammar = grammar_beside(&sketch.key_type, text)?;
    let mut set = input::set(list, grammar, Set::new())?;
    let Difference { ours, theirs } = told(sketch.minus(&mut set)?)?;
    let mut ours: Vec<Vec<u8>> =
        ours.iter().filter_map(|id| set.key(*id)).map(<[u8]>::to_vec).collect();
    ours.sort_unstable();
    Ok(Told {
        only: [typed(grammar.key, ours), Vec::new()],
        ids: [Vec::new(), theirs],
        keys: [set.len() as u64, sketch.keys()],
        sent: sketch.to_bytes().len() as u64,
        all: Some(set.bytes().min(sketch.bytes())),
        ..Told::default()
    })
}

/// The difference, or what to do where it is too large.
fn told(decoded: std::result::Result<Difference, TooFew>) -> Result<Difference> {
    decoded.map_err(|TooFew { cells, differ }| {
        Stop::Error(format!(
            "{} cells are too few for the difference, about {} keys: sketch the lists again with \
             `everbloom sketch -n {}`",
            integer_text(cells),
            integer_text(differ),
            quantity::short(with_margin(differ as f64)),
        ))
    })
}

/// A number that an estimate does not pass, in two digits.
fn with_margin(estimate: f64) -> u64 {
    let enough = (1.3 * estimate).max(10.0);
    let digit = 10f64.powf(enough.log10().floor() - 1.0).max(1.0);
    ((enough / digit).ceil() * digit) as u64
}

pub fn filters(a: &dyn Filter, b: &dyn Filter) -> Result<Told> {
    let left = reconciling(a)?.minus(b)?;
    let keys = [a.head().items, b.head().items];
    let mut told = decoded(&*left, keys)?;
    told.sent = file_bytes(a).min(file_bytes(b));
    Ok(told)
}

/// A is the filter; the list goes into an empty one of its shape.
pub fn filter_and_list(text: &Text, filter: &dyn Filter, list: &Path) -> Result<Told> {
    let Reading { ancestors, .. } = &filter.head().reading;
    if !ancestors.is_empty() {
        let message =
            "the filter also contains the ancestors of its keys: compare two filters, not a list";
        return Err(Stop::Error(message.to_owned()));
    }
    let grammar = reading::grammar(filter, text)?;
    let reconcile = reconciling(filter)?;
    // What a filter and itself do not share is nothing, in cells of the same shape.
    let mut other = reconcile.minus(filter)?;
    let once = other.as_merge().is_some_and(|merge| merge.law() == MergeLaw::Disjoint);
    let (mut seen, mut bytes, mut keys) = (Set::new(), 0, HashMap::new());
    input::lines(list, grammar, Passes::Once)?.each(|_, records| {
        let Some(insert) = other.as_insert() else { return Ok(()) };
        for record in records {
            if once && seen.contains(record.key) {
                continue;
            }
            seen.insert(record.key);
            bytes += record.key.len() as u64 + 1;
            insert.insert(*record)?;
            keys.insert(reconcile.id_of(record.key), record.key.to_vec());
        }
        Ok(())
    })?;
    let left = reconciling(filter)?.minus(&*other)?;
    let mut told = decoded(&*left, [filter.head().items, seen.len() as u64])?;
    // The ids of the list's keys are known here.
    for side in 0..2 {
        let known = |id: &u64| Some((keys.get(id)?.clone(), told.times(*id).into_bytes()));
        let mut known: Vec<_> = told.ids[side].iter().filter_map(known).collect();
        told.ids[side].retain(|id| !keys.contains_key(id));
        known.sort_unstable();
        let (known, times): (Vec<_>, Vec<_>) = known.into_iter().unzip();
        let lines = typed(grammar.key, known).into_iter().zip(times);
        told.only[side].extend(lines.map(|(key, times)| [key, times].concat()));
    }
    (told.sent, told.all) = (file_bytes(filter), Some(bytes));
    Ok(told)
}

fn reconciling(filter: &dyn Filter) -> Result<&dyn Reconcile> {
    Ok(filter.as_reconcile().ok_or_else(|| unable(filter.facts(), "subtracted", "reconcile"))?)
}

fn file_bytes(filter: &dyn Filter) -> u64 {
    filter.memory().total().div_ceil(8)
}

/// What is left after subtraction of sets of so many keys: pairs where the filter holds them, else ids.
fn decoded(left: &dyn Filter, keys: [u64; 2]) -> Result<Told> {
    let mut told = Told { keys, ..Told::default() };
    let multisets = left.facts().input.value == ValueKind::Count;
    let read = match left.as_list() {
        Some(list) => list.list(&mut |key, Answer { verdict, detail }| {
            let mut line = typed(key_type(left), vec![key.to_vec()]).concat();
            if let Detail::Value(value) = detail {
                line.push(b'\t');
                line.extend(value);
            }
            told.only[usize::from(verdict == Verdict::Absent)].push(line);
        }),
        None => reconciling(left)?.differences().map(|Differences { ids, residue }| {
            for (id, more) in ids {
                told.ids[usize::from(more < 0)].push(id);
                if multisets {
                    told.times.insert(id, more.unsigned_abs());
                }
            }
            told.residue = residue;
        }),
    };
    read.map_err(|e| {
        if e.kind() == Kind::Undecodable {
            too_small(left, keys[0].abs_diff(keys[1]), e)
        } else {
            e.into()
        }
    })?;
    Ok(told)
}

fn key_type(filter: &dyn Filter) -> everbloom_records::KeyType {
    reading::key_type(&filter.head().reading, None).unwrap_or_default()
}

/// What to do about cells that hold more than can be read back. The share of them that are used tells how much it is, and
/// by how many keys one side is larger, that it is no less.
fn too_small(left: &dyn Filter, larger: u64, e: Error) -> Stop {
    let number = |name: &str| number(left, name).map(|number| number as f64);
    let (Some(m), Some(k), Some(fill)) = (number("m"), number("k"), left.fill()) else {
        return e.into();
    };
    if let Some(strata) = number("strata").filter(|strata| *strata > 1.0) {
        let estimate = reconciling(left).ok().and_then(|left| left.estimate().ok());
        let Some(estimate) = estimate else { return e.into() };
        return Stop::Error(format!(
            "{strata} strata give only an estimate: about {} keys differ; build both with -n {} in the form cells",
            integer_text(estimate),
            quantity::short(with_margin(estimate as f64)),
        ));
    }
    // Of a cell that is left empty by d keys in k of m cells; with none left d is at least as large.
    let empty = (1.0 - fill).max(0.5 / m);
    let differ = empty.ln() / (1.0 - k / m).ln();
    if differ < m / 3.0 {
        return Stop::Error(
            "cannot list the difference: a key has different values on both sides, or one side has it twice"
                .to_owned(),
        );
    }
    let (about, differ) = match larger as f64 > differ || fill == 1.0 {
        true => ("more than", differ.max(larger as f64)),
        false => ("about", differ),
    };
    Stop::Error(format!(
        "{} cells are too few for the difference, {about} {} keys: build both again with -n {}",
        integer_text(m as u64),
        integer_text(differ as u64),
        quantity::short(with_margin(if about == "about" { differ } else { 2.0 * differ })),
    ))
}
