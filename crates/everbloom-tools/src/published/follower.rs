//! Whoever keeps a published filter fresh.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use everbloom::internals::disk::replace;
use everbloom::{Error, Kind, Limits, Opener, Result};
use everbloom_formats::{Fit, Format};

use super::feed::{LATEST, Latest, OURS, Shape, delta_name, whole_name};
use super::{MOST, Update, digest};
use crate::wire::output_of;

/// Where updates come from.
pub enum Source {
    /// A folder that a feed is in.
    Folder(PathBuf),
    /// A command of the shell that prints the file whose name is `$1`.
    Command {
        /// The command.
        line: String,
        /// How long it may print nothing.
        patience: Duration,
    },
}

impl Source {
    fn fetch(&self, name: &str) -> Result<Vec<u8>> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(name);
                let named = |e: io::Error| Error::from(e).context(path.display());
                if fs::metadata(&path).map_err(named)?.len() > MOST + 4096 {
                    let message = format!("{}: longer than {MOST} bytes", path.display());
                    return Err(Error::new(Kind::LimitExceeded { what: "update" }, message));
                }
                fs::read(&path).map_err(named)
            }
            Self::Command { line, patience } => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(line).arg("everbloom").arg(name);
                output_of(command, *patience, MOST + 4096)
                    .map_err(|e| e.context(format!("fetching {name}")))
            }
        }
    }
}

/// The shape of what came by a pipe, which does not tell any.
const UNKNOWN: Shape = Shape { format: String::new(), capacity: 0, rate: 0.0 };

/// The format that a file is of, as far as its bytes tell.
fn format_of(bytes: &[u8]) -> String {
    match Format::detect(bytes)[..] {
        [one] if one.fit(bytes) > Fit::Length => one.name.to_owned(),
        _ => OURS.to_owned(),
    }
}

/// Refuses a file that is no filter of this format, as far as the limits for what comes from a network allow.
fn readable(bytes: &[u8], format: &str) -> Result<()> {
    if format == OURS {
        return Opener::new().limits(Limits::NETWORK).decode(bytes).map(drop);
    }
    Format::named(format)?.open_one(bytes, Limits::NETWORK).map(drop)
}

/// What a refresh took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Took {
    /// The version before; 0 where there was none.
    pub from: u64,
    /// The version now.
    pub to: u64,
    /// Deltas that were applied.
    pub deltas: u64,
    /// Whether the whole file was taken.
    pub whole: bool,
    /// Bytes of all that was fetched.
    pub bytes: u64,
}

/// A filter file that follows a feed. Beside it stands `FILE.version`: which version it is, so that older ones are
/// refused.
pub struct Follower {
    path: PathBuf,
    latest: Option<Latest>,
    /// The file, as long as it is what the version says.
    bytes: Option<Vec<u8>>,
}

