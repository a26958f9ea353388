//! Verdicts one below the other.

use crate::{Row, Rows};

use super::canvas::{Anchor, COLORS, Canvas, text_width};
use super::ruler::Ruler;
use crate::number::short_text;

const WIDTH: f64 = 380.0;
const LINE: f64 = 22.0;
const TOP: f64 = 62.0;

/// Each row: its label, the bound as a bar, the prediction as a stroke, the measurement as a dot, and
/// both numbers.
pub fn rows(data: &Rows) -> String {
    let left = 16.0 + data.rows.iter().map(|r| text_width(&r.label)).fold(60.0, f64::max) + 12.0;
    let right = left + WIDTH;
    let bottom = TOP + LINE * data.rows.len() as f64;
    let mut canvas = Canvas::new(right + 200.0, bottom + 56.0, &data.title);
    let values = data.rows.iter().flat_map(|r| [r.verdict.predicted, r.verdict.measured]);
    let ruler = Ruler::new(data.value.scale, values, left, right);
    for (value, name) in ruler.ticks() {
        let at = ruler.at(value);
        canvas.line((at, TOP - 6.0), (at, bottom), "stroke=\"#e4e4e4\"");
        canvas.text((at, bottom + 18.0), Anchor::Middle, &name);
    }
    canvas.line((left, bottom), (right, bottom), "stroke=\"black\"");
    canvas.text(((left + right) / 2.0, bottom + 40.0), Anchor::Middle, &data.value.name);
    canvas.text((right + 96.0, TOP - 12.0), Anchor::End, "predicted");
    canvas.text((right + 184.0, TOP - 12.0), Anchor::End, "measured");
    for (i, row) in data.rows.iter().enumerate() {
        let y = TOP + LINE * (i as f64 + 0.5);
        draw(&mut canvas, row, &ruler, (left, right, y));
    }
    canvas.finish()
}

fn draw(canvas: &mut Canvas, row: &Row, ruler: &Ruler, (left, right, y): (f64, f64, f64)) {
    let verdict = &row.verdict;
    canvas.text((left - 12.0, y + 4.0), Anchor::End, &row.label);
    let low = verdict.bound.0.map_or(left, |low| ruler.at(low));
    let high = verdict.bound.1.map_or(right, |high| ruler.at(high));
    canvas.line((low, y), (high.max(low + 1.0), y), "stroke=\"#cfe0ee\" stroke-width=\"10\"");
    let at = ruler.at(verdict.predicted);
    canvas.line((at, y - 7.0), (at, y + 7.0), "stroke=\"#333333\" stroke-width=\"1.5\"");
    let at = (ruler.at(verdict.measured), y);
    if ruler.shows(verdict.measured) || !verdict.pass {
        canvas.mark(at, COLORS[0], verdict.pass);
    } else {
        canvas.ring(at, COLORS[0]);
    }
    canvas.text((right + 96.0, y + 4.0), Anchor::End, &short_text(verdict.predicted));
    canvas.text((right + 184.0, y + 4.0), Anchor::End, &short_text(verdict.measured));
}
