//! docs/format/FIELDS.md, made from files of every variant.

use std::fmt::Write as _;

use everbloom::catalog::VARIANTS;
use everbloom::internals::plan::Goal;
use everbloom::internals::state::Encoder;
use everbloom::internals::variant::Variant;

use crate::Result;
use crate::measure::{RATE, built};

/// Keys in each filter: enough that lists have parts.
const ITEMS: u64 = 300;

/// The whole page.
pub fn page() -> Result<String> {
    let mut page = "# Fields of every variant\n\n\
         The group `filter` of a file's state tree ([FORMAT.md](../../FORMAT.md)), for each variant of \
         [CATALOG.md](../../CATALOG.md) by id, and for each of its forms, in file order. Braces enclose a group. Brackets \
         enclose a list, with each kind of element once; `[]` is a list that was empty in the filter printed here. `…` \
         stands for more fields like the one before it. This page is generated: \
         `cargo run --release -- catalog --fields > docs/format/FIELDS.md`.\n"
        .to_owned();
    for variant in VARIANTS.iter().filter(|v| !v.forms.is_empty()) {
        page += &section(variant)?;
    }
    Ok(page)
}

/// The fields of a variant, once for all forms that have the same.
fn section(variant: &'static Variant) -> Result<String> {
    let mut outlines: Vec<(String, Vec<String>)> = Vec::new();
    for form in variant.forms {
        let (outline, name) = (outline(variant, form.name)?, format!("`{}`", form.name));
        match outlines.iter_mut().find(|(known, _)| *known == outline) {
            Some((_, forms)) => forms.push(name),
            None => outlines.push((outline, vec![name])),
        }
    }
    let mut out = format!("\n## {} {}\n", variant.id, variant.slug);
    for (outline, forms) in outlines {
        // Writing to a string cannot fail.
        let _ = write!(out, "\n{}: `{outline}`\n", forms.join(", "));
    }
    Ok(out)
}

fn outline(variant: &'static Variant, form: &str) -> Result<String> {
    let items = ITEMS.min(variant.reach);
    let goal = Goal::new(items, RATE).set("form", form);
    let (filter, ..) = built(variant, &goal, items)?;
    let mut tree = Encoder::default();
    filter.save_state(&mut tree);
    Ok(tree.outline())
}
