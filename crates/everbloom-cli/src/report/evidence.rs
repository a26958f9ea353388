//! What the lab found, as files: a table of verdicts, pictures, and pages of everything.

use std::fmt::Write as _;

use everbloom_lab::{EXPERIMENTS, Effort, Experiment, Flag, Panel, Report, Verdict};
use serde::{Deserialize, Serialize};

use super::svg::{self, escape};
use crate::{Result, Stop};

/// A report with what it takes to make it again.
#[derive(Serialize, Deserialize)]
pub struct Finding {
    pub experiment: String,
    pub source: String,
    pub effort: Effort,
    pub seed: u64,
    #[serde(flatten)]
    pub report: Report,
}

impl Finding {
    pub fn new(experiment: &Experiment, effort: Effort, seed: u64, report: Report) -> Self {
        let (name, source) = (experiment.name.to_owned(), experiment.source.to_owned());
        Self { experiment: name, source, effort, seed, report }
    }

    /// The file names of the pictures, with the panels.
    fn pictures(&self) -> impl Iterator<Item = (String, &Panel)> {
        self.report.panels.iter().map(|panel| {
            let dash = if panel.id().is_empty() { "" } else { "-" };
            (format!("{}{dash}{}.svg", self.experiment, panel.id()), panel)
        })
    }

    /// Title and explanation, from the list.
    fn words(&self) -> (&str, &str) {
        let listed = EXPERIMENTS.iter().find(|e| e.name == self.experiment);
        listed.map_or((&self.experiment, ""), |e| (e.title, e.shows))
    }
}

/// One line of the table: where, and what was found there.
struct Line {
    panel: String,
    what: String,
    verdict: Verdict,
}

/// Every verdict of a report in one table; capabilities count as 1 (yes) and 0 (no).
fn lines(report: &Report) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |panel: &str, what: String, verdict: Verdict| {
        lines.push(Line { panel: panel.to_owned(), what, verdict });
    };
    for panel in &report.panels {
        match panel {
            Panel::Chart(chart) => {
                for series in &chart.series {
                    for point in &series.points {
                        let what = format!("{}, x = {}", series.name, svg::number(point.x));
                        add(&chart.id, what, point.verdict);
                    }
                }
            }
            Panel::Rows(rows) => {
                rows.rows.iter().for_each(|row| add(&rows.id, row.label.clone(), row.verdict));
            }
            Panel::Matrix(matrix) => {
                for (name, cells) in &matrix.rows {
                    for (column, cell) in matrix.columns.iter().zip(cells) {
                        let Some(cell) = cell else { continue };
                        let value = |flag| if flag == Flag::Yes { 1.0 } else { 0.0 };
                        let shown = value(cell.shown);
                        let expected = if cell.pass { shown } else { 1.0 - shown };
                        let verdict = Verdict {
                            predicted: expected,
                            measured: shown,
                            bound: (Some(expected), Some(expected)),
                            pass: cell.pass,
                        };
                        add(&matrix.id, format!("{name}, {column}: {}", cell.how), verdict);
                    }
                }
            }
        }
    }
    for erratum in &report.errata {
        add("erratum", erratum.place.clone(), Verdict { pass: erratum.proved, ..erratum.verdict });
    }
    lines
}

/// A sentence for each verdict that disagrees.
pub fn failures(finding: &Finding) -> Vec<String> {
    let failed = lines(&finding.report).into_iter().filter(|line| !line.verdict.pass);
    failed
        .map(|Line { panel, what, verdict }| {
            let end = |bound: Option<f64>| bound.map_or("-".into(), svg::number);
            format!(
                "{} {panel}: {what}: predicted {}, measured {}, outside {} to {}",
                finding.experiment,
                svg::number(verdict.predicted),
                svg::number(verdict.measured),
                end(verdict.bound.0),
                end(verdict.bound.1)
            )
        })
        .collect()
}

