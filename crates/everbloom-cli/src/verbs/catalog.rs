//! `everbloom catalog`: the list.

use std::io::{self, Write};

use everbloom::catalog::VARIANTS;
use everbloom::variant::FalseNegatives;

use crate::args::Catalog;
use crate::report::{json, markdown, table};
use crate::{Outcome, Result, output_error};

pub fn run(args: &Catalog) -> Result<Outcome> {
    let text = if args.json {
        let entries: Vec<_> = VARIANTS.iter().map(|v| json::variant(v)).collect();
        format!("{:#}\n", serde_json::Value::Array(entries))
    } else if args.markdown {
        markdown::catalog()?
    } else {
        listing() + "\n"
    };
    io::stdout().write_all(text.as_bytes()).map_err(output_error)?;
    Ok(Outcome::Some)
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
