//! What was measured, as text and JSON.

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