impl Follower {
    /// The follower that keeps this file.
    pub fn open(path: &Path) -> Result<Self> {
        let state = Self::state(path);
        let named = |e: io::Error| Error::from(e).context(state.display());
        let latest = match fs::read(&state) {
            Ok(bytes) => Some(Latest::read(&bytes).map_err(|e| e.context(state.display()))?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(named(e)),
        };
        let held = fs::read(path).ok();
        let bytes = held.filter(|held| latest.as_ref().is_some_and(|l| l.digest == digest(held)));
        Ok(Self { path: path.to_path_buf(), latest, bytes })
    }

    fn state(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(".version");
        name.into()
    }

    /// Whether a follower keeps the file at this path.
    pub fn keeps(path: &Path) -> bool {
        fs::read(Self::state(path)).is_ok_and(|state| Latest::read(&state).is_ok())
    }

    /// The version it has; 0 where it has none.
    pub fn version(&self) -> u64 {
        self.latest.as_ref().map_or(0, |latest| latest.version)
    }

    /// An older version, or another file of the same one, is refused.
    fn check(&self, latest: &Latest) -> Result<()> {
        let Some(held) = &self.latest else { return Ok(()) };
        let (new, old, state) = (latest.version, held.version, Self::state(&self.path));
        let message = if new < old {
            format!("the feed went back to version {new}, and version {old} is here")
        } else if new == old && latest.digest != held.digest {
            format!("the feed has another version {new} than the one here")
        } else if held.shape.capacity > 0 && latest.shape.format != held.shape.format {
            let [ours, theirs] = [&held.shape.format, &latest.shape.format];
            format!("the feed has filters of the format {theirs}, and the one here is of {ours}")
        } else {
            return Ok(());
        };
        let remedy = format!("{message}: if that is meant, remove {}", state.display());
        Err(Error::new(Kind::Incompatible { what: "version" }, remedy))
    }

    /// Takes what is new: deltas where they reach from here to the latest version, the whole file where not.
    pub fn refresh(&mut self, source: &Source) -> Result<Took> {
        let text = source.fetch(LATEST)?;
        let latest = Latest::read(&text)?;
        self.check(&latest)?;
        let from = self.version();
        let mut took =
            Took { from, to: latest.version, bytes: text.len() as u64, ..Took::default() };
        if from == latest.version && self.bytes.is_some() {
            return Ok(took);
        }
        let new = match self.by_deltas(source, &latest, &mut took) {
            Some(new) => new,
            None => {
                took.whole = true;
                let update = source.fetch(&whole_name(latest.version))?;
                took.bytes += update.len() as u64;
                Update::read(&update)?.0.apply(None)?
            }
        };
        if digest(&new) != latest.digest {
            let message = format!("version {} does not have the digest announced", latest.version);
            return Err(super::corrupt(message));
        }
        self.keep(new, latest)?;
        Ok(took)
    }

    /// The latest file, if every delta to it is there and fits.
    fn by_deltas(&self, source: &Source, latest: &Latest, took: &mut Took) -> Option<Vec<u8>> {
        let mut bytes = self.bytes.clone()?;
        let from = self.version();
        // As many deltas as a feed keeps; more would cost more than the file.
        if latest.version.checked_sub(from)? > 100 {
            return None;
        }
        for version in from + 1..=latest.version {
            let update = source.fetch(&delta_name(version)).ok()?;
            took.bytes += update.len() as u64;
            bytes = Update::read(&update).ok()?.0.apply(Some(&bytes)).ok()?;
            took.deltas += 1;
        }
        (digest(&bytes) == latest.digest).then_some(bytes)
    }

    /// Takes updates that come one after the other, from a pipe.
    pub fn take(&mut self, mut updates: &[u8]) -> Result<Took> {
        let from = self.version();
        let mut took = Took { from, to: from, bytes: updates.len() as u64, ..Took::default() };
        let (mut bytes, mut held) = (self.bytes.clone(), self.latest.clone());
        while !updates.is_empty() {
            let (update, rest) = Update::read(updates)?;
            updates = rest;
            let shape = held.as_ref().map(|held| held.shape.clone());
            let shape = shape.unwrap_or(UNKNOWN);
            let mut latest = Latest { version: update.version, digest: update.digest, shape };
            let here = Self { path: self.path.clone(), latest: held.clone(), bytes: None };
            here.check(&latest)?;
            if held.as_ref().is_some_and(|held| held.version == latest.version) && bytes.is_some() {
                continue;
            }
            let new = update.apply(bytes.as_deref())?;
            if latest.shape.capacity == 0 {
                latest.shape.format = format_of(&new);
            }
            bytes = Some(new);
            took.deltas += u64::from(update.base.is_some());
            took.whole |= update.base.is_none();
            took.to = update.version;
            held = Some(latest);
        }
        if let (Some(bytes), Some(latest)) = (bytes, held)
            && took.to > took.from
        {
            self.keep(bytes, latest)?;
        }
        Ok(took)
    }

    /// Replaces the file, if what came is a filter: whoever publishes may be deceived, or deceive.
    fn keep(&mut self, bytes: Vec<u8>, latest: Latest) -> Result<()> {
        let version = latest.version;
        readable(&bytes, &latest.shape.format)
            .map_err(|e| e.context(format!("version {version}, which is not taken")))?;
        let put = |path: &Path, bytes: &[u8]| {
            replace(path, |out| out.write_all(bytes))
                .map_err(|e| Error::from(e).context(path.display()))
        };
        put(&self.path, &bytes)?;
        put(&Self::state(&self.path), latest.write().as_bytes())?;
        (self.bytes, self.latest) = (Some(bytes), Some(latest));
        Ok(())
    }
}
