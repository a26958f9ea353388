//! Tables of capabilities.

use crate::{Cell, Matrix, Shown};

use super::canvas::{Anchor, Canvas, WRONG, text_width};

const LINE: f64 = 20.0;
const TOP: f64 = 70.0;

/// What was seen, and colors for it.
const KEYS: [(Shown, &str, &str); 5] = [
    (Shown::Works, "#d9efdc", "works, shown by a test"),
    (Shown::Depends, "#e6f0c2", "depends, both cases shown"),
    (Shown::Fails, "#f6d5d8", "fails, with a counterexample"),
    (Shown::NotOffered, "#eeeeee", "not supported here"),
    (Shown::Unseen, "#ffffff", "cannot be tested"),
];
const CONTRADICTED: &str = "#fbc27a";

/// Each cell has what was seen and, behind it, the survey's flag. Orange: the opposite of what the survey says; red:
/// not as anybody expects.
pub fn matrix(data: &Matrix) -> String {
    let left = 16.0 + data.rows.iter().map(|r| text_width(&r.0)).fold(60.0, f64::max) + 12.0;
    let texts = data.rows.iter().flat_map(|r| &r.1).map(|cell| text_width(&text(cell)));
    let names = data.columns.iter().map(|c| text_width(c));
    let column = texts.chain(names).fold(56.0, f64::max) + 12.0;
    let right = left + column * data.columns.len() as f64;
    let bottom = TOP + LINE * data.rows.len() as f64;
    let mut canvas = Canvas::new(right.max(760.0) + 16.0, bottom + 64.0, &data.title);
    for (i, name) in data.columns.iter().enumerate() {
        canvas.text((left + column * (i as f64 + 0.5), TOP - 10.0), Anchor::Middle, name);
    }
    for (j, (name, cells)) in data.rows.iter().enumerate() {
        let y = TOP + LINE * j as f64;
        canvas.text((left - 12.0, y + 14.0), Anchor::End, name);
        for (i, cell) in cells.iter().enumerate() {
            draw(&mut canvas, cell, (left + column * i as f64, y), column);
        }
    }
    let mut x = 16.0;
    let contradicted = (CONTRADICTED, "the survey says the opposite");
    for (fill, text) in KEYS.iter().map(|key| (key.1, key.2)).chain([contradicted]) {
        canvas.push(format_args!(
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"14\" height=\"14\" fill=\"{fill}\" stroke=\"#bbbbbb\"/>",
            bottom + 16.0
        ));
        canvas.text((x + 20.0, bottom + 27.0), Anchor::Start, text);
        x += text_width(text) + 34.0;
    }
    let note = "In brackets: the survey's own mark; – where it has none.";
    canvas.text((16.0, bottom + 50.0), Anchor::Start, note);
    canvas.finish()
}

fn text(cell: &Cell) -> String {
    match cell.said {
        Some(said) => format!("{} ({})", cell.shown.name(), said.name()),
        None => cell.shown.name().to_owned(),
    }
}

fn draw(canvas: &mut Canvas, cell: &Cell, (x, y): (f64, f64), width: f64) {
    let fill = match cell.said {
        _ if !cell.pass => WRONG,
        Some(said) if cell.shown.contradicts(said) => CONTRADICTED,
        _ => KEYS.iter().find(|key| key.0 == cell.shown).map_or("#ffffff", |key| key.1),
    };
    canvas.push(format_args!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{LINE}\" fill=\"{fill}\" stroke=\"#bbbbbb\"/>"
    ));
    canvas.text((x + width / 2.0, y + 14.0), Anchor::Middle, &text(cell));
}
