//! Curves as SVG.

use std::fmt::Write as _;

/// A named line through points (x, y).
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 220.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const COLORS: [&str; 8] =
    ["#1b6ca8", "#d1495b", "#2e933c", "#8d5fd3", "#e08e0b", "#118ab2", "#6b4e16", "#555555"];

/// Curves that fall together show through each other's gaps.
const DASHES: [&str; 3] = ["none", "8 4", "3 4"];

/// Curves over a linear x axis and a logarithmic y axis of whole decades.
pub fn log_curves(title: &str, x_name: &str, y_name: &str, curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|c| c.points.iter().copied()).filter(|p| p.1 > 0.0);
    let x_max = points().map(|p| p.0).fold(1.0, f64::max);
    let low = points().map(|p| p.1).fold(1.0, f64::min).log10().floor();
    let high =
        points().map(|p| p.1).fold(f64::MIN_POSITIVE, f64::max).log10().ceil().max(low + 1.0);
    // The legend may need more room than the picture.
    let legend = TOP + 18.0 * curves.len() as f64 + 10.0;
    let x_at = |x: f64| LEFT + x / x_max * (WIDTH - LEFT - RIGHT);
    let y_at =
        |y: f64| HEIGHT - BOTTOM - (y.log10() - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
        legend.max(HEIGHT),
        escape(title)
    );
    let line = |x1: f64, y1: f64, x2: f64, y2: f64, color: &str| {
        format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\"/>\n"
        )
    };
    // Writing to a string cannot fail.
    let mut decade = low;
    while decade <= high {
        let y = y_at(10f64.powf(decade));
        out += &line(LEFT, y, WIDTH - RIGHT, y, "#dddddd");
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">1e{decade}</text>",
            LEFT - 8.0,
            y + 4.0
        );
        decade += ((high - low) / 8.0).ceil().max(1.0);
    }
    let step = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
        .into_iter()
        .find(|s| x_max / s <= 10.0);
    let step = step.unwrap_or(1000.0);
    let mut x = 0.0;
    while x <= x_max {
        out += &line(x_at(x), HEIGHT - BOTTOM, x_at(x), TOP, "#eeeeee");
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{x}</text>",
            x_at(x),
            HEIGHT - BOTTOM + 18.0
        );
        x += step;
    }
    out += &line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "black");
    out += &line(LEFT, TOP, LEFT, HEIGHT - BOTTOM, "black");
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
         <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 12.0,
        escape(x_name),
        (TOP + HEIGHT - BOTTOM) / 2.0,
        escape(y_name)
    );
    for (i, curve) in curves.iter().enumerate() {
        let (color, dash) = (COLORS[i % COLORS.len()], DASHES[i % DASHES.len()]);
        let style = format!("stroke=\"{color}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"");
        let path: Vec<String> = curve
            .points
            .iter()
            .filter(|p| p.1 > 0.0)
            .map(|p| format!("{:.1},{:.1}", x_at(p.0), y_at(p.1)))
            .collect();
        let y = TOP + 14.0 + 18.0 * i as f64;
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" {style}/>\n\
             <line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>\n\
             <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            path.join(" "),
            WIDTH - RIGHT + 12.0,
            y - 4.0,
            WIDTH - RIGHT + 40.0,
            y - 4.0,
            WIDTH - RIGHT + 46.0,
            escape(&curve.name)
        );
    }
    out + "</svg>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
