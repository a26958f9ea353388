//! `everbloom catalog`: the list.

use everbloom::catalog::{Operation, Param, VARIANTS};
use everbloom::internals::filter::{FalseNegatives, ValueKind};
use everbloom::internals::variant::Variant;
use everbloom_report::{Table, groups, suggest};

use crate::args::Catalog;
use crate::output::{Sheet, facts, print, print_json};
use crate::report::{catalog, fields, json};
use crate::{Outcome, Result, Stop};

pub fn run(args: &Catalog) -> Result<Outcome> {
    let sheet = Sheet::of(args.shown.csv);
    let one = args.slug.as_deref().map(|slug| find(slug, slug)).transpose()?;
    if args.shown.machine.json {
        let entries = VARIANTS.iter().filter(|v| one.is_none_or(|one| one.id == v.id));
        print_json(&entries.map(|v| json::variant(v)).collect())?;
    } else if let Some(variant) = one {
        print(&describe(variant, sheet))?;
    } else if args.markdown {
        print(&catalog::page()?)?;
    } else if args.fields {
        print(&fields::page()?)?;
    } else if args.all || args.shown.csv {
        print(&sheet.text(&listing()))?;
    } else {
        let names = groups::screen(VARIANTS.iter().map(|v| (v.family, v.slug)));
        print(&format!(
            "{names}\n{} variants; `everbloom catalog SLUG` shows one, --all lists abilities,\n\
             `everbloom plan` finds the one you need\n",
            VARIANTS.len()
        ))?;
    }
    Ok(Outcome::Some)
}

/// The variant called `slug`; `typed` is how an error names it.
pub fn find(slug: &str, typed: &str) -> Result<&'static Variant> {
    everbloom::catalog::by_slug(slug).ok_or_else(|| {
        let slugs: Vec<_> = VARIANTS.iter().map(|v| v.slug).collect();
        let all = || format!("the variants are {}", slugs.join(", "));
        let instead = suggest::instead(slug, slugs.iter().copied(), all);
        Stop::Error(format!("{typed}: no such variant; {instead}"))
    })
}

/// All that the list says of one variant.
fn describe(v: &Variant, sheet: Sheet) -> String {
    let value = if v.input.value == ValueKind::None {
        String::new()
    } else {
        format!(", TAB, {}", v.input.value.name())
    };
    let mut rows = vec![
        ("variant", format!("{} ({}, {})", v.slug, v.name, v.entry)),
        ("kind", v.kind.name().to_owned()),
        ("paper", v.paper.to_owned()),
        ("serves", v.needs.join(", ")),
        ("records", format!("{}{value}", v.input.key.name())),
        ("--negatives", v.input.negatives.name().to_owned()),
        ("numbers", v.meaning.to_owned()),
    ];
    for form in v.forms {
        let abilities = catalog::abilities(form).join(", ");
        let misses = match form.false_negatives {
            FalseNegatives::Never => "no false negatives".to_owned(),
            FalseNegatives::NeverWhile(condition) => {
                format!("no false negatives while {condition}")
            }
            FalseNegatives::Possible(reason) => format!("false negatives are possible: {reason}"),
        };
        rows.push(("form", format!("{}: {abilities}; {misses}", form.name)));
    }
    for p in v.params {
        let range = catalog::range(&p.range);
        rows.push(("--set", format!("{}: {} ({range}; default {})", p.name, p.help, p.default)));
    }
    for operation in v.operations {
        rows.push((
            catalog::verb(operation),
            format!("{}: {}{}", operation.name, operation.help, numbers(operation)),
        ));
    }
    facts(sheet, 12, &rows)
}

/// The numbers that an operation takes.
fn numbers(operation: &Operation) -> String {
    let number =
        |p: &Param| format!(" --set {}: {} ({})", p.name, p.help, catalog::range(&p.range));
    operation.params.iter().map(number).collect()
}

fn listing() -> Table {
    let header = ["slug", "entry", "form", "name", "abilities", "false negatives"];
    let mut table = Table::new(header.len(), header);
    for v in VARIANTS {
        if v.forms.is_empty() {
            table = table.row([v.slug, v.entry, v.kind.name(), v.name, "", ""]);
        }
        for form in v.forms {
            let abilities = catalog::abilities(form).join(" ");
            let negatives = catalog::negatives(form);
            table = table.row([v.slug, v.entry, form.name, v.name, &abilities, negatives]);
        }
    }
    table
}
