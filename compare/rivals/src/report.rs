//! What was measured, as text and JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::gate::{CLOSE, KEPT, Line, MISSED, label};
use crate::measure::{Figure, Result};

/// A table of all rivals of all cases, with ratios to the first.
pub fn table(results: &[Result]) -> String {
    let mut out = String::new();
    for group in results.chunk_by(|a, b| a.case == b.case) {
        let Some(first) = group.first() else { continue };
        let what = "ns per key, and the first one's time as a share of it";
        let _ = write!(out, "\n{} u64 keys: {what}\n{:<38}", label(first.case), "");
        // Of every figure that somebody has, in the order of who has most of them.
        let columns = group.iter().map(|r| &r.median.0).max_by_key(|figures| figures.len());
        let columns: Vec<Figure> = columns.into_iter().flatten().map(|(f, _)| *f).collect();
        for figure in &columns {
            let _ = write!(out, "{:>15}", figure.name());
        }
        out.push('\n');
        for result in group {
            let _ = write!(out, "{:<38}", result.name);
            for figure in &columns {
                let [value, base] = [result, first].map(|r| r.median.get(*figure));
                let _ = write!(out, "{:>15}", cell(*figure, value, base));
            }
            out.push('\n');
        }
    }
    out
}

fn cell(figure: Figure, value: Option<f64>, base: Option<f64>) -> String {
    match (value, base) {
        (None, _) => "-".to_owned(),
        (Some(value), Some(base)) if figure.is_time() => {
            format!("{value:.2} ({:.2})", base / value)
        }
        (Some(value), _) if figure == Figure::BitsPerKey => format!("{value:.2}"),
        (Some(value), _) => format!("{:.4} %", value * 100.0),
    }
}

/// The promises, one a line.
pub fn gate(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(
            out,
            "{:<6} {:<50} {:<37} {:>9.4} / {:>9.4} = {:>5.3} (best {:>5.3}), at most {:.2}",
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
    let result = |r: &Result| {
        let mut value = json!({ "name": r.name, "items": r.case.items, "target": r.case.rate });
        for (figure, median) in &r.median.0 {
            let unit = if figure.is_time() { "_ns" } else { "" };
            value[figure.name().replace(' ', "_") + unit] = json!(median);
        }
        value
    };
    let results: Vec<Value> = results.iter().map(result).collect();
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
