//! Curves with measured points over two axes.

use crate::{Chart, Point, Series};

use super::canvas::{Anchor, COLORS, Canvas, text_width};
use super::ruler::Ruler;

const PLOT: (f64, f64) = (560.0, 390.0);
const LEFT: f64 = 76.0;
const TOP: f64 = 42.0;
const BOTTOM: f64 = 52.0;

/// Curves that fall together show through each other's gaps.
const DASHES: [&str; 3] = ["none", "8 4", "3 4"];

/// The picture of a chart: curves as lines, measurements as dots with their bounds as bars, a cross
/// where a measurement lies outside, a ring where it is zero on a logarithmic axis.
pub fn chart(chart: &Chart) -> String {
    let (right, bottom) = (LEFT + PLOT.0, TOP + PLOT.1);
    let legend = chart.series.iter().map(|s| text_width(&s.name)).fold(0.0, f64::max);
    let height = (bottom + BOTTOM).max(TOP + 18.0 * chart.series.len() as f64 + 40.0);
    let mut canvas = Canvas::new(right + 60.0 + legend, height, &chart.title);
    let curves = || chart.series.iter().flat_map(|s| &s.curve);
    let points = || chart.series.iter().flat_map(|s| &s.points);
    let xs = curves().map(|c| c.0).chain(points().map(|p| p.x));
    let ys = curves().map(|c| c.1).chain(points().map(|p| p.verdict.measured));
    let x = Ruler::new(chart.x.scale, xs, LEFT, right);
    let y = Ruler::new(chart.y.scale, ys, bottom, TOP);
    axes(&mut canvas, chart, &x, &y);
    for (i, series) in chart.series.iter().enumerate() {
        let (color, dash) = (COLORS[i % COLORS.len()], DASHES[i % DASHES.len()]);
        let style = format!(
            "fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\" stroke-dasharray=\"{dash}\""
        );
        draw(&mut canvas, series, (&x, &y), color, &style);
        let at = TOP + 14.0 + 18.0 * i as f64;
        if !series.curve.is_empty() {
            canvas.line((right + 12.0, at - 4.0), (right + 40.0, at - 4.0), &style);
        }
        if !series.points.is_empty() {
            canvas.mark((right + 26.0, at - 4.0), color, true);
        }
        canvas.text((right + 46.0, at), Anchor::Start, &series.name);
    }
    canvas.finish()
}

fn axes(canvas: &mut Canvas, chart: &Chart, x: &Ruler, y: &Ruler) {
    let (right, bottom) = (LEFT + PLOT.0, TOP + PLOT.1);
    let grid = "stroke=\"#e4e4e4\"";
    for (value, name) in y.ticks() {
        canvas.line((LEFT, y.at(value)), (right, y.at(value)), grid);
        canvas.text((LEFT - 8.0, y.at(value) + 4.0), Anchor::End, &name);
    }
    for (value, name) in x.ticks() {
        canvas.line((x.at(value), bottom), (x.at(value), TOP), grid);
        canvas.text((x.at(value), bottom + 18.0), Anchor::Middle, &name);
    }
    canvas.line((LEFT, bottom), (right, bottom), "stroke=\"black\"");
    canvas.line((LEFT, TOP), (LEFT, bottom), "stroke=\"black\"");
    canvas.text(((LEFT + right) / 2.0, bottom + 40.0), Anchor::Middle, &chart.x.name);
    canvas.text_upwards((18.0, (TOP + bottom) / 2.0), &chart.y.name);
}

fn draw(canvas: &mut Canvas, series: &Series, (x, y): (&Ruler, &Ruler), color: &str, style: &str) {
    let path: Vec<String> = series
        .curve
        .iter()
        .filter(|(at, value)| x.shows(*at) && y.shows(*value))
        .map(|(at, value)| format!("{:.1},{:.1}", x.at(*at), y.at(*value)))
        .collect();
    if !path.is_empty() {
        canvas.push(format_args!("<polyline points=\"{}\" {style}/>", path.join(" ")));
    }
    for Point { x: at, verdict } in &series.points {
        let px = x.at(*at);
        if let (Some(low), Some(high)) = verdict.bound {
            let bar = format!("stroke=\"{color}\" stroke-width=\"1\"");
            canvas.line((px, y.at(low)), (px, y.at(high)), &bar);
        }
        let at = (px, y.at(verdict.measured));
        if y.shows(verdict.measured) || !verdict.pass {
            canvas.mark(at, color, verdict.pass);
        } else {
            canvas.ring(at, color);
        }
    }
}
