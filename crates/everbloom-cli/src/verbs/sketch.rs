//! `everbloom sketch`: a list in cells, for `everbloom diff`.

use everbloom::exchange::rateless::{Set, Sketch as Cells};
use everbloom_records::KeyType;
use everbloom_report::number::bytes_text;
use serde_json::json;

use crate::args::Sketch;
use crate::output::{integer_text, print_json};
use crate::talk::say;
use crate::target::{SKETCH, Target};
use crate::{Outcome, Result, Stop, input};

pub fn run(args: &Sketch) -> Result<Outcome> {
    let how = (&args.replacing, &args.machine);
    let target = Target::file(&args.output, SKETCH, how, [&args.list])?;
    let grammar = input::grammar(&args.text)?;
    let mut set = input::set(&args.list, grammar, Set::new())?;
    let mut sketch = Cells::of(&mut set, Cells::cells_for(args.difference))?;
    if grammar.key != KeyType::default() {
        grammar.key.name().clone_into(&mut sketch.key_type);
    }
    let bytes = sketch.to_bytes();
    target.write(&bytes)?;
    if args.machine.json {
        print_json(&json!({
            "keys": sketch.keys(), "cells": sketch.cells(), "difference": args.difference,
            "bytes": bytes.len(), "bytes_of_everything": sketch.bytes(),
        }))?;
    }
    say!(
        "{}: {} keys in {} cells, {}; enough for {} keys that differ",
        args.output.display(),
        integer_text(sketch.keys()),
        integer_text(sketch.cells()),
        bytes_text(bytes.len() as u64),
        integer_text(args.difference),
    );
    if bytes.len() as u64 > sketch.bytes() {
        say!("the list itself is smaller: {}", bytes_text(sketch.bytes()));
    }
    Ok(Outcome::Some)
}

/// The error of sketches whose keys were read in different ways.
pub fn incompatible_types(a: &str, b: &str) -> Stop {
    let name = |name: &str| {
        if name.is_empty() { KeyType::default().name().to_owned() } else { name.to_owned() }
    };
    Stop::Error(format!(
        "the keys of one sketch are of type {}, those of the other of type {}: sketch both lists with the same --key-type",
        name(a),
        name(b),
    ))
}
