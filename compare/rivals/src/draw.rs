//! Pictures of what was measured: a plain build and one for this processor side by side, ours in color.
//!
//! Dots on a logarithmic axis, not bars: a bar there has no honest length.

use std::fmt::Write as _;

use serde_json::Value;

use crate::gate::size;
use crate::growth::{Curve, Panel};
use crate::threads::Curve as Timed;

const OURS: &str = "#1b6ca8";
const OTHERS: &str = "#8a8a8a";
const LEFT: f64 = 300.0;
const WIDTH: f64 = 560.0;
const ROW: f64 = 19.0;

/// One rival in one case.
struct Dot {
    name: String,
    items: u64,
    target: f64,
    bits: f64,
    /// Nanoseconds of a hit and a miss together, halved.
    ns: f64,
}

impl Dot {
    fn color(&self) -> &'static str {
        if self.name.starts_with("everbloom") { OURS } else { OTHERS }
    }

    fn name(&self) -> String {
        escaped(&self.name)
    }
}

fn dots(json: &Value) -> Vec<Dot> {
    let results = json["results"].as_array().cloned().unwrap_or_default();
    let number = |result: &Value, field: &str| result[field].as_f64().unwrap_or(f64::NAN);
    let dot = |result: &Value| Dot {
        name: result["name"].as_str().unwrap_or_default().to_owned(),
        items: result["items"].as_u64().unwrap_or(0),
        target: number(result, "target"),
        bits: number(result, "bits_per_key"),
        ns: (number(result, "hit_ns") + number(result, "miss_ns")) / 2.0,
    };
    results.iter().map(dot).collect()
}

/// A logarithmic axis over `from..=to`.
struct Log {
    from: f64,
    to: f64,
}

impl Log {
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let ends = |(from, to): (f64, f64), value: f64| (from.min(value), to.max(value));
        let (from, to) = values.fold((f64::INFINITY, 0.0), ends);
        Self { from: from / 1.2, to: to * 1.2 }
    }

    /// Where a value lies, from 0 to 1.
    fn at(&self, value: f64) -> f64 {
        (value / self.from).ln() / (self.to / self.from).ln()
    }

    fn ticks(&self) -> Vec<f64> {
        let steps = (0..5).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
        steps.filter(|tick| (self.from..self.to).contains(tick)).collect()
    }
}

/// Time of a query for every rival at a rate of 1 %, a panel for each number of keys, the fastest on top:
/// filled dots as a plain build has them, rings as one for this processor.
pub fn queries(plain: &Value, native: &Value) -> String {
    let (plain, native) = (dots(plain), dots(native));
    let mut sizes: Vec<u64> = plain.iter().map(|dot| dot.items).collect();
    sizes.dedup();
    sizes.sort_unstable();
    sizes.dedup();
    let axis = Log::over(plain.iter().chain(&native).map(|dot| dot.ns));
    let x = |ns: f64| LEFT + axis.at(ns) * WIDTH;
    let (mut body, mut y) = (String::new(), 30.0);
    for items in sizes {
        let mut shown: Vec<&Dot> =
            plain.iter().filter(|dot| dot.items == items && dot.target == 0.01).collect();
        shown.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        let _ = writeln!(
            body,
            "<text x=\"10\" y=\"{y}\" font-weight=\"bold\">{} keys at 1 %: ns per query, half of them members</text>",
            size(items)
        );
        let bottom = y + 10.0 + ROW * shown.len() as f64;
        for tick in axis.ticks() {
            let at = x(tick);
            let _ = writeln!(
                body,
                "<line x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\" stroke=\"#e4e4e4\"/>\n\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>",
                y + 8.0,
                bottom + 14.0
            );
        }
        for dot in shown {
            y += ROW;
            let (color, mid) = (dot.color(), y - 4.0);
            let _ = writeln!(
                body,
                "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\" fill=\"{color}\">{}</text>",
                LEFT - 12.0,
                dot.name()
            );
            let same = |other: &&Dot| {
                (&other.name, other.items, other.target) == (&dot.name, items, dot.target)
            };
            if let Some(native) = native.iter().find(same) {
                let _ = writeln!(
                    body,
                    "<circle cx=\"{:.1}\" cy=\"{mid}\" r=\"4.5\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>",
                    x(native.ns)
                );
            }
            let _ = writeln!(
                body,
                "<circle cx=\"{:.1}\" cy=\"{mid}\" r=\"4\" fill=\"{color}\"/>",
                x(dot.ns)
            );
        }
        y = bottom + 50.0;
    }
    let _ = writeln!(
        body,
        "<text x=\"10\" y=\"{y}\" fill=\"#555\">● plain build, ○ compiled for this processor; everbloom is blue</text>"
    );
    page(LEFT + WIDTH + 20.0, y + 20.0, &body)
}

