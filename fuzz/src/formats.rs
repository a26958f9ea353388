//! Every foreign reader on arbitrary bytes: an error, or a filter that works in every way.

use everbloom::Limits;
use everbloom_formats::{FORMATS, Format, Hints, KeyAs};

/// Opens the bytes as every format, and uses the filters that come out.
pub fn formats(data: &[u8]) {
    let mut hints = Hints::new(Limits::LOCAL.bytes(1 << 20).expanded(1 << 20));
    (hints.k, hints.key) = (Some(7), Some([7; 16]));
    Format::detect(data);
    for format in FORMATS {
        let Ok(parts) = format.open_with(data, &hints) else { continue };
        for part in parts.into_iter().take(2) {
            exercise(format, part.filter, &hints);
        }
    }
}

fn exercise(format: &Format, mut filter: everbloom_formats::Foreign, hints: &Hints) {
    let _ = (filter.describe(), filter.fill(), filter.cardinality(), filter.bits());
    assert!((0.0..=1.0).contains(&filter.fpr()), "{}: no rate", format.name);
    for key in format.keys.iter().chain(&[KeyAs::Long]) {
        for line in [&b""[..], b"7", b"abcdef"] {
            if let Ok(key) = key.parse(line) {
                let _ = filter.contains(key);
            }
        }
    }
    let written = filter.write().expect("every format is written");
    let again = format.open_with(&written, hints).expect("what was written is read");
    assert_eq!(again[0].filter.write().ok(), Some(written), "{}", format.name);
    if let Ok(ours) = filter.to_filter() {
        assert_eq!(Ok(ours.contains(b"7")), filter.contains("7").map_err(|e| e.to_string()));
        let _ = format.adopt(&*ours);
    }
    let _ = filter.insert("7");
}