/// The files of one experiment: names and contents.
pub fn files(finding: &Finding) -> Result<Vec<(String, String)>> {
    let json = serde_json::to_string_pretty(finding)
        .map_err(|e| Stop::Error(format!("cannot write the result as JSON: {e}")))?;
    let mut files = vec![
        (format!("{}.csv", finding.experiment), csv(&finding.report)),
        (format!("{}.json", finding.experiment), json + "\n"),
    ];
    files.extend(finding.pictures().map(|(name, panel)| (name, svg::panel(panel))));
    Ok(files)
}

fn csv(report: &Report) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut out = String::from("panel,what,predicted,measured,low,high,pass\n");
    for Line { panel, what, verdict } in lines(report) {
        let end = |bound: Option<f64>| bound.map_or(String::new(), |v| v.to_string());
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{}",
            quoted(&panel),
            quoted(&what),
            verdict.predicted,
            verdict.measured,
            end(verdict.bound.0),
            end(verdict.bound.1),
            verdict.pass
        );
    }
    out
}

/// Scores, effort and the command that makes the page again.
fn summary(findings: &[Finding]) -> (String, String) {
    let scores = findings.iter().map(|f| f.report.score());
    let (passed, verdicts) = scores.fold((0, 0), |(p, v), score| (p + score.0, v + score.1));
    let first = findings.first();
    let effort = first.map_or(Effort::Normal, |f| f.effort);
    let option = match effort {
        Effort::Quick => " --quick",
        Effort::Normal => "",
        Effort::Thorough => " --thorough",
    };
    let seed = first.map_or(0, |f| f.seed);
    (
        format!(
            "{} experiments, {passed} of {verdicts} verdicts agree (effort {}, seed {seed:x}).",
            findings.len(),
            effort.name()
        ),
        format!("everbloom lab report{option} --seed {seed:x} -o DIR"),
    )
}

const SOURCES: [(&str, &str); 5] = [
    (
        "S0",
        "S. Tarkoma, C. E. Rothenberg, E. Lagerspetz: Theory and Practice of Bloom Filters for Distributed Systems",
    ),
    ("S1", "A. Broder, M. Mitzenmacher: Network Applications of Bloom Filters: A Survey"),
    (
        "S2",
        "R. P. Laufer, P. B. Velloso, O. C. M. B. Duarte: A Generalized Bloom Filter to Secure Distributed Network Applications",
    ),
    (
        "S3",
        "L. Luo, D. Guo, R. T. B. Ma, O. Rottenstreich, X. Luo: Optimizing Bloom Filter: Challenges, Solutions, and Comparisons",
    ),
    (
        "S4",
        "an excerpt of a thesis on counting filters (counting, spectral, dynamic count, d-left)",
    ),
];

const HOW_TO_READ: &str = "Lines are the source's formulas, dots what the filters of this library \
    did, bars the bounds within which a measurement agrees (computed from the formula and the number \
    of trials; a true prediction falls outside once in a million). A cross is a measurement that \
    disagrees, a ring at the end of a logarithmic axis one of zero.";

/// The page for people who read the repository.
pub fn markdown(findings: &[Finding]) -> String {
    let (score, command) = summary(findings);
    let mut page = format!(
        "# Evidence\n\nWhat the surveys say, tried with the library's own filters. {score} This page \
         and its pictures are generated:\n\n```\n{command}\n```\n\n{HOW_TO_READ}\n\n## Sources\n\n"
    );
    for (name, title) in SOURCES {
        page += &format!("- **{name}**: {title}\n");
    }
    page += "\n## Errors found in the surveys\n\n| place | it says | it should say | number as printed | corrected | measured |\n|---|---|---|---:|---:|---:|\n";
    for e in findings.iter().flat_map(|f| &f.report.errata) {
        let cell = |text: &str| text.replace('|', "\\|");
        page += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            cell(&e.place),
            cell(&e.says),
            cell(&e.truth),
            svg::number(e.printed),
            svg::number(e.verdict.predicted),
            svg::number(e.verdict.measured)
        );
    }
    for finding in findings {
        let (title, shows) = finding.words();
        let (passed, verdicts) = finding.report.score();
        page += &format!(
            "\n## {}: {title}\n\n{shows} ({passed} of {verdicts} verdicts agree; `everbloom lab run {}`)\n\n",
            finding.source, finding.experiment
        );
        for (file, panel) in finding.pictures() {
            page += &format!("![{}]({file})\n\n", panel.title());
        }
        finding.report.notes.iter().for_each(|note| page += &format!("- {note}\n"));
    }
    page
}

