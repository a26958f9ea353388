//! Lists of a billion hashes: sorted out by their first byte into files, then a filter for each.
//!
//! ```text
//!   pipe ──▶ first byte 00 ──▶ file ──▶ filter 00.evb        a part at a time is in memory:
//!            first byte 01 ──▶ file ──▶ filter 01.evb        four million hashes of a billion
//!            …
//! ```
//!
//! The set is a folder with these filters and `set.json`, which says what is in them. A look-up opens the filter of
//! one part. Passwords of a list are hashed; for `near` their tagged keys are.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use everbloom::{Access, BinaryFuse, Error, Hasher, Kind, Opener, Result, save};
use md4::Md4;
use serde_json::{Value, json};
use sha1::{Digest as _, Sha1};
use zeroize::Zeroizing;

use super::near;

/// How passwords are hashed in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-1 of the password, 40 hex digits.
    Sha1,
    /// MD4 of the password in UTF-16, as Windows keeps it, 32 hex digits.
    Ntlm,
}

impl Hash {
    /// Both.
    pub const ALL: [Hash; 2] = [Hash::Sha1, Hash::Ntlm];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Hash::Sha1 => "sha1",
            Hash::Ntlm => "ntlm",
        }
    }

    fn digits(self) -> usize {
        match self {
            Hash::Sha1 => 40,
            Hash::Ntlm => 32,
        }
    }

    /// The first 16 bytes of the hash, as a number.
    fn of(self, password: &[u8]) -> u128 {
        match self {
            Hash::Sha1 => first(&Sha1::digest(password)),
            Hash::Ntlm => {
                let text = Zeroizing::new(String::from_utf8_lossy(password).into_owned());
                let utf16: Zeroizing<Vec<u8>> =
                    Zeroizing::new(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
                first(&Md4::digest(&utf16[..]))
            }
        }
    }

    /// The hash that a line of a list is of, if it is `HASH` or `HASH:COUNT`.
    pub fn detect(line: &[u8]) -> Option<Hash> {
        Hash::ALL.into_iter().find(|hash| hash.parse(line).is_some())
    }

    /// The number that a line spells, and its count.
    fn parse(self, line: &[u8]) -> Option<(u128, u64)> {
        let line = line.trim_ascii();
        let (hex, rest) = line.split_at_checked(self.digits())?;
        let count = match rest {
            b"" => 1,
            [b':', count @ ..] => std::str::from_utf8(count).ok()?.trim().parse().ok()?,
            _ => return None,
        };
        let digit = |byte: &u8| char::from(*byte).to_digit(16).map(u128::from);
        let all: Option<Vec<u128>> = hex.iter().map(digit).collect();
        Some((all?[..32].iter().fold(0, |number, digit| number << 4 | digit), count))
    }
}

fn first(hash: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    u128::from_be_bytes(bytes)
}

/// The number of a tagged key.
fn tagged(key: &[u8]) -> u128 {
    let digest = Hasher::default().digest(key);
    u128::from(digest.h1) << 64 | u128::from(digest.h2)
}

/// What a set answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Hashes; `near` plans their rate for all the neighbors of a candidate.
    Hashes {
        /// By which the passwords are known.
        hash: Hash,
        /// Whether neighbors will be tried.
        near: bool,
    },
    /// Passwords with their tagged keys.
    Tags,
}

/// A candidate has about so many characters, when rates are planned.
const LENGTH: u64 = 8;

impl Content {
    /// Look-ups for a candidate of so many characters.
    fn looks(self, length: u64, near: bool) -> u64 {
        match (self, near) {
            (Content::Tags, true) => 2 * length + 2,
            (Content::Hashes { .. }, true) => near::neighbors(length),
            _ => 1,
        }
    }

    /// Look-ups that the rate is planned for.
    fn planned(self) -> u64 {
        self.looks(LENGTH, matches!(self, Content::Tags | Content::Hashes { near: true, .. }))
    }

    fn name(self) -> &'static str {
        match self {
            Content::Hashes { hash, .. } => hash.name(),
            Content::Tags => "tags",
        }
    }
}

