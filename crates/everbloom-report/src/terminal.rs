//! Pictures and text in the terminal.

/// How wide the output may be: as `COLUMNS` says, or the terminal. What goes into a pipe may have any width.
pub fn columns() -> Option<u16> {
    let typed = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let shown = || terminal_size::terminal_size_of(std::io::stdout());
    typed.or_else(|| shown().map(|(width, _)| width.0))
}

/// Columns of the smallest usual terminal; prose is no wider, since long lines are hard to read.
const NARROW: usize = 80;

/// Text broken at blanks into lines that fit, all but the first indented.
pub fn wrapped(text: &str, indent: usize) -> String {
    let width = columns().map_or(NARROW, |columns| NARROW.min(columns.into()));
    let mut out = String::new();
    let mut column = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if !out.is_empty() {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out
}

/// A bar of `width` characters, filled to `fraction`.
pub fn bar(fraction: f64, width: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (fraction.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    let mut out = "█".repeat(eighths / 8);
    if eighths / 8 < width {
        out.push(EIGHTHS[eighths % 8]);
        out.push_str(&" ".repeat(width - eighths / 8 - 1));
    }
    out
}

/// A point of a curve: where, what was predicted, what was measured.
pub struct Point {
    /// Where on the x axis.
    pub x: f64,
    /// What was predicted there.
    pub predicted: f64,
    /// What was measured there.
    pub measured: f64,
}

/// Predicted (`·`) and measured (`●`) values over x, on a logarithmic scale of whole decades.
pub fn curve(points: &[Point], height: usize, label: impl Fn(f64) -> String) -> String {
    let values = points.iter().flat_map(|p| [p.predicted, p.measured]).filter(|v| *v > 0.0);
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    let (bottom, top) = (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0));
    let row = |value: f64| {
        let share = (value.max(1e-300).log10() - bottom) / (top - bottom);
        (height as f64 - 1.0 - share.clamp(0.0, 1.0) * (height as f64 - 1.0)).round() as usize
    };
    let mut out = String::new();
    for line in 0..height {
        let decade = top - (top - bottom) * line as f64 / (height as f64 - 1.0);
        out.push_str(&format!("{:>9} │", label(10f64.powf(decade))));
        for point in points {
            let mark = match (row(point.measured) == line, row(point.predicted) == line) {
                (true, _) => " ● ",
                (false, true) => " · ",
                _ => "   ",
            };
            out.push_str(mark);
        }
        out.push('\n');
    }
    out.push_str(&format!("{:>9} └{}\n{:>11}", "", "───".repeat(points.len()), ""));
    for point in points {
        out.push_str(&format!("{:^3}", point.x));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_words_stay() {
        let text = "a bc ".repeat(60);
        let broken = wrapped(text.trim_end(), 10);
        assert!(broken.lines().count() > 4);
        assert!(broken.lines().all(|line| line.chars().count() <= 80), "{broken}");
        assert!(broken.lines().skip(1).all(|line| line.starts_with("          ")), "{broken}");
        assert!(broken.split_whitespace().eq(text.split_whitespace()));
    }

    #[test]
    fn bars_have_one_width_and_grow() {
        let bars: Vec<String> = (0..=100).map(|i| bar(f64::from(i) / 100.0, 10)).collect();
        assert!(bars.iter().all(|b| b.chars().count() == 10));
        assert_eq!(bars[0].trim(), "");
        assert_eq!(bars[50], "█████     ");
        assert_eq!(bars[100], "██████████");
    }

    #[test]
    fn a_curve_has_its_height_and_both_marks() {
        let point = |x: f64| Point { x, predicted: 10f64.powf(-x), measured: 10f64.powf(-x - 1.0) };
        let drawn = curve(&[point(1.0), point(2.0)], 5, |v| format!("{v:.0e}"));
        assert_eq!(drawn.lines().count(), 7);
        assert_eq!(drawn.matches('●').count(), 2);
        assert!(drawn.contains('·'));
    }
}