/// The page for people who got one file.
pub fn html(findings: &[Finding]) -> String {
    let (score, command) = summary(findings);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Everbloom: evidence</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>Evidence</h1>\n<p>What the surveys say, tried with \
         Everbloom's filters. {score} Made by <code>{command}</code>.</p>\n<p>{HOW_TO_READ}</p>\n"
    );
    page += "<h2>Sources</h2>\n<ul>\n";
    for (name, title) in SOURCES {
        page += &format!("<li><b>{name}</b>: {}</li>\n", escape(title));
    }
    page += "</ul>\n<h2>Contents</h2>\n<ul class=\"contents\">\n";
    for finding in findings {
        let (passed, verdicts) = finding.report.score();
        page += &format!(
            "<li><a href=\"#{0}\">{1}</a>: {2} <span class=\"{3}\">{passed}/{verdicts}</span></li>\n",
            finding.experiment,
            escape(&finding.source),
            escape(finding.words().0),
            if passed == verdicts { "good" } else { "bad" }
        );
    }
    page += "<li><a href=\"#errata\">Errors found in the surveys</a></li>\n</ul>\n";
    findings.iter().for_each(|finding| page += &section(finding));
    page += "<h2 id=\"errata\">Errors found in the surveys</h2>\n<table><tr><th>place</th>\
             <th>it says</th><th>it should say</th><th>as printed</th><th>corrected</th>\
             <th>measured</th></tr>\n";
    for e in findings.iter().flat_map(|f| &f.report.errata) {
        let numbers = [e.printed, e.verdict.predicted, e.verdict.measured].map(svg::number);
        page += &format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&e.place),
            escape(&e.says),
            escape(&e.truth),
            numbers[0],
            numbers[1],
            numbers[2]
        );
    }
    page + "</table>\n</body></html>\n"
}

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;\
    color:#222}svg{max-width:100%;height:auto}table{border-collapse:collapse;font-size:14px}\
    td,th{border:1px solid #ccc;padding:.2rem .5rem;text-align:left;vertical-align:top}\
    .good{color:#2e933c}.bad{color:#c00000;font-weight:bold}code{background:#f2f2f2;padding:0 .2em}\
    .contents{columns:2;font-size:14px}details{margin:.5rem 0}";

fn section(finding: &Finding) -> String {
    let (title, shows) = finding.words();
    let mut out = format!(
        "<h2 id=\"{}\">{}: {}</h2>\n<p>{}</p>\n",
        finding.experiment,
        escape(&finding.source),
        escape(title),
        escape(shows)
    );
    finding.pictures().for_each(|(_, panel)| out += &svg::panel(panel));
    if !finding.report.notes.is_empty() {
        let items = finding.report.notes.iter().map(|n| format!("<li>{}</li>\n", escape(n)));
        out += &format!("<ul>\n{}</ul>\n", items.collect::<String>());
    }
    let (passed, verdicts) = finding.report.score();
    out += &format!(
        "<details><summary>{passed} of {verdicts} verdicts agree</summary>\n<table><tr><th>what</th>\
         <th>predicted</th><th>measured</th><th>from</th><th>to</th><th></th></tr>\n"
    );
    for Line { panel, what, verdict } in lines(&finding.report) {
        let end = |bound: Option<f64>| bound.map_or(String::new(), svg::number);
        let (class, word) = if verdict.pass { ("good", "agrees") } else { ("bad", "disagrees") };
        out += &format!(
            "<tr><td>{} {}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{word}</td></tr>\n",
            escape(&panel),
            escape(&what),
            svg::number(verdict.predicted),
            svg::number(verdict.measured),
            end(verdict.bound.0),
            end(verdict.bound.1)
        );
    }
    out + "</table></details>\n"
}