/// Bits per key against time of a query at a million keys and 1 %: small and quick is at the bottom left.
pub fn space_and_time(plain: &Value) -> String {
    let all = dots(plain);
    // One dot for a filter: single calls, as they come.
    let single = |dot: &Dot| !dot.name().contains(", ") && !dot.name().contains("atomic");
    let largest = |dot: &&Dot| dot.items == 1_000_000 && dot.target == 0.01 && single(dot);
    let mut shown: Vec<&Dot> = all.iter().filter(largest).collect();
    shown.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    let axis = Log::over(shown.iter().map(|dot| dot.ns));
    let most = shown.iter().map(|dot| dot.bits).fold(12.0, f64::max) + 3.0;
    let (left, top, width, height) = (60.0, 50.0, 760.0, 460.0);
    let x = |bits: f64| left + (bits - 6.0) / (most - 6.0) * width;
    let y = |ns: f64| top + (1.0 - axis.at(ns)) * height;
    let mut body = String::from(
        "<text x=\"10\" y=\"24\" font-weight=\"bold\">A million keys at 1 %: bits per key and ns per query, plain build</text>\n",
    );
    lines_across(&mut body, axis.ticks(), y, left, width);
    for bits in 6..most as u32 {
        let at = x(f64::from(bits));
        let _ = writeln!(
            body,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{bits}</text>",
            top + height + 18.0
        );
    }
    line_down(&mut body, x(100f64.log2()), top, height, "lower bound at 1 %");
    // Names that would cover each other, or another's dot, move down.
    let mut names: Vec<(f64, f64)> = Vec::new();
    for dot in &shown {
        let (at, color) = ((x(dot.bits), y(dot.ns)), dot.color());
        let mut name = at.1 + 4.0;
        let end = at.0 + 12.0 + 6.0 * dot.name().len() as f64;
        let under = |name: f64, other: &Dot| {
            let (x, y) = (x(other.bits), y(other.ns));
            (at.0 + 1.0..end).contains(&x) && (y - (name - 4.0)).abs() < 10.0
        };
        let covers = |name: f64| {
            names.iter().any(|(x, y)| (x - at.0).abs() < 190.0 && (y - name).abs() < 11.0)
                || shown.iter().any(|other| under(name, other))
        };
        while covers(name) {
            name += 1.0;
        }
        names.push((at.0, name));
        let _ = writeln!(
            body,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4.5\" fill=\"{color}\"/>\n\
             <text x=\"{:.1}\" y=\"{name:.1}\" fill=\"{color}\" font-size=\"11\">{}</text>",
            at.0,
            at.1,
            at.0 + 8.0,
            dot.name()
        );
    }
    page(left + width + 30.0, top + height + 34.0, &body)
}

/// A line and a number at every tick of the vertical axis.
fn lines_across(
    body: &mut String,
    ticks: impl IntoIterator<Item = f64>,
    y: impl Fn(f64) -> f64,
    left: f64,
    width: f64,
) {
    for tick in ticks {
        let at = y(tick);
        let _ = writeln!(
            body,
            "<line x1=\"{left}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#e4e4e4\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            left + width,
            left - 8.0,
            at + 4.0
        );
    }
}

/// A dashed line from the top to the bottom, with its name beside it.
fn line_down(body: &mut String, at: f64, top: f64, height: f64, name: &str) {
    let _ = writeln!(
        body,
        "<line x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{:.1}\" stroke=\"#c00000\" stroke-dasharray=\"5 4\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#c00000\">{name}</text>",
        top + height,
        at + 4.0,
        top + 12.0
    );
}

