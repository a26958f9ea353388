//! One serial, however it is written.

use everbloom::{Error, Kind, Result};

/// A serial number in its one form: hexadecimal digits in lower case, without leading zeros.
///
/// Other programs write the same number in many ways, and this reads them: in either case, with colons, blanks or hyphens
/// between the bytes, with leading zeros, behind `0x`, `serial=` or `Serial Number:`, as `4096 (0x1000)`, with a CR at
/// the end.
///
/// ```
/// use everbloom_tools::revoked::serial;
///
/// for text in ["0A:1B:FF", "a1bff", "0x0A1BFF\r", "serial=0A1BFF", "Serial Number: 662527 (0xa1bff)"] {
///     assert_eq!(serial(text.as_bytes())?, b"a1bff");
/// }
/// assert!(serial(b"Smith").is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
pub fn serial(text: &[u8]) -> Result<Vec<u8>> {
    let lower = text.trim_ascii().to_ascii_lowercase();
    let digits = digits(&lower);
    let hex: Vec<u8> = digits.iter().copied().filter(u8::is_ascii_hexdigit).collect();
    let others = digits.iter().filter(|byte| !byte.is_ascii_hexdigit());
    let apart = others.clone().all(|byte| b": -\t".contains(byte));
    let ends = [digits.first(), digits.last()];
    if !apart || !ends.iter().all(|end| end.is_some_and(u8::is_ascii_hexdigit)) {
        let text = String::from_utf8_lossy(text.trim_ascii()).into_owned();
        let message = format!("{text:?} is no serial: give a hexadecimal number, such as 0A:1B:FF");
        return Err(Error::new(Kind::BadRecord, message));
    }
    let zeros = hex.iter().take_while(|digit| **digit == b'0').count();
    Ok(hex[zeros.min(hex.len() - 1)..].to_vec())
}

/// What stands behind a name, or in parentheses behind the decimal number.
fn digits(lower: &[u8]) -> &[u8] {
    let rest = lower.strip_prefix(b"serial").map_or(lower, |rest| {
        let rest = rest.strip_prefix(b" number").unwrap_or(rest);
        let rest = rest.strip_prefix(b" (hex)").unwrap_or(rest);
        // Without one of these it is a word that begins so.
        let value = rest.strip_prefix(b"=").or(rest.strip_prefix(b":"));
        value.map_or(lower, <[u8]>::trim_ascii_start)
    });
    let hex = rest.strip_suffix(b")").and_then(|rest| {
        let at = rest.windows(4).position(|part| part == b" (0x")?;
        rest[..at].iter().all(u8::is_ascii_digit).then(|| &rest[at + 4..])
    });
    hex.or(rest.strip_prefix(b"0x")).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_print_is_one_number() {
        for text in [
            "3A7F00C2",
            "3a7f00c2",
            "3a:7f:00:c2",
            "3A 7F 00 C2",
            "3A-7F-00-C2",
            "003a7f00c2",
            "00:3A:7F:00:C2\r",
            "  3a7f00c2\t",
            "0x3A7F00C2",
            "serial=3A7F00C2",
            "Serial Number: 3A7F00C2",
            "    Serial Number:3a:7f:00:c2",
            "Serial Number (hex): 3a7f00c2",
            "Serial Number: 981401794 (0x3a7f00c2)",
            "981401794 (0x3a7f00c2)",
        ] {
            assert_eq!(serial(text.as_bytes()).unwrap(), b"3a7f00c2", "{text}");
        }
        assert_eq!(serial(b"00").unwrap(), b"0");
        assert_eq!(serial(b"4711").unwrap(), b"4711", "hexadecimal, as all of them");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            "\r",
            ":",
            "0x",
            "-1",
            "12:",
            "12,13",
            "ann",
            "serial",
            "serial=",
            "serial a",
            "(0x12)",
            "12 (0x",
            "xy (0x12)",
            "12 (12)",
            "1.5",
            "\u{661}",
        ] {
            assert!(serial(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(serial(b"1\xff").is_err());
    }
}
