//! Numbers for people.

/// A number in few characters, to four digits.
pub fn short_text(v: f64) -> String {
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

/// Bytes for people: `1.2 MB`.
pub fn bytes_text(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{} {}", three_digits(value), units[unit])
    }
}

/// A rate for people: `1.00 %`, `3.2e-7`.
pub fn rate_text(rate: f64) -> String {
    match rate {
        0.0 => "0".to_owned(),
        r if r >= 1e-5 => format!("{} %", three_digits(r * 100.0)),
        r => format!("{r:.2e}"),
    }
}

/// A whole number with its thousands apart: `9 585 060`.
pub fn integer_text(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out
}

fn three_digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.9995 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> =
            [0.0, 1.0, 0.5, 0.0123456, 1e-9, 1.37e-15, 123456.0, -2.5, 0.1 + 0.2, 1e6]
                .into_iter()
                .map(short_text)
                .collect();
        assert_eq!(
            shown,
            ["0", "1", "0.5", "0.01235", "1e-9", "1.37e-15", "123456", "-2.5", "0.3", "1e6"]
        );
    }

    #[test]
    fn figures_have_three_digits_also_where_rounding_adds_one() {
        assert_eq!(rate_text(0.009_999), "1.00 %");
        assert_eq!(rate_text(0.099_99), "10.0 %");
        assert_eq!(rate_text(0.000_994), "0.099 %");
        assert_eq!(bytes_text(999_999), "1.00 MB");
        assert_eq!(bytes_text(999), "999 B");
        assert_eq!(integer_text(1_234_567), "1\u{2009}234\u{2009}567");
    }
}