/// Time of a query by the number of keys, a panel for each kind of filter; dashed lines where it outgrows a cache.
pub fn growth(panels: &[Panel]) -> String {
    let (left, width, height) = (50.0, 560.0, 200.0);
    let all = || panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points);
    let keys = Log::over(all().map(|(items, _)| *items as f64));
    let time = Log::over(all().map(|(_, ns)| *ns));
    let x = |items: f64| left + keys.at(items) * width;
    let (mut body, mut top) = (String::new(), 40.0);
    for panel in panels {
        let y = |ns: f64| top + (1.0 - time.at(ns)) * height;
        let _ = writeln!(
            body,
            "<text x=\"10\" y=\"{:.1}\" font-weight=\"bold\">{}: ns per query by number of keys, at 1 %, plain build</text>",
            top - 14.0,
            panel.title
        );
        lines_across(&mut body, time.ticks(), y, left, width);
        for power in
            (3..12).map(|power| 10f64.powi(power)).filter(|n| (keys.from..keys.to).contains(n))
        {
            let _ = writeln!(
                body,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                x(power),
                top + height + 16.0,
                size(power as u64)
            );
        }
        for (name, items) in panel.steps.iter().filter(|(_, n)| (keys.from..keys.to).contains(n)) {
            line_down(&mut body, x(*items), top, height, name);
        }
        // Names stand where the curves end; those that would cover each other move down.
        let mut ends: Vec<(f64, &Curve)> = panel
            .curves
            .iter()
            .filter_map(|curve| Some((y(curve.points.last()?.1), curve)))
            .collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut lowest = f64::NEG_INFINITY;
        for (end, curve) in ends {
            let color = if curve.name.starts_with("everbloom") { OURS } else { OTHERS };
            let points: Vec<String> = curve
                .points
                .iter()
                .map(|(n, ns)| format!("{:.1},{:.1}", x(*n as f64), y(*ns)))
                .collect();
            lowest = end.max(lowest + 13.0);
            let _ = writeln!(
                body,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\" font-size=\"11\">{}</text>",
                points.join(" "),
                left + width + 8.0,
                lowest + 4.0,
                escaped(curve.name)
            );
        }
        top += height + 70.0;
    }
    page(left + width + 270.0, top - 20.0, &body)
}

/// Seconds by the number of cores; dashed, what they would be if all cores did as much as the first.
pub fn threads(curves: &[Timed]) -> String {
    let (left, top, width, height) = (50.0, 40.0, 560.0, 300.0);
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let ideal = |curve: &Timed, cores: u64| {
        curve.points.first().map_or(1.0, |(first, seconds)| seconds * *first as f64 / cores as f64)
    };
    let ideals = curves.iter().flat_map(|curve| curve.points.iter().map(|p| ideal(curve, p.0)));
    let cores = Log::over(all().map(|(cores, _)| *cores as f64));
    let seconds = Log::over(all().map(|(_, seconds)| *seconds).chain(ideals));
    let (x, y) = (
        |n: f64| left + cores.at(n) * width,
        |seconds_taken: f64| top + (1.0 - seconds.at(seconds_taken)) * height,
    );
    let mut body =
        "<text x=\"10\" y=\"26\" font-weight=\"bold\">Seconds by number of cores</text>\n"
            .to_owned();
    let ticks =
        [0.1, 0.2, 0.5].into_iter().filter(|tick| (seconds.from..seconds.to).contains(tick));
    lines_across(&mut body, ticks.chain(seconds.ticks()), y, left, width);
    for (n, _) in curves.first().into_iter().flat_map(|curve| &curve.points) {
        let (at, below) = (x(*n as f64), top + height + 16.0);
        let _ = writeln!(
            body,
            "<text x=\"{at:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{n}</text>"
        );
    }
    // From the top down, so that names that would cover each other move down in their order.
    let last = |curve: &Timed| curve.points.last().map_or(0.0, |p| y(p.1));
    let mut order: Vec<&Timed> = curves.iter().collect();
    order.sort_by(|a, b| last(a).total_cmp(&last(b)));
    let mut name = f64::NEG_INFINITY;
    for curve in order {
        let line = |of: &dyn Fn(&(u64, f64)) -> f64| {
            let point = |p: &(u64, f64)| format!("{:.1},{:.1}", x(p.0 as f64), y(of(p)));
            curve.points.iter().map(point).collect::<Vec<_>>().join(" ")
        };
        let color = if curve.name == crate::threads::ARITHMETIC { OTHERS } else { OURS };
        name = (last(curve) + 4.0).max(name + 13.0);
        let _ = writeln!(
            body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{OTHERS}\" stroke-dasharray=\"5 4\"/>\n\
             <polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\n\
             <text x=\"{:.1}\" y=\"{name:.1}\" fill=\"{color}\" font-size=\"11\">{}</text>",
            line(&|p| ideal(curve, p.0)),
            line(&|p| p.1),
            left + width + 8.0,
            escaped(curve.name)
        );
    }
    page(left + width + 120.0, top + height + 34.0, &body)
}

fn escaped(name: &str) -> String {
    name.replace('<', "&lt;").replace('>', "&gt;")
}

fn page(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}
