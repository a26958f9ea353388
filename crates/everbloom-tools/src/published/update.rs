//! A version of a file, whole or as what changed.
//!
//! ```text
//!   "EVBU" 1 │ kind: 0 whole, 1 delta │ version u64 │ digest of the base, 32 │ digest of what comes out, 32 │
//!   length of what comes out u64 │ whole: its bytes · delta: flipped bits u64, their code
//! ```

use everbloom::{Error, Kind, Result};
use sha2::{Digest as _, Sha256};

use super::{MOST, corrupt, rice};

/// The SHA-256 of a file.
pub type Digest = [u8; 32];

/// The digest of these bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// The first bytes of an update.
pub const MAGIC: &[u8; 5] = b"EVBU\x01";
const HEADER: usize = 5 + 1 + 8 + 32 + 32 + 8;

/// A new version of a file.
///
/// ```
/// use everbloom_tools::published::Update;
/// let (old, new) = (vec![0u8; 1000], vec![1u8; 1000]);
/// let delta = Update::delta(2, &old, &new).expect("as long");
/// assert_eq!(Update::read(&delta.write())?.0.apply(Some(&old))?, new);
/// assert!(Update::read(&delta.write())?.0.apply(Some(&new)).is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Its number; later ones are larger.
    pub version: u64,
    /// The digest of the file it changes; none where it is whole.
    pub base: Option<Digest>,
    /// The digest of the file that comes out.
    pub digest: Digest,
    length: u64,
    body: Vec<u8>,
}

impl Update {
    /// A whole file.
    pub fn whole(version: u64, bytes: &[u8]) -> Self {
        let (length, body) = (bytes.len() as u64, bytes.to_vec());
        Self { version, base: None, digest: digest(bytes), length, body }
    }

    /// What changed from one file to another of the same length; none where the length changed.
    pub fn delta(version: u64, old: &[u8], new: &[u8]) -> Option<Self> {
        if old.len() != new.len() {
            return None;
        }
        let mut flipped = Vec::new();
        for (i, (a, b)) in (0u64..).zip(old.iter().zip(new)).filter(|(_, (a, b))| a != b) {
            flipped.extend((0..8).filter(|bit| (a ^ b) >> bit & 1 == 1).map(|bit| 8 * i + bit));
        }
        let mut body = (flipped.len() as u64).to_le_bytes().to_vec();
        body.extend(rice::write(&flipped, 8 * new.len() as u64));
        let length = new.len() as u64;
        Some(Self { version, base: Some(digest(old)), digest: digest(new), length, body })
    }

    /// Its bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(self.base.is_some().into());
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&self.base.unwrap_or_default());
        out.extend_from_slice(&self.digest);
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&(self.body.len() as u64).to_le_bytes());
        out.extend_from_slice(&self.body);
        out
    }

    /// Reads an update, and returns what stands behind it.
    pub fn read(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let cut = || Error::new(Kind::Truncated, "an update that is cut off");
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| {
            if MAGIC.starts_with(bytes) {
                cut()
            } else {
                Error::new(Kind::NotOurs, "not an update of a published filter")
            }
        })?;
        if rest.len() < HEADER - MAGIC.len() + 8 {
            return Err(cut());
        }
        let (kind, rest) = rest.split_first().ok_or_else(cut)?;
        let (version, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (base, rest) = rest.split_first_chunk::<32>().ok_or_else(cut)?;
        let (digest, rest) = rest.split_first_chunk::<32>().ok_or_else(cut)?;
        let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (size, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (length, size) = (u64::from_le_bytes(*length), u64::from_le_bytes(*size));
        if length > MOST || size > MOST {
            let message = format!("an update to {length} bytes, longer than the limit of {MOST}");
            return Err(Error::new(Kind::LimitExceeded { what: "update" }, message));
        }
        let (body, rest) = rest.split_at_checked(size as usize).ok_or_else(cut)?;
        let base = match kind {
            0 if size == length => None,
            1 => Some(*base),
            _ => return Err(corrupt("an update of an unknown kind")),
        };
        let version = u64::from_le_bytes(*version);
        Ok((Self { version, base, digest: *digest, length, body: body.to_vec() }, rest))
    }

    /// The new file, made of the old one where the update is a delta.
    pub fn apply(&self, old: Option<&[u8]>) -> Result<Vec<u8>> {
        let new = match self.base {
            None => self.body.clone(),
            Some(base) => {
                let old = old.filter(|old| digest(old) == base).ok_or_else(|| {
                    let message =
                        format!("the delta to version {} is of another base", self.version);
                    Error::new(Kind::Incompatible { what: "base" }, message)
                })?;
                self.flip(old)?
            }
        };
        if digest(&new) != self.digest {
            return Err(corrupt(format!("version {} does not have its digest", self.version)));
        }
        Ok(new)
    }

    fn flip(&self, old: &[u8]) -> Result<Vec<u8>> {
        if old.len() as u64 != self.length {
            return Err(corrupt("a delta to another length"));
        }
        let mut new = old.to_vec();
        let (count, code) =
            self.body.split_first_chunk().ok_or_else(|| corrupt("a delta without a count"))?;
        rice::read(code, u64::from_le_bytes(*count), 8 * self.length, |bit| {
            new[(bit / 8) as usize] ^= 1 << (bit % 8);
        })?;
        Ok(new)
    }
}
