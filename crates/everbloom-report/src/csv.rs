//! Verdicts for spreadsheets.

use std::fmt::Write as _;

use crate::{Line, Report};

/// Every verdict of a report in one table; capabilities count as 1 (works) and 0 (does not). `x` is empty for what
/// has no place on an axis, `low` or `high` where a bound has one side, `survey` where no survey says anything.
pub fn csv(report: &Report) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut out =
        String::from("panel,series,x,predicted,measured,low,high,unit,survey,pass,what\n");
    for Line { panel, x, series, unit, survey, what, verdict } in report.lines() {
        let number = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
        let numbers = [x, Some(verdict.predicted), Some(verdict.measured)].map(number);
        let bounds = [verdict.bound.0, verdict.bound.1].map(number);
        let texts = [&panel, &series].map(|text| quoted(text));
        let ends = [&unit, &survey].map(|text| quoted(text));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{},{},{},{},{},{}",
            texts.join(","),
            numbers.join(","),
            bounds.join(","),
            ends.join(","),
            verdict.pass,
            quoted(&what)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::{Axis, Bound, Chart, Report, Rows, Series};

    #[test]
    fn a_verdict_is_a_line_and_quotes_are_doubled() {
        let mut rows = Rows::new("p", "title", Axis::linear("bits"));
        rows.row("a \"b\", c", 1.0, 1.5, Bound::at_most(2.0));
        let mut series = Series::new("s", [3.0], |x| x);
        series.point(3.0, 3.0, 3.5, Bound::between(2.0, 4.0));
        let chart = Chart::new("q", "", [Axis::linear("n"), Axis::log("rate")], [series]);
        let text = super::csv(&Report::default().rows(rows).chart(chart));
        let lines: Vec<&str> = text.lines().collect();
        let label = "\"a \"\"b\"\", c\"";
        assert_eq!(lines[1], format!("\"p\",{label},,1,1.5,,2,\"bits\",\"\",true,{label}"));
        assert_eq!(lines[2], "\"q\",\"s\",3,3,3.5,2,4,\"rate\",\"\",true,\"s, x = 3\"");
    }
}