/// Parts that the input is sorted out into.
const PARTS: usize = 256;
/// Sets of up to so many keys are one filter.
const SMALL: u64 = 1 << 20;
const MANIFEST: &str = "set.json";

/// Takes a list, and makes a set of it.
pub struct Builder {
    content: Content,
    min_count: u64,
    parts: Vec<BufWriter<File>>,
    lines: u64,
    below: u64,
}

/// What became of a list.
#[derive(Clone, Copy, Debug)]
pub struct Built {
    /// Lines that were taken.
    pub lines: u64,
    /// Lines with a count below the least.
    pub below: u64,
    /// Different keys in the filters.
    pub keys: u64,
    /// Bytes of the filters.
    pub bytes: u64,
    /// Look-ups that the rate is planned for.
    pub looks: u64,
    /// Rate of one look-up.
    pub fpr: f64,
}

impl Builder {
    /// A builder of the folder `target`, which must not be there yet. It keeps its parts in temporary files beside
    /// it, in 16 bytes for each key. Hashes with a count below `min_count` are left out.
    pub fn new(target: &Path, content: Content, min_count: u64) -> Result<Self> {
        if target.exists() {
            let message = format!("{} is there already: name another folder", target.display());
            return Err(Error::new(Kind::BadParameter, message));
        }
        let beside =
            target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let part =
            |_| tempfile::tempfile_in(beside).map(|file| BufWriter::with_capacity(1 << 16, file));
        let parts = (0..PARTS).map(part).collect::<std::io::Result<_>>();
        let parts = parts.map_err(|e| Error::from(e).context(beside.display()))?;
        Ok(Self { content, min_count, parts, lines: 0, below: 0 })
    }

    fn key(&mut self, key: u128) -> Result<()> {
        Ok(self.parts[(key >> 120) as usize].write_all(&key.to_le_bytes())?)
    }

    /// Takes a password in the clear.
    pub fn password(&mut self, password: &[u8]) -> Result<()> {
        self.lines += 1;
        match self.content {
            Content::Hashes { hash, .. } => self.key(hash.of(password)),
            Content::Tags => {
                let mut done = Ok(());
                near::keys_of_word(password, |key| {
                    if done.is_ok() {
                        done = self.key(tagged(key));
                    }
                });
                done
            }
        }
    }

    /// Takes a line `HASH` or `HASH:COUNT`; an empty one is none.
    pub fn hash(&mut self, line: &[u8]) -> Result<()> {
        let Content::Hashes { hash, .. } = self.content else {
            return Err(Error::new(
                Kind::BadParameter,
                "tagged keys are made from passwords, not from hashes",
            ));
        };
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let Some((key, count)) = hash.parse(line) else {
            // The line itself is not shown: it may be a password.
            let (digits, name) = (hash.digits(), hash.name());
            let message =
                format!("is not {digits} hex digits ({name}), perhaps with :COUNT behind them");
            return Err(Error::new(Kind::BadRecord, message));
        };
        self.lines += 1;
        if count < self.min_count {
            self.below += 1;
            return Ok(());
        }
        self.key(key)
    }

    /// Writes the set into the folder `target`. `rate` is that of a whole candidate.
    pub fn finish(self, target: &Path, rate: f64) -> Result<Built> {
        let Self { content, parts, lines, below, .. } = self;
        let looks = content.planned();
        let bits = (-libm::log2(near::rate_of_one(rate, looks))).ceil().clamp(1.0, 32.0) as u32;
        let mut files = Vec::new();
        let mut total = 0;
        for part in parts {
            let mut file = part.into_inner().map_err(|e| e.into_error())?;
            total += file.stream_position()? / 16;
            file.rewind()?;
            files.push(file);
        }
        let together = if total <= SMALL { PARTS } else { 1 };
        fs::create_dir(target).map_err(|e| Error::from(e).context(target.display()))?;
        let (mut keys, mut bytes, mut sizes) = (0, 0, Vec::new());
        for (number, files) in files.chunks_mut(together).enumerate() {
            let part = read_keys(files)?;
            let filter = BinaryFuse::with_bits(part.iter().copied(), bits, Hasher::default())?;
            let path = target.join(name_of(number));
            save(&filter, &path)?;
            bytes += fs::metadata(&path)?.len();
            keys += part.len() as u64;
            sizes.push(part.len());
        }
        let manifest = json!({
            "everbloom": "breach", "version": 1, "content": content.name(),
            "near": matches!(content, Content::Tags | Content::Hashes { near: true, .. }),
            "bits": bits, "keys": sizes,
        });
        fs::write(target.join(MANIFEST), format!("{manifest:#}\n"))?;
        Ok(Built { lines, below, keys, bytes, looks, fpr: libm::exp2(-f64::from(bits)) })
    }
}

