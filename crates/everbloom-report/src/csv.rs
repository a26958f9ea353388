//! Verdicts for spreadsheets.

use std::fmt::Write as _;

use crate::{Line, Report};

/// Every verdict of a report in one table; capabilities count as 1 (yes) and 0 (no).
pub fn csv(report: &Report) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut out = String::from("panel,what,predicted,measured,low,high,pass\n");
    for Line { panel, what, verdict } in report.lines() {
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

#[cfg(test)]
mod tests {
    use crate::{Axis, Bound, Report, Rows};

    #[test]
    fn a_verdict_is_a_line_and_quotes_are_doubled() {
        let mut rows = Rows::new("p", "title", Axis::linear("x"));
        rows.row("a \"b\", c", 1.0, 1.5, Bound::at_most(2.0));
        let text = super::csv(&Report::default().rows(rows));
        assert_eq!(text.lines().nth(1), Some("\"p\",\"a \"\"b\"\", c\",1,1.5,,2,true"));
    }
}
