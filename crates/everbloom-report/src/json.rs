//! JSON of what need not be text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Bytes as text, or in base 64 where they are not UTF-8.
pub fn bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "b64": STANDARD.encode(bytes) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_in_base_64() {
        assert_eq!(bytes("grün".as_bytes()), json!("grün"));
        assert_eq!(bytes(b"\xff\x00"), json!({ "b64": "/wA=" }));
    }
}
