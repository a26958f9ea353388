//! Revoked or not: exact answers from filters (catalogue A29; S3 §III-D \[63\]).
//!
//! ```text
//!   filter of the revoked   filter of the valid
//!            no                    yes           valid
//!            yes                   no            revoked
//!            yes                   yes           ask for a Merkle proof against the sorted list of the revoked
//!            no                    no            nobody's: unknown
//! ```
//!
//! Inside of revoked ∪ valid the answer is exact: neither filter has false negatives, and where both say yes the proof
//! decides. A device holds two filters and a root of 32 bytes; proofs are asked for by f_R of the valid ones and
//! f_V of the revoked.
//!
//! The other form needs no proof: a cascade, as browsers have it for certificates. Its first layer is a filter of the
//! revoked, its second holds the valid ones that pass the first, its third the revoked that pass the second, and so
//! on. It is exact inside of revoked ∪ valid, too; a filter of the valid ones beside it tells what is neither.
//!
//! A set compares serials as bytes: bring them into one form ([`serial`]) on both sides, when it is built and when it is
//! asked.
//!
//! Serials that are neither are taken for valid at the rate of the filter of the valid ones, and for revoked at that
//! of the other filter or of the cascade.

mod merkle;
mod serial;

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use everbloom::internals::disk::replace;
use everbloom::{Bloom, Error, Kind, Limits, Opener, Result, save};
use everbloom_formats::{Foreign, Format, cascade};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub use merkle::{Hash, Leaf, Proof, Tree, from_hex, leaf_hash, node_hash, to_hex};
pub use serial::serial;

/// What is known of a serial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was revoked.
    Revoked,
    /// It is valid.
    Valid,
    /// Nobody issued it.
    Unknown,
    /// Both filters have it: a proof decides.
    AskForProof,
}

impl Status {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Revoked => "revoked",
            Status::Valid => "valid",
            Status::Unknown => "unknown",
            Status::AskForProof => "proof",
        }
    }
}

/// What a device holds.
///
/// ```
/// use everbloom_tools::revoked::{Revocations, Status, Tree};
///
/// let (revoked, valid) = (vec!["r1", "r2"], vec!["v1", "v2", "v3"]);
/// let cascade = Revocations::cascade(&revoked, &valid, 1e-6)?;
/// assert_eq!(cascade.status(b"r1")?, Status::Revoked);
/// assert_eq!(cascade.status(b"v3")?, Status::Valid);
/// let dual = Revocations::dual(&revoked, &valid, 1e-6)?;
/// assert_eq!(dual.status(b"x")?, Status::Unknown);
/// let proof = Tree::new(&revoked).prove(b"v1");
/// assert_eq!(dual.settled(b"v1", &proof)?, Status::Valid);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub enum Revocations {
    /// A cascade of the two sets; the filter of the valid ones is missing where only the cascade was given.
    Cascade {
        /// In Mozilla's format.
        layers: Box<Foreign>,
        /// Of the valid ones.
        valid: Option<Box<Bloom>>,
    },
    /// Two filters and the root of a Merkle tree.
    Dual {
        /// Of the revoked.
        revoked: Box<Bloom>,
        /// Of the valid ones.
        valid: Box<Bloom>,
        /// Of the sorted list of the revoked.
        root: Hash,
    },
}

/// Serials as the two sets hold them.
pub trait Serials {
    /// All of them.
    fn serials(&self) -> impl Iterator<Item = &[u8]>;
}

impl<S: AsRef<[u8]>> Serials for Vec<S> {
    fn serials(&self) -> impl Iterator<Item = &[u8]> {
        self.iter().map(AsRef::as_ref)
    }
}

fn filter(serials: &impl Serials, fpr: f64) -> Result<Bloom> {
    let mut filter = Bloom::with_rate(serials.serials().count().max(1) as u64, fpr)?;
    serials.serials().for_each(|serial| {
        filter.insert(serial);
    });
    Ok(filter)
}

/// The two sets must not share a serial.
fn apart<'a>(revoked: &'a impl Serials, valid: &impl Serials) -> Result<Vec<&'a [u8]>> {
    let distinct: HashSet<&[u8]> = revoked.serials().collect();
    if let Some(both) = valid.serials().find(|serial| distinct.contains(serial)) {
        let both = String::from_utf8_lossy(both);
        let message = format!("{both:?} is revoked and valid: take it out of one of the lists");
        return Err(Error::new(Kind::BadRecord, message));
    }
    let mut distinct: Vec<&[u8]> = distinct.into_iter().collect();
    distinct.sort_unstable();
    Ok(distinct)
}

