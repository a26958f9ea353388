//! Tables of capabilities.

use crate::{Cell, Flag, Matrix};

use super::canvas::{Anchor, Canvas, WRONG, text_width};

const LINE: f64 = 20.0;
const TOP: f64 = 70.0;

/// Green where the check shows what the survey says, orange where it shows the survey wrong, white
/// where the survey says nothing, red where the check came out as nobody expects.
pub fn matrix(data: &Matrix) -> String {
    let left = 16.0 + data.rows.iter().map(|r| text_width(&r.0)).fold(60.0, f64::max) + 12.0;
    let column = data.columns.iter().map(|c| text_width(c)).fold(56.0, f64::max) + 12.0;
    let right = left + column * data.columns.len() as f64;
    let bottom = TOP + LINE * data.rows.len() as f64;
    let mut canvas = Canvas::new(right.max(620.0) + 16.0, bottom + 44.0, &data.title);
    for (i, name) in data.columns.iter().enumerate() {
        canvas.text((left + column * (i as f64 + 0.5), TOP - 10.0), Anchor::Middle, name);
    }
    for (j, (name, cells)) in data.rows.iter().enumerate() {
        let y = TOP + LINE * j as f64;
        canvas.text((left - 12.0, y + 14.0), Anchor::End, name);
        for (i, cell) in cells.iter().enumerate() {
            let x = left + column * i as f64;
            draw(&mut canvas, cell.as_ref(), (x, y), column);
        }
    }
    let keys = [("#d9efdc", "as the survey says"), ("#fbdcb0", "the survey is wrong")];
    let mut x = left;
    for (fill, text) in keys.into_iter().chain([("#ffffff", "not in the survey")]) {
        canvas.push(format_args!(
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"14\" height=\"14\" fill=\"{fill}\" stroke=\"#bbbbbb\"/>",
            bottom + 16.0
        ));
        canvas.text((x + 20.0, bottom + 27.0), Anchor::Start, text);
        x += text_width(text) + 40.0;
    }
    canvas.finish()
}

fn draw(canvas: &mut Canvas, cell: Option<&Cell>, (x, y): (f64, f64), width: f64) {
    let fill = match cell {
        None => "#f4f4f4",
        Some(cell) if !cell.pass => WRONG,
        Some(cell) => match cell.said {
            None => "#ffffff",
            Some(said) if said == cell.shown => "#d9efdc",
            Some(_) => "#fbdcb0",
        },
    };
    canvas.push(format_args!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{LINE}\" fill=\"{fill}\" stroke=\"#bbbbbb\"/>"
    ));
    let Some(cell) = cell else { return };
    let name = |flag| if flag == Flag::Yes { "yes" } else { "no" };
    let text = match cell.said {
        Some(said) if said != cell.shown => format!("{} (said {})", name(cell.shown), name(said)),
        _ => name(cell.shown).to_owned(),
    };
    canvas.text((x + width / 2.0, y + 14.0), Anchor::Middle, &text);
}
