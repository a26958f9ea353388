//! `--plot` and `--svg`: rates over bits per key.

use everbloom::choose::Candidate;
use everbloom::internals::theory::bound;
use everbloom_report::number::rate_text;
use everbloom_report::{Axis, Chart, Curve, Series, svg, terminal};

use super::name;
use crate::args::Plan;

/// Curves of a picture, the lower bound not counted.
const MOST_CURVES: usize = 6;

/// The lower bound, and rate over bits per key of the first candidates that differ: as many as a picture holds, or the
/// best alone for the terminal. Candidates that are the standard filter in other clothes share its curve.
pub(super) fn curves(candidates: &[Candidate], args: &Plan) -> Vec<Series> {
    let n = args.size.items.unwrap_or_else(|| candidates[0].items).min(1_000_000);
    let most = if args.svg.is_some() { MOST_CURVES } else { 1 };
    let mut out = vec![Series::new("lower bound", (1..=24).map(f64::from), bound::least_fpr)];
    let mut shared = vec![0; most + 1];
    for c in candidates {
        if out.len() > most {
            break;
        }
        let rate = |bits: u64| c.rate_at(n, n * bits).map(|fpr| (bits as f64, fpr));
        let curve: Curve = (1..=24).filter_map(rate).collect();
        if let Some(same) = out.iter().position(|series| alike(&series.curve, &curve)) {
            shared[same] += 1;
        } else if curve.len() > 1 {
            out.push(Series { name: name(c), curve, ..Series::default() });
        }
    }
    for (series, others) in out.iter_mut().zip(shared).filter(|(_, others)| *others > 0) {
        series.name += &format!(" and {others} more");
    }
    out
}

/// Whether two curves can't be told apart in a picture.
fn alike(a: &[(f64, f64)], b: &[(f64, f64)]) -> bool {
    let near = |((x, p), (y, q)): (&(f64, f64), &(f64, f64))| x == y && (p / q - 1.0).abs() < 0.05;
    a.len() == b.len() && a.iter().zip(b).all(near)
}

pub(super) fn plot(curves: &[Series]) -> String {
    let Some(best) = curves.get(1) else { return String::new() };
    let points: Vec<terminal::Point> = best
        .curve
        .iter()
        .map(|(x, y)| terminal::Point { x: *x, predicted: bound::least_fpr(*x), measured: *y })
        .collect();
    format!(
        "\nrate against bits per key: ● {}, · the lower bound\n\n{}\n",
        best.name,
        terminal::curve(&points, 16, rate_text)
    )
}

/// The picture that `--svg` asks for.
pub(super) fn svg(curves: &[Series]) -> String {
    svg::chart(&Chart::new(
        "",
        "False-positive rate",
        [Axis::linear("bits per key"), Axis::log("rate")],
        curves.to_vec(),
    ))
}