/// The file that says what is in a folder. The others are there after it says so.
pub const MANIFEST: &str = "set.json";
/// The cascade, in Mozilla's format.
pub const CASCADE: &str = "cascade.mlbf";
/// The filter of the revoked serials.
pub const REVOKED: &str = "revoked.evb";
/// The filter of the valid serials.
pub const VALID: &str = "valid.evb";
/// Of a folder. Those of version 1 hold serials as they were written, so the same serial in another case is unknown.
const VERSION: u64 = 2;

/// What a manifest says, of any version.
fn manifest(text: &[u8]) -> Option<Value> {
    let manifest: Value = serde_json::from_slice(text).ok()?;
    (manifest["everbloom"] == "revoked" && manifest["version"].is_u64()).then_some(manifest)
}

/// Whether a text is that of a manifest.
pub fn is_manifest(text: &[u8]) -> bool {
    manifest(text).is_some()
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, |out| out.write_all(bytes)).map_err(|e| Error::from(e).context(path.display()))
}

impl Revocations {
    /// A cascade of the sets, and a filter of the valid ones that others pass at a rate of `fpr`.
    pub fn cascade(revoked: &impl Serials, valid: &impl Serials, fpr: f64) -> Result<Self> {
        let members = apart(revoked, valid)?;
        // The layers of two versions of the sets shall not err for the same serials.
        let mut salt = Sha256::new();
        members.iter().for_each(|serial| salt.update(Sha256::digest(serial)));
        let layers = cascade(&members, || valid.serials(), &salt.finalize()[..16])?;
        Ok(Self::Cascade { layers: Box::new(layers), valid: Some(Box::new(filter(valid, fpr)?)) })
    }

    /// Filters of both sets at a rate of `fpr`, and the root of the revoked.
    pub fn dual(revoked: &impl Serials, valid: &impl Serials, fpr: f64) -> Result<Self> {
        let members = apart(revoked, valid)?;
        let root = Tree::new(&members).root();
        let (revoked, valid) = (Box::new(filter(&members, fpr)?), Box::new(filter(valid, fpr)?));
        Ok(Self::Dual { revoked, valid, root })
    }

    /// What is known of a serial.
    pub fn status(&self, serial: &[u8]) -> Result<Status> {
        Ok(match self {
            Self::Cascade { layers, valid } => {
                match (layers.contains(serial)?, valid.as_ref().is_none_or(|f| f.contains(serial)))
                {
                    (true, _) => Status::Revoked,
                    (false, true) => Status::Valid,
                    (false, false) => Status::Unknown,
                }
            }
            Self::Dual { revoked, valid, .. } => {
                match (revoked.contains(serial), valid.contains(serial)) {
                    (false, true) => Status::Valid,
                    (true, false) => Status::Revoked,
                    (true, true) => Status::AskForProof,
                    (false, false) => Status::Unknown,
                }
            }
        })
    }

    /// What is known of a serial with the proof that was asked for. One that does not hold is an error.
    pub fn settled(&self, serial: &[u8], proof: &Proof) -> Result<Status> {
        let Self::Dual { root, .. } = self else { return self.status(serial) };
        let revoked = proof.shows(serial, root)?;
        Ok(match self.status(serial)? {
            _ if revoked => Status::Revoked,
            // Not in the list, and so a false positive of the filter of the revoked.
            Status::AskForProof => Status::Valid,
            Status::Revoked => Status::Unknown,
            known => known,
        })
    }

