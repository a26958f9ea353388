//! Values along an axis, with ticks at round numbers.

use crate::Scale;
use crate::number::short_text;

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
                step = round_step(high - low, low, (to - from).abs() / ROOM);
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
                (first..=last).map(|i| i as f64 * self.step).map(|v| (v, short_text(v))).collect()
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
                    .map(|v| (v, short_text(v)))
                    .collect()
            }
        }
    }
}

impl Ruler {
    /// The values of short strokes without names: 2 to 9 times the powers of ten, while those are not too many.
    pub fn minor(&self) -> Vec<f64> {
        if self.scale == Scale::Linear || self.high - self.low > 9.0 {
            return Vec::new();
        }
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let values = decades.flat_map(|d| (2..10).map(move |f| f64::from(f) * 10f64.powi(d)));
        values.filter(|v| v.log10() > self.low && v.log10() < self.high).collect()
    }
}

fn place(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Log => value.log10(),
    }
}

/// Pixels between two ticks, for their names not to touch.
const ROOM: f64 = 18.0;

/// A round step that makes five to ten ticks of a range, or fewer where there is no room for so many.
fn round_step(range: f64, low: f64, most: f64) -> f64 {
    let range = if range > 0.0 { range } else { low.abs().max(1.0) };
    let rough = range / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0].map(|factor| factor * power);
    let finest = steps.into_iter().rfind(|step| *step <= rough).unwrap_or(power);
    // The ends are rounded outwards, which adds a tick at either side.
    let fits = |step: &f64| range / step + 2.0 <= most;
    steps.into_iter().find(|step| *step >= finest && fits(step)).unwrap_or(finest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        let ticks = |ruler: &Ruler| ruler.ticks().into_iter().map(|t| t.0).collect::<Vec<_>>();
        let ruler = Ruler::new(Scale::Linear, [3.0, 97.0].into_iter(), 0.0, 400.0);
        let every_ten = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0];
        assert_eq!(ticks(&ruler), every_ten);
        assert_eq!(ruler.at(50.0), 200.0);
        let short = Ruler::new(Scale::Linear, [3.0, 97.0].into_iter(), 100.0, 0.0);
        assert_eq!(ticks(&short), [0.0, 50.0, 100.0], "names that do not touch");
        let log = Ruler::new(Scale::Log, [0.002, 0.7].into_iter(), 100.0, 0.0);
        let ticks: Vec<String> = log.ticks().into_iter().map(|t| t.1).collect();
        assert_eq!(ticks, ["0.001", "0.01", "0.1", "1"]);
        assert_eq!((log.at(1.0), log.at(0.001), log.at(0.0)), (0.0, 100.0, 100.0));
        assert_eq!((log.minor().len(), ruler.minor().len()), (24, 0));
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
