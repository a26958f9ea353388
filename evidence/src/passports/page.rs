//! A filter's passport as a page in markdown with what the list says of it and what was measured.

use everbloom::internals::filter::FalseNegatives;
use everbloom::internals::variant::Variant;
use everbloom_report::Table;
use everbloom_report::number::short_text;

use crate::{Finding, Panel, Rows};

/// The page of one filter; its picture lies beside it.
pub fn page(variant: &Variant, finding: &Finding, command: &str) -> String {
    let (passed, verdicts) = finding.report.score();
    let mut out = format!(
        "# {} (`{}`)\n\nEntry {} of the [catalog](../../../CATALOG.md#{}): {}.\n\n",
        variant.name, variant.slug, variant.entry, variant.slug, variant.paper
    );
    out += &facts(variant).markdown();
    out += &format!(
        "\nThe form `{}`, built as it is by default, {passed} of {verdicts} verdicts agree. Made by `{command}`, \
         version {}.\n\n![False-positive rate]({}.svg)\n\n\
         Lines: predicted before the build. Dots: measured, with the bounds around what the filter predicts from its \
         fill. Here {}.\n\n",
        variant.forms[0].name, finding.stamp.version, variant.slug, variant.meaning
    );
    for panel in &finding.report.panels {
        if let Panel::Rows(rows) = panel {
            out += &format!("## {}\n\n{}\n", rows.title, measured(rows).markdown());
        }
    }
    out.extend(finding.report.notes.iter().map(|note| format!("- {note}\n")));
    out.trim_end().to_owned() + "\n"
}

/// All filters on one page.
pub fn index(findings: &[Finding], command: &str) -> String {
    let header = ["filter", "entry", "verdicts that agree", "verdicts"];
    let rows = findings.iter().map(|finding| {
        let (passed, verdicts) = finding.report.score();
        let link = format!("[`{0}`]({0}.md)", finding.experiment);
        [link, finding.source.clone(), passed.to_string(), verdicts.to_string()]
    });
    format!(
        "# Passports\n\nEvery filter of the list, measured alike on its default form: false positives, false negatives, \
         undecided answers, fill, bits and cells, over sizes and rates. Generated: `{command}`.\n\n{}",
        Table::new(2, header).rows(rows).markdown()
    )
}

/// What the list says.
fn facts(variant: &Variant) -> Table {
    let form = &variant.forms[0];
    let misses = match form.false_negatives {
        FalseNegatives::Never => "none".to_owned(),
        FalseNegatives::NeverWhile(condition) => format!("none while {condition}"),
        FalseNegatives::Possible(reason) => format!("possible: {reason}"),
    };
    let abilities: Vec<&str> = form.abilities.iter().map(|ability| ability.name()).collect();
    let input = variant.input;
    Table::new(2, ["", ""]).rows([
        ["serves", &variant.needs.join(", ")],
        ["abilities", &abilities.join(", ")],
        ["false negatives", &misses],
        ["records", &format!("key {}, value {}", input.key.name(), input.value.name())],
        ["known non-members", input.negatives.name()],
        ["tried with", &format!("up to {} keys", short_text(variant.reach as f64))],
    ])
}

fn measured(rows: &Rows) -> Table {
    let header = ["", "predicted", "measured", "from", "to", ""];
    Table::new(1, header).rows(rows.rows.iter().map(|row| {
        let v = row.verdict;
        let end = |bound: Option<f64>| bound.map_or(String::new(), short_text);
        // Where nothing is predicted, nothing is judged.
        let judged = v.bound != (None, None);
        let predicted = if judged { short_text(v.predicted) } else { "–".into() };
        let word = match (judged, v.pass) {
            (false, _) => "",
            (_, true) => "agrees",
            _ => "**disagrees**",
        };
        let numbers = [predicted, short_text(v.measured), end(v.bound.0), end(v.bound.1)];
        [row.label.clone()].into_iter().chain(numbers).chain([word.to_owned()])
    }))
}
