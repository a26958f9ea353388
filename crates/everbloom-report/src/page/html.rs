//! The page for people who got one file.

use super::{HOW_TO_READ, KINDS, Page, Section};
use crate::markup::escape;
use crate::model::{Line, Report};
use crate::number::short_text;
use crate::svg;

/// Pictures are as wide as the screen at most, and tables that are wider are scrolled by themselves.
const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;\
    color:#222;overflow-wrap:anywhere}svg{max-width:100%;height:auto;display:block}\
    .wide{overflow-x:auto}table{border-collapse:collapse;font-size:14px;overflow-wrap:normal}\
    td,th{border:1px solid #ccc;padding:.2rem .5rem;text-align:left;vertical-align:top}\
    .good{color:#2e933c}.bad{color:#c00000;font-weight:bold}code{background:#f2f2f2;padding:0 .2em}\
    .contents{columns:20rem;font-size:14px}details{margin:.5rem 0}";

impl Page<'_> {
    /// In HTML, with the pictures inside.
    pub fn html(&self) -> String {
        let Self { title, intro, command, .. } = self;
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Everbloom: {}</title>\n\
             <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n<p>{intro} Made by \
             <code>{command}</code>.</p>\n<p>{HOW_TO_READ}</p>\n<h2>Sources</h2>\n<ul>\n",
            title.to_lowercase()
        );
        for (name, title) in self.sources {
            page += &format!("<li><b>{name}</b>: {}</li>\n", escape(title));
        }
        page += "</ul>\n<h2>Contents</h2>\n<ul class=\"contents\">\n";
        page.extend(self.sections.iter().map(entry));
        page += "<li><a href=\"#errata\">Errors found in the surveys</a></li>\n</ul>\n";
        page.extend(self.sections.iter().map(section));
        page += "<h2 id=\"errata\">Errors found in the surveys</h2>\n";
        page += &format!("<p>{}</p>\n", KINDS.replace('*', ""));
        page + &wide(&self.errata().html()) + "</body></html>\n"
    }
}

/// A table that may be wider than the screen.
fn wide(table: &str) -> String {
    format!("<div class=\"wide\">{table}</div>\n")
}

/// A line of the contents.
fn entry(section: &Section<'_>) -> String {
    let (passed, verdicts) = section.report.score();
    format!(
        "<li><a href=\"#{}\">{}</a>: {} <span class=\"{}\">{passed}/{verdicts}</span></li>\n",
        section.name,
        escape(section.source),
        escape(section.title),
        if passed == verdicts { "good" } else { "bad" }
    )
}

fn section(section: &Section<'_>) -> String {
    let mut out = format!(
        "<h2 id=\"{}\">{}: {}</h2>\n<p>{}</p>\n",
        section.name,
        escape(section.source),
        escape(section.title),
        escape(section.shows)
    );
    let warning = section.warning();
    out.extend(warning.map(|w| format!("<p class=\"bad\">{}</p>\n", escape(&w))));
    out.extend(section.report.panels.iter().map(svg::panel));
    if !section.report.notes.is_empty() {
        let items = section.report.notes.iter().map(|n| format!("<li>{}</li>\n", escape(n)));
        out += &format!("<ul>\n{}</ul>\n", items.collect::<String>());
    }
    out + &verdicts(section.report)
}

/// Every verdict, folded away; those that disagree stand out.
fn verdicts(report: &Report) -> String {
    let (passed, verdicts) = report.score();
    let mut out = format!(
        "<details><summary>{passed} of {verdicts} verdicts agree</summary>\n<div class=\"wide\"><table><tr><th>what</th>\
         <th>predicted</th><th>measured</th><th>from</th><th>to</th><th></th></tr>\n"
    );
    for Line { panel, what, verdict, .. } in report.lines() {
        let end = |bound: Option<f64>| bound.map_or(String::new(), short_text);
        let (class, word) = if verdict.pass { ("good", "agrees") } else { ("bad", "disagrees") };
        out += &format!(
            "<tr><td>{} {}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{word}</td></tr>\n",
            escape(&panel),
            escape(&what),
            short_text(verdict.predicted),
            short_text(verdict.measured),
            end(verdict.bound.0),
            end(verdict.bound.1)
        );
    }
    out + "</table></div></details>\n"
}
