//! CATALOG.md, made from the list.

use std::fmt::Write as _;

use everbloom::catalog::VARIANTS;
use everbloom::compact::times_bound;
use everbloom::variant::{EntryKind, FalseNegatives, Form, Range, Variant};

use crate::measure::{Measured, measure};
use crate::quantity::{integer_text, rate_text};

/// Keys in each measured filter.
const ITEMS: u64 = 10_000;
/// Non-members asked of it.
const QUERIES: u64 = 200_000;

/// The whole page.
pub fn catalog() -> crate::Result<String> {
    let mut page = format!(
        "# Catalog\n\n\
         Every variant in the list. This page is generated: \
         `cargo run --release -- catalog --markdown > CATALOG.md`.\n\n\
         The figures are for {} keys (fewer where a variant is made for small sets) planned at a rate of 1 % with default parameters, asked for \
         {} other keys: *predicted* by the variant's formulas before it was built, *now* from the \
         real fill, and *measured*. What items and rate mean for a variant is said below the table. \
         Bits per item count everything the filter holds; *× bound* says how many times the fewest that a \
         filter without false negatives could do with at its rate now (F7).\n\n\
         | slug | entry | form | abilities | false negatives | items | bits/item | × bound | predicted | now | measured | undecided |\n\
         |---|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|\n",
        integer_text(ITEMS),
        integer_text(QUERIES),
    );
    for variant in VARIANTS.iter().filter(|v| v.kind == EntryKind::Filter) {
        for form in variant.forms {
            let measured = measure(variant, form.name, ITEMS, QUERIES)?;
            page.push_str(&row(variant, form, &measured));
        }
    }
    for variant in VARIANTS {
        page.push_str(&section(variant));
    }
    Ok(page)
}

fn row(variant: &Variant, form: &Form, m: &Measured) -> String {
    let abilities: Vec<_> = form.abilities.iter().map(|a| a.name()).collect();
    let negatives = match form.false_negatives {
        FalseNegatives::Never => "never",
        FalseNegatives::NeverWhile(_) => "conditional",
        FalseNegatives::Possible(_) => "yes",
    };
    let rate = |r: Option<f64>| r.map_or("–".to_owned(), rate_text);
    format!(
        "| [`{}`](#{}) | {} | {} | {} | {} | {} | {:.2} | {} | {} | {} | {} | {} |\n",
        variant.slug,
        variant.slug,
        variant.entry,
        form.name,
        abilities.join(", "),
        negatives,
        integer_text(m.items),
        m.bits_per_item,
        times_bound(&*m.filter).map_or("–".to_owned(), |times| format!("{times:.2}")),
        rate(m.predicted),
        rate(m.now),
        rate(Some(m.measured)),
        rate(Some(m.undecided)),
    )
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
        out.push_str("\n| parameter | range | default | |\n|---|---|---|---|\n");
    }
    for p in v.params {
        let range = range(&p.range);
        let _ = writeln!(out, "| `{}` | {range} | {} | {} |", p.name, p.default, p.help);
    }
    out
}

/// What a parameter may be.
pub fn range(range: &Range) -> String {
    match range {
        Range::Integer(low, high) => format!("{low} to {high}"),
        Range::Real(low, high) => format!("{low} to {high}"),
        Range::Choice(words) => words.join(", "),
    }
}
