//! What was measured, as text, JSON and a picture.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::gate::{CLOSE, KEPT, Line, MISSED, size};
use crate::measure::Result;

/// A table of all rivals of all cases, with ratios to the first.
pub fn table(results: &[Result]) -> String {
    let mut out = String::new();
    let mut case = None;
    let mut first = None;
    for result in results {
        if case != Some(result.case) {
            (case, first) = (Some(result.case), Some(result.median));
            let (items, rate) = (size(result.case.items), result.case.rate * 100.0);
            let _ = writeln!(
                out,
                "\n{items} u64 keys at {rate} %: ns per key, and the first one's time as a share of it\n\
                 {:<38}{:>15}{:>15}{:>15}{:>11}{:>10}",
                "", "insert", "hit", "miss", "rate", "bits/key"
            );
        }
        let (round, base) = (result.median, first.unwrap_or(result.median));
        let cell = |ns: f64, base: f64| format!("{ns:.2} ({:.2})", base / ns);
        let _ = writeln!(
            out,
            "{:<38}{:>15}{:>15}{:>15}{:>9.3} %{:>10.2}",
            result.name,
            cell(round.fill, base.fill),
            cell(round.hit, base.hit),
            cell(round.miss, base.miss),
            round.rate * 100.0,
            round.bits_per_key
        );
    }
    out
}

/// The promises, one a line.
pub fn gate(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(
            out,
            "{:<6} {:<46} {:<37} {:>9.4} / {:>9.4} = {:>5.3} (best {:>5.3}), at most {:.2}",
            line.word(),
            line.what,
            line.peer,
            line.ours,
            line.theirs,
            line.ratio,
            line.best,
            line.limit
        );
    }
    let count = |word: &str| lines.iter().filter(|line| line.word() == word).count();
    let [kept, close, missed] = [KEPT, CLOSE, MISSED].map(count);
    let _ = writeln!(
        out,
        "\n{} promises: {kept} kept, {close} within 3 % of their limit, {missed} missed",
        lines.len()
    );
    out
}

/// Everything for machines.
pub fn json(results: &[Result], lines: &[Line]) -> Value {
    let results: Vec<Value> = results
        .iter()
        .map(|r| {
            json!({
                "name": r.name, "items": r.case.items, "target": r.case.rate,
                "insert_ns": r.median.fill, "hit_ns": r.median.hit, "miss_ns": r.median.miss,
                "rate": r.median.rate, "bits_per_key": r.median.bits_per_key,
            })
        })
        .collect();
    let lines: Vec<Value> = lines
        .iter()
        .map(|l| {
            json!({
                "what": l.what, "peer": l.peer, "ours": l.ours, "theirs": l.theirs,
                "ratio": l.ratio, "best": l.best, "limit": l.limit, "kept": l.kept(),
            })
        })
        .collect();
    json!({ "results": results, "gate": lines })
}

/// Bars: time of a miss for every rival, one group a case.
pub fn svg(results: &[Result]) -> String {
    const LEFT: f64 = 290.0;
    const WIDTH: f64 = 900.0;
    let most = results.iter().map(|r| r.median.miss).fold(1.0, f64::max).log10();
    let at = |ns: f64| ((ns.log10() + 1.0) / (most + 1.0)).max(0.0) * (WIDTH - LEFT - 70.0);
    let mut body = String::new();
    let (mut y, mut case) = (10.0, None);
    for result in results {
        if case != Some(result.case) {
            case = Some(result.case);
            y += 34.0;
            let _ = writeln!(
                body,
                "<text x=\"10\" y=\"{y}\" font-weight=\"bold\">{} u64 keys at {} %: ns per miss, logarithmic</text>",
                size(result.case.items),
                result.case.rate * 100.0
            );
            y += 6.0;
        }
        y += 18.0;
        let ns = result.median.miss;
        let color = if result.name.starts_with("everbloom") { "#1b6ca8" } else { "#b9b9b9" };
        let _ = writeln!(
            body,
            "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{}</text>\n\
             <rect x=\"{LEFT}\" y=\"{}\" width=\"{:.1}\" height=\"13\" fill=\"{color}\"/>\n\
             <text x=\"{:.1}\" y=\"{y}\">{ns:.2}</text>",
            LEFT - 8.0,
            result.name.replace('<', "&lt;").replace('>', "&gt;"),
            y - 11.0,
            at(ns),
            LEFT + at(ns) + 6.0
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n",
        y + 20.0
    )
}
