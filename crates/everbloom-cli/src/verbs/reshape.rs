//! `everbloom reshape`: what the filters of one variant can do that no other verb does.

use everbloom::catalog::{Operation, Takes};
use everbloom::internals::filter::Filter;
use everbloom_report::number::bytes_text;
use serde_json::json;

use super::change::{rate_now, updated};
use super::opened;
use crate::args::Reshape;
use crate::input::{self, Passes};
use crate::output::{integer_text, print_json};
use crate::report::rate;
use crate::report::unable::cannot;
use crate::talk::say;
use crate::target::Target;
use crate::{Outcome, Result, Stop, reading};

/// What a filter was before it changed.
struct Before {
    bits: u64,
    fpr: Option<f64>,
}

impl Before {
    fn of(filter: &dyn Filter) -> Self {
        Self { bits: filter.memory().total(), fpr: rate::passing(filter) }
    }
}

/// What came of an operation.
struct Done {
    changed: bool,
    /// Of an operation that is given keys, those for which something changed.
    keys: Option<u64>,
}

pub fn run(args: &Reshape) -> Result<Outcome> {
    let key_file = &args.keyed.secret.key_file;
    if let Some(output) = &args.output {
        let how = (&args.replacing, &args.machine);
        let target = Target::filter(output, true, how, &args.inputs)?;
        let mut filter = opened(&args.filter, key_file)?;
        let (before, done) = (Before::of(&*filter), reshape(args, &mut *filter)?);
        target.save(&*filter)?;
        return report(args, &*filter, &before, &done);
    }
    let mut filter = updated(&args.filter, &args.keyed.secret, &args.replacing)?;
    let (before, done) = (Before::of(&*filter), reshape(args, &mut *filter)?);
    if done.changed {
        filter.save()?;
    }
    report(args, &*filter, &before, &done)
}

fn reshape(args: &Reshape, filter: &mut dyn Filter) -> Result<Done> {
    let operation = named(filter, &args.operation, Operation::changes)?;
    if operation.takes.contains(&Takes::Keys) {
        return for_keys(args, filter, operation);
    }
    if !operation.takes.contains(&Takes::Filters)
        && let Some(extra) = args.inputs.first()
    {
        let (name, extra) = (operation.name, extra.display());
        return Err(Stop::Error(format!("{name} takes no files: omit {extra}")));
    }
    let others = input::filters(&args.inputs, &args.keyed.secret.key_file)?;
    let others: Vec<&dyn Filter> = others.iter().map(|other| &**other).collect();
    let given = operation.given(&args.settings, &others)?;
    Ok(Done { changed: operation.change(filter, &given)?, keys: None })
}

/// Does an operation for each of the keys in a file.
fn for_keys(args: &Reshape, filter: &mut dyn Filter, operation: &Operation) -> Result<Done> {
    let stdin = "-".into();
    let keys = match &args.inputs[..] {
        [] => &stdin,
        [keys] => keys,
        _ => return Err(Stop::Error(format!("{} takes one file of keys", operation.name))),
    };
    let given = operation.given(&args.settings, &[])?;
    let grammar = reading::grammar(filter, &args.keyed.text)?;
    let mut changed = 0;
    input::lines(keys, grammar, Passes::Once)?.each(|_, records| {
        for record in records {
            changed += u64::from(operation.change(filter, &given.with(*record))?);
        }
        Ok(())
    })?;
    Ok(Done { changed: changed > 0, keys: Some(changed) })
}

/// The operation of a filter that is called `name`, among those that are `wanted`.
pub fn named(
    filter: &dyn Filter,
    name: &str,
    wanted: fn(&Operation) -> bool,
) -> Result<&'static Operation> {
    let facts = filter.facts();
    if let Some(found) = facts.operation(name).filter(|operation| wanted(operation)) {
        return Ok(found);
    }
    let known: Vec<_> = facts.operations.iter().filter(|o| wanted(o)).map(|o| o.name).collect();
    let known = if known.is_empty() {
        "`everbloom catalog SLUG` shows which variants have operations".to_owned()
    } else {
        format!("its operations here are: {}", known.join(", "))
    };
    Err(cannot(facts.slug, &format!("{name}; {known}")).into())
}

fn report(args: &Reshape, filter: &dyn Filter, before: &Before, done: &Done) -> Result<Outcome> {
    let bits = filter.memory().total();
    if args.machine.json {
        print_json(&json!({
            "operation": args.operation,
            "changed": done.changed,
            "keys": done.keys,
            "items": filter.head().items,
            "bits_before": before.bits,
            "bits": bits,
            "fpr_before": before.fpr,
            "fpr_now": rate::passing(filter),
        }))?;
    }
    let path = args.output.as_ref().unwrap_or(&args.filter).display();
    let size = |bits: u64| bytes_text(bits.div_ceil(8));
    let keys = done.keys.map_or(String::new(), |keys| format!("{} keys, ", integer_text(keys)));
    let (was, now) = (size(before.bits), size(bits));
    let sizes = if was == now { now } else { format!("from {was} to {now}") };
    let nothing = if done.changed { "" } else { "nothing to change, " };
    say!("{path}: {}: {nothing}{keys}{sizes}{}", args.operation, rate_now(filter));
    Ok(if done.changed { Outcome::Some } else { Outcome::None })
}
