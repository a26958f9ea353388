//! Networks.

use crate::{Drawing, Stroke};

use super::canvas::{Anchor, Canvas};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 420.0;
const TOP: f64 = 60.0;
const LEFT: f64 = 30.0;

/// Lines below dots, the pale ones first, and a legend of what was used.
pub fn drawing(data: &Drawing) -> String {
    let mut canvas = Canvas::new(WIDTH + 2.0 * LEFT, TOP + HEIGHT + 50.0, &data.title);
    let at = |dot: usize| {
        let (x, y) = data.dots[dot].place;
        (LEFT + WIDTH * x, TOP + HEIGHT * y)
    };
    for stroke in [Stroke::Pale, Stroke::Wanted, Stroke::Wrong] {
        let lines = data.lines.iter().filter(|line| line.2 == stroke);
        for &(from, to, _) in lines.filter(|line| line.0.max(line.1) < data.dots.len()) {
            canvas.line(at(from), at(to), style(stroke));
        }
    }
    for (i, dot) in data.dots.iter().enumerate() {
        let (x, y) = at(i);
        let (radius, color) = if dot.name.is_empty() { (2.5, "#777777") } else { (4.5, "black") };
        canvas.push(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{color}\"/>"
        ));
        canvas.text((x, y - 8.0), Anchor::Middle, &dot.name);
    }
    let y = TOP + HEIGHT + 30.0;
    for (i, (stroke, name)) in
        [(Stroke::Wanted, "wanted"), (Stroke::Wrong, "false positive")].into_iter().enumerate()
    {
        let x = LEFT + 160.0 * i as f64;
        canvas.line((x, y), (x + 28.0, y), style(stroke));
        canvas.text((x + 36.0, y + 4.0), Anchor::Start, name);
    }
    canvas.finish()
}

fn style(stroke: Stroke) -> &'static str {
    match stroke {
        Stroke::Pale => "stroke=\"#d8d8d8\" stroke-width=\"1\"",
        Stroke::Wanted => "stroke=\"#1b6ca8\" stroke-width=\"2.5\"",
        Stroke::Wrong => "stroke=\"#c00000\" stroke-width=\"2.5\" stroke-dasharray=\"6 3\"",
    }
}
