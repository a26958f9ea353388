//! What every picture is made of: lines, texts and marks.

use std::fmt::Write as _;

use crate::markup::escape;

/// Colors that stay apart on white, also for most people who see fewer of them.
pub const COLORS: [&str; 8] =
    ["#1b6ca8", "#d1495b", "#2e933c", "#8d5fd3", "#e08e0b", "#118ab2", "#6b4e16", "#555555"];

/// The color of what disagrees with its prediction.
pub const WRONG: &str = "#c00000";

/// An SVG document being written.
pub struct Canvas {
    body: String,
    width: f64,
    height: f64,
}

/// Where a text hangs on its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        let mut canvas = Self { body: String::new(), width, height };
        canvas.push(format_args!(
            "<text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{}</text>",
            escape(title)
        ));
        canvas
    }

    /// Adds an element.
    pub fn push(&mut self, element: std::fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), style: &str) {
        self.push(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>"
        ));
    }

    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.push(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escape(text)
        ));
    }

    /// A text that reads upwards, for the vertical axis.
    pub fn text_upwards(&mut self, (x, y): (f64, f64), text: &str) {
        self.push(format_args!(
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escape(text)
        ));
    }

    /// A measurement: a dot, or a cross where it disagrees.
    pub fn mark(&mut self, (x, y): (f64, f64), color: &str, pass: bool) {
        if pass {
            self.push(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" fill=\"{color}\" stroke=\"white\" stroke-width=\"0.6\"/>"
            ));
        } else {
            self.push(format_args!(
                "<path d=\"M{:.1} {:.1} l10 10 m-10 0 l10 -10\" stroke=\"{WRONG}\" stroke-width=\"2.5\"/>",
                x - 5.0,
                y - 5.0
            ));
        }
    }

    /// A measurement that the axis cannot show, at its end: a ring.
    pub fn ring(&mut self, (x, y): (f64, f64), color: &str) {
        self.push(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" fill=\"white\" stroke=\"{color}\" stroke-width=\"1.2\"/>"
        ));
    }

    pub fn finish(self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" width=\"{:.0}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
            self.width, self.height, self.width, self.body
        )
    }
}

/// About how wide a text is, in pixels.
pub fn text_width(text: &str) -> f64 {
    6.6 * text.chars().count() as f64
}
