//! A 256-bit secret and the pseudorandom function under it.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::chance;
use crate::error::{Error, Result};
use crate::hash::from_hex;

/// A 256-bit secret: never printed, never written, zeroed when dropped.
///
/// ```
/// use everbloom::secure::Secret;
///
/// let key = Secret::random()?;
/// assert_eq!(format!("{key:?}"), format!("Secret({:016x})", key.id()));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone)]
pub struct Secret {
    bytes: Zeroizing<[u8; 32]>,
}

impl Secret {
    /// A secret from its 32 bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self { bytes: Zeroizing::new(bytes) }
    }

    /// A secret from the system's random generator.
    pub fn random() -> Result<Self> {
        Ok(Self { bytes: chance::bytes()? })
    }

    /// A secret from 64 hex digits, as a key file holds them.
    pub fn from_hex(text: &str) -> Result<Self> {
        from_hex(text).map(Self::new).ok_or_else(|| {
            Error::parameter(
                "a key is 64 hex digits (256 bits) here, for example from `openssl rand -hex 32`",
            )
        })
    }

    /// The public id: a PRF output under the secret, which reveals nothing of it.
    pub fn id(&self) -> u64 {
        let output = self.prf("id", &[]);
        u64::from_le_bytes(std::array::from_fn(|i| output[i]))
    }

    /// The secret's bytes, for the derivation of keys by a standard.
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// The PRF's output for a purpose and a message of several parts. Every part is preceded by its length, so
    /// that no two messages are one.
    pub(crate) fn prf(&self, purpose: &str, parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
        let mut mac = hmac(&self.bytes);
        for part in [b"everbloom", purpose.as_bytes()].iter().chain(parts) {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        Zeroizing::new(mac.finalize().into_bytes().into())
    }
}

/// HMAC-SHA-256 of a message under a key of 32 bytes.
pub(super) fn prf(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let mut mac = hmac(key);
    mac.update(message);
    mac.finalize().into_bytes().into()
}

fn hmac(key: &[u8; 32]) -> Hmac<Sha256> {
    // A block of the hash is longer than the key, so it is taken as it is: no key is refused.
    let mut block = Zeroizing::new([0; 64]);
    block[..32].copy_from_slice(key);
    Hmac::new(&(*block).into())
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes.ct_eq(&*other.bytes).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    /// Never prints the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({:016x})", self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn the_prf_is_hmac_sha_256() {
        // RFC 4231, test case 2, whose key is padded by zeros as any short key is.
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        assert_eq!(
            hex(&prf(&key, b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn purposes_and_parts_are_kept_apart() {
        let key = Secret::new([7; 32]);
        let outputs = [
            key.prf("a", &[b"bc"]),
            key.prf("a", &[b"b", b"c"]),
            key.prf("ab", &[b"c"]),
            key.prf("a", &[b"bc", b""]),
            Secret::new([8; 32]).prf("a", &[b"bc"]),
        ];
        for (i, output) in outputs.iter().enumerate() {
            assert!(outputs[..i].iter().all(|earlier| **earlier != **output), "{i}");
        }
    }

    /// What holds a secret does something when it is dropped: nothing else in these types would.
    #[test]
    fn secrets_are_zeroed_when_dropped() {
        use std::mem::needs_drop;

        use crate::hash::SecretKey;
        use crate::secure::encrypted::{CipherKey, Modp2048, Ratio};
        use crate::secure::oprf::{Blinded, Output, Ristretto, ServerKey};
        assert!(needs_drop::<Secret>() && needs_drop::<SecretKey>());
        assert!(needs_drop::<CipherKey<Modp2048>>() && needs_drop::<Ratio<Modp2048>>());
        assert!(needs_drop::<ServerKey<Ristretto>>() && needs_drop::<Blinded<Ristretto>>());
        assert!(needs_drop::<Output>());
    }

    #[test]
    fn secrets_are_neither_printed_nor_guessed() {
        let text = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
        let key = Secret::from_hex(text).expect("64 digits");
        assert!(key == Secret::new(std::array::from_fn(|i| i as u8)));
        let shown = format!("{key:?}");
        assert!(!shown.contains("0001") && !shown.contains("0, 1"), "{shown}");
        for wrong in ["", "00", &text[1..], &text.replace('f', "g")] {
            let error = Secret::from_hex(wrong).expect_err("not a key");
            assert!(wrong.len() < 3 || !error.to_string().contains(wrong), "{error}");
        }
        let (a, b) = (Secret::random().expect("random"), Secret::random().expect("random"));
        assert!(a != b && a.id() != b.id());
    }
}
