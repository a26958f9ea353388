//! JSON, as docs/JSON.md describes it: seeds as hex strings, keys that are not UTF-8 as `{"b64": …}`,
//! missing numbers as null.

use everbloom::catalog::{Operation, Takes};
use everbloom::compact::times_bound;
use everbloom::internals::filter::{Answer, Detail, FactValue, Filter, Verdict};
use everbloom::internals::filter::{FalseNegatives, Form, Param, Preset, Range};
use everbloom::internals::state::{MAJOR, MINOR};
use everbloom::internals::variant::Variant;
use everbloom::{Bound, Counted, Fact, Number};
use everbloom_report::json::bytes;
use serde_json::{Map, Value, json};

use super::rate;

/// The list entry.
pub fn variant(v: &Variant) -> Value {
    json!({
        "id": v.id,
        "slug": v.slug,
        "entry": v.entry,
        "kind": v.kind.name(),
        "name": v.name,
        "paper": v.paper,
        "family": v.family,
        "needs": v.needs,
        "input": {
            "key": v.input.key.name(),
            "value": v.input.value.name(),
            "negatives": v.input.negatives.name(),
        },
        "meaning": v.meaning,
        "forms": v.forms.iter().map(form).collect::<Vec<_>>(),
        "params": v.params.iter().map(param).collect::<Vec<_>>(),
        "operations": v.operations.iter().map(operation).collect::<Vec<_>>(),
    })
}

fn operation(operation: &Operation) -> Value {
    json!({
        "name": operation.name,
        "verb": if operation.changes() { "reshape" } else { "get" },
        "help": operation.help,
        "params": operation.params.iter().map(param).collect::<Vec<_>>(),
        "keys": operation.takes.contains(&Takes::Keys),
        "filters": operation.takes.contains(&Takes::Filters),
    })
}

fn form(form: &Form) -> Value {
    let (possible, condition) = match form.false_negatives {
        FalseNegatives::Never => ("never", Value::Null),
        FalseNegatives::NeverWhile(condition) => ("never-while", condition.into()),
        FalseNegatives::Possible(reason) => ("possible", reason.into()),
    };
    json!({
        "name": form.name,
        "abilities": form.abilities.iter().map(|a| a.name()).collect::<Vec<_>>(),
        "false_negatives": possible,
        "condition": condition,
    })
}

fn param(param: &Param) -> Value {
    let (kind, range) = match param.range {
        Range::Integer(low, high) => ("integer", json!([low, high])),
        Range::Real(low, high) => ("real", json!([low, high])),
        Range::Choice(words) => ("choice", json!(words)),
    };
    let default = match param.default {
        Preset::Planned => Value::Null,
        Preset::Integer(v) => v.into(),
        Preset::Real(v) => v.into(),
        Preset::Choice(v) => v.into(),
    };
    json!({ "name": param.name, "type": kind, "range": range, "default": default, "help": param.help })
}

/// What a filter is. Only a build knows how many keys were refused.
pub fn info(filter: &dyn Filter) -> Value {
    let (variant, head, now, memory) =
        (filter.facts(), filter.head(), filter.now(), filter.memory());
    let hex = format!("{:016x}", head.hasher.seed());
    let (seed, key_id) = if head.hasher.is_keyed() { (None, Some(hex)) } else { (Some(hex), None) };
    let keys = filter.fewer_keys();
    let per_item = (head.items > 0)
        .then(|| memory.total() as f64 / keys.unwrap_or(head.items as f64).max(1.0));
    json!({
        "slug": variant.slug,
        "entry": variant.entry,
        "name": variant.name,
        "form": head.form,
        "shape": facts(filter.describe()),
        "items": head.items,
        "different_keys": keys.map(f64::round),
        "refused": null,
        "bits": memory.total(),
        "bits_cells": memory.cells,
        "bits_auxiliary": memory.auxiliary,
        "bits_per_item": per_item,
        "times_bound": times_bound(filter),
        "fill": filter.fill(),
        "fpr_target": head.fpr,
        "fnr_target": head.fnr,
        "fpr_now": rate::passing(filter),
        "fpr_each_now": rate::of_each_set(filter),
        "fnr_now": now.fnr,
        "undecided_now": now.undecided,
        "past_capacity": filter.past_capacity(),
        "key_type": read(&head.reading.key_type, "bytes"),
        "ancestors": (!head.reading.ancestors.is_empty()).then_some(&head.reading.ancestors),
        "hash": head.hasher.id().name(),
        "seed": seed,
        "key_id": key_id,
        "format": format!("{MAJOR}.{MINOR}"),
        "huge_pages": filter.huge_pages(),
    })
}

fn read<'a>(name: &'a str, plain: &'a str) -> &'a str {
    if name.is_empty() { plain } else { name }
}

/// The figures of a shape.
pub fn facts(facts: Vec<Fact>) -> Value {
    let facts = facts.into_iter().map(|fact| {
        let value = match fact.value {
            FactValue::Integer(v) => v.into(),
            FactValue::Real(v) => json!(v),
            FactValue::Text(v) => v.into(),
        };
        (fact.name.to_owned(), value)
    });
    Value::Object(facts.collect::<Map<_, _>>())
}

/// One answer.
pub fn answer(query: &[u8], answer: &Answer) -> Value {
    let detail = detail(&answer.detail);
    json!({ "query": bytes(query), "verdict": verdict(answer.verdict), "detail": detail })
}

/// A count as a number.
pub fn number(count: &Counted) -> Value {
    match count.value {
        Number::Whole(v) => json!(v),
        Number::Signed(v) => json!(v),
        Number::Real(v) => json!(v),
        _ => Value::Null,
    }
}

/// What a count says of the true one, in a word.
pub fn bound(count: &Counted) -> &'static str {
    match count.bound {
        Bound::Exact => "exact",
        Bound::Estimate => "estimate",
        Bound::AtLeast => "at-least",
        Bound::Saturated => "saturated",
        _ => "unknown",
    }
}

/// What an answer knows beyond its verdict.
pub fn detail(detail: &Detail) -> Value {
    match detail {
        Detail::None => Value::Null,
        Detail::Count(count) => json!({ "count": number(count) }),
        Detail::Value(value) => json!({ "value": bytes(value) }),
        Detail::Labels(labels) => {
            json!({ "labels": labels.iter().map(|l| bytes(l)).collect::<Vec<_>>() })
        }
        Detail::List(list) => {
            json!({ "list": list.iter().map(|l| bytes(l)).collect::<Vec<_>>() })
        }
        Detail::Score(score) => json!({ "score": score }),
        _ => Value::Null,
    }
}

/// The word for a verdict.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Absent => "absent",
        Verdict::Present => "present",
        Verdict::Undecided => "undecided",
    }
}
