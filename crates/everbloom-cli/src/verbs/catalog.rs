//! `everbloom catalog`: the list.

use everbloom::catalog::VARIANTS;
use everbloom::variant::FalseNegatives;

use crate::args::Catalog;
use crate::output::{print, print_json};
use crate::report::{json, markdown, table};
use crate::{Outcome, Result};

pub fn run(args: &Catalog) -> Result<Outcome> {
    if args.machine.json {
        print_json(&VARIANTS.iter().map(|v| json::variant(v)).collect())?;
    } else if args.markdown {
        print(&markdown::catalog()?)?;
    } else {
        print(&(listing() + "\n"))?;
    }
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
