//! Numbers as people write them: `10M`, `1%`, `1/1000`, `100MB`.

/// A count: `10M`, `1.5G`, `2e6`, `1_000`.
pub fn count(text: &str) -> Result<u64, String> {
    let value = scaled(text, 1000.0, "")?;
    whole(value).ok_or_else(|| format!("{text:?} is not a whole number; write 1000000, 1M or 1e6"))
}

/// A count as [`count`] reads it, as short as it can be written exactly.
pub fn short(count: u64) -> String {
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")];
    let unit = units.iter().find(|(size, _)| count > 0 && count.is_multiple_of(*size));
    unit.map_or_else(|| count.to_string(), |(size, name)| format!("{}{name}", count / size))
}

/// A size in bytes, as bits: `100MB` (decimal), `64MiB` (binary), `4096` (bytes).
pub fn memory_bits(text: &str) -> Result<u64, String> {
    let hint = "write a size such as 100MB, 64MiB or 4096 (bytes)";
    let bytes = match text.strip_suffix("iB") {
        Some(binary) => scaled(binary, 1024.0, hint)?,
        None => scaled(text.strip_suffix('B').unwrap_or(text), 1000.0, hint)?,
    };
    whole(bytes)
        .and_then(|b| b.checked_mul(8))
        .ok_or_else(|| format!("{text:?} is not a number of bytes; {hint}"))
}

/// A rate: `1%`, `0.001`, `1e-6`, `1/1000`. Its range is the library's to judge.
pub fn rate(text: &str) -> Result<f64, String> {
    let number = |t: &str| t.trim().parse::<f64>().ok();
    let value = if let Some(percent) = text.strip_suffix('%') {
        number(percent).map(|v| v / 100.0)
    } else if let Some((above, below)) = text.split_once('/') {
        number(above).zip(number(below)).map(|(a, b)| a / b)
    } else {
        number(text)
    };
    value
        .filter(|v| v.is_finite())
        .ok_or_else(|| format!("{text:?} is not a rate; write 1%, 0.01, 1e-6 or 1/1000"))
}

/// A seed of up to 16 hex digits.
pub fn seed(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    hex.then(|| u64::from_str_radix(digits, 16).ok())
        .flatten()
        .ok_or_else(|| format!("{text:?} is not a seed; write up to 16 hex digits, such as 2a"))
}

fn scaled(text: &str, base: f64, hint: &str) -> Result<f64, String> {
    let split = text.len() - usize::from(text.ends_with(['k', 'K', 'M', 'G', 'T']));
    let (digits, unit) = text.split_at(split);
    let power = match unit {
        "" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        _ => 4,
    };
    let digits = digits.replace('_', "");
    let value = digits.parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
    value.map(|v| v * base.powi(power)).ok_or_else(|| {
        format!("{text:?} is not a number{}{hint}", if hint.is_empty() { "" } else { "; " })
    })
}

fn whole(value: f64) -> Option<u64> {
    let rounded = value.round();
    ((value - rounded).abs() < 1e-6 && rounded < u64::MAX as f64).then_some(rounded as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_sizes_and_rates_read_as_people_write_them() {
        assert_eq!(count("10M"), Ok(10_000_000));
        assert_eq!(count("1.5G"), Ok(1_500_000_000));
        assert_eq!(count("2e6"), Ok(2_000_000));
        assert_eq!(count("0"), Ok(0));
        assert_eq!(memory_bits("100MB"), Ok(800_000_000));
        assert_eq!(memory_bits("64MiB"), Ok(64 << 23));
        assert_eq!(memory_bits("4096"), Ok(32768));
        assert_eq!(rate("1%"), Ok(0.01));
        assert_eq!(rate("1/1000"), Ok(0.001));
        assert_eq!(rate("1e-6"), Ok(1e-6));
        assert_eq!(seed("0x2a"), Ok(42));
        for bad in ["", "x", "1.5", "-3", "nan", "1e400", "M"] {
            assert!(count(bad).is_err(), "{bad}");
        }
        for bad in ["", "x%", "1/0", "nan", "inf"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
        assert!(memory_bits("99999999TB").is_err());
        assert!(seed("00000000000000000").is_ok());
        assert!(seed("1ffffffffffffffff").is_err());
        assert!(seed("+1").is_err());
    }
}
