//! The decoder on arbitrary bytes: an error, or a filter that works in every way.
//!
//! Plain mutations die at the checksums, so the input is resealed first: every checksum is made right
//! wherever the lengths still make sense.

#[path = "../../crates/everbloom/tests/support/sealed.rs"]
mod sealing;

use everbloom::{Filter, Limits, Opener, Record, to_bytes};

/// Decodes the bytes; a filter that comes out is used.
pub fn decode(data: &[u8]) {
    let opener = Opener::new().limits(Limits::LOCAL.bytes(1 << 20).expanded(1 << 20));
    // Using a filter in every way takes far longer than decoding it, so one in eight is used.
    let use_it = crc32c::crc32c(data).is_multiple_of(8);
    if let Ok(mut filter) = opener.decode(&sealed(data.to_vec()))
        && use_it
    {
        exercise(&opener, &mut filter);
    }
}

fn exercise(opener: &Opener, filter: &mut Box<dyn Filter>) {
    let bytes = to_bytes(&**filter);
    let twin = opener.decode(&bytes).expect("what was read can be read again");
    assert_eq!(to_bytes(&*twin), bytes, "the encoding is canonical");
    let _ = (filter.fill(), filter.now(), filter.describe(), filter.memory());
    let long = [b'1'; 256];
    for key in [&b""[..], b"0", b"key", &long] {
        let record = Record::key(key);
        let _ = filter.query(record);
        let _ = filter.as_count().map(|c| c.count(key));
        let _ = filter.as_lookup().map(|l| l.get(key));
        let _ = filter.as_assign().map(|a| a.set(key, b"7"));
        let _ = filter.as_insert().map(|i| i.insert(record));
        let _ = filter.as_remove().map(|r| r.remove(record));
    }
    let _ = filter.as_merge().map(|m| m.merge(&*twin));
    let _ = filter.as_reconcile().map(|r| (r.decode(), r.estimate(), r.minus(&*twin).is_ok()));
    let _ = filter.as_age().map(|a| a.age(1));
    opener.decode(&to_bytes(&**filter)).expect("what was changed can be read");
}

/// The bytes with length and checksums made right.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let len = bytes.len() as u64;
    if let Some(field) = bytes.get_mut(72..80) {
        field.copy_from_slice(&len.to_le_bytes());
    }
    sealing::sealed(bytes)
}