fn name_of(part: usize) -> String {
    format!("{part:02x}.evb")
}

/// The different keys in some files.
fn read_keys(files: &mut [File]) -> Result<Vec<u128>> {
    let mut keys = Vec::new();
    for file in files {
        let count = file.metadata()?.len() / 16;
        let mut input = BufReader::with_capacity(1 << 16, file);
        keys.reserve(count as usize);
        for _ in 0..count {
            let mut key = [0; 16];
            input.read_exact(&mut key)?;
            keys.push(u128::from_le_bytes(key));
        }
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

/// A set of passwords that are known to attackers.
///
/// ```
/// use everbloom_tools::breach::{Breached, Builder, Content, Hash};
///
/// let folder = tempfile::tempdir()?;
/// let target = folder.path().join("leaked");
/// let mut builder = Builder::new(&target, Content::Hashes { hash: Hash::Sha1, near: true }, 10)?;
/// builder.hash(b"5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9659365")?; // of "password"
/// builder.hash(b"0000000000000000000000000000000000000000:1")?; // too rare
/// builder.finish(&target, 1e-4)?;
/// let leaked = Breached::open(&target)?;
/// assert!(leaked.has(b"password")? && !leaked.has(b"Passw0rd")?);
/// assert!(leaked.near(b"passw0rd")? && !leaked.near(b"correct horse")?);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Breached {
    folder: PathBuf,
    content: Content,
    sizes: Vec<u64>,
    bits: u32,
    open: RefCell<HashMap<usize, BinaryFuse>>,
}

impl Breached {
    /// Opens a set; its filters are opened when they are needed.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let wrong =
            || Error::new(Kind::NotOurs, "not a set of breached passwords").context(path.display());
        let text = fs::read(&path).map_err(|e| Error::from(e).context(path.display()))?;
        let manifest: Value = serde_json::from_slice(&text).map_err(|_| wrong())?;
        if manifest["everbloom"] != "breach" || manifest["version"] != 1 {
            return Err(wrong());
        }
        let near = manifest["near"].as_bool().ok_or_else(wrong)?;
        let content = match manifest["content"].as_str() {
            Some("tags") => Content::Tags,
            name => {
                let hash = Hash::ALL.into_iter().find(|hash| Some(hash.name()) == name);
                Content::Hashes { hash: hash.ok_or_else(wrong)?, near }
            }
        };
        let sizes = manifest["keys"].as_array().ok_or_else(wrong)?;
        let sizes: Option<Vec<u64>> = sizes.iter().map(Value::as_u64).collect();
        let sizes = sizes.filter(|s| [1, PARTS].contains(&s.len())).ok_or_else(wrong)?;
        let bits =
            manifest["bits"].as_u64().filter(|b| (1..=32).contains(b)).ok_or_else(wrong)? as u32;
        Ok(Self { folder: folder.to_owned(), content, sizes, bits, open: RefCell::default() })
    }

    /// What it answers.
    pub fn content(&self) -> Content {
        self.content
    }

    /// Different keys in it.
    pub fn keys(&self) -> u64 {
        self.sizes.iter().sum()
    }

    /// The rate at which a password of so many characters that is not there, or not near, is taken for one.
    pub fn rate(&self, length: u64, near: bool) -> f64 {
        near::rate_of_all(libm::exp2(-f64::from(self.bits)), self.content.looks(length, near))
    }

    /// Whether the password is in the set.
    pub fn has(&self, password: &[u8]) -> Result<bool> {
        match self.content {
            Content::Hashes { hash, .. } => self.contains(hash.of(password)),
            Content::Tags => {
                let key = Zeroizing::new([b"W", password].concat());
                self.contains(tagged(&key))
            }
        }
    }

    /// Whether the set was planned for [`Breached::near`]. In another one, each of the hundreds of neighbors of a password
    /// passes at the rate of one lookup, and most passwords would seem to be near.
    pub fn plans_near(&self) -> bool {
        !matches!(self.content, Content::Hashes { near: false, .. })
    }

    /// Whether the password is in the set, or within one edit of one that is. Of hashes, the neighbors of the
    /// password are tried, made of printed ASCII characters. Refused unless the set [was planned for it](Breached::plans_near).
    pub fn near(&self, password: &[u8]) -> Result<bool> {
        if !self.plans_near() {
            let what = "the set was built for passwords themselves, not for those near them";
            return Err(Error::new(Kind::Unsupported, what).context(self.folder.display()));
        }
        let mut failed = None;
        let mut has = |key: u128| {
            self.contains(key).unwrap_or_else(|e| {
                failed = Some(e);
                true
            })
        };
        let found = match self.content {
            Content::Hashes { hash, .. } => near::near_by_neighbors(password, |n| has(hash.of(n))),
            Content::Tags => near::near_by_tags(password, |key| has(tagged(key))),
        };
        failed.map_or(Ok(found), Err)
    }

    fn contains(&self, key: u128) -> Result<bool> {
        let part = if self.sizes.len() == 1 { 0 } else { (key >> 120) as usize };
        let mut open = self.open.borrow_mut();
        if let Some(filter) = open.get(&part) {
            return Ok(filter.contains(&key));
        }
        let opener = Opener::new().access(Access::Map);
        let filter: BinaryFuse = opener.open_as(self.folder.join(name_of(part)))?;
        let found = filter.contains(&key);
        open.insert(part, filter);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_known_passwords() {
        let sha1 = b"5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8:3\r";
        assert_eq!(Hash::detect(sha1), Some(Hash::Sha1));
        assert_eq!(Hash::Sha1.parse(sha1), Some((Hash::Sha1.of(b"password"), 3)));
        let ntlm = b"8846F7EAEE8FB117AD06BDD830B7586C";
        assert_eq!(Hash::detect(ntlm), Some(Hash::Ntlm));
        assert_eq!(Hash::Ntlm.parse(ntlm), Some((Hash::Ntlm.of(b"password"), 1)));
        for line in [
            &b"password"[..],
            b"",
            b"5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8:x",
            b"8846F7EAEE8FB117AD06BDD830B7586Cz",
        ] {
            assert_eq!(Hash::detect(line), None);
        }
    }

    #[test]
    fn large_sets_are_in_parts_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("set");
        let content = Content::Hashes { hash: Hash::Sha1, near: false };
        let mut builder = Builder::new(&target, content, 1).unwrap();
        for i in 0..SMALL + 1 {
            builder.key(u128::from(i) << 100 | 7).unwrap();
        }
        builder.password(b"hunter2").unwrap();
        assert!(builder.hash(b"secret words").unwrap_err().to_string().contains("hex digits"));
        let built = builder.finish(&target, 0.001).unwrap();
        assert_eq!(built.keys, SMALL + 2);
        let set = Breached::open(&target).unwrap();
        assert_eq!(set.sizes.len(), PARTS);
        assert!(set.has(b"hunter2").unwrap());
        for i in (0..SMALL).step_by(997) {
            assert!(set.contains(u128::from(i) << 100 | 7).unwrap());
        }
        // Nothing but the folder is left behind, and it is not replaced.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let again = Builder::new(&target, content, 1).err().unwrap();
        assert!(again.to_string().contains("already"));
        let refused = Breached::open(&target).unwrap().near(b"hunter3").unwrap_err();
        assert_eq!(refused.kind(), Kind::Unsupported);
        let part = target.join(name_of((Hash::Sha1.of(b"hunter2") >> 120) as usize));
        let mut bytes = fs::read(&part).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&part, bytes).unwrap();
        assert!(Breached::open(&target).unwrap().has(b"hunter2").is_err());
        fs::write(target.join(MANIFEST), "{}").unwrap();
        assert!(Breached::open(&target).is_err());
    }
}
