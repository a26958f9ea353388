//! CATALOG.md, made from the list.

use std::fmt::Write as _;

use everbloom::catalog::{Operation, VARIANTS};
use everbloom::compact::times_bound;
use everbloom::internals::filter::{EntryKind, FalseNegatives, Form, Range};
use everbloom::internals::variant::Variant;
use everbloom_report::Table;
use everbloom_report::number::rate_text;

use crate::measure::{Measured, measure};
use crate::output::integer_text;

/// Keys in each measured filter.
const ITEMS: u64 = 10_000;
/// Non-members asked of it.
const QUERIES: u64 = 200_000;

/// The whole page.
pub fn page() -> crate::Result<String> {
    let mut page = format!(
        "# Catalog\n\n\
         Every variant in the list. This page is generated: \
         `cargo run --release -- catalog --markdown > CATALOG.md`.\n\n\
         The numbers are for {} keys (fewer for variants made for small sets), planned for a rate of 1 % with default \
         parameters, and {} queries of other keys. *predicted* is computed before the filter is built, *now* from its \
         fill; *measured* is the result of the queries. The section of each variant says what its items and rate are. \
         Bits per item include everything the filter stores; *× bound* divides them by the fewest bits that a filter \
         without false negatives needs at its current rate (F7).\n\n",
        integer_text(ITEMS),
        integer_text(QUERIES),
    );
    page += &figures()?.markdown();
    for variant in VARIANTS {
        page.push_str(&section(variant));
    }
    Ok(page)
}

/// A row for each form of each filter.
fn figures() -> crate::Result<Table> {
    let words = ["slug", "entry", "form", "abilities", "false negatives"];
    let numbers = ["items", "bits/item", "× bound", "predicted", "now", "measured", "undecided"];
    let mut table = Table::new(words.len(), words.into_iter().chain(numbers));
    for variant in VARIANTS.iter().filter(|v| v.kind == EntryKind::Filter) {
        for form in variant.forms {
            let measured = measure(variant, form.name, ITEMS, QUERIES)?;
            table = table.row(row(variant, form, &measured));
        }
    }
    Ok(table)
}

fn row(variant: &Variant, form: &Form, m: &Measured) -> [String; 12] {
    let rate = |r: Option<f64>| r.map_or("–".to_owned(), rate_text);
    [
        format!("[`{0}`](#{0})", variant.slug),
        variant.entry.to_owned(),
        form.name.to_owned(),
        abilities(form).join(", "),
        negatives(form).to_owned(),
        integer_text(m.items),
        format!("{:.2}", m.bits_per_item),
        times_bound(&*m.filter).map_or("–".to_owned(), |times| format!("{times:.2}")),
        rate(m.predicted),
        rate(m.now),
        rate(Some(m.measured)),
        rate(Some(m.undecided)),
    ]
}

/// What a form can do.
pub fn abilities(form: &Form) -> Vec<&'static str> {
    form.abilities.iter().map(|ability| ability.name()).collect()
}

/// Whether a form has false negatives, in a word.
pub fn negatives(form: &Form) -> &'static str {
    match form.false_negatives {
        FalseNegatives::Never => "never",
        FalseNegatives::NeverWhile(_) => "conditional",
        FalseNegatives::Possible(_) => "yes",
    }
}

fn section(v: &Variant) -> String {
    let mut out = format!(
        "\n## {}\n\n{} ({}, {}). {}.\n\nNeeds: {}. Record: key `{}`, value `{}`, negatives `{}`. \
         Meaning: {}.\n",
        v.slug,
        v.name,
        v.entry,
        v.kind.name(),
        v.paper,
        v.needs.join(", "),
        v.input.key.name(),
        v.input.value.name(),
        v.input.negatives.name(),
        v.meaning,
    );
    if v.kind == EntryKind::Filter {
        out += &format!("\nMeasured: [passport](docs/evidence/passports/{}.md).\n", v.slug);
    }
    for form in v.forms {
        // Writing to a string cannot fail.
        let _ = match form.false_negatives {
            FalseNegatives::Never => Ok(()),
            FalseNegatives::NeverWhile(condition) => {
                writeln!(out, "\nForm `{}`: no false negatives while {condition}.", form.name)
            }
            FalseNegatives::Possible(reason) => {
                writeln!(out, "\nForm `{}`: false negatives are possible: {reason}.", form.name)
            }
        };
    }
    if !v.params.is_empty() {
        let rows = v.params.iter().map(|p| {
            let name = format!("`{}`", p.name);
            [name, range(&p.range), p.default.to_string(), p.help.to_owned()]
        });
        out += "\n";
        out += &Table::new(4, ["parameter", "range", "default", ""]).rows(rows).markdown();
    }
    if !v.operations.is_empty() {
        let rows = v.operations.iter().map(|operation| {
            let numbers =
                operation.params.iter().map(|p| format!(" --set {}={}", p.name, p.default));
            let numbers: String = numbers.collect();
            [
                format!("`{} {}{numbers}`", verb(operation), operation.name),
                operation.help.to_owned(),
            ]
        });
        out += "\n";
        out += &Table::new(2, ["operation", ""]).rows(rows).markdown();
    }
    out
}

/// The verb that reaches an operation.
pub fn verb(operation: &Operation) -> &'static str {
    if operation.changes() { "reshape" } else { "get --what" }
}

/// What a parameter may be.
pub fn range(range: &Range) -> String {
    match range {
        Range::Integer(low, high) => format!("{low} to {high}"),
        // Some have 300 zeros.
        Range::Real(low, high) if *low > 0.0 && *low <= 1e-9 => format!("{low:e} to {high}"),
        Range::Real(low, high) if *high >= 1e15 => format!("{low:e} to {high:e}"),
        Range::Real(low, high) => format!("{low} to {high}"),
        Range::Choice(words) => words.join(", "),
    }
}
