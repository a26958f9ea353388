//! `everbloom catalog`: the list.

use everbloom::catalog::VARIANTS;
use everbloom::variant::{FalseNegatives, ValueKind, Variant};

use crate::args::Catalog;
use crate::output::{print, print_json};
use crate::report::{json, markdown, table};
use crate::{Outcome, Result, Stop};

pub fn run(args: &Catalog) -> Result<Outcome> {
    let one = args.slug.as_deref().map(|slug| find(slug, slug)).transpose()?;
    if args.machine.json {
        let entries = VARIANTS.iter().filter(|v| one.is_none_or(|one| one.id == v.id));
        print_json(&entries.map(|v| json::variant(v)).collect())?;
    } else if let Some(variant) = one {
        print(&describe(variant))?;
    } else if args.markdown {
        print(&markdown::catalog()?)?;
    } else {
        print(&(listing() + "\n"))?;
    }
    Ok(Outcome::Some)
}

/// The variant called `slug`; `typed` is how an error names it.
pub fn find(slug: &str, typed: &str) -> Result<&'static Variant> {
    Variant::by_slug(slug).ok_or_else(|| {
        let slugs: Vec<_> = VARIANTS.iter().map(|v| v.slug).collect();
        Stop::Error(format!("{typed}: no such variant; there are {}", slugs.join(", ")))
    })
}

/// All that the list says of one variant.
fn describe(v: &Variant) -> String {
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
        let abilities: Vec<_> = form.abilities.iter().map(|a| a.name()).collect();
        let misses = match form.false_negatives {
            FalseNegatives::Never => "no member is missed".to_owned(),
            FalseNegatives::NeverWhile(condition) => {
                format!("no member is missed while {condition}")
            }
            FalseNegatives::Possible(reason) => format!("members may be missed: {reason}"),
        };
        rows.push(("form", format!("{}: {}; {misses}", form.name, abilities.join(", "))));
    }
    for p in v.params {
        let range = markdown::range(&p.range);
        rows.push(("--set", format!("{}: {} ({range}; default {})", p.name, p.help, p.default)));
    }
    rows.iter().map(|(name, value)| format!("{name:>12}  {value}\n")).collect()
}

fn listing() -> String {
    let mut rows = Vec::new();
    for v in VARIANTS {
        if v.forms.is_empty() {
            let row = [v.slug, v.entry, v.kind.name(), v.name, "", ""];
            rows.push(row.map(str::to_owned).to_vec());
        }
        for form in v.forms {
            let abilities: Vec<_> = form.abilities.iter().map(|a| a.name()).collect();
            let negatives = match form.false_negatives {
                FalseNegatives::Never => "never",
                FalseNegatives::NeverWhile(_) => "conditional",
                FalseNegatives::Possible(_) => "yes",
            };
            rows.push(vec![
                v.slug.to_owned(),
                v.entry.to_owned(),
                form.name.to_owned(),
                v.name.to_owned(),
                abilities.join(" "),
                negatives.to_owned(),
            ]);
        }
    }
    table::table(6, &["slug", "entry", "form", "name", "abilities", "false negatives"], rows)
}
