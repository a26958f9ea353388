//! Curves with measured points over two axes, and below them how far the points are off.

use crate::{Chart, Point, Scale, Series, Verdict};

use super::canvas::{Anchor, COLORS, Canvas, text_width};
use super::ruler::Ruler;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 390.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 42.0;
/// Below an axis: its numbers and its name.
const BELOW: f64 = 52.0;
/// The panel of what is left once the prediction is divided out.
const RESIDUES: f64 = 110.0;

/// Curves that fall together show through each other's gaps.
const DASHES: [&str; 3] = ["none", "8 4", "3 4"];

/// The picture of a chart: curves as lines, measurements as dots with their bounds as bars, an arrow where a bound
/// has one side, a cross where a measurement lies outside, a ring where it is zero on a logarithmic axis. Below,
/// measurements over predictions with the bounds as bands.
pub fn chart(chart: &Chart) -> String {
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    let legend = chart.series.iter().map(|s| text_width(&s.name)).fold(0.0, f64::max);
    let curves = || chart.series.iter().flat_map(|s| &s.curve);
    let points = || chart.series.iter().flat_map(|s| &s.points);
    let residues = Residues::of(points());
    let below = if residues.is_some() { BELOW + RESIDUES } else { 0.0 };
    let height = (bottom + BELOW + below).max(TOP + 18.0 * chart.series.len() as f64 + 40.0);
    let mut canvas = Canvas::new(right + 60.0 + legend, height, &chart.title);
    let xs = curves().map(|c| c.0).chain(points().map(|p| p.x));
    let ys = curves().map(|c| c.1).chain(points().map(|p| p.verdict.measured));
    let x = Ruler::new(chart.x.scale, xs, LEFT, right);
    let y = Ruler::new(chart.y.scale, ys, bottom, TOP);
    axes(&mut canvas, (&x, &chart.x.name), (&y, &chart.y.name), (TOP, bottom));
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
    if let Some(residues) = residues {
        residues.draw(&mut canvas, chart, &x, bottom + BELOW);
    }
    canvas.finish()
}

fn axes(
    canvas: &mut Canvas,
    (x, x_name): (&Ruler, &str),
    (y, y_name): (&Ruler, &str),
    (top, bottom): (f64, f64),
) {
    let right = LEFT + WIDTH;
    let grid = "stroke=\"#e4e4e4\"";
    for (value, name) in y.ticks() {
        canvas.line((LEFT, y.at(value)), (right, y.at(value)), grid);
        canvas.text((LEFT - 8.0, y.at(value) + 4.0), Anchor::End, &name);
    }
    for value in y.minor() {
        canvas.line((LEFT, y.at(value)), (LEFT + 4.0, y.at(value)), "stroke=\"black\"");
    }
    for (value, name) in x.ticks() {
        canvas.line((x.at(value), bottom), (x.at(value), top), grid);
        canvas.text((x.at(value), bottom + 18.0), Anchor::Middle, &name);
    }
    for value in x.minor() {
        canvas.line((x.at(value), bottom), (x.at(value), bottom - 4.0), "stroke=\"black\"");
    }
    canvas.line((LEFT, bottom), (right, bottom), "stroke=\"black\"");
    canvas.line((LEFT, top), (LEFT, bottom), "stroke=\"black\"");
    canvas.text(((LEFT + right) / 2.0, bottom + 40.0), Anchor::Middle, x_name);
    canvas.text_upwards((18.0, (top + bottom) / 2.0), y_name);
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
        bar(canvas, px, verdict.bound, y, color);
        let at = (px, y.at(verdict.measured));
        if y.shows(verdict.measured) || !verdict.pass {
            canvas.mark(at, color, verdict.pass);
        } else {
            canvas.ring(at, color);
        }
    }
}

