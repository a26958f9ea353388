//! What every picture is made of: lines, texts, and scales with ticks at round numbers.

use std::fmt::Write as _;

use everbloom_lab::Scale;

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

/// Values laid along a stretch of pixels.
pub struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    /// Between the ticks of a linear scale.
    step: f64,
    from: f64,
    to: f64,
}

impl Ruler {
    /// A ruler that shows all `values` between the pixels `from` and `to`.
    pub fn new(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let values = values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0));
        let placed = values.map(|v| place(scale, v));
        let (low, high) = placed
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let mut step = 1.0;
        let (low, high) = match scale {
            // An axis that starts near zero starts at zero.
            Scale::Linear => {
                let low = if low > 0.0 && low < 0.4 * high { 0.0 } else { low };
                step = round_step(high - low, low);
                ((low / step).floor() * step, (high / step - 1e-9).ceil() * step)
            }
            // Whole decades, or as far as the values go where those would be mostly empty.
            Scale::Log if high - low > 1.0 => ((low + 1e-9).floor(), (high - 1e-9).ceil()),
            Scale::Log => (low - 0.05, high + 0.05),
        };
        let high = if high - low < 1e-12 { low + 1.0 } else { high };
        Self { scale, low, high, step, from, to }
    }

    /// The pixel of a value; values outside lie on the end.
    pub fn at(&self, value: f64) -> f64 {
        if self.scale == Scale::Log && value <= 0.0 {
            return self.from;
        }
        let share = (place(self.scale, value) - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Whether a value can be drawn.
    pub fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    /// Round values with their names.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Linear => {
                let first = (self.low / self.step).round() as i64;
                let last = (self.high / self.step).round() as i64;
                (first..=last).map(|i| i as f64 * self.step).map(|v| (v, number(v))).collect()
            }
            Scale::Log => {
                let decades = self.high - self.low;
                let factors: &[f64] = if decades > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
                let skip = (decades / 9.0).ceil().max(1.0) as i32;
                let first = self.low.floor() as i32;
                (first..=self.high.ceil() as i32)
                    .filter(|decade| (decade - first) % skip == 0)
                    .flat_map(|decade| factors.iter().map(move |f| f * 10f64.powi(decade)))
                    .filter(|v| {
                        let at = v.log10();
                        at >= self.low - 1e-9 && at <= self.high + 1e-9
                    })
                    .map(|v| (v, number(v)))
                    .collect()
            }
        }
    }
}

fn place(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Log => value.log10(),
    }
}

/// A round step that makes five to ten ticks of a range.
fn round_step(range: f64, low: f64) -> f64 {
    let range = if range > 0.0 { range } else { low.abs().max(1.0) };
    let rough = range / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|f| f * power).rfind(|s| *s <= rough).unwrap_or(power)
}

/// A number in few characters, to four digits.
pub fn number(v: f64) -> String {
    let size = v.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e6).contains(&size) {
        let text = format!("{v:.2e}");
        // 1.00e-5 reads better as 1e-5.
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        return format!("{digits}e{power}");
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 7) as usize;
    let text = format!("{v:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> =
            [0.0, 1.0, 0.5, 0.0123456, 1e-9, 1.37e-15, 123456.0, -2.5, 0.1 + 0.2, 1e6]
                .into_iter()
                .map(number)
                .collect();
        assert_eq!(
            shown,
            ["0", "1", "0.5", "0.01235", "1e-9", "1.37e-15", "123456", "-2.5", "0.3", "1e6"]
        );
    }

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        let ruler = Ruler::new(Scale::Linear, [3.0, 97.0].into_iter(), 0.0, 100.0);
        let ticks: Vec<f64> = ruler.ticks().into_iter().map(|t| t.0).collect();
        assert_eq!(ticks, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]);
        assert_eq!(ruler.at(50.0), 50.0);
        let log = Ruler::new(Scale::Log, [0.002, 0.7].into_iter(), 100.0, 0.0);
        let ticks: Vec<String> = log.ticks().into_iter().map(|t| t.1).collect();
        assert_eq!(ticks, ["0.001", "0.01", "0.1", "1"]);
        assert_eq!((log.at(1.0), log.at(0.001), log.at(0.0)), (0.0, 100.0, 100.0));
    }

    #[test]
    fn a_ruler_of_nothing_or_of_one_value_still_measures() {
        for values in [vec![], vec![5.0], vec![0.0], vec![f64::NAN]] {
            for scale in [Scale::Linear, Scale::Log] {
                let ruler = Ruler::new(scale, values.iter().copied(), 0.0, 10.0);
                assert!(ruler.at(5.0).is_finite());
                assert!(ruler.ticks().len() < 50);
            }
        }
    }
}