    /// Whether this is a cascade alone. Whoever made it chose what its keys are; in a folder they are serials in their one
    /// form.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Cascade { valid: None, .. })
    }

    /// Bytes that a device holds.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Cascade { layers, valid } => {
                (layers.bits() + valid.as_ref().map_or(0, |f| f.m())).div_ceil(8)
            }
            Self::Dual { revoked, valid, .. } => (revoked.m() + valid.m()).div_ceil(8) + 32,
        }
    }

    /// The root of the list of the revoked, where there is one.
    pub fn root(&self) -> Option<&Hash> {
        match self {
            Self::Cascade { .. } => None,
            Self::Dual { root, .. } => Some(root),
        }
    }

    /// Writes it into a folder.
    pub fn save(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).map_err(|e| Error::from(e).context(folder.display()))?;
        let root = match self {
            Self::Cascade { layers, valid } => {
                put(&folder.join(CASCADE), &layers.write()?)?;
                valid.as_ref().map_or(Ok(()), |f| save(f.as_ref(), folder.join(VALID)))?;
                None
            }
            Self::Dual { revoked, valid, root } => {
                save(revoked.as_ref(), folder.join(REVOKED))?;
                save(valid.as_ref(), folder.join(VALID))?;
                Some(to_hex(root))
            }
        };
        let manifest = json!({ "everbloom": "revoked", "version": VERSION, "root": root });
        put(&folder.join(MANIFEST), format!("{manifest:#}\n").as_bytes())
    }

    /// Reads such a folder, or a cascade in Mozilla's format alone.
    pub fn open(path: &Path) -> Result<Self> {
        let read = |path: &Path| fs::read(path).map_err(|e| Error::from(e).context(path.display()));
        let layers = |path: &Path| {
            let opened = Format::named("mlbf")?.open_one(&read(path)?, Limits::LOCAL);
            opened.map(Box::new).map_err(|e| e.context(path.display()))
        };
        if path.is_file() {
            return Ok(Self::Cascade { layers: layers(path)?, valid: None });
        }
        let place = path.join(MANIFEST);
        let wrong = || {
            Error::new(Kind::NotOurs, "not what `revoked build` writes").context(place.display())
        };
        let manifest = manifest(&read(&place)?).ok_or_else(wrong)?;
        match manifest["version"].as_u64() {
            Some(VERSION) => {}
            Some(1) => {
                let message = "made by an older version, which told serials apart by how they were written: build it again";
                return Err(Error::new(Kind::UnsupportedVersion, message).context(place.display()));
            }
            _ => return Err(wrong()),
        }
        let valid = Box::new(Opener::new().open_as(path.join(VALID))?);
        let Some(root) = manifest["root"].as_str() else {
            return Ok(Self::Cascade { layers: layers(&path.join(CASCADE))?, valid: Some(valid) });
        };
        let root = from_hex(root).and_then(|root| root.try_into().ok()).ok_or_else(wrong)?;
        let revoked = Box::new(Opener::new().open_as(path.join(REVOKED))?);
        Ok(Self::Dual { revoked, valid, root })
    }
}

#[cfg(test)]
mod tests {
    use everbloom::internals::hash::Generator;

    use super::*;

    fn made(random: &mut Generator, count: u64) -> Vec<Vec<u8>> {
        let serial =
            |random: &mut Generator| (0..4).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        (0..count).map(|_| serial(random)).collect()
    }

    #[test]
    fn what_was_saved_answers_the_same() {
        let mut random = Generator::new(1);
        let (revoked, valid) = (made(&mut random, 100), made(&mut random, 5_000));
        let folder = tempfile::tempdir().unwrap();
        for built in [
            Revocations::cascade(&revoked, &valid, 0.01).unwrap(),
            Revocations::dual(&revoked, &valid, 0.01).unwrap(),
        ] {
            let place = folder.path().join(built.root().map_or("cascade", |_| "dual"));
            built.save(&place).unwrap();
            let opened = Revocations::open(&place).unwrap();
            for serial in revoked.serials().chain(valid.serials()) {
                assert_eq!(opened.status(serial).unwrap(), built.status(serial).unwrap());
            }
            assert_eq!((opened.bytes(), opened.root()), (built.bytes(), built.root()));
        }
        let alone = Revocations::open(&folder.path().join("cascade").join(CASCADE)).unwrap();
        assert_eq!(alone.status(&revoked[7]).unwrap(), Status::Revoked);
        assert_eq!(alone.status(&valid[7]).unwrap(), Status::Valid);
        assert!(alone.is_foreign() && Revocations::open(folder.path()).is_err());
        // A set of serials as they were written would take other spellings for unknown ones.
        let manifest = folder.path().join("dual").join(MANIFEST);
        let text = fs::read_to_string(&manifest).unwrap();
        fs::write(&manifest, text.replace("\"version\": 2", "\"version\": 1")).unwrap();
        let refused = Revocations::open(&folder.path().join("dual")).err().unwrap();
        assert_eq!(refused.kind(), Kind::UnsupportedVersion);
    }

    #[test]
    fn a_serial_in_both_sets_is_refused_and_empty_sets_are_not() {
        let both = Revocations::cascade(&vec!["a", "b"], &vec!["b", "c"], 0.01).err().unwrap();
        assert!(both.to_string().contains("\"b\""), "{both}");
        let none: Vec<&str> = Vec::new();
        for form in [
            Revocations::cascade(&none, &vec!["a"], 0.01),
            Revocations::dual(&none, &vec!["a"], 0.01),
        ] {
            assert_eq!(form.unwrap().status(b"a").unwrap(), Status::Valid);
        }
        let all = Revocations::cascade(&vec!["a"], &none, 0.01).unwrap();
        assert_eq!(all.status(b"a").unwrap(), Status::Revoked);
    }
}
