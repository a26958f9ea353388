//! Everything that was found, on one page: in markdown with pictures beside it, or in HTML with all inside.

mod html;
mod markdown;

use crate::model::{Panel, Report, Said};
use crate::number::short_text;
use crate::table::Table;

/// A page of sections.
pub struct Page<'a> {
    /// Above everything.
    pub title: &'a str,
    /// What it is about, and how it came out.
    pub intro: String,
    /// The command that makes it again.
    pub command: String,
    /// What is cited: a short name, and the title.
    pub sources: &'a [(&'a str, &'a str)],
    /// What was found.
    pub sections: Vec<Section<'a>>,
}

/// What one experiment found.
pub struct Section<'a> {
    /// Short, for file names and links.
    pub name: &'a str,
    /// Document and place.
    pub source: &'a str,
    /// What is drawn.
    pub title: &'a str,
    /// What a reader should see in it.
    pub shows: &'a str,
    /// The command that finds it again.
    pub command: String,
    /// The version whose sources made it, where they are not today's.
    pub older: Option<&'a str>,
    /// What was found.
    pub report: &'a Report,
}

/// How the pictures are to be read.
const HOW_TO_READ: &str = "Lines are the formulas of the source, dots are measurements of this library's filters, and bars are \
    the bounds within which a measurement agrees. The bounds follow from the formula and the number of trials; a correct \
    prediction falls outside them once in a million. An arrow is a one-sided bound. A cross is a measurement that \
    disagrees; a ring at the end of a logarithmic axis is a measurement of zero. Below each chart the same points are drawn \
    relative to their predictions, with the bounds as bands.";

/// What the kinds of errors mean.
const KINDS: &str = "A *misprint* is a slip in a formula or a sign. A text that *contradicts itself* is correct elsewhere. What is \
    *disproved by measurement* is meant as it is written, but false. A *disputed reading* is true if the words are read \
    differently. The table compares the number that follows from the text with the true one, and marks it as printed only if \
    the text itself states it.";

impl Page<'_> {
    /// The errors that were found in the sources.
    fn errata(&self) -> Table {
        let header =
            ["place", "kind", "it says", "it should say", "from what it says", "true", "measured"];
        let errata = self.sections.iter().flat_map(|section| &section.report.errata);
        Table::new(4, header).rows(errata.map(|e| {
            let said = match e.said {
                Said::Printed(number) => format!("{} (printed)", short_text(number)),
                Said::Follows(number) => short_text(number),
            };
            let [truth, measured] = [e.verdict.predicted, e.verdict.measured].map(short_text);
            let texts = [&e.place, e.grade.name(), &e.says, &e.truth].map(str::to_owned);
            texts.into_iter().chain([said, truth, measured])
        }))
    }
}

impl<'a> Section<'a> {
    /// Said of a result that is not of today's sources.
    fn warning(&self) -> Option<String> {
        let Self { command, .. } = self;
        self.older.map(|version| {
            format!("This result is from an older version ({version}); {command} reproduces it.")
        })
    }

    /// The file names of the pictures, with the panels.
    pub fn pictures(&self) -> impl Iterator<Item = (String, &'a Panel)> {
        self.report.panels.iter().map(|panel| {
            let dash = if panel.id().is_empty() { "" } else { "-" };
            (format!("{}{dash}{}.svg", self.name, panel.id()), panel)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Axis, Bound, Rows};

    /// Both renderings hold the whole of it, and the one without files beside it needs none.
    #[test]
    fn pages_hold_every_section() {
        let mut rows = Rows::new("a", "rates < 1", Axis::log("rate"));
        rows.row("x", 1.0, 3.0, Bound::at_most(2.0));
        let report = Report::default().rows(rows).note("a < b").erratum(
            "S0 eq. 1",
            ["1|2", "3"],
            1.0,
            [3.0, 3.0],
            Bound::exactly(3.0, 0.1),
        );
        let section = Section {
            name: "s0-eq1",
            source: "S0 eq. 1",
            title: "rates",
            shows: "that they fall",
            command: "try s0-eq1".to_owned(),
            older: Some("0.0.9"),
            report: &report,
        };
        assert_eq!(
            section.pictures().next().map(|(name, _)| name).as_deref(),
            Some("s0-eq1-a.svg")
        );
        let page = Page {
            title: "Evidence",
            intro: "All of it.".to_owned(),
            command: "try all".to_owned(),
            sources: &[("S0", "A survey")],
            sections: vec![section],
        };
        let markdown = page.markdown();
        for part in [
            "# Evidence",
            "![rates < 1](s0-eq1-a.svg)",
            "1\\|2",
            "(1 of 2 verdicts agree",
            "older version (0.0.9)",
        ] {
            assert!(markdown.contains(part), "{part}: {markdown}");
        }
        let html = page.html();
        for part in [
            "<h1>Evidence</h1>",
            "<svg",
            "a &lt; b",
            "1 of 2 verdicts",
            "disagrees",
            "older version (0.0.9)",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("src=") && !html.contains("http-equiv"));
        assert!(html.contains("width=device-width, initial-scale=1"));
        assert!(markdown.contains("disproved by measurement"));
    }
}
