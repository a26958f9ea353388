//! What a filter looks like: a line, and a picture for notebooks.

use everbloom::{Filter, Goal, Load, catalog};
use everbloom_report::number::{bytes_text, integer_text, rate_text};
use everbloom_report::{Axis, Bound, Chart, Series, svg};

use crate::goal::like;

/// A line: variant, items, size, rate.
pub fn line(filter: &dyn Filter) -> String {
    let (facts, head) = (filter.facts(), filter.head());
    let mut line = format!("<everbloom {}", facts.slug);
    if facts.forms.len() > 1 {
        line += &format!(" ({})", head.form);
    }
    let size = bytes_text(filter.memory().total().div_ceil(8));
    line += &format!(": {} items in {size}", integer_text(head.items));
    if let Some(rate) = filter.now().passing() {
        line += &format!(", false positives now {}", rate_text(rate));
    }
    line + ">"
}

/// A table of facts, a bar for the fill, and the predicted rate over the number of items.
pub fn html(filter: &dyn Filter, goal: Option<Goal>) -> String {
    let (facts, head, now) = (filter.facts(), filter.head(), filter.now());
    let mut rows = vec![
        ("variant", format!("{} ({})", facts.slug, facts.name)),
        ("items", integer_text(head.items)),
        ("size", bytes_text(filter.memory().total().div_ceil(8))),
    ];
    for (name, rate) in [
        ("false positives now", now.fpr),
        ("false negatives now", now.fnr.filter(|fnr| *fnr > 0.0)),
        ("undecided now", now.undecided),
        ("planned rate", head.fpr),
    ] {
        rows.extend(rate.map(|rate| (name, rate_text(rate))));
    }
    if let Some(fill) = filter.fill() {
        let share = fill * 100.0;
        let bar = format!(
            "<div style='width:16em;border:1px solid #888'><div style='width:{share:.1}%;height:.8em;\
             background:#4477aa'></div></div>{share:.1} %"
        );
        rows.push(("fill", bar));
    }
    let cells = rows.iter().map(|(name, value)| {
        format!("<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{value}</td></tr>")
    });
    let picture = chart(filter, goal.unwrap_or_else(|| like(filter))).unwrap_or_default();
    format!("<div><table>{}</table>{picture}</div>", cells.collect::<String>())
}

/// Points of the curve.
const POINTS: u64 = 40;

/// The predicted rate of such a filter with ever more items, and where this one is; nothing where there is no formula.
fn chart(filter: &dyn Filter, goal: Goal) -> Option<String> {
    let variant = catalog::by_id(filter.facts().id)?;
    let now = filter.now().fpr?;
    let most = 2 * goal.items.unwrap_or(0).max(filter.len()).max(POINTS);
    let rate = |n: u64| variant.expect(&goal, &Load::items(n)).ok().flatten().map(|e| e.fpr);
    let curve: Vec<(f64, f64)> = (1..=POINTS)
        .filter_map(|i| {
            let n = most / POINTS * i;
            rate(n).filter(|rate| *rate > 0.0).map(|rate| (n as f64, rate))
        })
        .collect();
    if curve.len() < 2 {
        return None;
    }
    let mut series = Series { name: "predicted".to_owned(), curve, ..Series::default() };
    if !filter.is_empty() && now > 0.0 {
        series.point(filter.len() as f64, now, now, Bound::exactly(now, now));
    }
    let axes = [Axis::linear("items"), Axis::log("false-positive rate")];
    Some(svg::panel(&everbloom_report::Panel::Chart(Chart::new("", "", axes, vec![series]))))
}
