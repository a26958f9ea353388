//! The secret key of a keyed hash: held by the caller, never written.

use std::hash::Hasher as _;

use siphasher::sip128::{Hash128, Hasher128 as _, SipHasher24};

use super::Digest;
use crate::error::{Error, Result};

/// A 128-bit secret under which an adversary cannot aim keys at chosen cells.
#[derive(Clone)]
pub struct SecretKey {
    bytes: [u8; 16],
    id: u64,
}

impl SecretKey {
    /// A key from its 16 bytes.
    pub fn new(bytes: [u8; 16]) -> Self {
        // The id is a PRF output under the key, so publishing it in files reveals nothing of it.
        let id = sip(&bytes, b"everbloom key id").h1;
        Self { bytes, id }
    }

    /// A key from 32 hex digits, as `--key-file` holds them.
    pub fn from_hex(text: &str) -> Result<Self> {
        from_hex(text).map(Self::new).ok_or_else(|| {
            Error::parameter(
                "a key is 32 hex digits (128 bits), for example from `openssl rand -hex 16`",
            )
        })
    }

    /// The public id of the key, which files store instead of a seed.
    pub fn id(&self) -> u64 {
        self.id
    }

    #[inline]
    pub(super) fn digest(&self, message: &[u8]) -> Digest {
        sip(&self.bytes, message)
    }
}

/// The bytes that a text of hex digits spells, if it is one of this length; space around it is left out.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.trim();
    let valid = text.len() == 2 * N && text.bytes().all(|b| b.is_ascii_hexdigit());
    let mut bytes = [0u8; N];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digit = |d: u8| (d as char).to_digit(16).unwrap_or(0) as u8;
        *byte = digits.iter().fold(0, |byte, d| byte << 4 | digit(*d));
    }
    valid.then_some(bytes)
}

#[cfg(feature = "secure")]
impl Drop for SecretKey {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.bytes);
    }
}

fn sip(key: &[u8; 16], message: &[u8]) -> Digest {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(message);
    let Hash128 { h1, h2 } = hasher.finish128();
    Digest { h1, h2 }
}

impl std::fmt::Debug for SecretKey {
    /// Never prints the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey({:016x})", self.id)
    }
}