/// A bound as a bar; one with an open side as an end stroke with an arrow to that side.
fn bar(canvas: &mut Canvas, x: f64, bound: (Option<f64>, Option<f64>), y: &Ruler, color: &str) {
    const ARROW: f64 = 14.0;
    let style = format!("stroke=\"{color}\" stroke-width=\"1\"");
    let (from, to) = match bound {
        (Some(low), Some(high)) => return canvas.line((x, y.at(low)), (x, y.at(high)), &style),
        // Pixels grow downwards: what is allowed is below a greatest value, and above a least one.
        (None, Some(high)) => (y.at(high), ARROW),
        (Some(low), None) => (y.at(low), -ARROW),
        (None, None) => return,
    };
    canvas.line((x - 4.0, from), (x + 4.0, from), &style);
    canvas.line((x, from), (x, from + to), &style);
    let head = to.signum() * 4.0;
    canvas.push(format_args!(
        "<path d=\"M{:.1} {:.1} L{x:.1} {:.1} L{:.1} {:.1}\" fill=\"none\" {style}/>",
        x - 3.0,
        from + to - head,
        from + to,
        x + 3.0,
        from + to - head
    ));
}

/// Measured over predicted, and how far the picture of it reaches to both sides of 1.
struct Residues {
    reach: f64,
}

/// A value as a share of the prediction.
fn share(verdict: &Verdict, value: f64) -> f64 {
    value / verdict.predicted
}

impl Residues {
    /// None where no prediction can be divided by.
    fn of<'a>(points: impl Iterator<Item = &'a Point>) -> Option<Self> {
        let off = |point: &Point| {
            let Verdict { predicted, measured, bound, .. } = point.verdict;
            let ends = [Some(measured), bound.0, bound.1].into_iter().flatten();
            let far = ends.map(|v| (v / predicted - 1.0).abs()).fold(0.0, f64::max);
            (predicted != 0.0 && far.is_finite()).then_some(far)
        };
        let far = points
            .filter_map(off)
            .fold(None, |most: Option<f64>, far| Some(most.map_or(far, |most| most.max(far))))?;
        // Twice the prediction and none of it fill the picture; exact agreement is a line through its middle.
        Some(Self { reach: far.clamp(1e-3, 1.0) })
    }

    fn draw(&self, canvas: &mut Canvas, chart: &Chart, x: &Ruler, top: f64) {
        let bottom = top + RESIDUES;
        let ends = [1.0 - self.reach, 1.0 + self.reach];
        let y = Ruler::new(Scale::Linear, ends.into_iter(), bottom, top);
        axes(canvas, (x, &chart.x.name), (&y, "measured/predicted"), (top, bottom));
        canvas.line((LEFT, y.at(1.0)), (LEFT + WIDTH, y.at(1.0)), "stroke=\"#333333\"");
        for (i, series) in chart.series.iter().enumerate() {
            let color = COLORS[i % COLORS.len()];
            for Point { x: at, verdict } in &series.points {
                if verdict.predicted == 0.0 {
                    continue;
                }
                let px = x.at(*at);
                let low = verdict.bound.0.map_or(bottom, |low| y.at(share(verdict, low)));
                let high = verdict.bound.1.map_or(top, |high| y.at(share(verdict, high)));
                let band = format!("stroke=\"{color}\" stroke-width=\"7\" stroke-opacity=\"0.2\"");
                canvas.line((px, low), (px, high.min(low - 1.0)), &band);
                canvas.mark((px, y.at(share(verdict, verdict.measured))), color, verdict.pass);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Bound};

    fn picture(bound: Bound, predicted: f64) -> String {
        let mut series = Series::new("s", [1.0, 100.0], |x| x);
        series.point(10.0, predicted, 9.0, bound);
        let axis = || Axis::log("x");
        chart(&Chart::new("", "", [axis(), axis()], [series]))
    }

    #[test]
    fn residues_are_drawn_where_there_is_something_to_divide_by() {
        assert!(picture(Bound::between(8.0, 12.0), 10.0).contains("measured/predicted"));
        assert!(!picture(Bound::at_most(12.0), 0.0).contains("measured/predicted"));
    }

    #[test]
    fn a_bound_with_an_open_side_is_an_arrow() {
        assert!(!picture(Bound::between(8.0, 12.0), 10.0).contains("<path"));
        assert!(picture(Bound::at_most(12.0), 10.0).contains("<path"));
        assert!(picture(Bound::at_least(8.0), 10.0).contains("<path"));
    }
}
